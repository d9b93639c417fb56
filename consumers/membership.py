"""Who owns which partition: a Kafka consumer group whose members subscribe and read nothing.

Ownership is the right to publish, tick and answer; folding needs none, and two owners at once are harmless, for both would
say the same bytes (P2). So the group may be as coarse as it is: eager rebalances, no fencing. Positions come from the index;
what is committed to the group says how far everything is folded *and* published, for lag dashboards, for publishers that pace
themselves by it, and for workers that want to know whether the others are done.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Protocol

import msgspec
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.errors import (
    CommitFailedError,
    GroupCoordinatorNotAvailableError,
    GroupLoadInProgressError,
    InvalidSessionTimeoutError,
    KafkaError,
    NotCoordinatorForGroupError,
)

from ledger.errors import LogUnavailable
from ledger.kafka.connection import told
from ledger.log import EVENTS

GROUP = "cledger"
SESSION_TIMEOUT_MS = 10_000
"""How long a member may be silent before its partitions go to others."""

ANSWER_S = 5.0
"""How long the group's coordinator may take to answer: a worker that is told to end does not wait for it for ever."""

COORDINATOR_S = 10.0
"""How long a group's coordinator may be on its way before it counts as away."""

REACH_S = 5.0
"""How long brokers may take to be reached for a question about the group; one that stands still accepts and says nothing."""

DESCRIBE_S = 15.0
"""How long the members of a group may take to be told, all in all."""

REBALANCE_S = 10.0
"""How long a group may share out partitions anew before it is told as it stands: without owners."""

SHARING_OUT = ("PreparingRebalance", "CompletingRebalance")
"""States of a group in which its members are known and what they own is not."""

COORDINATOR_AWAY = (GroupCoordinatorNotAvailableError, GroupLoadInProgressError, NotCoordinatorForGroupError)

CLIENT = "cledger-worker"
"""Client ids of members begin with this; after a space stands the address that answers questions."""

_log = logging.getLogger("cledger.worker")
Owned = frozenset[int]


class Owner(Protocol):
    """Who is told what it owns."""

    async def revoked(self) -> None:
        """Everything is given back until the next `assigned`; others may own it once this returns."""
        ...

    async def assigned(self, owned: Owned) -> None:
        """What is owned from now on, which may be nothing."""
        ...


class Membership(Protocol):
    """How a worker comes to own partitions."""

    async def start(self, owner: Owner) -> None:
        """Take part, and tell `owner`. Raises `LogUnavailable`."""
        ...

    async def commit(self, offsets: Mapping[int, int]) -> bool:
        """Say how far owned partitions are folded and published. A failure is no fault, for the next one covers it; false where
        nobody answered.
        """
        ...

    async def committed(self) -> dict[int, int]:
        """How far partitions are, as their owners said; where nobody ever spoke, nothing. Raises `LogUnavailable`."""
        ...

    async def stop(self) -> None:
        """Leave, so that others take over at once."""
        ...


