"""What would have been decided, had an observed compaction been asked for first? The decision on the same spans and summary."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ledger.log import DECISIONS, EVENTS, NewEntry
from ledger.recorder import made
from ops.queries.quotes import Quotes, excerpt
from ops.store import Reading, scratch_store
from schemas.codec import decode_decision, encode
from schemas.decisions import CompactionGranted, CompactionRefused, Evidence, RecordRejected, WouldPass
from schemas.records import (
    AnyRecord,
    Candidate,
    CompactionObserved,
    CompactionRequested,
    SpanRange,
    SpanRecorded,
    SummaryRecorded,
)

REQUEST = "asked-first"
_DECIDED = (CompactionGranted, CompactionRefused, RecordRejected)


class EvidenceQuoted(msgspec.Struct, kw_only=True):
    """One fact that a refusal rests on, with the words on both sides."""

    fact: str
    cls: str = msgspec.field(name="class")
    outcome: str
    rule: str
    fidelity: str
    floor: str
    span: str
    role: str
    line: int | None
    text: str
    summary_says: str


class AskedFirst(msgspec.Struct, kw_only=True):
    """The decision on a compaction that was asked for instead of observed. `would_pass` as in the decision itself."""

    decision: str
    rule: str
    reason: str
    spans: int
    evidence: list[EvidenceQuoted]
    evidence_total: int
    would_pass: WouldPass


async def asked_first(records: Iterable[AnyRecord], round_: int = 1) -> AskedFirst | None:
    """Fold the records of one session up to its round `round_` in a ledger of their own, with a request in the round's place.

    None where the records hold no such round, or one without a summary.
    """
    history, observed = _until(records, round_)
    if observed is None or observed.summary is None:
        return None
    request = _request(history, observed)
    async with scratch_store() as store:
        await store.log.append(EVENTS, [NewEntry(record.scope, encode(record)) for record in [*history, request]])
        await store.fold()
        entries = await store.log.read(DECISIONS, 0, 0, max_entries=1_000_000)
        decisions = [decode_decision(entry.value) for entry in entries]
        with store.reading() as reading:
            for decision in decisions:
                if isinstance(decision, _DECIDED) and decision.request == request.id:
                    return await _answer(reading, decision, request)
    return None


def _until(records: Iterable[AnyRecord], round_: int) -> tuple[list[AnyRecord], CompactionObserved | None]:
    """Everything before the round is observed, its summary included; earlier rounds stay as they were observed."""
    history: list[AnyRecord] = []
    for record in records:
        if isinstance(record, CompactionObserved) and record.ordinal == round_:
            return history, record
        history.append(record)
    return history, None


def _request(history: list[AnyRecord], observed: CompactionObserved) -> CompactionRequested:
    """The same spans for the same summary. What a transcript does not list counts as summarised, but for what it kept."""
    mine = [record for record in history if isinstance(record, SpanRecorded) and record.session == observed.session]
    order = {record.span: at for at, record in enumerate(mine)}
    gone: set[int] = set()
    uncounted: list[SpanRecorded] = []
    for record in history:
        if isinstance(record, SpanRecorded) and record.turns is None and record.span in order:
            uncounted.append(record)  # it stands behind what was on record, so before each boundary that follows
        if isinstance(record, CompactionObserved) and record.session == observed.session:
            counted = [span for span in mine if span.turns is not None and span.turns[1] <= record.turn]
            last = max((order[span.span] for span in (*counted, *uncounted)), default=-1)
            gone.update(set(range(last + 1)) - _places(record.kept, order))
    leaving = [at for at in range(len(mine)) if at not in gone and at not in _places(observed.kept, order)]
    summary = next(
        record for record in reversed(history) if isinstance(record, SummaryRecorded) and record.summary == observed.summary
    )
    return made(
        CompactionRequested,
        observed.scope,
        observed.session,
        request=REQUEST,
        summary=summary.summary,
        evictions=tuple(Candidate(span=mine[at].span) for at in leaving),
        tokens_before=observed.tokens_before,
        budget_tokens=observed.tokens_after,
    )


def _places(ranges: Iterable[SpanRange], order: dict[str, int]) -> set[int]:
    places: set[int] = set()
    for span_range in ranges:
        if span_range.first in order and span_range.last in order:
            places.update(range(order[span_range.first], order[span_range.last] + 1))
    return places


async def _answer(
    reading: Reading, decision: CompactionGranted | CompactionRefused | RecordRejected, request: CompactionRequested
) -> AskedFirst:
    quotes = Quotes(reading, decision.scope)
    words = {CompactionGranted: "granted", CompactionRefused: "refused", RecordRejected: "rejected"}
    return AskedFirst(
        decision=words[type(decision)],
        rule=decision.rule,
        reason=decision.reason,
        spans=len(request.evictions),
        evidence=[await _quoted(quotes, item, request.summary) for item in decision.evidence],
        evidence_total=decision.evidence_total,
        would_pass=decision.would_pass if isinstance(decision, CompactionRefused) else WouldPass(),
    )


async def _quoted(quotes: Quotes, item: Evidence, summary: str) -> EvidenceQuoted:
    span = await quotes.span(item.span)
    return EvidenceQuoted(
        fact=item.fact,
        cls=item.cls,
        outcome=item.outcome,
        rule=item.rule,
        fidelity=f"{item.fidelity[0]}/{item.fidelity[1]}" if item.fidelity is not None else "",
        floor=f"{item.floor[0]}/{item.floor[1]}" if item.floor is not None else "",
        span=item.span,
        role=span.role if span is not None else "",
        line=span.source.line if span is not None and span.source is not None else None,
        text=await quotes.cut(item.span, item.start, item.end),
        summary_says=excerpt(await quotes.cut(summary, item.summary_start, item.summary_end)),
    )
