"""What the output topics of a partition hold of scopes under rules versions that this build does not carry.

Read once such a scope is met, and held in memory until the records that it belongs to are folded: this is what an upgrade, or a
fleet with two releases, costs for a while. Outputs of scopes that this build decided itself are not held.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from consumers.enforcement import OutputHead
from ledger.errors import LogDamaged, UnknownRecordType
from ledger.fold import carries
from ledger.log import ALERTS, DECISIONS, Entry, Log
from schemas.alerts import AnyAlert
from schemas.codec import NotARecord, UnknownType, decode_alert, decode_decision, encode
from schemas.decisions import AnyDecision

READ_ENTRIES = 2_000


class _DecisionHead(msgspec.Struct):
    id: str
    rules_version: str = ""


class _AlertHead(msgspec.Struct):
    id: str
    cause: str


Key = tuple[str, str]
T = TypeVar("T")


class RecordedOutputs:
    """Outputs by scope, and by their id or cause. Read in an event loop, asked in the thread of the fold."""

    def __init__(self, log: Log, partition: int) -> None:
        self.began = False
        """Whether a scope that needs it was met."""

        self._log, self._partition = log, partition
        self._next = {DECISIONS: 0, ALERTS: 0}
        self._ours: set[str] = set()
        self._others: set[str] = set()
        self._decisions: dict[Key, bytes] = {}
        self._alerts: dict[Key, dict[str, bytes]] = {}
        self._used: list[tuple[str, str, str]] = []

    async def refresh(self) -> int:
        """Read what came since, decisions first, and return how much that was. Raises what the log raises."""
        self.began = True
        count = 0
        for topic, take in ((DECISIONS, self._take_decision), (ALERTS, self._take_alert)):
            while True:
                entries = await self._log.read(topic, self._partition, self._next[topic], max_entries=READ_ENTRIES)
                if not entries:
                    break
                for entry in entries:
                    take(entry)
                self._next[topic] = entries[-1].position.offset + 1
                count += len(entries)
        return count

    def _take_decision(self, entry: Entry) -> None:
        head = _head(entry, _DecisionHead)
        if carries(head.rules_version):
            self._ours.add(entry.key)
        elif head.rules_version:
            self._others.add(entry.key)
            self._decisions.setdefault((entry.key, head.id), entry.value)

    def _take_alert(self, entry: Entry) -> None:
        if entry.key not in self._ours or entry.key in self._others:
            head = _head(entry, _AlertHead)
            self._alerts.setdefault((entry.key, head.cause), {}).setdefault(head.id, entry.value)

    def decision(self, scope: str, id_: str) -> AnyDecision | None:
        """See `ledger.recorded.Recorded`. Raises `UnknownRecordType` where this build cannot say the same bytes."""
        value = self._decisions.get((scope, id_))
        return _as_said(decode_decision, value) if value is not None else None

    def alerts(self, scope: str, cause: str) -> tuple[AnyAlert, ...]:
        """See `ledger.recorded.Recorded`. Raises `UnknownRecordType` where this build cannot say the same bytes."""
        values = self._alerts.get((scope, cause))
        if not values:
            return ()
        found = [_as_said(decode_alert, value) for value in values.values()]
        return tuple(sorted(found, key=lambda alert: alert.output_seq))

    def holds(self, scope: str, number: int) -> bool:
        """Is the output with this number among what is on record of a scope, and not taken? Goes through all of it."""
        decisions = (value for (name, _), value in self._decisions.items() if name == scope)
        alerts = (value for (name, _), values in self._alerts.items() if name == scope for value in values.values())
        heads = (msgspec.json.decode(value, type=OutputHead) for value in (*decisions, *alerts))
        return any(head.output_seq == number for head in heads)

    def took(self, scope: str, decision: AnyDecision | None, alerts: tuple[AnyAlert, ...]) -> None:
        """These belong to a record that is folded now; with the commit they may be forgotten."""
        if decision is not None:
            self._used.append((scope, decision.id, ""))
        self._used += [(scope, alert.cause, alert.id) for alert in alerts]

    def committed(self) -> None:
        """What was taken is durable: forget it."""
        for scope, name, alert in self._used:
            if not alert:
                self._decisions.pop((scope, name), None)
            else:
                self._alerts.get((scope, name), {}).pop(alert, None)
        self._used.clear()

    def undone(self) -> None:
        """What was taken since the last commit will be asked for again."""
        self._used.clear()


def _head(entry: Entry, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(entry.value, type=shape)
    except msgspec.DecodeError:
        raise LogDamaged(f"{entry.position}: not a decision or alert", hint="Run: cledger replay --verify") from None


def _as_said(decode: Callable[[bytes], T], value: bytes) -> T:
    try:
        found: Any = decode(value)
        same = encode(found) == value
    except (UnknownType, NotARecord):
        found, same = None, False
    if not same:
        raise UnknownRecordType(
            f"this release does not know everything that an output on record says: {value[:120]!r}",
            hint="Upgrade this release; the fold stops before the record and loses nothing.",
        )
    return found  # type: ignore[no-any-return]
