"""Index evictions and index writes: the last-carrier rule (C1) and the immutability of raw entries (I1, I3, I4)."""

from __future__ import annotations

from collections.abc import Callable, Collection

from ledger.decide.envelope import envelope
from ledger.decide.others import Others
from ledger.lookup import (
    assured_count,
    carrier_count,
    is_referred,
    is_summary_text,
    scope_row,
    session_row,
    sessions_concerned,
    span_facts,
    span_row,
    summary_row,
)
from ledger.measurement import Ruler
from ledger.rows import FactRef, FactRow, SessionRow, SpanRow, SummaryRow
from ledger.rules.carriers import BELOW_FLOOR, LAST_CARRIER, UNMANIFESTED, CarrierCount, is_released_from_store, must_stay_raw
from ledger.rules.floors import below_floor
from ledger.rules.identity import NOT_RECORDED, put_refusal, rechunk_refusal, unrecorded
from ledger.state import CARRIED, CARRIER_OF, Rows, name_key
from schemas.decisions import (
    EvictionGranted,
    EvictionJudged,
    EvictionRefused,
    Evidence,
    IndexGranted,
    IndexRefused,
    WouldPass,
)
from schemas.records import EvictionObserved, EvictionRequested, IndexWriteRequested


def decide_eviction(view: Rows, record: EvictionRequested) -> EvictionGranted | EvictionRefused:
    """I4, F2, C1: may these raw entries leave the store, all of them? Reasons are tried in the order of the contract:
    `not_recorded`, `summary_not_recorded:<id>`, `below_floor`, `last_carrier`.
    """
    head = envelope(view, record)

    def refused(rule: str, reason: str, would_pass: WouldPass, evidence: list[Evidence] | None = None) -> EvictionRefused:
        shown, total = _others(view, record.session, record.spans).ranked(evidence or [])
        return EvictionRefused(
            **head,
            request_id=record.request,
            rule=rule,
            reason=reason,
            spans=record.spans,
            would_pass=would_pass,
            evidence=shown,
            evidence_total=total,
        )

    def is_stored(name: str) -> bool:
        row = span_row(view, name)
        return row is not None and row.in_store and not row.leaving_store

    missing = unrecorded(record.spans, is_stored)
    if missing:
        return refused("I4", NOT_RECORDED, WouldPass(record_first=missing, skip_spans=missing))
    spans = [row for row in (span_row(view, name) for name in dict.fromkeys(record.spans)) if row is not None]
    summary = summary_row(view, record.summary) if record.summary is not None else None
    if record.summary is not None and summary is None:
        return refused("I4", f"summary_not_recorded:{record.summary}", WouldPass(record_first=(record.summary,)))
    short = _below_floor(view, Ruler(view, summary), spans) if summary is not None else []
    last = _last_carriers(view, spans, _assured)
    bare = tuple(s.id for s in spans if must_stay_raw(manifested=s.manifested, external=s.external) and not s.in_window)
    ways = _ways_out(record, short, last, bare)
    if short:
        return refused("F2", BELOW_FLOOR, ways, short)
    if last:
        return refused("C1", LAST_CARRIER, ways, last)
    if bare:
        return refused("C2", UNMANIFESTED, ways)
    return EvictionGranted(**head, request_id=record.request, rule="C1", spans=tuple(span.id for span in spans))


def _ways_out(record: EvictionRequested, short: list[Evidence], last: list[Evidence], bare: tuple[str, ...]) -> WouldPass:
    """Each way lets the request pass under all three rules, or is left empty."""
    facts = tuple(dict.fromkeys(item.fact for item in (*short, *last))) if not bare else ()
    holders = tuple(dict.fromkeys((*(item.span for item in (*short, *last)), *bare)))
    return WouldPass(
        skip_spans=holders if set(holders) != set(record.spans) else (),
        carry_facts=facts,
        tombstone_facts=facts,
        externalise_spans=holders if not short else (),
    )


def judge_eviction(view: Rows, record: EvictionObserved) -> EvictionJudged:
    """C1 on entries that a TTL, LRU, size cap, cleanup or rebuild has already removed."""
    names = dict.fromkeys(record.spans)
    rows = [row for row in (span_row(view, name) for name in names) if row is not None and row.in_store]
    found = [summary_row(view, name) for name in names if span_row(view, name) is None]
    summaries = [row for row in found if row is not None and row.in_store]
    lost = [*_last_carriers(view, rows, carrier_count), *_last_entries(view, rows, summaries)]
    shown, total = _others(view, record.session, record.spans).ranked(lost)
    return EvictionJudged(
        **envelope(view, record),
        rule="C1",
        reason=record.policy,
        spans=(*(row.id for row in rows), *(row.id for row in summaries)),
        verdict="violated" if total else "held",
        evidence=shown,
        evidence_total=total,
    )


