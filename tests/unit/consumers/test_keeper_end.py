"""A keeper that is told to stop while nobody answers (F27)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import consumers.keeper
from consumers.carrier_index import CarrierIndex
from consumers.keeper import Keeper
from ledger.adapters.memory_log import MemoryLog

PATIENCE_S = 20.0


class Mute(MemoryLog):
    """A log that says no more where it ends, and of which nothing comes."""

    def __init__(self) -> None:
        super().__init__(partitions=1)
        self.asked = asyncio.Event()
        self.mute = False

    async def end(self, topic: str, partition: int) -> int:
        if self.mute:
            self.asked.set()
            await asyncio.Event().wait()
        return await super().end(topic, partition)

    async def wait_for(self, topic: str, partition: int, offset: int, timeout_s: float) -> bool:
        await asyncio.sleep(timeout_s)
        return False


async def test_keeper_told_to_stop_waits_for_no_answer_about_the_end_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that is away may take half a minute to be given up, and another worker waits for the partition."""
    monkeypatch.setattr(consumers.keeper, "IDLE_S", 0.02)
    monkeypatch.setattr(consumers.keeper, "END_S", 0.0)
    log = Mute()

    async def open_index(number: int) -> CarrierIndex:
        return CarrierIndex.create(tmp_path / f"p{number}", log.identity, number)

    keeper = Keeper(log, 0, open_index, now_ms=lambda: 1_900_000_000_000)
    keeper.start()
    async with asyncio.timeout(PATIENCE_S):
        while keeper.status.state != "live":  # noqa: ASYNC110  the keeper tells nobody of its state
            await asyncio.sleep(0.005)
        log.mute = True
        await log.asked.wait()
        await keeper.stop()
    assert keeper.partition is None
