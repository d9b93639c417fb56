"""Values of the index: a checksum each, long ones in pieces (P7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consumers.stored_values import StoredValues
from ledger.errors import IndexDamaged
from ledger.storage.layout import INLINE_BYTES_MAX


class Shelf:
    """An environment with one shelf of values."""

    def __init__(self, path: Path) -> None:
        self.env = lmdb.open(str(path), max_dbs=2, map_size=64 << 20, lib_version=0)
        self.values = StoredValues(self.env.open_db(b"values"), self.env.open_db(b"pieces"), b"v")

    def put(self, key: bytes, value: bytes) -> None:
        with self.env.begin(write=True) as txn:
            self.values.put(txn, key, value)

    def get(self, key: bytes) -> bytes | None:
        with self.env.begin() as txn:
            return self.values.get(txn, key)

    def go_through(self, start: bytes) -> None:
        with self.env.begin() as txn, txn.cursor(db=self.values.part) as cursor:
            more = self.values.seek(cursor, start)
            while more:
                self.values.check(cursor)
                more = cursor.next()

    def raw(self, name: bytes) -> dict[bytes, bytes]:
        with self.env.begin() as txn:
            return {bytes(key): bytes(value) for key, value in txn.cursor(db=self.env.open_db(name, txn=txn))}


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    made.env.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.binary(min_size=1, max_size=30), st.integers(0, 9000)), min_size=1, max_size=12))
def test_value_of_any_size_comes_back_and_leaves_no_pieces_behind(shelf: Shelf, writes: list[tuple[bytes, int]]) -> None:
    """P7: whatever was there before, of whatever size."""
    expected = {}
    for number, (key, size) in enumerate(writes):
        expected[key] = bytes((number + at) % 256 for at in range(size))
        shelf.put(key, expected[key])
    for key, value in expected.items():
        assert shelf.get(key) == value
    assert all(
        len(key) + len(value) <= INLINE_BYTES_MAX for part in (b"values", b"pieces") for key, value in shelf.raw(part).items()
    )
    with shelf.env.begin(write=True) as txn:
        for key in expected:
            shelf.values.delete(txn, key)
    assert shelf.raw(b"pieces") == {}
    assert all(shelf.get(key) is None for key in expected)


@pytest.mark.parametrize("size", [40, 6000])
def test_value_with_any_bit_flipped_is_noticed(shelf: Shelf, size: int) -> None:
    """P7: LMDB checks its pages and not what stands in them."""
    shelf.put(b"key", bytes(size))
    for part in (b"values", b"pieces"):
        for key, value in shelf.raw(part).items():
            for at in range(0, len(value), max(1, len(value) // 50)):
                flipped = value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]
                with shelf.env.begin(write=True) as txn:
                    txn.put(key, flipped, db=shelf.env.open_db(part, txn=txn))
                with pytest.raises(IndexDamaged):
                    shelf.get(b"key")
                with shelf.env.begin(write=True) as txn:
                    txn.put(key, value, db=shelf.env.open_db(part, txn=txn))
    assert shelf.get(b"key") == bytes(size)


def test_value_moved_to_another_key_is_noticed(shelf: Shelf) -> None:
    """P7: the checksum covers the key."""
    shelf.put(b"one", b"value")
    stored = shelf.raw(b"values")[b"one"]
    with shelf.env.begin(write=True) as txn:
        txn.put(b"two", stored, db=shelf.values.part)
    with pytest.raises(IndexDamaged):
        shelf.get(b"two")


@pytest.mark.parametrize("bit", range(8))
@pytest.mark.parametrize("size", [40, 6000])
def test_key_with_any_bit_flipped_hides_no_value(tmp_path: Path, size: int, bit: int) -> None:
    """P7: what was written is never taken for what is not there, by who asks for it and by who goes through its neighbours."""
    name = b"name-%d-which-is-one-of-a-kind"
    made = Shelf(tmp_path)
    for number in range(3):
        made.put(name % number, bytes(size))
    made.env.close()
    data = tmp_path / "data.mdb"
    sound = data.read_bytes()
    for at in range(len(name) - 1):
        flipped = bytearray(name % 1)
        flipped[at] ^= 1 << bit
        data.write_bytes(sound.replace(name % 1, bytes(flipped)))
        made = Shelf(tmp_path)
        with pytest.raises(IndexDamaged):
            made.get(name % 1)
        with pytest.raises(IndexDamaged):
            made.go_through(name % 0)
        made.env.close()


def test_value_without_one_of_its_pieces_is_noticed(shelf: Shelf) -> None:
    """P7: never a shorter value."""
    shelf.put(b"key", bytes(6000))
    with shelf.env.begin(write=True) as txn:
        txn.delete(max(shelf.raw(b"pieces")), db=shelf.env.open_db(b"pieces", txn=txn))
    with pytest.raises(IndexDamaged, match="piece"):
        shelf.get(b"key")


@pytest.mark.parametrize("size", [8, INLINE_BYTES_MAX * 2])
def test_last_value_stands_behind_every_other_or_is_refused(shelf: Shelf, size: int) -> None:
    """P7: a place that is taken already is a damage, and nothing is overwritten."""
    with shelf.env.begin(write=True) as txn:
        shelf.values.put(txn, b"k1", b"a" * size, last=True)
        shelf.values.put(txn, b"k2", b"b" * size, last=True)
    for taken in (b"k1", b"k2"):
        with pytest.raises(IndexDamaged, match="where none can be"), shelf.env.begin(write=True) as txn:
            shelf.values.put(txn, taken, b"c" * size, last=True)
    assert (shelf.get(b"k1"), shelf.get(b"k2")) == (b"a" * size, b"b" * size)