def decide_index_write(view: Rows, record: IndexWriteRequested) -> IndexGranted | IndexRefused:
    """I1, I3: a store may add entries; it may not pass a summary off as raw, nor replace or re-chunk raw entries."""
    head = envelope(view, record)
    if record.operation == "rechunk":
        reason = rechunk_refusal(record.replaces, lambda name: span_row(view, name) is not None)
        ways = WouldPass(skip_spans=record.replaces)
    else:
        raw, summary = span_row(view, record.key), summary_row(view, record.key)
        reason = put_refusal(
            names_summary=summary is not None,
            text_is_summary=is_summary_text(view, record.text_sha256),
            claims_raw=record.claims_kind == "raw",
            raw_conflict=raw is not None and bool(record.text_sha256) and raw.text_sha256 != record.text_sha256,
        )
        ways = WouldPass(skip_spans=(record.key,))
    if reason:
        return IndexRefused(**head, request_id=record.request, rule="I3", reason=reason, would_pass=ways)
    return IndexGranted(**head, request_id=record.request, rule="I3")


def _below_floor(view: Rows, ruler: Ruler, spans: list[SpanRow]) -> list[Evidence]:
    """F2: facts that the named summary does not hold and nobody has dropped on purpose."""
    found: list[Evidence] = []
    for span in spans:
        refs = span_facts(view, span.id).refs
        short = (refs[index] for index in below_floor(ruler.measured(span, refs)))
        found.extend(ruler.evidence(ref, span.id, "F2") for ref in short if is_referred(ruler.fact(ref.fact)))
    return found


def _last_entries(view: Rows, spans: list[SpanRow], summaries: list[SummaryRow]) -> list[Evidence]:
    """C1: facts of which the stored entries of these summaries were the last carrier, the entries of the spans gone too."""
    ruler = Ruler(view, None)
    raw = {ref.fact: 0 for span in spans for ref in span_facts(view, span.id).refs}
    gone: dict[bytes, tuple[int, int]] = {}
    for summary in summaries:
        carried = view.get(CARRIED, name_key(summary.id))
        for key, _ in carried.facts if carried is not None else ():
            gone[key] = (gone.get(key, (0, 0))[0] + 1, summary.session)
    found = []
    for key, (count, owner) in gone.items():
        row = ruler.fact(key)
        if key in raw or not is_referred(row):  # a fact of those spans was looked at with them
            continue
        if any(carrier_count(view, key, row, each).total <= count for each in sessions_concerned(view, key, owner)):
            found.append(_missing(ruler.evidence(FactRef(key, row.start, row.end), row.span, "C1")))
    return found


def _others(view: Rows, session: str, names: tuple[str, ...]) -> Others:
    """Carriers that whoever asks can reach besides these entries."""
    row = session_row(view, session)
    assert row is not None, "the fold rejects records of sessions that were not opened"
    return Others(view, row, from_store=frozenset(names))


Count = Callable[[Rows, bytes, FactRow, SessionRow], CarrierCount]


def _assured(view: Rows, fact: bytes, row: FactRow, session: SessionRow) -> CarrierCount:
    """What a session is sure to keep; nothing in its window once it is closed, for nobody reads it."""
    count = assured_count(view, fact, row, session)
    return count.without_window if session.closed else count


def _last_carriers(view: Rows, spans: list[SpanRow], count: Count) -> list[Evidence]:
    """C1: facts whose last raw carrier is among these entries, all of them counted as gone. An entry is a carrier for the
    scope: each session that needs the fact must keep another one.
    """
    ruler = Ruler(view, None)
    gone: dict[bytes, int] = {}
    for span in spans:
        for ref in span_facts(view, span.id).refs:
            gone[ref.fact] = gone.get(ref.fact, 0) + 1
    going = {span.id for span in spans}
    found: dict[bytes, Evidence] = {}
    seen: set[tuple[bytes, int]] = set()
    for span in spans:
        for ref in span_facts(view, span.id).refs:
            if ref.fact in found or (ref.fact, span.session) in seen:
                continue
            seen.add((ref.fact, span.session))
            row = ruler.fact(ref.fact)
            left = (
                _without(count(view, ref.fact, row, session), gone[ref.fact] + _found_missing(view, ref.fact, going))
                for session in sessions_concerned(view, ref.fact, span.session)
            )
            referred = is_referred(row)
            if not all(is_released_from_store(each, tombstoned=bool(row.tombstone), referred=referred) for each in left):
                found[ref.fact] = _missing(ruler.evidence(ref, span.id, "C1"))
    return list(found.values())


def _found_missing(view: Rows, fact: bytes, going: Collection[str]) -> int:
    """Entries of the fact, those that go anyway left out, that the last check of the store did not find."""
    checked = scope_row(view).missing_at
    if not checked:
        return 0
    names = dict.fromkeys(place.span for _, place in view.walk(CARRIER_OF, fact))
    rows = (span_row(view, name) for name in names if name not in going)
    return sum(row is not None and row.in_store and not row.leaving_store and row.missing_at == checked for row in rows)


def _without(count: CarrierCount, gone: int) -> CarrierCount:
    return CarrierCount(
        raw_window=count.raw_window,
        raw_stored=count.raw_stored - gone,
        external=count.external,
        verbatim=count.verbatim,
        equivalent=count.equivalent,
        summaries_stored=count.summaries_stored,
    )


def _missing(evidence: Evidence) -> Evidence:
    """No summary was looked at, so the outcome is simply that the fact goes."""
    return Evidence(
        fact=evidence.fact,
        cls=evidence.cls,
        span=evidence.span,
        start=evidence.start,
        end=evidence.end,
        outcome="missing",
        rule="C1",
    )
