"""A worker's care for one partition: recover the index, catch up, stay live, publish while owner, halt with a reason.

States and how they follow one another:

- *recovering*: the index is opened; a damaged or missing one is restored from a snapshot, or begun anew;
- *catching up*: the backlog is folded; questions are answered *unknown (catching up)*;
- *live*: everything there was is folded; each new record is folded as it comes;
- *waiting*: the log does not answer, or a store takes nothing; tried again, and nothing is lost;
- *halted*: a record that this release does not know, or an integrity fault. The partition stands still before it and says so,
  the others go on. Only a new release, or a person, ends this.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Literal

import lmdb
import msgspec

from consumers.carrier_index import CarrierIndex
from consumers.crew import Crew
from consumers.due import PendingGrant
from consumers.partition import Partition
from ledger.errors import (
    IndexDamaged,
    IntegrityError,
    LedgerError,
    LogClosed,
    LogDamaged,
    LogUnavailable,
    StoreUnavailable,
)
from ledger.evolve.requests import GRANT_TIMER
from ledger.log import EVENTS, Entry, Log, NewEntry
from schemas.codec import encode
from schemas.objects import with_own_id
from schemas.records import Tick

State = Literal["recovering", "catching up", "live", "waiting", "halted", "stopped"]

IDLE_S = 1.0
"""How long a live partition waits for a record before it looks at timers again."""

RETRY_S_FIRST, RETRY_S_MAX = 0.2, 5.0
"""Between two tries while the log does not answer."""

TIMERS_S = 15.0
"""How often timers and pending grants are looked at, once live."""

END_S = 5.0
"""How often a quiet partition asks whether its log is still there."""

GRANT_PENDING_S = 900.0
"""How long a grant may be pending, as its owner sees it, before a tick raises a ticket."""

_log = logging.getLogger("cledger.worker")
OpenIndex = Callable[[int], Awaitable[CarrierIndex]]
"""Opens, restores or begins the index of a partition. Raises `LogUnavailable`, `IndexDamaged`."""


class PartitionStatus(msgspec.Struct, kw_only=True):
    """What a partition is doing, for health, metrics and answers."""

    partition: int
    state: State = "recovering"
    reason: str = ""
    waits_for: Literal["log", "store"] = "log"
    """Whose fault the reason is while it waits: the log's, or that of a store on this machine."""

    exit_code: int = 0
    """Of the fault that halted it."""

    owned: bool = False
    offset: int = 0
    """The next record to fold."""

    published: int = 0
    """Every record below this is folded, and all outputs of it are in the log."""

    end: int = 0
    """The end of the log when it was last asked for."""

    folded: int = 0
    """Records folded since this process began to keep the partition."""

    recovered_from: str = ""
    """Where the index came from: `index`, `snapshot` or `log`."""

    moved_s: float = 0.0
    """Monotonic time in seconds at which the position last moved, or nothing was left to do."""

    @property
    def lag(self) -> int:
        """Records in the log that are not folded and published."""
        return max(0, self.end - self.published)


