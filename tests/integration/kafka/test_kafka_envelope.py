"""Records on Kafka are CloudEvents in binary mode: the SDK reads ours, and what the SDK writes is read like any record."""

from __future__ import annotations

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from cloudevents.core.bindings.kafka import KafkaMessage, from_binary_event, to_binary_event
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given
from hypothesis import strategies as st

from ledger.adapters.kafka_log import KafkaLog
from ledger.kafka.envelope import NAMES, unwrap, wrap
from ledger.log import EVENTS, Entry, NewEntry
from schemas.codec import decode_record, encode
from schemas.ids import Position
from schemas.records import SessionOpened
from tests.support.broker import new_log

RECORD = SessionOpened(id="5" * 32, scope="scope/1", session="scope/1", store="none", sequence=1)


async def sole_message(log: KafkaLog) -> KafkaMessage:
    """What a plain consumer finds in the events topic."""
    consumer = AIOKafkaConsumer(bootstrap_servers=log.servers, enable_auto_commit=False)
    await consumer.start()
    consumer.assign([TopicPartition(log.prefix + EVENTS, 0)])
    await consumer.seek_to_beginning()
    seen = await consumer.getone()
    await consumer.stop()
    assert len(seen.headers) == len({name for name, _ in seen.headers})
    return KafkaMessage(headers=dict(seen.headers), key=seen.key, value=seen.value)


@pytest.mark.integration
async def test_record_on_kafka_is_an_event_to_the_sdk(broker: str) -> None:
    log = await new_log(broker)
    await log.append(EVENTS, [NewEntry(RECORD.scope, encode(RECORD), (("own", b"1"),))])
    message = await sole_message(log)
    await log.close()
    event = from_binary_event(message)
    assert (event.get_id(), event.get_type(), event.get_specversion()) == (RECORD.id, "session.opened.v1", "1.0")
    assert event.get_source() == "/compaction.events"
    assert event.get_datacontenttype() == "application/json"
    assert event.get_data() == msgspec.json.decode(encode(RECORD))
    assert set(message.headers) == {*NAMES, "own"}


@pytest.mark.integration
async def test_event_of_the_sdk_is_read_as_a_record(broker: str) -> None:
    log = await new_log(broker)
    attributes = {"id": RECORD.id, "type": "session.opened.v1", "source": "/elsewhere", "datacontenttype": "application/json"}
    message = to_binary_event(CloudEvent(attributes=attributes, data=msgspec.json.decode(encode(RECORD))))
    producer = AIOKafkaProducer(bootstrap_servers=broker)
    await producer.start()
    headers = list(message.headers.items())
    await producer.send_and_wait(log.prefix + EVENTS, message.value, RECORD.scope.encode(), partition=0, headers=headers)
    await producer.stop()
    (found,) = await log.read(EVENTS, 0, 0)
    await log.close()
    assert decode_record(found.value) == RECORD
    assert found.key == RECORD.scope


@pytest.mark.integration
async def test_own_headers_that_look_like_an_envelope_come_back(broker: str) -> None:
    """L6"""
    own = (*((name, b"1.0") for name in NAMES), ("ce_id", b""))
    log = await new_log(broker)
    await log.append(EVENTS, [NewEntry("scope", b"{}", own)])
    found = await log.read(EVENTS, 0, 0)
    await log.close()
    assert found == [Entry(Position(EVENTS, 0, 0), "scope", b"{}", own)]


@pytest.mark.parametrize("value", [b"", b"\xff", b"[]", b"{}", b'{"type":"","id":""}', b'{"type":7,"id":"a"}', b"[" * 100_000])
def test_envelope_of_any_bytes_has_an_id_and_a_type(value: bytes) -> None:
    """CloudEvents wants neither to be empty; what is no record is carried all the same."""
    headers = dict(wrap(EVENTS, value, ()))
    assert headers["ce_id"]
    assert headers["ce_type"] == b"opaque"
    assert unwrap(list(wrap(EVENTS, value, (("a", b"b"),)))) == (("a", b"b"),)


@given(st.binary(), st.lists(st.tuples(st.sampled_from([*NAMES, "", "own"]) | st.text(), st.binary())))
def test_envelope_comes_off_and_leaves_what_was_the_entry_s_own(value: bytes, own: list[tuple[str, bytes]]) -> None:
    """L6"""
    assert unwrap(list(wrap(EVENTS, value, tuple(own)))) == tuple(own)