class OwnsAll:
    """The only worker there is: it owns every partition of a log for as long as it runs."""

    def __init__(self, partitions: int) -> None:
        self._all = frozenset(range(partitions))
        self._done: dict[int, int] = {}

    async def start(self, owner: Owner) -> None:
        """Own everything."""
        await owner.assigned(self._all)

    async def commit(self, offsets: Mapping[int, int]) -> bool:
        """Remembered as long as this object lives."""
        self._done.update(offsets)
        return True

    async def committed(self) -> dict[int, int]:
        """What was said by `commit`."""
        return dict(self._done)

    async def stop(self) -> None:
        """Nothing to leave."""


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Passes on what the group gives and takes. Members read nothing: whatever they are assigned is paused at once."""

    def __init__(self, consumer: AIOKafkaConsumer, owner: Owner) -> None:
        self._consumer, self._owner = consumer, owner

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """A rebalance begins; it is eager, so everything is given back."""
        del revoked
        await self._tell("revoked", self._owner.revoked())

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """What this member owns now."""
        places = list(assigned)
        self._consumer.pause(*places)
        await self._tell("assigned", self._owner.assigned(frozenset(place.partition for place in places)))

    @staticmethod
    async def _tell(what: str, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception:  # noqa: BLE001  an exception here would end the membership without a word
            _log.exception("the change of ownership was not carried out: %s", what)


class KafkaMembership:
    """A member of the group `GROUP` of one ledger. Use from one event loop."""

    def __init__(
        self,
        servers: str,
        prefix: str,
        partitions: int,
        *,
        answers_at: str = "",
        session_timeout_ms: int = SESSION_TIMEOUT_MS,
        security: Mapping[str, Any] | None = None,
    ) -> None:
        """`answers_at` is the address under which this member answers questions, shown to whoever describes the group."""
        self._servers, self._prefix, self._partitions = servers, prefix, partitions
        self._client = f"{CLIENT} {answers_at}".strip()
        self._timeout_ms = session_timeout_ms
        self._security = dict(security or {})
        self._consumer: AIOKafkaConsumer | None = None

    @property
    def _topic(self) -> str:
        return self._prefix + EVENTS

    async def start(self, owner: Owner) -> None:
        """See `Membership.start`."""
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self._servers,
            group_id=self._prefix + GROUP,
            client_id=self._client,
            enable_auto_commit=False,
            auto_offset_reset="latest",
            session_timeout_ms=self._timeout_ms,
            heartbeat_interval_ms=max(100, self._timeout_ms // 4),
            rebalance_timeout_ms=max(30_000, self._timeout_ms),
            max_poll_interval_ms=1 << 30,
            partition_assignment_strategy=(StickyPartitionAssignor,),
            **self._security,
        )
        consumer.subscribe([self._topic], listener=_Listener(consumer, owner))
        try:
            await consumer.start()
        except (KafkaError, OSError) as error:
            with suppress(KafkaError, OSError):
                await consumer.stop()
            hint = ""
            if isinstance(error, InvalidSessionTimeoutError):
                hint = "The brokers allow a session timeout from group.min.session.timeout.ms, 6 s unless set otherwise."
            raise _unavailable(self._servers, "the group of workers cannot be joined", error, hint) from error
        self._consumer = consumer

    async def commit(self, offsets: Mapping[int, int]) -> bool:
        """See `Membership.commit`."""
        if self._consumer is None or not offsets:
            return True
        mine = self._consumer.assignment()
        places = {TopicPartition(self._topic, number): offset for number, offset in offsets.items()}
        places = {place: offset for place, offset in places.items() if place in mine}
        try:
            if places:
                async with asyncio.timeout(ANSWER_S):  # the client itself would ask for as long as nobody answers
                    await self._consumer.commit(places)
        except CommitFailedError:
            return True  # a rebalance goes on
        except (KafkaError, OSError) as error:
            _log.debug("committed offsets were not written, the next ones cover them: %s", error)
            return False
        return True

    async def committed(self) -> dict[int, int]:
        """See `Membership.committed`."""
        return await committed_offsets(self._servers, self._prefix, self._partitions, self._security)

    async def stop(self) -> None:
        """Leave the group; the coordinator gives the partitions to others at once."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            with suppress(KafkaError, OSError, asyncio.CancelledError):
                async with asyncio.timeout(ANSWER_S):
                    await consumer.stop()


