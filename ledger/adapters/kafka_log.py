"""The log of a fleet: `kafka://HOST:PORT[,HOST:PORT]`, Kafka 3.1 or newer.

Life of a record:

1. `append` checks the entries (L11), puts the envelope of CloudEvents in front of their headers and lets them wait for their
   partition. A kill here loses them; nobody was told otherwise.
2. All that waits for one partition goes out as one compressed batch, one batch at a time, by an idempotent producer with
   acks=all: the order given is the order in the log, and a batch sent again after a lost answer stands there once (L2).
3. The leader writes the batch, the in-sync replicas copy it. Kafka does not sync each record to disk: with one broker an
   acknowledged record survives a kill of the broker, not a power loss; with three and `min.insync.replicas=2`, the loss of one
   machine (L1).
4. The batch is below the high watermark: readable by everybody, and `append` returns its positions. If this process is killed
   before, its caller was not told; repeating the append puts the entries there again, and the fold recognises them by id (P3).

Entries of one append that fall into several partitions become readable partition by partition. Where an append ends in an
error, `AppendUnfinished` tells for each entry whether it is durable, not in the log, or unknown (L8).

Which log it is: a topic of one partition and one record, `compaction.identity`, holds an id made at creation, the partition
count, and Kafka's ids of the three topics. A topic that was deleted and made anew has another id, even if it has grown beyond
what was read; the broker refuses reads by the old one. An append to such a topic is noticed by its offset or within
`IDENTITY_CHECK_S`. A partition that ends before what this handle saw, or begins above 0, is damage as well (L10).
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping, Sequence

from ledger.errors import LogClosed, LogDamaged, LogMissing, UsageError
from ledger.kafka.connection import EARLIEST, TIMEOUT_S, UNKNOWN_TOPIC, KafkaConnection, Security
from ledger.kafka.identity import (
    IDENTITY,
    PARTITIONS,
    Mark,
    compare,
    existing_log,
    existing_mark,
    make_topics,
    read_mark,
    write_mark,
)
from ledger.kafka.reading import KafkaReader
from ledger.kafka.writing import KafkaWriter
from ledger.log import (
    DEAD_LETTERS,
    TOPICS,
    Entry,
    LogIdentity,
    NewEntry,
    check_entries,
    check_offset,
    check_place,
    partition_of,
)
from schemas.ids import Position

IDENTITY_CHECK_S = 5.0
"""An append, or a question for the end, asks whether the topics are still the same if nobody has for this long."""


class KafkaLog:
    """The log port over Kafka, promises L1 to L12. Made by `create` or `open`; use it from the event loop that made it."""

    def __init__(self, connection: KafkaConnection, prefix: str, mark: Mark) -> None:
        self._connection = connection
        self.servers, self.prefix = connection.servers, prefix
        self._names = {topic: prefix + topic for topic in TOPICS}
        self._mark = mark
        self._identity = LogIdentity(mark.log_id, mark.partitions)
        self._reader = KafkaReader(
            connection, self._names, {topic: uuid.UUID(id_).bytes for topic, id_ in mark.topics.items()}, self._suspect
        )
        self._writer = KafkaWriter(connection, prefix, self._regressed)
        self._checked_s = time.monotonic()
        self._checking = asyncio.Lock()
        self._under_way: set[asyncio.Task[list[Position]]] = set()
        self._closed = False

    @classmethod
    async def create(
        cls,
        servers: str,
        partitions: int = PARTITIONS,
        *,
        prefix: str = "",
        replication: int | None = None,
        configs: Mapping[str, Mapping[str, str]] | None = None,
        security: Security | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> KafkaLog:
        """Make the topics that are missing and the identity record, and open the log.

        `prefix` stands before each topic name, so that several ledgers can share a cluster. `replication` is 3, or the number
        of brokers if that is less; `configs` adds to `TOPIC_CONFIG`, by topic. Topics that exist already are taken over if they
        are empty. Raises `UsageError` if there is a log already or the partition count does not fit, `LogUnavailable`,
        `LogDamaged`, also for a log that has lost one of its topics.
        """
        if not 1 <= partitions < 1 << 16:
            raise UsageError(f"a log has 1 to {(1 << 16) - 1} partitions, not {partitions}")
        connection = await KafkaConnection.connect(servers, security, timeout_s)
        try:
            seen = await connection.learn(prefix + topic for topic in (*TOPICS, IDENTITY))
            missing = [topic for topic in (*TOPICS, IDENTITY) if seen[prefix + topic].error == UNKNOWN_TOPIC]
            mark = await read_mark(connection, prefix) if IDENTITY not in missing else None
            if mark is not None:
                raise await existing_log(connection, prefix, mark)
            await make_topics(connection, prefix, missing, partitions, replication, configs or {})
            await write_mark(connection, prefix, partitions)
        except BaseException:
            await connection.close()
            raise
        await connection.close()
        return await cls.open(servers, prefix=prefix, security=security, timeout_s=timeout_s)

    @classmethod
    async def open(
        cls, servers: str, *, prefix: str = "", security: Security | None = None, timeout_s: float = TIMEOUT_S
    ) -> KafkaLog:
        """The log at these brokers. Each call of it gives up after `timeout_s` seconds.

        Raises `LogMissing` where no log was created, `LogDamaged` if its topics are not those that were, `LogUnavailable`.
        """
        connection = await KafkaConnection.connect(servers, security, timeout_s)
        try:
            mark = await existing_mark(connection, prefix)
            await compare(connection, prefix, mark)
            for topic in TOPICS:
                starts = await connection.offsets(prefix + topic, range(mark.partitions), EARLIEST)
                for partition, start in starts.items():
                    if start > 0:
                        raise LogDamaged(
                            f"{prefix + topic}/{partition}: the first {start} records were removed",
                            hint="Set retention.ms=-1 and retention.bytes=-1, and restore the topic.",
                        )
            connection.track([prefix + topic for topic in TOPICS])
            return cls(connection, prefix, mark)
        except BaseException:
            await connection.close()
            raise

    @property
    def identity(self) -> LogIdentity:
        """Which log this is."""
        return self._identity

    @property
    def connections(self) -> int:
        """See `ledger.following.Reconnects`."""
        return self._connection.opened

    @property
    def bytes_read(self) -> Mapping[str, int]:
        """Bytes of records that this handle fetched, as they are stored, by topic: for measuring what reading costs."""
        return self._reader.bytes_read

    async def append(self, topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        """Append and wait until durable, see `ledger.log.Log`. A caller cancelled while it waits does not know the outcome.

        Raises `AppendUnfinished`, a `LogUnavailable`, where some entries may be durable all the same.
        """
        self._refuse_if_closed()
        check_entries(topic, entries)
        _check_header_names(entries)
        if not entries:
            return []
        work = asyncio.create_task(self._append(topic, entries))
        self._under_way.add(work)
        work.add_done_callback(self._under_way.discard)
        return await asyncio.shield(work)

    async def bury(self, entries: Sequence[NewEntry]) -> None:
        """Append to the dead letters, see `ledger.log.TakesDeadLetters`."""
        self._refuse_if_closed()
        places = [partition_of(entry.key, self._identity.partitions) for entry in entries]
        name = self.prefix + DEAD_LETTERS
        if (await self._connection.learn([name]))[name].error == UNKNOWN_TOPIC:
            raise LogMissing(f"{name}: there is no such topic", hint="Make it as `cledger topics plan` shows.")
        await self._writer.append(DEAD_LETTERS, entries, places)

    async def _append(self, topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        await self._look_again()
        places = [partition_of(entry.key, self._identity.partitions) for entry in entries]
        positions = await self._writer.append(topic, entries, places)
        for position in positions:
            self._reader.seen(topic, position.partition, position.offset + 1)
        return positions

    async def read(
        self, topic: str, partition: int, offset: int, *, max_entries: int = 1000, max_bytes: int = 8 << 20
    ) -> list[Entry]:
        """Entries from `offset` on, see `ledger.log.Log`. `max_bytes` counts values."""
        self._refuse_if_closed()
        check_place(topic, partition, self._identity.partitions)
        check_offset(topic, partition, offset)
        return await self._reader.read(topic, partition, offset, max_entries, max_bytes)

    async def end(self, topic: str, partition: int) -> int:
        """The offset that the next entry of the partition will take, see `ledger.log.Log`."""
        self._refuse_if_closed()
        check_place(topic, partition, self._identity.partitions)
        await self._look_again()
        return await self._reader.end(topic, partition)

    async def wait_for(self, topic: str, partition: int, offset: int, timeout_s: float) -> bool:
        """Is the entry at `offset` readable, now or within `timeout_s` seconds? Many may wait at the cost of a few requests."""
        self._refuse_if_closed()
        check_place(topic, partition, self._identity.partitions)
        return await self._reader.wait_for(topic, partition, offset, timeout_s)

    async def close(self) -> None:
        """Wait for the appends under way, then release everything; calling it twice is harmless (L12)."""
        if self._closed:
            return
        self._closed = True
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=2 * self._connection.timeout_s)
        await self._reader.close()
        await self._writer.close()
        await self._connection.close()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise LogClosed(f"kafka://{self._connection.servers}: the log was closed")

    async def _look_again(self) -> None:
        """Ask whether the topics are still the same, if nobody has for a while."""
        if time.monotonic() - self._checked_s > IDENTITY_CHECK_S:
            await self._suspect("")

    async def _suspect(self, why: str) -> None:
        """Are the topics still the ones that the log was created with? Raises `LogDamaged` if not."""
        async with self._checking:
            await compare(self._connection, self.prefix, self._mark, why)
            self._checked_s = time.monotonic()

    async def _regressed(self, position: Position) -> None:
        """A batch came to stand below one that was acknowledged before it."""
        await self._suspect(f"an append came to stand at {position}")
        raise LogDamaged(
            f"{position}: an append came to stand below records that were acknowledged before",
            hint="Records were lost. Restore the topic, or copy the ledger from elsewhere: cledger log copy",
        )


def _check_header_names(entries: Sequence[NewEntry]) -> None:
    for at, entry in enumerate(entries):
        for name, _ in entry.headers:
            try:
                name.encode()
            except UnicodeEncodeError as error:
                raise UsageError(f"entry {at}: the header name {name!r} is no UTF-8 text: {error.reason}") from None
