"""Following a transcript that still grows: complete lines as they come, and a word when the file is not the one it was.

The file is read off the event loop. Waiting is left to `sleep`, which a test replaces. A reader that follows never calls
`finish`: a half-written line, and a boundary whose summary is still being written, wait for the rest.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from ledger.errors import UsageError
from ledger.transcripts.files import open_regular
from ledger.transcripts.lines import LINE_BYTES_MAX, LineSplitter, PhysicalLine

CHUNK_BYTES = 1 << 20
TAIL_BYTES = 64
"""Bytes before the read position that are compared before more is read: a file that was rewritten in place differs there."""

POLL_SECONDS = 0.5
"""How often a quiet file is looked at. A session writes a line every few seconds; faster polling only costs."""

Change = Literal["replaced", "truncated", "rewritten", "gone"]


class FollowedLines(msgspec.Struct, frozen=True):
    """Lines that were completed since the last batch."""

    lines: tuple[PhysicalLine, ...]


class FileChanged(msgspec.Struct, frozen=True):
    """The file is another one now: moved away and made anew, cut short, rewritten, or gone.

    Behind it the lines of the new file come from its beginning, for a new reader; `lost` bytes of a half-written line were
    never completed. Behind `gone` nothing comes.
    """

    change: Change
    lost: int


class LastLine(msgspec.Struct, frozen=True):
    """Following was stopped, and the file ends in a line without LF: whole, or still being written."""

    line: PhysicalLine


async def follow(
    path: str | os.PathLike[str],
    *,
    line_bytes_max: int = LINE_BYTES_MAX,
    poll_seconds: float = POLL_SECONDS,
    stop: Callable[[], bool] = lambda: False,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncIterator[FollowedLines | FileChanged | LastLine]:
    """Yield what is in the file now, then what is added, until `stop()` says so at a quiet moment, or the file is gone. What
    then stands behind the last LF comes last.

    Raises `UsageError` where the file cannot be opened at first.
    """
    tail = _Tail(Path(path), line_bytes_max)
    await asyncio.to_thread(tail.open)
    try:
        while True:
            found = await asyncio.to_thread(tail.step)
            if found is None:
                if stop():
                    if (last := tail.last_line()) is not None:
                        yield LastLine(last)
                    return
                await sleep(poll_seconds)
                continue
            yield found
            if isinstance(found, FileChanged) and found.change == "gone":
                return
    finally:
        tail.close()


class _Tail:
    """One file and how far it was read. `step` does at most one chunk."""

    def __init__(self, path: Path, line_bytes_max: int) -> None:
        self._path = path
        self._limit = line_bytes_max
        self._file: BinaryIO | None = None
        self._identity = (0, 0)
        self._splitter = LineSplitter(line_bytes_max)
        self._position = 0
        self._last = b""

    def open(self) -> None:
        """Start over at the beginning of whatever stands at the path now."""
        file = open_regular(self._path)
        self.close()
        self._file = file
        status = os.fstat(file.fileno())
        self._identity = (status.st_dev, status.st_ino)
        self._splitter = LineSplitter(self._limit)
        self._position = 0
        self._last = b""

    def close(self) -> None:
        """Close the file, if one is open."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def step(self) -> FollowedLines | FileChanged | None:
        """The next lines, a change, or None where there is nothing new."""
        if self._file is None:
            return FileChanged("gone", 0)
        size = os.fstat(self._file.fileno()).st_size
        if size < self._position:
            return self._changed("truncated")
        if size > self._position:
            if self._last and os.pread(self._file.fileno(), len(self._last), self._position - len(self._last)) != self._last:
                return self._changed("rewritten")
            chunk = os.pread(self._file.fileno(), CHUNK_BYTES, self._position)
            self._position += len(chunk)
            self._last = (self._last + chunk)[-TAIL_BYTES:]
            return FollowedLines(tuple(self._splitter.feed(chunk)))
        # All of the open file was read: only now may another one take its place, so that no line is skipped.
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return FileChanged("gone", self._waiting())
        except OSError:
            return None
        if (status.st_dev, status.st_ino) != self._identity and stat.S_ISREG(status.st_mode):
            return self._changed("replaced")
        return None

    def last_line(self) -> PhysicalLine | None:
        """What stands behind the last LF. Nothing is read after it."""
        return self._splitter.finish()

    def _waiting(self) -> int:
        last = self.last_line()
        return last.length if last else 0

    def _changed(self, change: Change) -> FileChanged:
        lost = self._waiting()
        try:
            self.open()
        except UsageError:
            return FileChanged("gone", lost)
        return FileChanged(change, lost)