async def committed_offsets(
    servers: str, prefix: str, partitions: int, security: Mapping[str, Any] | None = None
) -> dict[int, int]:
    """How far the workers of a ledger are, by partition, as they said. Raises `LogUnavailable`."""
    topic = prefix + EVENTS
    async with _Admin(servers, security) as admin:
        found = await _insist(lambda: admin.list_consumer_group_offsets(prefix + GROUP))
    return {
        place.partition: entry.offset
        for place, entry in found.items()
        if place.topic == topic and place.partition < partitions and entry.offset >= 0
    }


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A worker of the group: where it answers, the empty string if nowhere, and what it owns."""

    answers_at: str
    partitions: tuple[int, ...]


async def members(servers: str, prefix: str, security: Mapping[str, Any] | None = None) -> list[Member]:
    """The workers of a ledger as the group's coordinator knows them; while partitions are shared out anew, nobody owns one, so
    the end of that is waited for, up to `REBALANCE_S`. Raises `LogUnavailable`, after `DESCRIBE_S` at the latest.
    """
    topic = prefix + EVENTS
    try:
        async with asyncio.timeout(DESCRIBE_S), _Admin(servers, security) as admin:
            groups = await _settled(admin, prefix + GROUP)
    except TimeoutError as error:
        raise _unavailable(servers, f"the group of workers was not told within {DESCRIBE_S:g} s", error) from error
    listed = [member for group in groups for member in group[5]]
    found = []
    for member in listed:
        client, host, assignment = member[1], member[2], member[4]
        owned = [number for name, numbers in _assigned(assignment) if name == topic for number in numbers]
        address = client.removeprefix(CLIENT + " ") if client.startswith(CLIENT + " ") else ""
        answers_at = _reachable(address.strip(), host.removeprefix("/"))
        found.append(Member(answers_at=answers_at, partitions=tuple(sorted(owned))))
    return sorted(found, key=lambda each: (each.partitions, each.answers_at))


def _assigned(raw: bytes) -> list[tuple[str, list[int]]]:
    """Topics and partitions of a member; of one of another kind, whose words nobody here reads, nothing."""
    try:
        return list(ConsumerProtocolMemberAssignment.decode(raw).assignment) if raw else []
    except ValueError:
        return []


async def _settled(admin: AIOKafkaAdminClient, name: str) -> list[Any]:
    """The group of this name as Kafka describes it, once it shares nothing out or has done so for too long."""
    end_s = time.monotonic() + REBALANCE_S
    while True:
        answers = await _insist(lambda: admin.describe_consumer_groups([name]))
        groups = [group for answer in answers for group in answer.groups]
        if time.monotonic() >= end_s or not any(group[2] in SHARING_OUT for group in groups):
            return groups
        await asyncio.sleep(REBALANCE_S / 40)


async def _insist(ask: Callable[[], Awaitable[Any]]) -> Any:
    """A new cluster makes its topic of groups when it is first asked, and a coordinator may be on its way to another broker."""
    end_s = time.monotonic() + COORDINATOR_S
    while True:
        try:
            return await ask()
        except COORDINATOR_AWAY:
            if time.monotonic() >= end_s:
                raise
            await asyncio.sleep(COORDINATOR_S / 40)


def _reachable(address: str, host: str) -> str:
    """Where a member answers, told by others: who listens on every address of its machine has the one that the brokers see."""
    shown = f"[{host}]" if ":" in host else host
    for every in ("//0.0.0.0:", "//[::]:"):
        address = address.replace(every, f"//{shown}:")
    return address


def _unavailable(servers: str, what: str, error: BaseException, hint: str = "") -> LogUnavailable:
    reason = told(error)
    return LogUnavailable(
        f"kafka://{servers}: {what}{f': {reason}' if reason else ''}",
        hint=hint or "Check that a broker is up at this address and can be reached from here.",
    )


class _Admin:
    """An admin client for one question."""

    def __init__(self, servers: str, security: Mapping[str, Any] | None) -> None:
        self._servers = servers
        self._admin = AIOKafkaAdminClient(
            bootstrap_servers=servers, request_timeout_ms=int(COORDINATOR_S * 1000), **dict(security or {})
        )

    async def __aenter__(self) -> AIOKafkaAdminClient:
        try:
            async with asyncio.timeout(REACH_S):
                await self._admin.start()
        except (KafkaError, OSError) as error:
            with suppress(KafkaError, OSError):
                await self._admin.close()
            raise _unavailable(self._servers, "no broker can be reached", error) from error
        return self._admin

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with suppress(KafkaError, OSError):
            await self._admin.close()
        if isinstance(error, KafkaError | OSError):
            raise _unavailable(self._servers, "the group of workers did not answer", error) from error
