"""The partitions of the embedded log inside its store: entries, their hash chain, and the head of each partition.

One part (LMDB: sub-database) a topic. An entry is stored as 16 bytes of chain hash + MessagePack array (key, headers, value),
in pieces that fit into a page (`INLINE_BYTES_MAX` in `ledger.storage.layout` says why). All pieces but the last are full,
and the last is not; the key of a piece is partition, offset and number of the piece (4, 8 and 2 bytes, big-endian).

The chain hash is BLAKE2b over the predecessor's hash and the stored bytes, and starts from the log's id, topic and partition;
so an entry that was edited, removed, exchanged or taken from another log does not fit, and every read checks it. The part
`heads` holds, for each partition, the next offset and the last hash, so that a lost tail does not look like an end. Not noticed
here: an older copy of the whole store put back in its place (who follows the log finds it shorter than what he read), and an
edit after which everything behind it was recomputed (checkpoints tell, P8).
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from ledger.errors import LogDamaged, LogMissing
from ledger.faults import declare, fault_point
from ledger.log import HEADERS_BYTES_MAX, HEADERS_MAX, KEY_BYTES_MAX, TOPICS, VALUE_BYTES_MAX, Entry, NewEntry
from ledger.storage.file import Database, FileKind, LmdbFile
from ledger.storage.layout import INLINE_BYTES_MAX
from schemas.ids import Position, digest

if TYPE_CHECKING:
    import lmdb

HEADS = "heads"
KIND = FileKind(
    name="log",
    format=1,
    databases=(*(Database(topic) for topic in TOPICS), Database(HEADS)),
    damaged=LogDamaged,
    missing=LogMissing,
    remedy="restore the log's directory from a copy; do not go on writing to this one",
)

CHAIN_BYTES = 16
STORED_BYTES_MAX = CHAIN_BYTES + VALUE_BYTES_MAX + KEY_BYTES_MAX + HEADERS_BYTES_MAX + 16 * (HEADERS_MAX + 2)
"""No stored entry is longer: one that seems to be is damage."""

WRITING = declare("log.append.writing", "some entries are in the transaction")

PIECE_BYTES = INLINE_BYTES_MAX - 14
_piece = struct.Struct(">IQH")
_head = struct.Struct(f">Q{CHAIN_BYTES}s")
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[bytes, tuple[tuple[bytes, bytes], ...], bytes])

Heads = dict[tuple[str, int], tuple[int, bytes]]
"""(topic, partition) -> (next offset, last hash)."""


class Flaw(msgspec.Struct, frozen=True):
    """The first place where a partition is not what was written, and what is wrong there."""

    position: Position
    reason: str


class Flawed(Exception):
    """A flaw was met; `flaw` says which."""

    def __init__(self, topic: str, partition: int, offset: int, reason: str) -> None:
        super().__init__(reason)
        self.flaw = Flaw(Position(topic, partition, offset), reason)


class Partitions:
    """Entries of all partitions, read and written within a transaction of the caller's."""

    def __init__(self, file: LmdbFile) -> None:
        """Over the open store of a log."""
        self._log_id, self._count = file.identity.log_id, file.identity.partitions
        self._topics = {topic: file.database(topic) for topic in TOPICS}
        self._heads = file.database(HEADS)

    def head(self, txn: lmdb.Transaction[memoryview], topic: str, partition: int) -> tuple[int, bytes]:
        """Next offset and last hash of a partition. Raises `Flawed` unless the last entry carries that hash."""
        raw = txn.get(_head_key(topic, partition), db=self._heads)
        if raw is None:
            if txn.get(_piece.pack(partition, 0, 0), db=self._topics[topic]) is not None:
                raise Flawed(topic, partition, 0, "entries stand in a partition that has no head")
            return 0, self._origin(topic, partition)
        if len(raw) != _head.size:
            raise Flawed(topic, partition, 0, "the head of the partition cannot be read")
        offset, chain = _head.unpack(raw)
        before = max(0, offset - 1)
        last = txn.get(_piece.pack(partition, before, 0), db=self._topics[topic])
        if last is None or bytes(last[:CHAIN_BYTES]) != chain:
            raise Flawed(topic, partition, before, "the last entry is missing or is not the one that was written last")
        return offset, chain

    def put(self, txn: lmdb.Transaction[memoryview], heads: Heads, topic: str, partition: int, body: bytes) -> Position:
        """Write one entry at the head of its partition and move the head in `heads`, to be stored by `put_heads` at the end.

        Raises `Flawed` if the partition does not end where its head says.
        """
        if (topic, partition) not in heads:
            heads[topic, partition] = self.head(txn, topic, partition)
        offset, chain = heads[topic, partition]
        chain = _link(chain, body)
        # The highest partition stands last in the tree, where LMDB can fill pages to the brim instead of splitting them.
        last = partition == self._count - 1
        stored = chain + body
        for number, start in enumerate(range(0, len(stored) + 1, PIECE_BYTES)):
            key, piece = _piece.pack(partition, offset, number), stored[start : start + PIECE_BYTES]
            if not txn.put(key, piece, db=self._topics[topic], append=last, overwrite=False):
                raise Flawed(topic, partition, offset, "an entry stands where the partition should end")
        heads[topic, partition] = (offset + 1, chain)
        fault_point(WRITING)
        return Position(topic, partition, offset)

    def put_heads(self, txn: lmdb.Transaction[memoryview], heads: Heads) -> None:
        """Store the heads that `put` moved."""
        for (topic, partition), head in heads.items():
            txn.put(_head_key(topic, partition), _head.pack(*head), db=self._heads)

    def scan(self, txn: lmdb.Transaction[memoryview], topic: str, partition: int, offset: int) -> Iterator[Entry]:
        """Entries from `offset` to the head, each checked. Raises `Flawed` at the first that is not what was written."""
        end, _ = self.head(txn, topic, partition)
        if offset >= end:
            return
        cursor = txn.cursor(self._topics[topic])
        chain = self._origin(topic, partition)
        if offset:
            if not cursor.set_key(_piece.pack(partition, offset - 1, 0)):
                raise Flawed(topic, partition, offset - 1, "the entry is missing")
            chain = bytes(cursor.value()[:CHAIN_BYTES])
        for at in range(offset, end):
            stored = _join(cursor, partition, at)
            if len(stored) <= CHAIN_BYTES:
                raise Flawed(topic, partition, at, "the entry, or a part of it, is missing")
            body = memoryview(stored)[CHAIN_BYTES:]
            chain = _link(chain, body)
            if chain != stored[:CHAIN_BYTES]:
                raise Flawed(topic, partition, at, "the entry, or the one before it, is not what was written")
            yield _decode(Position(topic, partition, at), body)

    def _origin(self, topic: str, partition: int) -> bytes:
        return digest("log", self._log_id, topic, str(partition), size=CHAIN_BYTES)


