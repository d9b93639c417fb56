"""A whole file, streamed: its format, and its items."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Self

from ledger.transcripts.claude_code import FORMAT as CLAUDE_CODE
from ledger.transcripts.codex import FORMAT as CODEX
from ledger.transcripts.copilot import FORMAT as COPILOT
from ledger.transcripts.files import open_regular
from ledger.transcripts.formats import Format, Reader, UnsupportedTranscript, claimed_by_another, detect
from ledger.transcripts.jsonl import JsonlReader
from ledger.transcripts.lines import LINE_BYTES_MAX, lines_of
from ledger.transcripts.model import Item
from ledger.transcripts.opencode import FORMAT as OPENCODE
from ledger.transcripts.openhands import FORMAT as OPENHANDS
from ledger.transcripts.pi import FORMAT as PI

FORMATS: tuple[Format, ...] = (CLAUDE_CODE, CODEX, PI, COPILOT, OPENHANDS, OPENCODE)


def format_of(raw: bytes) -> Format | None:
    """The format of a file that holds, or begins with, `raw`; None for an empty one and one that no reader knows."""
    return detect(BytesIO(raw), FORMATS)


def reader_of(known: Format) -> Reader:
    """A new reader, which names lines of the other formats when it meets them."""
    reader = known.reader()
    if isinstance(reader, JsonlReader):
        reader.beware_of(claimed_by_another(known, FORMATS))
    return reader


def _end_of(reader: Reader) -> Iterator[Item]:
    """What the reader settles when the file has ended: asked for only then."""
    yield from reader.finish()


class Transcript:
    """An open transcript: `format` is known, `items` streams it once. Close it, or use it as a context."""

    def __init__(self, path: str | os.PathLike[str], *, line_bytes_max: int = LINE_BYTES_MAX) -> None:
        """Open and recognise. Raises `UsageError` for what cannot be read, `UnsupportedTranscript` for what no reader knows."""
        self.path = os.fspath(path)
        self._file = open_regular(Path(path))
        self._limit = line_bytes_max
        known = detect(self._file, FORMATS)
        if known is None:
            empty = not os.fstat(self._file.fileno()).st_size
            self._file.close()
            names = ", ".join(one.name for one in FORMATS)
            raise UnsupportedTranscript(
                f"{self.path} {'is empty' if empty else 'is in no format that a reader knows'}",
                hint=f"Formats that are read: {names}.",
            )
        self._file.seek(0)
        self.format = known

    def items(self) -> Iterator[Item]:
        """Everything the file says, in order; at its end, whatever had waited."""
        reader = reader_of(self.format)
        return chain(reader.read(lines_of(self._file, self._limit)), _end_of(reader))

    def close(self) -> None:
        """Close the file; calling it twice is harmless."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
