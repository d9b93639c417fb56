"""Recounts, from spans and summaries alone, everything that the fold keeps as a count or a mark, and compares.

The fold never walks a scope: it moves counters. This checker walks everything and shares nothing with it but the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ledger.lookup import carrier_count, is_referred
from ledger.rows import FactInSessionRow, ScopeRow, SessionRow, SpanRow
from ledger.state import (
    ALERT,
    CARRIED,
    CARRIER_OF,
    FACT,
    FACT_IN_SESSION,
    FACT_KEY_BYTES,
    FACT_VALUE,
    ONLY,
    PLACE,
    REQUEST,
    ROUND,
    SCOPE,
    SESSION,
    SPAN,
    SPAN_FACTS,
    SUMMARY,
    SUMMARY_TEXT,
    WINDOW,
    fact_name,
    name_key,
    ordinal_key,
    value_key,
)
from schemas.codec import decode_decision
from schemas.decisions import CompactionGranted, EvictionGranted
from tests.support.rows import MemoryRows


def faults(rows: MemoryRows) -> list[str]:
    """What does not add up; empty if everything does."""
    return [
        *_spans_and_windows(rows),
        *_scope_wide_counts(rows),
        *_counts_in_sessions(rows),
        *_summaries(rows),
        *_pending(rows),
        *_losses(rows),
        *_rounds(rows),
    ]


def _spans(rows: MemoryRows) -> list[SpanRow]:
    return sorted(rows.all(SPAN).values(), key=lambda row: row.ordinal)


def _sessions(rows: MemoryRows) -> list[SessionRow]:
    return sorted(rows.all(SESSION).values(), key=lambda row: row.ordinal)


def _refs(rows: MemoryRows, carrier: str) -> list[bytes]:
    row = rows.get(SPAN_FACTS, name_key(carrier))
    return [ref.fact for ref in row.refs] if row is not None else []


def _carried(rows: MemoryRows, summary: str) -> tuple[tuple[bytes, str], ...]:
    row = rows.get(CARRIED, name_key(summary))
    return row.facts if row is not None else ()


def _compare(what: str, kept: Mapping[object, int], counted: Mapping[object, int]) -> list[str]:
    return [
        f"{what} of {key!r}: the fold keeps {kept.get(key, 0)}, a recount gives {counted.get(key, 0)}"
        for key in {**kept, **counted}
        if kept.get(key, 0) != counted.get(key, 0)
    ]


def _spans_and_windows(rows: MemoryRows) -> list[str]:
    scope = rows.get(SCOPE, ONLY) or ScopeRow()
    found = []
    places = {ordinal_key(row.session, row.ordinal): row.id for row in _spans(rows)}
    window = {ordinal_key(row.session, row.ordinal): row.id for row in _spans(rows) if row.in_window}
    if {key: row.span for key, row in rows.all(PLACE).items()} != places:
        found.append("places are not the spans of the sessions")
    if {key: row.span for key, row in rows.all(WINDOW).items()} != window:
        found.append("the window is not the spans that are in it")
    ordinals = sorted([row.ordinal for row in _spans(rows)] + [row.ordinal for row in rows.all(SUMMARY).values()])
    if ordinals != list(range(1, scope.carriers + 1)):
        found.append(f"carrier ordinals {ordinals} are not 1 to {scope.carriers}")
    if scope.sessions != len(_sessions(rows)):
        found.append("sessions are miscounted")
    found += [
        f"{session.id} has another number of spans"
        for session in _sessions(rows)
        if session.spans != sum(1 for row in _spans(rows) if row.session == session.ordinal)
    ]
    for span in _spans(rows):
        refs = _refs(rows, span.id)
        if len(set(refs)) != len(refs):
            found.append(f"{span.id} lists a fact twice")
        for fact in refs:
            row = rows.get(FACT, fact)
            if row is None or rows.get(FACT_VALUE, value_key(row.cls, row.value) + fact) is None:
                found.append(f"{span.id} lists {fact_name(fact)}, which has no row")
            if rows.get(CARRIER_OF, fact + ordinal_key(span.ordinal)) is None:
                found.append(f"{span.id} is not among the carriers of {fact_name(fact)}")
    return found


def _scope_wide_counts(rows: MemoryRows) -> list[str]:
    stored: Counter[object] = Counter()
    external: Counter[object] = Counter()
    leaving: Counter[object] = Counter()
    summaries: Counter[object] = Counter()
    for summary in rows.all(SUMMARY).values():
        for fact, _ in _carried(rows, summary.id):
            summaries[fact] += summary.in_store
    for span in _spans(rows):
        for fact in _refs(rows, span.id):
            stored[fact] += span.in_store
            external[fact] += span.external
            leaving[fact] += bool(span.leaving_store)
        if span.leaving_store and not span.in_store:
            return [f"{span.id} is leaving a store that it is not in"]
    facts = rows.all(FACT)
    return [
        *_compare("stored", {key: row.stored for key, row in facts.items()}, stored),
        *_compare("external", {key: row.external for key, row in facts.items()}, external),
        *_compare("stored_summaries", {key: row.stored_summaries for key, row in facts.items()}, summaries),
        *_compare("leaving_store", {key: row.leaving_store for key, row in facts.items()}, leaving),
    ]


def _counts_in_sessions(rows: MemoryRows) -> list[str]:
    counted: dict[str, Counter[object]] = {name: Counter() for name in COUNTS}
    for span in _spans(rows):
        for fact in _refs(rows, span.id):
            key = fact + ordinal_key(span.session)
            counted["window"][key] += span.in_window
            counted["leaving"][key] += bool(span.leaving)
    for session in _sessions(rows):
        retiring = _pending_grant(rows, session)
        for name in session.live:
            for fact, letter in _carried(rows, name):
                key, quality = fact + ordinal_key(session.ordinal), "verbatim" if letter in "vV" else "equivalent"
                counted[quality][key] += 1
                counted[f"leaving_{quality}"][key] += retiring is not None and name in retiring.retires
    kept = rows.all(FACT_IN_SESSION)
    return [
        fault
        for name, counts in counted.items()
        for fault in _compare(name, {key: getattr(row, name) for key, row in kept.items()}, counts)
    ]


COUNTS = ("window", "leaving", "verbatim", "equivalent", "leaving_verbatim", "leaving_equivalent")


def _pending_grant(rows: MemoryRows, session: SessionRow) -> CompactionGranted | None:
    row = rows.get(REQUEST, name_key(session.id, session.pending)) if session.pending else None
    decision = decode_decision(row.decision) if row is not None else None
    return decision if isinstance(decision, CompactionGranted) else None


def _summaries(rows: MemoryRows) -> list[str]:
    found = []
    live: list[str] = [name for session in _sessions(rows) for name in session.live]
    if len(set(live)) != len(live):
        found.append(f"live summaries stand twice: {live}")
    texts = set(rows.all(SUMMARY_TEXT))
    for key, row in rows.all(SUMMARY).items():
        if row.live != (row.id in live):
            found.append(f"{row.id} is {'live' if row.live else 'not live'} and its session says otherwise")
        if (key in texts) != (row.state == "text" and not row.retired):
            found.append(f"{row.id}: its text is kept or dropped against its state")
        if len({fact for fact, _ in _carried(rows, row.id)}) != len(_carried(rows, row.id)):
            found.append(f"{row.id} carries a fact twice")
    waiting = {name_key(span.id) for span in _spans(rows) if not span.manifested}
    if texts - set(rows.all(SUMMARY)) != waiting:
        found.append("texts of spans are kept that have a manifest, or dropped that wait for one")
    return found


def _pending(rows: MemoryRows) -> list[str]:
    """A mark of leaving belongs to a pending grant, and each pending grant to its marks."""
    found = []
    for session in _sessions(rows):
        grant = _pending_grant(rows, session)
        row = rows.get(REQUEST, name_key(session.id, session.pending)) if session.pending else None
        if session.pending and (grant is None or row is None or row.status != "pending"):
            found.append(f"{session.id} waits for {session.pending}, which is not pending")
        named = set(grant.evict) if grant is not None else set()
        marked = {span.id for span in _spans(rows) if span.session == session.ordinal and span.leaving}
        if marked != named:
            found.append(f"{session.id}: {sorted(marked)} are marked as leaving, the grant names {sorted(named)}")
    pending_stores: set[str] = set()
    for request in rows.all(REQUEST).values():
        decision = decode_decision(request.decision)
        if request.status == "pending" and isinstance(decision, EvictionGranted):
            pending_stores.update(decision.spans)
        if request.status == "pending" and isinstance(decision, CompactionGranted):
            owner = rows.get(SESSION, name_key(request.session))
            if owner is None or owner.pending != request.request:
                found.append(f"{request.request} is pending and its session does not wait for it")
    found += [
        f"{span.id} leaves the store for nobody"
        for span in _spans(rows)
        if span.leaving_store and span.id not in pending_stores
    ]
    return found


def _losses(rows: MemoryRows) -> list[str]:
    """Lost means without a carrier in reach, and the other way round; a loss alert is open only for what is lost."""
    found = []
    by_ordinal = {session.ordinal: session for session in _sessions(rows)}
    lost: set[str] = set()
    for span in _spans(rows):
        owner = by_ordinal[span.session]
        found += [
            f"{fact_name(fact)} of {span.id}, which left {owner.id}, has no fate there"
            for fact in (_refs(rows, span.id) if span.left_round else ())
            if rows.get(FACT_IN_SESSION, fact + ordinal_key(owner.ordinal)) is None
        ]
    for key, mine in rows.all(FACT_IN_SESSION).items():
        fact, session = key[:FACT_KEY_BYTES], by_ordinal[int.from_bytes(key[FACT_KEY_BYTES:], "big")]
        row = rows.get(FACT, fact)
        assert row is not None
        total = carrier_count(rows, fact, row, session).total
        if _is_lost(mine) and total:
            found.append(f"{row.value}@{session.id} counts as lost and has {total} carriers")
        if not _is_lost(mine) and not total and not session.closed:
            found.append(f"{row.value}@{session.id} has no carrier and does not count as lost")
        if _is_lost(mine) and is_referred(row):
            lost.add(f"{row.id}@{session.id}")
    return found + [
        f"{alert.kind} is open for {alert.subject}, which is not lost"
        for alert in rows.all(ALERT).values()
        if alert.open and alert.kind in ("fact_lost", "prohibition_lost", "last_carrier_evicted") and alert.subject not in lost
    ]


def _is_lost(row: FactInSessionRow) -> bool:
    return bool(row.lost_round or row.unknown_round)


def _rounds(rows: MemoryRows) -> list[str]:
    found = []
    for session in _sessions(rows):
        rounds = [row for _, row in rows.walk(ROUND, ordinal_key(session.ordinal))]
        if [row.ordinal for row in rounds] != list(range(1, session.rounds + 1)):
            found.append(f"{session.id}: rounds are not 1 to {session.rounds}")
        found += [
            f"{row.round}: its facts do not add up" for row in rounds if row.dropped != row.survived + row.lost + row.unknown
        ]
    return found
