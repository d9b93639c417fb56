"""What is told without a sentence: rows of tables, `key: value`, check boxes, each a value under its names.

An entry is one fact whose context begins with `MARK`: the words of its label, of its column's head and of its value, parted by
`%,`; `%yes` or `%no` stands for the value where that is a tick, a cross or a word for them. It survives where the summary has
the same entry, or a stretch between commas that holds label and value together.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

from ledger.facts.language.fold import WORD, fold

MARK = "%entry"
LABEL_WORDS_MAX = 5
VALUE_WORDS_MAX = 8
LINE_CHARS_MAX = 240
"""A longer line is prose."""

ROWS_MAX = 400
"""Rows of one table that are read; a larger table is bulk."""

Range = tuple[int, int]


class Entry(NamedTuple):
    """Ranges of label, column head (empty at its label's start where there is none) and value; `ticked` is set for a box."""

    label: Range
    head: Range
    value: Range
    ticked: bool | None = None
    row: bool = False
    """Is it a cell of a table?"""

    @property
    def boxed(self) -> bool:
        """Does a box stand before its label?"""
        return self.value[0] < self.label[0]


_BULLET = re.compile(r"[ \t]*(?:>[ \t]?)*(?:(?:[-*+\u2022\u2013\u25cf\u25aa]|\d{1,3}[.)])[ \t]+)?", re.ASCII)
_BOX = re.compile(
    r"(?:\[([ xX])\]|([\u2713\u2714\u2705\u2611]\ufe0f?)|([\u2717\u2718\u274c\u2610\u2716]\ufe0f?))[ \t]*(?=\S)", re.ASCII
)
_PAIR = re.compile(
    r"[ \t]*(?P<key>[^:=|,;\n\u2192\uff1a\u3001\uff0c]{1,60}?)"
    r"[ \t]*(?:=>|->|\u2192|:(?=[ \t*])|\uff1a|=(?![=>]))[ \t*]*(?P<value>[^\n]*\S)",
    re.ASCII,
)
_RULE = re.compile(r"[ \t]*[|+]?[ \t]*:?[-=]{2,}[-=:|+ \t]*$", re.ASCII)
_CELL = re.compile(r"[^|\n]+", re.ASCII)
_COLUMN = re.compile(r"[^\t\n ]+(?: [^\t\n ]+)*", re.ASCII)
_FIELD = re.compile(r"[^,\n]+", re.ASCII)
_CSV = re.compile(r"[^\s,][^,\n]{0,40}(?:,[^\s,][^,\n]{0,40})+$", re.ASCII)
_LINE = re.compile(r"[^\n]+", re.ASCII)
_PARTED = re.compile("[,;\u3001\uff0c\uff1b]", re.ASCII)
_ENDS = re.compile(r"[.!?](?=\s+\S)|[\u3002\uff01\uff1f\u061f]|\?$", re.ASCII)
_WORDS = re.compile(f"[{WORD}]+", re.ASCII)
_LETTER = re.compile(f"(?![0-9_])[{WORD}]", re.ASCII)
_EDGE = " \t\r*_`\"'.,;:!\u3002\uff0c\u3001\u0964"
_HEADING = re.compile(r"\s{0,3}#{1,6}\s", re.ASCII)
_FENCE = re.compile(r"\s{0,8}(?:`{3,}|~{3,})", re.ASCII)


_TOLD = tomllib.loads((files("ledger.facts") / "data" / "entries.toml").read_text("utf-8"))
YES, NO, DONE, OPEN, REMARKS = (frozenset(fold(_TOLD[name]).split()) for name in ("yes", "no", "done", "open", "remarks"))


def ticked(value: str) -> bool | None:
    """Is a value a tick or cross, or a word for one? None where it says more."""
    bare = fold(value).strip(_EDGE + "\ufe0f")
    if bare in {"[x]", "[ ]"}:
        return bare == "[x]"
    return True if bare in YES else False if bare in NO else None


def tells_so(head: str) -> bool:
    """Does the head of a column (folded) name nothing but that something is so: `enabled`, `done`?"""
    words = _WORDS.findall(head)
    return bool(words) and (YES | DONE).issuperset(words)


def entries(text: str) -> Iterator[Entry]:
    """Every entry of a text, in order; code blocks are passed over."""
    lines: list[Range] = []
    fenced = False
    for m in _LINE.finditer(text):
        if _FENCE.match(m[0]):
            fenced = not fenced
            continue
        if not fenced and not _HEADING.match(m[0]):
            lines.append(m.span())
    at = 0
    while at < len(lines):
        stop, cells = _table(text, lines, at)
        if stop > at:
            yield from _rows(text, cells)
            at = stop
            continue
        yield from _line(text, *lines[at])
        at += 1


def _trim(text: str, start: int, end: int) -> Range:
    while start < end and text[start] in " \t\r*`":
        start += 1
    while end > start and text[end - 1] in " \t\r*`":
        end -= 1
    return start, end


def _cells(text: str, line: Range, shape: re.Pattern[str]) -> list[Range]:
    return [_trim(text, m.start(), m.end()) for m in shape.finditer(text, *line)]


def _table(text: str, lines: list[Range], at: int) -> tuple[int, list[list[Range] | None]]:
    """Where the table that begins at this line ends, and its rows; None stands for a line that rules off the heads."""
    shape = _shape(text, lines[at])
    rows: list[list[Range] | None] = []
    stop = at
    width = 0
    while shape is not None and stop < len(lines) and (not rows or lines[stop][0] - lines[stop - 1][1] <= 1):
        line = text[slice(*lines[stop])]
        if _RULE.match(line):
            rows.append(None)
        elif shape is _CELL and "|" not in line:
            break
        else:
            found = _cells(text, lines[stop], shape)
            if (
                len(found) < 2
                or (shape is not _CELL and width and len(found) != width)
                or _shape(text, lines[stop]) is not shape
            ):
                break
            width = width or len(found)
            rows.append(found)
        stop += 1
    filled = sum(row is not None for row in rows)
    return (stop, rows) if filled >= 2 or (filled and shape is _CELL and None in rows) else (at, [])


def _shape(text: str, line: Range) -> re.Pattern[str] | None:
    """How a line is cut into cells, if it may be the row of a table."""
    said = text[slice(*line)].strip(" \t\r")
    if len(said) > 4 * LINE_CHARS_MAX:
        return None
    if said.count("|") >= 2 or (said.count("|") == 1 and " | " in said) or (said[:1] == "+" and _RULE.match(said)):
        return _CELL
    if "\t" in said or re.search(r"[^\s.:!?]   *[^\s]", said):
        return re.compile(r"[^\t\n]+", re.ASCII) if "\t" in said else _COLUMN
    return _FIELD if _CSV.match(said) else None


_NUMERIC = re.compile(r"[^0-9]{0,3}[0-9][0-9.,:]*\s?\S{0,6}$", re.ASCII)


def _rows(text: str, rows: list[list[Range] | None]) -> Iterator[Entry]:
    """The entries of a table: without a line that rules them off, heads are told by naming what other rows have numbers of."""
    filled = [row for row in rows if row is not None]
    ruled = None in rows[1:2] or (rows[:1] == [None] and None in rows[2:3])
    plain = not any(_short(text, cell) for cell in filled[0][1:])
    headed = ruled or (plain and any(_short(text, cell) for row in filled[1:] for cell in row[1:]))
    if not headed and any(len(row) > 2 for row in filled):
        headed = plain
    heads = filled[0] if headed else []
    for row in filled[headed : headed + ROWS_MAX]:
        named = next((at for at, cell in enumerate(row[:-1]) if _LETTER.search(text, *cell)), 0)
        label = row[named]
        for at, cell in enumerate(row[named + 1 :], named + 1):
            tick = ticked(text[slice(*cell)])
            if label[0] < label[1] and (tick is not None or _WORDS.search(text, *cell)):
                yield Entry(label, heads[at] if at < len(heads) else (label[0], label[0]), cell, tick, row=True)


def _short(text: str, cell: Range) -> bool:
    said = text[slice(*cell)]
    return bool(_NUMERIC.match(said)) or ticked(said) is not None


def _line(text: str, start: int, end: int) -> Iterator[Entry]:
    if end - start > LINE_CHARS_MAX:
        return
    bullet = _BULLET.match(text, start, end)
    start = bullet.end() if bullet else start
    box = _BOX.match(text, start, end)
    if box is not None:
        label = _trim(text, box.end(), end)
        yield Entry(label, (label[0], label[0]), (box.start(), label[1]), bool(box[2]) or (box[1] or " ") in "xX")
        return
    pieces = list(_pieces(text, start, end))
    pairs = [_PAIR.fullmatch(text, *_bare(text, a, b)) for a, b in pieces]
    if len(pieces) > 1 and not all(pairs):
        pairs = [_PAIR.fullmatch(text, *_bare(text, start, end))]
    for m in pairs:
        if m is not None and _LETTER.search(m["key"]) and _brief(m):
            label, value = _trim(text, *m.span("key")), _trim(text, *m.span("value"))
            yield Entry(label, (label[0], label[0]), value, ticked(text[slice(*value)]))


def _bare(text: str, start: int, end: int) -> Range:
    while end > start and text[end - 1] in " \t\r.":
        end -= 1
    return start, end


def _brief(m: re.Match[str]) -> bool:
    value = m["value"]
    if value[:2] == "//" or _ENDS.search(value):
        return False
    if REMARKS.issuperset(_WORDS.findall(fold(m["key"]))):
        return False
    told = ticked(value) is not None or bool(_WORDS.search(value))
    return told and len(_WORDS.findall(m["key"])) <= LABEL_WORDS_MAX and len(_WORDS.findall(value)) <= VALUE_WORDS_MAX


def _pieces(text: str, start: int, end: int) -> Iterator[Range]:
    at = start
    for m in _PARTED.finditer(text, start, end):
        yield at, m.start()
        at = m.end()
    yield at, end
