"""Questions about a fact: is it anchored, who carries it, what was its life? (P4, C4, C5)."""

from __future__ import annotations

import msgspec

from ledger.lookup import carrier_count, fact_in_session, is_valid_at, scope_row, session_name, span_row, summary_row
from ledger.rows import FactRow, SpanRow, SummaryRow
from ledger.rules.carriers import Answer, CarrierCount, reconstitute
from ledger.rules.floors import answers_for
from ledger.rules.trust import is_trusted
from ledger.state import CARRIED, CARRIER_OF, LIFE, fact_key, name_key
from ops.queries.facts import named_facts
from ops.queries.nearest import near_to
from ops.queries.overview import trust_of
from ops.queries.quotes import Quotes
from ops.store import Found, Reading
from schemas.facts import Fact

UNKNOWN_SAYS = "I cannot tell whether I have this, so I must not rely on it."
"""What an agent repeats where the ledger does not know (T4)."""


class CarrierAnswer(msgspec.Struct, kw_only=True):
    """A carrier that the session can reach; tags of a summary are (class, kept, of, floor)."""

    id: str
    raw: bool
    generation: int
    turns: tuple[int, int] | None
    tags: list[tuple[str, str, str]]
    where: str
    stands: str


class EvidenceAnswer(msgspec.Struct, kw_only=True):
    """Where the fact was first said, with the words. For a fact without carrier it comes from the log, not from the agent."""

    span: str
    start: int
    end: int
    text: str
    role: str
    line: int | None
    path: str
    from_log_only: bool


class RecallAnswer(msgspec.Struct, kw_only=True):
    """One of the six answers about a fact."""

    fact: str
    answer: Answer
    trusted: bool
    reasons: list[str]
    source: str | None
    carriers: list[CarrierAnswer]
    evidence: EvidenceAnswer | None
    reason: str
    cls: str = msgspec.field(name="class")
    value: str
    say: str


class LifeAnswer(msgspec.Struct, kw_only=True):
    """One step in the life of a fact."""

    step: str
    session: str
    round: int
    carrier: str
    outcome: str
    words: str


class ExplainAnswer(msgspec.Struct, kw_only=True):
    """The life of a fact from its first statement on."""

    fact: str
    cls: str = msgspec.field(name="class")
    value: str
    answer: Answer
    reason: str
    evidence: EvidenceAnswer | None
    steps: list[LifeAnswer]


class CarriersAnswer(msgspec.Struct, kw_only=True):
    """What still carries a fact."""

    fact: str
    answer: Answer
    carriers: list[CarrierAnswer]
    reason: str


def carriers_answer(answer: RecallAnswer) -> CarriersAnswer:
    """The carriers of an answer, by themselves."""
    return CarriersAnswer(fact=answer.fact, answer=answer.answer, carriers=answer.carriers, reason=answer.reason)


async def recall(reading: Reading, found: Found, text: str, as_of: str = "") -> list[RecallAnswer]:
    """C4: an answer for every fact that the text names. A text in which no fact is recognised is answered *unknown*."""
    named = named_facts(found, text)
    trust, reasons = trust_of(found, reading.gap)
    quotes = Quotes(reading, found.scope)
    answers = [await _answer(reading, found, row, trust, reasons, quotes, as_of) for row in named.rows.values()]
    answers.extend([await _unseen(found, text, fact, trust, reasons, quotes) for fact in named.unseen])
    if not answers:
        reason = "this span's facts were not measured yet" if named.span else await near_to(found, text, quotes)
        reason = reason or "no fact is recognised in this text"
        answers.append(_plain(text, "unknown", reasons, reason))
    return answers


async def _answer(
    reading: Reading, found: Found, row: FactRow, trust: str, reasons: list[str], quotes: Quotes, as_of: str
) -> RecallAnswer:
    key = fact_key(row.id)
    carriers = carriers_of(found, row)
    count = carrier_count(found.rows, key, row, found.session)
    mine = fact_in_session(found.rows, key, found.session)
    outside = as_of and not is_valid_at(row, as_of)
    answer, reason = reconstitute(
        seen=True,
        tombstoned=bool(row.tombstone),
        carriers=count,
        unreadable_round=mine.unknown_round,
        linked_missing=False,
    )
    if outside:
        answer, reason = "absent", f"not valid at {as_of}"
    if reading.gap and answer in ("unanchored", "absent"):
        answer, reason = "unknown", f"the index is {reading.gap} records behind the log"
    anchored = answer == "anchored"
    trusted = is_trusted(trust)
    if anchored and carriers and not any(_answers_for_class(found, carrier, row) for carrier in carriers):
        trusted, reasons = False, [*reasons, f"summary_below_floor:{row.cls}"]
    return RecallAnswer(
        fact=row.id,
        answer=answer,
        trusted=trusted,
        reasons=reasons,
        source=("retrieval" if all(c.where != "summary" for c in carriers) else "summary") if anchored else None,
        carriers=carriers if anchored else [],
        evidence=await evidence_of(row, quotes, from_log_only=not anchored),
        reason=reason,
        cls=row.cls,
        value=row.value,
        say=_say(answer, trust if trusted or trust != "lossless" else "below the floor", reasons),
    )


def _answers_for_class(found: Found, carrier: CarrierAnswer, row: FactRow) -> bool:
    """F4: a raw carrier does; a summary that is below its floor for the fact's class states this fact and not its class."""
    summary = summary_row(found.rows, carrier.id) if not carrier.raw else None
    if summary is None:
        return True
    return answers_for(row.cls, [(cls, (kept, whole), (low, high)) for cls, kept, whole, low, high in summary.tags])


