"""The consumers beside a fold: each does its round, and what one fails at keeps no other from its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from consumers.carrier_index import CarrierIndex
from consumers.crew import Crew
from consumers.keeper import Keeper
from consumers.snapshots import latest
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import LogUnavailable
from ledger.log import EVENTS
from schemas.codec import decode_record
from schemas.records import ManifestRecorded
from tests.support import toy_facts as toy
from tests.support.folding import entries
from tests.support.given import opened, span
from tests.unit.consumers.test_keeper import until

NOW_MS = 1_900_000_000_000


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("consumers.remeasuring.extract", toy.extract)
    with toy.toy_facts():
        yield


async def kept(log: MemoryLog, root: Path, crew: Crew) -> Keeper:
    async def open_index(number: int) -> CarrierIndex:
        return CarrierIndex.create(root / f"p{number}", log.identity, number)

    keeper = Keeper(log, 0, open_index, now_ms=lambda: NOW_MS, crew=crew)
    keeper.start()
    return keeper


async def test_owner_at_the_end_of_the_log_measures_and_takes_a_snapshot(tmp_path: Path) -> None:
    """C2, P2: a span without a manifest gets one, and what was folded can be restored elsewhere."""
    log = MemoryLog(partitions=1)
    await log.append(EVENTS, entries([opened(), span(1, "n:40 p:billing", manifest=False)]))
    crew = Crew(log, now_ms=lambda: NOW_MS, snapshots=tmp_path / "snapshots")
    keeper = await kept(log, tmp_path, crew)
    await until(lambda: crew.done["snapshots"] == 1 and keeper.status.offset == 3)
    await keeper.stop()
    made = decode_record((await log.read(EVENTS, 0, 2))[0].value)
    assert isinstance(made, ManifestRecorded)
    assert crew.done["manifests"] == 1
    found = latest(tmp_path / "snapshots", log.identity, 0, offset_end=3).found
    assert found is not None
    assert found.manifest.offset_next >= 2
    assert crew.publishers().publishers >= 1


async def test_consumer_that_fails_is_told_and_the_others_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(*_: object, **__: object) -> int:
        raise LogUnavailable("the disk is full")

    monkeypatch.setattr("consumers.crew.measure", fails)
    log = MemoryLog(partitions=1)
    await log.append(EVENTS, entries([opened(), span(1, "n:40")]))
    crew = Crew(log, now_ms=lambda: time.time_ns() // 1_000_000, snapshots=tmp_path / "snapshots")
    keeper = await kept(log, tmp_path, crew)
    await until(lambda: crew.done["snapshots"] == 1)
    await keeper.stop()
    assert crew.done["manifests_failed"] == 1
    assert keeper.status.state == "stopped"
