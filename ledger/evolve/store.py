"""The agent's retrieval store: entries come and go, and what it promises."""

from __future__ import annotations

import msgspec

from ledger.evolve.compactions import release_entries
from ledger.evolve.effects import Effects
from ledger.evolve.facts import (
    add_life,
    bury,
    change_stored,
    change_stored_summaries,
    in_session_key,
    lost_key,
    needed_session,
    regain_everywhere,
    subject_of,
)
from ledger.evolve.fates import binds
from ledger.evolve.rehydration import dependency_changed
from ledger.evolve.requests import APPLIED, PENDING, REFUSED, remember_request, request_mark, set_status
from ledger.lookup import carrier_count, fact_row, is_referred, request_row, sessions_concerned, span_facts, span_row
from ledger.lookup import summary_row as find_summary
from ledger.rows import CarriedRow, FactInSessionRow, LifeRow, LostRow, SessionRow, SummaryRow
from ledger.rules.identity import store_regime
from ledger.state import CARRIED, FACT_IN_SESSION, LOST, REQUEST, SPAN, SUMMARY, fact_key, name_key
from schemas.codec import decode_decision
from schemas.decisions import EvictionGranted, EvictionJudged, EvictionRefused, Evidence, IndexGranted, IndexRefused
from schemas.records import (
    EvictionApplied,
    ExternalisationVerified,
    FactTombstoned,
    IndexDeclared,
    IndexEntryRecorded,
    IndexRechunked,
)

replace = msgspec.structs.replace


def on_entry_recorded(fx: Effects, record: IndexEntryRecorded) -> str:
    """The store holds the span, or summary, now: a carrier for the whole scope. Returns why not, or the empty string."""
    span = span_row(fx.draft, record.span)
    if span is None:
        summary = find_summary(fx.draft, record.span)
        if summary is None:
            return "span_not_recorded"
        if not summary.in_store:
            _store_summary(fx, summary)
        return ""
    if span.in_store:
        if span.missing_at:
            fx.draft.put(SPAN, name_key(span.id), replace(span, missing_at=0))
        return ""
    fx.draft.put(SPAN, name_key(span.id), replace(span, in_store=True, missing_at=0))
    for ref in span_facts(fx.draft, span.id).refs:
        change_stored(fx, ref.fact, stored=1)
        regain_everywhere(fx, ref.fact, span.id)
    return ""


def _store_summary(fx: Effects, summary: SummaryRow) -> None:
    """A summary's entry carries what the summary was measured to state, for the whole scope and beyond its own life."""
    key = name_key(summary.id)
    fx.draft.put(SUMMARY, key, replace(summary, in_store=True))
    for fact, _ in (fx.draft.get(CARRIED, key) or CarriedRow()).facts:
        change_stored_summaries(fx, fact, 1)
        regain_everywhere(fx, fact, summary.id)


def on_eviction_granted(fx: Effects, decision: EvictionGranted) -> None:
    """Entries may go; for other requests they are gone already."""
    remember_request(fx, decision, PENDING)
    for name in decision.spans:
        span = span_row(fx.draft, name)
        if span is not None and not span.leaving_store:
            fx.draft.put(SPAN, name_key(name), replace(span, leaving_store=request_mark(decision)))
            for ref in span_facts(fx.draft, name).refs:
                change_stored(fx, ref.fact, leaving=1)


def on_eviction_refused(fx: Effects, decision: EvictionRefused) -> None:
    """Nothing leaves the store."""
    remember_request(fx, decision, REFUSED)


def on_eviction_applied(fx: Effects, record: EvictionApplied) -> str:
    """The granted entries are gone. Returns why not, or the empty string."""
    row = request_row(fx.draft, record.session, record.request)
    decision = decode_decision(row.decision) if row is not None and row.status == PENDING else None
    if row is None or not isinstance(decision, EvictionGranted):
        return "no_pending_request"
    _remove_entries(fx, needed_session(fx, record.session), release_entries(fx, decision), record.id)
    set_status(fx, row, APPLIED)
    return ""


def on_eviction_judged(fx: Effects, decision: EvictionJudged) -> None:
    """Entries that are gone already: C1 alerts for each fact whose last carrier went, and such a store is no lossless
    fallback.
    """
    if decision.verdict == "violated":
        fx.degrade("last_carrier_evicted")
    _remove_entries(fx, needed_session(fx, decision.session), decision.spans, decision.request)


def _end_if_gone(fx: Effects, mark: str) -> None:
    """A pending eviction whose entries have all been seen to go was carried out, whoever did it."""
    row = fx.draft.get(REQUEST, bytes.fromhex(mark))
    decision = decode_decision(row.decision) if row is not None and row.status == PENDING else None
    if row is None or not isinstance(decision, EvictionGranted):
        return
    spans = (span_row(fx.draft, name) for name in decision.spans)
    if not any(span is not None and span.leaving_store == mark for span in spans):
        set_status(fx, row, APPLIED)


def _remove_entries(fx: Effects, session: SessionRow, names: tuple[str, ...], group: str) -> None:
    gone: dict[tuple[bytes, int], tuple[str, int, int]] = {}
    granted: dict[str, None] = {}
    for name in names:
        span = span_row(fx.draft, name)
        if span is None:
            _remove_summary_entry(fx, name, gone)
        if span is None or not span.in_store:
            continue
        refs = span_facts(fx.draft, name).refs
        if span.leaving_store:
            granted[span.leaving_store] = None
            for ref in refs:
                change_stored(fx, ref.fact, leaving=-1)
        for ref in refs:
            change_stored(fx, ref.fact, stored=-1)
            gone.setdefault((ref.fact, span.session), (name, ref.start, ref.end))
        fx.draft.put(SPAN, name_key(name), replace(span, in_store=False, leaving_store=""))
    for name in names:
        dependency_changed(fx, name)
    for mark in granted:
        _end_if_gone(fx, mark)
    settled: set[tuple[bytes, int]] = set()
    for (fact, owner), (carrier, start, end) in gone.items():
        for concerned in sessions_concerned(fx.draft, fact, owner):
            if (fact, concerned.ordinal) not in settled:
                settled.add((fact, concerned.ordinal))
                _settle_eviction(fx, concerned, fact, carrier, start, end, f"{session.id}/{group}")


