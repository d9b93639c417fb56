"""kill -9 at every named point of an append and at arbitrary moments: nothing acknowledged is lost, doubled or moved.

Promises P1, L1, L3, L8 and L9; faults F1 and F2.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from ledger.adapters.lmdb_log import LmdbLog
from ledger.following import all_entries
from ledger.log import EVENTS, Entry
from tests.support.crash import FINISHED, OUTSIDE, PROJECT, CrashHarness, Run, points
from tests.support.log_worker import value_of

pytestmark = pytest.mark.crash
SEED = "log crashes"
ROUNDS_OUTSIDE = 12


def worker(directory: Path, name: str, count: int = 0) -> list[str]:
    return [sys.executable, "-m", "tests.support.log_worker", f"lmdb:{directory}", name, str(count)]


def appends_of(count: int) -> set[int]:
    """How many entries a worker has in the log after each of its appends, up to `count` and the append after it."""
    ends, number = {0}, 0
    while number <= count:
        number += number % 3 + 1
        ends.add(number)
    return ends


async def content(directory: Path) -> list[Entry]:
    """Every entry of the log, after everything that can be checked about it was."""
    log = LmdbLog.open(directory)
    try:
        assert log.file.check_structure() == []
        found = []
        for number in range(log.identity.partitions):
            assert await log.verify(EVENTS, number) is None
            mine = [entry async for entry in all_entries(log, EVENTS, number)]
            assert [entry.position.offset for entry in mine] == list(range(len(mine)))
            found += mine
        return found
    finally:
        await log.close()


def check_life(name: str, run: Run, found: Iterable[Entry]) -> None:
    """One worker's life: what it was told is there, once, at the place it was told; at most one append more, and that whole."""
    mine = {int(entry.headers[0][1]): entry for entry in found if entry.key.startswith(f"{name}-key-")}
    count = sum(entry.key.startswith(f"{name}-key-") for entry in found)
    assert count == len(mine), f"{name}: an entry stands there twice"
    assert sorted(mine) == list(range(count)), f"{name}: not the first {count} that it appended"
    acknowledged = [line.split() for line in run.lines if line.startswith("ack ")]
    for _, told, partition, offset in acknowledged:
        place = mine[int(told)].position
        assert (place.partition, place.offset) == (int(partition), int(offset))
    for number, entry in mine.items():
        assert entry.value == value_of(name, number)
    assert 0 <= count - len(acknowledged) <= 3, f"{name}: more than one append was not acknowledged"
    assert count in appends_of(count), f"{name}: half an append is there"


@pytest.fixture(params=[1, 3], ids=["1-partition", "3-partitions"])
async def directory(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    await LmdbLog.create(tmp_path / "log-dir", request.param).close()
    return tmp_path / "log-dir"


async def test_log_killed_at_every_point_of_an_append_keeps_what_was_acknowledged(directory: Path) -> None:
    """P1, L1, L3, L8; F1, F2"""
    harness, chance, lives = CrashHarness(), random.Random(SEED), {}
    for point in points("log.append."):
        for nth in (1, 2, chance.randrange(3, 40)):
            name = f"{point}.{nth}"
            lives[name] = harness.run(worker(directory, name), fault=f"{point}:{nth}")
            assert lives[name].ended == point
    found = await content(directory)
    for name, run in lives.items():
        check_life(name, run, found)
    print(f"\nseed {SEED!r}: {harness.report()}; {len(found)} entries")
    harness.assert_all_hit(points("log.append."))


async def test_log_killed_from_outside_at_any_moment_keeps_what_was_acknowledged(directory: Path) -> None:
    """P1, L1, L3, L8; looked at after each kill, since the next start must find it sound"""
    harness, chance, lives = CrashHarness(), random.Random(SEED), {}
    for number in range(ROUNDS_OUTSIDE):
        name = f"life-{number}"
        lives[name] = harness.run(worker(directory, name), kill_after_lines=chance.randrange(150))
        found = await content(directory)
        for each, run in lives.items():
            check_life(each, run, found)
    print(f"\nseed {SEED!r}: {harness.report()}; {len(found)} entries")
    assert harness.ends[OUTSIDE] == ROUNDS_OUTSIDE


async def test_writer_killed_inside_its_transaction_does_not_stop_the_others(directory: Path) -> None:
    """L9: the lock that it held passes on"""
    harness = CrashHarness()
    command = worker(directory, "steady", 300)
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as steady:  # noqa: ASYNC220
        lives = {
            f"victim-{nth}": harness.run(worker(directory, f"victim-{nth}"), fault=f"log.append.before_commit:{nth}")
            for nth in (1, 5, 20)
        }
        out, _ = steady.communicate(timeout=60)
    assert steady.returncode == 0
    found = await content(directory)
    check_life("steady", Run(out.splitlines(), FINISHED, ""), found)
    assert len(out.splitlines()) == 300
    for name, run in lives.items():
        check_life(name, run, found)


def test_maker_of_a_log_killed_at_every_point_leaves_none_or_a_whole_one(tmp_path: Path) -> None:
    """F1 for creation: a half-made log is never seen, and the next start makes or finds one"""
    harness = CrashHarness()
    code = (
        "import sys; from ledger.adapters.lmdb_log import LmdbLog; print(LmdbLog.open_or_create(sys.argv[1]).identity.log_id)"
    )
    for point in points("file.create."):
        place = tmp_path / point
        command = [sys.executable, "-c", code, str(place)]
        assert harness.run(command, fault=f"{point}:1").ended == point
        first = harness.run(command)
        assert harness.run(command).lines == first.lines
        assert sorted(path.name for path in place.iterdir()) == [".log.lock", "log"]
    harness.assert_all_hit(points("file.create."))
