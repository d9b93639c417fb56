"""A log with the index of its one partition, folded on demand, for consumers that follow the log and append to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from consumers.carrier_index import CarrierIndex
from consumers.partition import Partition
from ledger.adapters.lmdb_log import LmdbLog
from ledger.adapters.memory_log import MemoryLog
from ledger.log import ALERTS, DECISIONS, EVENTS, Entry, Log, NewEntry
from schemas.alerts import AlertRaised, AnyAlert
from schemas.codec import decode_alert, decode_decision, decode_record, encode
from schemas.decisions import AnyDecision
from schemas.records import AnyRecord, Record

R = TypeVar("R", bound=Record)
LOGS = ("memory", "lmdb")


class Followed:
    """One partition of a log."""

    def __init__(self, log: Log, directory: Path) -> None:
        self.log = log
        self.index = CarrierIndex.create(directory, log.identity, 0)
        self.partition = Partition(log, self.index, 0)

    async def fold(self, *records: AnyRecord) -> None:
        """Append records, if any, and fold and publish up to the end of the log."""
        if records:
            await self.log.append(EVENTS, [NewEntry(record.scope, encode(record)) for record in records])
        await self.partition.catch_up()

    async def events(self, cls: type[R]) -> list[R]:
        """Every record of one shape, in the order of the log."""
        found = [decode_record(entry.value) for entry in await self._read(EVENTS) if entry.value.startswith(b'{"type"')]
        return [record for record in found if isinstance(record, cls)]

    async def decisions(self) -> list[AnyDecision]:
        """Every decision."""
        return [decode_decision(entry.value) for entry in await self._read(DECISIONS)]

    async def alerts(self, kind: str) -> list[AnyAlert]:
        """Every alert of a kind, raised and resolved."""
        found = [decode_alert(entry.value) for entry in await self._read(ALERTS)]
        return [alert for alert in found if alert.kind == kind]

    async def open_alerts(self, kind: str) -> int:
        """Alerts of a kind that were raised and not resolved."""
        marks: dict[str, bool] = {}
        for alert in await self.alerts(kind):
            marks[alert.fingerprint] = isinstance(alert, AlertRaised)
        return sum(marks.values())

    async def _read(self, topic: str) -> list[Entry]:
        return await self.log.read(topic, 0, 0, max_entries=100_000, max_bytes=1 << 30)

    def digest(self, scope: str) -> bytes:
        """The state of a scope."""
        with self.index.snapshot() as view:
            return view.scope_digest(scope)

    def duplicates(self) -> int:
        """Records that changed nothing."""
        with self.index.snapshot() as view:
            return view.duplicates


@asynccontextmanager
async def followed(kind: str, place: Path) -> AsyncIterator[Followed]:
    """Over the log in memory, or over the embedded one."""
    log: Log = MemoryLog() if kind == "memory" else LmdbLog.create(place / "log", 1)
    made = Followed(log, place / "index")
    try:
        yield made
    finally:
        made.partition.close()
        made.index.close()
        await log.close()
