"""Spans leave a session's window for a summary: the shared effect of an applied grant and of a judged observation.

Everything here follows from the decision's bytes and the rows it names; nothing is measured again.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ledger.evolve.effects import Effects
from ledger.evolve.facts import (
    add_carrier,
    change_in_session,
    change_stored_summaries,
    change_summarised,
    in_session_key,
    regain,
)
from ledger.evolve.fates import UNMEASURED, Departure, Tally, Touched, alert_fact, group_of, settle
from ledger.evolve.rehydration import check_boundary_of
from ledger.evolve.trust import check_audit_due
from ledger.lookup import fact_row, floors_in_force, is_referred, span_facts, summary_row
from ledger.rows import CarriedRow, FactInSessionRow, FactRow, RoundRow, SessionRow, SpanRow, SummaryRow
from ledger.rules.floors import WHOLE, MeasuredFact, below_floor, floor_of, measure
from ledger.state import (
    CARRIED,
    FACT_IN_SESSION,
    ROUND,
    SESSION,
    SPAN,
    SUMMARY,
    SUMMARY_TEXT,
    WINDOW,
    name_key,
    ordinal_key,
)
from schemas.decisions import LETTERS, Outcomes
from schemas.facts import SURVIVING, Outcome

replace = msgspec.structs.replace


AS_SAID = {"e": "v", "E": "V"}
"""What an equivalent restatement is where the summary's own text states the very fact: a number in the same words counts so."""


def depart(fx: Effects, session: SessionRow, left: Iterable[SpanRow], what: Departure) -> None:
    """Empty the window of `left`, make the summary live, settle the fate of every fact concerned, and alert."""
    spans = list(left)
    letters = _letters(what.outcomes, [span.id for span in spans])
    round_ = session.rounds + 1
    touched: dict[bytes, Touched] = {}
    for span in spans:
        _leave_window(fx, session, span, round_, letters.get(span.id, ""), touched)
    for name in what.retires:
        _retire(fx, session, name, letters.get(name, ""), touched, stays=name == what.summary)
    summary = summary_row(fx.draft, what.summary) if what.summary else None
    covered: dict[bytes, str] = {}
    if summary is not None:
        covered = _covered(fx, what, spans)
        _go_live(fx, session, summary, touched, covered, what)
    live = tuple(name for name in session.live if name not in what.retires)
    session = replace(
        session,
        rounds=round_,
        boundary_turn=max(session.boundary_turn, what.turn),
        live=(*live, summary.id) if summary is not None else live,
        pending="",
        window_tokens=what.tokens_after,
    )
    fx.draft.put(SESSION, name_key(session.id), session)
    if summary is not None:
        check_boundary_of(fx, session, replace(summary, live=True))
    tally = settle(fx, session, what, touched)
    session = replace(session, dropped=session.dropped + tally.fresh)
    fx.draft.put(SESSION, name_key(session.id), session)
    _alert_covered(fx, session, what, {fact: letter for fact, letter in covered.items() if fact not in touched})
    _note_round(fx, session, spans, what, tally)
    check_audit_due(fx, spans)
    _alert_summary(fx, session, what, tally)
    for span in spans:
        if not span.manifested and not span.external:
            fx.raise_alert(
                kind="unmanifested_span_left",
                rule="C2",
                severity="ticket",
                subject=f"span:{span.id}",
                group=group_of(session, what),
                reason="the span left the window before its facts were known",
            )


def _letters(outcomes: Iterable[Outcomes], order: list[str]) -> dict[str, str]:
    """Letters by carrier; `order` is that of the spans that leave."""
    found: dict[str, str] = {}
    places = {name: at for at, name in enumerate(order)}
    for item in outcomes:
        first, *rest = item.letters.split(",")
        found[item.carrier] = first
        found |= zip(order[places[item.carrier] + 1 :], rest, strict=False) if rest else ()
    return found


