"""Ids that a reader has met, with fingerprints of what stood under them, in little memory however long the file is.

What is met again is mostly met again soon: the ids of the last lines are a dictionary, which costs a reader nothing beyond what
a dictionary costs. Older ones are kept as numbers, twenty bytes each where a dictionary takes two hundred.
"""

from __future__ import annotations

from array import array
from zlib import crc32

RECENT_MAX = 16384
"""Ids that stay in the dictionary before they are moved out of it together."""

_SHELVES = 256
_BITS = 21
"""Two to this power marks say which ids are not among the older ones, so that nearly every new one is told at once."""


class KnownIds:
    """Fingerprints by id. A reader looks into `recent`, and asks `older` behind it only where `recent` does not know the id."""

    def __init__(self) -> None:
        self.recent: dict[str, tuple[int, ...]] = {}
        self._marks = bytearray()
        self._hashes: list[array[int]] = []
        self._checks: list[array[int]] = []
        self._prints: list[array[int]] = []

    def find(self, key: str) -> tuple[int, ...] | None:
        """The fingerprints under an id in the order in which they came, or None if it was not met."""
        found = self.recent.get(key)
        return self.older(key) if found is None and self._marks else found

    def older(self, key: str) -> tuple[int, ...] | None:
        """As `find`, of ids that were moved out of `recent`."""
        number = hash(key)
        if not self._marks or not self._marks[number >> 3 & len(self._marks) - 1] >> (number & 7) & 1:
            return None
        shelf = number >> _BITS & _SHELVES - 1
        hashes, checks, prints = self._hashes[shelf], self._checks[shelf], self._prints[shelf]
        check, found, at = _check(key), [], -1
        for _ in range(hashes.count(number)):
            at = hashes.index(number, at + 1)
            if checks[at] == check:
                found.append(prints[at])
        return tuple(found) or None

    def put(self, key: str, prints: tuple[int, ...]) -> None:
        """Set what stands under an id: all of what `find` gave, and what is new."""
        if len(self.recent) >= RECENT_MAX:
            self._move()
        self.recent[key] = prints

    def _move(self) -> None:
        """Empty the dictionary. Of an id that is known there already only the new fingerprints are added."""
        if not self._marks:
            self._marks = bytearray(1 << _BITS - 3)
            self._hashes = [array("q") for _ in range(_SHELVES)]
            self._checks = [array("I") for _ in range(_SHELVES)]
            self._prints = [array("q") for _ in range(_SHELVES)]
        for key, prints in self.recent.items():
            known = self.older(key) or ()
            number = hash(key)
            self._marks[number >> 3 & len(self._marks) - 1] |= 1 << (number & 7)
            shelf, check = number >> _BITS & _SHELVES - 1, _check(key)
            for one in prints[len(known) :]:
                self._hashes[shelf].append(number)
                self._checks[shelf].append(check)
                self._prints[shelf].append(one)
        self.recent.clear()


def _check(key: str) -> int:
    """Beside the 64 bits by which Python tells the id in this process, 32 bits that do not depend on them."""
    return crc32(key.encode("utf-8", "surrogatepass"))
