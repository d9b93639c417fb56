"""A lossy summariser and a careless retrieval store, built the way the sources describe them: each does its own job well.

The summariser keeps some statements word for word, blurs some so that the name or the number goes, and drops the rest; a
summary is summarised again in the next pass. The store holds raw messages for a time counted from their eviction, whether or
not anything else still says what they say, and has one entry for the summary, which each pass replaces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ops.evidence.chance import seeded
from ops.evidence.generator import Turn
from ops.evidence.world import Attribute, Planted, topic

KEPT_FIRST, BLURRED_FIRST = 0.55, 0.25
"""Of statements that are summarised for the first time: kept word for word, blurred. The rest is dropped."""

KEPT_AGAIN, BLURRED_AGAIN = 0.70, 0.15
"""The same for what a summary already holds, in each further generation."""

LINES_MAX = 60
"""Lines of one summary: the window has no room for more, so the oldest go first."""

STORE_MINUTES = 24 * 60
"""How long the careless store holds a raw message after its eviction: the soft-delete TTL of the first source."""

HIT_AT_LEAST = 0.6
"""Share of the question's words that a text needs to be returned at all."""

_BLUR: dict[Attribute, str] = {
    "service": "The {area} incident comes from the upstream service.",
    "limit": "The limits of the {area} client were discussed.",
    "ban": "Restarting the {name} was discussed.",
    "deadline": "The ship date of the {area} change was settled.",
    "decision": "The approach for the {name} was settled.",
    "path": "The retry code of the {name} was found.",
}
_WORD = re.compile(r"[a-z0-9]+")


class Line(msgspec.Struct, frozen=True):
    """One line of a summary: what it speaks of, and whether it still says it."""

    planted: Planted
    text: str


def compacted(seed: int, pass_: int, last: Sequence[Line], dropped: Iterable[Turn]) -> list[Line]:
    """The next summary, from the one before and the turns that it replaces."""
    chance = seeded("compactor", seed, pass_)
    lines: list[Line] = []
    for line in last:
        lines += _kept(seed, line.planted, line.text, chance.random(), KEPT_AGAIN, BLURRED_AGAIN)
    for turn in dropped:
        for planted in turn.planted:
            lines += _kept(seed, planted, planted.sentence, chance.random(), KEPT_FIRST, BLURRED_FIRST)
    return list({line.planted: line for line in lines}.values())[-LINES_MAX:]


def _kept(seed: int, planted: Planted, text: str, drawn: float, kept: float, blurred: float) -> Iterator[Line]:
    if drawn < kept:
        yield Line(planted, text)
    elif drawn < kept + blurred:
        about = topic(seed, planted.topic)
        yield Line(planted, _BLUR[planted.attribute].format(area=about.area, name=about.name))


def text_of(lines: Sequence[Line]) -> str:
    """The summary as it stands in the window."""
    return "\n".join(["Summary of the work so far.", *(f"- {line.text}" for line in lines)])


class CarelessStore:
    """Returns the text that shares most words with a question, the newest of equals, and does not say where it comes from."""

    def __init__(self) -> None:
        self._raw: list[tuple[int, str, frozenset[str]]] = []
        self._summary: list[tuple[str, frozenset[str]]] = []

    def add(self, minute: int, turns: Iterable[Turn]) -> None:
        """Messages leave the window for the store."""
        self._raw += [(minute, turn.text, words(turn.text)) for turn in turns]

    def upsert(self, lines: Sequence[Line]) -> None:
        """The new summary takes the place of the old one."""
        self._summary = [(line.text, words(line.text)) for line in lines]

    def expire(self, minute: int) -> int:
        """Drop what was evicted too long ago. Returns how many messages went."""
        before = len(self._raw)
        self._raw = [entry for entry in self._raw if entry[0] > minute - STORE_MINUTES]
        return before - len(self._raw)

    def search(self, question: str, window: Sequence[Turn]) -> str:
        """The best text, or the empty string where nothing is near enough."""
        asked = words(question)
        best, found = 0, ""
        candidates = [
            *((text, have) for _, text, have in self._raw),
            *self._summary,
            *((t.text, words(t.text)) for t in window),
        ]
        for text, have in candidates:
            score = len(asked & have)
            if score >= best and score:
                best, found = score, text
        return found if best >= HIT_AT_LEAST * len(asked) else ""

    @property
    def bytes(self) -> int:
        """What the store holds."""
        return sum(len(text.encode()) for _, text, _ in self._raw) + sum(len(text.encode()) for text, _ in self._summary)


def words(text: str) -> frozenset[str]:
    """Words and numbers, in lower case."""
    return frozenset(_WORD.findall(text.lower()))
