"""Pages of a large store that were read do not stay in this process's resident memory, and nothing read is lost by that."""

from __future__ import annotations

import sys
from pathlib import Path

import lmdb
import pytest

from ledger.storage import memory as lmdb_memory
from ledger.storage.memory import FILE_PAGES_BYTES_MAX, give_back

VALUE = bytes(range(256)) * 8
COUNT = 30_000
"""Values of 2 KiB: 60 MB, well above the limit."""


def file_pages_bytes() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[2]) * lmdb_memory._PAGE_BYTES


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="pages are given back on Linux only")
def test_pages_read_are_given_back_and_read_again(tmp_path: Path) -> None:
    """Also in mid-transaction, with a cursor open."""
    env = lmdb.open(str(tmp_path), map_size=1 << 30, sync=False)
    with env.begin(write=True) as txn:
        for number in range(COUNT):
            txn.put(number.to_bytes(4, "big"), VALUE, append=True)
    with env.begin(buffers=True) as txn, txn.cursor() as cursor:
        assert sum(len(value) for _, value in cursor if bytes(value[:1]) == b"\0") == COUNT * len(VALUE)
        before = file_pages_bytes()
        give_back([tmp_path / "data.mdb"])
        assert file_pages_bytes() < before - COUNT * len(VALUE) // 2
        assert cursor.first()
        assert all(value == VALUE for _, value in cursor)
    env.close()


def test_little_memory_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(paths: set[str]) -> list[tuple[int, int]]:
        raise AssertionError(paths)

    monkeypatch.setattr(lmdb_memory, "FILE_PAGES_BYTES_MAX", 1 << 40)
    monkeypatch.setattr(lmdb_memory, "_mappings", never)
    give_back([tmp_path / "data.mdb"])
    assert FILE_PAGES_BYTES_MAX < 64 << 20


def test_file_that_is_not_mapped_harms_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lmdb_memory, "FILE_PAGES_BYTES_MAX", 0)
    give_back([tmp_path / "data.mdb"])
