"""Where values of one kind stand in a summary, found by value and by the words around them.

A fact is compared with every place of its kind up to `PLACES_MAX` of them. Of more it is compared with those that share its
rarest words, then with those of its own value, `PLACES_MAX` at most of each and in the order of the text: the work for one fact
has a bound, whatever the length of the summary.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

PLACES_MAX = 256
"""Lower calls values changed that stand far down a long summary; higher makes a check of long texts slow."""


class Place(NamedTuple):
    """Where a value stands in the summary, with the words near it, all words of its clause, and the noun that it counts."""

    start: int
    end: int
    op: str
    value: str
    unit: str
    near: frozenset[str]
    around: frozenset[str]
    clause: int
    counted: frozenset[str] = frozenset()


class Places:
    """The places of one kind, in the order of the text."""

    def __init__(self) -> None:
        self.all: list[Place] = []
        self.by_value: dict[str, list[int]] = {}
        self._by_word: dict[str, list[int]] = {}
        self._indexed = 0

    def add(self, place: Place) -> None:
        """Places come in the order of the text."""
        self.by_value.setdefault(place.value, []).append(len(self.all))
        self.all.append(place)

    def worth_comparing(self, value: str, words: Iterable[str]) -> list[Place]:
        """All places, or of many those that could be the best for this value between these words."""
        if len(self.all) <= PLACES_MAX:
            return self.all
        self._index()
        lists: list[Sequence[int]] = [self._by_word.get(word, ()) for word in dict.fromkeys(words)]
        chosen = set(first(sorted(lists, key=len), PLACES_MAX))
        chosen.update(self.by_value.get(value, ())[:PLACES_MAX])
        return [self.all[at] for at in sorted(chosen)]

    def of_value(self, value: str) -> list[Place]:
        """The first `PLACES_MAX` places of exactly this value."""
        return [self.all[at] for at in self.by_value.get(value, ())[:PLACES_MAX]]

    def _index(self) -> None:
        for at in range(self._indexed, len(self.all)):
            place = self.all[at]
            for word in sorted(place.near | place.around):
                self._by_word.setdefault(word, []).append(at)
        self._indexed = len(self.all)


def first(lists: Iterable[Sequence[int]], most: int) -> list[int]:
    """The distinct entries of the lists, one list after the other, `most` at most."""
    found: dict[int, None] = {}
    for entries in lists:
        at = 0
        while at < len(entries):
            room = most - len(found)
            if room <= 0:
                return list(found)
            found.update(dict.fromkeys(entries[at : at + room]))
            at += room
    return list(found)


class Wanted:
    """The words of a value's context, ready to be counted in many places: a bit for each word under each of its keys."""

    __slots__ = ("_near", "_rest", "most")

    def __init__(self, near: list[tuple[str, ...]], rest: list[tuple[str, ...]]) -> None:
        self._near, self._rest = _bits(near), _bits(rest)
        self.most = 4 * len(near) + len(rest)
        """The closeness of a place that has every word where it belongs; none is closer."""

    def near_hits(self, place: Place) -> int:
        """How many of the words nearest to the value stand near the place."""
        return _held(self._near, place.near).bit_count()

    def names(self, keys: frozenset[str]) -> bool:
        """Is it one of the words, near or not?"""
        return not (self._near.keys().isdisjoint(keys) and self._rest.keys().isdisjoint(keys))

    def closeness(self, place: Place) -> int:
        """4 for each of the nearest words that stands near the place, 2 where it stands in its clause, 1 for any other word."""
        near = _held(self._near, place.near)
        around = _held(self._near, place.around) & ~near
        return 4 * near.bit_count() + 2 * around.bit_count() + _held(self._rest, place.around).bit_count()

    def closest(self, places: list[Place], op: str | None = None) -> Place | None:
        """The first place, of those with this bound if one is given, that has every word where it belongs."""
        return next((p for p in places if (op is None or p.op == op) and self.closeness(p) == self.most), None)


def _bits(words: list[tuple[str, ...]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for at, word in enumerate(words):
        for key in word:
            found[key] = found.get(key, 0) | 1 << at
    return found


def _held(bits: dict[str, int], keys: frozenset[str]) -> int:
    """The bits of the words of which a key is held."""
    found = 0
    for key in bits.keys() & keys:
        found |= bits[key]
    return found
