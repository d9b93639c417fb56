"""A sentence of a summary beside the sentence of the source that it restates: what did the restatement add? (rule F2)"""

from __future__ import annotations

from collections.abc import Sequence

from ledger.facts.comparing.reading import FUNCTION, Item, Vocabulary, additions_of, items, pieces
from ledger.facts.language import lexicon as lx
from ledger.facts.language.lexicon import Language

VERBAL = lx.NEG | lx.AUX | lx.MUST | lx.MAY | lx.PRON | lx.PLEASE
"""What stands before a verb."""

TO = frozenset({"to", "zu", "te", "att", "de"})
"""Before a verb."""


class Told:
    """A sentence of a summary beside the sentence of the source that it restates; `texts` are the words of either text."""

    def __init__(self, source: str, summary: str, texts: tuple[Vocabulary, Vocabulary], language: Language) -> None:
        self.language, self.known = language, additions_of(language)
        self.source = items(source, language)
        self.summary = items(summary, language)
        self.whole, everything = texts
        self.reworded = any(item.content and item.kind == "w" and not everything.has(item) for item in self.source)
        """Is a word of the source's sentence nowhere in the summary, so that another may stand for it?"""
        self.own = Vocabulary(self.source, language)
        self.several = len(pieces(self.source)) > 1
        """Does the source's sentence say more than one thing?"""
        self.numbered = self.whole.numbered
        self.pieces = pieces(self.summary)
        self._anchored = [self.anchors(piece.items) for piece in self.pieces]

    def anchors(self, words: Sequence[Item]) -> bool:
        """Does a word of the source's sentence stand among these?"""
        return any(item.content and item.kind == "w" and self.own.has(item) for item in words)

    def added(self, item: Item) -> bool:
        """A word with content that the source has nowhere."""
        return item.content and not self.whole.has(item)

    def condition_at(self, words: Sequence[Item], *, rule: bool) -> int:
        """Where a word that makes a condition stands among these, in what lays down one for an occasion too; -1 if nowhere."""
        heads = self.known.conditions | self.known.occasions if rule else self.known.conditions
        for at, item in enumerate(words):
            following = words[at + 1].tags if at + 1 < len(words) else 0
            before = words[at - 1].tags if at else 0
            if item.word in heads and not following & (lx.MUST | lx.AUX | lx.MAY) and not before & (lx.NEG | lx.ASK):
                return at
        return -1

    def anchored(self, at: int) -> bool:
        """Does piece `at` hold a word of the source's sentence?"""
        return 0 <= at < len(self.pieces) and self._anchored[at]


def excused(told: Told, words: Sequence[Item], spot: int) -> bool:
    """Does a word that narrows nothing stand beside it?"""
    beside = words[max(0, spot - 1) : spot + 2]
    return any(item.word in told.known.neutral and not item.tags & FUNCTION for item in beside)
