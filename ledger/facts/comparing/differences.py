"""In what two short sequences of words differ, around the longest stretches that both have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Change(NamedTuple):
    """Words `[start, end)` of the one stand where the words `[start2, end2)` of the other do; either may be none."""

    start: int
    end: int
    start2: int
    end2: int


def changes(one: Sequence[str], other: Sequence[str]) -> list[Change]:
    """The stretches that differ, in order. Takes the longest common stretch, the leftmost of equal ones, and goes on to both
    sides of it; the time grows with the product of the lengths.
    """
    found: list[Change] = []
    waiting = [Change(0, len(one), 0, len(other))]
    while waiting:
        part = waiting.pop()
        at, at2, size = _longest(one, other, part)
        if size:
            waiting.append(Change(at + size, part.end, at2 + size, part.end2))
            waiting.append(Change(part.start, at, part.start2, at2))
        elif part.start < part.end or part.start2 < part.end2:
            found.append(part)
    return found


def _longest(one: Sequence[str], other: Sequence[str], part: Change) -> tuple[int, int, int]:
    """Where the longest common stretch within the part begins in each, and its length."""
    best = (part.start, part.start2, 0)
    ending: dict[int, int] = {}
    for at in range(part.start, part.end):
        now: dict[int, int] = {}
        for at2 in range(part.start2, part.end2):
            if one[at] == other[at2]:
                size = now[at2] = ending.get(at2 - 1, 0) + 1
                if size > best[2]:
                    best = (at - size + 1, at2 - size + 1, size)
        ending = now
    return best
