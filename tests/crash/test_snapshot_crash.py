"""kill -9 of a process that takes, prunes and restores snapshots: a usable one is left, and never half of one (P2, P7)."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

from consumers.carrier_index import CarrierIndex
from consumers.partition import Partition
from consumers.snapshots import latest, restore, verify
from ledger.adapters.lmdb_log import LmdbLog
from ledger.log import EVENTS
from tests.support.crash import FINISHED, OUTSIDE, CrashHarness, points
from tests.support.snapshot_worker import KEEP
from tests.support.toy_facts import toy_facts

pytestmark = pytest.mark.crash
SEED = 20261130
ROUNDS = 6
POINTS = points("snapshot.")


def plans(chance: random.Random) -> list[tuple[str, int | None]]:
    """Every point at an early and at a later hit, and some kills from outside, in any order."""
    found: list[tuple[str, int | None]] = [(f"{point}:{nth}", None) for point in POINTS for nth in (1, chance.randint(2, 4))]
    found += [("", chance.randint(1, 12)) for _ in range(6)]
    chance.shuffle(found)
    return found


async def state(log: LmdbLog, directory: Path) -> tuple[int, bytes, dict[str, bytes]]:
    """What an index says once it has caught up."""
    index = CarrierIndex.create(directory, log.identity, 0)
    partition = Partition(log, index, 0)
    await partition.catch_up()
    with index.snapshot() as view:
        found = view.offset_next, view.chain, {scope: view.scope_digest(scope) for scope in view.scopes()}
    partition.close()
    index.close()
    return found


async def test_snapshots_killed_at_every_point_leave_a_usable_one(tmp_path: Path) -> None:
    """P2, P7: after each kill the newest sound snapshot is no older than the one that was said to be taken."""
    log_dir, place, harness, chance = tmp_path / "log", tmp_path / "place", CrashHarness(), random.Random(SEED)
    await LmdbLog.create(log_dir, 1).close()
    command, promised = [sys.executable, "-m", "tests.support.snapshot_worker", str(log_dir), str(place)], 0
    for fault, lines in plans(chance):
        run = harness.run([*command, str(ROUNDS)], fault=fault, kill_after_lines=lines)
        promised = max([promised, *(int(line.split()[1]) for line in run.lines if line.startswith("taken "))])
        log = LmdbLog.open(log_dir)
        choice = latest(place / "snapshots", log.identity, 0, offset_end=await log.end(EVENTS, 0))
        assert choice.refused == (), "no half of a snapshot stands under the name of one"
        assert (choice.found.manifest.offset_next if choice.found else 0) >= promised
        if (place / "restored").exists():
            CarrierIndex(place / "restored", log.identity, 0).close()
        await log.close()
    assert harness.run([*command, "1"]).ended == FINISHED
    snapshots = place / "snapshots" / "p000"
    left = sorted(name for name in os.listdir(snapshots) if name != ".lock")  # noqa: PTH208  names are all it takes
    assert len(left) == KEEP, "what killed processes left behind is gone"
    log = LmdbLog.open(log_dir)
    with toy_facts():
        expected = await state(log, tmp_path / "from-nothing")
        for name in left:
            verify(snapshots / name)
            restore(snapshots / name, tmp_path / "elsewhere" / name)
            assert await state(log, tmp_path / "elsewhere" / name) == expected
    await log.close()
    print(f"\nseed {SEED}: {harness.report()}")
    harness.assert_all_hit(POINTS)
    assert harness.ends[OUTSIDE]
