"""Granted, applied, withdrawn and judged compactions."""

from __future__ import annotations

import msgspec

from ledger.evolve.departure import Departure, depart
from ledger.evolve.effects import Effects
from ledger.evolve.facts import FACT_RULES, change_in_session, change_stored, needed_session, subject_of
from ledger.lookup import fact_row, request_row, span_facts, span_row, spans_in
from ledger.state import FACT, REQUEST, SESSION, SPAN, RequestRow, SessionRow, SpanRow, fact_key, name_key
from schemas.codec import decode_decision, encode
from schemas.decisions import AnyDecision, CompactionGranted, CompactionJudged, CompactionRefused, EvictionGranted
from schemas.records import CompactionApplied, CompactionObserved, CompactionRequested, RequestWithdrawn

replace = msgspec.structs.replace
PENDING, APPLIED, WITHDRAWN, REFUSED, GRANTED = "pending", "applied", "withdrawn", "refused", "granted"


def remember_request(fx: Effects, decision: AnyDecision, status: str, summary_sha256: str = "") -> None:
    """Keep a request's decision, so that a repeat gets the same bytes (P3)."""
    row = RequestRow(
        event=decision.request,
        request=decision.request_id,
        session=decision.session,
        status=status,
        decision=encode(decision),
        summary_sha256=summary_sha256,
    )
    fx.draft.put(REQUEST, name_key(decision.session, decision.request_id), row)


def set_status(fx: Effects, row: RequestRow, status: str) -> None:
    """Move a request on in its life."""
    fx.draft.put(REQUEST, name_key(row.session, row.request), replace(row, status=status))


def on_granted(fx: Effects, decision: CompactionGranted, record: CompactionRequested) -> None:
    """A grant is a permission, not an effect: its spans count as gone for other requests until it is applied or withdrawn."""
    session = needed_session(fx, decision.session)
    remember_request(fx, decision, PENDING, decision.summary_sha256)
    fx.draft.put(SESSION, name_key(session.id), replace(session, pending=decision.request_id))
    for name in decision.evict:
        _mark_leaving(fx, session, name, decision.request_id)
    fx.resolve_alert("F3", f"budget:{session.id}", f"granted: {record.request}")


def on_refused(fx: Effects, decision: CompactionRefused, record: CompactionRequested) -> None:
    """Nothing changes but the record of the refusal; a budget that cannot be met is a ticket."""
    remember_request(fx, decision, REFUSED)
    if decision.reason == "budget_exhausted":
        fx.raise_alert(
            kind="budget_exhausted",
            rule="F3",
            severity="ticket",
            subject=f"budget:{decision.session}",
            reason=f"request {record.request}: the spans that hold do not free enough tokens",
            evidence=decision.evidence[:20],
        )


def _mark_leaving(fx: Effects, session: SessionRow, name: str, request: str) -> None:
    span = span_row(fx.draft, name)
    if span is None:
        return
    fx.draft.put(SPAN, name_key(name), replace(span, leaving=request))
    for ref in span_facts(fx.draft, name).refs:
        change_in_session(fx, ref.fact, session, leaving=1 if request else -1)


def release(fx: Effects, session: SessionRow, decision: CompactionGranted) -> None:
    """The grant will not be used: its spans are carriers for other requests again."""
    for name in decision.evict:
        _mark_leaving(fx, session, name, "")


def on_applied(fx: Effects, record: CompactionApplied) -> str:
    """The granted compaction takes effect. Returns why not, or the empty string."""
    row = request_row(fx.draft, record.session, record.request)
    if row is None or row.status != PENDING:
        return "no_pending_request"
    decision = decode_decision(row.decision)
    if not isinstance(decision, CompactionGranted):
        return "no_pending_request"
    if record.summary_sha256 != row.summary_sha256:
        return "summary_differs_from_grant"
    session = needed_session(fx, record.session)
    spans = [span for span in (span_row(fx.draft, name) for name in decision.evict) if span is not None]
    set_status(fx, row, APPLIED)
    _bury(fx, session, record.id, decision)
    depart(fx, session, spans, _departure_of_grant(record, decision, spans))
    return ""


