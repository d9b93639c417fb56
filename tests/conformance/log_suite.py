"""What every adapter of the log port must pass, one test or more for each promise of `ledger.log`.

An adapter is bound by a subclass that says how to make an empty log. One whose logs outlive a process binds `DurableLogSuite`.
"""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ledger.errors import EntryTooLarge, LogClosed, UsageError
from ledger.following import all_entries, wait_for
from ledger.log import (
    ALERTS,
    DECISIONS,
    EVENTS,
    HEADERS_BYTES_MAX,
    HEADERS_MAX,
    KEY_BYTES_MAX,
    TOPICS,
    VALUE_BYTES_MAX,
    Entry,
    Log,
    NewEntry,
    partition_of,
)
from tests.support.log_worker import value_of

PROJECT = Path(__file__).parents[2]


async def everything(log: Log, topic: str = EVENTS) -> list[list[Entry]]:
    """All entries of a topic, a list a partition."""
    return [[entry async for entry in all_entries(log, topic, number)] for number in range(log.identity.partitions)]


def numbered(count: int, keys: int = 7) -> list[NewEntry]:
    """Entries with values 0, 1, 2, … under a few keys."""
    return [NewEntry(f"scope-{number % keys}", str(number).encode()) for number in range(count)]


class LogSuite:
    """Promises that hold within one process."""

    async def make_log(self, tmp_path: Path, partitions: int) -> Log:
        """An empty log."""
        raise NotImplementedError

    @pytest.fixture(params=[1, 4], ids=["1-partition", "4-partitions"])
    def partitions(self, request: pytest.FixtureRequest) -> int:
        return int(request.param)

    @pytest.fixture
    async def log(self, tmp_path: Path, partitions: int) -> AsyncIterator[Log]:
        log = await self.make_log(tmp_path, partitions)
        yield log
        await log.close()

    async def test_identity_of_a_new_log_names_its_partitions(self, log: Log, partitions: int) -> None:
        assert log.identity.partitions == partitions
        assert log.identity.log_id

    async def test_end_of_an_empty_partition_is_zero_and_nothing_is_read(self, log: Log, partitions: int) -> None:
        for topic in TOPICS:
            for number in range(partitions):
                assert await log.end(topic, number) == 0
                assert await log.read(topic, number, 0) == []

    async def test_append_of_nothing_returns_nothing(self, log: Log) -> None:
        assert await log.append(EVENTS, []) == []

    async def test_append_of_several_keeps_their_order_within_each_partition(self, log: Log) -> None:
        """L2"""
        entries = numbered(200)
        positions = await log.append(EVENTS, entries)
        for number, found in enumerate(await everything(log)):
            mine = [(at, entry) for at, entry in zip(positions, entries, strict=True) if at.partition == number]
            assert [entry.position for entry in found] == [at for at, _ in mine]
            assert [entry.value for entry in found] == [entry.value for _, entry in mine]

    async def test_append_that_returned_before_another_began_stands_before_it(self, log: Log) -> None:
        """L2"""
        offsets = [(await log.append(EVENTS, [NewEntry("scope", b"v")]))[0].offset for _ in range(20)]
        assert offsets == list(range(20))

    async def test_concurrent_appends_keep_the_order_inside_each_call(self, log: Log) -> None:
        """L2, L9"""
        calls = [[NewEntry(f"scope-{call}", f"{call}/{n}".encode()) for n in range(5)] for call in range(40)]
        await asyncio.gather(*(log.append(EVENTS, call) for call in calls))
        found = [entry for partition in await everything(log) for entry in partition]
        assert len(found) == 200
        for call in calls:
            assert [entry.value for entry in found if entry.key == call[0].key] == [entry.value for entry in call]

    async def test_offsets_of_a_partition_have_no_hole(self, log: Log) -> None:
        """L3"""
        for size in (1, 3, 10, 2):
            await asyncio.gather(*(log.append(EVENTS, numbered(size)) for _ in range(5)))
        for number, found in enumerate(await everything(log)):
            assert [entry.position.offset for entry in found] == list(range(len(found)))
            assert await log.end(EVENTS, number) == len(found)

    async def test_same_entry_appended_twice_stands_there_twice(self, log: Log) -> None:
        """L4"""
        first, second = [(await log.append(EVENTS, [NewEntry("scope", b"same")]))[0] for _ in range(2)]
        assert second.offset == first.offset + 1
        assert [entry.value for entry in await log.read(EVENTS, first.partition, 0)] == [b"same", b"same"]

    async def test_entry_lies_in_the_partition_of_its_key(self, log: Log, partitions: int) -> None:
        """L5"""
        keys = [f"scope-{number}" for number in range(50)] + ["ключ", "鍵", "x" * 500]
        positions = await log.append(EVENTS, [NewEntry(key, b"v") for key in keys])
        assert [at.partition for at in positions] == [partition_of(key, partitions) for key in keys]

    async def test_topics_have_offsets_of_their_own(self, log: Log) -> None:
        """L3"""
        for topic in TOPICS:
            assert [at.offset for at in await log.append(topic, [NewEntry("s", topic.encode())] * 3)] == [0, 1, 2]
        for topic in TOPICS:
            at = partition_of("s", log.identity.partitions)
            assert [entry.value for entry in await log.read(topic, at, 0)] == [topic.encode()] * 3

    @pytest.mark.parametrize(
        "entry",
        [
            NewEntry("scope", b""),
            NewEntry("scope", b"\x00\xff\xfe\n" * 100),
            NewEntry("a b/c:\u00e9\u0301\U0001f4a1", b"v", (("name", b"1"), ("name", b"2"), ("name", b"1"))),
            NewEntry("scope", b"v", (("empty", b""), ("", b"no name"), ("z", b"\x00"), ("a", b"after z"))),
            NewEntry("k" * KEY_BYTES_MAX, b"v"),
            NewEntry("scope", b"v" * VALUE_BYTES_MAX),
            NewEntry("scope", b"v", tuple((f"h{n}", bytes([n])) for n in range(HEADERS_MAX))),
        ],
        ids=["empty-value", "binary-value", "unicode-key", "odd-headers", "longest-key", "longest-value", "most-headers"],
    )
    async def test_entry_comes_back_byte_for_byte(self, log: Log, entry: NewEntry) -> None:
        """L6, and the limits of L11 from inside"""
        (at,) = await log.append(DECISIONS, [entry])
        (found,) = await log.read(DECISIONS, at.partition, at.offset)
        assert found == Entry(at, entry.key, entry.value, entry.headers)

    async def test_read_returns_at_most_max_entries(self, log: Log) -> None:
        """L7"""
        (at, *_) = await log.append(EVENTS, [NewEntry("scope", str(n).encode()) for n in range(20)])
        found = await log.read(EVENTS, at.partition, 5, max_entries=3)
        assert [entry.position.offset for entry in found] == [5, 6, 7]

    async def test_read_stops_after_the_entry_that_reaches_max_bytes(self, log: Log) -> None:
        """L7"""
        (at, *_) = await log.append(EVENTS, [NewEntry("scope", b"v" * 1000)] * 10)
        assert len(await log.read(EVENTS, at.partition, 0, max_bytes=2500)) == 3
        assert len(await log.read(EVENTS, at.partition, 0, max_bytes=1)) == 1

    async def test_append_with_one_entry_too_large_writes_none(self, log: Log, partitions: int) -> None:
        """L8, L11"""
        with pytest.raises(EntryTooLarge):
            await log.append(EVENTS, [*numbered(5), NewEntry("scope", b"v" * (VALUE_BYTES_MAX + 1)), *numbered(5)])
        assert [await log.end(EVENTS, number) for number in range(partitions)] == [0] * partitions

    @pytest.mark.parametrize(
        "entry",
        [
            NewEntry("scope", b"v" * (VALUE_BYTES_MAX + 1)),
            NewEntry("k" * (KEY_BYTES_MAX + 1), b"v"),
            NewEntry("\u00e9" * (KEY_BYTES_MAX // 2 + 1), b"v"),
            NewEntry("scope", b"v", (("h", b""),) * (HEADERS_MAX + 1)),
            NewEntry("scope", b"v", (("h", b"v" * HEADERS_BYTES_MAX),)),
        ],
        ids=["value", "key", "key-in-bytes", "header-count", "header-bytes"],
    )
    async def test_entry_beyond_a_limit_is_refused(self, log: Log, entry: NewEntry) -> None:
        """L11"""
        with pytest.raises(EntryTooLarge):
            await log.append(EVENTS, [entry])

    async def test_entry_without_a_key_is_refused(self, log: Log) -> None:
        """L5, L11"""
        with pytest.raises(UsageError):
            await log.append(EVENTS, [NewEntry("", b"v")])

    async def test_read_beyond_the_end_returns_nothing(self, log: Log) -> None:
        """L10"""
        (at,) = await log.append(EVENTS, [NewEntry("scope", b"v")])
        assert await log.read(EVENTS, at.partition, 1) == []
        assert await log.read(EVENTS, at.partition, 1000) == []

    async def test_read_below_the_first_offset_raises(self, log: Log) -> None:
        """L10"""
        with pytest.raises(UsageError):
            await log.read(EVENTS, 0, -1)

    async def test_unknown_topic_or_partition_is_refused(self, log: Log, partitions: int) -> None:
        with pytest.raises(UsageError):
            await log.append("elsewhere", [NewEntry("scope", b"v")])
        for topic, partition in (("elsewhere", 0), (EVENTS, partitions), (EVENTS, -1)):
            with pytest.raises(UsageError):
                await log.read(topic, partition, 0)
            with pytest.raises(UsageError):
                await log.end(topic, partition)

    async def test_every_call_after_close_raises(self, log: Log) -> None:
        """L12"""
        await log.append(EVENTS, numbered(3))
        await log.close()
        await log.close()
        with pytest.raises(LogClosed):
            await log.append(EVENTS, numbered(1))
        with pytest.raises(LogClosed):
            await log.read(EVENTS, 0, 0)
        with pytest.raises(LogClosed):
            await log.end(EVENTS, 0)

    async def test_wait_for_sees_an_entry_arrive_and_gives_up_in_time(self, log: Log) -> None:
        at = partition_of("scope", log.identity.partitions)
        assert not await wait_for(log, ALERTS, at, 0, 0.01)
        waiting = asyncio.create_task(wait_for(log, ALERTS, at, 1, 30))
        await log.append(ALERTS, [NewEntry("scope", b"v")] * 2)
        assert await waiting

    async def test_random_appends_and_reads_agree_with_a_list_in_memory(self, log: Log, partitions: int) -> None:
        """L2, L3, L6, L7 together"""
        chance = random.Random(f"log {partitions}")
        model: list[list[tuple[str, bytes]]] = [[] for _ in range(partitions)]
        for step in range(60):
            entries = [
                NewEntry(f"scope-{chance.randrange(9)}", chance.randbytes(chance.choice((0, 5, 700, 5000))))
                for _ in range(chance.randrange(5))
            ]
            await log.append(EVENTS, entries)
            for entry in entries:
                model[partition_of(entry.key, partitions)].append((entry.key, entry.value))
            number = chance.randrange(partitions)
            start, most = chance.randrange(len(model[number]) + 2), chance.randrange(1, 20)
            found = await log.read(EVENTS, number, start, max_entries=most)
            assert [(entry.key, entry.value) for entry in found] == model[number][start : start + most], step
        assert [[(entry.key, entry.value) for entry in found] for found in await everything(log)] == model


class DurableLogSuite(LogSuite):
    """Promises about what is there for another process, or for this one after it ended."""

    async def reopen(self, log: Log) -> Log:
        """Another handle on the same log, as a new process would open it."""
        raise NotImplementedError

    def address(self, log: Log) -> str:
        """What `tests.support.logs.open_address` opens in another process."""
        raise NotImplementedError

    async def worker(self, log: Log, name: str, count: int) -> asyncio.subprocess.Process:
        """A process that appends, see `tests.support.log_worker`."""
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.support.log_worker", self.address(log), name, str(count), cwd=PROJECT, stdout=-1
        )

    async def test_log_closed_and_opened_again_has_its_identity_and_entries(self, log: Log) -> None:
        """L1"""
        positions = await log.append(EVENTS, numbered(50))
        identity, before = log.identity, await everything(log)
        await log.close()
        again = await self.reopen(log)
        try:
            assert again.identity == identity
            assert await everything(again) == before
            assert sum(map(len, before)) == len(positions)
        finally:
            await again.close()

    async def test_appends_under_way_are_durable_when_close_returns(self, log: Log) -> None:
        """L12"""
        waiting = [asyncio.create_task(log.append(EVENTS, numbered(3))) for _ in range(20)]
        await asyncio.sleep(0)
        await log.close()
        positions = [at for done in await asyncio.gather(*waiting) for at in done]
        again = await self.reopen(log)
        try:
            assert sorted(positions) == [entry.position for found in await everything(again) for entry in found]
        finally:
            await again.close()

    async def test_acknowledged_entries_survive_a_kill_of_the_writer(self, log: Log) -> None:
        """L1"""
        process = await self.worker(log, "victim", 0)
        assert process.stdout is not None
        told = [await process.stdout.readline() for _ in range(40)]
        process.send_signal(signal.SIGKILL)
        told += (await process.stdout.read()).splitlines()
        await process.wait()
        found = {entry.position: entry.value for partition in await everything(log) for entry in partition}
        for line in told:
            _, number, partition, offset = (int(word) if word.isdigit() else word for word in line.split())
            at = next(at for at in found if (at.partition, at.offset) == (partition, offset))
            assert found[at] == value_of("victim", int(number))

    async def test_several_processes_append_at_once_and_each_finds_its_order(self, log: Log) -> None:
        """L2, L3, L9"""
        processes = [await self.worker(log, name, 60) for name in ("one", "two", "three")]
        await asyncio.gather(*(log.append(EVENTS, [NewEntry("own", str(n).encode())]) for n in range(60)))
        for process in processes:
            assert process.stdout is not None
            assert len((await process.stdout.read()).splitlines()) == 60
            assert await process.wait() == 0
        found = await everything(log)
        assert sum(map(len, found)) == 240
        for partition in found:
            assert [entry.position.offset for entry in partition] == list(range(len(partition)))
            for key in {entry.key for entry in partition} - {"own"}:
                numbers = [int(entry.headers[0][1]) for entry in partition if entry.key == key]
                assert numbers == sorted(numbers)
                assert len(numbers) == 12

    async def test_entries_of_another_process_become_visible_to_an_open_reader(self, log: Log) -> None:
        """L9"""
        assert await log.read(EVENTS, 0, 0) == []
        process = await self.worker(log, "other", 1)
        at = partition_of("other-key-0", log.identity.partitions)
        assert await wait_for(log, EVENTS, at, 0, 30)
        assert [entry.value for entry in await log.read(EVENTS, at, 0)] == [value_of("other", 0)]
        await process.communicate()
