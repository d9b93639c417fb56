"""The adapter under faults: a broker killed or deaf, answers lost, callers that wait (F6, F8, L1, L2, L8, L12)."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Iterator

import pytest

from ledger import faults
from ledger.adapters.kafka_log import KafkaLog
from ledger.errors import AppendUnfinished, LogClosed, LogUnavailable
from ledger.following import all_entries, wait_for
from ledger.log import ALERTS, DECISIONS, EVENTS, NewEntry, partition_of
from ops.kafka.broker import Cluster
from schemas.ids import Position
from tests.support.broker import new_log, started

pytestmark = pytest.mark.integration


@pytest.fixture
async def log(broker: str) -> AsyncIterator[KafkaLog]:
    log = await new_log(broker, 4, timeout_s=10)
    yield log
    await log.close()


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A broker that these tests may hurt."""
    cluster = started(tmp_path_factory.mktemp("kafka-faults"))
    yield cluster
    cluster.stop()


@pytest.fixture
def armed() -> Iterator[None]:
    yield
    faults.arm("")


async def test_broker_killed_under_load_loses_and_reorders_nothing_acknowledged(own_broker: Cluster) -> None:
    """F6, L1, L2: appends, a reader and somebody who waits live through `kill -9` and a restart."""
    log = await new_log(own_broker.servers, 1, timeout_s=60)
    acknowledged: dict[int, bytes] = {}
    stop, appended = asyncio.Event(), asyncio.Event()

    async def appending(name: str) -> None:
        number = 0
        while not stop.is_set():
            entries = [NewEntry(name, f"{name}-{number + n}".encode()) for n in range(5)]
            positions = await log.append(EVENTS, entries)
            acknowledged.update((at.offset, entry.value) for at, entry in zip(positions, entries, strict=True))
            number += 5

    read: list[bytes] = []

    async def following() -> None:
        while not appended.is_set() or len(read) < await log.end(EVENTS, 0):
            if await wait_for(log, EVENTS, 0, len(read), 0.2):
                read.extend(entry.value for entry in await log.read(EVENTS, 0, len(read)))

    writers, reader = [asyncio.create_task(appending(f"writer-{n}")) for n in range(8)], asyncio.create_task(following())
    while len(acknowledged) < 500:  # noqa: ASYNC110  the count is what is waited for
        await asyncio.sleep(0.01)
    own_broker.kill_node(1)
    before = len(acknowledged)
    own_broker.start_node(1)
    await asyncio.to_thread(own_broker.wait_ready)
    while len(acknowledged) < before + 500:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    stop.set()
    await asyncio.gather(*writers)
    appended.set()
    await reader
    found = [entry async for entry in all_entries(log, EVENTS, 0)]
    await log.close()
    assert [entry.position.offset for entry in found] == list(range(len(found)))
    assert read == [entry.value for entry in found]
    assert all(found[offset].value == value for offset, value in acknowledged.items())
    for n in range(8):
        numbers = [int(entry.value.rpartition(b"-")[2]) for entry in found if entry.key == f"writer-{n}"]
        assert numbers == list(range(len(numbers)))  # nothing twice either, for one producer lived through it


async def test_deaf_broker_is_given_up_in_time_and_used_again_once_it_hears(own_broker: Cluster) -> None:
    """F8, L8: an append that nobody answers ends, says that its outcome is unknown, and the next one works."""
    log = await new_log(own_broker.servers, 1, timeout_s=2)
    await log.append(EVENTS, [NewEntry("scope", b"before")])
    own_broker.signal_node(1, signal.SIGSTOP)
    try:
        with pytest.raises(AppendUnfinished, match=own_broker.servers) as raised:
            await log.append(EVENTS, [NewEntry("scope", b"lost?")])
        assert (raised.value.positions, raised.value.unknown, raised.value.exit_code) == ((None,), (0,), 4)
        with pytest.raises(LogUnavailable, match=r"gave up after 2 s"):
            await log.read(EVENTS, 0, 0)
    finally:
        own_broker.signal_node(1, signal.SIGCONT)
    for _ in range(20):
        with contextlib.suppress(LogUnavailable):
            await log.append(EVENTS, [NewEntry("scope", b"after")])
            break
    found = [entry.value async for entry in all_entries(log, EVENTS, 0)]
    assert found[0] == b"before"
    assert found[-1] == b"after"
    await log.close()


