"""Opening, sharing, copying and refusing LMDB stores."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import lmdb
import msgspec
import pytest

from ledger.errors import IndexDamaged, LogMissing, LogUnavailable, UsageError
from ledger.storage.file import Database, FileIdentity, FileKind, LmdbFile, create_file
from ledger.storage.layout import DATA, IDENTITY, INLINE_BYTES_MAX, LOCK, MAP_VARIABLE, commit_mark
from ledger.storage.pages import check_data_file
from tests.support.forks import said_in_fork

PROJECT = Path(__file__).parents[3]
KIND = FileKind(
    name="sample",
    format=2,
    databases=(Database("rows"), Database("facts", dupsort=True, dupfixed=True)),
    damaged=IndexDamaged,
    missing=LogMissing,
    remedy="make it again",
)
IDENTITY_OF = FileIdentity(kind="sample", format=2, log_id="log-a", partitions=4, partition=3)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A store with one row."""
    directory = tmp_path / "deep" / "store"
    assert create_file(directory, KIND, IDENTITY_OF)
    with_row(directory, b"k", b"v")
    return directory


def with_row(directory: Path, key: bytes, value: bytes) -> None:
    file = LmdbFile(directory, KIND)
    with file.write() as txn:
        txn.put(key, value, db=file.database("rows"))
    file.close()


def row(file: LmdbFile, key: bytes = b"k") -> bytes | None:
    with file.read() as txn:
        return txn.get(key, db=file.database("rows"))


def test_created_store_has_its_parts_its_identity_and_nothing_else(place: Path) -> None:
    file = LmdbFile(place, KIND)
    assert file.identity == IDENTITY_OF
    assert row(file) == b"v"
    assert file.env.lib_version()[:2] == (0, 9)
    file.close()
    assert sorted(path.name for path in place.iterdir()) == sorted([DATA, LOCK, IDENTITY])
    assert [path.name for path in place.parent.iterdir() if path.name != ".store.lock"] == ["store"]
    assert place.stat().st_mode & 0o777 == 0o700


def test_create_of_a_store_that_exists_changes_nothing(place: Path) -> None:
    before = (place / IDENTITY).read_bytes()
    assert not create_file(place, KIND, FileIdentity(kind="sample", format=2, log_id="log-b", partitions=1))
    assert (place / IDENTITY).read_bytes() == before


def test_create_by_many_at_once_makes_one_store(tmp_path: Path) -> None:
    """L9"""

    def make(number: int) -> bool:
        return create_file(tmp_path / "s", KIND, FileIdentity(kind="sample", format=2, log_id=str(number), partitions=1))

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(make, range(8))) == [False] * 7 + [True]
    LmdbFile(tmp_path / "s", KIND).close()


def test_create_clears_what_a_killed_maker_left(tmp_path: Path) -> None:
    leftover = tmp_path / ".s.new-12345"
    leftover.mkdir()
    (leftover / DATA).write_bytes(b"half")
    assert create_file(tmp_path / "s", KIND, IDENTITY_OF)
    assert not leftover.exists()


def test_create_where_nothing_can_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LogUnavailable, match="no store can be made here"):
        create_file(tmp_path / "file" / "s", KIND, IDENTITY_OF)


def test_open_of_nothing_is_missing_and_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(LogMissing, match="there is no sample here"):
        LmdbFile(tmp_path / "s", KIND)
    (tmp_path / "empty").mkdir()
    with pytest.raises(LogMissing):
        LmdbFile(tmp_path / "empty", KIND)
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_two_handles_of_one_process_share_the_store_until_the_last_closes(place: Path) -> None:
    one, two = LmdbFile(place, KIND), LmdbFile(place, KIND)
    assert one.env is two.env
    one.close()
    one.close()
    assert row(two) == b"v"
    with pytest.raises(LogUnavailable, match="closed"):
        row(one)
    two.close()
    with pytest.raises(lmdb.Error):
        two.env.info()


def test_write_that_raises_leaves_nothing(place: Path) -> None:
    file = LmdbFile(place, KIND)
    with pytest.raises(ZeroDivisionError), file.write() as txn:  # noqa: PT012  what is tested is the end of the block
        txn.put(b"k", b"changed", db=file.database("rows"))
        raise ZeroDivisionError
    assert row(file) == b"v"
    file.close()


def test_write_waits_for_a_writer_in_another_thread(place: Path) -> None:
    """L9"""
    file, inside, go_on = LmdbFile(place, KIND), threading.Event(), threading.Event()

    def hold() -> None:
        with file.write() as txn:
            txn.put(b"k", b"first", db=file.database("rows"))
            inside.set()
            go_on.wait(10)

    def follow() -> bytes:
        inside.wait(10)
        with file.write() as txn:
            return bytes(txn.get(b"k", db=file.database("rows")) or b"")

    with ThreadPoolExecutor(2) as pool:
        holding, following = pool.submit(hold), pool.submit(follow)
        inside.wait(10)
        assert row(file) == b"v"
        go_on.set()
        holding.result()
        assert following.result() == b"first"
    file.close()


