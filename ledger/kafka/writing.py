"""Appending to Kafka: entries of all callers that wait for one partition go out as one batch, one batch at a time.

The producer is idempotent with acks=all: within its life a batch that is sent again stands in the log once and in its order. It
never gives a batch up by itself, so appends have a deadline of their own; past it, or after an error that the producer cannot
recover from, the producer is abandoned and the next append makes another one.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from aiokafka import AIOKafkaProducer, errors
from aiokafka.errors import KafkaError

from ledger.errors import AppendUnfinished, EntryTooLarge, LedgerError, LogClosed, LogDamaged
from ledger.faults import declare, fault_point
from ledger.kafka.connection import KafkaConnection
from ledger.kafka.envelope import wrap
from ledger.log import HEADERS_BYTES_MAX, KEY_BYTES_MAX, VALUE_BYTES_MAX, NewEntry
from schemas.ids import Position

COMPRESSION = "zstd"
"""Measured on 27 MB of records of real sessions: zstd leaves 19 % of the bytes at 0.8 of the rate without compression, lz4 29 %
at 0.35, gzip 21 % at 0.17, the broker's share of the work included.
"""

BATCH_BYTES = 512 << 10
"""Bytes a batch before compression. Larger ones hold up the event loop while they are packed; smaller ones pay more round
trips.
"""

MESSAGE_BYTES_MAX = VALUE_BYTES_MAX + HEADERS_BYTES_MAX + KEY_BYTES_MAX + (32 << 10)
"""Largest batch in bytes that a ledger topic must take (`max.message.bytes`): the largest entry, its envelope and framing."""

ABANDON_STEP_S = 0.2
"""How long one push to a producer that does not want to end lasts; a few of them end it."""

SENT = declare("kafka.append.sent", "a batch was handed to the producer, the brokers may have it, nobody was told")
ACKNOWLEDGED = declare("kafka.append.acknowledged", "the brokers have a batch, the caller was not told")


class _Item(msgspec.Struct, eq=False):
    """One entry on its way: whose it is, which one of that call, and its bytes."""

    call: _Call
    number: int
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]


class _Call:
    """One append: where its entries came to stand, and how it ended."""

    def __init__(self, count: int) -> None:
        self.positions: list[Position | None] = [None] * count
        self.unknown: set[int] = set()
        """Numbers of entries that were sent and of which no answer came."""
        self.missing = count
        self.flying = 0
        """Entries of it in batches under way. A call that failed is over once it has none: then all is told that can be."""
        self.failure: Exception | None = None
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def sent(self, number: int) -> None:
        """An entry is in a batch that goes out."""
        self.unknown.add(number)
        self.flying += 1

    def placed(self, number: int, position: Position) -> None:
        """An entry that was sent is durable."""
        self.unknown.discard(number)
        self.positions[number] = position
        self.missing -= 1
        self.flying -= 1
        self._settle()

    def lost(self, number: int, error: Exception, *, refused: bool) -> None:
        """An entry that was sent has no position: the brokers refused it, or nobody knows."""
        if refused:
            self.unknown.discard(number)
        self.flying -= 1
        self.fail(error)

    def fail(self, error: Exception) -> None:
        """The call cannot be finished; what still waits of it is not sent any more."""
        if self.failure is None:
            self.failure = error
        self._settle()

    def _settle(self) -> None:
        if not self.done.done() and (not self.missing or (self.failure is not None and not self.flying)):
            self.done.set_result(None)


class _Lane:
    """One partition of one topic: the entries that wait for it, and the task that sends them."""

    def __init__(self) -> None:
        self.waiting: deque[_Item] = deque()
        self.task: asyncio.Task[None] | None = None
        self.next = 0
        """One past the highest offset that was acknowledged here."""


def _fill(builder: Any, lane: _Lane, taken: list[_Item]) -> None:
    """Move what waits into a batch until it is full. Entries of calls that failed are dropped."""
    while lane.waiting:
        item = lane.waiting[0]
        if item.call.failure is None:
            if builder.append(timestamp=None, key=item.key, value=item.value, headers=item.headers) is None:
                break
            taken.append(item)
            item.call.sent(item.number)
        lane.waiting.popleft()
    builder.close()


class KafkaWriter:
    """Sends entries through one producer after another. Use from one event loop."""

    def __init__(self, connection: KafkaConnection, prefix: str, regressed: Callable[[Position], Any]) -> None:
        """`regressed` is awaited with the first position of a batch below what was acknowledged before."""
        self._connection = connection
        self._prefix = prefix
        self._regressed = regressed
        self._lanes: dict[tuple[str, int], _Lane] = {}
        self._producer: AIOKafkaProducer | None = None
        self._users: Counter[AIOKafkaProducer] = Counter()
        """Batches under way, by producer."""
        self._making = asyncio.Lock()

    async def append(self, topic: str, entries: Sequence[NewEntry], places: Sequence[int]) -> list[Position]:
        """Send entries to the partitions `places` and wait until all are durable.

        Raises `AppendUnfinished` (some entries may be durable; it says which), `EntryTooLarge`, `LogDamaged`, `LogClosed`.
        """
        call = _Call(len(entries))
        for number, (entry, partition) in enumerate(zip(entries, places, strict=True)):
            key, value = entry.key.encode("utf-8", "surrogatepass"), bytes(entry.value)
            lane = self._lanes.setdefault((topic, partition), _Lane())
            lane.waiting.append(_Item(call, number, key, value, wrap(topic, value, entry.headers)))
            if lane.task is None:
                lane.task = asyncio.create_task(self._drain(topic, partition, lane))
        done, _ = await asyncio.wait([call.done], timeout=self._connection.timeout_s)
        if not done:
            call.fail(self._connection.unavailable("append", f"not acknowledged within {self._connection.timeout_s:g} s"))
            for producer in [*self._users]:  # what they have under way ends as unknown in the calls that wait for it
                self._retire(producer)
                await self._end(producer)
        if call.failure is not None:
            raise self._told(call)
        return [position for position in call.positions if position is not None]

    @staticmethod
    def _told(call: _Call) -> Exception:
        failure = call.failure
        assert failure is not None
        told = sum(position is not None for position in call.positions)
        if isinstance(failure, LogDamaged) or not (told or call.unknown):
            return failure
        if not isinstance(failure, LedgerError):
            return failure
        return AppendUnfinished(
            f"{failure.message}; of {len(call.positions)} entries {told} are durable, of {len(call.unknown)} it is not known",
            positions=tuple(call.positions),
            unknown=tuple(sorted(call.unknown)),
            hint="Append the others again: a record that then stands there twice is folded once.",
        )

    async def close(self) -> None:
        """Wait for what is on its way, until the deadline of a call, then end the producer."""
        tasks = [lane.task for lane in self._lanes.values() if lane.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=self._connection.timeout_s)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        producer, self._producer = self._producer, None
        if producer is not None:
            try:
                async with asyncio.timeout(self._connection.timeout_s):
                    await producer.stop()
            except (TimeoutError, KafkaError):
                await self._end(producer)

    async def _drain(self, topic: str, partition: int, lane: _Lane) -> None:
        """Send what waits for a partition until nothing does."""
        try:
            while lane.waiting:
                await self._send(topic, partition, lane)
        finally:
            lane.task = None
            for item in lane.waiting:
                item.call.fail(self._was_closed())
            lane.waiting.clear()

    async def _send(self, topic: str, partition: int, lane: _Lane) -> None:
        """One batch of what waits. Whatever goes wrong is told to the calls whose entries it holds."""
        taken: list[_Item] = []
        producer: AIOKafkaProducer | None = None
        try:
            producer = await self._ready_producer()
            self._users[producer] += 1
            builder = producer.create_batch()
            _fill(builder, lane, taken)
            if taken:
                answer = await producer.send_batch(builder, self._prefix + topic, partition=partition)
                fault_point(SENT)
                first = (await answer).offset
                fault_point(ACKNOWLEDGED)
                await self._note(Position(topic, partition, first), lane, taken)
        except asyncio.CancelledError:
            for item in taken:
                item.call.lost(item.number, self._was_closed(), refused=False)
            raise
        except Exception as error:  # noqa: BLE001  a bug too must reach those who wait, and not end the lane
            failure, refused = self._failure(error)
            for item in taken:
                item.call.lost(item.number, failure, refused=refused)
            if not taken:
                for item in lane.waiting:
                    item.call.fail(failure)
                lane.waiting.clear()
            self._retire(producer)
        finally:
            await self._leave(producer)

    async def _note(self, first: Position, lane: _Lane, taken: list[_Item]) -> None:
        """A batch stands in the log from `first` on."""
        if first.offset < 0:  # sent again after an answer was lost, and too long ago for the brokers to know where it stands
            raise errors.DuplicateSequenceNumber
        if first.offset < lane.next:
            await self._regressed(first)
        lane.next = first.offset + len(taken)
        for n, item in enumerate(taken):
            item.call.placed(item.number, Position(first.topic, first.partition, first.offset + n))

    def _failure(self, error: Exception) -> tuple[Exception, bool]:
        """The error for who waits, and whether the brokers refused the batch for certain."""
        if isinstance(error, errors.MessageSizeTooLargeError | errors.RecordListTooLargeError):
            too_large = EntryTooLarge(
                f"kafka://{self._connection.servers}: the broker takes no batch of this size",
                hint=f"Set max.message.bytes of the ledger topics to {MESSAGE_BYTES_MAX}. Check: cledger topics verify",
            )
            return too_large, True
        if isinstance(error, errors.TopicAuthorizationFailedError | errors.ClusterAuthorizationFailedError):
            return self._connection.unavailable("append", error), True
        if isinstance(error, KafkaError | OSError | AssertionError):  # the library asserts that a partition is known
            return self._connection.unavailable("append", error), False
        return error, False

    def _was_closed(self) -> LogClosed:
        return LogClosed(f"kafka://{self._connection.servers}: the log was closed")

    def _retire(self, producer: AIOKafkaProducer | None) -> None:
        """Send nothing more through a producer: after an error its count of a partition's batches is not the broker's."""
        if producer is self._producer:
            self._producer = None

    async def _leave(self, producer: AIOKafkaProducer | None) -> None:
        """A batch is over. The last one of a producer that was retired ends it."""
        if producer is None:
            return
        self._users[producer] -= 1
        if producer is not self._producer and not self._users[producer]:
            del self._users[producer]
            await self._end(producer)

    async def _ready_producer(self) -> AIOKafkaProducer:
        async with self._making:
            if self._producer is None:
                self._producer = await self._make()
            return self._producer

    async def _make(self) -> AIOKafkaProducer:
        connection = self._connection
        producer = AIOKafkaProducer(
            bootstrap_servers=connection.servers,
            acks="all",
            enable_idempotence=True,
            compression_type=COMPRESSION,
            max_batch_size=BATCH_BYTES,
            max_request_size=MESSAGE_BYTES_MAX,
            linger_ms=0,
            request_timeout_ms=int(connection.timeout_s * 500),
            **connection.security,
        )
        try:
            async with asyncio.timeout(connection.timeout_s):
                await producer.start()
        except (KafkaError, OSError) as error:
            await self._end(producer)
            raise connection.unavailable("append", error) from error
        except BaseException:
            await self._end(producer)
            raise
        return producer

    @staticmethod
    async def _end(producer: AIOKafkaProducer) -> None:
        """`stop` of the library waits for a delivery that may never come, so its sender is ended first, by what it has of
        private.
        """
        producer._message_accumulator.fail_all(errors.KafkaConnectionError("the producer was given up"))
        sender = producer._sender.sender_task
        while sender is not None and not sender.done():
            sender.cancel()
            await asyncio.wait([sender], timeout=ABANDON_STEP_S)
        with suppress(KafkaError, OSError, asyncio.CancelledError):
            await producer.stop()
