"""Transcripts into the log: idempotent, in bounded batches, and the rest goes on where one file cannot be read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator

import msgspec

from ledger.fold import identity_mark, is_on_record, is_span_on_record
from ledger.log import ALERTS, EVENTS, NewEntry
from ledger.state import Rows
from ops.store import Store
from schemas.codec import encode
from schemas.ids import digest
from schemas.records import AnyRecord, CompactionObserved, SessionOpened, SpanRecorded

BATCH_ENTRIES = 250
BATCH_BYTES = 512 << 10
"""An append is one synced transaction; its entries are in memory at once, as records, as bytes and as pages."""

APPENDED_BYTES = 12
"""Bytes that are kept of each record appended and not folded yet."""

APPENDED_MAX = 1 << 12
"""Records appended before they are folded, so that no more of them have to be kept in mind, however large a file is."""


class FileAnswer(msgspec.Struct, kw_only=True):
    """What one file held and what of it was new."""

    path: str
    sessions: list[str] = []
    rounds: int = 0
    records: int = 0
    added: int = 0
    duplicates: int = 0


class IngestAnswer(msgspec.Struct, kw_only=True):
    """Totals of one ingest; a second one over the same files adds nothing."""

    files: int = 0
    skipped: int = 0
    sessions: int = 0
    records: int = 0
    added: int = 0
    duplicates: int = 0
    rounds: int = 0
    alerts: int | None = 0


class Ingest:
    """Appends what is not on record yet. Files are taken in the order given; each scope's records keep their order."""

    def __init__(self, store: Store, append: Callable[[list[NewEntry]], Awaitable[None]] | None = None) -> None:
        """`append` stands in for the log's own: on a fleet's log a backfill waits for the workers."""
        self._store = store
        self._append = append or self._append_at_once
        self._appended: set[bytes] = set()
        self._new_scopes: set[str] = set()
        self.sessions: dict[str, None] = {}
        self._rounds: set[str] = set()
        self.total = IngestAnswer()

    async def file(self, path: str, records: Iterable[AnyRecord]) -> FileAnswer:
        """Append the new records of one file. What was appended stays appended if a later record fails."""
        answer = self.begin(path)
        for batch in _batches(records):
            await self.take(answer, batch)
        return answer

    def begin(self, path: str) -> FileAnswer:
        """One more file is read."""
        self.total.files += 1
        return FileAnswer(path=path)

    async def take(self, answer: FileAnswer, batch: list[AnyRecord]) -> int:
        """Append what is new of a batch, and count it. Returns how many records were new."""
        fresh = self._fresh(self._count(answer, batch))
        if fresh:
            await self._append([NewEntry(record.scope, encode(record)) for record in fresh])
            if len(self._appended) >= APPENDED_MAX:
                await self._fold(None)
        answer.added += len(fresh)
        answer.duplicates += len(batch) - len(fresh)
        self.total.records += len(batch)
        self.total.added += len(fresh)
        self.total.duplicates += len(batch) - len(fresh)
        self.total.rounds = len(self._rounds)
        self.total.sessions = len(self.sessions)
        return len(fresh)

    async def _append_at_once(self, entries: list[NewEntry]) -> None:
        await self._store.log.append(EVENTS, entries)

    def _count(self, answer: FileAnswer, batch: list[AnyRecord]) -> Iterator[AnyRecord]:
        for record in batch:
            answer.records += 1
            if isinstance(record, SessionOpened) and record.session not in answer.sessions:
                answer.sessions.append(record.session)
                self.sessions[record.session] = None
            if isinstance(record, CompactionObserved):
                answer.rounds += 1
                self._rounds.add(record.id)
            yield record

    def knows_span(self, scope: str, span: str, role: str, text: str) -> bool:
        """Is this span in the log as folded so far? Then nothing of it has to be measured again.

        A scope that was not folded when it was first asked about is asked about once: the answer *no* costs a measurement only.
        """
        if scope in self._new_scopes:
            return False
        with self._store.reading() as reading:
            rows = reading.rows(scope)
            if rows is None:
                self._new_scopes.add(scope)
            return rows is not None and is_span_on_record(rows, span, role, text)

    def _fresh(self, records: Iterable[AnyRecord]) -> list[AnyRecord]:
        """Records that are neither in the log as folded so far nor appended by this run."""
        fresh = []
        scopes: dict[str, Rows | None] = {}
        with self._store.reading() as reading:
            for record in records:
                mark = digest(record.id, identity_mark(record), size=APPENDED_BYTES)
                if record.scope not in scopes:
                    scopes[record.scope] = reading.rows(record.scope)
                rows = scopes[record.scope]
                if mark in self._appended or (rows is not None and is_on_record(rows, record)):
                    continue
                self._appended.add(mark)
                fresh.append(record)
        return fresh

    async def fold(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Fold what was appended. Returns how many alerts that put on record, 0 where workers publish them later."""
        raised = await self._fold(progress)
        self._new_scopes.clear()
        return raised

    async def _fold(self, progress: Callable[[int, int], None] | None) -> int:
        """What was appended is folded: from now on the index knows it."""
        before = await _end(self._store, ALERTS) if self._store.publishes else 0
        await self._store.fold("wait", progress)
        self._appended.clear()
        if not self._store.publishes:
            self.total.alerts = None
            return 0
        raised = await _end(self._store, ALERTS) - before
        self.total.alerts = (self.total.alerts or 0) + raised
        return raised


async def _end(store: Store, topic: str) -> int:
    return sum([await store.log.end(topic, partition) for partition in range(store.log.identity.partitions)])


def _batches(records: Iterable[AnyRecord]) -> Iterator[list[AnyRecord]]:
    batch: list[AnyRecord] = []
    size = 0
    for record in records:
        batch.append(record)
        size += len(record.text.text) if isinstance(record, SpanRecorded) else 1000
        if len(batch) >= BATCH_ENTRIES or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