async def _unseen(found: Found, text: str, fact: Fact, trust: str, reasons: list[str], quotes: Quotes) -> RecallAnswer:
    linked = any(reason.startswith("linked_scope_not_imported") for reason in scope_row(found.rows).unclear)
    unread = any("unread" in reason or reason.startswith("index_behind_log") for reason in reasons)
    answer, reason = reconstitute(
        seen=False, tombstoned=False, carriers=CarrierCount(), unreadable_round=0, linked_missing=linked
    )
    near = await near_to(found, text, quotes, fact) if answer == "absent" else ""
    if near:
        answer, reason = "unknown", near
    elif answer == "absent" and unread:
        answer, reason = "unknown", "part of the transcript or log was not read"
    result = _plain(fact.id, answer, reasons, reason)
    result.cls, result.value = fact.cls, fact.value
    result.say = _say(answer, trust, reasons)
    return result


def _plain(fact: str, answer: Answer, reasons: list[str], reason: str) -> RecallAnswer:
    return RecallAnswer(
        fact=fact,
        answer=answer,
        trusted=False,
        reasons=reasons,
        source=None,
        carriers=[],
        evidence=None,
        reason=reason,
        cls="",
        value="",
        say=_say(answer, "unknown", reasons),
    )


def _say(answer: Answer, trust: str, reasons: list[str]) -> str:
    """T4: one sentence for the agent to repeat."""
    if answer == "tombstoned":
        return "This was dropped on purpose; I must not rely on it or guess it."
    if answer == "absent":
        return "As far as the ledger knows this was never said here; I must not invent it."
    if answer == "unknown":
        return UNKNOWN_SAYS
    if answer != "anchored":
        return "I do not have this any more and must not guess it; the original has to be read again."
    if trust != "lossless":
        return f"I have this, but my recall is {trust} ({', '.join(reasons) or 'no reason recorded'}); check it before acting."
    return ""


def carriers_of(found: Found, row: FactRow) -> list[CarrierAnswer]:
    """Carriers that this session can reach now, raw ones first."""
    raw: list[CarrierAnswer] = []
    summaries: list[CarrierAnswer] = []
    key = fact_key(row.id)
    for _, place in found.rows.walk(CARRIER_OF, key):
        span = span_row(found.rows, place.span)
        if span is not None:
            raw.extend(_raw_carrier(found, span))
            continue
        summary = summary_row(found.rows, place.span)
        if summary is not None and (carrier := _summary_carrier(found, summary, key, row)) is not None:
            summaries.append(carrier)
    return raw + summaries


def _raw_carrier(found: Found, span: SpanRow) -> list[CarrierAnswer]:
    """Where the span stands. What a pending grant may take is there until it goes: answers keep the state before."""
    wheres = []
    if span.in_window and span.session == found.session.ordinal:
        wheres.append("window")
    if span.in_store:
        wheres.append("store")
    if span.external:
        wheres.append("external")
    return [
        CarrierAnswer(id=span.id, raw=True, generation=0, turns=span.turns, tags=[], where=where, stands="verbatim")
        for where in wheres
    ]


def _summary_carrier(found: Found, summary: SummaryRow, key: bytes, row: FactRow) -> CarrierAnswer | None:
    """A live summary of the session, or one with a store entry, that was measured to state the fact; its tags say the rest."""
    live = summary.live and summary.session == found.session.ordinal
    if not live and not summary.in_store:
        return None
    carried = found.rows.get(CARRIED, name_key(summary.id))
    letter = next((letter for fact, letter in carried.facts if fact == key), "") if carried is not None else ""
    if not letter:
        return None
    tags = [(cls, f"{kept}/{whole}", f"{low}/{high}") for cls, kept, whole, low, high in summary.tags if cls == row.cls]
    return CarrierAnswer(
        id=summary.id,
        raw=False,
        generation=summary.generation,
        turns=None,
        tags=tags,
        where="summary" if live else "store",
        stands="verbatim" if letter in "vV" else "equivalent",
    )


async def evidence_of(row: FactRow, quotes: Quotes, *, from_log_only: bool) -> EvidenceAnswer | None:
    """The words with which the fact was first said."""
    span = await quotes.span(row.span)
    if span is None:
        return None
    return EvidenceAnswer(
        span=row.span,
        start=row.start,
        end=row.end,
        text=span.text.text[row.start : row.end],
        role=span.role,
        line=span.source.line if span.source is not None else None,
        path=span.source.path if span.source is not None else "",
        from_log_only=from_log_only,
    )


async def explain(reading: Reading, found: Found, text: str) -> list[ExplainAnswer]:
    """C5: the life of every fact that the text names: first seen, carried, lost or turned at round n, regained, tombstoned."""
    answers = await recall(reading, found, text)
    quotes = Quotes(reading, found.scope)
    lives = []
    for answer in answers:
        steps = [await _first_step(found, answer)] if answer.evidence is not None else []
        for _, row in found.rows.walk(LIFE, fact_key(answer.fact)):
            words = await quotes.cut(row.carrier, row.start, row.end)
            steps.append(
                LifeAnswer(
                    step=row.step,
                    session=row.session,
                    round=row.round,
                    carrier=row.carrier,
                    outcome=row.outcome,
                    words=words,
                )
            )
        lives.append(
            ExplainAnswer(
                fact=answer.fact,
                cls=answer.cls,
                value=answer.value,
                answer=answer.answer,
                reason=answer.reason,
                evidence=answer.evidence,
                steps=steps,
            )
        )
    return lives


async def _first_step(found: Found, answer: RecallAnswer) -> LifeAnswer:
    assert answer.evidence is not None
    span = span_row(found.rows, answer.evidence.span)
    return LifeAnswer(
        step="first_seen",
        session=session_name(found.rows, span.session) if span is not None else found.session.id,
        round=0,
        carrier=answer.evidence.span,
        outcome="",
        words=answer.evidence.text,
    )