def _leave_window(
    fx: Effects, session: SessionRow, span: SpanRow, round_: int, letters: str, touched: dict[bytes, Touched]
) -> None:
    refs = span_facts(fx.draft, span.id).refs
    floors = floors_in_force(fx.row)
    facts: list[MeasuredFact] = []
    for ref, letter in zip(refs, letters.ljust(len(refs), UNMEASURED), strict=False):
        change_in_session(fx, ref.fact, session, window=-1)
        row = fact_row(fx.draft, ref.fact)
        assert row is not None, "a listed fact has a row"
        outcome, quantifier, _ = LETTERS[letter]
        facts.append(_measured(row, span.role, outcome, quantifier, floors))
        known = touched.get(ref.fact)
        if known is None or known.letter == UNMEASURED:
            needed = known is not None and known.needed
            touched[ref.fact] = Touched(letter, span.id, ref.start, ref.end, needed=needed)
    for index in below_floor(facts):
        touched[refs[index].fact].needed = True
    _count_evicted(fx, facts)
    fx.draft.delete(WINDOW, ordinal_key(session.ordinal, span.ordinal))
    fx.draft.put(SPAN, name_key(span.id), replace(span, in_window=False, left_round=round_))


def _measured(row: FactRow, role: str, outcome: Outcome, quantifier: bool, floors: object) -> MeasuredFact:
    floor = floor_of(row.cls, row.kind, role, floors)  # type: ignore[arg-type]
    return MeasuredFact(row.cls, floor, outcome, quantifier)  # type: ignore[arg-type]


def _count_evicted(fx: Effects, facts: list[MeasuredFact]) -> None:
    """F5: spans evicted and spans evicted below floor, by class."""
    results = measure([fact for fact in facts if fact.outcome != "unknown"])
    if not results:
        return
    counts = {cls: (evicted, below) for cls, evicted, below in fx.row.evicted}
    for cls in dict.fromkeys(result.cls for result in results):
        evicted, below = counts.get(cls, (0, 0))
        holds = all(result.holds for result in results if result.cls == cls)
        counts[cls] = (evicted + 1, below + (not holds))
    fx.set_scope(evicted=tuple((cls, *counts[cls]) for cls in sorted(counts)))


def _retire(fx: Effects, session: SessionRow, name: str, letters: str, touched: dict[bytes, Touched], *, stays: bool) -> None:
    """A superseded summary stops being a carrier (generation n-1), but for its store entry. One that `stays`, because the round
    shows it once more, is only measured anew.
    """
    summary = summary_row(fx.draft, name)
    if summary is None:
        return
    key = name_key(name)
    carried = fx.draft.get(CARRIED, key) or CarriedRow()
    for (fact, was), letter in zip(carried.facts, letters.ljust(len(carried.facts), UNMEASURED), strict=False):
        change_summarised(fx, fact, session, was, live=-1)
        change_stored_summaries(fx, fact, -int(stays and summary.in_store))
        row = fact_row(fx.draft, fact)
        assert row is not None, "a carried fact has a row"
        whole = floor_of(row.cls, row.kind, row.role, floors_in_force(fx.row)) == WHOLE  # type: ignore[arg-type]
        if fact not in touched:
            touched[fact] = Touched(letter, row.span, row.start, row.end)
        touched[fact].from_summary = True
        touched[fact].needed |= whole and LETTERS[letter][0] not in SURVIVING
    if not stays:
        fx.draft.put(SUMMARY, key, replace(summary, live=False, retired=True))
        fx.draft.delete(SUMMARY_TEXT, key)


def _covered(fx: Effects, what: Departure, left: list[SpanRow]) -> dict[bytes, str]:
    """Facts of spans that did not leave now, as the summary states them."""
    gone = {span.id for span in left} | set(what.retires)
    found: dict[bytes, str] = {}
    for item in what.outcomes:
        if item.carrier not in gone:
            for ref, letter in zip(span_facts(fx.draft, item.carrier).refs, item.letters, strict=False):
                found.setdefault(ref.fact, letter)
    return found


