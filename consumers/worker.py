"""A worker: keepers for the partitions it owns, inside a Faust app as shell.

Faust gives lifecycle, signals and the web server. It reads and writes nothing here: its consumer commits records whose handler
raised, and moves a fiftieth of what a plain reader moves, so it owns no offset, table or decision of the ledger. `Worker` is
plain asyncio and runs without the shell too, which is how most tests run it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Literal

import msgspec

from consumers.crew import Crew
from consumers.keeper import Keeper, OpenIndex, PartitionStatus
from consumers.membership import ANSWER_S, Membership, Owned
from consumers.readiness import Reach, away, reasons, waits
from ledger.errors import LogUnavailable
from ledger.log import EVENTS, Log

COMMIT_S = 0.5
"""How often the group is told how far owned partitions are."""

BEAT_S = 0.5
HANDOVER_S = 5.0
"""How long a rebalance waits for what is being published. What takes longer goes on; the next owner says the same bytes."""

WATCHDOG_S = 60.0
"""Without progress for so long, while there is work and the log answers, the process ends itself: others take over at once."""

UNREADY_SHARE = 0.5
"""After this part of that time the worker says that it is not ready."""

STUCK = 4
"""Exit code of a process that its watchdog ended."""

Readiness = Literal["ready", "catching up", "not ready"]
_log = logging.getLogger("cledger.worker")


class WorkerStatus(msgspec.Struct, kw_only=True):
    """What a worker is doing, for health and answers."""

    readiness: Readiness
    joined: bool
    """Whether the group gave it partitions, none included, at least once."""

    partitions: list[PartitionStatus]
    rebalances: int
    reasons: list[str] = []
    """Why it is not ready, in sentences; none if it is."""

    waits: list[str] = []
    """Those of them that a restart of this process would not help: the log is away, a store takes nothing."""

    @property
    def healthy(self) -> bool:
        """False once a partition halted: somebody has to look."""
        return all(each.state != "halted" for each in self.partitions)


class Worker:
    """Keeps the partitions that its membership gives it. Use from one event loop; `run` is its whole life."""

    def __init__(
        self,
        log: Log,
        membership: Membership,
        open_index: OpenIndex,
        *,
        exit_when_idle_s: float | None = None,
        watchdog_s: float = WATCHDOG_S,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        crew: Crew | None = None,
        where: str = "the log",
    ) -> None:
        """`exit_when_idle_s` ends the worker once everything in all partitions has been folded and published for so long;
        `where` is what people call its log.
        """
        self.log = log
        self.membership = membership
        self.keepers: dict[int, Keeper] = {}
        self.rebalances = 0
        self.crew = crew
        self.outputs: Counter[tuple[str, str]] = Counter()
        """Outputs of this process's folds, by type and rule."""
        self._open_index = open_index
        self._now_ms = now_ms
        self._idle_s = exit_when_idle_s
        self._watchdog = Watchdog(self, watchdog_s)
        self._joined = False
        self._answered = True
        self._reach = Reach(where)
        self.ended = asyncio.Event()
        """Set when `run` is over."""
        self._stopping = asyncio.Event()
        self._ending: set[asyncio.Task[None]] = set()
        self._changing = asyncio.Lock()

    async def run(self) -> int:
        """Work until `end` is called, or until there is nothing left to do. Returns the exit code.

        Raises `LogUnavailable` where the group cannot be joined.
        """
        self._watchdog.start()
        beating = asyncio.create_task(self._beat())
        try:
            await self.membership.start(self)
            await self._until_done()
        finally:
            await self._close()
            beating.cancel()
            self.ended.set()
        codes = [keeper.status.exit_code for keeper in self.keepers.values()]
        return max(codes, default=0)

    def end(self) -> None:
        """Ask the worker to stop: batches under way are finished and published, positions are committed, the group is left."""
        self._stopping.set()

    @property
    def away(self) -> str:
        """That the log does not answer, and since when; the empty string if it does."""
        return self._reach.told

    def status(self) -> WorkerStatus:
        """What each kept partition is doing."""
        partitions = [self.keepers[number].status for number in sorted(self.keepers)]
        readiness: Readiness = "ready"
        stuck = self._watchdog.fault(time.monotonic(), share=UNREADY_SHARE)
        if stuck or not self._joined or not self._answered or any(each.state in ("halted", "waiting") for each in partitions):
            readiness = "not ready"
        elif any(each.state != "live" for each in partitions):
            readiness = "catching up"
        return WorkerStatus(
            readiness=readiness,
            joined=self._joined,
            partitions=partitions,
            rebalances=self.rebalances,
            reasons=reasons(partitions, self._reach, joined=self._joined, stuck=stuck),
            waits=waits(partitions, self._reach),
        )

    async def revoked(self) -> None:
        """A rebalance begins: nothing more is published; the folds go on. Returns once what is on its way has arrived."""
        async with self._changing:
            await self._hand_over(list(self.keepers.values()))

    async def assigned(self, owned: Owned) -> None:
        """The partitions of this worker from now on."""
        async with self._changing:
            self.rebalances += 1
            self._joined = True
            lost = [number for number in self.keepers if number not in owned]
            await self._hand_over([self.keepers[number] for number in lost])
            for number in lost:
                task = asyncio.create_task(self.keepers.pop(number).stop())
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)
            for number in sorted(owned):
                await self._keep(number)

    async def _keep(self, number: int) -> None:
        known = self.keepers.get(number)
        if known is not None:
            await known.own(True)
            return
        if self._ending:  # an index has one user; a partition that comes back at once waits for its former keeper
            await asyncio.wait(self._ending)
        keeper = Keeper(self.log, number, self._open_index, now_ms=self._now_ms, outputs=self.outputs, crew=self.crew)
        self.keepers[number] = keeper
        keeper.start()

    async def _hand_over(self, keepers: list[Keeper]) -> None:
        if keepers:
            tasks = [asyncio.create_task(keeper.own(False)) for keeper in keepers]
            await asyncio.wait(tasks, timeout=HANDOVER_S)

    async def _until_done(self) -> None:
        idle_since: float | None = None
        looked_s = 0.0
        while not self._stopping.is_set():
            now_s = time.monotonic()
            if now_s - looked_s >= COMMIT_S:
                looked_s = now_s
                await self._commit()
                self._reach.note(self._fault())
                if self._idle_s is not None:
                    idle = await self._nothing_left()
                    idle_since = (idle_since or now_s) if idle else None
                    if idle_since is not None and now_s - idle_since >= self._idle_s:
                        _log.info("everything is folded and published; ending")
                        return
            try:
                async with asyncio.timeout(BEAT_S):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    async def _beat(self) -> None:
        """Beside everything that waits for others: what the watchdog looks for is a loop that does not run."""
        while True:
            self._watchdog.beat()
            await asyncio.sleep(BEAT_S)

    async def _commit(self) -> None:
        self._answered = await self.membership.commit(
            {number: keeper.status.published for number, keeper in self.keepers.items() if keeper.status.owned}
        )

    def _fault(self) -> str:
        """What keeps the log from answering; the empty string if it answers."""
        said = away([keeper.status for keeper in self.keepers.values()])
        return said or ("" if self._answered else f"no word from the group of workers for {ANSWER_S:g} s")

    async def _nothing_left(self) -> bool:
        """Is everything up to the end of all partitions folded and published, by this worker or another, or standing still?"""
        if not self._joined:
            return False
        try:
            said = await self.membership.committed()
            for number in range(self.log.identity.partitions):
                keeper = self.keepers.get(number)
                end = await self.log.end(EVENTS, number)
                if keeper is not None and keeper.status.owned:
                    keeper.status.end = end
                    done = keeper.status.state == "halted" or (keeper.status.state == "live" and keeper.status.published >= end)
                else:
                    done = said.get(number, 0) >= end
                if not done:
                    return False
        except LogUnavailable:
            return False
        return True

    async def _close(self) -> None:
        async with self._changing:
            stops = [asyncio.create_task(keeper.stop()) for keeper in self.keepers.values()]
            waiting = [*stops, *self._ending]
            if waiting:
                await asyncio.wait(waiting)
        if self._answered:  # else nobody would hear it; whoever owns them next says how far they are
            await self._commit()
        await self.membership.stop()
        self._watchdog.stop()