class Keeper:
    """Keeps one partition, from `start` to `stop`. Use from one event loop."""

    def __init__(
        self,
        log: Log,
        number: int,
        open_index: OpenIndex,
        *,
        now_ms: Callable[[], int],
        outputs: Counter[tuple[str, str]] | None = None,
        crew: Crew | None = None,
    ) -> None:
        """`now_ms` is the wall clock in milliseconds since the epoch; it decides only when ticks are published. `outputs`
        counts decisions and alerts by type and rule.
        """
        self._outputs = outputs if outputs is not None else Counter()
        self.log, self.number = log, number
        self.status = PartitionStatus(partition=number, moved_s=time.monotonic())
        self.partition: Partition | None = None
        self._open_index = open_index
        self._now_ms = now_ms
        self._task: asyncio.Task[None] | None = None
        self._turns = 0
        self._stopping = asyncio.Event()
        self._timers_at_s = 0.0
        self._looked_s = time.monotonic()
        self._pending_since: dict[PendingGrant, float] = {}
        self._crew = crew
        self._observe: Callable[[Entry], None] = crew.observe if crew is not None else lambda _: None
        self._beside: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to keep the partition, as its owner."""
        self.status.owned = True
        self._task = asyncio.create_task(self._run(), name=f"keeper-{self.number}")

    async def own(self, owned: bool) -> None:
        """Ownership was gained again or lost; the fold goes on meanwhile."""
        self.status.owned = owned
        self._turns += 1
        if self.partition is not None:
            await self.partition.own(owned)

    async def stop(self) -> None:
        """Finish the batch under way, publish what is committed if still owner, and release the index."""
        self._stopping.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        await self._done_beside()
        self.status.state = "stopped" if self.status.state != "halted" else "halted"
        self._release()

    async def _run(self) -> None:
        pause_s = RETRY_S_FIRST
        while not self._stopping.is_set():
            try:
                if self.number >= self.log.identity.partitions:
                    raise LogDamaged(
                        f"{EVENTS} has a partition {self.number}, the log was made with {self.log.identity.partitions}",
                        hint="Scopes now go to other partitions than their history. Check: cledger topics verify",
                    )
                if self.partition is None:
                    turns = self._turns
                    self.partition = await self._recovered()
                    if turns != self._turns:  # ownership came or went while the index was recovered
                        await self.partition.own(self.status.owned)
                try:
                    await self._follow(self.partition)
                finally:
                    await self.partition.stop_reading()
                return
            except LogClosed:
                return
            except LogUnavailable as error:
                self.status.waits_for = "store" if isinstance(error, StoreUnavailable) else "log"
                self._tell("waiting", f"{error.message} {error.hint}".strip())
                if isinstance(error.__cause__, lmdb.PanicError):  # this map takes no write any more, a new one may
                    await self._done_beside()
                    self._release()
                await self._pause(pause_s)
                self.status.moved_s = time.monotonic()  # what was waited for is no fault of this process
                pause_s = min(pause_s * 2, RETRY_S_MAX)
            except IndexDamaged as error:
                _log.error("partition %s: %s; recovering it", self.number, error.message)
                self._tell("recovering", error.message)
                await self._done_beside()
                self._release()
                await self._pause(pause_s)
                pause_s = min(pause_s * 2, RETRY_S_MAX)
            except LedgerError as error:
                self._halt(f"{error.message} {error.hint}".strip(), error.exit_code)
                return
            except Exception as error:  # noqa: BLE001  a bug of this process: the partition halts, the others go on
                _log.exception("partition %s: internal error", self.number)
                self._halt(f"internal error: {type(error).__name__}: {error}", IntegrityError.exit_code)
                return

    def _release(self) -> None:
        if self.partition is not None:
            self.partition.close()
            self.partition.index.close()
            self.partition = None

    async def _recovered(self) -> Partition:
        self._tell("recovering")
        index = await self._open_index(self.number)
        partition = Partition(
            self.log, index, self.number, publish=self.status.owned, learn=True, outputs=self._outputs, observe=self._observe
        )
        try:
            await partition.take_over()
        except BaseException:
            partition.close()
            index.close()
            raise
        self.status.offset = partition.offset_next
        return partition

    async def _follow(self, partition: Partition) -> None:
        self._tell("catching up")
        self.status.end = await self.log.end(EVENTS, self.number)
        behind = True  # at first, after a fault, and each time ownership came back
        while not self._stopping.is_set():
            if behind or not partition.taken_over:
                await partition.catch_up(lambda _folded, _all: self._moved(partition), ended=self._stopping.is_set)
                self._moved(partition)
                behind = False
            self._tell("live")
            if self.status.owned:
                await self._owner_work(partition)
            if await partition.arrived(IDLE_S):
                self.status.end = max(self.status.end, self.status.offset + 1)
                await partition.advance()
                self._moved(partition)
            else:
                self.status.moved_s = time.monotonic()
                await self._look_at_the_end()

    async def _look_at_the_end(self) -> None:
        """Nothing came: is the log still there, and no shorter? A partition that nobody writes to would not learn of it."""
        now_s = time.monotonic()
        if now_s - self._looked_s >= END_S:
            self._looked_s = now_s
            asking = asyncio.create_task(self.log.end(EVENTS, self.number))
            stopping = asyncio.create_task(self._stopping.wait())
            await asyncio.wait((asking, stopping), return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if not asking.done():  # a broker that is away is not waited for by who is told to stop
                asking.cancel()
                await asyncio.wait([asking])
                return
            self.status.end = max(self.status.offset, asking.result())

    async def _done_beside(self) -> None:
        """Wait for the consumers beside the fold: they read the index, in threads that cannot be interrupted."""
        if self._beside is not None:
            await asyncio.wait([self._beside])

    def _moved(self, partition: Partition) -> None:
        self.status.folded += max(0, partition.offset_next - self.status.offset)
        self.status.offset, self.status.published = partition.offset_next, partition.published_next
        self.status.moved_s = time.monotonic()

    async def _owner_work(self, partition: Partition) -> None:
        """What only the owner does, and only at the log's end: ticks, and the consumers that append records."""
        now_s = time.monotonic()
        if now_s - self._timers_at_s >= TIMERS_S:
            self._timers_at_s = now_s
            await self._tick(partition, now_s)
            if self._crew is not None and (self._beside is None or self._beside.done()):
                self._beside = asyncio.create_task(self._crew.work(partition.index, self.number))
                self._beside.add_done_callback(_tell_bug)

    async def _tick(self, partition: Partition, now_s: float) -> None:
        """Publish what is due. The id follows from scope, timer and time, so that two owners tick once (P3)."""
        now_ms = self._now_ms()
        with partition.index.snapshot() as snapshot:
            timers, grants = snapshot.timers(now_ms), snapshot.grants()
        ticks = [tick(timer.scope, timer.session, "validity", timer.due_ms) for timer in timers]
        known = dict(self._pending_since)
        self._pending_since = {grant: known.get(grant, now_s) for grant in grants}
        for grant, since_s in self._pending_since.items():
            if now_s - since_s >= GRANT_PENDING_S:
                ticks.append(tick(grant.scope, grant.session, f"{GRANT_TIMER}{grant.request}", now_ms))
                self._pending_since[grant] = now_s + 86_400.0
        if ticks:
            await self.log.append(EVENTS, [NewEntry(each.scope, encode(each)) for each in ticks])

    def _tell(self, state: State, reason: str = "") -> None:
        if state != self.status.state or reason != self.status.reason:
            level = logging.INFO
            if state == "waiting":  # that the log is away is said once for all partitions, by the worker
                level = logging.WARNING if self.status.waits_for == "store" else logging.DEBUG
            _log.log(level, "partition %s: %s%s", self.number, state, f": {reason}" if reason else "")
        self.status.state, self.status.reason = state, reason

    def _halt(self, reason: str, exit_code: int) -> None:
        self.status.exit_code = exit_code
        if self.partition is not None:
            self._moved(self.partition)
        _log.error("partition %s stands still at offset %s: %s", self.number, self.status.offset, reason)
        self._tell("halted", reason)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            pass


def _tell_bug(task: asyncio.Task[None]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.error("a consumer beside the fold failed", exc_info=error)


def tick(scope: str, session: str, timer: str, due_ms: int) -> Tick:
    """The record that says that a timer of a scope is due, with the id H(scope, timer, due time)."""
    return with_own_id(Tick(id="", scope=scope, session=session, timer=timer, due_ms=due_ms))
