"""Alerts of the topic `compaction.alerts`: they fire when a boundary was crossed and resolve when it was repaired (P9)."""

from __future__ import annotations

from typing import Literal

import msgspec

from schemas.decisions import Evidence

Severity = Literal["page", "ticket", "info"]
SEVERITIES: tuple[Severity, ...] = ("page", "ticket", "info")


class Alert(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Envelope of both alert shapes.

    `fingerprint` names (scope, rule, subject) for good; `group` ties together what one cause set off, so that sinks page once
    per group; `runbook` is the key of the entry in the runbook; `cause` the event id that raised or resolved it.
    """

    id: str
    scope: str
    session: str
    fingerprint: str
    group: str
    rule: str
    kind: str
    severity: Severity
    subject: str
    cause: str
    output_seq: int
    runbook: str
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()


class AlertRaised(Alert, frozen=True, kw_only=True, tag="alert.raised.v1"):
    """A boundary was crossed."""


class AlertResolved(Alert, frozen=True, kw_only=True, tag="alert.resolved.v1"):
    """What the alert of the same fingerprint complained of is repaired, or was dropped on purpose."""


AnyAlert = AlertRaised | AlertResolved
