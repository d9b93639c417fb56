"""Formats that are one JSON document: a list of entries, bare or under a key of an object.

A document is written anew as a whole, so it is read when the file has ended, and held until then: up to a stated limit. Each
entry keeps the line and the bytes on which it stands. One that breaks off, or is damaged, gives the entries that are whole.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec

from ledger.transcripts.decoding import BLANK, DECODE_FAULTS, Matters, brackets
from ledger.transcripts.jsonl import JsonlReader, Stamped
from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.model import Item

T = TypeVar("T", bound=Stamped)

DOCUMENT_BYTES_MAX = 64 << 20
"""Largest document, in bytes: it is held while it is read. The same as the longest line of the other formats."""


ENTRY_DEPTH = 3
"""An entry stands in a list that is the document or stands under a key of it."""


class DocumentReader(JsonlReader[T]):
    """Reads a document, or the same entries one a line: the first line that holds anything decides."""

    def __init__(
        self,
        shape: type[T],
        matters: Matters,
        is_record: Callable[[T], bool],
        entries: Callable[[bytes], list[bytes]],
    ) -> None:
        """`entries(document)` gives the entries as they stand in it, and raises one of `DECODE_FAULTS` where it is damaged."""
        super().__init__(shape, matters, is_record)
        self._is_entry = is_record
        self._entries_of = entries
        self._by_line: bool | None = None
        self._held: list[PhysicalLine] = []
        self._held_bytes = 0

    def read(self, lines: Iterable[PhysicalLine]) -> Iterator[Item]:
        """What these lines complete: of a document nothing, before it has ended."""
        for line in lines:
            if self._by_line is None and (line.too_long or line.raw.strip(BLANK)):
                self._by_line = self._stands_alone(line)
            if self._by_line:
                yield from super().read((line,))
            else:
                yield from self._hold(line)

    def finish(self) -> list[Item]:
        """The document has ended: its entries."""
        out: list[Item] = []
        if self._held:
            held, self._held = self._held, []
            self._document(held, out)
        return out + super().finish()

    def _stands_alone(self, line: PhysicalLine) -> bool:
        try:
            return self._is_entry(self._lines.decode(line.raw))
        except DECODE_FAULTS:
            return False

    def _hold(self, line: PhysicalLine) -> list[Item]:
        self._held_bytes += line.length + 1
        if line.too_long or self._held_bytes > DOCUMENT_BYTES_MAX:
            self._lines.report(line, "line_too_long")
        else:
            self._held.append(line)
        unread = list(self._lines.unread)
        self._lines.unread.clear()
        return [*unread]

    def _document(self, held: list[PhysicalLine], out: list[Item]) -> None:
        pieces = [line.raw[:-1] if line.raw.endswith(b"\n") else line.raw for line in held]
        data = b"\n".join(pieces)
        starts = [0]
        for piece in pieces:
            starts.append(starts[-1] + len(piece) + 1)

        def part(start: int, end: int) -> PhysicalLine:
            number = bisect_right(starts, start, 0, len(held)) - 1
            return PhysicalLine(held[number].number, held[number].start + start - starts[number], data[start:end])

        try:
            spans = _located(data, self._entries_of(data))
        except DECODE_FAULTS as error:
            if self._stands_alone(part(0, len(data))):
                spans = [(0, len(data))]
            else:
                spans, lost_at, closed = entries_in(data)
                reason = "nested_too_deep" if isinstance(error, RecursionError) else "not_json" if closed else "half_written"
                self._lines.report(part(lost_at, len(data)), reason)
        for start, end in spans:
            at = part(start, end)
            try:
                value = self._lines.decode(at.raw)
            except DECODE_FAULTS as error:
                for value, again in self._lines.mend(at, error):
                    self._entry(value, again, out)
                self._lines.give_up()
            else:
                self._entry(value, at, out)
            out += self._lines.unread
            self._lines.unread.clear()


def _located(data: bytes, entries: list[bytes]) -> list[tuple[int, int]]:
    """Where the entries stand: one behind the other, so each is found where the search for it begins."""
    spans: list[tuple[int, int]] = []
    at = 0
    for entry in entries:
        start = data.find(entry, at)
        at = start + len(entry)
        spans.append((start, at))
    return spans


def entries_in(data: bytes) -> tuple[list[tuple[int, int]], int, bool]:
    """Of a damaged document: the whole objects of a list that is the document or stands under a key of it, or that stand alone;
    where something is lost; and whether every bracket is closed. Brackets inside an entry are only counted.
    """
    spans: list[tuple[int, int]] = []
    outer: list[tuple[bytes, int]] = []
    inside = known = 0
    for mark, at in brackets(data):
        if mark in (b"{", b"["):
            if len(outer) < ENTRY_DEPTH:
                outer.append((mark, at))
            else:
                inside += 1
        elif inside:
            inside -= 1
        elif outer:
            opened, start = outer.pop()
            around = b"".join(one for one, _ in outer)
            if opened == b"{" and mark == b"}" and (around in (b"[", b"{[") or (not around and len(spans) == known)):
                spans.append((start, at + 1))
            if not outer:
                known = len(spans)
    if outer:
        return spans, max(len(data.rstrip(BLANK)) - 1, 0), False
    return spans, spans[-1][1] - 1 if spans else 0, True


def raw_entries(document: type[msgspec.Struct], field: str) -> Callable[[bytes], list[bytes]]:
    """For `DocumentReader`: the entries of a bare list, or of the list in `field` of `document`."""
    decode = msgspec.json.Decoder(document).decode
    decode_list = msgspec.json.Decoder(list[msgspec.Raw]).decode

    def entries(data: bytes) -> list[bytes]:
        found = decode_list(data) if data.lstrip(BLANK).startswith(b"[") else getattr(decode(data), field)
        return [bytes(raw) for raw in found]

    return entries
