"""Why a worker is not ready is said in sentences, and that its log went away or is back in one line each (F6, F8, F14)."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import lmdb
import pytest
from aiohttp.test_utils import make_mocked_request

import consumers.keeper
import consumers.worker
from consumers.carrier_index import CarrierIndex
from consumers.keeper import PartitionStatus
from consumers.membership import OwnsAll
from consumers.partition import Partition
from consumers.readiness import Reach, named, reasons
from consumers.worker import Worker
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import LogUnavailable
from ledger.log import EVENTS, Entry, NewEntry
from ops.worker_web import Views
from tests.support.folding import entries
from tests.support.given import opened, span
from tests.support.toy_facts import toy_facts

PARTITIONS = 12
PATIENCE_S = 20.0
WHERE = "kafka://broker.example:9092"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(consumers.keeper, "IDLE_S", 0.05)
    monkeypatch.setattr(consumers.keeper, "RETRY_S_FIRST", 0.02)
    monkeypatch.setattr(consumers.worker, "COMMIT_S", 0.02)
    monkeypatch.setattr(consumers.worker, "BEAT_S", 0.02)
    with toy_facts():
        yield


class Going(MemoryLog):
    """A log that is away for a while."""

    away = False

    async def read(
        self, topic: str, partition: int, offset: int, *, max_entries: int = 1000, max_bytes: int = 8 << 20
    ) -> list[Entry]:
        if self.away:
            raise LogUnavailable("it is out of reach")
        return await super().read(topic, partition, offset, max_entries=max_entries, max_bytes=max_bytes)


class Silent(OwnsAll):
    """A group of workers that says nothing for a while."""

    silent = False

    async def commit(self, offsets: Mapping[int, int]) -> bool:
        del offsets
        return not self.silent


@asynccontextmanager
async def working(log: MemoryLog, root: Path) -> AsyncIterator[tuple[Worker, Silent]]:
    async def open_index(number: int) -> CarrierIndex:
        return CarrierIndex.create(root / f"p{number}", log.identity, number)

    group = Silent(log.identity.partitions)
    worker = Worker(log, group, open_index, where=WHERE)
    running = asyncio.create_task(worker.run())
    try:
        await until(lambda: worker.status().readiness == "ready")
        yield worker, group
    finally:
        worker.end()
        await running


async def until(holds: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s
        await asyncio.sleep(0.01)


async def told(worker: Worker) -> tuple[int, dict[str, object], int, dict[str, object]]:
    """Status and body of /readyz and of /healthz."""
    views = Views()
    views.worker = worker
    found: list[object] = []
    for answer in (views.readyz, views.healthz):
        response = await answer(make_mocked_request("GET", "/"))
        found += [response.status, json.loads(response.text)]  # type: ignore[attr-defined]
    await views.close()
    return tuple(found)  # type: ignore[return-value]


@pytest.mark.parametrize("who", ["the log", "the group"])
async def test_log_that_goes_away_and_comes_back_is_told_once_each(
    who: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """F6: however many partitions wait for it. Not ready, with the reason and since when; a restart would not help."""
    log = Going(partitions=PARTITIONS)
    with caplog.at_level(logging.INFO, "cledger.worker"):
        async with working(log, tmp_path) as (worker, group):
            log.away, group.silent = who == "the log", who == "the group"
            await log.append(EVENTS, [NewEntry(f"scope-{n}", b"{}") for n in range(40)])
            await until(lambda: worker.status().waits)
            ready, body, health, healthy = await told(worker)
            assert (ready, health) == (503, 200)
            (reason,) = healthy["waits"]  # type: ignore[misc]
            assert reason in body["reasons"]  # type: ignore[operator]
            assert WHERE in reason
            assert "has not answered since" in reason
            assert ("out of reach" in reason) == (who == "the log")
            log.away = group.silent = False
            await until(lambda: worker.status().readiness == "ready")
            await until(lambda: not worker.status().waits)
            assert (await told(worker))[1]["reasons"] == []
    warned = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warned) == 2, warned
    assert "does not answer" in warned[0]
    assert "waiting for it" in warned[0]
    assert "is back after" in warned[1]
    assert not [record for record in caplog.records if record.levelno == logging.INFO and "waiting" in record.message]


async def test_store_that_takes_nothing_is_told_as_that_and_not_as_a_log_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """F14: a full map or disk."""
    full = True

    def failing(self: Partition, found: list[Entry]) -> int:
        if full:
            raise self.index.file.explain(lmdb.MapFullError("full"))
        return fold_batch(self, found)

    fold_batch = Partition.fold_batch
    monkeypatch.setattr(Partition, "fold_batch", failing)
    log = MemoryLog()
    async with working(log, tmp_path) as (worker, _):
        await log.append(EVENTS, entries([opened(), span(1, "n:40")]))
        await until(lambda: worker.status().waits)
        ready, body, health, healthy = await told(worker)
        assert (ready, health) == (503, 200)
        (reason,) = healthy["waits"]  # type: ignore[misc]
        assert reason in body["reasons"]  # type: ignore[operator]
        assert "partition 0: the store takes nothing" in reason
        assert "has filled its map" in reason
        full = False
        await until(lambda: worker.status().readiness == "ready")
    assert "does not answer" not in caplog.text
    assert caplog.text.count("has filled its map") >= 1


async def test_record_of_another_release_is_told_with_where_the_partition_stands(tmp_path: Path) -> None:
    """F21: a version that this build does not carry."""
    log = MemoryLog()
    async with working(log, tmp_path) as (worker, _):
        await log.append(EVENTS, [NewEntry("s1", b'{"type":"span.scored.v1","id":"x","scope":"s1"}')])
        await until(lambda: not worker.status().healthy)
        ready, body, health, _ = await told(worker)
        assert (ready, health) == (503, 503)
        (reason,) = body["reasons"]  # type: ignore[misc]
        assert reason.startswith("partition 0 stands still before offset 0: ")
        assert "span.scored.v1" in reason


def test_partitions_that_are_at_work_are_told_together() -> None:
    statuses = [PartitionStatus(partition=n, state="catching up", end=50, published=20) for n in range(3)]
    statuses += [PartitionStatus(partition=3, state="recovering"), PartitionStatus(partition=4, state="live")]
    assert reasons(statuses, Reach("the log"), joined=True, stuck="") == [
        "partition 3: the index is being opened, restored or begun anew",
        "partitions 0, 1 and 2: catching up, 90 records behind",
    ]
    assert reasons([], Reach("the log"), joined=False, stuck="") == ["the group of workers has not given out partitions yet"]
    assert named(range(9)) == "9 partitions"
