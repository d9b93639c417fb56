"""The embedded log: `lmdb:DIR`, no broker, one machine, any number of processes that append and read.

Life of a record:

1. `append` checks the entries (L11), encodes them and hands them to the writer thread of this process. A kill here loses them;
   nobody was told otherwise.
2. The writer thread takes all appends that wait, begins one LMDB write transaction (waiting for writers of other processes),
   gives each entry the next offset of its partition, and links it to its predecessor by a hash. A kill here leaves no trace:
   the transaction is private until it commits.
3. Commit: LMDB writes the new pages beside the old ones, syncs them, then writes and syncs one meta page. A kill, or a power
   loss on a disk that honours a sync, leaves either the state before or the state after, never a mixture. An append killed
   between commit and acknowledgement stands in the log although its caller was not told; repeating it appends it again, and
   the fold recognises the duplicate by its event id (P3).
4. The entries are readable by every process from this moment on, and `append` returns their positions.

How entries are stored is in `ledger.storage.partitions`; how the store is opened and checked, in `ledger.storage.file`.

Limits: a value of 1 MiB, 64 headers. Not for network file systems. Durability is that of the disk below.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar

from ledger.errors import LogClosed, LogDamaged, LogUnavailable, UsageError
from ledger.faults import declare, fault_point
from ledger.log import Entry, LogIdentity, NewEntry, check_entries, check_offset, check_place, partition_of
from ledger.storage.file import FileIdentity, LmdbFile, create_file
from ledger.storage.partitions import KIND, Flaw, Flawed, Heads, Partitions, encode_body
from schemas.ids import Position

P = ParamSpec("P")
T = TypeVar("T")

GROUP_ENTRIES_MAX = 10_000
GROUP_BYTES_MAX = 32 << 20
"""How much of what waits goes into one transaction. More makes waiting callers wait longer for no better rate."""

READ_ENTRIES = 1000
"""Entries a read while verifying: a read transaction of some milliseconds."""

READER_THREADS = 2
"""Reads are short; a second thread keeps a query from waiting behind a follower's batch."""

QUEUED = declare("log.append.queued", "the writer thread has taken the entries, no transaction has begun")
BEFORE_COMMIT = declare("log.append.before_commit", "all entries are in the transaction, nothing is durable")
AFTER_COMMIT = declare("log.append.after_commit", "the entries are durable, nobody was told")
ACKNOWLEDGED = declare("log.append.acknowledged", "the result was handed to the caller, which has not run yet")


class DamagedEntry(LogDamaged):
    """An entry is not what was written; `flaw` says where and in what way."""

    def __init__(self, directory: Path, flaw: Flaw) -> None:
        super().__init__(f"{directory}: {flaw.position}: {flaw.reason}", hint=f"To do: {KIND.remedy}.")
        self.flaw = flaw


class _Call:
    """One `append` that waits: its topic, its entries as (partition, stored bytes without hash), and where to answer."""

    def __init__(self, topic: str, entries: list[tuple[int, bytes]]) -> None:
        self.topic, self.entries = topic, entries
        self.bytes = sum(len(body) for _, body in entries)
        self.done: Future[list[Position]] = Future()


