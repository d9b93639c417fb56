"""What measurer and auditor share: reading on behind a checkpoint, extracting again, appending manifests.

Only what is folded is read, so that the index says of each span whether its manifest is there. The checkpoint moves after the
append: a process that ends between the two measures the same spans again, under the same ids, which changes nothing (P3).
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from consumers.carrier_index import CarrierIndex
from ledger.errors import LogUnavailable
from ledger.facts import extract
from ledger.fold import is_span_on_record
from ledger.log import EVENTS, Entry, Log, LogIdentity, NewEntry
from ledger.lookup import span_facts, span_row
from ledger.recorder import made
from ledger.rows import SpanRow
from ledger.state import fact_name
from ledger.storage.layout import space_hint, sync_directory
from schemas.codec import RECORD_BYTES_MAX, NotARecord, UnknownType, decode_record, encode
from schemas.facts import Manifest
from schemas.ids import digest
from schemas.records import ManifestRecorded, Source, SpanRecorded

READ_ENTRIES = 1000
READ_BYTES = 2 << 20
"""How much of the log is looked at between two checkpoints."""

_SPAN = b"span.recorded"
_diagnostics = logging.getLogger("cledger.measure")

Wanted = Callable[[SpanRecorded, SpanRow], bool]
Made = Callable[[SpanRecorded, frozenset[str]], ManifestRecorded | None]
"""A manifest for a span, given the ids of the facts that are listed for it already."""


class _Mark(msgspec.Struct, frozen=True):
    log_id: str
    partitions: int
    partition: int
    offset: int
    check: str


class Checkpoint:
    """How far a consumer of this name has read the events of one partition. It lies in the folder of the index and goes when
    that goes.

    A damaged or foreign one counts as none: then the consumer reads from the beginning, which costs time and changes nothing.
    """

    def __init__(self, directory: Path, name: str, log: LogIdentity, partition: int) -> None:
        self._path = directory / f"{name}.checkpoint"
        self._place = (log.log_id, log.partitions, partition)
        self.offset = self._read()

    def _read(self) -> int:
        try:
            found = msgspec.json.decode(self._path.read_bytes(), type=_Mark)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return 0
        return found.offset if found == self._mark(found.offset) else 0

    def _mark(self, offset: int) -> _Mark:
        return _Mark(*self._place, offset, digest("checkpoint", *map(str, self._place), str(offset)).hex())

    def advance(self, offset: int) -> None:
        """Everything below `offset` is done. Durable when this returns. Raises `LogUnavailable` if it cannot be written."""
        if offset <= self.offset:
            return
        draft = self._path.with_suffix(".new")
        try:
            with draft.open("wb") as file:
                file.write(msgspec.json.encode(self._mark(offset)) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._path)
            sync_directory(self._path.parent)
        except OSError as error:
            raise LogUnavailable(f"{self._path}: cannot be written: {error.strerror}", hint=space_hint(draft, error)) from error
        self.offset = offset


class _Found(msgspec.Struct, frozen=True):
    record: SpanRecorded
    listed: frozenset[str]


async def append_manifests(
    log: Log, index: CarrierIndex, partition: int, name: str, *, wanted: Wanted, make: Made, limit: int
) -> int:
    """Extract up to `limit` of the wanted spans behind the checkpoint `name`, and append what `make` gives. Returns how many
    manifests were appended; it is done when the limit or the folded end of the partition is reached.

    Raises what the log raises on reading and appending, `IndexDamaged`, and `LogUnavailable` if the checkpoint cannot be
    written.
    """
    checkpoint = Checkpoint(index.directory, name, log.identity, partition)
    appended = extracted = 0
    while extracted < limit:
        with index.snapshot() as view:
            behind = view.offset_next - checkpoint.offset
        if behind <= 0:
            break
        entries = await log.read(
            EVENTS, partition, checkpoint.offset, max_entries=min(READ_ENTRIES, behind), max_bytes=READ_BYTES
        )
        if not entries:
            break
        found, offset_next = await asyncio.to_thread(_look, index, entries, wanted, limit - extracted)
        fresh = await asyncio.to_thread(_extract, found, make)
        if fresh:
            await log.append(EVENTS, fresh)
        checkpoint.advance(offset_next)
        extracted += len(found)
        appended += len(fresh)
    return appended


def _look(index: CarrierIndex, entries: list[Entry], wanted: Wanted, limit: int) -> tuple[list[_Found], int]:
    """Spans among the entries that took effect and are wanted, up to `limit`, and the offset behind the last one looked at."""
    found: list[_Found] = []
    with index.snapshot() as view:
        for entry in entries:
            if len(found) >= limit:
                return found, entry.position.offset
            if _SPAN not in entry.value:
                continue
            try:
                record = decode_record(entry.value)
            except (NotARecord, UnknownType):
                continue
            rows = view.scope(entry.key)
            if rows is None or not isinstance(record, SpanRecorded) or record.scope != entry.key:
                continue
            row = span_row(rows, record.span)
            if (
                row is None
                or not is_span_on_record(rows, record.span, record.role, record.text.text)
                or not wanted(record, row)
            ):
                continue
            listed = frozenset(fact_name(ref.fact) for ref in span_facts(rows, record.span).refs)
            found.append(_Found(record, listed))
    return found, entries[-1].position.offset + 1


def _extract(found: list[_Found], make: Made) -> list[NewEntry]:
    entries = []
    for each in found:
        manifest = make(each.record, each.listed)
        if manifest is None:
            continue
        value = encode(manifest)
        if len(value) > RECORD_BYTES_MAX:  # it stays raw (C2); waiting for it would keep all others waiting
            _diagnostics.warning("%s: its manifest has %d bytes, which no record holds", each.record.span, len(value))
            continue
        entries.append(NewEntry(manifest.scope, value))
    return entries


def extracted_again(record: SpanRecorded) -> Manifest:
    """The manifest of a span by our extractor, as its publisher should have made it."""
    valid = (record.valid_from, record.valid_to)
    return extract(record.text.text, record.role, scope_key=record.scope, valid=valid)


def manifest_record(record: SpanRecorded, manifest: Manifest, publisher: str, *occurrence: str) -> ManifestRecorded:
    """A manifest for a span, under an id that follows from the span and what the manifest says of it: made twice, it is one."""
    listed = (manifest.extractor, *(fact.id for fact in manifest.facts))
    return made(
        ManifestRecorded,
        record.scope,
        record.session,
        span=record.span,
        manifest=manifest,
        occurrence=digest(publisher, *occurrence, record.span, *listed).hex(),
        source=Source(publisher=publisher),
    )
