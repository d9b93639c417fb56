"""Requests behind long work of other scopes: answered beside it, in the fold's own bytes, once and in order (P2, P3, P9)."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import consumers.answering_ahead
import consumers.folding
from consumers.carrier_index import CarrierIndex
from consumers.partition import Partition
from ledger.adapters.memory_log import MemoryLog
from ledger.fold import Step, step
from ledger.log import DECISIONS, EVENTS
from ledger.recorded import Recorded
from ledger.state import Rows
from schemas.codec import decode_decision
from schemas.decisions import RecordRejected
from schemas.records import AnyRecord, CompactionObserved
from tests.support import given as g
from tests.support.folding import ends, entries, fold_all, published
from tests.support.histories import history
from tests.support.toy_facts import toy_facts

BUSY, ASKS = "busy", "asks"
PATIENCE_S = 20.0


@pytest.fixture(autouse=True)
def toy() -> Iterator[None]:
    """The toy language."""
    with toy_facts():
        yield


class Gate:
    """Holds the fold at records of a kind until it is opened. What is decided beside the fold is not held."""

    def __init__(self, holds: Callable[[AnyRecord], bool]) -> None:
        self._holds = holds
        self.reached, self.open = threading.Event(), threading.Event()

    def step(self, view: Rows, record: AnyRecord, recorded: Recorded | None = None) -> Step:
        if self._holds(record):
            self.reached.set()
            assert self.open.wait(PATIENCE_S)
        return step(view, record, recorded)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    """The fold stops within a round of the busy scope."""
    made = Gate(lambda record: isinstance(record, CompactionObserved) and record.scope == BUSY)
    monkeypatch.setattr(consumers.folding, "step", made.step)
    yield made
    made.open.set()


@asynccontextmanager
async def following(log: MemoryLog, root: Path) -> AsyncIterator[Partition]:
    """A partition that folds and publishes what arrives."""
    index = CarrierIndex.create(root / "index", log.identity, 0)
    partition = Partition(log, index, 0)
    await partition.catch_up()

    async def follow() -> None:
        while True:
            if await partition.arrived(1.0):
                await partition.advance()

    task = asyncio.create_task(follow())
    try:
        yield partition
    finally:
        task.cancel()
        await asyncio.wait([task])
        await partition.stop_reading()
        partition.close()
        index.close()


async def said(log: MemoryLog, scope: str, *names: str) -> None:
    """Wait for these decisions of a scope, in this order; without names for any."""
    deadline_s = time.monotonic() + PATIENCE_S
    found = await decided(log, scope)
    while found != [*names] if names else not found:
        assert time.monotonic() < deadline_s
        await asyncio.sleep(0.005)
        found = await decided(log, scope)


async def until(holds: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s
        await asyncio.sleep(0.005)


async def decided(log: MemoryLog, scope: str) -> list[str]:
    """Request ids of what is decided in a scope, in the order of the log."""
    found = [decode_decision(entry.value) for entry in await log.read(DECISIONS, 0, 0) if entry.key == scope]
    return [each.request_id for each in found]


def asking(*names: str) -> list[AnyRecord]:
    """Requests of the scope that asks, each for its own summary."""
    return [g.request(name, "m1", 1, session=ASKS, scope=ASKS) for name in names]


def begun() -> list[AnyRecord]:
    """A session that will ask, and one whose backfill ends with a round."""
    return [
        g.opened(ASKS, scope=ASKS), g.span(1, "n:40", session=ASKS, scope=ASKS), g.summary("m1", "x", session=ASKS, scope=ASKS),
        g.opened(BUSY, scope=BUSY), g.span(1, "n:7", session=BUSY, scope=BUSY),
    ]  # fmt: skip


def round_() -> AnyRecord:
    """What takes long."""
    return g.observed("r1", None, turn=1, session=BUSY, scope=BUSY)


async def test_request_behind_a_round_of_another_scope_is_answered_while_that_is_folded(tmp_path: Path, gate: Gate) -> None:
    """A backfill does not delay live requests, also where one record of it takes long."""
    log = MemoryLog(partitions=1)
    await log.append(EVENTS, entries(begun()))
    async with following(log, tmp_path) as partition:
        await log.append(EVENTS, entries([round_()]))
        await until(gate.reached.is_set)
        await log.append(EVENTS, entries(asking("q1")))
        await said(log, ASKS, "q1")
        await log.append(EVENTS, entries(asking("q2", "q3")))
        await said(log, ASKS, "q1", "q2", "q3")
        assert not gate.open.is_set()
        assert partition.answered_ahead == 3
        gate.open.set()
        await until(lambda: partition.published_next == 9)
    plain = MemoryLog(partitions=1)
    await plain.append(EVENTS, entries([*begun(), round_(), *asking("q1", "q2", "q3")]))
    await fold_all(plain, tmp_path / "plain")
    assert await published(log) == await published(plain)
    assert await ends(log) == await ends(plain)


async def test_process_that_ends_after_an_answer_and_before_its_commit_says_nothing_twice(tmp_path: Path, gate: Gate) -> None:
    """P9: who takes over folds the same records, says the same bytes, and finds them on record."""
    log = MemoryLog(partitions=1)
    await log.append(EVENTS, entries(begun()))
    async with following(log, tmp_path / "first"):
        await log.append(EVENTS, entries([round_()]))
        await until(gate.reached.is_set)
        await log.append(EVENTS, entries(asking("q1")))
        await said(log, ASKS)
        gate.open.set()  # a thread cannot be killed; the other index has nothing of what this one folded
        await fold_all(log, tmp_path / "second")
    before = await ends(log)
    await fold_all(log, tmp_path / "third")
    assert await ends(log) == before
    assert await decided(log, ASKS) == ["q1"]
    await published(log)


async def test_what_its_own_scope_says_before_a_request_goes_out_before_its_answer(tmp_path: Path, gate: Gate) -> None:
    """P9: in order within a scope, also of what is said ahead."""
    log = MemoryLog(partitions=1)
    await log.append(EVENTS, entries(begun()))
    rewritten = g.span(1, "n:41", session=ASKS, scope=ASKS)
    async with following(log, tmp_path) as partition:
        await log.append(EVENTS, entries([round_()]))
        await until(gate.reached.is_set)
        await log.append(EVENTS, entries([rewritten, *asking("q1")]))
        await said(log, ASKS, "", "q1")
        gate.open.set()
        await until(lambda: partition.published_next == 8)
    first, second = [decode_decision(entry.value) for entry in await log.read(DECISIONS, 0, 0) if entry.key == ASKS]
    assert isinstance(first, RecordRejected)
    assert second.request_id == "q1"
    await published(log)


async def test_request_of_the_scope_whose_round_is_folded_waits_for_it(tmp_path: Path, gate: Gate) -> None:
    """P5: nothing is decided on a view that lacks a record before the request."""
    log = MemoryLog(partitions=1)
    await log.append(EVENTS, entries([*begun(), g.summary("m9", "x", session=BUSY, scope=BUSY)]))
    async with following(log, tmp_path) as partition:
        await log.append(EVENTS, entries([round_()]))
        await until(gate.reached.is_set)
        await log.append(EVENTS, entries([g.request("own", "m9", 1, session=BUSY, scope=BUSY), *asking("q1")]))
        await said(log, ASKS)
        assert await decided(log, BUSY) == []
        gate.open.set()
        await until(lambda: partition.published_next == 9)
    assert (await decided(log, BUSY))[-1] == "own"


@pytest.mark.parametrize("seed", range(6))
async def test_p2_whatever_is_said_ahead_the_outputs_are_those_of_the_plain_fold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """P2, P3: the same bytes in the same order for each scope, as many times, however arrivals and batches fall."""
    chance = random.Random(seed)
    queues = [history((seed, scope), 60, scope) for scope in ("alpha", "beta", "gamma")]
    mixed: list[Any] = []
    while any(queues):
        mixed.append(chance.choice([queue for queue in queues if queue]).pop(0))

    def slow(view: Rows, record: AnyRecord, recorded: Recorded | None = None) -> Step:
        time.sleep(0.0005)
        return step(view, record, recorded)

    monkeypatch.setattr(consumers.folding, "step", slow)
    monkeypatch.setattr(consumers.answering_ahead, "WAIT_MS_WORTH", 0.0)
    log, plain = MemoryLog(partitions=1), MemoryLog(partitions=1)
    async with following(log, tmp_path) as partition:
        while mixed:
            size = chance.randrange(1, 12)
            await log.append(EVENTS, entries(mixed[:size]))
            await plain.append(EVENTS, entries(mixed[:size]))
            del mixed[:size]
            await asyncio.sleep(chance.choice((0, 0, 0.002)))
        end = await log.end(EVENTS, 0)
        await until(lambda: partition.published_next == end)
        assert partition.answered_ahead
        digests = {}
        with partition.index.snapshot() as snapshot:
            digests = {scope: snapshot.scope_digest(scope) for scope in snapshot.scopes()}
    assert digests == await fold_all(plain, tmp_path / "plain")
    assert await published(log) == await published(plain)
    assert await ends(log) == await ends(plain)
