"""The rows of one scope in the index's file, rows about one thing side by side and things in the order of their first mention.

Names and facts have hashes for keys. Kept by hash, each would lie on a page of its own, and a compaction that speaks of two
thousand facts would read, change and sync two thousand pages. So a thing on a shelf gets a seat, the next short number of its
scope, when its first row is written; what is said together, and later leaves the window together, sits together.
A seat is a matter of this file alone: no key that a rule sees, no output and no digest holds it.

What leaves the window changes two or three short rows about each thing, and the others never change again. So the short ones
lie apart from them: a compaction writes a third of the pages then, all of which are in memory until it is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import lmdb
import msgspec

from consumers.stored_values import StoredValues
from ledger.errors import IndexDamaged, LedgerError
from ledger.state import FACT_IN_SESSION, LIFE, ORDINAL_BYTES, SHELVES, SPAN, R, Shelf, Table
from ledger.storage.file import LmdbFile
from schemas.ids import digest

ROWS, PIECES = "rows", "pieces"

ROWS_KEPT, ROW_BYTES_KEPT = 2048, 1 << 17
"""Decoded rows of a scope that are held at once, and their bytes as stored, an eighth of what they take when decoded: more than
the records of a batch share, fewer than a long round touches.
"""

SEATS_KEPT = 1 << 14
"""Seats of a scope that are held at once; each is some hundred bytes."""

SEAT_BYTES = 4
DIGEST_BYTES = 32

LEAVING = frozenset({SPAN.prefix, FACT_IN_SESSION.prefix, LIFE.prefix})
"""Tables whose rows change when what they tell of leaves the window."""

APART = 8
"""Between the mark of a shelf and the mark under which its rows of these tables lie, in the order of the same seats."""

SEAT_OF = b"\xfe"
"""Behind a scope's ordinal: seats by shelf and key; without a key, how many there are."""

ROW_FAULTS = (lmdb.Error, IndexDamaged, msgspec.DecodeError, UnicodeDecodeError)


def _mark(shelf: Shelf, *, leaving: bool) -> bytes:
    return bytes([shelf.mark[0] + APART]) if leaving else shelf.mark


def region(table: Table[Any]) -> bytes:
    """Rows of tables of one region lie among each other, and those of two regions apart."""
    return _mark(table.shelf, leaving=table.prefix in LEAVING) if table.shelf is not None else table.prefix


def rows_of(file: LmdbFile) -> StoredValues:
    """The part that holds rows."""
    return StoredValues(file.database(ROWS), file.database(PIECES), b"r")


