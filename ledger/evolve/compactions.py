"""Granted, applied, withdrawn and judged compactions."""

from __future__ import annotations

import msgspec

from ledger.evolve.departure import depart
from ledger.evolve.effects import Effects
from ledger.evolve.facts import bury, change_in_session, change_stored, change_summarised, needed_session
from ledger.evolve.fates import Departure
from ledger.evolve.requests import APPLIED, PENDING, REFUSED, WITHDRAWN, remember_request, request_mark, set_status
from ledger.lookup import fact_row, request_row, span_facts, span_row, spans_in
from ledger.rows import RequestRow, SessionRow
from ledger.state import CARRIED, SESSION, SPAN, fact_key, name_key
from schemas.codec import decode_decision
from schemas.decisions import CompactionGranted, CompactionJudged, CompactionRefused, EvictionGranted
from schemas.records import CompactionApplied, CompactionObserved, CompactionRequested, RequestWithdrawn

replace = msgspec.structs.replace


def on_granted(fx: Effects, decision: CompactionGranted, record: CompactionRequested) -> None:
    """A grant is a permission, not an effect: its spans count as gone for other requests until it is applied or withdrawn."""
    session = needed_session(fx, decision.session)
    remember_request(fx, decision, PENDING, decision.summary_sha256)
    fx.draft.put(SESSION, name_key(session.id), replace(session, pending=decision.request_id))
    _mark_leaving(fx, session, decision, decision.request_id)
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


def _mark_leaving(fx: Effects, session: SessionRow, decision: CompactionGranted, request: str) -> None:
    """Mark, or with an empty request unmark, what the grant may take away: its spans, and the summaries that it retires."""
    step = 1 if request else -1
    for name in decision.evict:
        span = span_row(fx.draft, name)
        if span is None:
            continue
        fx.draft.put(SPAN, name_key(name), replace(span, leaving=request))
        for ref in span_facts(fx.draft, name).refs:
            change_in_session(fx, ref.fact, session, leaving=step)
    for name in decision.retires:
        carried = fx.draft.get(CARRIED, name_key(name))
        for fact, letter in carried.facts if carried is not None else ():
            change_summarised(fx, fact, session, letter, leaving=step)


def release(fx: Effects, session: SessionRow, decision: CompactionGranted) -> None:
    """The grant is no longer pending: nothing counts as gone by it, only what really goes will."""
    _mark_leaving(fx, session, decision, "")


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
    _close(fx, session, row, decision)
    spans = [span for span in (span_row(fx.draft, name) for name in decision.evict) if span is not None]
    depart(fx, session, spans, _departure_of_grant(record, decision))
    return ""


def _close(fx: Effects, session: SessionRow, row: RequestRow, decision: CompactionGranted) -> None:
    """A grant was carried out: it is pending no more, and the facts that its request named are dropped on purpose."""
    release(fx, session, decision)
    set_status(fx, row, APPLIED)
    for name in decision.tombstones:
        fact = fact_row(fx.draft, fact_key(name))
        if fact is not None:
            bury(fx, fact_key(name), fact, by=row.request, reason=f"dropped on purpose by request {row.request}")


def _departure_of_grant(record: CompactionApplied, decision: CompactionGranted) -> Departure:
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


def release_entries(fx: Effects, decision: EvictionGranted) -> tuple[str, ...]:
    """An eviction grant is no longer pending: its store entries are carriers for other requests again. Returns the spans that
    were still waiting for it, which leaves out what went before and has come back since.
    """
    mark = request_mark(decision)
    waiting = []
    for name in decision.spans:
        span = span_row(fx.draft, name)
        if span is not None and span.leaving_store == mark:
            waiting.append(name)
            fx.draft.put(SPAN, name_key(name), replace(span, leaving_store=""))
            for ref in span_facts(fx.draft, name).refs:
                change_stored(fx, ref.fact, leaving=-1)
    return tuple(waiting)


def on_judged(fx: Effects, decision: CompactionJudged, record: CompactionObserved) -> None:
    """An observed compaction takes effect as it happened; a pending grant of the session ends with it."""
    if decision.ends_pending:
        row = request_row(fx.draft, decision.session, decision.ends_pending)
        session = needed_session(fx, decision.session)
        grant = decode_decision(row.decision) if row is not None and row.status == PENDING else None
        if row is not None and isinstance(grant, CompactionGranted):
            if decision.pending_applied:
                _close(fx, session, row, grant)
            else:
                withdraw(fx, session, row)
    session = needed_session(fx, decision.session)
    left = [span for span in spans_in(fx.draft, session, decision.left) if span.in_window]
    unseen = frozenset(span.id for span in spans_in(fx.draft, session, decision.unseen) if span.in_window)
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
