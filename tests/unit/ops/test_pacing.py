"""A backfill and the workers: it waits while they lag and move, gives way to who asks, and waits for nobody who is away."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from ledger.adapters.memory_log import MemoryLog
from ledger.errors import LogUnavailable
from ledger.log import EVENTS, NewEntry, partition_of
from ops import pacing
from ops.pacing import Pacer
from schemas.codec import encode
from schemas.ids import Position
from schemas.records import AnyRecord
from tests.support import given as g

WORK_MS = 1.0
PATIENCE_S = 10.0


class Watched(MemoryLog):
    """A log with one partition that keeps in mind how large each append was."""

    def __init__(self) -> None:
        super().__init__(partitions=1)
        self.sizes: list[int] = []

    async def append(self, topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        self.sizes.append(len(entries))
        return await super().append(topic, entries)

    async def others(self, *records: AnyRecord) -> None:
        """Somebody else appends."""
        await super().append(EVENTS, [NewEntry(record.scope, encode(record)) for record in records])


class Workers:
    """Workers that say how far they are: at the end of the log, unless they stand somewhere."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log
        self.stand_at: int | None = None
        self.asked = 0

    async def said(self) -> dict[int, int]:
        self.asked += 1
        return {0: await self._log.end(EVENTS, 0) if self.stand_at is None else self.stand_at}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks that follow at once, and records that all take as long."""
    monkeypatch.setattr(pacing, "LOOK_S", 0.005)
    monkeypatch.setattr(pacing, "entry_ms", lambda _: WORK_MS)
    monkeypatch.setattr(pacing, "RECORD_MS", WORK_MS)


@pytest.fixture
def log() -> Watched:
    return Watched()


def spans(count: int, first: int = 1) -> list[NewEntry]:
    return [NewEntry("s1", encode(g.span(number, "n:40"))) for number in range(first, first + count)]


def calm(pacer: Pacer) -> Pacer:
    """Nobody has asked for long."""
    pacer._asked_s = -1e9
    return pacer


async def test_backfill_waits_while_the_workers_lag_and_goes_on_once_they_are_near(log: Watched) -> None:
    workers = Workers(log)
    workers.stand_at = 0
    pacer = calm(Pacer(log, workers.said))
    rest = int(3 * pacing.LAG_MS_MAX / WORK_MS)
    task = asyncio.create_task(pacer.append(spans(rest)))
    await asyncio.sleep(0.1)
    waiting = await log.end(EVENTS, 0)
    assert pacing.LAG_MS_MAX <= waiting * WORK_MS <= pacing.LAG_MS_MAX + pacing.PIECE_MS
    workers.stand_at = None
    async with asyncio.timeout(PATIENCE_S):
        await task
    assert await log.end(EVENTS, 0) == rest
    assert pacer.waited_s > 0.05


async def test_order_is_kept_over_pieces(log: Watched) -> None:
    """P1: a scope's records stand in the log in the order in which they were given."""
    entries = spans(200)
    await calm(Pacer(log, Workers(log).said)).append(entries)
    assert len(log.sizes) > 1
    assert [entry.value for entry in await log.read(EVENTS, 0, 0)] == [entry.value for entry in entries]