class Watchdog:
    """Ends the process when its event loop or a partition stands still. A thread, since a stuck loop runs no timer."""

    def __init__(self, worker: Worker, limit_s: float) -> None:
        self._worker = worker
        self._limit_s = limit_s
        self._beat_s = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self.beat()
        self._thread.start()

    def beat(self) -> None:
        """The event loop runs."""
        self._beat_s = time.monotonic()

    def stop(self) -> None:
        """End the watch; stopping a worker may take as long as it takes."""
        self._ended.set()

    def _watch(self) -> None:
        while not self._ended.wait(min(1.0, self._limit_s / 4)):
            why = self.fault(time.monotonic())
            if why:
                print(f"error: {why}; ending so that another worker takes over", file=sys.stderr, flush=True)
                os._exit(STUCK)

    def fault(self, now_s: float, share: float = 1.0) -> str:
        """What stood still for this part of the limit, or the empty string."""
        limit_s = share * self._limit_s
        if now_s - self._beat_s > limit_s:
            return f"the event loop did not run for {now_s - self._beat_s:.0f} s"
        for number, keeper in list(self._worker.keepers.items()):
            status = keeper.status
            if status.state in ("catching up", "live") and status.lag and now_s - status.moved_s > limit_s:
                return f"partition {number} did not move from offset {status.offset} for {now_s - status.moved_s:.0f} s"
        return ""
