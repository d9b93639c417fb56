"""The consumers that work beside a fold, for the owner of a partition: measurer, auditor, snapshots, and the ingest monitor.

They append records or watch; none decides. They run once the partition stands at the log's end, apart from the fold, so that no
request waits for them. What goes wrong with one is said and tried again; it neither halts the partition nor the others.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from consumers.auditor import Auditor, Fetches
from consumers.carrier_index import CarrierIndex
from consumers.ingest_monitor import IngestMonitor, Summary
from consumers.measurer import measure
from consumers.snapshots import prune, take
from ledger.errors import LedgerError
from ledger.log import EVENTS, Entry, Log

MEASURED_AT_ONCE = 200
"""Spans that are extracted between two looks at whether the partition is still owned."""

AUDITS_AT_ONCE = 20
SNAPSHOT_S = 900.0
"""Between two snapshots of a partition that moved."""

SNAPSHOTS_KEPT = 3

_log = logging.getLogger("cledger.worker")


class Crew:
    """The consumers beside the folds of one worker."""

    def __init__(
        self,
        log: Log,
        *,
        now_ms: Callable[[], int],
        stores: Mapping[str, Fetches] | None = None,
        snapshots: Path | None = None,
        snapshot_s: float = SNAPSHOT_S,
    ) -> None:
        """`stores` are agents' stores that can be asked, by the name that sessions declare. `snapshots` is where snapshots are
        kept; none are taken without.
        """
        self._log = log
        self._now_ms = now_ms
        self._stores = dict(stores or {})
        self._snapshots = snapshots
        self._snapshot_s = snapshot_s
        self._auditors: dict[int, Auditor] = {}
        self._taken: dict[int, tuple[float, int]] = {}
        self.monitor = IngestMonitor()
        self._watching = threading.Lock()
        self.done: Counter[str] = Counter()
        """What the consumers did, by name: manifests, audits, samples, snapshots, and failures of each."""

    def observe(self, entry: Entry) -> None:
        """An entry of the events was folded. Called in the commit threads of all partitions."""
        with self._watching:
            self.monitor.observe(entry, self._now_ms())

    def publishers(self) -> Summary:
        """Silent and lagging publishers, in figures."""
        with self._watching:
            return self.monitor.summary(self._now_ms())

    async def work(self, index: CarrierIndex, partition: int) -> None:
        """One round of every consumer. Never raises but what a bug raises; cancelling it loses nothing."""
        await self._one("manifests", lambda: measure(self._log, index, partition, limit=MEASURED_AT_ONCE))
        auditor = self._auditors.get(partition)
        if auditor is None or auditor.index is not index:
            auditor = self._auditors[partition] = Auditor(self._log, index, partition, self._stores)
        await self._one("samples", lambda: auditor.sample(limit=MEASURED_AT_ONCE))
        await self._one("audits", lambda: self._audit(auditor))
        await self._one("snapshots", lambda: self._snapshot(index, partition))

    async def _one(self, name: str, work: Callable[[], Awaitable[int]]) -> None:
        try:
            self.done[name] += await work()
        except LedgerError as error:
            self.done[f"{name}_failed"] += 1
            _log.warning("%s: %s; tried again later", name, error.message)

    async def _audit(self, auditor: Auditor) -> int:
        found = await auditor.audit(limit=AUDITS_AT_ONCE)
        for store, reason in sorted({(each.store, each.reason) for each in found.unreached}):
            _log.warning("audits: store %s cannot be asked here: %s", store, reason)
        return len(found.audited)

    async def _snapshot(self, index: CarrierIndex, partition: int) -> int:
        if self._snapshots is None:
            return 0
        now_s = time.monotonic()
        with index.snapshot() as view:
            offset = view.offset_next
        last_s, last_offset = self._taken.get(partition, (now_s - self._snapshot_s, 0))
        if offset == last_offset or now_s - last_s < self._snapshot_s:
            return 0
        self._taken[partition] = now_s, offset
        root = self._snapshots
        await asyncio.to_thread(take, index, root, created_ms=self._now_ms())
        end = await self._log.end(EVENTS, partition)
        await asyncio.to_thread(prune, root, self._log.identity, partition, offset_end=end, keep=SNAPSHOTS_KEPT)
        return 1
