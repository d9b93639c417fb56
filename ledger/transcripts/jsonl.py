"""What the readers of formats with one object a line have in common: lines in, objects to the reader, faults reported."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from ledger.transcripts.decoding import DECODE_FAULTS, LineDecoder, Matters
from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.model import Item
from ledger.transcripts.texts import Piece

T = TypeVar("T")


class JsonlReader(ABC, Generic[T]):
    """Reads one file. A subclass takes the objects one by one, and settles what waits when the file has ended."""

    def __init__(self, shape: type[T], matters: Matters, is_record: Callable[[T], bool]) -> None:
        """The arguments are those of `LineDecoder`."""
        self._lines = LineDecoder(shape, matters, is_record)

    @abstractmethod
    def _entry(self, value: T, at: PhysicalLine, out: list[Item]) -> None:
        """Add to `out` what an object says; `at` are the bytes on which it stands."""

    @abstractmethod
    def _end(self, out: list[Item]) -> None:
        """The file has ended: add what still waits."""

    def read(self, lines: Iterable[PhysicalLine]) -> Iterator[Item]:
        """What these lines complete. The hot path: a line that decodes costs no call but to the decoder and to `_entry`."""
        decode, entry = self._lines.decode, self._entry
        waiting, unread = self._lines.waiting, self._lines.unread
        out: list[Item] = []
        for line in lines:
            try:
                value = decode(line.raw)
            except DECODE_FAULTS as error:
                for value, at in self._lines.mend(line, error):
                    entry(value, at, out)
            else:
                if waiting:
                    self._lines.give_up()
                entry(value, line, out)
            if unread:
                out += unread
                unread.clear()
            if out:
                yield from out
                out.clear()

    def _check_calls(self, pieces: Iterable[Piece], at: PhysicalLine) -> None:
        """Report calls whose arguments are no UTF-8: they are passed over undecoded."""
        if any(not isinstance(body, str) and not body.is_utf8() for _, body, _ in pieces):
            self._lines.report(at, "invalid_utf8")

    def feed(self, line: PhysicalLine) -> list[Item]:
        """What this line completes."""
        return list(self.read((line,)))

    def finish(self) -> list[Item]:
        """The file has ended: lines that still wait are lost, and whatever else waits is settled."""
        out: list[Item] = []
        self._lines.give_up()
        out += self._lines.unread
        self._lines.unread.clear()
        self._end(out)
        return out
