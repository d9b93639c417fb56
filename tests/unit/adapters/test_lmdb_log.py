"""The embedded log beyond the port: edits found, damage survived, full disks, groups, forks."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path

import lmdb
import pytest

from ledger import faults
from ledger.adapters.lmdb_log import LmdbLog
from ledger.errors import LogDamaged, LogMissing, LogUnavailable, UsageError
from ledger.following import all_entries
from ledger.log import EVENTS, TOPICS, NewEntry
from ledger.storage.layout import DATA, MAP_VARIABLE, commit_mark
from ledger.storage.partitions import PIECE_BYTES
from schemas.ids import Position
from tests.support.forks import said_in_fork

PROJECT = Path(__file__).parents[3]
Edit = Callable[["lmdb.Transaction[bytes]", "lmdb._Database", "lmdb._Database"], object]


def entries(count: int, size: int = 300) -> list[NewEntry]:
    return [NewEntry(f"scope-{n % 3}", f"{n}:".encode() + b"v" * size, (("n", b"1"),)) for n in range(count)]


@pytest.fixture
async def log(tmp_path: Path) -> AsyncIterator[LmdbLog]:
    log = LmdbLog.create(tmp_path)
    yield log
    await log.close()


def key(offset: int, piece: int = 0) -> bytes:
    return struct.pack(">IQH", 0, offset, piece)


def edit(directory: Path, change: Edit) -> None:
    """Change a store with plain LMDB, as somebody would who knows the format but not the chain."""
    env = lmdb.open(str(directory / "log"), max_dbs=8, map_size=1 << 30)
    with env.begin(write=True) as txn:
        topic, heads, meta = (env.open_db(name.encode(), txn=txn, create=False) for name in (EVENTS, "heads", "meta"))
        change(txn, topic, heads)
        txn.put(b"commit", commit_mark(txn.id()), db=meta)
    env.close()


def _edit_value(txn: lmdb.Transaction[bytes], topic: lmdb._Database, _: lmdb._Database) -> None:
    txn.put(key(7), (txn.get(key(7), db=topic) or b"").replace(b"7:", b"8:"), db=topic)


def _remove(txn: lmdb.Transaction[bytes], topic: lmdb._Database, _: lmdb._Database) -> None:
    txn.delete(key(7), db=topic)


def _swap(txn: lmdb.Transaction[bytes], topic: lmdb._Database, _: lmdb._Database) -> None:
    seven, eight = txn.get(key(7), db=topic) or b"", txn.get(key(8), db=topic) or b""
    txn.put(key(7), eight, db=topic)
    txn.put(key(8), seven, db=topic)


def _cut_tail(txn: lmdb.Transaction[bytes], topic: lmdb._Database, _: lmdb._Database) -> None:
    for offset in range(7, 20):
        txn.delete(key(offset), db=topic)


def _remove_middle_piece(txn: lmdb.Transaction[bytes], topic: lmdb._Database, _: lmdb._Database) -> None:
    assert txn.delete(key(20, 1), db=topic)


def _forget_head(txn: lmdb.Transaction[bytes], _: lmdb._Database, heads: lmdb._Database) -> None:
    assert txn.delete(EVENTS.encode() + b"/" + bytes(4), db=heads)


def _spoil_head(txn: lmdb.Transaction[bytes], _: lmdb._Database, heads: lmdb._Database) -> None:
    txn.put(EVENTS.encode() + b"/" + bytes(4), b"short", db=heads)


class TestEdits:
    """P8, L10: what was edited in place is found, and named by its offset."""

    @pytest.fixture
    async def directory(self, tmp_path: Path) -> Path:
        log = LmdbLog.create(tmp_path)
        await log.append(EVENTS, [*entries(20), NewEntry("scope", b"v" * (3 * PIECE_BYTES))])
        assert await log.verify(EVENTS, 0) is None
        await log.close()
        return tmp_path

    @pytest.mark.parametrize(
        ("change", "offset"),
        [
            (_edit_value, 7),
            (_remove, 7),
            (_swap, 7),
            (_cut_tail, 7),
            (_remove_middle_piece, 20),
            (_forget_head, 0),
            (_spoil_head, 0),
        ],
        ids=["edited", "removed", "swapped", "cut", "piece-removed", "head-removed", "head-spoiled"],
    )
    async def test_read_and_verify_name_the_first_bad_offset(self, directory: Path, change: Edit, offset: int) -> None:
        edit(directory, change)
        log = LmdbLog.open(directory)
        flaw = await log.verify(EVENTS, 0)
        assert flaw is not None
        assert flaw.position == Position(EVENTS, 0, offset)
        with pytest.raises(LogDamaged, match=f"{EVENTS}/0@{offset}"):
            [entry async for entry in all_entries(log, EVENTS, 0)]
        if offset:
            assert len(await log.read(EVENTS, 0, 0, max_entries=offset)) == offset
        await log.close()

    async def test_append_behind_a_lost_tail_is_refused(self, directory: Path) -> None:
        """L10: nothing is written over what is missing."""

        def cut_all_the_tail(txn: lmdb.Transaction[bytes], topic: lmdb._Database, _: lmdb._Database) -> None:
            for piece in range(4):
                txn.delete(key(20, piece), db=topic)

        edit(directory, cut_all_the_tail)
        log = LmdbLog.open(directory)
        with pytest.raises(LogDamaged, match="the last entry is missing"):
            await log.append(EVENTS, entries(1))
        await log.close()

    async def test_entry_slipped_in_behind_the_end_is_not_overwritten(self, directory: Path) -> None:
        edit(directory, lambda txn, topic, _: txn.put(key(21), b"slipped in", db=topic))
        log = LmdbLog.open(directory)
        assert await log.end(EVENTS, 0) == 21
        with pytest.raises(LogDamaged, match="should end"):
            await log.append(EVENTS, entries(1))
        await log.close()

    async def test_entries_of_another_log_do_not_fit(self, directory: Path, tmp_path: Path) -> None:
        other = LmdbLog.create(tmp_path / "other")
        await other.append(EVENTS, entries(1))
        with other.file.read() as txn:
            foreign = txn.get(key(0), db=other.file.database(EVENTS)) or b""
        await other.close()
        edit(directory, lambda txn, topic, _: txn.put(key(0), foreign, db=topic))
        log = LmdbLog.open(directory)
        flaw = await log.verify(EVENTS, 0)
        assert flaw is not None
        assert flaw.position.offset == 0
        await log.close()


class TestDamage:
    """F16: looked at from child processes, so that a crash would be an outcome."""

    @pytest.fixture(params=[1, 3])
    async def directory(self, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
        log = LmdbLog.create(tmp_path / "log-dir", request.param)
        for step in range(20):
            await log.append(TOPICS[step % 3], [*entries(4, 200), *entries(2, 1200), *entries(1, 9000)])
        await log.close()
        return tmp_path / "log-dir"

    def test_random_bit_flips_are_detected_or_harmless(self, directory: Path) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.damage", "flips", str(directory), "200", "a fixed seed"],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=True,
        )
        trials = [json.loads(line) for line in done.stdout.splitlines()]
        counts = Counter(trial["outcome"] for trial in trials)
        assert sum(counts.values()) == 200
        assert set(counts) == {"same", "detected"}, [trial for trial in trials if trial["outcome"] not in ("same", "detected")]
        assert {trial["error"] for trial in trials if trial["outcome"] == "detected"} <= {"LogDamaged", "DamagedEntry"}
        assert counts["detected"] > 50

    @pytest.mark.parametrize("keep", [0, 1, 2, 3], ids=["emptied", "quarter", "half", "three-quarters"])
    def test_truncated_log_is_refused_and_no_process_dies(self, directory: Path, keep: int) -> None:
        data = directory / "log" / DATA
        os.truncate(data, data.stat().st_size * keep // 4)
        done = subprocess.run(
            [sys.executable, "-m", "tests.support.damage", "read", str(directory)],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=True,
        )
        found = json.loads(done.stdout)
        assert (found["outcome"], found["error"]) == ("detected", "LogDamaged")
        assert str(directory) in found["message"]
        assert "To do:" in found["message"]


class TestFullDisk:
    """F13: what was acknowledged stays, what was not is refused with the reason, and the log goes on once there is room."""

    async def fill(self, log: LmdbLog) -> tuple[int, LogUnavailable]:
        """Append until the disk is full; how many entries were acknowledged, and the error."""
        acknowledged = 0
        with pytest.raises(LogUnavailable) as caught:  # noqa: PT012
            while acknowledged < 100_000:
                acknowledged += len(await log.append(EVENTS, entries(7, 900)))
        return acknowledged, caught.value

    @pytest.fixture
    def small_disk(self, tmp_path: Path) -> Iterator[Path]:
        if os.geteuid() or shutil.which("mount") is None:
            pytest.skip("only root can mount a small tmpfs")
        disk = tmp_path / "disk"
        disk.mkdir()
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], capture_output=True, check=False)
        if made.returncode:
            pytest.skip(f"no tmpfs can be mounted here: {made.stderr.decode().strip()}")
        try:
            yield disk
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    async def test_disk_without_room_is_named_and_the_log_goes_on_when_there_is_room(self, small_disk: Path) -> None:
        ballast = small_disk / "ballast"
        ballast.write_bytes(bytes(500_000))
        log = LmdbLog.create(small_disk / "log-dir")
        acknowledged, error = await self.fill(log)
        assert acknowledged > 100
        assert "The disk is full" in error.hint
        assert await log.end(EVENTS, 0) == acknowledged
        assert await log.verify(EVENTS, 0) is None
        ballast.unlink()
        await log.append(EVENTS, entries(1))
        await log.close()
        again = LmdbLog.open(small_disk / "log-dir")
        assert await again.end(EVENTS, 0) == acknowledged + 1
        assert await again.verify(EVENTS, 0) is None
        await again.close()

    async def test_log_on_a_full_disk_can_be_read_but_none_can_be_made(self, small_disk: Path) -> None:
        log = LmdbLog.create(small_disk / "log-dir")
        acknowledged, _ = await self.fill(log)
        await log.close()
        with (small_disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
            while True:  # until not one page is left
                ballast.write(bytes(4096))
        again = LmdbLog.open(small_disk / "log-dir")
        assert len([entry async for entry in all_entries(again, EVENTS, 0)]) == acknowledged
        with pytest.raises(LogUnavailable, match="no store can be made here"):
            LmdbLog.create(small_disk / "second")
        await again.close()

    def test_limit_on_the_size_of_files_is_like_a_full_disk(self, tmp_path: Path) -> None:
        """The same without root, in a process of its own since the limit is the process's."""
        code = """
import asyncio, resource, sys
from ledger.adapters.lmdb_log import LmdbLog
from ledger.errors import LogUnavailable
from ledger.log import EVENTS, NewEntry

async def main():
    log = LmdbLog.create(sys.argv[1])
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    count = 0
    try:
        while count < 10_000:
            count += len(await log.append(EVENTS, [NewEntry("scope", b"v" * 900)] * 7))
    except LogUnavailable as error:
        print(type(error).__name__, error.message)
    assert 100 < count == await log.end(EVENTS, 0)
    assert await log.verify(EVENTS, 0) is None
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await log.append(EVENTS, [NewEntry("scope", b"v")])
    assert await log.verify(EVENTS, 0) is None
    print(await log.end(EVENTS, 0) - count)
    await log.close()

asyncio.run(main())
"""
        if resource.getrlimit(resource.RLIMIT_FSIZE)[1] != resource.RLIM_INFINITY:
            pytest.skip("this process may not set its own file size limit freely")
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], cwd=PROJECT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        first, last = done.stdout.splitlines()
        assert first.startswith("StoreUnavailable")
        assert last == "1"

    async def test_map_that_is_full_refuses_the_append_and_keeps_the_log(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """F15"""
        monkeypatch.setenv(MAP_VARIABLE, "1")
        log = LmdbLog.create(tmp_path)
        acknowledged, error = await self.fill(log)
        assert MAP_VARIABLE in error.hint
        await log.close()
        monkeypatch.delenv(MAP_VARIABLE)
        again = LmdbLog.open(tmp_path)
        assert await again.end(EVENTS, 0) == acknowledged
        await again.append(EVENTS, entries(1))
        assert await again.verify(EVENTS, 0) is None
        await again.close()


class TestAppend:
    @pytest.fixture(autouse=True)
    def disarmed(self) -> Iterator[None]:
        yield
        faults.arm("")

    async def test_concurrent_appends_share_transactions(self, log: LmdbLog) -> None:
        before = log.file.env.info()["last_txnid"]
        await asyncio.gather(*(log.append(EVENTS, entries(2)) for _ in range(500)))
        assert log.file.env.info()["last_txnid"] - before < 50
        assert await log.end(EVENTS, 0) == 1000

    @pytest.mark.parametrize("point", ["log.append.queued", "log.append.writing", "log.append.before_commit"])
    async def test_fault_before_the_commit_refuses_the_append_and_leaves_nothing(self, log: LmdbLog, point: str) -> None:
        """L8"""
        await log.append(EVENTS, entries(3))
        faults.arm(f"{point}:1:error")
        with pytest.raises(LogUnavailable, match="cannot be written"):
            await log.append(EVENTS, entries(3))
        assert await log.end(EVENTS, 0) == 3
        assert [at.offset for at in await log.append(EVENTS, entries(2))] == [3, 4]
        assert await log.verify(EVENTS, 0) is None

    async def test_fault_behind_the_commit_leaves_whole_appends(self, log: LmdbLog) -> None:
        """L8: not acknowledged, and there all the same; a repetition is the fold's to recognise (P3)."""
        faults.arm("log.append.after_commit:1:error")
        with pytest.raises(LogUnavailable):
            await log.append(EVENTS, entries(3))
        assert await log.end(EVENTS, 0) == 3
        assert await log.verify(EVENTS, 0) is None

    async def test_append_cancelled_while_it_waits_is_not_written(self, log: LmdbLog) -> None:
        with log.file.write():  # the writer thread cannot begin, so a second call stays in the queue
            first = asyncio.create_task(log.append(EVENTS, [NewEntry("scope", b"first")]))
            while not log._draining or log._waiting:  # noqa: ASYNC110  until the writer thread has it
                await asyncio.sleep(0)
            second = asyncio.create_task(log.append(EVENTS, [NewEntry("scope", b"second")]))
            await asyncio.sleep(0)
            second.cancel()
            await asyncio.sleep(0)
        await first
        await log.append(EVENTS, [NewEntry("scope", b"third")])
        assert [entry.value for entry in await log.read(EVENTS, 0, 0)] == [b"first", b"third"]

    @pytest.mark.parametrize("size", [PIECE_BYTES * n + d for n in (1, 2, 3) for d in range(-45, 3)])
    async def test_value_of_any_length_around_a_piece_comes_back(self, log: LmdbLog, size: int) -> None:
        """L6"""
        value = bytes(n % 251 for n in range(size))
        await log.append(EVENTS, [NewEntry("k", value), NewEntry("k", b"next")])
        assert [entry.value for entry in await log.read(EVENTS, 0, 0)] == [value, b"next"]

    async def test_no_value_of_a_log_has_pages_of_its_own(self, log: LmdbLog) -> None:
        """The length of such a value is checked by nobody, see `INLINE_BYTES_MAX`."""
        await log.append(EVENTS, [NewEntry("k", b"v" * size) for size in (0, 1800, 1850, 1870, 1900, 5000, 100_000)])
        with log.file.read() as txn:
            assert txn.stat(log.file.database(EVENTS))["overflow_pages"] == 0


class TestOpen:
    def test_missing_log_is_named_and_not_created(self, tmp_path: Path) -> None:
        with pytest.raises(LogMissing, match=str(tmp_path / "log")):
            LmdbLog.open(tmp_path)
        assert not list(tmp_path.iterdir())

    async def test_create_where_a_log_is_refuses(self, log: LmdbLog, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="already"):
            LmdbLog.create(tmp_path)

    async def test_open_or_create_keeps_the_partitions_of_a_log_that_exists(self, tmp_path: Path) -> None:
        first = LmdbLog.open_or_create(tmp_path, 3)
        second = LmdbLog.open_or_create(tmp_path, 5)
        third = LmdbLog.open(tmp_path, create=True)
        assert first.identity == second.identity == third.identity
        assert first.identity.partitions == 3
        for log in (first, second, third):
            await log.close()

    def test_log_without_partitions_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError):
            LmdbLog.create(tmp_path, 0)

    def test_creation_by_several_processes_gives_one_log(self, tmp_path: Path) -> None:
        """L9"""
        code = """
import sys
from ledger.adapters.lmdb_log import LmdbLog
print(LmdbLog.open_or_create(sys.argv[1]).identity.log_id)
"""
        processes = [
            subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=PROJECT, stdout=subprocess.PIPE) for _ in range(6)
        ]
        ids = {process.communicate()[0] for process in processes}
        assert len(ids) == 1
        assert [process.returncode for process in processes] == [0] * 6

    async def test_use_in_a_forked_child_is_refused(self, log: LmdbLog) -> None:
        """F30"""
        await log.append(EVENTS, entries(1))

        def use() -> str:
            try:
                log.append(EVENTS, entries(1)).send(None)
            except LogUnavailable as error:
                return error.message
            return "no error"

        assert "forked" in said_in_fork(use)
        assert await log.end(EVENTS, 0) == 1
