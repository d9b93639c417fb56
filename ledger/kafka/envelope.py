"""The envelope of a record on Kafka: CloudEvents 1.0 in binary mode, the required attributes and nothing more.

Every header costs each reader, so time, subject and sequence stay in the value. The five headers of the envelope stand in front
of the entry's own, in a fixed order; reading takes exactly these five off, so the entry's own come back as they were (L6),
whatever their names. A record that somebody else published without the envelope keeps all its headers.
"""

from __future__ import annotations

import hashlib

import msgspec

from ledger.log import Header

SPEC_VERSION = b"1.0"
CONTENT_TYPE = b"application/json"
NAMES = ("ce_specversion", "ce_type", "ce_source", "ce_id", "content-type")
OPAQUE_TYPE, OPAQUE_CONTENT_TYPE = b"opaque", b"application/octet-stream"
"""For a value that is no object with a type and an id: it is carried all the same, and its id is a hash of it."""


class _Head(msgspec.Struct):
    type: str
    id: str


_head = msgspec.json.Decoder(_Head)


def wrap(topic: str, value: bytes, own: tuple[Header, ...]) -> list[Header]:
    """The headers of a record: the envelope, then the entry's own. `ce_type` and `ce_id` are those of the value."""
    type_, id_, content = OPAQUE_TYPE, "", CONTENT_TYPE
    try:
        head = _head.decode(value)
        type_, id_ = head.type.encode(), head.id
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        content = OPAQUE_CONTENT_TYPE
    return [
        (NAMES[0], SPEC_VERSION),
        (NAMES[1], type_ or OPAQUE_TYPE),
        (NAMES[2], b"/" + topic.encode()),
        (NAMES[3], id_.encode("utf-8", "backslashreplace") or hashlib.sha256(value).hexdigest().encode()),
        (NAMES[4], content),
        *own,
    ]


def unwrap(headers: list[tuple[str, bytes | None]]) -> tuple[Header, ...]:
    """The entry's own headers. A null value, which the port does not know, reads as an empty one."""
    own = headers
    if (
        len(headers) >= len(NAMES)
        and headers[0] == (NAMES[0], SPEC_VERSION)
        and headers[1][0] == NAMES[1]
        and headers[2][0] == NAMES[2]
        and headers[3][0] == NAMES[3]
        and headers[4][0] == NAMES[4]
    ):
        own = headers[5:]
    return tuple([(name, value if value is not None else b"") for name, value in own])
