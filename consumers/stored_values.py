"""Values of the index, each with a checksum of its own, long ones in pieces.

LMDB checks the structure of its pages and not what stands in them, so a flipped bit in a row would be read as if it were the
row. And a value that has pages of its own kills the reading process where its length is damaged (`INLINE_BYTES_MAX` in
`ledger.storage.layout` says why), so long values are cut into pieces that fit into a page.

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
_PIECES_MAX = (1 << 8 * _PIECE_NUMBER_BYTES) - 1


class StoredValues:
    """The values of one part of the store; pieces of long ones lie in another part under `tag`, key and number."""

    def __init__(self, part: lmdb._Database, pieces: lmdb._Database, tag: bytes) -> None:
        self.part = part
        self._pieces = pieces
        self._tag = tag

    def get(self, txn: lmdb.Transaction[Any], key: bytes) -> bytes | None:
        """The value, or None. Raises `IndexDamaged` if it is not what was written."""
        raw = txn.get(key, db=self.part)
        return self.read(txn, key, raw) if raw is not None else None

    def read(self, txn: lmdb.Transaction[Any], key: bytes, raw: bytes | memoryview) -> bytes:
        """The value behind what stands under `key`. Raises `IndexDamaged` if it is not what was written."""
        kind, check, rest = bytes(raw[:1]), bytes(raw[1 : 1 + CHECK_BYTES]), bytes(raw[1 + CHECK_BYTES :])
        if kind == _PIECES and len(rest) == _PIECE_NUMBER_BYTES:
            rest = self._join(txn, key, int.from_bytes(rest, "big"))
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

    def put(self, txn: lmdb.Transaction[Any], key: bytes, value: bytes) -> None:
        """Set a value."""
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
            stored = _PIECES + _check(key, value) + count.to_bytes(_PIECE_NUMBER_BYTES, "big")
        txn.put(key, stored, db=self.part)
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
        return min(int.from_bytes(raw[1 + CHECK_BYTES :], "big"), _PIECES_MAX)

    def _drop_pieces(self, txn: lmdb.Transaction[Any], key: bytes, start: int, stop: int) -> None:
        for number in range(start, stop):
            txn.delete(self._piece_key(key, number), db=self._pieces)


def _check(key: bytes, value: bytes) -> bytes:
    return crc32(value, crc32(key)).to_bytes(CHECK_BYTES, "big")
