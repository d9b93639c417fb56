"""What a format has to bring, and which one a file is in."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from ledger.errors import LedgerError
from ledger.transcripts.lines import LineSplitter, PhysicalLine
from ledger.transcripts.model import Item

SAMPLE_BYTES = 256 << 10
"""How much of a file is looked at to tell its format. Longer first lines exist (a Codex header has up to 48 KB)."""

SAMPLE_OBJECTS_MAX = 64

Fields = dict[str, msgspec.Raw]

_fields = msgspec.json.Decoder(Fields)


class UnsupportedTranscript(LedgerError):
    """A file that no reader knows, or an empty one: for a named file the answer is *unknown*."""

    exit_code = 3


class Reader(Protocol):
    """Reads one file, line by line, and yields neutral items. It holds ids and digests, never the texts of the whole file."""

    def feed(self, line: PhysicalLine) -> Iterable[Item]:
        """What this line completes."""
        ...

    def finish(self) -> Iterable[Item]:
        """The file has ended: whatever still waits is settled or reported. Call once, and not for a file that may still grow."""
        ...


class Sample(msgspec.Struct, frozen=True):
    """The beginning of a file: its raw bytes, and the objects of its first readable lines as undecoded fields."""

    raw: bytes
    objects: tuple[Fields, ...]

    def __bool__(self) -> bool:
        """Is there anything but blanks?"""
        return bool(self.raw.strip())


class Format(msgspec.Struct, frozen=True):
    """One transcript format. `claims` looks at a sample and must not guess: a file is claimed by one format or by none."""

    name: str
    claims: Callable[[Sample], bool]
    reader: Callable[[], Reader]


def sample_of(raw: bytes) -> Sample:
    """A sample of a file that begins with `raw`."""
    splitter = LineSplitter()
    lines = splitter.feed(raw[:SAMPLE_BYTES])
    last = splitter.finish()
    objects: list[Fields] = []
    for line in [*lines, last] if last else lines:
        try:
            objects.append(_fields.decode(line.data))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if len(objects) == SAMPLE_OBJECTS_MAX:
            break
    return Sample(raw[:SAMPLE_BYTES], tuple(objects))


def text_field(fields: Fields, name: str) -> str | None:
    """A field's value where it is a string."""
    try:
        return msgspec.json.decode(fields[name], type=str) if name in fields else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def detect(sample: Sample, formats: Iterable[Format]) -> Format | None:
    """The format that claims the sample, or None."""
    return next((known for known in formats if known.claims(sample)), None)
