"""Waiting for records on Kafka: a broker holds a fetch until there is something, and one fetch stands for many who wait."""

from __future__ import annotations

import asyncio
from typing import Generic, Protocol, TypeVar

from aiokafka.errors import KafkaError

from ledger.errors import LogClosed
from ledger.kafka.connection import OFFSET_OUT_OF_RANGE, Again
from ledger.kafka.protocol import Fetched, Wanted

F = TypeVar("F")
"""What a fetch brought."""

WAIT_FETCH_BYTES = 64 << 10
WAIT_MS = 500
"""How long a broker holds a fetch that waits for new records, and what it may bring. Longer keeps more sockets busy for
nothing.
"""

WAIT_LANES = 4
"""Connections to a node on which fetches may wait at the same time; a fetch that waits holds up all others on its
connection.
"""


class _Waiter:
    """Somebody who waits for the entry at an offset."""

    def __init__(self, topic: str, partition: int, offset: int) -> None:
        self.topic, self.partition, self.offset = topic, partition, offset
        self.arrived: asyncio.Future[bool] = asyncio.get_running_loop().create_future()


class Fetches(Protocol[F]):
    """Fetches of one client, as far as somebody who waits uses them; `ledger.kafka.reading` has them."""

    def leader(self, topic: str, partition: int) -> int:
        """The node to ask. Raises `Again`."""
        ...

    def wanted(self, topic: str, partition: int, offset: int, size: int) -> Wanted:
        """A part of a fetch."""
        ...

    async def fetch_waiting(self, node: int, wanted: list[Wanted], lane: int, wait_ms: int) -> list[tuple[str, Fetched]]:
        """A fetch that a broker answers once one of the partitions has a record, or after `wait_ms`. One attempt."""
        ...

    async def took(self, topic: str, answer: Fetched, offset: int) -> F | None:
        """Check an answer; what it brought, or None where no whole batch came."""
        ...

    def offer(self, fetch: F) -> None:
        """Keep what came while waiting."""
        ...

    async def end(self, topic: str, partition: int) -> int:
        """The offset that the next entry takes."""
        ...


class Watch(Generic[F]):
    """Waits for records of many partitions with few requests: each fetch that waits stands for all who came since the last."""

    def __init__(self, reader: Fetches[F]) -> None:
        self._reader = reader
        self._new: list[_Waiter] = []
        self._free = list(range(1, 1 + WAIT_LANES))
        self._polls: set[asyncio.Task[None]] = set()
        self._starting = False
        self._closed = False

    async def wait_for(self, topic: str, partition: int, offset: int, timeout_s: float) -> bool:
        """True once the entry is readable, False after `timeout_s`. Raises what reading raises."""
        if self._closed:
            raise LogClosed("the log was closed")
        waiter = _Waiter(topic, partition, offset)
        self._new.append(waiter)
        if not self._starting:
            self._starting = True
            asyncio.get_running_loop().call_soon(self._start)
        try:
            async with asyncio.timeout(timeout_s):
                return await waiter.arrived
        except TimeoutError:
            return False
        finally:
            waiter.arrived.cancel()

    async def close(self) -> None:
        """End the fetches under way; those who wait get `LogClosed`."""
        self._closed = True
        for task in self._polls:
            task.cancel()
        if self._polls:
            await asyncio.wait(self._polls)
        self._fail(self._new, LogClosed("the log was closed"))

    def _start(self) -> None:
        """One more fetch for all who wait without one, if a connection is free; else the next that returns takes them along."""
        self._starting = False
        waiters = [waiter for waiter in self._new if not waiter.arrived.done()]
        self._new = []
        if not waiters or self._closed or not self._free:
            self._new = waiters
        else:
            lane = self._free.pop()
            task = asyncio.create_task(self._poll(lane, waiters))
            self._polls.add(task)
            task.add_done_callback(self._polls.discard)

    async def _poll(self, lane: int, waiters: list[_Waiter]) -> None:
        try:
            await self._poll_once(lane, waiters)
        except Exception as error:  # noqa: BLE001  whatever it was, those who wait must learn of it
            self._fail(waiters, error)
        except asyncio.CancelledError:
            self._fail(waiters, LogClosed("the log was closed"))
            raise
        finally:
            self._free.append(lane)
            self._new += [waiter for waiter in waiters if not waiter.arrived.done()]
            self._start()

    async def _poll_once(self, lane: int, waiters: list[_Waiter]) -> None:
        """Ask each node that leads one of the partitions; the first record ends the round on its node."""
        lowest: dict[tuple[str, int], int] = {}
        for waiter in waiters:
            place = (waiter.topic, waiter.partition)
            lowest[place] = min(waiter.offset, lowest.get(place, waiter.offset))
        by_node: dict[int, list[tuple[str, int]]] = {}
        try:
            for topic, partition in lowest:
                by_node.setdefault(self._reader.leader(topic, partition), []).append((topic, partition))
            rounds = [self._ask(lane, node, places, lowest, waiters) for node, places in by_node.items()]
            await asyncio.gather(*rounds)
        except (KafkaError, OSError, Again):
            await self._look_up(waiters)

    async def _ask(
        self, lane: int, node: int, places: list[tuple[str, int]], lowest: dict[tuple[str, int], int], waiters: list[_Waiter]
    ) -> None:
        wanted = [self._reader.wanted(*place, lowest[place], WAIT_FETCH_BYTES) for place in places]
        for topic, answer in await self._reader.fetch_waiting(node, wanted, lane, WAIT_MS):
            place = (topic, answer.partition)
            offset = lowest[place]
            if (
                answer.error == OFFSET_OUT_OF_RANGE
            ):  # somebody waits for what is further ahead: look, and do not ask at once again
                await self._look_up([waiter for waiter in waiters if (waiter.topic, waiter.partition) == place])
                await asyncio.sleep(WAIT_MS / 10_000)
                continue
            fetch = await self._reader.took(topic, answer, offset)
            if fetch is not None:
                self._reader.offer(fetch)
            self._tell(place, waiters, answer.end)

    async def _look_up(self, waiters: list[_Waiter]) -> None:
        """Ask for the ends instead, which insists until a broker answers."""
        for place in {(waiter.topic, waiter.partition): None for waiter in waiters}:
            self._tell(place, waiters, await self._reader.end(*place))

    @staticmethod
    def _tell(place: tuple[str, int], waiters: list[_Waiter], end: int) -> None:
        for waiter in waiters:
            if (waiter.topic, waiter.partition) == place and waiter.offset < end and not waiter.arrived.done():
                waiter.arrived.set_result(True)

    @staticmethod
    def _fail(waiters: list[_Waiter], error: Exception) -> None:
        for waiter in waiters:
            if not waiter.arrived.done():
                waiter.arrived.set_exception(error)
