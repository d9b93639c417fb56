"""The carrier index of one partition, in LMDB: rows, fact index, seen ids, outbox, next offset and chained hash.

Everything that one batch of the log does is one synced transaction, so the index always stands for a prefix of the log and says
which. It is a cache: damage is noticed at open (P7), and it can be rebuilt from the log at any time.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, NoReturn

import lmdb
import msgspec

from consumers.due import PendingGrant, Timer
from consumers.on_record import HASH_BYTES, OnRecord, Published
from consumers.stored_rows import PIECES, ROWS, StoredRows, region, rows_of
from consumers.stored_values import StoredValues
from ledger.errors import IndexDamaged, IntegrityError
from ledger.evolve.requests import PENDING
from ledger.faults import declare, fault_point
from ledger.fold import carries
from ledger.log import ALERTS, DECISIONS, LogIdentity
from ledger.lookup import session_name
from ledger.state import REQUEST, TIMER, Draft, Rows, Table
from ledger.state import TIMERS as TIMER_GROUP
from ledger.storage.file import Database, FileIdentity, FileKind, LmdbFile, create_file
from schemas.ids import digest

FORMAT = 7
"""Version of the row shapes and places. Another one in a file means: rebuild, for rows are a cache of the log."""

PROGRESS, HASHES, LOCATORS = "progress", "hashes", "locators"
SCOPES, SCOPE_NAMES, OUTBOX, PUBLISHED, REPEATS = "scopes", "scope_names", "outbox", "published", "repeats"
TIMERS, GRANTS = "timers", "grants"
_FOLLOWED, _CONDEMNED = b"followed:", b"condemned"
_OFFSET, _CHAIN, _OUTBOX_NEXT, _DUPLICATES = b"offset_next", b"chain", b"outbox_next", b"duplicates"
_OUTPUTS = {DECISIONS: b"decisions_next", ALERTS: b"alerts_next"}

KIND = FileKind(
    name="index",
    format=FORMAT,
    databases=tuple(
        Database(name)
        for name in (ROWS, PROGRESS, HASHES, LOCATORS, SCOPES, SCOPE_NAMES, OUTBOX, PUBLISHED, REPEATS, PIECES, TIMERS, GRANTS)
    ),
    damaged=IndexDamaged,
    missing=IndexDamaged,
    remedy="delete the index directory, any command rebuilds it from the log",
)

COMMIT_BEFORE = declare("index.commit.before", "a batch is in the transaction, nothing of it is durable")
COMMIT_AFTER = declare("index.commit.after", "a batch is durable with its outbox, nothing of it is published")

_encode_row = msgspec.msgpack.Encoder().encode


class Output(msgspec.Struct, frozen=True, array_like=True):
    """An outbox entry: a decision or alert that the log topics may not hold yet."""

    topic: str
    scope: str
    id: str
    request_id: str
    output_seq: int
    source_offset: int
    value: bytes
    status: str = ""
    """Of a decision that is said again: what had become of its request by then."""


def entry_hash(key: str, value: bytes) -> bytes:
    """What was folded at an offset, for noticing that the log says something else now (P8)."""
    return digest("entry", key, value, size=HASH_BYTES)


def outbox_of(file: LmdbFile) -> StoredValues:
    """The part that holds outputs which are not known to be on record."""
    return StoredValues(file.database(OUTBOX), file.database(PIECES), b"o")


class Batch:
    """A write transaction in the making: one draft for each scope that the batch touches."""

    def __init__(self, index: CarrierIndex, txn: lmdb.Transaction[Any]) -> None:
        self._index = index
        self._txn = txn
        self._db = index.file.database
        self._drafts: dict[str, tuple[bytes, StoredRows, Draft]] = {}
        self.offset_next = _number(txn.get(_OFFSET, db=self._db(PROGRESS)))
        self.chain = bytes(txn.get(_CHAIN, db=self._db(PROGRESS)) or b"\0" * HASH_BYTES)
        self.duplicates = _number(txn.get(_DUPLICATES, db=self._db(PROGRESS)))

    def scope(self, scope: str) -> Draft:
        """The draft of a scope; a scope seen for the first time takes the next short ordinal of this index."""
        known = self._drafts.get(scope)
        if known is None:
            ordinal = self._index._ordinal(self._txn, scope, create=True)
            rows = StoredRows(self._index.file, self._txn, ordinal)
            known = self._drafts[scope] = ordinal.to_bytes(4, "big"), rows, Draft(rows)
        return known[2]

    def advance(self, key: str, value: bytes) -> None:
        """One more entry is folded: remember its hash and move the position."""
        mark = entry_hash(key, value)
        self._txn.put(self.offset_next.to_bytes(8, "big"), mark, db=self._db(HASHES), append=True)
        self.chain = digest("chain", self.chain, self.offset_next.to_bytes(8, "big"), mark, size=HASH_BYTES)
        self.offset_next += 1

    def hash_at(self, offset: int) -> bytes | None:
        """The hash of what was folded at an offset."""
        raw = self._txn.get(offset.to_bytes(8, "big"), db=self._db(HASHES))
        return bytes(raw) if raw is not None else None

    def locate(self, scope: str, key: bytes, offset: int) -> None:
        """Remember where the record of a span or summary stands, for reading quotes."""
        ordinal = self._index._ordinal(self._txn, scope, create=True)
        self._txn.put(ordinal.to_bytes(4, "big") + key, offset.to_bytes(8, "big"), db=self._db(LOCATORS))

    def emit(self, output: Output, *, repeat: bool = False) -> int | None:
        """Put an output into the outbox unless the log topics hold it already. Its number there, or None.

        Each output is published once, and once more for each repeated request: what was sent twice for one answers no later
        one. Raises `IntegrityError` if other bytes are on record under its id.
        """
        id_key = bytes.fromhex(output.id)
        self._index.file.touched()
        repeats = _number(self._txn.get(id_key, db=self._db(REPEATS)))
        if repeat:
            repeats += 1
            self._txn.put(id_key, repeats.to_bytes(8, "big"), db=self._db(REPEATS))
        raw = self._txn.get(id_key, db=self._db(PUBLISHED))
        if raw is not None:
            on_record = OnRecord.of(bytes(raw))
            if on_record.mark != digest(output.value, size=HASH_BYTES):
                raise IntegrityError(
                    f"{output.topic}: {output.id} is on record with other bytes than the fold of the events gives",
                    hint="Somebody edited the log, or two releases with one rules version differ. Run: cledger replay --verify",
                )
            if on_record.answered >= 1 + repeats:
                return None
        number = _number(self._txn.get(_OUTBOX_NEXT, db=self._db(PROGRESS)))
        outbox_of(self._index.file).put(self._txn, number.to_bytes(8, "big"), _encode_row(output), last=True)
        self._txn.put(_OUTBOX_NEXT, (number + 1).to_bytes(8, "big"), db=self._db(PROGRESS))
        return number

    def follow(self, version: str) -> None:
        """Outputs of a rules version that this build does not carry were taken from the record. A build that carries it must
        not go on from here, for it may owe some.
        """
        self._txn.put(_FOLLOWED + version.encode(), b"", db=self._db(PROGRESS))

    def note_published(self, outputs: list[Published], done: list[int]) -> None:
        """See `CarrierIndex.note_published`; durable with this batch."""
        _note_published(self._txn, self._index.file, outputs, done)

    def finish(self) -> None:
        """Write every changed row and the position. The transaction commits when its block ends.

        The drafts are used up: what is written stays in memory until the commit, and what it was made from need not.
        """
        for scope, stored, draft in self._drafts.values():
            tables = sorted(draft.tables(), key=region)
            for _, together in groupby(tables, key=region):
                self._write(scope, stored, draft, together)
        self._drafts.clear()
        progress = self._db(PROGRESS)
        self._txn.put(_OFFSET, self.offset_next.to_bytes(8, "big"), db=progress)
        self._txn.put(_CHAIN, self.chain, db=progress)
        self._txn.put(_DUPLICATES, self.duplicates.to_bytes(8, "big"), db=progress)

    def _write(self, scope: bytes, stored: StoredRows, draft: Draft, tables: Iterable[Table[Any]]) -> None:
        """Write the changed rows of tables that lie among each other, in the order in which they lie."""
        rows = rows_of(self._index.file)
        changes: list[tuple[bytes, bytes | None]] = []
        for table in tables:
            for key, row in draft.drain(table):
                changes.append((stored.place_for(table, key), _encode_row(row) if row is not None else None))
                if table is TIMER:
                    self._set(TIMERS, key[len(TIMER_GROUP) : len(TIMER_GROUP) + 8] + scope, b"" if row is not None else None)
                elif table is REQUEST:
                    waits = (row.session, row.request) if row is not None and row.status == PENDING else None
                    self._set(GRANTS, scope + key, msgspec.msgpack.encode(waits) if waits else None)
        changes.sort(key=_place, reverse=True)
        while changes:
            full, value = changes.pop()
            self._index.file.touched()
            if value is None:
                rows.delete(self._txn, full)
            else:
                rows.put(self._txn, full, value)

    def _set(self, part: str, key: bytes, value: bytes | None) -> None:
        """Put or take out what stands across scopes, so that the owner finds it without going through all of them."""
        if value is None:
            self._txn.delete(key, db=self._db(part))
        else:
            self._txn.put(key, value, db=self._db(part))


class Snapshot:
    """What one committed prefix of the partition says. Valid inside `CarrierIndex.snapshot`."""

    def __init__(self, index: CarrierIndex, txn: lmdb.Transaction[Any]) -> None:
        self._index = index
        self._txn = txn
        self._db = index.file.database
        self.offset_next = _number(txn.get(_OFFSET, db=self._db(PROGRESS)))
        self.chain = bytes(txn.get(_CHAIN, db=self._db(PROGRESS)) or b"\0" * HASH_BYTES)
        self.duplicates = _number(txn.get(_DUPLICATES, db=self._db(PROGRESS)))

    def scope(self, scope: str) -> Rows | None:
        """The rows of a scope, or None if this partition never saw it."""
        ordinal = self._index._ordinal(self._txn, scope, create=False)
        return StoredRows(self._index.file, self._txn, ordinal) if ordinal else None

    def scopes(self) -> list[str]:
        """Ids of all scopes of the partition, in order of their bytes."""
        with self._txn.cursor(db=self._db(SCOPE_NAMES)) as cursor:
            names = [bytes(value).decode("utf-8", "surrogatepass") for _, value in cursor]
        return sorted(names, key=lambda name: name.encode("utf-8", "surrogatepass"))

    def scopes_after(self, ordinal: int, limit: int) -> list[tuple[int, str]]:
        """The next scopes behind an ordinal, with theirs: ordinals rise in the order in which this index first saw them."""
        found: list[tuple[int, str]] = []
        with self._txn.cursor(db=self._db(SCOPE_NAMES)) as cursor:
            more = cursor.set_range((ordinal + 1).to_bytes(4, "big"))
            while more and len(found) < limit:
                found.append((_number(cursor.key()), bytes(cursor.value()).decode("utf-8", "surrogatepass")))
                more = cursor.next()
        return found

    def locate(self, scope: str, key: bytes) -> int | None:
        """The offset of the record of a span or summary."""
        self._index.file.touched()
        ordinal = self._index._ordinal(self._txn, scope, create=False)
        raw = self._txn.get(ordinal.to_bytes(4, "big") + key, db=self._db(LOCATORS))
        return _number(raw) if raw is not None else None

    def hash_at(self, offset: int) -> bytes | None:
        """The hash of what was folded at an offset."""
        raw = self._txn.get(offset.to_bytes(8, "big"), db=self._db(HASHES))
        return bytes(raw) if raw is not None else None

    def scope_digest(self, scope: str) -> bytes:
        """A hash over all rows of a scope; rows hold no position, so equal histories have equal digests (P2)."""
        return StoredRows(self._index.file, self._txn, self._index._ordinal(self._txn, scope, create=False)).digest(scope)

    def outbox(self, limit: int, max_bytes: int = 1 << 62) -> list[tuple[int, Output]]:
        """The oldest outputs that are not known to be on record, with their outbox numbers: up to `limit` of them, ending with
        the one whose value reaches `max_bytes`.
        """
        decode = msgspec.msgpack.Decoder(Output).decode
        found: list[tuple[int, Output]] = []
        outbox = outbox_of(self._index.file)
        with self._txn.cursor(db=outbox.part) as cursor:
            for key, value in cursor:
                output = decode(outbox.read(self._txn, bytes(key), value))
                self._index.file.touched()
                found.append((_number(key), output))
                max_bytes -= len(output.value)
                if len(found) >= limit or max_bytes <= 0:
                    break
        return found

    def timers(self, until_ms: int, limit: int = 1000) -> list[Timer]:
        """What is due by a time, earliest first."""
        found: list[Timer] = []
        with self._txn.cursor(db=self._db(TIMERS)) as cursor:
            for key, _ in cursor:
                due_ms = _number(bytes(key[:8]))
                if due_ms > until_ms or len(found) >= limit:
                    break
                rows = StoredRows(self._index.file, self._txn, _number(bytes(key[8:12])))
                found.append(Timer(self._scope_name(bytes(key[8:12])), session_name(rows, 1), due_ms))
        return found

    def grants(self, limit: int = 10_000) -> list[PendingGrant]:
        """Grants that are pending, in no particular but always the same order."""
        found: list[PendingGrant] = []
        with self._txn.cursor(db=self._db(GRANTS)) as cursor:
            for key, value in cursor:
                if len(found) >= limit:
                    break
                session, request = msgspec.msgpack.decode(value, type=tuple[str, str])
                found.append(PendingGrant(self._scope_name(bytes(key[:4])), session, request))
        return found

    def _scope_name(self, ordinal: bytes) -> str:
        return bytes(self._txn.get(ordinal, db=self._db(SCOPE_NAMES)) or b"").decode("utf-8", "surrogatepass")

    def outputs_next(self, topic: str) -> int:
        """How far the output topic was read."""
        return _number(self._txn.get(_OUTPUTS[topic], db=self._db(PROGRESS)))


class IndexCondemned(IndexDamaged):
    """What was folded turned out to be wrong, and what was copied from it may be as well: only the log gives it anew."""


class CarrierIndex:
    """The index of one partition of one log. Transactions begin and end in one thread."""

    def __init__(self, directory: Path, log: LogIdentity, partition: int) -> None:
        """Open the index. Raises `IndexDamaged` if it is damaged, of another log, or of another format."""
        self.directory = directory
        self.file = LmdbFile(directory, KIND)
        found = self.file.identity
        if (found.log_id, found.partitions, found.partition) != (log.log_id, log.partitions, partition):
            self.file.close()
            raise IndexDamaged(f"{directory}: the index belongs to another log", hint=f"To do: {KIND.remedy}.")
        owed = [version for version in self._followed() if carries(version)]
        if owed:
            self.file.close()
            raise IndexDamaged(
                f"{directory}: a release that does not carry rules version {owed[0]!r} took what was on record of it",
                hint=f"What was due then is known by folding alone. To do: {KIND.remedy}.",
            )
        with self.file.read() as txn:
            condemned = txn.get(_CONDEMNED, db=self.file.database(PROGRESS))
            why = bytes(condemned).decode("utf-8", "replace") if condemned is not None else ""
        if why:
            self.file.close()
            raise IndexCondemned(f"{directory}: {why}", hint=f"To do: {KIND.remedy}.")
        self._ordinals: dict[str, int] = {}

    def condemn(self, why: str) -> NoReturn:
        """Raises `IndexCondemned`, as whoever opens the index from now on does."""
        with self.file.write() as txn:
            txn.put(_CONDEMNED, why.encode(), db=self.file.database(PROGRESS))
        raise IndexCondemned(f"{self.directory}: {why}", hint=f"To do: {KIND.remedy}.")

    def _followed(self) -> list[str]:
        """Rules versions of which a build that does not carry them took outputs from the record."""
        with self.file.read() as txn, txn.cursor(db=self.file.database(PROGRESS)) as cursor:
            found, more = [], cursor.set_range(_FOLLOWED)
            while more and bytes(cursor.key()).startswith(_FOLLOWED):
                found.append(bytes(cursor.key())[len(_FOLLOWED) :].decode())
                more = cursor.next()
            return found

    @classmethod
    def create(cls, directory: Path, log: LogIdentity, partition: int) -> CarrierIndex:
        """Make an empty index, or open the one that is there."""
        identity = FileIdentity(
            kind=KIND.name, format=FORMAT, log_id=log.log_id, partitions=log.partitions, partition=partition
        )
        create_file(directory, KIND, identity)
        return cls(directory, log, partition)

    @staticmethod
    def discard(directory: Path) -> None:
        """Remove an index, so that the next fold builds it anew."""
        doomed = directory.with_name(f".{directory.name}.discarded-{os.getpid()}")
        try:
            directory.rename(doomed)
        except FileNotFoundError:
            return
        shutil.rmtree(doomed, ignore_errors=True)

    def _ordinal(self, txn: lmdb.Transaction[Any], scope: str, *, create: bool) -> int:
        """The scope's short number in this index, from 1; 0 if it has none. Never part of any digest or output."""
        known = self._ordinals.get(scope)
        if known is not None:
            return known
        names, scopes = self.file.database(SCOPE_NAMES), self.file.database(SCOPES)
        name = digest(scope, size=HASH_BYTES)
        raw = txn.get(name, db=scopes)
        if raw is not None:
            return _number(raw)
        if not create:
            return 0
        with txn.cursor(db=names) as cursor:
            ordinal = _number(cursor.key()) + 1 if cursor.last() else 1
        txn.put(name, ordinal.to_bytes(4, "big"), db=scopes)
        txn.put(ordinal.to_bytes(4, "big"), scope.encode("utf-8", "surrogatepass"), db=names)
        return ordinal

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        """One write transaction: everything in the block becomes durable together, or nothing does."""
        with self.file.write() as txn:
            batch = Batch(self, txn)
            yield batch
            batch.finish()
            fault_point(COMMIT_BEFORE)
        fault_point(COMMIT_AFTER)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """A consistent view; keep it short, for it holds back page reuse."""
        with self.file.read() as txn:
            yield Snapshot(self, txn)

    def note_published(self, outputs: list[Published], done: list[int]) -> None:
        """Outputs stand in the log topics; outbox entries `done` are finished."""
        with self.file.write() as txn:
            _note_published(txn, self.file, outputs, done)

    def drop_published(self) -> None:
        """Take out of the outbox what the log topics turned out to hold already."""
        outbox, decode = outbox_of(self.file), msgspec.msgpack.Decoder(Output).decode
        with self.file.write() as txn:
            finished = []
            with txn.cursor(db=outbox.part) as cursor:
                for key, value in cursor:
                    output = decode(outbox.read(txn, bytes(key), value))
                    id_key = bytes.fromhex(output.id)
                    raw = txn.get(id_key, db=self.file.database(PUBLISHED))
                    if raw is None:
                        continue
                    on_record = OnRecord.of(bytes(raw))
                    repeats = _number(txn.get(id_key, db=self.file.database(REPEATS)))
                    if on_record.answered >= 1 + repeats:
                        finished.append(bytes(key))
            for name in finished:
                outbox.delete(txn, name)

    def knows_output(self, id_: str) -> bool:
        """Was this output seen in the log topics?"""
        with self.file.read() as txn:
            return txn.get(bytes.fromhex(id_), db=self.file.database(PUBLISHED)) is not None

    def close(self) -> None:
        """Release the file."""
        self.file.close()