def _join(cursor: lmdb.Cursor[memoryview], partition: int, offset: int) -> bytes | memoryview:
    """The stored bytes of an entry; empty if a piece is missing or they are more than an entry can have.

    Each piece is looked up by its key: going from one to the next is no faster, and trusts the tree where a look-up checks it.
    """
    pieces: list[memoryview] = []
    while len(pieces) * PIECE_BYTES <= STORED_BYTES_MAX and cursor.set_key(_piece.pack(partition, offset, len(pieces))):
        pieces.append(cursor.value())
        if len(pieces[-1]) < PIECE_BYTES:
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)
    return b""


def _head_key(topic: str, partition: int) -> bytes:
    return topic.encode() + b"/" + partition.to_bytes(4, "big")


def _link(chain: bytes, body: bytes | memoryview) -> bytes:
    state = hashlib.blake2b(chain, digest_size=CHAIN_BYTES)
    state.update(body)
    return state.digest()


def encode_body(entry: NewEntry) -> bytes:
    """The stored bytes of an entry, without its hash."""
    headers = tuple((name.encode("utf-8", "surrogatepass"), value) for name, value in entry.headers)
    return _encoder.encode((entry.key.encode("utf-8", "surrogatepass"), headers, entry.value))


def _decode(position: Position, body: memoryview) -> Entry:
    key, headers, value = _decoder.decode(body)
    names = tuple((name.decode("utf-8", "surrogatepass"), content) for name, content in headers)
    return Entry(position, key.decode("utf-8", "surrogatepass"), value, names)
