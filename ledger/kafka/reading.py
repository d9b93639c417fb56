"""Reading from Kafka: a partition from any offset on, in bounded pieces, every record checked to be the next one.

A read is one fetch by topic id with an explicit offset; there is no group, no committed offset and no reset. What a fetch
brought beyond the entries that were asked for is kept, still packed, for the read that continues there.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.record.memory_records import MemoryRecords

from ledger.errors import LogDamaged
from ledger.kafka.connection import (
    EARLIEST,
    INCONSISTENT_TOPIC_ID,
    LATEST,
    OFFSET_OUT_OF_RANGE,
    UNKNOWN_TOPIC,
    UNKNOWN_TOPIC_ID,
    Again,
    KafkaConnection,
)
from ledger.kafka.envelope import unwrap
from ledger.kafka.protocol import Fetched, Wanted
from ledger.kafka.waiting import Watch
from ledger.log import Entry
from schemas.ids import Position

FETCH_BYTES = 4 << 20
"""Most bytes of one fetch as they are stored, that is compressed. This is the memory that each followed partition may hold."""

FETCH_BYTES_LEAST = 1
"""What a read of a single entry asks for: a broker then sends one batch, whatever its size."""

READ_LANE = 0
"""The connection for reads; those that wait have others."""

SETTLE_S = 5.0
"""After a change of leader a partition's end may lag for a moment; what is still short after this time has lost records."""


class _Fetch:
    """What a fetch brought of one partition, read entry by entry from `next` on."""

    def __init__(self, topic: str, partition: int, offset: int, records: Any) -> None:
        """`records` has at least one whole batch, the one in which `offset` lies."""
        self.topic, self.partition, self.next = topic, partition, offset
        self.over = False
        self._any = False
        self._records = self._unpacked(records)

    def take(self, max_entries: int, max_bytes: int) -> list[Entry]:
        """Entries in order, until one of the limits is reached or the fetch is used up. Raises `LogDamaged`."""
        topic, partition, expected = self.topic, self.partition, self.next
        found: list[Entry] = []
        for record in self._records:
            offset = record.offset
            if offset != expected:
                if offset < expected:  # batches come whole, from the one on in which the wanted offset lies
                    continue
                raise self._missing(expected, f"the next record there is {offset}")
            key, value = record.key, record.value
            if value is None:
                value = b""
            try:
                name = key.decode("utf-8", "surrogatepass") if key is not None else ""
            except UnicodeDecodeError:  # nobody's scope; the fold finds that it does not belong here
                name = key.decode("utf-8", "backslashreplace")
            found.append(Entry(Position(topic, partition, offset), name, value, unwrap(record.headers)))
            expected += 1
            max_entries -= 1
            max_bytes -= len(value)
            if max_entries <= 0 or max_bytes <= 0:
                break
        else:
            self.over = True
            if not (found or self._any):
                raise self._missing(expected, "its batch does not hold it")
        self.next = expected
        self._any = True
        return found

    def _unpacked(self, records: Any) -> Iterator[Any]:
        """The records of the batches, one batch unpacked at a time."""
        try:
            while records.has_next():
                batch = records.next_batch()
                if not batch.validate_crc():
                    raise self._missing(self.next, "its batch does not have the checksum that it was written with")
                if batch.is_control_batch:
                    continue  # the hole that it leaves is told at the record behind it
                yield from batch
        except (KafkaError, ValueError, RuntimeError) as error:
            raise self._missing(self.next, f"its batch cannot be unpacked: {error}") from error

    def _missing(self, offset: int, why: str) -> LogDamaged:
        return LogDamaged(
            f"{Position(self.topic, self.partition, offset)}: the record is missing or damaged: {why}",
            hint="A ledger topic is never compacted, cut short or written in transactions. Check: cledger topics verify",
        )