def _remove_summary_entry(fx: Effects, name: str, gone: dict[tuple[bytes, int], tuple[str, int, int]]) -> None:
    summary = find_summary(fx.draft, name)
    if summary is None or not summary.in_store:
        return
    fx.draft.put(SUMMARY, name_key(name), replace(summary, in_store=False))
    for fact, _ in (fx.draft.get(CARRIED, name_key(name)) or CarriedRow()).facts:
        change_stored_summaries(fx, fact, -1)
        row = fact_row(fx.draft, fact)
        if row is not None:
            gone.setdefault((fact, summary.session), (row.span, row.start, row.end))


def _settle_eviction(fx: Effects, session: SessionRow, fact: bytes, span: str, start: int, end: int, group: str) -> None:
    """C1, C5: what the entry's going means to one session that needs the fact."""
    row = fact_row(fx.draft, fact)
    if row is None or carrier_count(fx.draft, fact, row, session).total:
        return
    key = in_session_key(fact, session)
    mine = fx.draft.get(FACT_IN_SESSION, key) or FactInSessionRow()
    fx.draft.put(FACT_IN_SESSION, key, replace(mine, lost_round=max(session.rounds, 1)))
    lost = LostRow(span=span, start=start, end=end, outcome="missing", summary="")
    fx.draft.put(LOST, lost_key(session, max(session.rounds, 1), fact), lost)
    add_life(fx, fact, LifeRow(step="evicted", session=session.id, round=session.rounds, carrier=span, outcome="missing"))
    if not is_referred(row):
        return
    evidence = Evidence(
        fact=row.id,
        cls=row.cls,  # type: ignore[arg-type]
        span=span,
        start=start,
        end=end,
        outcome="missing",
        rule="C1",
    )
    banned = row.cls == "prohibition"
    fx.raise_alert(
        kind="prohibition_lost" if banned else "last_carrier_evicted",
        rule="C1",
        severity="page" if banned and binds(fx, row, span) else "ticket",
        subject=subject_of(fact, session.id),
        session=session.id,
        group=group,
        evidence=(evidence,),
    )


def on_index_granted(fx: Effects, decision: IndexGranted) -> None:
    """The write may happen; it becomes a carrier with its `index.entry_recorded`."""
    remember_request(fx, decision, "granted")


def on_index_refused(fx: Effects, decision: IndexRefused) -> None:
    """I3: a pass that tries to replace, re-key or counterfeit raw entries is halted."""
    remember_request(fx, decision, REFUSED)
    fx.raise_alert(
        kind="pass_halted",
        rule="I3",
        severity="ticket",
        subject=f"write:{decision.session}:{decision.request_id}",
        reason=decision.reason,
    )


def on_rechunked(fx: Effects, record: IndexRechunked) -> None:
    """I3: raw entries were replaced. Their old keys answer nothing any more, and the scope is degraded."""
    raw = tuple(name for name in record.replaces if span_row(fx.draft, name) is not None)
    if not raw:
        return
    fx.degrade("raw_entries_rechunked")
    _remove_entries(fx, needed_session(fx, record.session), raw, record.id)
    fx.raise_alert(
        kind="raw_span_rewritten",
        rule="I3",
        severity="page",
        subject=f"rechunked:{raw[0]}",
        reason=f"{len(raw)} raw entries were replaced",
    )


def on_index_declared(fx: Effects, record: IndexDeclared) -> None:
    """I2: what the store promises, and whether that is best effort only."""
    scope = fx.row
    fx.set_scope(store=record.store)
    reasons = store_regime(record.key_scheme, mutable=record.mutable, ttl_s=record.ttl_s, horizon_s=scope.horizon_s)
    if not reasons:
        return
    fx.degrade(*reasons)
    paging = any(reason != "ttl_below_horizon" for reason in reasons)
    fx.raise_alert(
        kind="store_best_effort" if paging else "ttl_below_horizon",
        rule="I2",
        severity="page" if paging else "ticket",
        subject=f"store:{record.store}",
        reason=", ".join(reasons),
    )


def on_externalised(fx: Effects, record: ExternalisationVerified) -> str:
    """C2, F3: the span was fetched back unchanged from elsewhere. Returns why that is not so, or the empty string."""
    span = span_row(fx.draft, record.span)
    if span is None:
        return "span_not_recorded"
    if span.text_sha256 != record.sha256:
        return "round_trip_differs"
    if span.external:
        return ""
    fx.draft.put(SPAN, name_key(span.id), replace(span, external=True))
    for ref in span_facts(fx.draft, span.id).refs:
        change_stored(fx, ref.fact, external=1)
        regain_everywhere(fx, ref.fact, span.id)
    return ""


def on_tombstoned(fx: Effects, record: FactTombstoned) -> str:
    """The named fact, and no other, was dropped on purpose. Returns why not, or the empty string."""
    key = fact_key(record.fact)
    row = fact_row(fx.draft, key)
    if row is None:
        return "fact_not_recorded"
    bury(fx, key, row, by=record.authority, reason=f"dropped on purpose by {record.authority}: {record.reason}")
    return ""