class LmdbLog:
    """The log port over LMDB, promises L1 to L12. Made by `create`, `open` or `open_or_create`."""

    def __init__(self, file: LmdbFile) -> None:
        """Take over an open store of kind `log`."""
        self._file = file
        self._partitions = Partitions(file)
        self._identity = LogIdentity(file.identity.log_id, file.identity.partitions)
        self._writer = ThreadPoolExecutor(1, "log-writer")
        self._readers = ThreadPoolExecutor(READER_THREADS, "log-reader")
        self._mutex = threading.Lock()
        self._waiting: deque[_Call] = deque()
        self._draining = False
        self._closed = False

    @staticmethod
    def create(directory: Path | str, partitions: int = 1) -> LmdbLog:
        """Make a log under `directory` and open it. Raises `UsageError` if there is one, `LogUnavailable`."""
        if not LmdbLog._make(Path(directory), partitions):
            raise UsageError(f"{directory}: there is a log already")
        return LmdbLog.open(directory)

    @staticmethod
    def open(directory: Path | str, create: bool = False) -> LmdbLog:
        """Open the log under `directory`. Raises `LogMissing` (unless `create`), `LogDamaged`, `LogUnavailable`."""
        if create:
            return LmdbLog.open_or_create(directory)
        return LmdbLog(LmdbFile(Path(directory) / "log", KIND))

    @staticmethod
    def open_or_create(directory: Path | str, partitions: int = 1) -> LmdbLog:
        """Open the log, or make it. A log that exists keeps its partition count. Raises `LogDamaged`, `LogUnavailable`."""
        LmdbLog._make(Path(directory), partitions)
        return LmdbLog.open(directory)

    @staticmethod
    def _make(directory: Path, partitions: int) -> bool:
        if not 1 <= partitions < 1 << 31:
            raise UsageError(f"a log has at least 1 partition, not {partitions}")
        identity = FileIdentity(kind=KIND.name, format=KIND.format, log_id=uuid.uuid4().hex, partitions=partitions)
        return create_file(directory / "log", KIND, identity)

    @property
    def identity(self) -> LogIdentity:
        """Which log this is."""
        return self._identity

    @property
    def file(self) -> LmdbFile:
        """The store below, for checks and copies of the whole file."""
        return self._file

    async def append(self, topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        """Append and wait until durable, see `ledger.log.Log`. A caller cancelled while it waits does not know the outcome."""
        self._refuse_if_closed()
        check_entries(topic, entries)
        if not entries:
            return []
        call = _Call(topic, [(partition_of(entry.key, self._identity.partitions), encode_body(entry)) for entry in entries])
        with self._mutex:
            self._refuse_if_closed()
            self._waiting.append(call)
            if not self._draining:
                self._draining = True
                self._writer.submit(self._drain)
        return await asyncio.wrap_future(call.done)

    async def read(
        self, topic: str, partition: int, offset: int, *, max_entries: int = 1000, max_bytes: int = 8 << 20
    ) -> list[Entry]:
        """Entries from `offset` on, each checked against its hash, see `ledger.log.Log`. `max_bytes` counts values."""
        check_place(topic, partition, self._identity.partitions)
        check_offset(topic, partition, offset)
        return await self._in_reader(self._read, topic, partition, offset, max_entries, max_bytes)

    async def end(self, topic: str, partition: int) -> int:
        """The offset that the next entry of the partition will take, see `ledger.log.Log`."""
        check_place(topic, partition, self._identity.partitions)
        return await self._in_reader(self._end, topic, partition)

    async def verify(self, topic: str, partition: int, start: int = 0) -> Flaw | None:
        """Check every entry from `start` to the end as of now; the first flaw, or None. Reads in short transactions."""
        check_place(topic, partition, self._identity.partitions)
        check_offset(topic, partition, start)
        step = READ_ENTRIES
        try:
            end = await self.end(topic, partition)
        except LogDamaged as error:
            return _flaw_of(error, Position(topic, partition, start))
        while start < end:
            try:
                start += len(await self.read(topic, partition, start, max_entries=step))
            except LogDamaged as error:
                if step == 1:
                    return _flaw_of(error, Position(topic, partition, start))
                step = 1  # the store itself is damaged somewhere in this batch: find out at which entry
        return None

    async def close(self) -> None:
        """Wait for the appends under way, then release everything; calling it twice is harmless (L12)."""
        with self._mutex:
            self._closed = True
        if self._file.usable_here:
            await asyncio.to_thread(self._shut_down)
        self._file.close()

    def _shut_down(self) -> None:
        self._writer.shutdown(wait=True)
        self._readers.shutdown(wait=True)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise LogClosed(f"{self._file.directory}: the log was closed")
        self._file.refuse_foreign_process()

    async def _in_reader(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._refuse_if_closed()
        try:
            future = self._readers.submit(work, *args, **kwargs)
        except RuntimeError as error:
            self._refuse_if_closed()
            raise LogUnavailable(
                f"{self._file.directory}: {error}",
                hint="The system refuses memory or threads: raise the limit (ulimit -v, ulimit -u) and repeat it.",
            ) from None
        return await asyncio.wrap_future(future)

    # In the writer thread.

    def _drain(self) -> None:
        """Commit what waits, group by group, until nothing does."""
        while group := self._take_group():
            try:
                fault_point(QUEUED)
                results = self._commit(group)
                fault_point(AFTER_COMMIT)
            except BaseException as error:  # noqa: BLE001  whatever it was, each caller must learn of it
                for call in group:
                    call.done.set_exception(_as_unavailable(error))
                continue
            for call, positions in zip(group, results, strict=True):
                call.done.set_result(positions)
            fault_point(ACKNOWLEDGED)

    def _take_group(self) -> list[_Call]:
        """The calls for the next transaction, oldest first; never part of a call. Calls cancelled by now are left out."""
        group: list[_Call] = []
        entries = size = 0
        with self._mutex:
            while self._waiting and (not group or (entries < GROUP_ENTRIES_MAX and size < GROUP_BYTES_MAX)):
                call = self._waiting.popleft()
                if call.done.set_running_or_notify_cancel():
                    group.append(call)
                    entries, size = entries + len(call.entries), size + call.bytes
            self._draining = bool(group)
        return group

    def _commit(self, group: list[_Call]) -> list[list[Position]]:
        heads: Heads = {}
        with self._flaws_told(), self._file.write() as txn:
            results = [[self._partitions.put(txn, heads, call.topic, *entry) for entry in call.entries] for call in group]
            self._partitions.put_heads(txn, heads)
            fault_point(BEFORE_COMMIT)
        return results

    # In a reader thread.

    def _end(self, topic: str, partition: int) -> int:
        with self._flaws_told(), self._file.views() as txn:
            return self._partitions.head(txn, topic, partition)[0]

    def _read(self, topic: str, partition: int, offset: int, max_entries: int, max_bytes: int) -> list[Entry]:
        found: list[Entry] = []
        with self._flaws_told(), self._file.views() as txn:
            for entry in self._partitions.scan(txn, topic, partition, offset):
                found.append(entry)
                max_bytes -= len(entry.value)
                if len(found) >= max_entries or max_bytes <= 0:
                    break
        return found

    @contextmanager
    def _flaws_told(self) -> Iterator[None]:
        try:
            yield
        except Flawed as error:
            raise DamagedEntry(self._file.directory, error.flaw) from None


def _flaw_of(error: LogDamaged, position: Position) -> Flaw:
    """The flaw that an error tells of; damage of the store itself has no position of its own and gets the given one."""
    return error.flaw if isinstance(error, DamagedEntry) else Flaw(position, error.message)


def _as_unavailable(error: BaseException) -> Exception:
    """The error for a caller whose append failed: ours as it is, the system's translated, a bug as it is."""
    if isinstance(error, OSError):
        return LogUnavailable(f"the log cannot be written: {error}", hint="Nothing of this append is acknowledged.")
    if isinstance(error, Exception):
        return error
    return LogUnavailable(f"the log's writer was stopped: {error!r}")
