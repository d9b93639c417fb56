"""A connection to a Kafka cluster that answers or says within a stated time that it cannot.

The client library's consumer fetches in the background and may stay silent for good after a broker restart; its producer
retries without an end. Here every request is one call with a deadline, and what the brokers answer is the only thing that is
believed.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from aiokafka import AIOKafkaClient, errors
from aiokafka.errors import KafkaError
from aiokafka.protocol.offset import OffsetRequest

from ledger.errors import LedgerError, LogClosed, LogUnavailable
from ledger.kafka.protocol import FetchByIdRequest, Fetched, TopicSeen, TopicsRequest, Wanted, fetched_of, topics_of

T = TypeVar("T")
Security = Mapping[str, Any]
"""Keyword arguments of the client library for TLS and SASL: `security_protocol`, `ssl_context`, `sasl_…`."""

TIMEOUT_S = 30.0
"""How long a call tries before it gives up. A broker restart takes 4 to 15 s; a caller at a terminal does not wait much
longer.
"""

REPLICATION = 3
"""Copies of a record where there are brokers enough: one may fail while another is being replaced."""

TOLD_AFTER_S = 1.0
"""Brokers that are away for less are nobody's concern."""

PAUSE_S_FIRST, PAUSE_S_MAX = 0.05, 1.0
"""Between two attempts of a call, doubling."""

EARLIEST, LATEST = -2, -1
"""What an offset request asks for."""

OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID, AUTHORIZATION = 1, 3, 100, 103, 29


_log = logging.getLogger("cledger.kafka")
logging.getLogger("aiokafka").addHandler(logging.NullHandler())
"""The client library tells of every attempt; here it is said once that the brokers are away, and once that they are back."""

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def told(error: BaseException | str) -> str:
    """What went wrong, in words, without what the client library puts around them; the empty string where it only says that
    nobody answered.
    """
    if isinstance(error, errors.KafkaConnectionError | errors.NodeNotReadyError | errors.KafkaTimeoutError):
        return ""
    if isinstance(error, errors.BrokerResponseError):
        return str(error.message).lower().replace("_", " ")
    if isinstance(error, KafkaError):
        plain = " ".join(str(part) for part in error.args)
        return plain or _CAPITAL.sub(" ", type(error).__name__.removesuffix("Error")).lower()
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)


class Again(Exception):
    """This attempt got an answer that another one, a little later, may not get."""


