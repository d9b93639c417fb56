"""Two requests of the Kafka protocol that the client library does not speak in the versions needed here.

Topic ids tell a topic from one that was deleted and made anew under the same name. Metadata names them from version 10 on,
Fetch asks by them from version 13 on, so that the broker itself refuses a read from a replaced topic. Kafka has both since 3.1.
"""

from __future__ import annotations

import uuid
from io import BytesIO
from typing import Any, ClassVar

import msgspec
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    Boolean,
    CompactArray,
    CompactBytes,
    CompactString,
    Int8,
    Int16,
    Int32,
    Int64,
    Schema,
    TaggedFields,
)

METADATA_KEY, FETCH_KEY = 3, 1


class _Uuid:
    """16 bytes, as they are."""

    @staticmethod
    def encode(value: bytes) -> bytes:
        return value

    @staticmethod
    def decode(data: BytesIO) -> bytes:
        return data.read(16)

    @staticmethod
    def repr(value: bytes) -> str:
        return value.hex()


_NAME = CompactString("utf-8")
_TAGS = ("tags", TaggedFields)


class TopicsResponseV12(Response):
    """Brokers, cluster id and topics with their ids."""

    API_KEY = METADATA_KEY
    API_VERSION = 12
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("brokers", CompactArray(("node", Int32), ("host", _NAME), ("port", Int32), ("rack", _NAME), _TAGS)),
        ("cluster_id", _NAME),
        ("controller", Int32),
        (
            "topics",
            CompactArray(
                ("error", Int16),
                ("name", _NAME),
                ("topic_id", _Uuid),
                ("internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("in_sync", CompactArray(Int32)),
                        ("offline", CompactArray(Int32)),
                        _TAGS,
                    ),
                ),
                ("operations", Int32),
                _TAGS,
            ),
        ),
        _TAGS,
    )


class TopicsRequestV12(RequestStruct):
    """The wire form of `TopicsRequest`."""

    API_KEY = METADATA_KEY
    API_VERSION = 12
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = TopicsResponseV12
    SCHEMA = Schema(
        ("topics", CompactArray(("topic_id", _Uuid), ("name", _NAME), _TAGS)),
        ("may_create", Boolean),
        ("with_operations", Boolean),
        _TAGS,
    )


class TopicsRequest(Request[TopicsRequestV12]):
    """What the cluster says of some topics. Creates none."""

    API_KEY = METADATA_KEY
    _CLASSES: ClassVar[tuple[type[RequestStruct]]] = (TopicsRequestV12,)

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def build(self, request_struct_class: type[TopicsRequestV12]) -> TopicsRequestV12:
        """The request as it goes out; a topic is asked for by name, so its id is left zero."""
        topics: list[tuple[Any, ...]] = [(bytes(16), name, {}) for name in self._names]
        return request_struct_class(topics, False, False, {})


class FetchResponseV13(Response):
    """Records of one partition."""

    API_KEY = FETCH_KEY
    API_VERSION = 13
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error", Int16),
        ("session_id", Int32),
        (
            "topics",
            CompactArray(
                ("topic_id", _Uuid),
                (
                    "partitions",
                    CompactArray(
                        ("partition", Int32),
                        ("error", Int16),
                        ("high_watermark", Int64),
                        ("last_stable_offset", Int64),
                        ("log_start", Int64),
                        ("aborted", CompactArray(("producer_id", Int64), ("first_offset", Int64), _TAGS)),
                        ("preferred_replica", Int32),
                        ("records", CompactBytes),
                        _TAGS,
                    ),
                ),
                _TAGS,
            ),
        ),
        _TAGS,
    )


class FetchRequestV13(RequestStruct):
    """The wire form of `FetchByIdRequest`."""

    API_KEY = FETCH_KEY
    API_VERSION = 13
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = FetchResponseV13
    SCHEMA = Schema(
        ("replica_id", Int32),
        ("max_wait_ms", Int32),
        ("min_bytes", Int32),
        ("max_bytes", Int32),
        ("isolation", Int8),
        ("session_id", Int32),
        ("session_epoch", Int32),
        (
            "topics",
            CompactArray(
                ("topic_id", _Uuid),
                (
                    "partitions",
                    CompactArray(
                        ("partition", Int32),
                        ("leader_epoch", Int32),
                        ("offset", Int64),
                        ("last_fetched_epoch", Int32),
                        ("log_start", Int64),
                        ("max_bytes", Int32),
                        _TAGS,
                    ),
                ),
                _TAGS,
            ),
        ),
        ("forgotten", CompactArray(("topic_id", _Uuid), ("partitions", CompactArray(Int32)), _TAGS)),
        ("rack", _NAME),
        _TAGS,
    )


class Wanted(msgspec.Struct, frozen=True):
    """One partition in a fetch: from which offset, and how many bytes at most. At least one batch comes if there is one."""

    topic_id: bytes
    partition: int
    offset: int
    max_bytes: int


class FetchByIdRequest(Request[FetchRequestV13]):
    """Records by topic id, as a consumer without a group and without a session. `max_wait_ms` 0 answers at once."""

    API_KEY = FETCH_KEY
    _CLASSES: ClassVar[tuple[type[RequestStruct]]] = (FetchRequestV13,)

    def __init__(self, wanted: list[Wanted], max_wait_ms: int, max_bytes: int) -> None:
        self._wanted, self._max_wait_ms, self._max_bytes = wanted, max_wait_ms, max_bytes

    def build(self, request_struct_class: type[FetchRequestV13]) -> FetchRequestV13:
        """The request as it goes out: no leader epoch is claimed, uncommitted reads (nobody here writes in transactions)."""
        topics: dict[bytes, list[tuple[Any, ...]]] = {}
        for each in self._wanted:
            row: tuple[Any, ...] = (each.partition, -1, each.offset, -1, -1, each.max_bytes, {})
            topics.setdefault(each.topic_id, []).append(row)
        rows: list[tuple[Any, ...]] = [(topic_id, partitions, {}) for topic_id, partitions in topics.items()]
        return request_struct_class(-1, self._max_wait_ms, 1, self._max_bytes, 0, 0, -1, rows, [], "", {})


class Fetched(msgspec.Struct, frozen=True):
    """What a broker answered for one partition. `error` is a protocol error code, 0 for none."""

    topic_id: bytes
    partition: int
    error: int
    end: int
    start: int
    records: bytes


def fetched_of(response: FetchResponseV13) -> list[Fetched]:
    """The answer, partition by partition."""
    found = []
    for topic_id, partitions, _ in response.topics:
        for partition, error, end, _, start, _, _, records, _ in partitions:
            found.append(Fetched(topic_id, partition, error, end, start, records or b""))
    return found


class TopicSeen(msgspec.Struct, frozen=True):
    """What a broker says of one topic: its id, and each partition's leader (-1 without one)."""

    name: str
    error: int
    topic_id: str
    leaders: dict[int, int]
    replicas: int

    @property
    def id_bytes(self) -> bytes:
        """The topic id as it goes over the wire."""
        return uuid.UUID(self.topic_id).bytes


def topics_of(response: TopicsResponseV12) -> dict[str, TopicSeen]:
    """The topics of an answer by name."""
    found = {}
    for error, name, topic_id, _, partitions, _, _ in response.topics:
        leaders = {row[1]: row[2] for row in partitions}
        replicas = min((len(row[4]) for row in partitions), default=0)
        found[name] = TopicSeen(name, error, str(uuid.UUID(bytes=topic_id)), leaders, replicas)
    return found
