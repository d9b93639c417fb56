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
from consumers.folding import stray_scope
from consumers.partition import Partition
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import IntegrityError, UnknownRecordType
from ledger.fold import Step, step
from ledger.log import DECISIONS, EVENTS, Entry, NewEntry
from ledger.recorded import Recorded
from ledger.state import Rows
from schemas.codec import decode_decision
from schemas.decisions import RecordRejected
from schemas.ids import Position
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
        fault = None if task.cancelled() else task.exception()
        await partition.stop_reading()
        partition.close()
        index.close()
        if fault is not None:
            raise fault


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


async def waiting_behind(log: MemoryLog, root: Path, gate: Gate, new: list[NewEntry]) -> None:
    """These come while a round is folded, then the fold goes on. Raises what it stops with."""
    async with following(log, root) as partition:
        await log.append(EVENTS, entries([round_()]))
        await until(gate.reached.is_set)
        await log.append(EVENTS, new)
        await until(lambda: [*partition._waiting])
        gate.open.set()
        await asyncio.sleep(0.3)


async def test_nothing_is_answered_behind_an_offset_that_is_missing(tmp_path: Path, gate: Gate) -> None:
    """P1, P5: the record that is not there may be one of the request's own scope; the fold stops before it."""
    log = Holed()
    await log.append(EVENTS, entries(begun()))
    log.hole = 6
    with pytest.raises(IntegrityError, match="offset 6 is missing"):
        await waiting_behind(log, tmp_path, gate, entries([g.span(1, "n:41", session=ASKS, scope=ASKS), *asking("q1")]))
    assert await decided(log, ASKS) == []


class Holed(MemoryLog):
    """A log that lost a record in its middle."""

    hole: int | None = None

    def __init__(self) -> None:
        super().__init__(partitions=1)

    async def read(self, topic: str, partition: int, offset: int, **limits: int) -> list[Entry]:
        found = await super().read(topic, partition, offset, **limits)
        return [entry for entry in found if topic != EVENTS or entry.position.offset != self.hole]


@pytest.mark.parametrize("value", [b'{"type":"of.a.later.release.v1"}', b'{"scope":"x", "type":"of.a.later.release.v1"}'])
async def test_nothing_is_answered_behind_a_record_of_an_unknown_type(tmp_path: Path, gate: Gate, value: bytes) -> None:
    """Three faults: the partition stands before it, whoever it is of, and says nothing of what comes after."""
    log = MemoryLog(partitions=1)
    await log.append(EVENTS, entries(begun()))
    with pytest.raises(UnknownRecordType, match=r"of\.a\.later\.release"):
        await waiting_behind(log, tmp_path, gate, [NewEntry("other", value), *entries(asking("q1"))])
    assert await decided(log, ASKS) == []


async def test_scope_that_speaks_of_strays_is_not_answered_ahead(tmp_path: Path, gate: Gate) -> None:
    """P2, P9: what is misrouted under another key takes a number there, so no number is known ahead."""
    stray = stray_scope(0, 1)
    own = {"session": stray, "scope": stray}
    log = MemoryLog(partitions=1)
    before = [g.opened(stray, scope=stray), g.span(1, "n:40", **own), g.summary("m1", "n:40", **own)]
    await log.append(EVENTS, entries([*before, *begun()[3:]]))
    async with following(log, tmp_path) as partition:
        await log.append(EVENTS, entries([round_()]))
        await until(gate.reached.is_set)
        log._entries[EVENTS][0].append(Entry(Position(EVENTS, 0, 6), "", b"published past the ledger"))
        await log.append(EVENTS, entries([g.request("q1", "m1", 1, **own)]))
        await until(lambda: len([*partition._waiting]) == 2)
        gate.open.set()
        await until(lambda: partition.published_next == 8)
    numbers = [decode_decision(entry.value).output_seq for entry in await log.read(DECISIONS, 0, 0) if entry.key == stray]
    assert len(numbers) == 2
    assert numbers == sorted(set(numbers))


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
