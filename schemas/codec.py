"""The one place where bytes and structs meet.

Decoding has two steps: the type is read first, so that a type or version this build does not know is told apart from bytes
that are no record at all (design section 5, three faults). Encoding is deterministic: struct order, no floats, no maps.
"""

from __future__ import annotations

from typing import Any, get_args

import msgspec

from schemas.alerts import AnyAlert
from schemas.decisions import AnyDecision
from schemas.records import AnyRecord
from schemas.upcasts import UPCASTS

RECORD_BYTES_MAX = 900 * 1024
"""Largest record in bytes. Kafka's default limit is 1 MiB, less room for key, headers and batch framing."""


class NotARecord(ValueError):
    """The bytes are no JSON object of a known shape; `reason` says where it fails."""


class UnknownType(ValueError):
    """A well-formed object whose type or version this build does not know."""

    def __init__(self, type_: str) -> None:
        super().__init__(type_)
        self.type = type_


class _Head(msgspec.Struct):
    type: str
    scope: str = ""
    id: str = ""


_encoder = msgspec.json.Encoder(order="deterministic")
_head = msgspec.json.Decoder(_Head)
_record = msgspec.json.Decoder(AnyRecord)
_decision = msgspec.json.Decoder(AnyDecision)
_alert = msgspec.json.Decoder(AnyAlert)


def _tags(union: Any) -> frozenset[str]:
    return frozenset(str(member.__struct_config__.tag) for member in get_args(union))


RECORD_TAGS = _tags(AnyRecord)
DECISION_TAGS = _tags(AnyDecision)
ALERT_TAGS = _tags(AnyAlert)
_TYPE_FIRST = b'{"type":"'
_READ_TAGS = frozenset(tag.encode() for tag in (*RECORD_TAGS, *UPCASTS))


def encode(value: msgspec.Struct) -> bytes:
    """One line of UTF-8 JSON without a line break."""
    return _encoder.encode(value)


def decode_record(data: bytes) -> AnyRecord:
    """A record of `compaction.events`. Raises `UnknownType` or `NotARecord`."""
    return _decode(data, _record, RECORD_TAGS)  # type: ignore[no-any-return]


def is_known_type(data: bytes) -> bool:
    """False for what `decode_record` says `UnknownType` of, told without decoding it where the type stands first, as this
    release writes it. Bytes that are no record name no type.
    """
    if data.startswith(_TYPE_FIRST) and data[len(_TYPE_FIRST) : data.find(b'"', len(_TYPE_FIRST))] in _READ_TAGS:
        return True
    try:
        decode_record(data)
    except UnknownType:
        return False
    except NotARecord:
        pass
    return True


def decode_decision(data: bytes) -> AnyDecision:
    """A decision of `compaction.decisions`. Raises `UnknownType` or `NotARecord`."""
    return _decode(data, _decision, DECISION_TAGS)  # type: ignore[no-any-return]


def decode_alert(data: bytes) -> AnyAlert:
    """An alert of `compaction.alerts`. Raises `UnknownType` or `NotARecord`."""
    return _decode(data, _alert, ALERT_TAGS)  # type: ignore[no-any-return]


def _decode(data: bytes, decoder: msgspec.json.Decoder[Any], tags: frozenset[str]) -> Any:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _explain(data, decoder, tags, error)


def _explain(data: bytes, decoder: msgspec.json.Decoder[Any], tags: frozenset[str], error: Exception) -> Any:
    """The slow path: an old shape to upcast, an unknown type, or no record."""
    try:
        head = _head.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NotARecord(f"not a record: {error}") from None
    if head.type in tags:
        raise NotARecord(f"{head.type}: {error}") from None
    if head.type not in UPCASTS:
        raise UnknownType(head.type) from None
    value: dict[str, Any] = msgspec.json.decode(data)
    while value.get("type") in UPCASTS:
        value = UPCASTS[value["type"]](value)
    return _decode(msgspec.json.encode(value), decoder, tags)


def scope_hint(data: bytes) -> str:
    """The scope that undecodable bytes claim, or the empty string: good enough to say whose trust is in question."""
    try:
        return _head.decode(data).scope
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
