"""What the readers of formats with one object a line have in common: lines in, objects to the reader, faults reported."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from ledger.transcripts.decoding import DECODE_FAULTS, LineDecoder, Matters
from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.model import Item, Unread
from ledger.transcripts.texts import Piece


class Stamped(Protocol):
    """A line's shape: every format with one object a line says when it was written."""

    @property
    def timestamp(self) -> str | None:
        """ISO 8601."""
        ...


T = TypeVar("T", bound=Stamped)


class JsonlReader(ABC, Generic[T]):
    """Reads one file. A subclass takes the objects one by one, and settles what waits when the file has ended."""

    def __init__(self, shape: type[T], matters: Matters, is_record: Callable[[T], bool]) -> None:
        """The arguments are those of `LineDecoder`."""
        self._lines = LineDecoder(shape, matters, is_record)
        self._stamp = ""
        self._forwards = self._backwards = 0
        self._first_older: Unread | None = None
        self._disordered = False
        self._linked = False

    def beware_of(self, is_foreign: Callable[[bytes], bool]) -> None:
        """Name lines of other formats. `is_foreign` is asked only for lines of a type that the reader does not know."""
        self._lines.is_foreign = is_foreign

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
                if (stamp := value.timestamp) is not None:
                    if stamp > self._stamp:
                        self._forwards += 1
                    elif stamp < self._stamp:
                        self._older(line)
                    self._stamp = stamp
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

    def _older(self, at: PhysicalLine) -> None:
        """A line older than the one before it: some are in any file, most only in a file turned round. Where lines name the one
        that they go on from, that tells, and no time does.
        """
        self._backwards += 1
        if self._first_older is None:
            self._first_older = Unread(line=at.number, reason="out_of_order", sha256=at.sha256)

    def _out_of_order(self, at: PhysicalLine) -> None:
        """Report, once a file, a line that shows that the lines are not in the order in which they were written."""
        if not self._disordered:
            self._disordered = True
            self._lines.report(at, "out_of_order")

    def _is_foreign(self, at: PhysicalLine) -> bool:
        """A line of a type that this format does not have: report it if it is one of another format."""
        if not self._lines.is_foreign(at.raw):
            return False
        self._lines.report(at, "other_format")
        return True

    def feed(self, line: PhysicalLine) -> list[Item]:
        """What this line completes."""
        return list(self.read((line,)))

    def finish(self) -> list[Item]:
        """The file has ended: lines that still wait are lost, and whatever else waits is settled."""
        out: list[Item] = []
        self._lines.give_up()
        out += self._lines.unread
        self._lines.unread.clear()
        if self._first_older is not None and self._backwards > self._forwards and not self._disordered and not self._linked:
            out.append(self._first_older)
        self._end(out)
        return out
