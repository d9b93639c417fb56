"""Bytes to physical lines: only LF ends a line, offsets are exact, a half-written last line waits.

A line over the limit is never held in memory: its bytes are hashed as they pass, and it comes out empty and marked `too_long`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

LINE_BYTES_MAX = 64 << 20
"""Longest line that is read, in bytes: lines of 12 MB occur in the wild, and a record larger than this is no message."""

_BOM = b"\xef\xbb\xbf"


def without_break(raw: bytes) -> bytes:
    """A line without its LF or CRLF."""
    if raw[-1:] == b"\n":
        raw = raw[:-1]
    return raw[:-1] if raw[-1:] == b"\r" else raw


class PhysicalLine(msgspec.Struct, frozen=True, gc=False):
    """One line. `number` counts from 1, `start` is the byte offset of `raw` in the file; `raw` may still end in its line break.

    `ended` is false for a last line without LF. `too_long` has length and SHA-256 of a line over the limit; its `raw` is empty.
    It is hashed when that is asked for.
    """

    number: int
    start: int
    raw: bytes
    ended: bool = True
    too_long: tuple[int, str] | None = None

    @property
    def data(self) -> bytes:
        """The line without its line break."""
        return without_break(self.raw)

    @property
    def length(self) -> int:
        """Bytes of the line without its line break, also of one that is too long."""
        return self.too_long[0] if self.too_long else len(self.data)

    @property
    def sha256(self) -> str:
        """SHA-256 of the line without its line break."""
        return self.too_long[1] if self.too_long else hashlib.sha256(self.data).hexdigest()

    @property
    def end(self) -> int:
        """Offset behind the last byte of the line, its line break left out."""
        return self.start + self.length

    def part(self, start: int, end: int) -> PhysicalLine:
        """The bytes `[start, end)` of this line, as a line of its own with the same number."""
        return PhysicalLine(self.number, self.start + start, self.raw[start:end], self.ended)


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
        held, self._held = self._held, 0
        if self._long is None:
            data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._parts.clear()
            return self._line(data, ended)
        line = PhysicalLine(self._number, self._start, b"", ended, (held, self._long.hexdigest()))
        self._long = None
        self._number += 1
        self._start += held + ended
        return line

    def _line(self, raw: bytes, ended: bool) -> PhysicalLine:
        number, start = self._number, self._start
        self._number = number + 1
        self._start = start + len(raw) + ended
        if number == 1 and raw.startswith(_BOM):
            return PhysicalLine(1, start + 3, raw[3:], ended)
        return PhysicalLine(number, start, raw, ended)


def lines_of(file: BinaryIO, line_bytes_max: int = LINE_BYTES_MAX) -> Iterator[PhysicalLine]:
    """The lines of a whole file from its first byte on: what a `LineSplitter` makes of it, with one copy less."""
    readline = file.readline
    number, start = 1, 0
    while raw := readline(line_bytes_max + 1):
        length = len(raw)
        if length > line_bytes_max and raw[-1] != 10:
            line, length = _rest_of_long_line(file, number, start, raw)
            yield line
        elif number == 1 and raw.startswith(_BOM):
            yield PhysicalLine(1, 3, raw[3:], raw[-1] == 10)
        else:
            yield PhysicalLine(number, start, raw, raw[-1] == 10)
        number += 1
        start += length


def _rest_of_long_line(file: BinaryIO, number: int, start: int, head: bytes) -> tuple[PhysicalLine, int]:
    """Pass over a line that is too long, hashing it; also the bytes it takes in the file."""
    state = hashlib.sha256(head)
    length = len(head)
    while (piece := file.readline(1 << 20)) and piece[-1] != 10:
        state.update(piece)
        length += len(piece)
    state.update(piece[:-1])
    total = length + len(piece)
    return PhysicalLine(number, start, b"", bool(piece), (total - bool(piece), state.hexdigest())), total
