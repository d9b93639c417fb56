"""What a format has to bring, and which one a file is in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from itertools import islice
from typing import BinaryIO, Protocol

import msgspec

from ledger.errors import LedgerError
from ledger.transcripts.lines import PhysicalLine, lines_of
from ledger.transcripts.model import Item

SAMPLE_BYTES = 256 << 10
"""How much of a file is looked at to tell its format. Longer first lines exist (a Codex header has up to 48 KB)."""

SAMPLE_LINES_MAX = 64

Fields = dict[str, msgspec.Raw]

_fields = msgspec.json.Decoder(Fields)


class UnsupportedTranscript(LedgerError):
    """A file that no reader knows, or an empty one: for a named file the answer is *unknown*."""

    exit_code = 3


class Reader(Protocol):
    """Reads one file, line by line, and yields neutral items. It holds ids and digests, never the texts of the whole file."""

    def read(self, lines: Iterable[PhysicalLine]) -> Iterator[Item]:
        """What these lines complete, one after the other."""
        ...

    def feed(self, line: PhysicalLine) -> Iterable[Item]:
        """What this line completes."""
        ...

    def finish(self) -> Iterable[Item]:
        """The file has ended: whatever still waits is settled or reported. Not for a file that may still grow."""
        ...


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One transcript format. It must not guess: a file is claimed by one format or by none.

    `claims_line` looks at the fields of one of a file's first lines. `claims_file` is for a format that is one document, and
    looks at the first bytes; such a reader keeps the lines that it is fed and parses them when it finishes.
    """

    name: str
    reader: Callable[[], Reader]
    claims_line: Callable[[Fields], bool] | None = None
    claims_file: Callable[[bytes], bool] | None = None


def text_field(fields: Fields, name: str) -> str | None:
    """A field's value where it is a string."""
    try:
        return msgspec.json.decode(fields[name], type=str) if name in fields else None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def claimed_by_another(known: Format, formats: Sequence[Format]) -> Callable[[bytes], bool]:
    """Tells of a line whether a format other than `known` claims it."""
    others = [one.claims_line for one in formats if one is not known and one.claims_line is not None]

    def is_claimed(raw: bytes) -> bool:
        try:
            fields = _fields.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        return any(claims(fields) for claims in others)

    return is_claimed


def _objects(lines: Iterable[PhysicalLine]) -> Iterator[Fields]:
    """The objects among the first readable lines."""
    for line in islice(lines, SAMPLE_LINES_MAX):
        try:
            yield _fields.decode(line.raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue


def _claimed(lines: Iterable[PhysicalLine], formats: Sequence[Format]) -> Format | None:
    for fields in _objects(lines):
        for known in formats:
            if known.claims_line is not None and known.claims_line(fields):
                return known
    return None


def detect(file: BinaryIO, formats: Sequence[Format]) -> Format | None:
    """The format of a file that stands at its first byte, or None; where it stands afterwards is open.

    The first `SAMPLE_BYTES` decide, unless they end inside a line that begins like an object: then that line and those behind
    it are looked at too, since a session can begin with a pasted text of megabytes.
    """
    raw = file.read(SAMPLE_BYTES)
    known = _claimed(lines_of(BytesIO(raw)), formats)
    if known is None:
        known = next((one for one in formats if one.claims_file is not None and one.claims_file(raw)), None)
    start = raw.rfind(b"\n") + 1
    if known is None and len(raw) == SAMPLE_BYTES and raw[start:].lstrip().startswith(b"{"):
        file.seek(start)
        known = _claimed(lines_of(file), formats)
    return known
