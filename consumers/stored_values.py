"""Values of the index, each with a checksum of its own, long ones in pieces.

LMDB checks the structure of its pages and not what stands in them, so a flipped bit in a row would be read as if it were the
row, and one in a key would hide its value. So where something is not found, what stands on both sides of its place is checked:
a key that went astray is one of them. And a value that has pages of its own kills the reading process where its length is
damaged (`INLINE_BYTES_MAX` in `ledger.storage.layout` says why), so long values are cut into pieces that fit into a page.

The checksum finds accidents, for which 32 bits do. Against intent there is the log, from which the index is rebuilt (P8).
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import lmdb

from ledger.errors import IndexDamaged
from ledger.storage.layout import INLINE_BYTES_MAX

CHECK_BYTES = 4
_WHOLE, _PIECES = b"\0", b"\1"
_PIECE_NUMBER_BYTES = 2


class StoredValues:
    """The values of one part of the store; pieces of long ones lie in another part under `tag`, key and number."""

    def __init__(self, part: lmdb._Database, pieces: lmdb._Database, tag: bytes) -> None:
        self.part = part
        self._pieces = pieces
        self._tag = tag

    def get(self, txn: lmdb.Transaction[Any], key: bytes) -> bytes | None:
        """The value, or None. Raises `IndexDamaged` if it is not what was written."""
        raw = txn.get(key, db=self.part)
        if raw is None:
            self._check_beside(txn, key)
            return None
        return self.read(txn, key, raw)

    def _check_beside(self, txn: lmdb.Transaction[Any], key: bytes) -> None:
        with txn.cursor(db=self.part) as cursor:
            if self.seek(cursor, key):
                self.check(cursor)

    def seek(self, cursor: lmdb.Cursor[Any], key: bytes) -> bool:
        """Go to the first key from this one on, if there is one. Raises `IndexDamaged` if the one before it is damaged: it may
        have stood behind.
        """
        found = cursor.set_range(key)
        if cursor.prev() if found else cursor.last():
            self.check(cursor)
            return found and cursor.next()
        return found and cursor.first()

    def check(self, cursor: lmdb.Cursor[Any]) -> None:
        """Raises `IndexDamaged` unless the cursor stands at a key and a value as they were written; of a long value the pieces
        are not looked at.
        """
        key, raw = bytes(cursor.key()), bytes(cursor.value())
        if raw[:1] == _PIECES:
            self._check_head(key, raw)
        elif raw[:1] != _WHOLE or _check(key, raw[1 + CHECK_BYTES :]) != raw[1 : 1 + CHECK_BYTES]:
            raise IndexDamaged("a value of the index is not what was written")

    def _check_head(self, key: bytes, raw: bytes) -> bytes:
        """What stands behind the checksum of a long value: how many pieces it has."""
        head = raw[:-CHECK_BYTES]
        if len(head) != 1 + CHECK_BYTES + _PIECE_NUMBER_BYTES or _check(key, head) != raw[-CHECK_BYTES:]:
            raise IndexDamaged("the beginning of a long value of the index is not what was written")
        return head[1 + CHECK_BYTES :]

    def read(self, txn: lmdb.Transaction[Any], key: bytes, raw: bytes | memoryview) -> bytes:
        """The value behind what stands under `key`. Raises `IndexDamaged` if it is not what was written."""
        kind, check, rest = bytes(raw[:1]), bytes(raw[1 : 1 + CHECK_BYTES]), bytes(raw[1 + CHECK_BYTES :])
        if kind == _PIECES:
            rest = self._join(txn, key, int.from_bytes(self._check_head(key, bytes(raw)), "big"))
        elif kind != _WHOLE:
            raise IndexDamaged(f"a value of the index has no known form: {kind.hex()}")
        if _check(key, rest) != check:
            raise IndexDamaged("a value of the index is not what was written")
        return rest

    def _join(self, txn: lmdb.Transaction[Any], key: bytes, count: int) -> bytes:
        pieces = []
        for number in range(count):
            piece = txn.get(self._piece_key(key, number), db=self._pieces)
            if piece is None:
                raise IndexDamaged("a value of the index lacks a piece")
            pieces.append(bytes(piece))
        return b"".join(pieces)

    def _piece_key(self, key: bytes, number: int) -> bytes:
        return self._tag + key + number.to_bytes(_PIECE_NUMBER_BYTES, "big")

    def put(self, txn: lmdb.Transaction[Any], key: bytes, value: bytes, *, last: bool = False) -> None:
        """Set a value. A key that stands behind every other is the `last`: LMDB fills pages to the brim then instead of
        splitting them. Raises `IndexDamaged` where it does not.
        """
        before = self._piece_count(txn, key)
        count = 0
        if 1 + CHECK_BYTES + len(key) + len(value) <= INLINE_BYTES_MAX:
            stored = _WHOLE + _check(key, value) + value
        else:
            size = INLINE_BYTES_MAX - len(key) - len(self._tag) - _PIECE_NUMBER_BYTES
            count = -(-len(value) // size)
            for number in range(count):
                piece = value[number * size : (number + 1) * size]
                txn.put(self._piece_key(key, number), piece, db=self._pieces)
            head = _PIECES + _check(key, value) + count.to_bytes(_PIECE_NUMBER_BYTES, "big")
            stored = head + _check(key, head)
        if not txn.put(key, stored, db=self.part, append=last):
            raise IndexDamaged("a value of the index stands where none can be")
        self._drop_pieces(txn, key, count, before)

    def delete(self, txn: lmdb.Transaction[Any], key: bytes) -> None:
        """Remove a value, if it is there."""
        before = self._piece_count(txn, key)
        txn.delete(key, db=self.part)
        self._drop_pieces(txn, key, 0, before)

    def _piece_count(self, txn: lmdb.Transaction[Any], key: bytes) -> int:
        raw = txn.get(key, db=self.part)
        if raw is None or bytes(raw[:1]) != _PIECES:
            return 0
        return int.from_bytes(raw[1 + CHECK_BYTES : 1 + CHECK_BYTES + _PIECE_NUMBER_BYTES], "big")

    def _drop_pieces(self, txn: lmdb.Transaction[Any], key: bytes, start: int, stop: int) -> None:
        for number in range(start, stop):
            txn.delete(self._piece_key(key, number), db=self._pieces)


def _check(key: bytes, value: bytes) -> bytes:
    return crc32(value, crc32(key)).to_bytes(CHECK_BYTES, "big")