def _go_live(
    fx: Effects,
    session: SessionRow,
    summary: SummaryRow,
    touched: dict[bytes, Touched],
    covered: dict[bytes, str],
    what: Departure,
) -> None:
    """The summary is a carrier of what survived in it, and of known facts that its own text states."""
    letters = {**covered, **{fact: hit.letter for fact, hit in touched.items()}}
    carried: dict[bytes, str] = {fact: letter for fact, letter in letters.items() if LETTERS[letter][0] in SURVIVING}
    stated = span_facts(fx.draft, summary.id).refs if what.summary_state == "text" else ()
    for ref in stated:
        if ref.fact in touched:
            letter = carried.get(ref.fact, "")
            if letter in AS_SAID:
                carried[ref.fact] = AS_SAID[letter]
        elif fact_row(fx.draft, ref.fact) is not None:
            carried[ref.fact] = "v"
    for fact in carried:
        if fact not in touched:
            regain(fx, fact, session, summary.id)
    for fact, letter in carried.items():
        change_summarised(fx, fact, session, letter, live=1)
        change_stored_summaries(fx, fact, int(summary.in_store))
        add_carrier(fx, fact, summary.ordinal, summary.id)
    fx.draft.put(CARRIED, name_key(summary.id), CarriedRow(facts=tuple(carried.items())))
    flat = tuple((tag.cls, *tag.fidelity, *tag.floor) for tag in what.tags)
    fx.draft.put(SUMMARY, name_key(summary.id), replace(summary, live=True, tags=flat))


def _alert_covered(fx: Effects, session: SessionRow, what: Departure, covered: dict[bytes, str]) -> None:
    """F2: a summary that turns a fact of a span it covers says something false, whether or not the span left just now."""
    for fact, letter in covered.items():
        outcome, quantifier_changed, _ = LETTERS[letter]
        row = fact_row(fx.draft, fact)
        if row is None or not is_referred(row) or not (outcome == "inverted" or quantifier_changed):
            continue
        key = in_session_key(fact, session)
        mine = fx.draft.get(FACT_IN_SESSION, key) or FactInSessionRow()
        fx.draft.put(FACT_IN_SESSION, key, replace(mine, turned_round=session.rounds))
        hit = Touched(letter, row.span, row.start, row.end)
        alert_fact(fx, session, what, fact, row, hit, gone=False, hedge=False)


def _note_round(fx: Effects, session: SessionRow, spans: list[SpanRow], what: Departure, tally: Tally) -> None:
    row = RoundRow(
        round=what.round,
        ordinal=session.rounds,
        event=what.event,
        decision=what.decision,
        trigger=what.trigger,
        summary=what.summary,
        summary_state=what.summary_state,
        observed=what.observed,
        verdict=what.verdict,
        turn=what.turn,
        left=sum(1 for span in spans if span.id not in what.unseen),
        kept=what.kept,
        unseen=sum(1 for span in spans if span.id in what.unseen),
        dropped=tally.dropped,
        survived=tally.survived,
        lost=tally.lost,
        unknown=tally.unknown,
        tokens_before=what.tokens_before,
        tokens_after=what.tokens_after,
    )
    fx.draft.put(ROUND, ordinal_key(session.ordinal, session.rounds), row)
    scope = fx.row
    fx.set_scope(compactions=scope.compactions + 1, compactions_since_audit=scope.compactions_since_audit + 1)


def _alert_summary(fx: Effects, session: SessionRow, what: Departure, tally: Tally) -> None:
    """Findings about the summary as a whole: one that cannot be read, and messages no summariser ever saw."""
    if what.observed and what.summary_state != "text":
        if what.summary_state == "opaque" or tally.unknown:
            fx.unclear(f"{what.summary_state}_summary:round_{session.rounds}")
        fx.raise_alert(
            kind=f"summary_{what.summary_state}",
            rule="D2",
            severity="ticket",
            subject=f"summary:{group_of(session, what)}",
            group=group_of(session, what),
            reason=f"the summary of round {session.rounds} is {what.summary_state}: what went with it cannot be judged",
        )
    if what.unseen:
        fx.raise_alert(
            kind="spans_unseen",
            rule="D2",
            severity="ticket",
            subject=f"unseen:{group_of(session, what)}",
            group=group_of(session, what),
            reason=f"{len(what.unseen)} spans left the window before any summariser saw them",
        )
