"""What retrieval, audits and readings say about the trust in a scope (rules T1 to T3)."""

from __future__ import annotations

import re

import msgspec

from ledger.evolve.effects import Effects
from ledger.evolve.rehydration import dependency_changed
from ledger.evolve.requests import GRANT_TIMER, ask_for_end
from ledger.evolve.spans import note_lowered_floor
from ledger.facts import RULES_VERSION
from ledger.lookup import fact_row, policy_count, span_row
from ledger.rows import RepairRow, SpanRow
from ledger.rules.floors import ratio_of
from ledger.rules.trust import (
    AUDIT_INTERVAL,
    AUDIT_WINDOW,
    as_decimal,
    audit_due,
    hit_rate_change,
    is_jump,
    may_leave_degraded,
    pinned,
    rate_of,
    reading_fault,
    retrieval_fault,
)
from ledger.state import FACT, REPAIR, SPAN, TIMER, TIMERS, name_key
from schemas.facts import FACT_CLASSES
from schemas.records import (
    AuditRecorded,
    DegradationAcknowledged,
    IndexChecked,
    PolicySet,
    RetrievalMeasured,
    RetrievalObserved,
    Setting,
    Tick,
    TranscriptRead,
)

replace = msgspec.structs.replace
AUDIT_DUE = "audit"
"""Subject of the alert that an audit is due: one for a scope."""

POLICY_COUNTS = ("audit.window", "audit.interval", "context.reinject_tokens")
"""Policy keys whose value is a whole number."""


def on_transcript_read(fx: Effects, record: TranscriptRead) -> None:
    """T1: lines that could not be read, and ids with two texts, degrade what rests on the reading."""
    reasons = reading_fault(len(record.unread), len(record.conflicts))
    if not reasons:
        return
    fx.degrade(*reasons)
    fx.raise_alert(
        kind="reading_degraded",
        rule="T1",
        severity="ticket",
        subject=f"reading:{record.session}",
        reason=f"{len(record.unread)} unread lines, {len(record.conflicts)} conflicting ids",
    )


def on_retrieval_measured(fx: Effects, record: RetrievalMeasured) -> str:
    """T1: a hit rate that jumps after a pass says that distinct entries were merged. Returns why the rate cannot be taken, or
    the empty string.
    """
    if rate_of(record.hit_rate) is None:
        return "hit_rate_not_a_decimal"
    change = hit_rate_change(fx.row.hit_rate, record.hit_rate)
    fx.set_scope(hit_rate=record.hit_rate, hit_rate_change="" if change is None else as_decimal(change))
    if is_jump(change):
        fx.degrade("hit_rate_jump")
        fx.raise_alert(
            kind="hit_rate_jump",
            rule="T1",
            severity="ticket",
            subject=f"hit_rate:{record.session}",
            reason=f"hit rate rose by {fx.row.hit_rate_change} (relative) in pass {record.pass_}",
        )
    return ""


def on_retrieval_observed(fx: Effects, record: RetrievalObserved) -> None:
    """T1, I5: a retrieval that came back empty, without provenance, or with a summary where raw was expected."""
    reason = retrieval_fault(
        status=record.status,
        has_provenance=bool(record.carrier) and record.raw is not None,
        raw=record.raw,
        expected_raw=record.expected_raw,
    )
    if not reason:
        return
    fx.degrade(reason)
    fx.raise_alert(
        kind=reason, rule="T1", severity="ticket", subject=f"retrieval:{record.carrier or record.key or record.query}"
    )


def on_index_checked(fx: Effects, record: IndexChecked) -> None:
    """T1: entries that a check found missing or orphaned. What is missing is no carrier for an eviction, until a later check or
    a fresh record of the entry says otherwise (C1).
    """
    fx.set_scope(missing_at=fx.row.records if record.missing else 0)
    if not record.missing and not record.orphans:
        note_repair(fx, record.id, "store_repaired")
        fx.resolve_alert("T1", f"index:{record.session}", "a later check found nothing missing and nothing orphaned")
        return
    for name in record.missing:
        span = span_row(fx.draft, name)
        if span is not None:
            fx.draft.put(SPAN, name_key(name), replace(span, missing_at=fx.row.records))
        dependency_changed(fx, name)
    if record.missing:
        fx.degrade("index_entries_missing")
    if record.orphans:
        fx.degrade("index_entries_orphaned")
    fx.raise_alert(
        kind="index_inconsistent",
        rule="T1",
        severity="ticket",
        subject=f"index:{record.session}",
        reason=f"{len(record.missing)} entries missing, {len(record.orphans)} orphaned",
    )


