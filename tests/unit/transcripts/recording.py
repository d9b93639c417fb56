"""Records of a transcript with an extractor that finds nothing, or what a test wants found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ledger.transcripts.model import Item
from ledger.transcripts.reading import Transcript
from ledger.transcripts.to_records import RecordMaker, records_of
from schemas.facts import Manifest
from schemas.records import AnyRecord


def nothing_found(text: str, role: str, *, scope_key: str) -> Manifest:
    return Manifest(extractor="none")


def maker(
    *,
    mask: Callable[[str], str] = lambda text: text,
    extract: Callable[..., Manifest] = nothing_found,
    path: str = "t.jsonl",
    may_grow: bool = False,
) -> RecordMaker:
    return RecordMaker(mask=mask, extract=extract, rules_version="r1", publisher="test", path=path, may_grow=may_grow)


def records(items: Iterable[Item], **options: object) -> list[AnyRecord]:
    return list(records_of(items, maker(**options)))  # type: ignore[arg-type]


def records_of_file(path: Path) -> Iterator[AnyRecord]:
    with Transcript(path) as transcript:
        yield from records_of(transcript.items(), maker(path=path.name))
