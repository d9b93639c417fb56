"""A log on Kafka that is no longer what it was is noticed, by an open handle and by a new one (L10, F7)."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.structs import TopicPartition

from ledger.adapters.kafka_log import KafkaLog
from ledger.errors import EntryTooLarge, LogDamaged, LogMissing, LogUnavailable, UsageError
from ledger.kafka.identity import IDENTITY
from ledger.log import ALERTS, DECISIONS, EVENTS, NewEntry
from tests.support.broker import admin_of, new_log, new_prefix

pytestmark = pytest.mark.integration


@pytest.fixture
async def log(broker: str) -> AsyncIterator[KafkaLog]:
    log = await new_log(broker, timeout_s=10)
    await log.append(EVENTS, [NewEntry("scope", b"one"), NewEntry("scope", b"two")])
    yield log
    await log.close()


async def made_anew(log: KafkaLog, topic: str, partitions: int = 1) -> None:
    """Delete a topic and make it again under its name."""
    async with admin_of(log.servers) as admin:
        await admin.delete_topics([log.prefix + topic])
        deadline_s = time.monotonic() + 20
        while True:
            answer = await admin.create_topics([NewTopic(log.prefix + topic, partitions, 1)])
            if answer.topic_errors[0][1] == 0:
                return
            assert time.monotonic() < deadline_s, answer
            await asyncio.sleep(0.05)


async def refilled(log: KafkaLog, topic: str, count: int) -> None:
    """Write records as somebody who knows nothing of the ledger."""
    producer = AIOKafkaProducer(bootstrap_servers=log.servers)
    await producer.start()
    for number in range(count):
        await producer.send_and_wait(log.prefix + topic, b"other %d" % number, b"scope", partition=0)
    await producer.stop()


async def test_topic_made_anew_and_grown_beyond_what_was_read_is_noticed_by_a_reader(log: KafkaLog) -> None:
    assert len(await log.read(EVENTS, 0, 0)) == 2
    await made_anew(log, EVENTS)
    await refilled(log, EVENTS, 5)
    with pytest.raises(LogDamaged, match=r"made anew"):
        await log.read(EVENTS, 0, 2)
    with pytest.raises(LogDamaged, match=r"made anew"):
        await KafkaLog.open(log.servers, prefix=log.prefix)


async def test_topic_made_anew_is_noticed_by_an_append(log: KafkaLog) -> None:
    await made_anew(log, EVENTS)
    with pytest.raises(LogDamaged, match=r"made anew"):
        await log.append(EVENTS, [NewEntry("scope", b"three")])


async def test_topic_made_anew_is_noticed_by_who_waits_and_who_asks_for_the_end(log: KafkaLog) -> None:
    waiting = asyncio.create_task(log.wait_for(EVENTS, 0, 2, 30))  # sees it deleted, or made anew already
    await asyncio.sleep(0)
    await made_anew(log, EVENTS)
    with pytest.raises(LogDamaged, match=r"was deleted"):
        await waiting
    with pytest.raises(LogDamaged, match=r"made anew"):
        await log.end(EVENTS, 0)


async def test_topic_deleted_is_noticed(log: KafkaLog) -> None:
    async with admin_of(log.servers) as admin:
        await admin.delete_topics([log.prefix + DECISIONS])
    with pytest.raises(LogDamaged, match=r"was deleted"):
        await log.read(DECISIONS, 0, 0)
    with pytest.raises(LogDamaged, match=r"was deleted"):
        await KafkaLog.open(log.servers, prefix=log.prefix)


async def test_partitions_added_are_noticed_at_open(log: KafkaLog) -> None:
    async with admin_of(log.servers) as admin:
        await admin.create_partitions({log.prefix + ALERTS: NewPartitions(3)})
    with pytest.raises(LogDamaged, match=r"has 3 partitions, it had 1"):
        await KafkaLog.open(log.servers, prefix=log.prefix)


async def test_records_removed_at_the_front_are_noticed(log: KafkaLog) -> None:
    async with admin_of(log.servers) as admin:
        await admin.delete_records({TopicPartition(log.prefix + EVENTS, 0): RecordsToDelete(1)})
    for offset in (0, 1):
        with pytest.raises(LogDamaged, match=r"first 1 records were removed"):
            await log.read(EVENTS, 0, offset)
    with pytest.raises(LogDamaged, match=r"first 1 records were removed"):
        await KafkaLog.open(log.servers, prefix=log.prefix)


async def test_partition_that_ends_before_what_was_seen_is_noticed(log: KafkaLog) -> None:
    """What an unclean election or a lost disk leaves behind. The claim that there was more is the test's."""
    hasty = await KafkaLog.open(log.servers, prefix=log.prefix, timeout_s=1)
    hasty._reader.seen(EVENTS, 0, 3)
    for call in (hasty.end(EVENTS, 0), hasty.read(EVENTS, 0, 0), hasty.wait_for(EVENTS, 0, 2, 30)):
        with pytest.raises(LogDamaged, match=r"ends at offset 2, it had 3 records"):
            await call
    await hasty.close()


