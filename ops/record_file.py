"""Records made elsewhere: read and checked line by line before any log is opened, then appended."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from ledger.errors import UsageError
from ledger.facts import RULES_VERSION
from ledger.fold import is_on_record
from ledger.log import EVENTS, NewEntry, check_entries
from ops.json_lines import json_lines
from ops.store import Store
from schemas.codec import NotARecord, UnknownType, decode_record, encode
from schemas.objects import with_own_id
from schemas.records import AnyRecord, DegradationAcknowledged, SessionOpened
from schemas.validity import fault_of


class RecordAnswer(msgspec.Struct, kw_only=True):
    """Records of a file: how many there were, what was appended, and the lines that are no record, with why. `renamed` counts
    those that came without an id, or under one that is not their own, and were taken under their own.
    """

    records: int = 0
    added: int = 0
    duplicates: int = 0
    renamed: int = 0
    invalid: list[dict[str, str | int]]


class _Refused(ValueError):
    """Why a line is not taken."""


def read_records(data: bytes) -> tuple[list[AnyRecord], RecordAnswer]:
    """The records of a file, one JSON object a line, and an answer that counts them. A line that is no record, or that names a
    key twice, is listed with what was expected, and the rest goes on. Each record is taken under its own id, so that none
    stands in the place of another (P1); evidence that names one of them by the id it came with names it by its own.

    A `session.opened` without rules version gets that of this release, since the log has to say which one it is (P2).
    """
    batch: list[AnyRecord] = []
    answer = RecordAnswer(invalid=[])
    names: dict[str, str] = {}
    for number, line in json_lines(data):
        answer.records += 1
        try:
            record, given = _record_of(line)
            batch.append(record)
            answer.renamed += given != record.id
            names[given] = record.id
        except _Refused as error:
            answer.invalid.append({"line": number, "reason": str(error)})
    return [_with_own_evidence(record, names) for record in batch], answer


def _with_own_evidence(record: AnyRecord, names: dict[str, str]) -> AnyRecord:
    if isinstance(record, DegradationAcknowledged) and names.get(record.evidence, record.evidence) != record.evidence:
        return with_own_id(msgspec.structs.replace(record, evidence=names[record.evidence]))
    return record


def _record_of(line: bytes) -> tuple[AnyRecord, str]:
    """The record of a line under its own id, and the id it came with."""
    try:
        record = decode_record(line)
    except UnknownType as error:
        raise _Refused(f"unknown type {error.type!r}") from None
    except NotARecord as error:
        record = _without_id(line, error)
    twice = _key_named_twice(line)
    if twice is not None:
        raise _Refused(f"the key {twice!r} stands twice in one object; expected each key once")
    fault = fault_of(record)
    if fault is not None:
        raise _Refused(fault.told)
    given, record = record.id, with_own_id(record)
    if isinstance(record, SessionOpened):
        if record.rules_version not in ("", RULES_VERSION):
            raise _Refused(f"rules version {record.rules_version!r} is not carried here; expected {RULES_VERSION!r}")
        record = msgspec.structs.replace(record, rules_version=RULES_VERSION)
    try:
        check_entries(EVENTS, [NewEntry(record.scope, encode(record))])
    except UsageError as error:
        raise _Refused(error.message) from None
    return record, given


def _without_id(line: bytes, error: NotARecord) -> AnyRecord:
    """A record that lacks nothing but its id, which follows from the rest of it."""
    try:
        fields = msgspec.json.decode(line, type=dict[str, msgspec.Raw])
        if "id" not in fields:
            return decode_record(msgspec.json.encode({**fields, "id": ""}))
    except (NotARecord, UnknownType, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    raise _Refused(str(error)) from None


def _key_named_twice(line: bytes) -> str | None:
    """The first key that one object holds twice: two readers could take it for two different records."""
    found: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> None:
        seen = set[str]()
        for key, _ in pairs:
            if key in seen:
                found.append(key)
            seen.add(key)

    try:
        json.loads(line.decode(), object_pairs_hook=once, parse_int=str)
    except (ValueError, RecursionError) as error:  # what a lenient reader passed over: of it no two readers are sure
        raise _Refused(f"not JSON for every reader: {error}") from None
    return found[0] if found else None


async def append_records(store: Store, batch: list[AnyRecord], answer: RecordAnswer) -> RecordAnswer:
    """Append those records that are not on record yet, fold, and complete the answer."""
    await store.fold("wait")
    fresh, seen = [], set[bytes]()
    with store.reading() as reading:
        for record in batch:
            rows, content = reading.rows(record.scope), encode(record)
            if content in seen or (rows is not None and is_on_record(rows, record)):
                continue
            seen.add(content)
            fresh.append(record)
    if fresh:
        await store.log.append(EVENTS, [NewEntry(record.scope, encode(record)) for record in fresh])
    await store.fold("wait")
    answer.added = len(fresh)
    answer.duplicates = len(batch) - len(fresh)
    return answer
