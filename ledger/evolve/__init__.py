"""evolve(view, record, decision) -> changes and alerts: applies what happened and what was decided.

Total over every record ever written: what is in the log happened. A record that cannot take effect leaves a reason, from which
the fold makes a `record.rejected`.
"""

from __future__ import annotations

from ledger.evolve import compactions, late, rehydration, spans, store, trust
from ledger.evolve.effects import Effects
from ledger.lookup import span_row
from schemas.decisions import (
    ActionAllowed,
    ActionDenied,
    AnyDecision,
    CompactionGranted,
    CompactionJudged,
    CompactionRefused,
    EvictionGranted,
    EvictionJudged,
    EvictionRefused,
    IndexGranted,
    IndexRefused,
)
from schemas.records import (
    ActionProposed,
    AnyRecord,
    AuditRecorded,
    CompactionApplied,
    CompactionObserved,
    CompactionRequested,
    DegradationAcknowledged,
    EvictionApplied,
    ExternalisationVerified,
    FactTombstoned,
    IndexChecked,
    IndexDeclared,
    IndexEntryRecorded,
    IndexRechunked,
    ManifestRecorded,
    PolicySet,
    RequestWithdrawn,
    RetrievalMeasured,
    RetrievalObserved,
    ScopeClosed,
    ScopeLinked,
    SessionClosed,
    SessionOpened,
    SpanRecorded,
    SummaryRecorded,
    Tick,
    TranscriptRead,
)

__all__ = ["Effects", "evolve_decision", "evolve_record"]


def evolve_record(fx: Effects, record: AnyRecord) -> str:
    """Apply a record that asks for no decision. Returns why it cannot take effect, or the empty string."""
    match record:
        case SpanRecorded():
            spans.on_span_recorded(fx, record)
        case SummaryRecorded():
            spans.on_summary_recorded(fx, record)
        case ManifestRecorded():
            span = span_row(fx.draft, record.span)
            if span is None:
                return "span_not_recorded"
            spans.on_manifest_recorded(fx, record, span)
        case SessionOpened():
            faults = [trust.policy_fault(setting.key, setting.value) for setting in record.policy if not fx.row.opened]
            if any(faults):
                return next(filter(None, faults))
            spans.on_session_opened(fx, record)
        case SessionClosed():
            spans.on_session_closed(fx, record)
        case ScopeClosed():
            fx.set_scope(closed=True)
        case ScopeLinked():
            fx.unclear(f"linked_scope_not_imported:{record.parent_scope}")
        case _:
            return _evolve_request_or_store(fx, record)
    return ""


def _evolve_request_or_store(fx: Effects, record: AnyRecord) -> str:
    match record:
        case CompactionApplied():
            return compactions.on_applied(fx, record)
        case RequestWithdrawn():
            return compactions.on_withdrawn(fx, record)
        case EvictionApplied():
            return store.on_eviction_applied(fx, record)
        case IndexEntryRecorded():
            return store.on_entry_recorded(fx, record)
        case ExternalisationVerified():
            return store.on_externalised(fx, record)
        case FactTombstoned():
            return store.on_tombstoned(fx, record)
        case IndexDeclared():
            store.on_index_declared(fx, record)
        case IndexRechunked():
            store.on_rechunked(fx, record)
        case _:
            return _evolve_trust(fx, record)
    return ""


def _evolve_trust(fx: Effects, record: AnyRecord) -> str:
    match record:
        case TranscriptRead():
            trust.on_transcript_read(fx, record)
        case RetrievalMeasured():
            return trust.on_retrieval_measured(fx, record)
        case RetrievalObserved():
            trust.on_retrieval_observed(fx, record)
        case IndexChecked():
            trust.on_index_checked(fx, record)
        case AuditRecorded():
            trust.on_audit_recorded(fx, record)
        case DegradationAcknowledged():
            return trust.on_acknowledged(fx, record)
        case PolicySet():
            return trust.on_policy_set(fx, record)
        case Tick():
            trust.on_tick(fx, record)
        case _:
            pass
    return ""


def evolve_decision(fx: Effects, decision: AnyDecision, record: AnyRecord) -> None:
    """Apply a decision: state changes only through its bytes, and it takes its output number before any alert it causes."""
    fx.set_scope(output_seq=decision.output_seq)
    match decision, record:
        case CompactionGranted(), CompactionRequested():
            compactions.on_granted(fx, decision, record)
        case CompactionRefused(), CompactionRequested():
            compactions.on_refused(fx, decision, record)
        case CompactionJudged(), CompactionObserved():
            compactions.on_judged(fx, decision, record)
        case CompactionJudged(), ManifestRecorded():
            late.on_judged_late(fx, decision, record)
        case ActionAllowed(), ActionProposed():
            rehydration.on_action_allowed(fx, decision, record)
        case ActionDenied(), ActionProposed():
            rehydration.on_action_denied(fx, decision, record)
        case EvictionGranted(), _:
            store.on_eviction_granted(fx, decision)
        case EvictionRefused(), _:
            store.on_eviction_refused(fx, decision)
        case EvictionJudged(), _:
            store.on_eviction_judged(fx, decision)
        case IndexGranted(), _:
            store.on_index_granted(fx, decision)
        case IndexRefused(), _:
            store.on_index_refused(fx, decision)
        case _:
            pass
