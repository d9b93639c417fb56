"""Which log the topics of a Kafka cluster are: an identity record beside them, made when they are made.

The record names Kafka's own ids of the topics. A topic that was deleted and made anew under its name has another id, so it is
told from the one that was, by any process and without an index, even if it has grown beyond what was in it.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

import msgspec
from aiokafka import errors
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from ledger.errors import LedgerError, LogDamaged, LogMissing, LogUnavailable, UsageError
from ledger.kafka.connection import EARLIEST, LATEST, UNKNOWN_TOPIC, KafkaConnection
from ledger.kafka.protocol import TopicSeen
from ledger.kafka.reading import KafkaReader
from ledger.kafka.writing import MESSAGE_BYTES_MAX, KafkaWriter
from ledger.log import EVENTS, TOPICS, NewEntry
from schemas.ids import Position

IDENTITY = "compaction.identity"
"""Topic of the record that says which log this is."""

FORMAT = 1
PREFIXES_NAMED = 5
"""Other logs of a cluster that are named where the one that was asked for is not there, the nearest name first."""

PARTITIONS = 64
"""Fixed at creation: the order within a scope hangs on it. Up to so many workers can share the load."""

TOPIC_CONFIG: Mapping[str, str] = {
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
    "max.message.bytes": str(MESSAGE_BYTES_MAX),
    "message.timestamp.type": "LogAppendTime",
    "compression.type": "producer",
    "unclean.leader.election.enable": "false",
}
"""What the promises rest on: nothing is removed or rewritten, the largest entry fits, an elected leader has every acknowledged
record.
"""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """The record of the identity topic."""

    format: int
    log_id: str
    partitions: int
    topics: dict[str, str]


async def existing_mark(connection: KafkaConnection, prefix: str) -> Mark:
    """The identity record, or the reason why there is none."""
    seen = await connection.learn(prefix + topic for topic in (*TOPICS, IDENTITY))
    missing = [topic for topic in (*TOPICS, IDENTITY) if seen[prefix + topic].error == UNKNOWN_TOPIC]
    where = f"kafka://{connection.servers}"
    if len(missing) == len(TOPICS) + 1:
        raise await _no_log(connection, prefix)
    mark = await read_mark(connection, prefix) if IDENTITY not in missing else None
    if mark is None:
        present = [topic for topic in TOPICS if topic not in missing]
        if await _entries_in(connection, prefix, present):
            raise LogDamaged(
                f"{where}: {prefix}{IDENTITY} does not say which log this is, although its topics have records",
                hint="Restore that topic, or copy the records into a log of their own.",
            )
        raise LogMissing(f"the log at {where} was not created completely", hint="Finish with: cledger topics create")
    if missing:
        raise LogDamaged(f"{where}: the topic {prefix}{missing[0]} was deleted", hint="Restore it.")
    return mark


async def _no_log(connection: KafkaConnection, prefix: str) -> LogMissing:
    """There is none under this prefix: what was looked for, and which other logs the cluster has."""
    where = f"kafka://{connection.servers}"
    under = f"under the prefix {prefix!r} (CLEDGER_KAFKA_PREFIX)" if prefix else "without a prefix (CLEDGER_KAFKA_PREFIX)"
    looked = ", ".join(prefix + topic for topic in (*TOPICS, IDENTITY))
    others = [name.removesuffix(EVENTS) for name in await connection.names() if name.endswith(EVENTS)]
    hint = f"Make one with: cledger topics create --log {where}"
    if others:
        near = sorted(others, key=lambda other: (-SequenceMatcher(None, prefix, other).ratio(), other))
        shown = ", ".join(repr(other) if other else "no prefix" for other in near[:PREFIXES_NAMED])
        more = f" and {len(near) - PREFIXES_NAMED} more" if len(near) > PREFIXES_NAMED else ""
        choose = f"export CLEDGER_KAFKA_PREFIX={near[0]}" if near[0] else "unset CLEDGER_KAFKA_PREFIX"
        hint = f"This cluster has logs under other prefixes: {shown}{more}. If one is meant: {choose}\n{hint}"
    return LogMissing(f"there is no log at {where} {under}; looked for the topics {looked}", hint=hint)


async def read_mark(connection: KafkaConnection, prefix: str) -> Mark | None:
    """The first record of the identity topic, None if it has none: of several makers the first one counts."""
    name = prefix + IDENTITY
    seen = connection.topics[name]
    if (await connection.offsets(name, [0], EARLIEST))[0] > 0:
        raise LogDamaged(f"{name}: its record was removed", hint="Set retention.ms=-1, and restore the topic.")

    async def unsuspecting(why: str) -> None:
        del why

    reader = KafkaReader(connection, {IDENTITY: name}, {IDENTITY: seen.id_bytes}, unsuspecting)
    found = await reader.read(IDENTITY, 0, 0, 1, 1)
    if not found:
        return None
    try:
        mark = msgspec.json.decode(found[0].value, type=Mark)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise LogDamaged(f"{name}/0@0: this is no identity: {error}", hint="Somebody else writes to this topic.") from None
    if mark.format != FORMAT or set(mark.topics) != set(TOPICS):
        raise LogDamaged(
            f"{name}/0@0: the log has format {mark.format}, this release reads format {FORMAT}", hint="Use a newer release."
        )
    return mark


async def write_mark(connection: KafkaConnection, prefix: str, partitions: int) -> None:
    """Say which log this is, once all of its topics are there, empty and of the right size."""
    seen = {topic: connection.topics[prefix + topic] for topic in (*TOPICS, IDENTITY)}
    for topic in TOPICS:
        if len(seen[topic].leaders) != partitions:
            raise UsageError(
                f"{prefix + topic} has {len(seen[topic].leaders)} partitions, not {partitions}",
                hint="All three topics have one count for ever: name it, or delete the topics.",
            )
    if filled := await _entries_in(connection, prefix, TOPICS):
        raise UsageError(f"{prefix + filled} has records and no identity", hint="A log starts empty: choose another prefix.")
    mark = Mark(
        format=FORMAT,
        log_id=uuid.uuid4().hex,
        partitions=partitions,
        topics={topic: seen[topic].topic_id for topic in TOPICS},
    )

    async def unsuspecting(position: Position) -> None:
        del position

    writer = KafkaWriter(connection, prefix, unsuspecting)
    try:
        await writer.append(IDENTITY, [NewEntry("identity", msgspec.json.encode(mark))], [0])
    finally:
        await writer.close()


async def _entries_in(connection: KafkaConnection, prefix: str, topics: Sequence[str]) -> str:
    """The first of these topics that has a record; empty if none has."""
    for topic in topics:
        partitions = sorted(connection.topics[prefix + topic].leaders)
        if any((await connection.offsets(prefix + topic, partitions, LATEST)).values()):
            return topic
    return ""


async def compare(connection: KafkaConnection, prefix: str, mark: Mark, why: str = "") -> None:
    """Raises `LogDamaged` unless the topics are those of the identity record."""
    seen = await connection.learn(prefix + topic for topic in TOPICS)
    for topic in TOPICS:
        if flaw := _flaw(seen[prefix + topic], mark.topics[topic], mark.partitions):
            raise LogDamaged(
                f"kafka://{connection.servers}: {prefix + topic} {flaw}{f' ({why})' if why else ''}",
                hint="Its records are gone or misplaced. Restore it, or copy the ledger from elsewhere: cledger log copy",
            )


async def existing_log(connection: KafkaConnection, prefix: str, mark: Mark) -> LedgerError:
    """What to tell whoever would make a log where there is one, or what is left of one: a topic that is made anew has none of
    its records, so the log would not be whole by it.
    """
    try:
        await compare(connection, prefix, mark)
    except LogDamaged as error:
        return LogDamaged(
            f"{error.message}; there was a log already, which no new topic makes whole",
            hint="Restore that topic with its records. Or begin another log beside it, under CLEDGER_KAFKA_PREFIX=NAME. and "
            "bring back what a copy elsewhere holds: cledger log copy",
        )
    return UsageError(f"kafka://{connection.servers}: there is a log already", hint="Check it with: cledger topics verify")


def _flaw(seen: TopicSeen, topic_id: str, partitions: int) -> str:
    if seen.error == UNKNOWN_TOPIC:
        return "was deleted"
    if seen.error:
        return ""  # no leader, or the like: whoever asks next gets an answer or a deadline
    if seen.topic_id != topic_id:
        return f"was deleted and made anew: its id is {seen.topic_id}, it was {topic_id}"
    if len(seen.leaders) != partitions:
        return f"has {len(seen.leaders)} partitions, it had {partitions}"
    return ""


async def make_topics(
    connection: KafkaConnection,
    prefix: str,
    missing: list[str],
    partitions: int,
    replication: int | None,
    configs: Mapping[str, Mapping[str, str]],
) -> None:
    """Create topics and wait until their leaders are known."""
    wanted = []
    for topic in missing:
        count = 1 if topic == IDENTITY else partitions
        settings = {**TOPIC_CONFIG, **configs.get(topic, {})}
        wanted.append(NewTopic(prefix + topic, count, replication or connection.replication, topic_configs=settings))
    if wanted:
        await connection.insist("creating the topics", lambda: _create(connection, wanted))
    await connection.settled(prefix + topic for topic in (*TOPICS, IDENTITY))


async def _create(connection: KafkaConnection, wanted: list[NewTopic]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=connection.servers, **connection.security)
    try:
        await admin.start()
        answer = await admin.create_topics(wanted)
    finally:
        await admin.close()
    for name, code, message in answer.topic_errors:
        error = errors.for_code(code)
        if code and error is not errors.TopicAlreadyExistsError:
            if error.retriable:
                raise error(message)
            raise LogUnavailable(f"kafka://{connection.servers}: {name} cannot be created: {message or error.__name__}")
