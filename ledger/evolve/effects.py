"""What one step does: changed rows and raised or resolved alerts, collected in a draft over the view."""

from __future__ import annotations

from typing import Any

import msgspec

from ledger.lookup import scope_row
from ledger.rules.trust import AUDIT_WINDOW, trust
from ledger.state import ALERT, ONLY, SCOPE, AlertRow, Draft, Rows, ScopeRow
from schemas.alerts import AlertRaised, AlertResolved, AnyAlert, Severity
from schemas.decisions import Evidence
from schemas.ids import digest, fingerprint


class Effects:
    """A draft with the alerts that go with it. `cause` is the event id of the record being folded."""

    def __init__(self, view: Rows, *, scope: str, session: str, cause: str) -> None:
        self.draft = Draft(view)
        self.scope = scope
        self.session = session
        self.cause = cause
        self.alerts: list[AnyAlert] = []

    @property
    def row(self) -> ScopeRow:
        """The scope's row as it stands in the draft."""
        return scope_row(self.draft)

    def set_scope(self, **changes: Any) -> None:
        """Change fields of the scope's row."""
        self.draft.put(SCOPE, ONLY, msgspec.structs.replace(self.row, **changes))

    def next_output(self) -> int:
        """Take the scope's next output number; decisions and alerts share one dense sequence."""
        number = self.row.output_seq + 1
        self.set_scope(output_seq=number)
        return number

    def raise_alert(
        self,
        *,
        kind: str,
        rule: str,
        severity: Severity,
        subject: str,
        group: str = "",
        reason: str = "",
        evidence: tuple[Evidence, ...] = (),
    ) -> None:
        """Raise an alert unless one with its fingerprint is open already (P9)."""
        mark = fingerprint(self.scope, rule, subject)
        known = self.draft.get(ALERT, bytes.fromhex(mark))
        if known is not None and known.open:
            return
        number = self.next_output()
        row = AlertRow(
            kind=kind,
            rule=rule,
            severity=severity,
            subject=subject,
            session=self.session,
            group=group or self.cause,
            open=True,
            raised_seq=number,
        )
        self.draft.put(ALERT, bytes.fromhex(mark), row)
        self.alerts.append(AlertRaised(**self._fields(mark, row, number), reason=reason, evidence=evidence))

    def resolve_alert(self, rule: str, subject: str, reason: str) -> None:
        """Resolve the alert of this rule and subject, if one is open (P9)."""
        mark = fingerprint(self.scope, rule, subject)
        row = self.draft.get(ALERT, bytes.fromhex(mark))
        if row is None or not row.open:
            return
        number = self.next_output()
        self.draft.put(ALERT, bytes.fromhex(mark), msgspec.structs.replace(row, open=False))
        self.alerts.append(AlertResolved(**self._fields(mark, row, number), reason=reason))

    def _fields(self, mark: str, row: AlertRow, number: int) -> dict[str, Any]:
        return {
            "id": digest("alert", mark, str(number)).hex(),
            "scope": self.scope,
            "session": row.session,
            "fingerprint": mark,
            "group": row.group,
            "rule": row.rule,
            "kind": row.kind,
            "severity": row.severity,
            "subject": row.subject,
            "cause": self.cause,
            "output_seq": number,
            "runbook": row.kind,
        }

    def degrade(self, *reasons: str) -> None:
        """T1: the scope is degraded from here on, for these reasons besides those it has."""
        fresh = tuple(reason for reason in reasons if reason not in self.row.degraded)
        if fresh:
            self.set_scope(degraded=(*self.row.degraded, *fresh))

    def unclear(self, reason: str) -> None:
        """T1: something about the scope cannot be known."""
        if reason not in self.row.unclear:
            self.set_scope(unclear=(*self.row.unclear, reason))

    def settle_trust(self) -> None:
        """T1: every change of trust is a ticket that names from and to; it resolves when the scope is lossless again."""
        row = self.row
        state, reasons = trust(
            degraded=row.degraded,
            unclear=row.unclear,
            store=row.store,
            audits_passed=row.audits_passed,
            since_audit=row.compactions_since_audit,
            window=audit_window(row),
        )
        if state == row.trust:
            return
        self.set_scope(trust=state)
        self.resolve_alert("T1", f"trust:{row.trust}", f"{row.trust} -> {state}")
        if state != "lossless":
            self.raise_alert(
                kind="trust_changed",
                rule="T1",
                severity="ticket",
                subject=f"trust:{state}",
                reason=f"{row.trust} -> {state}: {', '.join(reasons)}",
            )


def audit_window(row: ScopeRow) -> int:
    """Compactions that one passed audit vouches for, by policy `audit.window`."""
    for key, value in row.policy:
        if key == "audit.window":
            return int(value)
    return AUDIT_WINDOW
