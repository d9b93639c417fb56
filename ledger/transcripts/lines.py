"""Bytes to physical lines: only LF ends a line, offsets are exact, a half-written last line waits.

A line over the limit is never held in memory: its bytes are hashed as they pass, and it comes out empty and marked `too_long`.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

LINE_BYTES_MAX = 64 << 20
"""Longest line that is read, in bytes: lines of 12 MB occur in the wild, and a record larger than this is no message."""

_BOM = b"\xef\xbb\xbf"


class PhysicalLine(msgspec.Struct, gc=False):
    """One line without its line break. `number` counts from 1, `start` is the byte offset of `data` in the file.

    `length` is the number of bytes even where `too_long` left `data` empty. `ended` is false for a last line without LF.
    """

    number: int
    start: int
    data: bytes
    length: int
    ended: bool = True
    too_long: bool = False
    long_sha256: str = ""

    @property
    def end(self) -> int:
        """Byte offset behind the last byte of the line, its line break not included."""
        return self.start + self.length

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes `[start, end)`."""
        return self.long_sha256 if self.too_long else hashlib.sha256(self.data).hexdigest()

    def part(self, start: int, end: int) -> PhysicalLine:
        """The bytes `[start, end)` of this line, as a line of its own with the same number."""
        return PhysicalLine(self.number, self.start + start, self.data[start:end], end - start, self.ended)


class LineSplitter:
    """Cuts a growing sequence of bytes into lines. One splitter stands for one file from its first byte on."""

    def __init__(self, line_bytes_max: int = LINE_BYTES_MAX) -> None:
        self._limit = line_bytes_max
        self._number = 1
        self._start = 0
        self._parts: list[bytes] = []
        self._held = 0
        self._long: Any = None

    @property
    def offset(self) -> int:
        """Bytes fed so far, the waiting ones included."""
        return self._start + self._held

    @property
    def line(self) -> int:
        """Number of the line that is being waited for."""
        return self._number

    def feed(self, chunk: bytes) -> list[PhysicalLine]:
        """Every line that `chunk` completes."""
        pieces = chunk.split(b"\n")
        lines: list[PhysicalLine] = []
        tail = pieces.pop()
        for piece in pieces:
            if self._held or len(piece) > self._limit:
                self._hold(piece)
                lines.append(self._close(ended=True))
            else:
                lines.append(self._line(piece, ended=True))
        if tail:
            self._hold(tail)
        return lines

    def finish(self) -> PhysicalLine | None:
        """The last line, where the file does not end with LF."""
        return self._close(ended=False) if self._held else None

    def _hold(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._long is not None:
            self._long.update(piece)
            return
        self._parts.append(piece)
        if self._held > self._limit:
            self._long = hashlib.sha256()
            for part in self._parts:
                self._long.update(part)
            self._parts.clear()

    def _close(self, ended: bool) -> PhysicalLine:
        if self._long is None:
            data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts.clear()
            self._held = 0
            return self._line(data, ended)
        length, sha256 = self._held, self._long.hexdigest()
        line = PhysicalLine(self._number, self._start, b"", length, ended, too_long=True, long_sha256=sha256)
        self._long = None
        self._held = 0
        self._number += 1
        self._start += length + ended
        return line

    def _line(self, data: bytes, ended: bool) -> PhysicalLine:
        number, start, length = self._number, self._start, len(data)
        self._number = number + 1
        self._start = start + length + ended
        if data[-1:] == b"\r":
            data, length = data[:-1], length - 1
        if number == 1 and data.startswith(_BOM):
            data, start, length = data[3:], start + 3, length - 3
        return PhysicalLine(number, start, data, length, ended)
