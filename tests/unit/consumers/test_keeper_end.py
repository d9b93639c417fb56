"""The turns of a keeper: told to stop while nobody answers (F27), and owner again before its index is recovered (P9)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import consumers.keeper
from consumers.carrier_index import CarrierIndex
from consumers.keeper import Keeper
from consumers.partition import Partition
from ledger.adapters.memory_log import MemoryLog
from ledger.log import ALERTS, DECISIONS, EVENTS
from tests.support.folding import ends, entries, fold_all
from tests.support.given import opened, span

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


def keeper_of(log: MemoryLog, root: Path) -> Keeper:
    async def open_index(number: int) -> CarrierIndex:
        return CarrierIndex.create(root / f"p{number}", log.identity, number)

    return Keeper(log, 0, open_index, now_ms=lambda: 1_900_000_000_000)


async def test_keeper_told_to_stop_waits_for_no_answer_about_the_end_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that is away may take half a minute to be given up, and another worker waits for the partition."""
    monkeypatch.setattr(consumers.keeper, "IDLE_S", 0.02)
    monkeypatch.setattr(consumers.keeper, "END_S", 0.0)
    log = Mute()
    keeper = keeper_of(log, tmp_path)
    keeper.start()
    async with asyncio.timeout(PATIENCE_S):
        while keeper.status.state != "live":  # noqa: ASYNC110  the keeper tells nobody of its state
            await asyncio.sleep(0.005)
        log.mute = True
        await log.asked.wait()
        await keeper.stop()
    assert keeper.partition is None


async def test_what_another_owner_said_while_the_index_was_recovered_is_not_said_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P9: the right went and came back, so what was learnt before it went is not enough."""
    log = MemoryLog(partitions=1)
    await log.append(EVENTS, entries([opened(), span(1, "n:40"), span(1, "n:41")]))
    recovered = Keeper._recovered

    async def slowly(self: Keeper) -> Partition:
        made = await recovered(self)
        await self.own(False)
        await fold_all(log, tmp_path / "other")
        await self.own(True)
        return made

    monkeypatch.setattr(Keeper, "_recovered", slowly)
    keeper = keeper_of(log, tmp_path)
    keeper.start()
    async with asyncio.timeout(PATIENCE_S):
        while keeper.status.published < 3:  # noqa: ASYNC110  the keeper tells nobody of its state
            await asyncio.sleep(0.005)
    await keeper.stop()
    said = await ends(log)
    assert any(said.values())
    assert said == {DECISIONS: 1, ALERTS: said[ALERTS]}