async def test_backfill_gives_way_once_somebody_asks_between_its_records(log: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its pieces are small then, and it takes up a part of the workers' time only."""
    monkeypatch.setattr(pacing, "SHARE", 0.5)
    pacer = calm(Pacer(log, Workers(log).said))
    await pacer.append(spans(50))
    assert max(log.sizes) == pacing.PIECE_MS / WORK_MS
    await log.others(g.request("q1", "m1", 1, scope="live", session="live"))
    await pacer.append(spans(50, first=51))
    await asyncio.sleep(2 * pacing.LOOK_S)
    log.sizes.clear()
    began_s = asyncio.get_running_loop().time()
    await pacer.append(spans(20, first=101))
    assert pacer.is_live
    assert max(log.sizes) == pacing.LIVE_PIECE_MS / WORK_MS
    assert asyncio.get_running_loop().time() - began_s >= 0.8 * (20 - pacing.LIVE_PIECE_MS) * WORK_MS / 1000 / 0.5


async def test_records_of_others_that_ask_nothing_change_no_pace(log: Watched) -> None:
    pacer = calm(Pacer(log, Workers(log).said))
    await pacer.append(spans(50))
    await log.others(g.opened("other", scope="other"), g.span(1, "n:7", session="other", scope="other"))
    await pacer.append(spans(50, first=51))
    await asyncio.sleep(2 * pacing.LOOK_S)
    await pacer.append(spans(50, first=101))
    assert not pacer.is_live


async def test_who_begins_does_not_know_yet_whether_somebody_asks(log: Watched) -> None:
    """The first pieces are small, so that the first request is not behind a heap."""
    pacer = Pacer(log, Workers(log).said)
    await pacer.append(spans(4))
    assert max(log.sizes) == pacing.LIVE_PIECE_MS / WORK_MS


async def test_workers_that_fall_behind_beside_requests_get_less(log: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate may be wrong and they may have others to serve: the share is halved, and grows back later."""
    monkeypatch.setattr(pacing, "BEHIND_S", 0.02)
    workers = Workers(log)
    pacer = Pacer(log, workers.said)
    await pacer.append(spans(2))
    workers.stand_at = 0
    task = asyncio.create_task(pacer.append(spans(8, first=3)))
    await asyncio.sleep(0.3)
    least = pacer._share
    assert least < pacing.SHARE / 2
    workers.stand_at = None
    async with asyncio.timeout(PATIENCE_S):
        await task
    await pacer._look()
    assert pacer._share > least


async def test_round_counts_for_what_its_scope_recorded_since_the_one_before(log: Watched) -> None:
    """What waits is counted in work: one record may take as long as hundreds."""
    pacer = Pacer(log, Workers(log).said)
    before = [pacer._work_ms(entry) for entry in spans(30)]
    round_ = NewEntry("s1", encode(g.observed("r1", None, turn=30)))
    assert pacer._work_ms(round_) == sum(before)
    assert pacer._work_ms(round_) == WORK_MS


async def test_workers_that_stand_still_are_not_waited_for_for_ever(log: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "PATIENCE_S", 0.05)
    workers = Workers(log)
    workers.stand_at = 0
    async with asyncio.timeout(PATIENCE_S):
        await calm(Pacer(log, workers.said)).append(spans(int(3 * pacing.LAG_MS_MAX / WORK_MS)))


async def test_partition_that_stands_still_is_not_waited_for_beside_one_that_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker is halted there; the one that moves still sets the pace."""
    monkeypatch.setattr(pacing, "PATIENCE_S", 0.05)
    log = MemoryLog(partitions=2)
    standing, moving = (next(key for key in map(str, range(99)) if partition_of(key, 2) == number) for number in range(2))
    moved = 0

    async def said() -> dict[int, int]:
        nonlocal moved
        moved = min(moved + 1, await log.end(EVENTS, 1))
        if moved == await log.end(EVENTS, 1):
            await log.append(EVENTS, [NewEntry(moving, b"of somebody else")])
        return {0: 0, 1: moved}

    pacer = calm(Pacer(log, said))
    async with asyncio.timeout(PATIENCE_S):
        await pacer.append([NewEntry(standing, b"backfilled")] * int(3 * pacing.LAG_MS_MAX / WORK_MS))
    assert 0 not in pacer._lag_ms
    assert 1 in pacer._lag_ms


async def test_without_workers_nobody_is_waited_for(log: Watched) -> None:
    async def nobody() -> dict[int, int]:
        return {}

    async def away() -> dict[int, int]:
        raise LogUnavailable("no broker can be reached")

    for said in (nobody, away):
        pacer = Pacer(log, said)
        async with asyncio.timeout(PATIENCE_S):
            await pacer.append(spans(500))
        assert pacer.waited_s < 1.0
