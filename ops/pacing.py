"""A backfill that gives way: it appends in small pieces and waits, so that live requests of its partitions are not behind it.

What waits is counted in milliseconds of folding, as `consumers.work` estimates them, for one record may take as long as a
thousand others. Workers say twice a second how far they are.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from consumers.enforcement import is_request, is_round
from consumers.work import entry_ms
from ledger.errors import LogUnavailable
from ledger.log import EVENTS, Log, NewEntry
from schemas.ids import Position

PIECE_MS = 25.0
"""Work of one append while nobody asks."""

LAG_MS_MAX = 100.0
"""Work that may wait in one partition while nobody asks: the first request that comes then waits so long at most."""

LIVE_PIECE_MS = 2.0
"""Work of one append once somebody asks; a request waits for that, or is decided beside it."""

SHARE, SHARE_LEAST = 0.05, 0.01
"""Which part of one core's time a backfill takes up while somebody asks. It is halved each time the workers fall behind by more
than `BEHIND_S`, and grows back slowly: they may be slower than the estimate, and have others to serve.
"""

BEHIND_S = 1.5
"""Age of the oldest work that is not folded; twice the time between two words of the workers is no sign of anything."""

LIVE_S = 10.0
"""How long a request that was seen counts as a sign of more."""

LOOK_S = 0.25
PATIENCE_S = 30.0
"""How long a partition may stand still before the backfill goes on without waiting for it. Its workers are away or halted then,
and nobody is delayed.
"""

GAP_ENTRIES = 20
"""Records of others that are looked at between two looks at the workers."""

RECORD_MS = 0.1
"""Work of a record of somebody else that waits."""

Committed = Callable[[], Awaitable[dict[int, int]]]


class _Sent(msgspec.Struct, frozen=True):
    """What one append brought to one partition."""

    at_s: float
    partition: int
    end: int
    work_ms: float


class Pacer:
    """Appends to the events at the pace of the workers. Where no worker ever said how far it is, nobody is waited for."""

    def __init__(self, log: Log, committed: Committed) -> None:
        self._log, self._committed = log, committed
        self._since_round: dict[str, float] = {}
        self._waiting: deque[_Sent] = deque()
        self._said: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._gap: tuple[int, int, int] | None = None
        self._moved_s: dict[int, float] = {}
        self._looked_s = self._asked_s = self._next_s = float("-inf")
        self._lag_ms: dict[int, float] = {}
        self._share = SHARE
        self._served = False
        self.waited_s = 0.0

    async def append(self, entries: Sequence[NewEntry]) -> None:
        """Append entries in their order, piece by piece, each as soon as the workers have room for it. Raises as `Log.append`
        does; earlier pieces stand in the log then.
        """
        if self._asked_s == float("-inf"):  # whoever begins does not know yet whether somebody asks
            self._asked_s = asyncio.get_running_loop().time()
        rest = list(entries)
        while rest:
            await self._room()
            piece, took_ms = self._piece(rest)
            positions = await self._log.append(EVENTS, piece)
            self._note(positions, piece, took_ms)
            del rest[: len(piece)]

    def _piece(self, entries: list[NewEntry]) -> tuple[list[NewEntry], list[float]]:
        limit_ms = LIVE_PIECE_MS if self.is_live else PIECE_MS
        took: list[float] = []
        for entry in entries:
            took.append(self._work_ms(entry))
            if sum(took) >= limit_ms:
                break
        return entries[: len(took)], took

    def _work_ms(self, entry: NewEntry) -> float:
        """The estimate. A round compares what its scope recorded since the one before, which takes about as long again."""
        work_ms, since_ms = entry_ms(entry.value), self._since_round.get(entry.key, 0.0)
        if is_round(entry.value):
            self._since_round[entry.key] = 0.0
            return max(since_ms, 1.0)
        self._since_round[entry.key] = since_ms + work_ms
        return work_ms

    @property
    def is_live(self) -> bool:
        """Did somebody ask lately?"""
        return asyncio.get_running_loop().time() - self._asked_s < LIVE_S

    def _note(self, positions: list[Position], piece: list[NewEntry], took_ms: list[float]) -> None:
        now_s = asyncio.get_running_loop().time()
        work: dict[int, float] = {}
        for at, each_ms in zip(positions, took_ms, strict=True):
            known = self._ends.get(at.partition, at.offset)
            if at.offset > known:
                self._gap = (at.partition, known, at.offset)
            self._ends[at.partition] = at.offset + 1
            work[at.partition] = work.get(at.partition, 0.0) + each_ms
        for partition, each_ms in work.items():
            if partition in self._lag_ms:  # somebody works on it
                self._waiting.append(_Sent(now_s, partition, self._ends[partition], each_ms))
                self._lag_ms[partition] += each_ms
        self._next_s = now_s + sum(took_ms) / 1000 / self._share if self.is_live else now_s

    async def _room(self) -> None:
        """Return once there is room for another piece, or nobody to wait for."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        while True:
            if loop.time() - self._looked_s >= LOOK_S:
                self._served = await self._look()
            if not self._served:
                break
            now_s = loop.time()
            wait_s = self._next_s - now_s if self.is_live else 0.0
            if max(self._lag_ms.values(), default=0.0) > LAG_MS_MAX or (self.is_live and self._behind_s(now_s) > 2 * BEHIND_S):
                wait_s = LOOK_S
            if wait_s <= 0:
                break
            await asyncio.sleep(min(wait_s, LOOK_S))
        self.waited_s += loop.time() - began_s

    def _behind_s(self, now_s: float) -> float:
        return now_s - self._waiting[0].at_s if self._waiting else 0.0

    async def _look(self) -> bool:
        """How far are the workers, and did somebody ask? False where there is nobody to wait for."""
        loop = asyncio.get_running_loop()
        try:
            said = await self._committed()
            behind = {number: await self._log.end(EVENTS, number) - offset for number, offset in said.items()}
            await self._look_at_others()
        except LogUnavailable:
            said, behind = {}, {}
        self._looked_s = now_s = loop.time()
        moving = self._moving(said, behind, now_s)
        self._waiting = deque(each for each in self._waiting if each.partition in moving and each.end > said[each.partition])
        self._lag_ms = {number: self._pending_ms(number, behind[number]) for number in moving}
        if self._behind_s(now_s) > BEHIND_S:
            self._share = max(SHARE_LEAST, self._share / 2)
        else:
            self._share = min(SHARE, self._share * 1.1)
        return bool(moving)

    def _moving(self, said: dict[int, int], behind: dict[int, int], now_s: float) -> list[int]:
        """Partitions that have moved within the patience, or have nothing to do."""
        for number, offset in said.items():
            if offset != self._said.get(number) or not behind[number]:
                self._moved_s[number] = now_s
        self._said = said
        return [number for number in said if now_s - self._moved_s[number] <= PATIENCE_S]

    def _pending_ms(self, partition: int, records: int) -> float:
        own = [each for each in self._waiting if each.partition == partition]
        return max(sum(each.work_ms for each in own), records * RECORD_MS)

    async def _look_at_others(self) -> None:
        """Does a request stand among the records that others appended between ours?"""
        gap, self._gap = self._gap, None
        if gap is None:
            return
        partition, first, end = gap
        for entry in await self._log.read(EVENTS, partition, first, max_entries=min(GAP_ENTRIES, end - first)):
            if is_request(entry.value):
                self._asked_s = asyncio.get_running_loop().time()
