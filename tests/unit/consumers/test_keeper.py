"""A keeper and its worker, in one process and with a clock of the test's own (P1, P2, P9, F11, F27; grants and ticks)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import lmdb
import pytest

import consumers.keeper
import consumers.worker
from consumers.carrier_index import CarrierIndex
from consumers.keeper import Keeper
from consumers.membership import OwnsAll
from consumers.partition import Partition
from consumers.worker import Watchdog, Worker
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import IntegrityError, LogDamaged, LogUnavailable, UnknownRecordType
from ledger.following import all_entries
from ledger.log import ALERTS, DECISIONS, EVENTS, Entry, NewEntry, partition_of
from schemas.alerts import AlertRaised, AlertResolved, AnyAlert
from schemas.codec import decode_alert, decode_decision, decode_record
from schemas.decisions import AnyDecision, CompactionGranted, CompactionRefused
from schemas.ids import Position
from schemas.records import AnyRecord, Tick
from tests.support.folding import entries, published
from tests.support.given import applied, opened, request, span, summary, withdrawn
from tests.support.histories import history
from tests.support.toy_facts import toy_facts

NOW_MS = 1_900_000_000_000
PATIENCE_S = 20.0


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy language, and short waits."""
    monkeypatch.setattr(consumers.keeper, "IDLE_S", 0.05)
    monkeypatch.setattr(consumers.worker, "COMMIT_S", 0.05)
    with toy_facts():
        yield


class Clock:
    """Monotonic seconds that a test moves."""

    def __init__(self) -> None:
        self.ahead_s = 0.0
        self._real = time.monotonic

    def monotonic(self) -> float:
        return self._real() + self.ahead_s


