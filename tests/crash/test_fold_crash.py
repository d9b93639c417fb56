"""kill -9 of a folding process at every named point and at arbitrary moments, while appenders are killed too.

At the end nothing is lost and nothing doubled: state and outputs are those of a fold that nobody disturbed (P1, P2, P3, P9).
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from consumers.carrier_index import CarrierIndex
from ledger.adapters.lmdb_log import LmdbLog
from ledger.following import all_entries
from ledger.log import EVENTS, TOPICS
from schemas.codec import decode_record, encode
from schemas.records import AnyRecord
from tests.support.crash import FINISHED, OUTSIDE, PATIENCE_S, PROJECT, CrashHarness, points
from tests.support.fold_worker import End, Life, records_of
from tests.support.folding import ends, fold_all, index_directory, published
from tests.support.given import Fold
from tests.support.toy_facts import toy_facts

pytestmark = pytest.mark.crash
SEED = 20261110
CHUNK = 12
"""Records that are appended during one life of the fold."""

FOLD_POINTS = [*points("index.commit."), *points("publish."), *points("log.append.")]
APPEND_POINTS = points("log.append.")


class Server:
    """A process that lives one life after another (`tests.support.fold_worker`)."""

    def __init__(self, process: asyncio.subprocess.Process, harness: CrashHarness) -> None:
        self._process = process
        self._harness = harness

    async def live(self, life: Life) -> End:
        """One life; how it ended is counted. Raises `AssertionError` if it ended in a way that nobody asked for."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(life) + b"\n")
        line = await asyncio.wait_for(self._process.stdout.readline(), PATIENCE_S)
        end = msgspec.json.decode(line, type=End)
        announced = end.stderr.split()
        if end.status == 0:
            self._harness.ends[FINISHED] += 1
        else:
            assert end.status == -9, f"{life}: {end.stderr[-3000:]}"
            self._harness.ends[announced[1] if announced else OUTSIDE] += 1
            assert announced or life.kill_after is not None
        return end


@asynccontextmanager
async def server(log_dir: Path, root: Path, harness: CrashHarness) -> AsyncIterator[Server]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.fold_worker", str(log_dir), str(root),
        cwd=PROJECT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 24,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    try:
        yield Server(process, harness)
    finally:
        process.stdin.close()
        await process.wait()


def plan(chance: random.Random) -> list[Life]:
    """Every point at its first, second and a later hit, and as many kills from outside, in any order."""
    lives = [Life(work="fold", fault=f"{point}:{nth}") for point in FOLD_POINTS for nth in (1, 2, chance.randrange(3, 6))]
    lives += [Life(work="fold", kill_after=chance.randrange(1, 4)) for _ in range(30)]
    chance.shuffle(lives)
    return lives


class Appender:
    """Appends a mixed history in lives of its own. After a kill it goes on from what was acknowledged, so that an entry which
    was durable already is delivered again.
    """

    def __init__(self, worker: Server, chance: random.Random) -> None:
        self._worker = worker
        self._chance = chance
        with toy_facts():
            self.records = records_of(SEED)
        self.acknowledged = 0

    async def chunk(self, done: Path) -> None:
        """Append some records, now and then in two lives, and say so by making `done`."""
        goal = min(self.acknowledged + CHUNK, len(self.records))
        while self.acknowledged < goal:
            fault = ""
            if self._chance.random() < 0.3:
                fault = f"{self._chance.choice(APPEND_POINTS)}:{self._chance.randrange(1, CHUNK)}"
            life = Life(work="append", fault=fault, seed=SEED, start=self.acknowledged, count=goal - self.acknowledged)
            self.acknowledged += len((await self._worker.live(life)).lines)
        done.touch()  # noqa: ASYNC240  one file, made between two lives


async def recorded(log: LmdbLog) -> dict[str, list[AnyRecord]]:
    """What the log holds, by scope, after everything that can be checked about it was."""
    found: dict[str, list[AnyRecord]] = {}
    for number in range(log.identity.partitions):
        for topic in TOPICS:
            assert await log.verify(topic, number) is None
        async for entry in all_entries(log, EVENTS, number):
            found.setdefault(entry.key, []).append(decode_record(entry.value))
    return found


async def test_fold_killed_at_every_point_and_at_random_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """P1, P2, P3, P9: with appenders killed beside it, an index deleted on the way, and one life after another."""
    log_dir, root, chance = tmp_path / "log-dir", tmp_path / "indexes", random.Random(SEED)
    await LmdbLog.create(log_dir, 2).close()
    folds, appends = CrashHarness(), CrashHarness()
    async with server(log_dir, root, folds) as folder, server(log_dir, root, appends) as worker:
        appender = Appender(worker, chance)
        for number, life in enumerate(plan(chance)):
            done = tmp_path / f"done-{number}"
            life.until = str(done)
            if number == 30:
                CarrierIndex.discard(index_directory(root, 0))
            await asyncio.gather(folder.live(life), appender.chunk(done))
        await appender.chunk(tmp_path / "done")
        await folder.live(Life(work="fold", until=str(tmp_path / "done")))

    expected: dict[str, list[AnyRecord]] = {}
    for record in appender.records[: appender.acknowledged]:
        expected.setdefault(record.scope, []).append(record)
    log = LmdbLog.open(log_dir)
    try:
        found = await recorded(log)
        said, count = await published(log), await ends(log)
        with toy_facts():
            undisturbed = {scope: Fold(recount=False).take(records) for scope, records in expected.items()}
            digests = await fold_all(log, root)
        assert await ends(log) == count, "everything was published before"
    finally:
        await log.close()
    assert {scope: distinct(records) for scope, records in found.items()} == {
        scope: distinct(records) for scope, records in expected.items()
    }
    assert digests == {scope: fold.rows.digest(scope) for scope, fold in undisturbed.items()}
    assert said == {scope: [raw for _, raw in fold.outputs] for scope, fold in undisturbed.items()}
    kills = Counter(folds.ends) + Counter(appends.ends)
    del kills[FINISHED]
    outputs = sum(len(each) for each in said.values())
    print(f"\nseed {SEED}: fold: {folds.report()}\nappend: {appends.report()}")
    print(
        f"{kills.total()} kills; {appender.acknowledged} records, {outputs} outputs, {sum(count.values()) - outputs} said again"
    )
    folds.assert_all_hit(FOLD_POINTS)
    assert folds.ends[OUTSIDE] >= 10


def distinct(records: list[AnyRecord]) -> list[bytes]:
    """Records in order of their first appearance."""
    return list(dict.fromkeys(encode(record) for record in records))