def test_use_in_a_forked_child_is_refused_and_so_is_opening_there(place: Path) -> None:
    file = LmdbFile(place, KIND)

    def use() -> str:
        said = []
        for attempt in (lambda: row(file), lambda: LmdbFile(place, KIND)):
            try:
                attempt()
                said.append("no error")
            except LogUnavailable as error:
                said.append(error.message)
        file.close()
        return "\n".join(said)

    first, second = said_in_fork(use).splitlines()
    assert "forked" in first
    assert "forked" in second
    assert row(file) == b"v"
    file.close()


def test_map_that_is_full_is_named_and_nothing_of_the_write_stays(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F15"""
    monkeypatch.setenv(MAP_VARIABLE, "1")
    file = LmdbFile(place, KIND)
    with pytest.raises(LogUnavailable, match="map of 1 MiB") as caught, file.write() as txn:  # noqa: PT012
        for number in range(2000):
            txn.put(b"%06d" % number, b"v" * 1000, db=file.database("rows"))
    assert MAP_VARIABLE in caught.value.hint
    assert row(file, b"000000") is None
    with file.write() as txn:
        txn.put(b"small", b"fits", db=file.database("rows"))
    assert row(file, b"small") == b"fits"
    file.close()


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", "999999999999"])
def test_map_size_that_is_no_number_of_mib_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(MAP_VARIABLE, text)
    with pytest.raises(UsageError, match=MAP_VARIABLE):
        LmdbFile(place, KIND)


def test_store_opens_with_less_address_space_than_it_asks_for(place: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path; from tests.unit.adapters import test_lmdb_file as t\n"
        "resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))\n"
        "file = t.LmdbFile(Path(sys.argv[1]), t.KIND); print(t.row(file), file.env.info()['map_size'] < 4 << 30)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(place)], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.stdout == "b'v' True\n", done.stderr


def test_copy_is_a_store_of_its_own_with_the_same_identity(place: Path, tmp_path: Path) -> None:
    file = LmdbFile(place, KIND)
    file.copy_to(tmp_path / "copy")
    with pytest.raises(UsageError, match="already exists"):
        file.copy_to(tmp_path / "copy")
    with_row(tmp_path / "copy", b"k", b"only in the copy")
    assert row(file) == b"v"
    file.close()
    copy = LmdbFile(tmp_path / "copy", KIND)
    assert copy.identity == IDENTITY_OF
    assert row(copy) == b"only in the copy"
    assert copy.check_structure() == []
    copy.close()


def test_file_that_lacks_only_pages_which_are_free_is_sound(place: Path) -> None:
    """A short file is damage only if something reachable is missing."""
    with_row(place, b"long", b"v" * 400_000)
    file = LmdbFile(place, KIND)
    for _ in range(4):  # free the pages at the end, then let what was written behind them move to the front
        with file.write() as txn:
            txn.delete(b"long", db=file.database("rows"))
    file.close()
    newest = check_data_file(place / DATA)
    os.truncate(place / DATA, newest.last_page * newest.page_bytes)
    again = LmdbFile(place, KIND)
    assert row(again) == b"v"
    again.close()


def test_inline_limit_keeps_values_within_pages(place: Path) -> None:
    file = LmdbFile(place, KIND)
    with file.write() as txn:
        for number in range(50):
            txn.put(b"%04d" % number, b"v" * (INLINE_BYTES_MAX - 4), db=file.database("rows"))
        assert txn.stat(file.database("rows"))["overflow_pages"] == 0
    file.close()


class TestDamage:
    """P7 and F16: what is wrong is named, by the error class of the kind, before anything is mapped."""

    def refused(self, place: Path, match: str) -> None:
        with pytest.raises(IndexDamaged, match=match):
            LmdbFile(place, KIND)

    def test_data_file_emptied(self, place: Path) -> None:
        (place / DATA).write_bytes(b"")
        self.refused(place, "it is empty")

    def test_data_file_missing(self, place: Path) -> None:
        (place / DATA).unlink()
        self.refused(place, "data.mdb is missing")

    def test_data_file_truncated_to_half(self, place: Path) -> None:
        with_row(place, b"large", b"v" * 100_000)
        os.truncate(place / DATA, (place / DATA).stat().st_size // 2)
        self.refused(place, "was truncated")

    def test_data_file_truncated_by_one_byte(self, place: Path) -> None:
        with_row(place, b"large", b"v" * 100_000)
        os.truncate(place / DATA, (place / DATA).stat().st_size - 1)
        self.refused(place, "was truncated")

    def test_data_file_cut_within_its_meta_pages(self, place: Path) -> None:
        os.truncate(place / DATA, 5000)
        os.truncate(place / DATA, 4100)
        self.refused(place, "ends within meta page 1")

    @pytest.mark.parametrize("pages", [(0,), (1,), (0, 1)], ids=["first", "second", "both"])
    def test_meta_pages_zeroed(self, place: Path, pages: tuple[int, ...]) -> None:
        with (place / DATA).open("r+b") as file:
            for page in pages:
                file.seek(page * 4096)
                file.write(bytes(4096))
        self.refused(place, "is no LMDB meta page")

    def test_meta_page_in_force_with_the_roots_of_an_older_state(self, place: Path) -> None:
        """Silent rollback: everything that is read is sound, and it is not what was written last."""
        older = (place / DATA).read_bytes()
        with_row(place, b"k", b"newest")
        newest = check_data_file(place / DATA)
        roots = slice(16 + 24, 16 + 24 + 96)
        in_force, before = newest.txn_id % 2 * newest.page_bytes, (newest.txn_id - 1) % 2 * newest.page_bytes
        with (place / DATA).open("r+b") as file:
            file.seek(in_force + roots.start)
            file.write(older[before + roots.start : before + roots.stop])
        self.refused(place, "another state than the last commit left")

    def test_meta_pages_with_impossible_transactions(self, place: Path) -> None:
        with (place / DATA).open("r+b") as file:
            file.seek(16 + 128)
            file.write((1000).to_bytes(8, "little"))
        self.refused(place, "cannot stand together")

    def test_text_in_place_of_the_data_file(self, place: Path) -> None:
        (place / DATA).write_bytes(b"This is no database.\n" * 1000)
        self.refused(place, "is no LMDB meta page")

    def test_engine_of_a_later_generation(self, place: Path) -> None:
        (place / DATA).unlink()
        env = lmdb.open(str(place), lib_version=1)
        env.close()
        self.refused(place, "meta page 0")

    def test_data_file_of_another_store(self, place: Path, tmp_path: Path) -> None:
        other = tmp_path / "other"
        create_file(other, KIND, FileIdentity(kind="sample", format=2, log_id="log-b", partitions=4, partition=3))
        shutil.copy(other / DATA, place / DATA)
        self.refused(place, "belongs to another store")

    def test_lmdb_file_that_is_no_store_of_ours(self, place: Path) -> None:
        shutil.rmtree(place)
        lmdb.open(str(place)).close()
        self.refused(place, "identity.json is missing")
        (place / IDENTITY).write_bytes(msgspec.json.encode(IDENTITY_OF))
        self.refused(place, "a part of the store is missing")

    def test_identity_missing_or_unreadable(self, place: Path) -> None:
        (place / IDENTITY).write_bytes(b"{")
        self.refused(place, "not an identity")
        (place / IDENTITY).unlink()
        self.refused(place, "identity.json is missing")

    def test_identity_of_another_kind(self, place: Path) -> None:
        (place / IDENTITY).write_bytes(msgspec.json.encode(msgspec.structs.replace(IDENTITY_OF, kind="log")))
        self.refused(place, "kind 'log', expected 'sample'")

    @pytest.mark.parametrize(("format_", "hint"), [(3, "newer release"), (1, "make it again")])
    def test_format_of_another_release(self, place: Path, format_: int, hint: str) -> None:
        (place / IDENTITY).write_bytes(msgspec.json.encode(msgspec.structs.replace(IDENTITY_OF, format=format_)))
        with pytest.raises(IndexDamaged, match=f"has format {format_}, this release reads format 2") as caught:
            LmdbFile(place, KIND)
        assert hint in caught.value.hint

    def test_mark_of_the_last_commit_changed(self, place: Path) -> None:
        env = lmdb.open(str(place), max_dbs=4)
        with env.begin(write=True) as txn:
            txn.put(b"commit", commit_mark(7_000), db=env.open_db(b"meta", txn=txn, create=False))
        env.close()
        self.refused(place, "another state than the last commit left")

    def test_data_file_emptied_while_open(self, place: Path) -> None:
        file = LmdbFile(place, KIND)
        os.truncate(place / DATA, 0)
        with pytest.raises(IndexDamaged, match="shrank"):
            row(file)
        with pytest.raises(IndexDamaged, match="shrank"), file.write():
            pass
        file.close()

    def test_data_file_removed_or_replaced_while_open(self, place: Path) -> None:
        file = LmdbFile(place, KIND)
        shutil.copy(place / DATA, place / "copy")
        (place / DATA).unlink()
        with pytest.raises(IndexDamaged, match="removed"):
            row(file)
        (place / "copy").rename(place / DATA)
        with pytest.raises(IndexDamaged, match="replaced"):
            row(file)
        file.close()
