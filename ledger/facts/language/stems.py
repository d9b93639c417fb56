"""Stems: the part of a word that its inflections share, by the endings of its language (`[stem]` of its table)."""

from __future__ import annotations

import re
from typing import Any

from ledger.facts.language.fold import fold

_COMBINING = re.compile("[\u0300-\u036f\u064b-\u065f\u0670\u0640\u05b0-\u05c7]+", re.ASCII)
_DUTCH_DOUBLED = re.compile(r"([aeou])\1", re.ASCII)
_ENGLISH_DOUBLED = re.compile(r"([bdfgmnprt])\1$", re.ASCII)

LEADS_MAX = 2
"""Particles that may stand before a word at once: *and* with *the*, *by* with *the*."""

ROOT_LETTERS_MIN = 2
"""What has to stay where spelling is evened out."""


class Stemmer:
    """The stem of a word; a word too short to cut stays whole."""

    def __init__(self, code: str, data: dict[str, Any]) -> None:
        self._code = code
        self._suffixes = longest_first(data.get("suffixes", ""))
        self._leads = longest_first(data.get("leads", ""))
        self._weak: dict[int, None] = dict.fromkeys(map(ord, data.get("weak", "")))
        """Letters that a root does without (Arabic)."""
        self._least: int = data.get("least", 3)
        self._rounds: int = data.get("rounds", 1)
        self._irregular = dict(_pairs(data.get("irregular", "")))
        self._ends = _pairs(data.get("ends", ""))
        """How spelling follows sound: `apague` and `apagar` share their stem once `gu` is `g`."""

    def __call__(self, word: str) -> str:
        """The stem of one folded word."""
        if not word.isascii():
            word = _COMBINING.sub("", word)
        word = self._irregular.get(word, word)
        if self._code == "en":
            return _english(word)
        if self._code == "nl":
            word = _DUTCH_DOUBLED.sub(r"\1", word)
        word = self._cut(word)
        for old, new in self._ends:
            if word.endswith(old) and len(word) - len(old) >= ROOT_LETTERS_MIN:
                word = word.removesuffix(old) + new
                break
        bare = word.translate(self._weak) if self._weak else ""
        return bare if len(bare) >= self._least else word

    def _cut(self, word: str) -> str:
        for _ in range(LEADS_MAX if self._leads else 0):
            lead = next((lead for lead in self._leads if word.startswith(lead) and len(word) - len(lead) >= self._least), "")
            word = word[len(lead) :]
        for _ in range(self._rounds):
            for suffix in self._suffixes:
                if word.endswith(suffix) and len(word) - len(suffix) >= self._least:
                    word = word[: -len(suffix)]
                    break
            else:
                break
        return word


def longest_first(text: str) -> tuple[str, ...]:
    """The words of a table, so that the longest that fits is met first."""
    return tuple(sorted(fold(text).split(), key=lambda word: (-len(word), word)))


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((old, new) for old, _, new in (item.partition("=") for item in fold(text).split()))


def _english(word: str) -> str:
    """A light English stemmer: plural, -ing, -ed, -ly, -er, -ion and adjective endings."""
    word = word.removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for suffix, least in _ENGLISH_SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= least:
            word = word[: -len(suffix)]
            word = _ENGLISH_DOUBLED.sub(r"\1", word)
            break
    if len(word) > 3 and word[-1] in "ey":
        word = word[:-1] + ("i" if word[-1] == "y" else "")
    return word


_ENGLISH_SUFFIXES = (
    ("ations", 3), ("ation", 3), ("ingly", 3), ("edly", 3), ("ment", 4), ("ness", 3), ("able", 4), ("ible", 4), ("ings", 3),
    ("ing", 3), ("ed", 3), ("ion", 4), ("ally", 4), ("ly", 4), ("ic", 4), ("ive", 5), ("al", 5),
    ("er", 4), ("or", 5),
    ("est", 4),
)  # fmt: skip
