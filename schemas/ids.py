"""Identifiers and how they are made.

Every id is a function of *what* a record speaks of, never of when, where or by whom it was read: the same transcript line
read from two files gives the same id, and a repeated delivery is recognised without asking anyone (promise P3).
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import NewType

import msgspec

ScopeId = NewType("ScopeId", str)
SessionId = NewType("SessionId", str)
SpanId = NewType("SpanId", str)
SummaryId = NewType("SummaryId", str)
FactId = NewType("FactId", str)
EventId = NewType("EventId", str)

EVENT_ID_BYTES = 16
"""128 bits: no accidental collision over any log that fits on disk."""

FACT_ID_BYTES = 12
"""96 bits a fact, unique within one scope; short because it is a key of the carrier index millions of times over."""


class Position(msgspec.Struct, frozen=True, order=True):
    """Where an entry stands: offsets are dense within one partition of one topic, and compare only there."""

    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}@{self.offset}"


_LENGTHS = tuple(number.to_bytes(8, "big") for number in range(256))


def digest(*parts: str | bytes, size: int = EVENT_ID_BYTES, key: bytes = b"") -> bytes:
    """BLAKE2b over length-prefixed parts, so that ("ab", "c") and ("a", "bc") differ."""
    pieces: list[bytes] = []
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        length = len(raw)
        pieces += (_LENGTHS[length] if length < len(_LENGTHS) else length.to_bytes(8, "big"), raw)
    # One call with everything: the fold makes dozens of digests for each record, most of them of a few short parts.
    return hashlib.blake2b(b"".join(pieces), digest_size=size, key=key).digest()


@lru_cache(maxsize=256)
def base_type(record_type: str) -> str:
    """`span.recorded.v1` -> `span.recorded`: a later version of a shape names the same object by the same id."""
    stem, dot, version = record_type.rpartition(".v")
    return stem if dot and version.isdecimal() else record_type


def event_id(record_type: str, session: str, *object_id: str) -> EventId:
    """Id of a record: hash of its type without version, its session and the object it speaks of (contracts section 1), which
    has a second part where the same thing can happen to it again (see `schemas.objects`).
    """
    return EventId(digest(base_type(record_type), session, *object_id).hex())


def decision_id(cause: str) -> str:
    """Id of the decision on the request or observation with event id `cause` (design section 5)."""
    return digest("decision", cause).hex()


def rejection_id(cause: str, content_sha256: str) -> str:
    """Id of a `record.rejected`: hash of the event id or scope and of the refused content, so it is issued once."""
    return digest("rejection", cause, content_sha256).hex()


def fingerprint(scope: str, rule: str, subject: str) -> str:
    """Stable name of an alert: one for each scope, rule and subject (promise P9)."""
    return digest("alert", scope, rule, subject).hex()


def fact_id(scope_key: str, *identity: str) -> FactId:
    """Keyed hash of class, canonical value, subject, polarity, quantifier and validity; the key is the scope's."""
    return FactId("f" + digest(*identity, size=FACT_ID_BYTES, key=_scope_key(scope_key)).hex())


@lru_cache(maxsize=64)
def _scope_key(scope_key: str) -> bytes:
    """The key of all facts of a scope, made once for the scopes at hand."""
    return digest("scope-key", scope_key, size=32)


def span_id(session: str, native: str, part: int | None = None) -> SpanId:
    """`<session>:<native entry id>[.part]`."""
    return SpanId(f"{session}:{native}" if part is None else f"{session}:{native}.{part}")
