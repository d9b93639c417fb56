"""Transcripts with everything they need injected: secrets masked, facts measured, rules version named."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import msgspec

from ledger.errors import UsageError
from ledger.facts import RULES_VERSION, extract
from ledger.masking import mask
from ledger.transcripts.files import Found, Refused, discover
from ledger.transcripts.reading import Transcript
from ledger.transcripts.to_records import Known, RecordMaker, records_of
from schemas.facts import Manifest
from schemas.records import AnyRecord, Role

PUBLISHER = "reader"


class Plan(msgspec.Struct, kw_only=True):
    """What the named paths lead to: files in the order in which they are taken, and what is not opened."""

    good: list[str] = []
    files: list[Found] = []
    refused: list[Refused] = []
    faults: list[UsageError] = []


def plan(paths: Sequence[str]) -> Plan:
    """Files in byte order of their paths, each once. A path that is missing is a fault; the others are taken all the same."""
    result = Plan()
    for path in paths:
        try:
            _must_exist(path)
            result.good.append(path)
        except UsageError as error:
            result.faults.append(error)
    for found in discover(result.good):
        if isinstance(found, Refused):
            result.refused.append(found)
        else:
            result.files.append(found)
    return result


def _must_exist(path: str) -> None:
    if "\0" in path or not path:
        raise UsageError(f"{path!r} is no path", hint="Check the path.")
    try:
        Path(path).stat()
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file or folder", hint="Check the path.") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", hint="Check the path and its permissions.") from None


def recorded_path(path: str | os.PathLike[str]) -> str:
    """The path as records name it: absolute, and text even where its bytes are none."""
    return os.fsencode(Path(path).absolute()).decode("utf-8", "backslashreplace")


def _extract(text: str, role: str, *, scope_key: str) -> Manifest:
    return extract(text, cast(Role, role), scope_key=scope_key)


def size_of(path: str | os.PathLike[str]) -> int:
    """Bytes of a file, or 0 where that cannot be told: good enough for a progress bar."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def _never(scope: str, span: str, role: str, text: str) -> bool:
    return False


def record_maker(path: str | os.PathLike[str], *, may_grow: bool = False, known: Known = _never) -> RecordMaker:
    """Makes records of the items of one file; `may_grow` leaves a round with which it ends for the next reading, `known` spares
    measuring what is on record.
    """
    return RecordMaker(
        mask=mask,
        extract=_extract,
        rules_version=RULES_VERSION,
        publisher=PUBLISHER,
        path=recorded_path(path),
        may_grow=may_grow,
        known=known,
    )


def read_records(
    transcript: Transcript,
    progress: Callable[[int], None] = lambda _: None,
    *,
    may_grow: bool = False,
    known: Known = _never,
    waits: Callable[[str], None] = lambda _: None,
) -> Iterator[AnyRecord]:
    """All records of an open transcript, streamed; `progress` is called with the bytes of the file behind each record.

    `may_grow` is for records that are kept: the file is read again when a session goes on. `waits` is called at the end with
    each session whose last round is left for that time.
    """
    maker = record_maker(transcript.path, may_grow=may_grow, known=known)
    for record in records_of(transcript.items(), maker):
        if record.source is not None and record.source.byte_end is not None:
            progress(record.source.byte_end)
        yield record
    for session in maker.waiting:
        waits(session)
