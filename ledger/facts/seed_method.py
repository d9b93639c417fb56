"""The fourth seed's own method, kept for comparison (`--method seed`, rule D3).

Assistant text only; sentences of 25 to 400 UTF-16 units that match one of three vocabularies; survival is a Jaccard overlap of
at least 0.6 with a decision-shaped sentence of the summary. An inserted *not* scores 0.93 there:
that is why it is not our method.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from ledger.facts.language.fold import lower

UNITS_MIN, UNITS_MAX = 25, 400
"""UTF-16 code units of a sentence, both included."""

THRESHOLD = Fraction(3, 5)

_PATTERNS = (
    (
        "decided",
        re.compile(r"\b(?:decided|decide to|chose|choosing|opted for|we'?ll use|going with)\b", re.IGNORECASE | re.ASCII),
    ),
    ("rejected", re.compile(r"\b(?:instead of|rejected|ruled out|won'?t|will not|not going to)\b", re.IGNORECASE | re.ASCII)),
    ("reason", re.compile(r"\bbecause\b", re.IGNORECASE | re.ASCII)),
)
_CUT = re.compile(r"(?<=[.!?])\s+|[\r\n]+", re.ASCII)
_TOKEN = re.compile(r"[a-z0-9]+", re.ASCII)
_STOPWORDS = frozenset("the a an and or of to in is are was were be been it this that for on with as at by from".split()) - {
    "from"
}


class SeedSentence(NamedTuple):
    """A decision-shaped sentence at code points `[start, end)` with the kinds that it matches, in the seed's order."""

    text: str
    start: int
    end: int
    kinds: tuple[str, ...]


def seed_sentences(text: str, *, units_max: int = UNITS_MAX) -> list[SeedSentence]:
    """Every decision-shaped sentence of an assistant text or a summary, in order. Another `units_max` than the seed's
    shows what its ceiling leaves out.
    """
    found: list[SeedSentence] = []
    at = 0
    for cut in (*_CUT.finditer(text), None):
        stop = cut.start() if cut else len(text)
        start, end = at, stop
        while start < end and text[start] in " \t\r\n\f\v":
            start += 1
        while end > start and text[end - 1] in " \t\r\n\f\v":
            end -= 1
        at = cut.end() if cut else stop
        if end - start > units_max or not UNITS_MIN <= _units(text[start:end]) <= units_max:
            continue
        sentence = text[start:end]
        kinds = tuple(name for name, pattern in _PATTERNS if pattern.search(sentence))
        if kinds:
            found.append(SeedSentence(sentence, start, end, kinds))
    return found


def seed_survives(sentence: SeedSentence | str, summary_sentences: Iterable[SeedSentence | str]) -> bool:
    """Does a sentence of the summary overlap this one at 0.6 Jaccard or more? Exact ratio; an empty side gives 0."""
    mine = _tokens(sentence)
    for other in summary_sentences:
        theirs = _tokens(other)
        both = len(mine & theirs)
        either = len(mine | theirs)
        if both and Fraction(both, either) >= THRESHOLD:
            return True
    return False


def _tokens(sentence: SeedSentence | str) -> frozenset[str]:
    text = sentence if isinstance(sentence, str) else sentence.text
    return frozenset(_TOKEN.findall(lower(text))) - _STOPWORDS


def _units(text: str) -> int:
    return len(text) + sum(char > "\uffff" for char in text)
