"""A backfill and the workers: it waits while they lag and move, and for nobody who is away (design section 5, scale)."""

from __future__ import annotations

import asyncio

import pytest

from ledger.adapters.memory_log import MemoryLog
from ledger.errors import LogUnavailable
from ledger.log import EVENTS, NewEntry
from ops import pacing
from ops.pacing import Pacer


@pytest.fixture
async def log() -> MemoryLog:
    found = MemoryLog(partitions=1)
    await found.append(EVENTS, [NewEntry("s", b"{}")] * (pacing.LAG_MAX + 10))
    return found


async def test_backfill_waits_until_the_workers_are_near_the_end(log: MemoryLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "LOOK_S", 0.0)
    said = iter([0, 4, 9, 10])
    asked: list[int] = []

    async def committed() -> dict[int, int]:
        asked.append(next(said))
        return {0: asked[-1]}

    await Pacer(log, committed).wait()
    assert asked == [0, 4, 9, 10]


async def test_workers_that_stand_still_are_not_waited_for_for_ever(log: MemoryLog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "LOOK_S", 0.01)
    monkeypatch.setattr(pacing, "PATIENCE_S", 0.05)

    async def committed() -> dict[int, int]:
        return {0: 3}

    async with asyncio.timeout(5):
        await Pacer(log, committed).wait()


async def test_without_workers_nobody_is_waited_for(log: MemoryLog) -> None:
    async def nobody() -> dict[int, int]:
        return {}

    async def away() -> dict[int, int]:
        raise LogUnavailable("no broker can be reached")

    async with asyncio.timeout(5):
        await Pacer(log, nobody).wait()
        await Pacer(log, away).wait()