class KafkaConnection:
    """Requests to the brokers of one cluster. Use from one event loop. Made by `connect`."""

    def __init__(self, servers: str, security: Security, timeout_s: float) -> None:
        self.servers = servers
        self.security = dict(security)
        self.timeout_s = timeout_s
        self.topics: dict[str, TopicSeen] = {}
        """The topics that were asked for by `learn`, as last seen."""
        self._client = AIOKafkaClient(bootstrap_servers=servers, request_timeout_ms=int(timeout_s * 1000), **self.security)
        self.opened = 0
        """Connections that fetches have gone over: a new one for a node and lane means that the one before it was lost."""

        self._lanes: dict[tuple[int, int], object] = {}
        self._away_s: float | None = None
        self._away_told = False
        self._closed = False

    @classmethod
    async def connect(cls, servers: str, security: Security | None = None, timeout_s: float = TIMEOUT_S) -> KafkaConnection:
        """Connect. Raises `LogUnavailable` at once where nobody listens, else after `timeout_s`."""
        self = cls(servers, security or {}, timeout_s)
        try:
            async with asyncio.timeout(timeout_s):
                await self._client.bootstrap()
        except (KafkaError, OSError, ValueError) as error:
            await self._client.close()
            raise self.unavailable("no broker can be reached", error) from error
        return self

    def track(self, names: Iterable[str]) -> None:
        """Keep the client's own metadata to these topics, which exist: a broker that makes topics on demand would make
        others.
        """
        self._client.set_topics(list(names))

    def unavailable(self, what: str, error: BaseException | str) -> LogUnavailable:
        """The error for a call that failed for this reason, with the address."""
        reason = told(error)
        if isinstance(error, errors.TopicAuthorizationFailedError | errors.ClusterAuthorizationFailedError):
            hint = "This user lacks a right on the topics: see the access list of the cluster."
        else:
            hint = "Check that a broker is up at this address and can be reached from here."
        return LogUnavailable(f"kafka://{self.servers}: {what}{f': {reason}' if reason else ''}", hint=hint)

    async def close(self) -> None:
        """Close every connection; calls under way end with `LogClosed`."""
        if not self._closed:
            self._closed = True
            await self._client.close()

    async def insist(self, what: str, attempt: Callable[[], Awaitable[T]]) -> T:
        """Repeat an attempt until it succeeds or the time is over; learn where things are before each repetition.

        Raises `LogUnavailable`, `LogClosed`, and what the attempt raises itself of our own errors.
        """
        last: BaseException = TimeoutError("no answer")
        pause_s = PAUSE_S_FIRST
        try:
            async with asyncio.timeout(self.timeout_s):
                while True:
                    try:
                        done = await attempt()
                        self._answered()
                        return done
                    except LedgerError:
                        raise
                    except (KafkaError, OSError, NotImplementedError, Again) as error:
                        last = error
                        self._missed(error)
                    if self._closed:
                        raise LogClosed(f"kafka://{self.servers}: the log was closed")
                    if isinstance(last, NotImplementedError | errors.IncompatibleBrokerVersion):
                        raise self.unavailable(f"{what}: the broker is older than Kafka 3.1", last)
                    if isinstance(last, errors.TopicAuthorizationFailedError | errors.ClusterAuthorizationFailedError):
                        raise self.unavailable(what, last)
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, PAUSE_S_MAX)
                    await self._look_again()
        except TimeoutError:
            raise self.unavailable(f"{what}: gave up after {self.timeout_s:g} s", last) from last

    def _missed(self, error: BaseException) -> None:
        now_s = asyncio.get_running_loop().time()
        self._away_s = now_s if self._away_s is None else self._away_s
        if not self._away_told and now_s - self._away_s >= TOLD_AFTER_S:
            self._away_told = True
            why = told(error) or "no broker can be reached"
            _log.warning("kafka://%s does not answer: %s; each call tries for %g s", self.servers, why, self.timeout_s)

    def _answered(self) -> None:
        if self._away_told and self._away_s is not None:
            away_s = asyncio.get_running_loop().time() - self._away_s
            _log.warning("kafka://%s is back after %.0f s", self.servers, away_s)
        self._away_s, self._away_told = None, False

    async def learn(self, names: Iterable[str]) -> dict[str, TopicSeen]:
        """Ask for topics, and keep what was learned for the requests that follow. Raises `LogUnavailable`."""
        wanted = list(names)
        await self.insist("asking for the topics", lambda: self._learn(wanted))
        return {name: self.topics[name] for name in wanted}

    async def _learn(self, names: list[str]) -> None:
        asked = self._any_node()
        self.topics |= topics_of(await self._client.send(asked, TopicsRequest(names)))
        for node in sorted(broker.nodeId for broker in self._client.cluster.brokers() if broker.nodeId != asked):
            missing = [name for name in names if self.topics[name].error == UNKNOWN_TOPIC]
            if not missing:
                break  # a broker may lag behind in what there is: a topic is missing only where nobody knows of it
            with suppress(KafkaError, OSError):
                found = topics_of(await self._client.send(node, TopicsRequest(missing)))
                self.topics |= {name: seen for name, seen in found.items() if seen.error != UNKNOWN_TOPIC}
        if any(seen.error == AUTHORIZATION for seen in self.topics.values()):
            raise errors.TopicAuthorizationFailedError

    async def names(self) -> list[str]:
        """The topics of the cluster, of all ledgers and others, as far as this user may see them. Raises `LogUnavailable`."""
        seen = await self.insist("asking for the topics", self._client.fetch_all_metadata)
        return sorted(seen.topics())

    async def settled(self, names: Iterable[str]) -> None:
        """Wait until every partition of these topics, which were just made, has a leader. Raises `LogUnavailable`."""
        wanted = list(names)

        async def look() -> None:
            await self._learn(wanted)
            for name in wanted:
                seen = self.topics[name]
                if seen.error or not seen.leaders or min(seen.leaders.values()) < 0:
                    raise Again(f"{name} has no leader yet")

        await self.insist("waiting for the topics", look)

    @property
    def replication(self) -> int:
        """How many copies a new topic has: 3, or as many as there are brokers."""
        return min(REPLICATION, len(self._client.cluster.brokers()))

    async def _look_again(self) -> None:
        """Leaders may have moved, or the whole cluster; what cannot be learned now, the next attempt will find out."""
        try:
            await self._client.force_metadata_update()
            if self.topics:
                await self._learn(list(self.topics))
        except (KafkaError, OSError):
            try:
                await self._client.bootstrap()
            except (KafkaError, OSError):
                return

    def _any_node(self) -> int:
        node = self._client.get_random_node()
        if node is None:
            raise errors.KafkaConnectionError("no broker is known")
        return int(node)

    def leader(self, topic: str, partition: int) -> int:
        """The node that leads a partition. Raises `Again` without one."""
        leader = self.topics[topic].leaders.get(partition, -1)
        if leader < 0:
            raise Again(f"{topic}/{partition} has no leader")
        return leader

    async def fetch(self, node: int, wanted: list[Wanted], *, lane: int, max_wait_ms: int = 0, max_bytes: int) -> list[Fetched]:
        """One fetch from one node, one attempt. Calls of one `lane` share a connection, on which a broker answers in turn."""
        response = await self._client.send(node, FetchByIdRequest(wanted, max_wait_ms, max_bytes), group=lane)
        connection = self._client._conns.get((node, lane))
        if connection is not self._lanes.get((node, lane)):
            self._lanes[node, lane] = connection
            self.opened += 1
        if response.error:
            raise errors.for_code(response.error)
        return fetched_of(response)

    async def offsets(self, topic: str, partitions: Iterable[int], which: int) -> dict[int, int]:
        """First (`EARLIEST`) or next (`LATEST`) offsets of partitions. Raises `LogUnavailable`."""
        numbers = list(partitions)
        return await self.insist(f"asking for offsets of {topic}", lambda: self._offsets(topic, numbers, which))

    async def _offsets(self, topic: str, partitions: list[int], which: int) -> dict[int, int]:
        by_node: dict[int, list[tuple[int, int]]] = {}
        for number in partitions:
            by_node.setdefault(self.leader(topic, number), []).append((number, which))
        found = {}
        for node, rows in by_node.items():
            response = await self._client.send(node, OffsetRequest(-1, 0, [(topic, rows)]))
            for _, answers in response.topics:
                for number, code, _, offset, *_ in answers:
                    if code:
                        raise errors.for_code(code)(f"{topic}/{number}")
                    found[number] = offset
        return found
