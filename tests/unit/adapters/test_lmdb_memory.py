"""Pages of a large store that were read do not stay in this process's resident memory, and nothing read is lost by that."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import lmdb
import pytest

from ledger.errors import LedgerError
from ledger.storage import memory as lmdb_memory
from ledger.storage.file import Database, FileIdentity, FileKind, LmdbFile, create_file
from ledger.storage.memory import STORE_PAGES_BYTES, give_back, hold

VALUE = bytes(range(256)) * 8
COUNT = 30_000
"""Values of 2 KiB: 60 MB, well above the limit."""


@pytest.fixture(autouse=True)
def held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmdb_memory._Held, "stores", STORE_PAGES_BYTES)
    monkeypatch.setattr(lmdb_memory._Held, "others", 0)
    monkeypatch.setattr(lmdb_memory._Held, "every", 1)
    monkeypatch.setattr(lmdb_memory._Held, "calls", 0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages are given back on Linux only")
@pytest.mark.parametrize("name", ["store", "a store\nunder two lines"])
def test_pages_read_are_given_back_and_read_again(name: str, tmp_path: Path) -> None:
    """Also in mid-transaction, with a cursor open, and whatever the folder is called."""
    place = tmp_path / name
    place.mkdir()
    env = lmdb.open(str(place), map_size=1 << 30, sync=False)
    with env.begin(write=True) as txn:
        for number in range(COUNT):
            txn.put(number.to_bytes(4, "big"), VALUE, append=True)
    with env.begin(buffers=True) as txn, txn.cursor() as cursor:
        assert sum(len(value) for _, value in cursor if bytes(value[:1]) == b"\0") == COUNT * len(VALUE)
        before = lmdb_memory._file_pages_bytes()
        give_back([place / "data.mdb"])
        assert lmdb_memory._file_pages_bytes() < before - COUNT * len(VALUE) // 2
        assert lmdb_memory._Held.others < before
        assert cursor.first()
        assert all(value == VALUE for _, value in cursor)
    env.close()


def test_who_looks_seldom_gives_back_at_its_next_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[set[str]] = []
    monkeypatch.setattr(lmdb_memory, "_mappings", lambda paths: looks.append(paths) or [])
    hold(-1, every=3)
    for _ in range(7):
        give_back([tmp_path / "data.mdb"])
    assert len(looks) == 2


def test_little_memory_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(paths: set[str]) -> list[tuple[int, int]]:
        raise AssertionError(paths)

    hold(1 << 40)
    monkeypatch.setattr(lmdb_memory, "_mappings", never)
    give_back([tmp_path / "data.mdb"])


def test_file_that_is_not_mapped_harms_nothing(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    hold(-1)
    for path in ("data.mdb", "loop", "loop/data.mdb"):
        give_back([tmp_path / path])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages are given back on Linux only")
def test_no_store_is_unmapped_while_its_addresses_are_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the addresses could be somebody else's memory by the time that they are dropped."""
    kind = FileKind("test", 1, (Database("a"),), LedgerError, LedgerError, "make it anew")
    for name in "ab":
        create_file(tmp_path / name, kind, FileIdentity(kind="test", format=1, log_id="l", partitions=1))
    kept, gone = LmdbFile(tmp_path / "a", kind), LmdbFile(tmp_path / "b", kind)
    found, closing, closed = lmdb_memory._mappings, threading.Thread(target=gone.close), []

    def slowly(paths: set[str]) -> list[tuple[int, int]]:
        ranges = found(paths)
        closing.start()
        closing.join(0.2)
        closed.append(not closing.is_alive())
        return ranges

    monkeypatch.setattr(lmdb_memory, "_mappings", slowly)
    hold(-1)
    give_back([tmp_path / "a" / "data.mdb", tmp_path / "b" / "data.mdb"])
    closing.join(10)
    assert (closed, closing.is_alive()) == ([False], False)
    kept.close()
