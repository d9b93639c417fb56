"""A span as it is looked at for its losses: where its sentences, clauses and sections are and what they hold, found once."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from ledger.facts.language.fold import SPACE
from ledger.facts.language.lexicon import Language
from ledger.facts.settled.shorter import content, figures, last_part, names, squashed
from ledger.facts.settled.standing import (
    EDGE,
    END,
    asks,
    denies,
    pasted,
    proposal_ranges,
    puts_a_choice,
    section_edges,
    users_words,
)
from ledger.facts.structure.toolout import written_file

SENTENCE_CHARS_MAX = 1000
"""Of a sentence without stops so much is looked at around a fact."""

CLAUSE_CHARS_MAX = 300
ORDER_CHARS_MAX = 120
"""In a sentence without stops a word further away says nothing of an order any more."""

_MARK = re.compile(r"%[a-z]+", re.ASCII)
_FILE = re.compile(r"[\w@.+-]*\w\.[A-Za-z][A-Za-z0-9]{0,5}\b", re.ASCII)


class Around(NamedTuple):
    """A fact of the same span: its place, its context, and its value where that is a figure."""

    start: int
    end: int
    context: str
    figure: str


class Sentence(msgspec.Struct, frozen=True):
    """A sentence, or as much of a long one as stands near a fact."""

    text: str
    around: tuple[Around, ...]
    marks: frozenset[str]
    denied: tuple[Around, ...]
    words: frozenset[str]
    figures: frozenset[str]
    asks: bool


class Section(msgspec.Struct, frozen=True):
    """A section of a report: where in it a head of proposals stands over what is said, and what it names."""

    first: int
    proposals: tuple[tuple[int, int], ...]
    files: frozenset[str]
    names: frozenset[str]

    def proposes(self, at: int) -> bool:
        """Does a head of proposals stand over the code point?"""
        return any(first <= at - self.first < last for first, last in self.proposals)


class Look:
    """One span with the facts that were read from it."""

    def __init__(self, text: str, language: Language, facts: Sequence[Around], *, tool: bool) -> None:
        self.text, self.language = text, language
        self.users_from = users_words(text) if tool else None
        self._facts = sorted(facts)
        self._starts = [one.start for one in self._facts]
        self._longest = max((one.end - one.start for one in self._facts), default=0)
        self._sentences: dict[tuple[int, int], Sentence] = {}
        self._sections: dict[tuple[int, int], Section] = {}

    @cached_property
    def _ends(self) -> list[int]:
        return [mark.end() for mark in END.finditer(self.text)]

    @cached_property
    def _edges(self) -> list[int]:
        return section_edges(self.text)

    @cached_property
    def pasted(self) -> bool:
        """See `ledger.facts.settled.standing.pasted`."""
        return pasted(self.text)

    @cached_property
    def chooses(self) -> bool:
        """Does the span put a choice to the user?"""
        return puts_a_choice(self.text)

    @cached_property
    def written(self) -> bool:
        """Is the span a call that writes a file?"""
        return written_file(self.text) is not None

    def whole(self, start: int, end: int) -> bool:
        """Are these code points all that the span says?"""
        first, last = self._said
        return start <= first and end >= last

    @cached_property
    def _said(self) -> tuple[int, int]:
        return len(self.text) - len(self.text.lstrip(SPACE)), len(self.text.rstrip(SPACE))

    def bounds(self, start: int, end: int) -> tuple[int, int]:
        """The bounds of the sentence or line that holds code points `[start, end)`."""
        ends = self._ends
        before, behind = bisect_right(ends, start), bisect_right(ends, max(start, end - 1))
        return ends[before - 1] if before else 0, ends[behind] if behind < len(ends) else len(self.text)

    def sentence(self, start: int, end: int) -> Sentence:
        """The sentence around a fact."""
        first, last = self.bounds(start, end)
        if last - first > SENTENCE_CHARS_MAX:
            step = SENTENCE_CHARS_MAX // 2
            first = max(first, first + (start - first) // step * step - step // 2)
            last = min(last, max(first + SENTENCE_CHARS_MAX, min(end, start + SENTENCE_CHARS_MAX)))
        if (first, last) not in self._sentences:
            self._sentences[first, last] = self._sentence(first, last)
        return self._sentences[first, last]

    def _sentence(self, first: int, last: int) -> Sentence:
        text, language = self.text[first:last], self.language
        from_, to = bisect_left(self._starts, first - self._longest), bisect_left(self._starts, last)
        around = tuple(one for one in self._facts[from_:to] if one.end > first)
        return Sentence(
            text=text,
            around=around,
            marks=frozenset(mark for one in around for mark in _MARK.findall(one.context)),
            denied=tuple(one for one in around if "%ban" in one.context and denies(self.text[one.start : one.end], language)),
            words=content(text, language),
            figures=figures(text),
            asks=asks(text, language),
        )

    def clause(self, start: int, end: int) -> str:
        """The part between commas around a fact."""
        first, last = self.bounds(start, end)
        first, last = max(first, start - CLAUSE_CHARS_MAX), min(last, end + CLAUSE_CHARS_MAX)
        for mark in EDGE.finditer(self.text, first, start):
            first = mark.end()
        behind = EDGE.search(self.text, end, last)
        return self.text[first : behind.start() if behind is not None else last]

    def order(self, start: int, end: int) -> str:
        """The sentence around an order, cut where a sentence has no end."""
        first, last = self.bounds(start, end)
        return self.text[max(first, start - ORDER_CHARS_MAX) : min(last, end + ORDER_CHARS_MAX)]

    def section(self, start: int) -> Section:
        """The section from its heading to the next one, or a paragraph without headings."""
        at = bisect_right(self._edges, start)
        first = self._edges[at - 1] if at else 0
        last = self._edges[at] if at < len(self._edges) else len(self.text)
        if (first, last) not in self._sections:
            text = self.text[first:last]
            files = frozenset(map(file_name, _FILE.findall(text)))
            self._sections[first, last] = Section(first, proposal_ranges(text, self.language), files, squashed_names(text))
        return self._sections[first, last]


def file_name(path: str) -> str:
    """The last part of a path, squashed."""
    return squashed(path.rsplit("/", 1)[-1])


def squashed_names(text: str) -> frozenset[str]:
    """Names in a text that are no files', squashed."""
    return frozenset(last_part(name) for name in names(text) if "/" not in name and not _FILE.search(name)) - {""}
