"""A manifest came for a span that has left the window: its facts are known now, and so is what became of them (C2, C3)."""

from __future__ import annotations

import msgspec

from ledger.evolve.effects import Effects
from ledger.evolve.facts import add_carrier, change_stored_summaries, change_summarised, in_session_key, needed_session, regain
from ledger.evolve.fates import Departure, Tally, Touched, settle
from ledger.evolve.spans import on_manifest_recorded
from ledger.lookup import fact_row, floors_in_force, request_row, round_row, span_facts, span_row, summary_row
from ledger.measurement import Measured, prevailing
from ledger.rows import CarriedRow, FactInSessionRow, FactRef, SessionRow, SpanRow
from ledger.rules.floors import MeasuredFact, below_floor, floor_of
from ledger.state import CARRIED, FACT_IN_SESSION, ROUND, SESSION, name_key, ordinal_key
from schemas.codec import decode_decision
from schemas.decisions import LETTERS, CompactionGranted, CompactionJudged
from schemas.facts import SURVIVING
from schemas.records import ManifestRecorded

replace = msgspec.structs.replace


def on_judged_late(fx: Effects, decision: CompactionJudged, record: ManifestRecorded) -> None:
    """The facts are listed, live summaries that state them carry them, and the rest is lost in the round the span left in."""
    span = span_row(fx.draft, record.span)
    assert span is not None, "the decision is about a span on record"
    before = len(span_facts(fx.draft, span.id).refs)
    on_manifest_recorded(fx, record, span)
    refs = span_facts(fx.draft, span.id).refs[before:]
    session = needed_session(fx, decision.session)
    for item in decision.outcomes:
        _carry(fx, session, item.carrier, refs, item.letters)
    letters = [
        prevailing([Measured(item.letters[at]) for item in decision.outcomes]).letter if decision.outcomes else "u"
        for at in range(len(refs))
    ]
    touched = _touched(fx, session, span, refs, letters)
    tally = settle(fx, replace(session, rounds=span.left_round), _departure(record, decision), touched)
    session = needed_session(fx, decision.session)
    fx.draft.put(SESSION, name_key(session.id), replace(session, dropped=session.dropped + tally.fresh))
    _add_to_round(fx, session, span, tally)


def _carry(fx: Effects, session: SessionRow, name: str, refs: tuple[FactRef, ...], letters: str) -> None:
    """A live summary carries what it was measured to state."""
    summary = summary_row(fx.draft, name)
    if summary is None:
        return
    carried = dict((fx.draft.get(CARRIED, name_key(name)) or CarriedRow()).facts)
    leaving = int(name in _retiring(fx, session))
    for ref, letter in zip(refs, letters, strict=False):
        if ref.fact in carried or LETTERS[letter][0] not in SURVIVING:
            continue
        carried[ref.fact] = letter
        regain(fx, ref.fact, session, name)
        change_summarised(fx, ref.fact, session, letter, live=1, leaving=leaving)
        change_stored_summaries(fx, ref.fact, int(summary.in_store))
        add_carrier(fx, ref.fact, summary.ordinal, name)
    fx.draft.put(CARRIED, name_key(name), CarriedRow(facts=tuple(carried.items())))


def _retiring(fx: Effects, session: SessionRow) -> tuple[str, ...]:
    """Summaries that the session's pending grant supersedes."""
    row = request_row(fx.draft, session.id, session.pending) if session.pending else None
    grant = decode_decision(row.decision) if row is not None else None
    return grant.retires if isinstance(grant, CompactionGranted) else ()


def _touched(
    fx: Effects, session: SessionRow, span: SpanRow, refs: tuple[FactRef, ...], letters: list[str]
) -> dict[bytes, Touched]:
    """What is to be settled: a fact that left with another span has its fate already."""
    floors = floors_in_force(fx.row)
    facts = []
    for ref, letter in zip(refs, letters, strict=True):
        row = fact_row(fx.draft, ref.fact)
        assert row is not None, "a listed fact has a row"
        floor = floor_of(row.cls, row.kind, span.role, floors)  # type: ignore[arg-type]
        facts.append(MeasuredFact(row.cls, floor, *LETTERS[letter][:2]))  # type: ignore[arg-type]
    needed = set(below_floor(facts))
    touched = {}
    for index, (ref, letter) in enumerate(zip(refs, letters, strict=True)):
        mine = fx.draft.get(FACT_IN_SESSION, in_session_key(ref.fact, session)) or FactInSessionRow()
        if not mine.dropped:
            touched[ref.fact] = Touched(letter, span.id, ref.start, ref.end, needed=index in needed)
    return touched


def _departure(record: ManifestRecorded, decision: CompactionJudged) -> Departure:
    return Departure(
        round=decision.round,
        event=record.id,
        decision=decision.id,
        observed=True,
        verdict=decision.verdict,
        turn=decision.turn,
        trigger="",
        summary=decision.summary or "",
        summary_state=decision.summary_state,
        outcomes=decision.outcomes,
        retires=(),
        tags=(),
        evidence=decision.evidence,
    )


def _add_to_round(fx: Effects, session: SessionRow, span: SpanRow, tally: Tally) -> None:
    """D1: the round's counts go on adding up."""
    row = round_row(fx.draft, session, span.left_round)
    if row is not None:
        row = replace(
            row,
            dropped=row.dropped + tally.dropped,
            survived=row.survived + tally.survived,
            lost=row.lost + tally.lost,
            unknown=row.unknown + tally.unknown,
        )
        fx.draft.put(ROUND, ordinal_key(session.ordinal, span.left_round), row)