def _departure_of_grant(record: CompactionApplied, decision: CompactionGranted, spans: list[SpanRow]) -> Departure:
    return Departure(
        round=decision.request_id,
        event=record.id,
        decision=decision.id,
        observed=False,
        verdict="held",
        turn=-1,
        trigger="requested",
        summary=decision.summary,
        summary_state="text",
        outcomes=decision.outcomes,
        retires=decision.retires,
        tags=decision.tags,
        tokens_after=decision.tokens_after,
    )


def _bury(fx: Effects, session: SessionRow, event: str, decision: CompactionGranted) -> None:
    """Facts that the request named as dropped on purpose are tombstoned once it is applied."""
    for name in decision.tombstones:
        key = fact_key(name)
        row = fact_row(fx.draft, key)
        if row is not None:
            fx.draft.put(FACT, key, replace(row, tombstone=event))
            for rule in FACT_RULES:
                fx.resolve_alert(rule, subject_of(key, session.id), "dropped on purpose")


def on_withdrawn(fx: Effects, record: RequestWithdrawn) -> str:
    """The publisher gave up. Returns why there is nothing to withdraw, or the empty string."""
    row = request_row(fx.draft, record.session, record.request)
    if row is None:
        return "request_not_recorded"
    if row.status == REFUSED:
        return ""
    if row.status != PENDING:
        return f"request_{row.status}"
    session = needed_session(fx, record.session)
    withdraw(fx, session, row)
    return ""


def withdraw(fx: Effects, session: SessionRow, row: RequestRow) -> None:
    """End a pending grant without effect."""
    decision = decode_decision(row.decision)
    if isinstance(decision, CompactionGranted):
        release(fx, session, decision)
        if session.pending == row.request:
            fx.draft.put(SESSION, name_key(session.id), replace(needed_session(fx, session.id), pending=""))
    elif isinstance(decision, EvictionGranted):
        release_entries(fx, decision)
    set_status(fx, row, WITHDRAWN)


def release_entries(fx: Effects, decision: EvictionGranted) -> None:
    """Store entries of an unused eviction grant are carriers for other requests again."""
    for name in decision.spans:
        span = span_row(fx.draft, name)
        if span is not None and span.leaving_store:
            fx.draft.put(SPAN, name_key(name), replace(span, leaving_store=""))
            for ref in span_facts(fx.draft, name).refs:
                change_stored(fx, ref.fact, leaving=-1)


def on_judged(fx: Effects, decision: CompactionJudged, record: CompactionObserved) -> None:
    """An observed compaction takes effect as it happened; a pending grant of the session ends with it."""
    if decision.ends_pending:
        row = request_row(fx.draft, decision.session, decision.ends_pending)
        session = needed_session(fx, decision.session)
        if row is not None and row.status == PENDING:
            if decision.pending_applied:
                _release_and_close(fx, session, row)
            else:
                withdraw(fx, session, row)
    session = needed_session(fx, decision.session)
    left = [span for span in spans_in(fx.draft, session, decision.left) if span.in_window]
    unseen = frozenset(span.id for span in spans_in(fx.draft, session, decision.unseen))
    depart(
        fx,
        session,
        left,
        Departure(
            round=decision.round,
            event=record.id,
            decision=decision.id,
            observed=True,
            verdict=decision.verdict,
            turn=decision.turn,
            trigger=record.trigger,
            summary=decision.summary or "",
            summary_state=decision.summary_state,
            outcomes=decision.outcomes,
            retires=decision.retires,
            tags=decision.tags,
            unseen=unseen,
            kept=decision.kept,
            tokens_before=record.tokens_before,
            tokens_after=decision.tokens_after,
            evidence=decision.evidence,
        ),
    )


def _release_and_close(fx: Effects, session: SessionRow, row: RequestRow) -> None:
    decision = decode_decision(row.decision)
    if isinstance(decision, CompactionGranted):
        release(fx, session, decision)
    set_status(fx, row, APPLIED)