async def test_marker_of_a_transaction_is_a_hole(log: KafkaLog) -> None:
    """L3: positions are counted, so a topic that somebody writes to in transactions cannot be folded."""
    producer = AIOKafkaProducer(bootstrap_servers=log.servers, transactional_id=log.prefix)
    await producer.start()
    for value in (b"three", b"five"):
        async with producer.transaction():
            await producer.send_and_wait(log.prefix + EVENTS, value, b"scope", partition=0)
    await producer.stop()
    assert [entry.value for entry in await log.read(EVENTS, 0, 0, max_entries=3)] == [b"one", b"two", b"three"]
    with pytest.raises(LogDamaged, match=r"/0@3"):
        await log.read(EVENTS, 0, 3)


async def test_records_of_others_without_key_value_or_envelope_are_read(log: KafkaLog) -> None:
    """L6: what stands in the log is told as it is; what it is worth, the fold decides."""
    producer = AIOKafkaProducer(bootstrap_servers=log.servers)
    await producer.start()
    for key, value, headers in ((None, b"v", []), (b"k", None, [("ce_id", b"1")]), (b"\xff\xfe", b"", [("h", b"\xff")])):
        await producer.send_and_wait(log.prefix + EVENTS, value, key, partition=0, headers=headers)
    await producer.stop()
    found = await log.read(EVENTS, 0, 2)
    assert [(entry.key, entry.value, entry.headers) for entry in found] == [
        ("", b"v", ()),
        ("k", b"", (("ce_id", b"1"),)),
        ("\\xff\\xfe", b"", (("h", b"\xff"),)),
    ]


async def test_identity_topic_emptied_is_damage_once_there_are_records(log: KafkaLog) -> None:
    await made_anew(log, IDENTITY)
    with pytest.raises(LogDamaged, match=r"does not say which log this is"):
        await KafkaLog.open(log.servers, prefix=log.prefix)


async def test_log_that_was_never_made_is_missing(broker: str) -> None:
    with pytest.raises(LogMissing, match=r"topics create"):
        await KafkaLog.open(broker, prefix=new_prefix())


async def test_create_where_there_is_a_log_is_refused(log: KafkaLog) -> None:
    with pytest.raises(UsageError, match=r"there is a log already"):
        await KafkaLog.create(log.servers, prefix=log.prefix)


async def test_create_takes_over_empty_topics_of_the_right_size_only(broker: str) -> None:
    prefix = new_prefix()
    async with admin_of(broker) as admin:
        await admin.create_topics([NewTopic(prefix + EVENTS, 2, 1)])
    with pytest.raises(UsageError, match=r"has 2 partitions, not 3"):
        await KafkaLog.create(broker, 3, prefix=prefix)


async def test_two_who_create_one_log_get_the_same_one(broker: str) -> None:
    prefix = new_prefix()
    made = await asyncio.gather(*(KafkaLog.create(broker, 1, prefix=prefix) for _ in range(3)), return_exceptions=True)
    logs = [log for log in made if isinstance(log, KafkaLog)]
    assert logs
    assert all(isinstance(each, KafkaLog | UsageError) for each in made), made
    assert len({log.identity.log_id for log in logs}) == 1
    for log in logs:
        await log.close()


async def test_nobody_listening_is_told_at_once_with_the_address() -> None:
    """F8: code 4, no endless hang."""
    start_s = time.monotonic()
    with pytest.raises(LogUnavailable, match=r"127\.0\.0\.1:1\b") as raised:
        await KafkaLog.open("127.0.0.1:1")
    assert raised.value.exit_code == 4
    assert time.monotonic() - start_s < 10


async def test_batch_that_the_broker_finds_too_large_is_refused_and_the_log_goes_on(log: KafkaLog) -> None:
    """L11, on topics that somebody configured for less than the ledger needs."""
    async with admin_of(log.servers) as admin:
        resource = ConfigResource(ConfigResourceType.TOPIC, log.prefix + EVENTS, configs={"max.message.bytes": "2000"})
        await admin.alter_configs([resource])
    with pytest.raises(EntryTooLarge, match=r"topics verify"):
        await log.append(EVENTS, [NewEntry("scope", random.Random(1).randbytes(5000))])
    (at,) = await log.append(EVENTS, [NewEntry("scope", b"three")])
    assert at.offset == 2