async def until(holds: Callable[[], object]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s
        await asyncio.sleep(0.005)


@asynccontextmanager
async def keeping(log: MemoryLog, root: Path) -> AsyncIterator[Keeper]:
    """A keeper of partition 0 that owns it."""

    async def open_index(number: int) -> CarrierIndex:
        return CarrierIndex.create(root / f"p{number}", log.identity, number)

    keeper = Keeper(log, 0, open_index, now_ms=lambda: NOW_MS)
    keeper.start()
    try:
        yield keeper
    finally:
        await keeper.stop()


async def published_all(log: MemoryLog, keeper: Keeper) -> None:
    """Wait until the keeper has folded and published everything."""
    end = await log.end(EVENTS, 0)
    await until(lambda: keeper.status.published >= end)


async def decisions(log: MemoryLog) -> list[AnyDecision]:
    return [decode_decision(entry.value) async for entry in all_entries(log, DECISIONS, 0)]


async def alerts(log: MemoryLog, kind: str) -> list[AnyAlert]:
    found = [decode_alert(entry.value) async for entry in all_entries(log, ALERTS, 0)]
    return [alert for alert in found if alert.kind == kind]


async def say(log: MemoryLog, keeper: Keeper, *records: AnyRecord) -> None:
    await log.append(EVENTS, entries(records))
    await published_all(log, keeper)


def asked(name: str, summary_name: str = "m1") -> AnyRecord:
    return request(name, summary_name, 1)


async def begun(log: MemoryLog, keeper: Keeper) -> None:
    """A session with a span, and a granted request that nobody has carried out."""
    await say(log, keeper, opened(), span(1, "n:40"), summary("m1", "n:40"), summary("m2", "n:40"), asked("q1"))
    (decision,) = await decisions(log)
    assert isinstance(decision, CompactionGranted)


async def test_grant_of_a_client_that_died_stays_pending_and_the_next_request_is_told_so(tmp_path: Path) -> None:
    """Killed between grant and effect: a second compaction is refused `pending:<id>` until the first came to an end."""
    log = MemoryLog()
    async with keeping(log, tmp_path) as keeper:
        await begun(log, keeper)
        await say(log, keeper, asked("q2", "m2"))
        refused = (await decisions(log))[-1]
        assert isinstance(refused, CompactionRefused)
        assert refused.reason == "pending:q1"
        await say(log, keeper, withdrawn("q1"), asked("q3", "m2"))
        assert isinstance((await decisions(log))[-1], CompactionGranted)


async def test_grant_that_comes_after_its_client_gave_up_is_refused_or_withdrawn_in_order(tmp_path: Path) -> None:
    """A withdrawal stands behind its request; whatever was decided meanwhile, nothing is pending behind it."""
    log = MemoryLog()
    async with keeping(log, tmp_path) as keeper:
        await say(log, keeper, opened(), span(1, "n:40"), summary("m1", "n:40"), summary("m2", "n:40"))
        await log.append(EVENTS, entries([asked("q1"), withdrawn("q1")]))  # the client gave up before anybody decided
        await say(log, keeper, asked("q2", "m2"))
        late, next_ = await decisions(log)
        assert isinstance(late, CompactionGranted)
        assert isinstance(next_, CompactionGranted)
        await say(log, keeper, applied("q1", "n:40"))  # and it acts on the late grant all the same: that is seen
        assert not await alerts(log, "grant_pending")


async def test_grant_that_is_pending_too_long_raises_a_ticket_that_its_end_resolves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tick asks, once; the fold raises `grant_pending`; the application of the grant resolves it."""
    clock = Clock()
    monkeypatch.setattr(consumers.keeper, "TIMERS_S", 0.0)
    monkeypatch.setattr(consumers.keeper, "IDLE_S", 0.01)
    monkeypatch.setattr(consumers.keeper.time, "monotonic", clock.monotonic)
    log = MemoryLog()
    async with keeping(log, tmp_path) as keeper:
        await begun(log, keeper)
        events = await log.end(EVENTS, 0)
        await asyncio.sleep(0.1)
        clock.ahead_s = consumers.keeper.GRANT_PENDING_S - 5
        await asyncio.sleep(0.1)
        assert await log.end(EVENTS, 0) == events  # not yet
        clock.ahead_s = consumers.keeper.GRANT_PENDING_S + 5
        await until(lambda: keeper.status.published > events)
        for _ in range(5):
            await asyncio.sleep(0.02)
        ticks = [decode_record(entry.value) async for entry in all_entries(log, EVENTS, 0, events)]
        assert [(each.timer, each.due_ms) for each in ticks if isinstance(each, Tick)] == [("grant:q1", NOW_MS)]
        (raised,) = await alerts(log, "grant_pending")
        assert isinstance(raised, AlertRaised)
        assert (raised.severity, raised.rule) == ("ticket", "C3")
        await say(log, keeper, applied("q1", "n:40"))
        resolved = (await alerts(log, "grant_pending"))[-1]
        assert isinstance(resolved, AlertResolved)
        assert resolved.fingerprint == raised.fingerprint


class Gate(MemoryLog):
    """A log whose reads wait at a gate, and whose output topics can be out of reach."""

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()
        self.open.set()
        self.waiting = 0
        self.deaf = False

    async def read(
        self, topic: str, partition: int, offset: int, *, max_entries: int = 1000, max_bytes: int = 8 << 20
    ) -> list[Entry]:
        self.waiting += 1
        await self.open.wait()
        self.waiting -= 1
        return await super().read(topic, partition, offset, max_entries=max_entries, max_bytes=max_bytes)

    async def append(self, topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        if self.deaf and topic != EVENTS:
            raise LogUnavailable("out of reach")
        return await super().append(topic, entries)


@pytest.mark.parametrize("owned", [True, False])
async def test_ownership_that_changes_while_the_index_is_recovered_is_not_forgotten(tmp_path: Path, owned: bool) -> None:
    """P9: who is the owner in the end publishes, and nobody else, whenever the group changed its mind."""
    log = Gate()
    await log.append(EVENTS, entries([opened(), span(1, "n:40"), span(1, "n:41")]))
    log.open.clear()
    async with keeping(log, tmp_path) as keeper:
        if owned:  # lost before the partition is made, gained while it takes over
            await keeper.own(False)
        await until(lambda: log.waiting)
        await keeper.own(owned)
        log.open.set()
        await until(lambda: keeper.status.state == "live" and keeper.status.offset == 3)
        assert keeper.partition is not None
        assert keeper.partition.publishes is owned
        assert bool(await published(log)) is owned


async def test_stop_does_not_fold_the_whole_backlog_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F27: the batch under way is finished and published, the rest is left to whoever comes next."""
    monkeypatch.setattr(consumers.partition, "BATCH_ENTRIES", 5)
    log = MemoryLog()
    await log.append(EVENTS, entries(history(1, 400)))
    async with keeping(log, tmp_path) as keeper:
        await until(lambda: keeper.status.offset >= 5)
        await keeper.stop()
        assert keeper.status.offset < 200
        assert keeper.status.published == keeper.status.offset
    async with keeping(log, tmp_path) as keeper:
        await published_all(log, keeper)


async def test_decisions_before_a_record_of_an_unknown_type_are_published(tmp_path: Path) -> None:
    """Three faults: the partition stands still before it, says where and why, and keeps no answer back."""
    log = MemoryLog()
    await log.append(EVENTS, entries([opened(), span(1, "n:40"), summary("m1", "n:40"), asked("q1")]))
    await log.append(EVENTS, [NewEntry("s1", b'{"type":"span.scored.v1","id":"x","scope":"s1"}')])
    await log.append(EVENTS, entries([summary("m2", "n:40")]))
    for _ in range(2):  # and after a restart still
        async with keeping(log, tmp_path) as keeper:
            await until(lambda: keeper.status.state == "halted")
            assert keeper.status.offset == 4
            assert keeper.status.exit_code == UnknownRecordType.exit_code
            assert "span.scored.v1" in keeper.status.reason
        (decision,) = await decisions(log)
        assert isinstance(decision, CompactionGranted)


async def test_record_whose_output_contradicts_the_log_leaves_no_trace_in_the_index(tmp_path: Path) -> None:
    """P8: a fold that stops at it stops there again after a restart, since nothing of the record was kept."""
    log = MemoryLog()
    await log.append(EVENTS, entries([opened(), span(1, "n:40"), summary("m1", "x"), asked("q1")]))
    first = tmp_path / "first"
    async with keeping(log, first) as keeper:
        await published_all(log, keeper)
    (right,) = await log.read(DECISIONS, 0, 0)
    forged = MemoryLog()
    await forged.append(EVENTS, [NewEntry(entry.key, entry.value) for entry in await log.read(EVENTS, 0, 0)])
    await forged.append(DECISIONS, [NewEntry("s1", right.value.replace(b"below_floor", b"other_words"))])
    for _ in range(2):
        async with keeping(forged, tmp_path / "second") as keeper:
            await until(lambda: keeper.status.state == "halted")
            assert "other bytes" in keeper.status.reason
            assert (keeper.status.offset, keeper.status.exit_code) == (3, IntegrityError.exit_code)
    assert await forged.end(DECISIONS, 0) == 1


async def test_log_that_does_not_answer_is_waited_for(tmp_path: Path) -> None:
    """F8: nothing is lost, nothing is said twice, and the state tells what is waited for."""
    log = Gate()
    async with keeping(log, tmp_path) as keeper:
        await until(lambda: keeper.status.state == "live")
        log.deaf = True
        await log.append(EVENTS, entries([opened(), span(1, "n:40"), span(1, "n:41")]))
        await until(lambda: keeper.status.state == "waiting")
        assert "out of reach" in keeper.status.reason
        assert keeper.status.published == 0
        keeper.status.moved_s = 0.0
        await until(lambda: keeper.status.moved_s)  # what is waited for is no standstill, which would end the process
        log.deaf = False
        await published_all(log, keeper)
        await until(lambda: keeper.status.state == "live")
    assert len((await published(log))["s1"]) == 2
    assert await log.end(DECISIONS, 0) == 1


async def test_store_that_takes_no_write_any_more_is_opened_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F14: after a failed write of its own head the engine refuses everything until the file is mapped anew."""
    log = MemoryLog()
    broken: list[Partition] = []
    fold_batch = Partition.fold_batch

    def failing(self: Partition, found: list[Entry]) -> int:
        broken.append(self)
        if self is broken[0]:
            raise self.index.file.explain(lmdb.PanicError("a write failed")) from lmdb.PanicError("a write failed")
        return fold_batch(self, found)

    monkeypatch.setattr(Partition, "fold_batch", failing)
    async with keeping(log, tmp_path) as keeper:
        await log.append(EVENTS, entries([opened(), span(1, "n:40")]))
        await published_all(log, keeper)
        assert keeper.partition is not broken[0]


class Reconnecting(MemoryLog):
    """A log whose connections break, and which may be another one behind them."""

    def __init__(self) -> None:
        super().__init__(log_id="same")
        self.connections = 1


async def test_tail_lost_and_grown_anew_behind_a_broken_connection_is_noticed(tmp_path: Path) -> None:
    """F7, P8: the next offset is there and dense; the last folded record is not what it was."""
    log = Reconnecting()
    await log.append(EVENTS, entries([opened(), span(1, "n:40"), span(2, "n:7")]))
    index = CarrierIndex.create(tmp_path / "p0", log.identity, 0)
    partition = Partition(log, index, 0)
    await partition.catch_up()
    await log.append(EVENTS, entries([span(3, "n:8")]))
    log.connections += 1
    await partition.catch_up()  # a new connection to the same log is no fault
    first = log._entries[EVENTS][0][:1]
    log._entries[EVENTS][0][:] = first
    await log.append(EVENTS, entries([span(number, "n:9") for number in range(11, 17)]))
    log.connections += 1
    with pytest.raises(LogDamaged, match="something else"):
        await partition.catch_up()
    partition.close()
    index.close()


def worker_of(log: MemoryLog, root: Path, **options: float) -> Worker:
    async def open_index(number: int) -> CarrierIndex:
        return CarrierIndex.create(root / f"p{number}", log.identity, number)

    return Worker(log, OwnsAll(log.identity.partitions), open_index, now_ms=lambda: NOW_MS, **options)  # type: ignore[arg-type]


async def test_worker_that_is_idle_ends_with_everything_published_and_committed(tmp_path: Path) -> None:
    log = MemoryLog(4)
    for scope in ("s1", "s2", "s3", "s4", "s5"):
        await log.append(EVENTS, entries(history(scope, 60, scope)))
    worker = worker_of(log, tmp_path, exit_when_idle_s=0.0)
    assert await worker.run() == 0
    said = await worker.membership.committed()
    assert said == {number: await log.end(EVENTS, number) for number in range(4)}


async def test_halted_partition_ends_an_idle_worker_with_its_code_and_the_others_go_on(tmp_path: Path) -> None:
    log = MemoryLog(4)
    bad = "s1"
    good = next(f"g{n}" for n in range(9) if partition_of(f"g{n}", 4) != partition_of(bad, 4))
    await log.append(EVENTS, [NewEntry(bad, b'{"type":"span.scored.v1","id":"x","scope":"s1"}')])
    await log.append(EVENTS, entries(history(2, 60, good)))
    worker = worker_of(log, tmp_path, exit_when_idle_s=0.0)
    assert await worker.run() == 5
    assert (await published(log)).keys() == {good}


async def halted_status(worker: Worker) -> None:
    await until(lambda: any(keeper.status.state == "halted" for keeper in worker.keepers.values()))


async def test_worker_says_not_ready_and_not_healthy_while_a_partition_is_halted(tmp_path: Path) -> None:
    log = MemoryLog(1)
    await log.append(EVENTS, [NewEntry("s1", b'{"type":"span.scored.v1","id":"x","scope":"s1"}')])
    worker = worker_of(log, tmp_path)
    running = asyncio.create_task(worker.run())
    await halted_status(worker)
    assert (worker.status().readiness, worker.status().healthy) == ("not ready", False)
    worker.end()
    assert await running == 5


async def test_watchdog_names_what_stands_still_and_readiness_is_lost_before_it_ends_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F5: a fold that hangs and a loop that hangs; a partition without work never counts."""
    log = MemoryLog(1)
    await log.append(EVENTS, entries([opened()]))
    worker = worker_of(log, tmp_path, watchdog_s=60.0)
    worker._watchdog.start = lambda: None  # type: ignore[method-assign]  its thread would end this process
    running = asyncio.create_task(worker.run())
    await until(lambda: worker.status().readiness == "ready")
    watchdog: Watchdog = worker._watchdog
    now_s = time.monotonic()
    assert watchdog.fault(now_s) == ""
    assert "event loop" in watchdog.fault(now_s + 61)
    keeper = worker.keepers[0]
    monkeypatch.setattr(keeper.status, "end", 2)
    keeper.status.moved_s = now_s - 40
    assert watchdog.fault(now_s) == ""
    assert worker.status().readiness == "not ready"
    keeper.status.moved_s = now_s - 61
    assert "partition 0 did not move from offset 1" in watchdog.fault(now_s)
    worker.end()
    await running


async def test_two_owners_at_once_only_repeat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F3, P2: a group may be wrong about who owns what; both say the same bytes."""
    monkeypatch.setattr(consumers.partition, "BATCH_ENTRIES", 7)
    log = MemoryLog()
    async with keeping(log, tmp_path / "a") as first, keeping(log, tmp_path / "b") as second:
        records = history(9, 300)
        for at in range(0, len(records), 10):
            await log.append(EVENTS, entries(records[at : at + 10]))
            await asyncio.sleep(0)
        await published_all(log, first)
        await published_all(log, second)
    assert len((await published(log))["s1"]) > 40


async def test_partition_that_the_log_was_not_made_with_halts_and_touches_nothing(tmp_path: Path) -> None:
    """F11: topics that grew under a worker; the group gives it what no scope of its log belongs into."""
    log = MemoryLog(2)

    async def open_index(number: int) -> CarrierIndex:
        raise AssertionError(number)

    keeper = Keeper(log, 2, open_index, now_ms=lambda: NOW_MS)
    keeper.start()
    await until(lambda: keeper.status.state == "halted")
    assert keeper.status.exit_code == LogDamaged.exit_code
    assert "has a partition 2, the log was made with 2" in keeper.status.reason
    await keeper.stop()


class Burying(MemoryLog):
    """A log with dead letters."""

    def __init__(self) -> None:
        super().__init__()
        self.buried: list[bytes] = []

    async def bury(self, entries: Sequence[NewEntry]) -> None:
        self.buried += [entry.value for entry in entries]


async def test_bad_bytes_that_were_folded_without_ownership_reach_the_dead_letters_all_the_same(tmp_path: Path) -> None:
    """F19: in the moments of a rebalance the fold goes on, and nobody else may have kept them."""
    log = Burying()
    await log.append(EVENTS, [NewEntry("s1", b"{")])
    index = CarrierIndex.create(tmp_path / "p0", log.identity, 0)
    partition = Partition(log, index, 0, publish=False, learn=True)
    await partition.catch_up()
    assert log.buried == []
    await partition.own(True)
    await partition.catch_up()
    assert log.buried == [b"{"]
    partition.close()
    index.close()


class Silent(OwnsAll):
    """A group whose coordinator is away."""

    async def commit(self, offsets: Mapping[int, int]) -> bool:
        return False


async def test_worker_whose_group_does_not_answer_is_not_ready_and_lives(tmp_path: Path) -> None:
    """F6: an outage is waited for, however long; it is told, and is no standstill of this process."""
    log = MemoryLog(1)
    await log.append(EVENTS, entries([opened()]))
    worker = worker_of(log, tmp_path)
    worker.membership = Silent(1)
    running = asyncio.create_task(worker.run())
    await until(lambda: worker.keepers and worker.keepers[0].status.state == "live")
    await until(lambda: worker.status().readiness == "not ready")
    assert worker.status().healthy
    worker.end()
    assert await running == 0


class Hanging(OwnsAll):
    """A group that takes its time."""

    async def commit(self, offsets: Mapping[int, int]) -> bool:
        await asyncio.sleep(0.3)
        return True


async def test_worker_that_waits_for_its_group_goes_on_beating(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F5: what the watchdog looks for is a loop that does not run, and not one that waits."""
    monkeypatch.setattr(consumers.worker, "BEAT_S", 0.01)
    worker = worker_of(MemoryLog(1), tmp_path)
    worker.membership = Hanging(1)
    running = asyncio.create_task(worker.run())
    await until(lambda: worker.keepers and worker.keepers[0].status.state == "live")
    await asyncio.sleep(0.2)
    assert time.monotonic() - worker._watchdog._beat_s < 0.15
    worker.end()
    await running
