"""Markdown tables: each cell with the heads of its row and column, so that a number keeps what it is the number of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_CELL = re.compile(r"[^|\n]+", re.ASCII)
_RULE = re.compile(r"^[\s|:-]+$", re.ASCII)
CELLS_MAX = 4000
"""Cells of one table that are read; a larger table is bulk."""


class Cell(NamedTuple):
    """A cell at `[start, end)` with the ranges of its column head and of its row's first cell."""

    start: int
    end: int
    labels: tuple[tuple[int, int], ...]


def table_rows(text: str, start: int, end: int) -> Iterator[Cell]:
    """Every filled cell of the table at `[start, end)`, in order."""
    heads: list[tuple[int, int]] = []
    count = 0
    first = True
    for line in re.finditer(r"[^\n]+", text[start:end]):
        if _RULE.match(line[0]):
            continue
        cells = [_trim(text, start + line.start() + m.start(), start + line.start() + m.end()) for m in _CELL.finditer(line[0])]
        if first:
            heads, first = cells, False
            continue
        for at, (a, b) in enumerate(cells):
            count += 1
            if count > CELLS_MAX:
                return
            if a < b:
                labels = []
                if at < len(heads) and heads[at][0] < heads[at][1]:
                    labels.append(heads[at])
                if at and cells[0][0] < cells[0][1]:
                    labels.append(cells[0])
                yield Cell(a, b, tuple(labels))


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start] in " \t\r*":
        start += 1
    while end > start and text[end - 1] in " \t\r*":
        end -= 1
    return start, end