class Seats:
    """Where the things of one scope sit, as one transaction sees it."""

    def __init__(self, rows: StoredValues, txn: lmdb.Transaction[Any], scope: bytes) -> None:
        self._rows = rows
        self._txn = txn
        self._scope = scope + SEAT_OF
        self._known: dict[bytes, bytes] = {}

    def find(self, shelf: Shelf, lead: bytes) -> bytes | None:
        """The seat of the thing with this key, or None if nothing was ever written about it."""
        at = shelf.mark + lead
        seat = self._known.get(at)
        if seat is None:
            seat = self._rows.get(self._txn, self._scope + at)
            if seat is not None:
                self._keep(at, seat)
        return seat

    def take(self, shelf: Shelf, lead: bytes) -> bytes:
        """The seat of the thing with this key, the next free one if it has none."""
        seat = self.find(shelf, lead)
        if seat is None:
            count = self._scope + shelf.mark
            seat = self._rows.get(self._txn, count) or bytes(SEAT_BYTES)
            self._rows.put(self._txn, count, (int.from_bytes(seat, "big") + 1).to_bytes(SEAT_BYTES, "big"))
            self._rows.put(self._txn, self._scope + shelf.mark + lead, seat)
            self._keep(shelf.mark + lead, seat)
        return seat

    def all(self, shelf: Shelf, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys and seats of all things on a shelf, by key, from a key on."""
        wanted = self._scope + shelf.mark
        with self._txn.cursor(db=self._rows.part) as cursor:
            more = self._rows.seek(cursor, wanted + (start or b"\0"))
            while more:
                full = bytes(cursor.key())
                if not full.startswith(wanted):
                    self._rows.check(cursor)
                    return
                if len(full) > len(wanted):
                    yield full[len(wanted) :], self._rows.read(self._txn, full, cursor.value())
                more = cursor.next()

    def _keep(self, at: bytes, seat: bytes) -> None:
        if len(self._known) >= SEATS_KEPT:
            self._known.clear()
        self._known[at] = seat


class StoredRows:
    """The rows of one scope as one transaction sees them. As many decoded ones are kept as `ROWS_KEPT` allows."""

    def __init__(self, file: LmdbFile, txn: lmdb.Transaction[Any], ordinal: int) -> None:
        self._file = file
        self._txn = txn
        self._rows = rows_of(file)
        self._scope = ordinal.to_bytes(ORDINAL_BYTES, "big")
        self._seats = Seats(self._rows, txn, self._scope)
        self._cache: dict[bytes, Any] = {}
        self._cached_bytes = 0

    def get(self, table: Table[R], key: bytes) -> R | None:
        """The row, or None. Raises `IndexDamaged`, or `LogUnavailable`."""
        asked = table.prefix + key
        if asked in self._cache:
            cached: R | None = self._cache[asked]
            return cached
        try:
            place = self._place(table, key)
            raw = self._rows.get(self._txn, place) if place is not None else None
            row = table.decode(raw) if raw is not None else None
        except ROW_FAULTS as error:
            raise self._fault(error) from error
        if len(self._cache) >= ROWS_KEPT or self._cached_bytes >= ROW_BYTES_KEPT:
            self._cache.clear()
            self._cached_bytes = 0
        self._cached_bytes += len(raw) if raw is not None else 0
        self._cache[asked] = row
        self._file.touched()
        return row

    def _place(self, table: Table[R], key: bytes) -> bytes | None:
        """Where the row of a key stands, or where those begin whose key begins so; None where there can be none."""
        shelf = table.shelf
        if shelf is None:
            return self._scope + table.prefix + key
        seat = self._seats.find(shelf, key[: shelf.lead])
        return self._begin(table, shelf, seat) + key[shelf.lead :] if seat is not None else None

    def _begin(self, table: Table[R], shelf: Shelf, seat: bytes) -> bytes:
        """Where rows of a table about the thing in this seat begin."""
        return self._scope + _mark(shelf, leaving=table.prefix in LEAVING) + seat + table.prefix

    def place_for(self, table: Table[R], key: bytes) -> bytes:
        """Where to write the row of a key; what it is about gets a seat if it has none."""
        shelf = table.shelf
        if shelf is None:
            return self._scope + table.prefix + key
        self._file.touched()
        return self._begin(table, shelf, self._seats.take(shelf, key[: shelf.lead])) + key[shelf.lead :]

    def walk(self, table: Table[R], group: bytes, start: bytes = b"") -> Iterator[tuple[bytes, R]]:
        """Rows of the group in key order. Raises `IndexDamaged`, or `LogUnavailable`."""
        shelf = table.shelf
        try:
            if shelf is None:
                yield from self._walk(table, b"", self._scope + table.prefix, group, start)
                return
            lead = shelf.lead
            if len(group) >= lead:
                one = self._seats.find(shelf, group[:lead])
                seats = iter([(group[:lead], one)] if one is not None else [])
            else:
                seats = self._seats.all(shelf, max(group, start[:lead]))
            for name, seat in seats:
                if not name.startswith(group[:lead]):
                    return
                begin = self._begin(table, shelf, seat)
                yield from self._walk(table, name, begin, group[lead:], start[lead:] if start[:lead] == name else b"")
        except ROW_FAULTS as error:
            raise self._fault(error) from error

    def _walk(self, table: Table[R], name: bytes, begin: bytes, group: bytes, start: bytes) -> Iterator[tuple[bytes, R]]:
        """Rows that stand behind `begin`, whose keys are `name` and what follows there."""
        wanted = begin + group
        with self._txn.cursor(db=self._rows.part) as cursor:
            step: Callable[[], bool] = partial(self._rows.seek, cursor, begin + max(group, start))
            while step():
                step = cursor.next
                self._file.touched()
                full = bytes(cursor.key())
                if not full.startswith(wanted):
                    self._rows.check(cursor)
                    return
                yield name + full[len(begin) :], table.decode(self._rows.read(self._txn, full, cursor.value()))

    def digest(self, scope: str) -> bytes:
        """A hash over all rows, in whatever order they lie: equal histories have equal digests (P2)."""
        total = RowSum()
        self._add(total, self._scope, self._scope + min(shelf.mark for shelf in SHELVES), b"")
        for shelf in SHELVES:
            for name, seat in self._seats.all(shelf):
                for leaving in (False, True):
                    begin = self._scope + _mark(shelf, leaving=leaving) + seat
                    self._add(total, begin, begin + b"\xff", shelf.mark + name)
        return total.digest(scope)

    def _add(self, total: RowSum, begin: bytes, end: bytes, name: bytes) -> None:
        with self._txn.cursor(db=self._rows.part) as cursor:
            more = cursor.set_range(begin)
            while more and (full := bytes(cursor.key())) < end:
                self._file.touched()
                total.add(name + full[len(begin) :], self._rows.read(self._txn, full, cursor.value()))
                more = cursor.next()

    def _fault(self, error: Exception) -> LedgerError:
        """A fault of the store, told as one, so that nobody takes it for an error of the fold, which is put on record."""
        if isinstance(error, lmdb.Error):
            return self._file.explain(error)
        return IndexDamaged(f"{self._file.directory}: a row cannot be read: {error}", hint=f"To do: {self._file.kind.remedy}.")


class RowSum:
    """A hash over a set of rows that does not depend on their order: the sum of a hash of each."""

    def __init__(self) -> None:
        self._total = 0

    def add(self, key: bytes, row: bytes) -> None:
        """One more row, by its key behind the mark of its shelf or the prefix of its table."""
        self._total += int.from_bytes(digest(key, row, size=DIGEST_BYTES), "big")

    def digest(self, scope: str) -> bytes:
        """The hash of everything added, and of the scope's name."""
        return digest(scope, (self._total % (1 << 8 * DIGEST_BYTES)).to_bytes(DIGEST_BYTES, "big"), size=DIGEST_BYTES)
