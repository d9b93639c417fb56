"""What one step does: changed rows and raised or resolved alerts, collected in a draft over the view."""

from __future__ import annotations

from typing import Any

import msgspec

from ledger.lookup import scope_row, trust_of_scope
from ledger.rows import AlertRow, ScopeRow
from ledger.state import ALERT, ONLY, SCOPE, Draft, Rows
from schemas.alerts import SEVERITIES, AlertRaised, AlertResolved, AnyAlert, Severity
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
        self._life_steps = 0

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

    def next_life_step(self) -> tuple[int, int]:
        """A place in the lives of facts that no other step takes: the number of the record, and one within it."""
        self._life_steps += 1
        return self.row.records, self._life_steps

    def raise_alert(
        self,
        *,
        kind: str,
        rule: str,
        severity: Severity,
        subject: str,
        session: str = "",
        group: str = "",
        reason: str = "",
        evidence: tuple[Evidence, ...] = (),
    ) -> None:
        """Raise an alert unless one with its fingerprint is open already (P9). What was a ticket and becomes a page is raised
        again: an open ticket must not keep anybody from being called.
        """
        mark = fingerprint(self.scope, rule, subject)
        known = self.draft.get(ALERT, bytes.fromhex(mark))
        if known is not None and known.open and _rank(severity) >= _rank(known.severity):
            return
        number = self.next_output()
        row = AlertRow(
            kind=kind,
            rule=rule,
            severity=severity,
            subject=subject,
            session=session or self.session,
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
        if fresh or reasons:
            self.set_scope(degraded=(*self.row.degraded, *fresh), degraded_at=self.row.records)

    def unclear(self, reason: str) -> None:
        """T1: something about the scope cannot be known."""
        if reason not in self.row.unclear:
            self.set_scope(unclear=(*self.row.unclear, reason))

    def settle_trust(self) -> None:
        """T1: every change of trust is a ticket that names from and to; it resolves when the scope is lossless again."""
        row = self.row
        state, reasons = trust_of_scope(row)
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


def _rank(severity: str) -> int:
    """Its place in `SEVERITIES`, worst first."""
    return next((at for at, known in enumerate(SEVERITIES) if known == severity), len(SEVERITIES))