def on_audit_recorded(fx: Effects, record: AuditRecorded) -> None:
    """T2: a pinned span must come back as it was recorded; only then does the audit vouch for the window."""
    span = span_row(fx.draft, record.span)
    if span is not None and record.status == "ok" and record.text_sha256 == span.text_sha256:
        fx.set_scope(audits_passed=fx.row.audits_passed + 1, compactions_since_audit=0)
        note_repair(fx, record.id, "audit_passed")
        fx.resolve_alert("T2", AUDIT_DUE, f"audit of {record.span} passed")
        fx.resolve_alert("T2", f"audit:{record.span}", "a later audit of the span passed")
        return
    fx.degrade("audit_failed")
    fx.raise_alert(
        kind="audit_failed",
        rule="T2",
        severity="ticket",
        subject=f"audit:{record.span}",
        reason=record.status if record.status != "ok" else "the text that came back is not the one recorded",
    )


def note_repair(fx: Effects, event: str, what: str) -> None:
    """T3: evidence that somebody may cite to leave *degraded*."""
    fx.draft.put(REPAIR, bytes.fromhex(event), RepairRow(at=fx.row.records, what=what))


def check_audit_due(fx: Effects, spans: list[SpanRow]) -> None:
    """T2: after a compaction, is an audit due? The alert names the span to ask for, pinned among those that just left."""
    row = fx.row
    window = policy_count(row, "audit.window", AUDIT_WINDOW)
    interval = policy_count(row, "audit.interval", AUDIT_INTERVAL)
    if row.store == "none" or not audit_due(since_audit=row.compactions_since_audit, window=window, interval=interval):
        return
    choice = pinned(((name_key(span.id), b"") for span in spans), fx.cause.encode())
    names = {name_key(span.id): span.id for span in spans}
    fx.raise_alert(
        kind="audit_due",
        rule="T2",
        severity="ticket",
        subject=AUDIT_DUE,
        reason=f"{row.compactions_since_audit} compactions since the last audit that passed; "
        + (f"ask for {names[choice]}" if choice is not None else "ask for any evicted span"),
    )


def on_acknowledged(fx: Effects, record: DegradationAcknowledged) -> str:
    """T3: a scope leaves *degraded* when the evidence, a passed audit or a repaired store, is younger than its last reason.
    Returns why it does not, or the empty string.
    """
    try:
        known = fx.draft.get(REPAIR, bytes.fromhex(record.evidence))
    except ValueError:
        known = None
    if known is None:
        return "evidence_not_on_record"
    row = fx.row
    repaired, passed = known.what == "store_repaired", known.what == "audit_passed"
    young = known.at > row.degraded_at
    if not may_leave_degraded(repaired_after=repaired and young, audit_passed_after=passed and young):
        return "evidence_older_than_degradation"
    fx.set_scope(degraded=())
    return ""


def on_policy_set(fx: Effects, record: PolicySet) -> str:
    """Policy is state of the scope. Returns why a value is refused, or the empty string."""
    reason = policy_fault(record.key, record.value)
    if reason:
        return reason
    if record.key == "rules_version":
        fx.set_scope(rules_version=record.value)
        return ""
    policy = {**dict(fx.row.policy), record.key: record.value}
    fx.set_scope(policy=tuple(sorted(policy.items())))
    note_lowered_floor(fx, Setting(record.key, record.value))
    return ""


def policy_fault(key: str, value: str) -> str:
    """Why a policy setting cannot be taken, or the empty string: keys are few, floors are exact ratios from 0 to 1."""
    if key == "rules_version":
        return "" if value == RULES_VERSION else "rules_version_not_carried"
    if key in POLICY_COUNTS:
        return "" if re.fullmatch(r"[1-9][0-9]{0,8}", value, re.ASCII) else "not_a_count"
    if key.removeprefix("floor.") not in FACT_CLASSES or not key.startswith("floor."):
        return "unknown_policy_key"
    return "" if ratio_of(value) is not None else "not_a_ratio"


def on_tick(fx: Effects, record: Tick) -> None:
    """Only a tick moves a scope's clock, and only forward; facts whose validity has ended are not referred to any more."""
    if record.timer.startswith(GRANT_TIMER):
        ask_for_end(fx, record.session, record.timer.removeprefix(GRANT_TIMER))
    if record.due_ms <= fx.row.clock_ms:
        return
    fx.set_scope(clock_ms=record.due_ms)
    for key, marker in list(fx.draft.walk(TIMER, TIMERS)):
        if int.from_bytes(key[len(TIMERS) : len(TIMERS) + 8], "big") > record.due_ms:
            break
        fx.draft.delete(TIMER, key)
        row = fact_row(fx.draft, marker.fact)
        if row is not None:
            fx.draft.put(FACT, marker.fact, replace(row, expired=True))
