"""The log port: what every log adapter promises, and nothing else of it may be relied on.

Promises, cited by number in the conformance suite:

L1  Durable: when `append` returns, the entries survive a kill of this process and, as far as the adapter's own durability
    note goes, of the machine.
L2  Ordered: entries of one append that fall into one partition take ascending offsets in the order given; an append that
    returned before another began stands before it.
L3  Dense: offsets of a partition are 0, 1, 2, … without a hole.
L4  Unconditional: an append carries no expectation; the same value appended twice stands there twice.
L5  Placed: partition = murmur2(UTF-8 key) mod partition count, as the Java client computes it.
L6  Faithful: key, value and headers (ordered, names may repeat) come back byte for byte.
L7  Bounded: `read` returns at most `max_entries` entries and stops after the entry that reaches `max_bytes`; it returns at
    least one entry if there is one.
L8  Atomic: the entries of one append become readable together or, after an error, the caller can tell which did not.
L9  Shared: any number of processes append and read at the same time.
L10 Honest: a log that was emptied, truncated, damaged or replaced is noticed and raises `LogDamaged`; reading beyond the end
    returns nothing, reading below the first offset raises.
L11 Bounded input: an entry that is too large raises `EntryTooLarge` before anything was written.
L12 Closing: after `close` returned, every append that was awaited is durable and every call raises `LogClosed`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol, runtime_checkable

import msgspec

from ledger.errors import EntryTooLarge, UsageError
from schemas.ids import Position

EVENTS = "compaction.events"
DECISIONS = "compaction.decisions"
ALERTS = "compaction.alerts"
TOPICS: tuple[str, ...] = (EVENTS, DECISIONS, ALERTS)
DEAD_LETTERS = f"{EVENTS}.dlq"
"""Beside the topics of the log, where there is one: bytes from the events that are no record, whole, as they came."""

Header = tuple[str, bytes]


class NewEntry(msgspec.Struct, frozen=True):
    """What is to be appended to a topic. `key` is the scope."""

    key: str
    value: bytes
    headers: tuple[Header, ...] = ()


class Entry(msgspec.Struct, frozen=True):
    """What stands in the log."""

    position: Position
    key: str
    value: bytes
    headers: tuple[Header, ...] = ()


class LogIdentity(msgspec.Struct, frozen=True):
    """Which log this is: an id made when it was created, and its partition count, which never changes."""

    log_id: str
    partitions: int


VALUE_BYTES_MAX = 1 << 20
"""Largest value in bytes (L11): Kafka's usual limit, and above what the record codec allows itself."""

KEY_BYTES_MAX = 1024
"""Longest key in UTF-8 bytes: scope ids are short, and the key is stored with every entry."""

HEADERS_MAX = 64
HEADERS_BYTES_MAX = 64 * 1024
"""All header names and values of one entry together, in bytes."""


class Log(Protocol):
    """Append-only topics with the promises L1 to L12 of this module."""

    @property
    def identity(self) -> LogIdentity:
        """Which log this is."""
        ...

    async def append(self, topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        """Append and wait until durable. Returns positions in the order given.

        Raises `EntryTooLarge`, `LogUnavailable` (disk full, store gone; nothing of this call is acknowledged), `LogClosed`.
        """
        ...

    async def read(
        self, topic: str, partition: int, offset: int, *, max_entries: int = 1000, max_bytes: int = 8 << 20
    ) -> list[Entry]:
        """Entries from `offset` on, oldest first; empty at the end. Raises `LogDamaged`, `LogClosed`."""
        ...

    async def end(self, topic: str, partition: int) -> int:
        """The offset that the next entry of the partition will take. Raises `LogDamaged`, `LogClosed`."""
        ...

    async def close(self) -> None:
        """Release everything; calling it twice is harmless."""
        ...


@runtime_checkable
class TakesDeadLetters(Protocol):
    """A log with a topic of dead letters. Copies may stand there several times; the topic tells nobody what is true."""

    async def bury(self, entries: Sequence[NewEntry]) -> None:
        """Append entries to the dead letters and wait until they are durable. Raises as `Log.append` does, and `LogMissing`
        where there is no such topic.
        """
        ...


def check_place(topic: str, partition: int, partitions: int) -> None:
    """Raises `UsageError` unless `topic` is one of `TOPICS` and has a partition of this number."""
    if topic not in TOPICS:
        raise UsageError(f"there is no topic {topic!r}", hint=f"the topics are {', '.join(TOPICS)}")
    if not 0 <= partition < partitions:
        raise UsageError(f"{topic} has partitions 0 to {partitions - 1}, not {partition}")


def check_offset(topic: str, partition: int, offset: int) -> None:
    """Raises `UsageError` for an offset below 0, where no log begins (L10)."""
    if offset < 0:
        raise UsageError(f"{topic}/{partition}@{offset}: offsets start at 0")


def check_entries(topic: str, entries: Sequence[NewEntry]) -> None:
    """Refuse what no adapter takes, before anything is written (L11). Raises `EntryTooLarge` or `UsageError`."""
    check_place(topic, 0, 1)
    for at, entry in enumerate(entries):
        key_bytes = len(entry.key.encode("utf-8", "surrogatepass"))
        if not key_bytes:
            raise UsageError(f"entry {at} for {topic} has an empty key", hint="the key is the scope, which has a name")
        header_bytes = sum(len(name.encode("utf-8", "surrogatepass")) + len(value) for name, value in entry.headers)
        for what, size, limit in (
            ("value bytes", len(entry.value), VALUE_BYTES_MAX),
            ("key bytes", key_bytes, KEY_BYTES_MAX),
            ("headers", len(entry.headers), HEADERS_MAX),
            ("header bytes", header_bytes, HEADERS_BYTES_MAX),
        ):
            if size > limit:
                raise EntryTooLarge(
                    f"entry {at} for {topic} has {size} {what}, the log takes {limit}",
                    hint="split it or leave content out; nothing of this call was written",
                )


def murmur2(data: bytes) -> int:
    """Kafka's partitioner hash (32-bit murmur2, the Java client's seed), as a signed 32-bit number."""
    mask, m, length = 0xFFFFFFFF, 0x5BD1E995, len(data)
    h = (0x9747B28C ^ length) & mask
    for at in range(0, length - 3, 4):
        k = int.from_bytes(data[at : at + 4], "little") * m & mask
        k = (k ^ (k >> 24)) * m & mask
        h = (h * m & mask) ^ k
    tail = data[length & ~3 :]
    if tail:
        h = ((h ^ int.from_bytes(tail, "little")) & mask) * m & mask
    h = (h ^ (h >> 13)) * m & mask
    h ^= h >> 15
    return h - (1 << 32) if h & 0x80000000 else h


@lru_cache(maxsize=4096)
def partition_of(key: str, partitions: int) -> int:
    """The partition of a scope (promise L5). Remembered for the scopes at hand: it is asked for with every entry."""
    return (murmur2(key.encode("utf-8", "surrogatepass")) & 0x7FFFFFFF) % partitions
