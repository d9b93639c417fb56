"""Audit replay: decide everything again, compare with what is on record, publish nothing, touch nothing (P2, P8)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Literal

import msgspec

from consumers.carrier_index import CarrierIndex, entry_hash
from consumers.partition import output_id
from ledger.errors import LogDamaged, UsageError
from ledger.log import ALERTS, DECISIONS, EVENTS, Entry, Log, LogIdentity, NewEntry
from ops.queries.quotes import time_of
from ops.store import Reading, Store, scratch_store
from schemas.codec import NotARecord, UnknownType, decode_record
from schemas.ids import Position, digest

Emit = Literal["decisions", "alerts"]
READ_ENTRIES = 1000


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One thing on record that replay does not confirm. `event` is an id, or a position where there is no readable id."""

    event: str
    kind: Literal["missing", "extra", "other_bytes"]
    recorded: str | None
    recomputed: str | None
    position: str = ""
    detail: str = ""


class ReplayAnswer(msgspec.Struct, kw_only=True):
    """Distinct ids counted, the digest over all scopes, and what differs. `due` outputs were not published yet."""

    records: int
    decisions: int
    alerts: int
    digest: str
    differences: list[Difference]
    due: int = 0


class PrefixLog:
    """A log of which only a prefix of the events is shown; it cannot be appended to."""

    def __init__(self, log: Log, ends: dict[int, int]) -> None:
        self._log = log
        self._ends = ends

    @property
    def identity(self) -> LogIdentity:
        """The identity of the log below."""
        return self._log.identity

    async def append(self, topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        """Raises `UsageError`: an audit writes nothing."""
        raise UsageError("a replay publishes nothing")

    async def read(
        self, topic: str, partition: int, offset: int, *, max_entries: int = 1000, max_bytes: int = 8 << 20
    ) -> list[Entry]:
        """As the log below, cut at the prefix."""
        if topic == EVENTS and partition in self._ends:
            max_entries = min(max_entries, self._ends[partition] - offset)
            if max_entries <= 0:
                return []
        return await self._log.read(topic, partition, offset, max_entries=max_entries, max_bytes=max_bytes)

    async def end(self, topic: str, partition: int) -> int:
        """As the log below, cut at the prefix."""
        end = await self._log.end(topic, partition)
        return min(end, self._ends[partition]) if topic == EVENTS and partition in self._ends else end

    async def close(self) -> None:
        """The log below is its owner's."""


@asynccontextmanager
async def refolded(log: Log, ends: dict[int, int]) -> AsyncIterator[Store]:
    """A scratch index folded from the events alone; its outbox holds every output as it would be published."""
    async with scratch_store(PrefixLog(log, ends), publish=False) as store:
        for partition in store.partitions:
            await partition.catch_up()
        yield store


async def replay(log: Log, *, ends: dict[int, int] | None = None) -> ReplayAnswer:
    """Fold a prefix of the log, or all of it, and count what it gives."""
    async with refolded(log, ends or {}) as store:
        with store.reading() as reading:
            return await _answer(store, reading, [], 0)


async def _answer(store: Store, reading: Reading, differences: list[Difference], due: int) -> ReplayAnswer:
    outputs = recomputed(store)
    return ReplayAnswer(
        records=_distinct_records(store),
        decisions=sum(1 for topic, _, _ in outputs.values() if topic == DECISIONS),
        alerts=sum(1 for topic, _, _ in outputs.values() if topic == ALERTS),
        digest=reading.digest(),
        differences=differences,
        due=due,
    )


def _distinct_records(store: Store) -> int:
    total = 0
    for partition in store.partitions:
        with partition.index.snapshot() as snapshot:
            total += snapshot.offset_next - snapshot.duplicates
    return total


def recomputed(store: Store) -> dict[str, tuple[str, bytes, tuple[str, int]]]:
    """Every output by id: its topic, its bytes, and its place (scope, output number)."""
    found: dict[str, tuple[str, bytes, tuple[str, int]]] = {}
    for partition in store.partitions:
        with partition.index.snapshot() as snapshot:
            for _, output in snapshot.outbox(limit=1 << 62):
                found.setdefault(output.id, (output.topic, output.value, (output.scope, output.output_seq)))
    return found


async def emit(log: Log, what: Emit, ends: dict[int, int]) -> list[bytes]:
    """The bytes of all decisions or alerts as they would be published, in order within each scope."""
    topic = DECISIONS if what == "decisions" else ALERTS
    async with refolded(log, ends) as store:
        return [value for of, value, _ in recomputed(store).values() if of == topic]


class _Audit:
    """Collects differences while the log is compared with a recomputation and with what the index remembers."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.differences: list[Difference] = []
        self.ends: dict[int, int] = {}
        self.recorded: dict[str, bytes] = {}
        self.highest: dict[tuple[str, str], int] = {}

    async def entries(self, topic: str, partition: int) -> AsyncIterator[Entry]:
        """Every entry that can be read; one that cannot is a difference, and reading goes on behind it."""
        end, offset, size = await self.log.end(topic, partition), 0, READ_ENTRIES
        while offset < end:
            try:
                entries = await self.log.read(topic, partition, offset, max_entries=size)
            except LogDamaged as error:
                if size > 1:
                    size = 1
                    continue
                self._flaw(Position(topic, partition, offset), error)
                offset, size = offset + 1, READ_ENTRIES
                continue
            for entry in entries:
                yield entry
            offset += len(entries)
            size = READ_ENTRIES if len(entries) > 1 else size
            if not entries:
                return

    def _flaw(self, position: Position, error: LogDamaged) -> None:
        self.differences.append(
            Difference(
                event=str(position),
                kind="other_bytes",
                recorded=None,
                recomputed=None,
                position=str(position),
                detail=error.message,
            )
        )
        if position.topic == EVENTS:
            self.ends[position.partition] = min(position.offset, self.ends.get(position.partition, position.offset))

    async def read_events(self, index: Store | None) -> None:
        """Compare every record with what the index folded at its offset (P8)."""
        for partition in range(self.log.identity.partitions):
            folded = index.partitions[partition].index if index is not None else None
            async for entry in self.entries(EVENTS, partition):
                if folded is None:
                    continue
                with folded.snapshot() as snapshot:
                    known = snapshot.hash_at(entry.position.offset)
                if known is not None and known != entry_hash(entry.key, entry.value):
                    self._altered(entry, known)
            if folded is not None:
                await self._missing_tail(partition, folded)

    async def _missing_tail(self, partition: int, folded: CarrierIndex) -> None:
        end = await self.log.end(EVENTS, partition)
        with folded.snapshot() as snapshot:
            for offset in range(end, snapshot.offset_next):
                position = Position(EVENTS, partition, offset)
                known = snapshot.hash_at(offset)
                self.differences.append(
                    Difference(
                        event=str(position),
                        kind="missing",
                        recorded=None,
                        recomputed=known.hex() if known is not None else None,
                        position=str(position),
                        detail="this record was folded and is not in the log any more",
                    )
                )

    def _altered(self, entry: Entry, known: bytes) -> None:
        try:
            event = decode_record(entry.value).id
        except (NotARecord, UnknownType):
            event = str(entry.position)
        self.differences.append(
            Difference(
                event=event,
                kind="other_bytes",
                recorded=entry_hash(entry.key, entry.value).hex(),
                recomputed=known.hex(),
                position=str(entry.position),
                detail="the record is not the one that was folded at this offset",
            )
        )
        partition = entry.position.partition
        self.ends[partition] = min(entry.position.offset, self.ends.get(partition, entry.position.offset))

    async def read_outputs(self, expected: dict[str, tuple[str, bytes, tuple[str, int]]]) -> None:
        """Compare every decision and alert on record with its recomputation; equal repeats are normal."""
        for topic in (DECISIONS, ALERTS):
            for partition in range(self.log.identity.partitions):
                async for entry in self.entries(topic, partition):
                    try:
                        name = output_id(entry)
                    except LogDamaged as error:
                        self._flaw(entry.position, error)
                        continue
                    self._compare(entry, name, expected.get(name))

    def _compare(self, entry: Entry, name: str, expected: tuple[str, bytes, tuple[str, int]] | None) -> None:
        if expected is None:
            if not self.ends:
                self._differ(name, "extra", entry.value, None, entry.position)
            return
        topic, value, (scope, number) = expected
        self.recorded[name] = entry.value
        self.highest[scope, topic] = max(number, self.highest.get((scope, topic), 0))
        if entry.value != value:
            self._differ(name, "other_bytes", entry.value, value, entry.position)

    def missing(self, expected: dict[str, tuple[str, bytes, tuple[str, int]]], index: Store | None) -> int:
        """Outputs that must be on record and are not: one published later stands in their topic, or the index saw them
        published.

        Returns how many are merely due.
        """
        due = 0
        for name, (topic, value, (scope, number)) in expected.items():
            if name in self.recorded:
                continue
            if number < self.highest.get((scope, topic), 0) or _was_published(index, name):
                self._differ(name, "missing", None, value, None, topic)
            else:
                due += 1
        return due

    def _differ(
        self,
        name: str,
        kind: Literal["missing", "extra", "other_bytes"],
        recorded: bytes | None,
        value: bytes | None,
        position: Position | None,
        topic: str = "",
    ) -> None:
        self.differences.append(
            Difference(
                event=name,
                kind=kind,
                recorded=digest(recorded).hex() if recorded is not None else None,
                recomputed=digest(value).hex() if value is not None else None,
                position=str(position) if position is not None else topic,
                detail=_field_that_differs(recorded, value),
            )
        )


def _field_that_differs(recorded: bytes | None, value: bytes | None) -> str:
    """Which field of two JSON objects differs first, for a person."""
    if recorded is None or value is None:
        return ""
    try:
        left, right = msgspec.json.decode(recorded), msgspec.json.decode(value)
    except msgspec.DecodeError:
        return "not JSON any more"
    if not isinstance(left, dict) or not isinstance(right, dict):
        return "not an object any more"
    fields = [field for field in sorted({*left, *right}) if left.get(field) != right.get(field)]
    return f"differs in: {', '.join(fields)}" if fields else "same fields, other bytes"


def _was_published(index: Store | None, name: str) -> bool:
    return index is not None and any(partition.index.knows_output(name) for partition in index.partitions)


async def verify_replay(log: Log, index: Store | None) -> ReplayAnswer:
    """Replay the whole log and name every difference from what is on record.

    `index` is the standing index, if there is a sound one: it remembers what was folded and published, so it betrays a record
    that was edited without changing any decision.
    """
    audit = _Audit(log)
    await audit.read_events(index)
    async with refolded(log, audit.ends) as store:
        expected = recomputed(store)
        await audit.read_outputs(expected)
        due = audit.missing(expected, index)
        with store.reading() as reading:
            return await _answer(store, reading, audit.differences, due)


async def ends_until(log: Log, until: str) -> dict[int, int]:
    """Where to stop for `--until`: an offset, `PARTITION@OFFSET` (the first record not folded), or a time.

    For a time, each partition stops before its first record whose own time is later. Raises `UsageError`.
    """
    partitions = range(log.identity.partitions)
    head, at, tail = until.rpartition("@")
    place = head.rpartition("/")[2] if at else ""
    if _is_number(tail) and (not at or _is_number(place)):
        if at and int(place) not in partitions:
            there = "partition 0" if len(partitions) == 1 else f"partitions 0 to {len(partitions) - 1}"
            raise UsageError(f"--until {until}: there is no partition {int(place)}", hint=f"This log has {there}.")
        return {int(place): int(tail)} if at else dict.fromkeys(partitions, int(tail))
    limit_ms = parse_time_ms(until)
    ends: dict[int, int] = {}
    for partition in partitions:
        offset = 0
        while entries := await log.read(EVENTS, partition, offset, max_entries=READ_ENTRIES):
            for entry in entries:
                time_ms = time_of(entry.value)
                if time_ms is not None and time_ms > limit_ms:
                    ends.setdefault(partition, entry.position.offset)
            offset += len(entries)
            if partition in ends:
                break
    return ends


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20


def parse_time_ms(text: str) -> int:
    """ISO 8601 (UTC where no zone is given) as milliseconds since the epoch. Raises `UsageError`."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{text!r} is neither a position nor a time", hint="Expected 1200, 0@1200 or 2026-11-30T12:00"
        ) from None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
