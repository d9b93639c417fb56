"""Folding a scope whose rules version this build does not carry: by the decisions and alerts that are on record, and no others.

State changes only through a decision's bytes, so whoever has the bytes needs no rule. Nothing is decided and nothing is said
here: a record that would need a decision which is not on record stops the fold. Which records those are follows from their
kind. A change of the rules version itself leaves no decision when it is taken, so it stops the fold as well unless its
rejection is on record. Outputs of a scope are numbered without a gap, and alerts reach the log after decisions: a decision that
is not the next one tells that a record was followed before all that it led to was on record.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from ledger.decide.late import adds_late
from ledger.evolve import Effects, evolve_decision, evolve_record
from ledger.rows import AlertRow, SeenRow
from ledger.state import ALERT, SEEN, Rows
from schemas.alerts import AlertRaised, AnyAlert
from schemas.decisions import AnyDecision, RecordRejected
from schemas.ids import decision_id, rejection_id
from schemas.records import (
    ActionProposed,
    AnyRecord,
    CompactionObserved,
    CompactionRequested,
    EvictionObserved,
    EvictionRequested,
    IndexWriteRequested,
    ManifestRecorded,
    PolicySet,
)

ALWAYS_DECIDED = (
    CompactionRequested, CompactionObserved, EvictionRequested, EvictionObserved, IndexWriteRequested, ActionProposed,
)  # fmt: skip
INTERNAL_ERROR = "internal_error:"


class Recorded(Protocol):
    """What the output topics hold of the scopes of one partition."""

    def decision(self, scope: str, id_: str) -> AnyDecision | None:
        """The decision with this id, as it is on record."""
        ...

    def alerts(self, scope: str, cause: str) -> tuple[AnyAlert, ...]:
        """The alerts that the record with this event id set off, in their order."""
        ...


class NotRecorded(Exception):
    """What the record needs decided is not on record, and this build must not decide it."""


class OutputsMissed(NotRecorded):
    """Records were followed before all of their outputs were on record."""

    def __init__(self, number: int) -> None:
        super().__init__(f"its decision is on record, output {number} before that was not when its record was folded")
        self.number = number
        """Of the first output of the scope that was missed."""


class _Followed(Effects):
    """Effects that raise no alert of their own: those on record are taken instead."""

    def raise_alert(self, **_: Any) -> None:
        """Nothing: see `take`."""

    def resolve_alert(self, rule: str, subject: str, reason: str) -> None:
        """Nothing: see `take`."""

    def expect(self, decision: AnyDecision) -> None:
        """The decision is taken now. Raises `OutputsMissed` if it is not the next output of its scope."""
        if decision.output_seq != self.row.output_seq + 1:
            raise OutputsMissed(self.row.output_seq + 1)

    def take(self, alerts: tuple[AnyAlert, ...]) -> tuple[AnyAlert, ...]:
        """Those of the alerts that follow on what was said last, as they are on record: two records may have one event id, and
        the numbers tell whose alerts these are.
        """
        taken = []
        for alert in alerts:
            if alert.output_seq <= self.row.output_seq:
                continue
            if alert.output_seq != self.row.output_seq + 1:
                break
            taken.append(alert)
            self.set_scope(output_seq=alert.output_seq)
            mark = bytes.fromhex(alert.fingerprint)
            known = self.draft.get(ALERT, mark)
            if isinstance(alert, AlertRaised):
                fields = {name: getattr(alert, name) for name in ("kind", "rule", "severity", "subject", "session", "group")}
                self.draft.put(ALERT, mark, AlertRow(**fields, open=True, raised_seq=alert.output_seq))
            elif known is not None:
                self.draft.put(ALERT, mark, msgspec.structs.replace(known, open=False))
        return tuple(taken)


Outcome = tuple[Effects, AnyDecision | None, tuple[AnyAlert, ...]]


def follow(
    view: Rows, record: AnyRecord, content: bytes, *, reason: str, early: tuple[str, str, str], recorded: Recorded
) -> Outcome:
    """What the record did. `reason` is why this build would reject it, `early` what it builds on that is not there yet.

    Raises `NotRecorded`, or `OutputsMissed`.
    """
    fx = _Followed(view, scope=record.scope, session=record.session, cause=record.id)
    mark = rejection_id(record.id, content.hex())
    decision = recorded.decision(record.scope, mark)
    if isinstance(decision, RecordRejected):
        is_early = bool(early[0]) and (decision.reason, decision.rule, decision.subject) == early
        again = fx.draft.get(SEEN, bytes.fromhex(mark)) is not None
        if not again:
            fx.expect(decision)
        _reject(fx, decision, SeenRow(content=content, refused=True, early=is_early))
        if decision.reason.startswith(INTERNAL_ERROR):
            fx.unclear(f"{INTERNAL_ERROR}{record.id}")
        decision = None if again else decision
    elif reason:
        raise NotRecorded(f"it is rejected here ({reason}) and not on record")
    else:
        fx.draft.put(SEEN, bytes.fromhex(record.id), SeenRow(content=content))
        fx.set_scope(records=fx.row.records + 1)
        decision = recorded.decision(record.scope, decision_id(record.id))
        _apply(fx, record, decision)
    fx.settle_trust()
    return fx, decision, fx.take(recorded.alerts(record.scope, record.id))


def _apply(fx: _Followed, record: AnyRecord, decision: AnyDecision | None) -> None:
    if decision is not None:
        fx.expect(decision)
        evolve_decision(fx, decision, record)
        return
    if isinstance(record, ALWAYS_DECIDED) or (isinstance(record, ManifestRecorded) and adds_late(fx.draft, record)):
        raise NotRecorded("its decision is not on record")
    if isinstance(record, PolicySet) and record.key == "rules_version":
        raise NotRecorded("whether a change of the rules version was taken leaves no decision")
    reason = evolve_record(fx, record)
    if reason:
        raise NotRecorded(f"it is rejected here ({reason}) and not on record")


def _reject(fx: Effects, rejection: RecordRejected, seen: SeenRow) -> None:
    fx.draft.put(SEEN, bytes.fromhex(rejection.id), seen)
    fx.set_scope(output_seq=max(fx.row.output_seq, rejection.output_seq))


def follow_unfoldable(view: Rows, *, scope: str, cause: str, content_sha256: str, recorded: Recorded) -> Outcome:
    """The quarantine of bytes that cannot be folded, as it is on record. Raises as `follow` does."""
    fx = _Followed(view, scope=scope, session="", cause=cause)
    rejection = recorded.decision(scope, rejection_id(scope, content_sha256))
    if not isinstance(rejection, RecordRejected):
        raise NotRecorded("bytes that cannot be read are not rejected on record")
    fx.expect(rejection)
    _reject(fx, rejection, SeenRow(content=bytes.fromhex(content_sha256)[:16], refused=True))
    fx.unclear(f"unreadable_record:{content_sha256[:16]}")
    fx.settle_trust()
    return fx, rejection, fx.take(recorded.alerts(scope, cause))
