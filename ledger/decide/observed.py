"""Observed compactions: nothing can be refused any more, so the same rules leave a judgement with its whole effect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ledger.decide.envelope import envelope
from ledger.decide.others import Others
from ledger.decide.tally import tags_of
from ledger.lookup import carrier_count, request_row, session_row, span_facts, spans_in, summary_row, window_spans
from ledger.measurement import Ruler
from ledger.rows import FactRef, RequestRow, SessionRow, SpanRow, SummaryRow
from ledger.rules.carriers import CarrierCount, is_covered
from ledger.rules.floors import WHOLE, below_floor, measure
from ledger.state import CARRIED, Rows, fact_key, name_key
from schemas.codec import decode_decision
from schemas.decisions import CompactionGranted, CompactionJudged, Evidence, Outcomes
from schemas.records import CompactionObserved, SpanRange, SummaryState


def judge_compaction(view: Rows, record: CompactionObserved) -> CompactionJudged:
    """C3, F1, F2 on a compaction that happened. The window is emptied but for what the record lists as kept.

    A pending grant of the session ends here: it was applied if the summary is the granted one, else it counts as withdrawn.
    """
    session = session_row(view, record.session)
    assert session is not None, "the fold rejects records of sessions that were not opened"
    summary, state = _summary_of(view, session, record)
    ruler = Ruler(view, summary if state == "text" else None)
    kept = {span.id for span in spans_in(view, session, record.kept)}
    unseen = {span.id for span in spans_in(view, session, record.unseen)}
    window = list(window_spans(view, session))
    left = [span for span in window if span.id not in kept]
    staying = frozenset(item.first for item in record.kept if item.first == item.last) - {record.summary}
    retires = tuple(name for name in session.live if name not in staying)
    retired = _carried(view, retires)
    stated = frozenset(key for _, facts in _carried(view, staying.intersection(session.live)) for key, _ in facts)
    covered = _covered_elsewhere(view, session, record, summary, {span.id for span in left} | kept)
    pending = request_row(view, record.session, session.pending) if session.pending else None
    was_applied = pending is not None and _same_text(pending.summary_sha256, summary)
    dropped = _dropped_on_purpose(pending) if pending is not None and was_applied else frozenset()
    evidence = _evidence(view, session, ruler, left, retired, dropped, stated)
    others = Others(view, session, from_window={span.id for span in left}, retired=retires)
    shown, total = others.ranked(evidence)
    return CompactionJudged(
        **envelope(view, record),
        rule="C3",
        reason="" if ruler.can_judge else f"summary_{state}",
        evidence=shown,
        evidence_total=total,
        round=record.round,
        ordinal=session.rounds + 1,
        turn=record.turn,
        verdict=_verdict(ruler, bool(left) or any(facts for _, facts in retired), evidence),
        summary=summary.id if summary is not None else None,
        summary_state=state,
        left=_ranges(window, {span.id for span in left}),
        unseen=_ranges(window, unseen - kept),
        kept=len(window) - len(left),
        retires=retires,
        ends_pending=session.pending,
        pending_applied=was_applied,
        outcomes=(
            *ruler.outcomes_in_order(left),
            *(ruler.outcomes(covered) if ruler.can_judge else ()),
            *(Outcomes(name, ruler.letters(key for key, _ in facts)) for name, facts in retired if facts),
        ),
        tags=tags_of(view, ruler, left) if ruler.can_judge else (),
        tokens_after=record.tokens_after,
    )


def _summary_of(view: Rows, session: SessionRow, record: CompactionObserved) -> tuple[SummaryRow | None, SummaryState]:
    """The summary that took the spans' place, and what it is worth: one that was never recorded, is another session's, or was
    superseded already (its text is not kept) is missing, whatever the observer calls it.
    """
    summary = summary_row(view, record.summary) if record.summary is not None else None
    if summary is not None and (summary.session != session.ordinal or summary.retired):
        summary = None
    if record.summary_state != "text":
        return summary, record.summary_state
    return (summary, summary.state) if summary is not None else (None, "missing")


def _dropped_on_purpose(pending: RequestRow) -> frozenset[bytes]:
    """Facts that the granted request named as dropped on purpose."""
    grant = decode_decision(pending.decision)
    return frozenset(fact_key(fact) for fact in grant.tombstones) if isinstance(grant, CompactionGranted) else frozenset()


def _covered_elsewhere(
    view: Rows, session: SessionRow, record: CompactionObserved, summary: SummaryRow | None, known: set[str]
) -> list[SpanRow]:
    """Spans outside the window that the summary is said to cover: nothing leaves, but the summary may carry their facts."""
    covers = summary.covers if summary is not None else ()
    ranges = (*record.summarised, *(SpanRange(first, last) for first, last in covers))
    found = {span.id: span for span in spans_in(view, session, ranges) if span.id not in known}
    return list(found.values())


def _verdict(ruler: Ruler, anything_went: bool, evidence: list[Evidence]) -> Literal["held", "violated", "unknown"]:
    if not anything_went:
        return "held"
    if not ruler.can_judge:
        return "unknown"
    return "violated" if evidence else "held"


def _same_text(sha256: str, summary: SummaryRow | None) -> bool:
    return summary is not None and bool(sha256) and summary.text_sha256 == sha256


def _carried(view: Rows, summaries: Iterable[str]) -> list[tuple[str, tuple[tuple[bytes, str], ...]]]:
    found = []
    for name in summaries:
        row = view.get(CARRIED, name_key(name))
        found.append((name, row.facts if row is not None else ()))
    return found


def _evidence(
    view: Rows,
    session: SessionRow,
    ruler: Ruler,
    left: list[SpanRow],
    retired: list[tuple[str, tuple[tuple[bytes, str], ...]]],
    dropped: frozenset[bytes],
    stated: frozenset[bytes],
) -> list[Evidence]:
    """Facts below their floor that nothing else carries once the spans are gone, each once; `stated` are those of summaries
    that stay live.
    """
    if not ruler.can_judge:
        return []
    gone: dict[bytes, int] = {}
    for span in left:
        for ref in span_facts(view, span.id).refs:
            gone[ref.fact] = gone.get(ref.fact, 0) + 1
    found: dict[bytes, Evidence] = {}
    for span in left:
        refs = span_facts(view, span.id).refs
        facts = ruler.measured(span, refs)
        ratios = {index: result for result in measure(facts) for index in result.dropped}
        for index in below_floor(facts):
            key = refs[index].fact
            if (
                key not in found
                and key not in dropped
                and not _covered(view, session, ruler, key, gone.get(key, 0), key in stated)
            ):
                result = ratios.get(index)
                fidelity, floor = (result.fidelity, result.floor) if result is not None else (None, None)
                found[key] = ruler.evidence(refs[index], span.id, "F2", floor, fidelity)
    for _, carried in retired:
        for key, _letter in carried:
            row = ruler.fact(key)
            if key in found or key in dropped or ruler.floor(key, row.role) != WHOLE:
                continue
            if not ruler.measure(key).survives and not _covered(view, session, ruler, key, gone.get(key, 0), key in stated):
                found[key] = ruler.evidence(FactRef(key, row.start, row.end), row.span, "C5", WHOLE)
    return list(found.values())


def _covered(view: Rows, session: SessionRow, ruler: Ruler, key: bytes, gone: int, stated: bool) -> bool:
    """C3: the live summaries that the round supersedes provide for nothing; raw spans, store entries and the others do."""
    row = ruler.fact(key)
    count = carrier_count(view, key, row, session)
    elsewhere = CarrierCount(
        raw_window=count.raw_window - gone,
        raw_stored=count.raw_stored,
        external=count.external,
        summaries_stored=count.summaries_stored,
        equivalent=int(stated),
    )
    return is_covered(ruler.measure(key).outcome, elsewhere, tombstoned=bool(row.tombstone) or row.expired)


def _ranges(window: list[SpanRow], chosen: set[str]) -> tuple[SpanRange, ...]:
    """Chosen window spans as ranges that contain no other window span."""
    ranges: list[SpanRange] = []
    first = last = ""
    for span in window:
        if span.id in chosen:
            first, last = first or span.id, span.id
        elif first:
            ranges.append(SpanRange(first, last))
            first = ""
    if first:
        ranges.append(SpanRange(first, last))
    return tuple(ranges)
