"""An open ledger: a log, the indexes folded from it, and consistent reading over all partitions."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Literal

from consumers.carrier_index import CarrierIndex, Snapshot
from consumers.fold_lock import folding
from consumers.partition import Partition
from ledger.errors import IndexBusy, IndexDamaged, LedgerError
from ledger.log import EVENTS, Log, partition_of
from ledger.lookup import session_row
from ledger.rows import SessionRow
from ledger.state import SESSION_NAME, Rows, name_key, ordinal_key
from ops.session_names import begins, guesses, the_one
from ops.wiring import desk_directory, is_shared, open_log, scratch_log, standing_directory
from schemas.codec import decode_record
from schemas.records import AnyRecord

FoldMode = Literal["wait", "try", "no"]
Notice = Callable[[str], None]

READ_AHEAD = 256
"""Records read at once where many are wanted; between those of one session lie few others."""

FOLDED_AT_ONCE = 400
"""Records in one commit of a command, which folds once and ends: their pages are in memory together. A worker takes more."""

LOCK_POLL_SECONDS = 0.05
"""How often a process that wants to fold asks whether another one is done."""


class Found:
    """A session that was asked for: its scope, the rows of that scope, and its own row."""

    def __init__(self, scope: str, rows: Rows, session: SessionRow) -> None:
        self.scope = scope
        self.rows = rows
        self.session = session


class NotInView(LedgerError):
    """The scope lies in a partition that this view does not hold."""

    exit_code = 3


class Reading:
    """One consistent view over partitions of a log, all of them or some, with the log at hand for quotes."""

    def __init__(self, log: Log, snapshots: Mapping[int, Snapshot], gap: int) -> None:
        """`gap` counts records of these partitions that the view lacks."""
        self.log = log
        self.gap = gap
        self._snapshots = snapshots

    @property
    def partitions(self) -> list[int]:
        """The partitions in this view, in order."""
        return sorted(self._snapshots)

    def scopes(self) -> list[str]:
        """Ids of all scopes in this view, in order of their bytes."""
        names = [name for snapshot in self._snapshots.values() for name in snapshot.scopes()]
        return sorted(names, key=in_order)

    def rows(self, scope: str) -> Rows | None:
        """The rows of a scope. Raises `NotInView`."""
        return self._snapshot(scope).scope(scope)

    def holds(self, scope: str) -> bool:
        """Does the scope lie in a partition of this view?"""
        return partition_of(scope, self.log.identity.partitions) in self._snapshots

    def _snapshot(self, scope: str) -> Snapshot:
        number = partition_of(scope, self.log.identity.partitions)
        if number not in self._snapshots:
            raise NotInView(f"scope {scope!r} lies in partition {number}, which is not in this view")
        return self._snapshots[number]

    def sessions(self) -> Iterator[Found]:
        """Every session, by scope and then by order of opening."""
        for scope in self.scopes():
            rows = self.rows(scope)
            if rows is None:
                continue
            ordinal = 1
            while (name := rows.get(SESSION_NAME, ordinal_key(ordinal))) is not None:
                row = session_row(rows, name.span)
                if row is not None:
                    yield Found(scope, rows, row)
                ordinal += 1

    def session(self, name: str, scope: str = "") -> Found:
        """A session by its id in a scope, or by an id or a prefix that only one session has. Raises `UsageError` if there is
        none, or several, which names those that are near.
        """
        for guess in (scope, *guesses(name)):
            found = self.session_in(guess, name)
            if found is not None:
                return found
        near = [found for found in self.sessions() if begins(found.session.id, name)] if name else []
        known = (found.session.id for found in self.sessions())
        return near[the_one(name, [(found.scope, found.session.id) for found in near], lambda: known)]

    def session_in(self, scope: str, name: str) -> Found | None:
        """The session of just this id in this scope."""
        rows = self.rows(scope) if scope and self.holds(scope) else None
        row = session_row(rows, name) if rows is not None else None
        return Found(scope, rows, row) if rows is not None and row is not None else None

    async def record(self, scope: str, carrier: str) -> AnyRecord | None:
        """The record of a span or summary, read from the log."""
        offset = self._snapshot(scope).locate(scope, name_key(carrier))
        if offset is None:
            return None
        entries = await self.log.read(EVENTS, partition_of(scope, self.log.identity.partitions), offset, max_entries=1)
        return decode_record(entries[0].value) if entries else None

    async def values(self, scope: str, carriers: Iterable[str]) -> AsyncIterator[tuple[str, bytes]]:
        """The encoded records of spans and summaries with their ids, in log order; several are read at once, so that a distant
        log is not asked for each. One that is not in this view is left out.
        """
        snapshot, partition = self._snapshot(scope), partition_of(scope, self.log.identity.partitions)
        located = ((snapshot.locate(scope, name_key(carrier)), carrier) for carrier in dict.fromkeys(carriers))
        wanted = sorted((offset, carrier) for offset, carrier in located if offset is not None)
        at = 0
        while at < len(wanted):
            entries = await self.log.read(EVENTS, partition, wanted[at][0], max_entries=min(READ_AHEAD, len(wanted) - at))
            if not entries:
                return
            for entry in entries:
                if at < len(wanted) and entry.position.offset == wanted[at][0]:
                    yield wanted[at][1], entry.value
                    at += 1

    def offsets(self) -> dict[int, int]:
        """For each partition the offset of the first record that is not in this view."""
        return {number: snapshot.offset_next for number, snapshot in self._snapshots.items()}

    def digest(self) -> str:
        """One hash over all scopes in order of their ids, the same on any machine and under any partition count (P2)."""
        return digest_of({scope: self._snapshot(scope).scope_digest(scope) for scope in self.scopes()})


def in_order(name: str) -> bytes:
    """The key by which scopes are put in order."""
    return name.encode("utf-8", "surrogatepass")


def digest_of(scopes: dict[str, bytes]) -> str:
    """The digest of a whole ledger from the digests of its scopes."""
    from schemas.ids import digest

    ordered = sorted(scopes, key=in_order)
    return digest("ledger", *(part for scope in ordered for part in (scope, scopes[scope])), size=32).hex()


class Store:
    """A log with its indexes. Made by `open_store` and `scratch_store`."""

    def __init__(self, log: Log, partitions: list[Partition], directory: Path, *, publishes: bool = True) -> None:
        """`publishes` is false where workers fold and publish: this process then folds for itself alone."""
        self.log = log
        self.publishes = publishes
        self.partitions = partitions
        self._directory = directory

    async def fold(self, mode: FoldMode = "wait", progress: Callable[[int, int], None] | None = None) -> int:
        """Fold what the indexes lack. Returns the records still lacking: 0, unless another process folds right now."""
        if mode == "no":
            return await self.gap()
        try:
            with folding(self._directory, wait=False):
                return await self._fold(progress)
        except IndexBusy:
            if mode == "try":
                return await self.gap()
        while True:  # waiting in a thread could not be interrupted
            await asyncio.sleep(LOCK_POLL_SECONDS)
            try:
                with folding(self._directory, wait=False):
                    return await self._fold(progress)
            except IndexBusy:
                if await self._is_done():
                    return 0

    async def _is_done(self) -> bool:
        """Has the process that folds here, which may be a worker that never ends, folded and published everything?"""
        if await self.gap():
            return False
        for partition in self.partitions:
            with partition.index.snapshot() as snapshot:
                if snapshot.outbox(1):
                    return False
        return True

    async def _fold(self, progress: Callable[[int, int], None] | None) -> int:
        for partition in self.partitions:
            await partition.take_over()
            await partition.catch_up(progress)
        return 0

    async def compare(self) -> None:
        """Does the log still end with, or go on behind, what was folded? (P1) Raises `LogDamaged` for one that was cut short,
        replaced, or restored from an older copy.
        """
        for partition in self.partitions:
            await partition.compare_last()

    async def gap(self) -> int:
        """Records that stand in the log and are not folded yet."""
        return sum([await partition.gap() for partition in self.partitions])

    @contextmanager
    def reading(self, gap: int = 0) -> Iterator[Reading]:
        """A consistent view over what was folded."""
        with ExitStack() as stack:
            snapshots = {each.number: stack.enter_context(each.index.snapshot()) for each in self.partitions}
            yield Reading(self.log, snapshots, gap)

    async def close(self) -> None:
        """Release log and indexes."""
        for partition in self.partitions:
            partition.close()
            partition.index.close()
        await self.log.close()


@asynccontextmanager
async def open_store(
    url: str,
    *,
    create: bool = False,
    notice: Notice = lambda _: None,
    scopes: Collection[str] | None = None,
    directory: Path | None = None,
) -> AsyncIterator[Store]:
    """The ledger at this address. A damaged index is rebuilt from the log and reported through `notice` (P7). With
    `scopes` only the partitions are opened, folded and read in which those lie. The indexes stand in `directory` instead of
    where commands keep them.

    Raises as `open_log` does.
    """

    def open_index(directory: Path, log: Log, number: int) -> CarrierIndex:
        return _open_or_rebuild(directory, log, number, notice)

    log = await open_log(url, create=create)
    directory = directory or desk_directory(url, log.identity)
    async with _opened(log, directory, open_index, publish=not is_shared(url), scopes=scopes) as store:
        yield store


@asynccontextmanager
async def open_standing(url: str) -> AsyncIterator[Store]:
    """The ledger as it stands, for audits: its index is neither made nor rebuilt, so that nothing it remembers is lost.

    Raises `IndexDamaged` where the index is damaged or missing, and as `open_log` does.
    """

    def open_index(directory: Path, log: Log, number: int) -> CarrierIndex:
        return CarrierIndex(directory, log.identity, number)

    log = await open_log(url, create=False)
    async with _opened(log, standing_directory(url, log.identity), open_index, publish=not is_shared(url)) as store:
        yield store


@asynccontextmanager
async def _opened(
    log: Log,
    directory: Path,
    open_index: Callable[[Path, Log, int], CarrierIndex],
    *,
    publish: bool,
    scopes: Collection[str] | None = None,
) -> AsyncIterator[Store]:
    partitions: list[Partition] = []
    store = Store(log, partitions, directory, publishes=publish)
    try:
        count = log.identity.partitions
        for number in range(count) if scopes is None else sorted({partition_of(scope, count) for scope in scopes}):
            index = open_index(directory / f"p{number:03}", log, number)
            partitions.append(Partition(log, index, number, publish=publish, learn=True, batch_entries=FOLDED_AT_ONCE))
        yield store
    finally:
        await store.close()


def _open_or_rebuild(directory: Path, log: Log, number: int, notice: Notice) -> CarrierIndex:
    try:
        return CarrierIndex.create(directory, log.identity, number)
    except IndexDamaged:
        pass
    with folding(directory.parent, wait=True):
        try:  # another process may have rebuilt it while this one waited
            return CarrierIndex.create(directory, log.identity, number)
        except IndexDamaged as error:
            notice(f"{error.message}; rebuilding it from the log")
            CarrierIndex.discard(directory)
            return CarrierIndex.create(directory, log.identity, number)


@asynccontextmanager
async def scratch_store(log: Log | None = None, *, publish: bool = True, large: bool = False) -> AsyncIterator[Store]:
    """A ledger in a temporary directory, over a log in memory or over a given log that stays as it is. The log of what is
    `large` lies in that directory too.
    """
    own = log is None
    with tempfile.TemporaryDirectory(prefix="cledger-") as folder:
        base = log if log is not None else await open_log(f"lmdb:{folder}/log", create=True) if large else scratch_log()
        indexes = [
            CarrierIndex.create(Path(folder) / f"p{number:03}", base.identity, number)
            for number in range(base.identity.partitions)
        ]
        batch = FOLDED_AT_ONCE if large else None
        partitions = [
            Partition(base, index, number, publish=publish, batch_entries=batch) for number, index in enumerate(indexes)
        ]
        store = Store(base, partitions, Path(folder))
        try:
            yield store
        finally:
            for partition in partitions:
                partition.close()
                partition.index.close()
            if own:
                await base.close()
