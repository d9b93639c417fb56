"""A whole file, streamed: its format, and its items."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ledger.transcripts.claude_code import FORMAT as CLAUDE_CODE
from ledger.transcripts.codex import FORMAT as CODEX
from ledger.transcripts.files import open_regular
from ledger.transcripts.formats import SAMPLE_BYTES, Format, UnsupportedTranscript, detect, sample_of
from ledger.transcripts.lines import LINE_BYTES_MAX, LineSplitter
from ledger.transcripts.model import Item

CHUNK_BYTES = 1 << 20
"""Bytes read at a time: memory is this plus the longest line, whatever the file's size."""

FORMATS: tuple[Format, ...] = (CLAUDE_CODE, CODEX)


def format_of(raw: bytes) -> Format | None:
    """The format of a file that begins with `raw`, or None for an empty file and one that no reader knows."""
    sample = sample_of(raw)
    return detect(sample, FORMATS) if sample else None


class Transcript:
    """An open transcript: `format` is known, `items` streams it once. Close it, or use it as a context."""

    def __init__(self, path: str | os.PathLike[str], *, line_bytes_max: int = LINE_BYTES_MAX) -> None:
        """Open and recognise. Raises `UsageError` for what cannot be read, `UnsupportedTranscript` for what no reader knows."""
        self.path = os.fspath(path)
        self._file = open_regular(Path(path))
        self._limit = line_bytes_max
        self._head = self._file.read(SAMPLE_BYTES)
        known = format_of(self._head)
        if known is None:
            self._file.close()
            what = "is empty" if not self._head.strip() else "is in no format that a reader knows"
            names = ", ".join(one.name for one in FORMATS)
            raise UnsupportedTranscript(f"{self.path} {what}", hint=f"Formats that are read: {names}.")
        self.format = known

    def items(self) -> Iterator[Item]:
        """Everything the file says, in order; at its end, whatever had waited."""
        reader = self.format.reader()
        splitter = LineSplitter(self._limit)
        for chunk in _chunks(self._head, self._file):
            for line in splitter.feed(chunk):
                yield from reader.feed(line)
        last = splitter.finish()
        if last is not None:
            yield from reader.feed(last)
        yield from reader.finish()

    def close(self) -> None:
        """Close the file; calling it twice is harmless."""
        self._file.close()

    def __enter__(self) -> Transcript:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _chunks(head: bytes, file: BinaryIO) -> Iterator[bytes]:
    yield head
    while chunk := file.read(CHUNK_BYTES):
        yield chunk