def _note_published(txn: lmdb.Transaction[Any], file: LmdbFile, outputs: list[Published], done: list[int]) -> None:
    for output in outputs:
        _note_on_record(txn, file, output)
        file.touched()
    outbox = outbox_of(file)
    for number in done:
        outbox.delete(txn, number.to_bytes(8, "big"))
        file.touched()


def _note_on_record(txn: lmdb.Transaction[Any], file: LmdbFile, output: Published) -> None:
    """Take in one copy of an output, unless this offset was taken in before."""
    progress, published = file.database(PROGRESS), file.database(PUBLISHED)
    expected = _number(txn.get(_OUTPUTS[output.topic], db=progress))
    if output.offset != expected:
        return
    txn.put(_OUTPUTS[output.topic], (output.offset + 1).to_bytes(8, "big"), db=progress)
    id_key, mark = bytes.fromhex(output.id), digest(output.value, size=HASH_BYTES)
    raw = txn.get(id_key, db=published)
    known = OnRecord.of(bytes(raw)) if raw is not None else OnRecord(mark, 0, ())
    if known.mark != mark:
        raise IntegrityError(
            f"{output.topic}@{output.offset}: {output.id} is on record twice with different bytes",
            hint="Run: cledger replay --verify",
        )
    after = known.with_copy(output.source_offset)
    if after is not known:
        txn.put(id_key, after.stored(), db=published)


def _place(change: tuple[bytes, bytes | None]) -> bytes:
    return change[0]


def read_progress(txn: lmdb.Transaction[Any], progress: lmdb._Database) -> tuple[int, bytes]:
    """Next offset and chained hash, from the part that holds the position."""
    return _number(txn.get(_OFFSET, db=progress)), bytes(txn.get(_CHAIN, db=progress) or b"\0" * HASH_BYTES)


def _number(raw: bytes | memoryview | None) -> int:
    return int.from_bytes(raw, "big") if raw is not None else 0