class KafkaReader:
    """Reads the topics of one ledger. Use from one event loop."""

    def __init__(
        self,
        connection: KafkaConnection,
        names: Mapping[str, str],
        ids: Mapping[str, bytes],
        suspect: Callable[[str], Awaitable[None]],
    ) -> None:
        """`names` are the topics as Kafka knows them, `ids` their ids. `suspect` raises if the log is no longer the same."""
        self._connection = connection
        self._names = dict(names)
        self._ids = dict(ids)
        self._topics = {id_: topic for topic, id_ in self._ids.items()}
        self._suspect = suspect
        self._kept: dict[tuple[str, int], _Fetch] = {}
        self._ends: dict[tuple[str, int], int] = {}
        self.bytes_read: Counter[str] = Counter()
        """Bytes of records that fetches brought, as they are stored, by topic."""
        self._watch: Watch[_Fetch] = Watch(self)

    async def read(self, topic: str, partition: int, offset: int, max_entries: int, max_bytes: int) -> list[Entry]:
        """Entries from `offset` on, at least one if there is one. Raises `LogDamaged`, `LogUnavailable`, `LogClosed`."""
        place = (topic, partition)
        found: list[Entry] = []
        fetch = self._kept.pop(place, None)
        if fetch is not None and fetch.next != offset:
            fetch = None
        while True:
            if fetch is None:
                fetch = await self._insist_on(topic, partition, offset, max_entries - len(found), max_bytes)
            if fetch is None:
                return found
            taken = fetch.take(max_entries - len(found), max_bytes)
            found += taken
            max_bytes -= sum(map(len, [entry.value for entry in taken]))
            offset = fetch.next
            if not fetch.over:
                self._kept[place] = fetch
                return found
            if len(found) >= max_entries or max_bytes <= 0 or offset >= self._ends.get(place, 0):
                return found
            fetch = None

    async def _insist_on(self, topic: str, partition: int, offset: int, max_entries: int, max_bytes: int) -> _Fetch | None:
        size = FETCH_BYTES_LEAST if max_entries <= 1 else max(1, min(max_bytes, FETCH_BYTES))
        what = f"reading {topic}/{partition}@{offset}"
        return await self._connection.insist(what, lambda: self._fetch(topic, partition, offset, size))

    def _keep(self, fetch: _Fetch) -> None:
        if not fetch.over:
            self._kept[fetch.topic, fetch.partition] = fetch

    async def end(self, topic: str, partition: int) -> int:
        """The offset that the next entry takes. Raises `LogDamaged`, `LogUnavailable`, `LogClosed`."""
        return await self._connection.insist(f"asking for the end of {topic}/{partition}", lambda: self._end(topic, partition))

    async def wait_for(self, topic: str, partition: int, offset: int, timeout_s: float) -> bool:
        """Is the entry at `offset` readable, or does it become so within `timeout_s` seconds?"""
        return await self._watch.wait_for(topic, partition, offset, timeout_s)

    async def close(self) -> None:
        """Stop waiting for records; those who wait get `LogClosed`."""
        await self._watch.close()
        self._kept.clear()

    def offer(self, fetch: _Fetch) -> None:
        """Keep what came while waiting, unless a read left something that is further on."""
        kept = self._kept.get((fetch.topic, fetch.partition))
        if kept is None or kept.next <= fetch.next:
            self._keep(fetch)

    def seen(self, topic: str, partition: int, end: int) -> None:
        """Entries up to `end` are known to exist; a partition that ends before has lost some."""
        self._ends[topic, partition] = max(end, self._ends.get((topic, partition), 0))

    def wanted(self, topic: str, partition: int, offset: int, size: int) -> Wanted:
        """A part of a fetch."""
        return Wanted(self._ids[topic], partition, offset, size)

    def leader(self, topic: str, partition: int) -> int:
        """The node to ask. Raises `Again`."""
        return self._connection.leader(self._names[topic], partition)

    async def fetch_waiting(self, node: int, wanted: list[Wanted], lane: int, wait_ms: int) -> list[tuple[str, Fetched]]:
        """A fetch that a broker answers once one of the partitions has a record, or after `wait_ms`. One attempt."""
        answers = await self._connection.fetch(node, wanted, lane=lane, max_wait_ms=wait_ms, max_bytes=FETCH_BYTES)
        return [(self._topics.get(answer.topic_id, ""), answer) for answer in answers]

    async def _fetch(self, topic: str, partition: int, offset: int, size: int) -> _Fetch | None:
        node = self.leader(topic, partition)
        wanted = self.wanted(topic, partition, offset, size)
        (answer,) = await self._connection.fetch(node, [wanted], lane=READ_LANE, max_bytes=size)
        if answer.error == OFFSET_OUT_OF_RANGE:
            await self._explain_range(topic, partition, offset)
            return None
        fetch = await self.took(topic, answer, offset)
        if fetch is None and answer.end > offset:
            raise Again(f"{topic}/{partition} did not come")
        return fetch

    async def took(self, topic: str, answer: Fetched, offset: int) -> _Fetch | None:
        """Check an answer; what it brought, or None where no whole batch came. Raises `Again`, `LogDamaged`."""
        if answer.error in (UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID):
            await self._suspect(f"{topic} is not there any more")
        if answer.error:
            raise Again(f"error {answer.error} for {topic}/{answer.partition}")
        if answer.start > 0:
            raise self._cut(topic, answer.partition, answer.start)
        await self._compare_end(topic, answer.partition, answer.end)
        self.bytes_read[topic] += len(answer.records)
        records = MemoryRecords(answer.records)
        return _Fetch(topic, answer.partition, offset, records) if records.has_next() else None

    async def _end(self, topic: str, partition: int) -> int:
        name = self._names[topic]
        end = (await self._connection.offsets(name, [partition], LATEST))[partition]
        await self._compare_end(topic, partition, end)
        return end

    async def _compare_end(self, topic: str, partition: int, end: int) -> None:
        known = self._ends.get((topic, partition), 0)
        if end >= known:
            self._ends[topic, partition] = end
            return
        await self._suspect(f"{topic}/{partition} ends at {end}, it had {known} records")
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + min(SETTLE_S, self._connection.timeout_s / 2)
        while end < known and loop.time() < deadline_s:
            await asyncio.sleep(0.1)
            end = (await self._connection.offsets(self._names[topic], [partition], LATEST))[partition]
        if end < known:
            raise LogDamaged(
                f"{topic}/{partition} ends at offset {end}, it had {known} records before",
                hint="Records were lost or removed. Restore the topic, or copy the ledger from elsewhere: cledger log copy",
            )
        raise Again(f"{topic}/{partition} was behind for a moment")

    async def _explain_range(self, topic: str, partition: int, offset: int) -> None:
        """The broker has no such offset: too high is an end like any other, too low is damage."""
        await self._suspect(f"{topic}/{partition} has no offset {offset}")
        start = (await self._connection.offsets(self._names[topic], [partition], EARLIEST))[partition]
        if start > 0:
            raise self._cut(topic, partition, start)
        if await self._end(topic, partition) > offset:
            raise Again(f"{topic}/{partition} grew meanwhile")

    def _cut(self, topic: str, partition: int, start: int) -> LogDamaged:
        return LogDamaged(
            f"{topic}/{partition}: the first {start} records were removed",
            hint="Set retention.ms=-1 and retention.bytes=-1, and restore the topic. Check: cledger topics verify",
        )