@pytest.mark.parametrize("point", ["kafka.append.sent", "kafka.append.acknowledged"])
async def test_append_whose_answer_is_lost_is_told_as_unknown(log: KafkaLog, point: str, armed: None) -> None:
    """L8: some entries durable, one unknown, and the log goes on."""
    await log.append(EVENTS, [NewEntry("scope", b"first")])
    faults.arm(f"{point}:1:error")
    with pytest.raises(AppendUnfinished) as raised:
        await log.append(EVENTS, [NewEntry("scope", b"second"), NewEntry("scope", b"third")])
    assert raised.value.positions == (None, None)
    assert raised.value.unknown == (0, 1)
    (at,) = await log.append(EVENTS, [NewEntry("scope", b"fourth")])
    values = [entry.value for entry in await log.read(EVENTS, at.partition, 0)]
    assert values[0] == b"first"
    assert values[-1] == b"fourth"
    assert values[1:-1] in ([], [b"second", b"third"])


async def test_append_over_partitions_of_which_one_fails_tells_where_the_others_stand(log: KafkaLog, armed: None) -> None:
    """L8"""
    entries = [NewEntry(f"scope-{n}", b"%d" % n) for n in range(40)]
    faults.arm("kafka.append.acknowledged:2:error")
    with pytest.raises(AppendUnfinished) as raised:
        await log.append(EVENTS, entries)
    told = raised.value
    durable = [number for number, at in enumerate(told.positions) if at is not None]
    assert len({partition_of(entries[number].key, 4) for number in durable}) == 3
    assert sorted([*durable, *told.unknown]) == list(range(40))
    for number in durable:
        at = told.positions[number]
        assert isinstance(at, Position)
        assert at.partition == partition_of(entries[number].key, 4)
        (found,) = await log.read(EVENTS, at.partition, at.offset, max_entries=1)
        assert found.value == entries[number].value


async def test_many_who_wait_are_told_each_for_its_own(log: KafkaLog) -> None:
    places = [(topic, partition) for topic in (EVENTS, DECISIONS, ALERTS) for partition in range(4)]
    keys = {partition_of(f"k{n}", 4): f"k{n}" for n in range(50)}
    waiting = {place: asyncio.create_task(log.wait_for(*place, 0, 20)) for place in places}
    beyond = asyncio.create_task(log.wait_for(EVENTS, 0, 1, 1.5))
    for topic, partition in reversed(places):
        await log.append(topic, [NewEntry(keys[partition], b"v")])
        assert await waiting[topic, partition]
    assert not await beyond


async def test_waiting_ends_when_the_log_is_closed(log: KafkaLog) -> None:
    """L12"""
    waiting = asyncio.create_task(log.wait_for(EVENTS, 0, 0, 20))
    await asyncio.sleep(0)
    await log.close()
    with pytest.raises(LogClosed):
        await waiting


async def test_reads_in_any_order_by_several_tasks_agree(log: KafkaLog) -> None:
    """L6, L7: what a fetch brought beyond one read is of no harm to another."""
    entries = [NewEntry("scope", b"%d" % n * 50) for n in range(3000)]
    positions = await log.append(EVENTS, entries)
    partition = positions[0].partition

    async def walk(start: int, step: int) -> None:
        offset = start
        while found := await log.read(EVENTS, partition, offset, max_entries=step):
            assert [entry.value for entry in found] == [entry.value for entry in entries[offset : offset + len(found)]]
            offset += len(found)
        assert offset == 3000

    await asyncio.gather(*(walk(start, step) for start, step in ((0, 7), (0, 1000), (1500, 130), (2990, 1), (17, 900))))
