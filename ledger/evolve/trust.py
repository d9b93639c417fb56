"""What retrieval, audits and readings say about the trust in a scope (rule T1)."""

from __future__ import annotations

from fractions import Fraction

from ledger.evolve.effects import Effects
from ledger.evolve.spans import note_lowered_floor
from ledger.facts import RULES_VERSION
from ledger.lookup import span_row
from ledger.rules.trust import hit_rate_change, is_jump, reading_fault, retrieval_fault
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


def on_retrieval_measured(fx: Effects, record: RetrievalMeasured) -> None:
    """T1: a hit rate that jumps after a pass says that distinct entries were merged."""
    change = hit_rate_change(fx.row.hit_rate, record.hit_rate)
    fx.set_scope(hit_rate=record.hit_rate, hit_rate_change="" if change is None else str(round(change, 4)))
    if is_jump(change):
        fx.degrade("hit_rate_jump")
        fx.raise_alert(
            kind="hit_rate_jump",
            rule="T1",
            severity="ticket",
            subject=f"hit_rate:{record.session}",
            reason=f"hit rate rose by {fx.row.hit_rate_change} (relative) in pass {record.pass_}",
        )


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
    """T1: entries that a check found missing or orphaned."""
    if record.missing:
        fx.degrade("index_entries_missing")
    if record.orphans:
        fx.degrade("index_entries_orphaned")
    if record.missing or record.orphans:
        fx.raise_alert(
            kind="index_inconsistent",
            rule="T1",
            severity="ticket",
            subject=f"index:{record.session}",
            reason=f"{len(record.missing)} entries missing, {len(record.orphans)} orphaned",
        )


def on_audit_recorded(fx: Effects, record: AuditRecorded) -> None:
    """T1: a pinned span must come back as it was recorded; only then does the audit vouch for the window."""
    span = span_row(fx.draft, record.span)
    if span is not None and record.status == "ok" and record.text_sha256 == span.text_sha256:
        fx.set_scope(audits_passed=fx.row.audits_passed + 1, compactions_since_audit=0)
        return
    fx.degrade("audit_failed")
    fx.raise_alert(
        kind="audit_failed",
        rule="T1",
        severity="ticket",
        subject=f"audit:{record.span}",
        reason=record.status if record.status != "ok" else "the text that came back is not the one recorded",
    )


def on_acknowledged(fx: Effects, record: DegradationAcknowledged) -> str:
    """T3: leaving *degraded* takes evidence that this rules version does not weigh yet, so the scope stays degraded."""
    return "evidence_not_weighed_by_rules_version"


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
        return "" if value.isdecimal() and value.isascii() and int(value) > 0 else "not_a_count"
    if key.removeprefix("floor.") not in FACT_CLASSES or not key.startswith("floor."):
        return "unknown_policy_key"
    try:
        floor = Fraction(value)
    except (ValueError, ZeroDivisionError):
        return "not_a_ratio"
    return "" if 0 <= floor <= 1 else "not_a_ratio"


def on_tick(fx: Effects, record: Tick) -> None:
    """Only a tick moves a scope's clock, and only forward."""
    if record.due_ms > fx.row.clock_ms:
        fx.set_scope(clock_ms=record.due_ms)
