"""The words of one sentence in order, with what each does and whether another text has them (rule F2).

Survival is decided by content words; here nothing is left out, so that what a restatement adds can be seen. A sentence is cut
into pieces at its commas, colons and conjunctions. The vocabulary is `data/narrowing.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from ledger.facts.language import lexicon as lx
from ledger.facts.language.fold import DIGITS, WORD, fold
from ledger.facts.language.lexicon import Language

FUNCTION = (
    lx.STOP | lx.AUX | lx.PRON | lx.CONJ | lx.OR | lx.NEG | lx.SUB | lx.REASON | lx.MUST | lx.MAY | lx.ONLY | lx.ALL | lx.SOME
    | lx.MOST | lx.HEDGE | lx.ADVERB | lx.UNTIL | lx.EXC | lx.PLEASE
)  # fmt: skip
"""Tags of words that carry no content of their own."""

NAME_CHARS = 6
"""Words that share so many letters from the front are forms of one word; shorter ones share `SHORT_CHARS`."""

SHORT_CHARS = 4


class Additions:
    """What one language says by words that a restatement may add."""

    def __init__(self, data: dict[str, str]) -> None:
        self.conditions = _words(data, "conditions")
        self.occasions = _words(data, "occasions")
        self.speakers = _words(data, "speakers")
        self.heads = _words(data, "heads")
        self.ban_heads = _words(data, "ban_heads")
        self.relative = _words(data, "relative")
        self.neutral = _words(data, "neutral")
        self.labels = _words(data, "labels")
        self.tails = _words(data, "tails")
        self.moments = _words(data, "moments")
        self.any_of = _words(data, "any_of")
        self.all_of = _words(data, "all_of")
        self.between = _words(data, "between")
        self.vague = _words(data, "vague")
        self.fronted = _pattern(data, "fronted")
        self.endings = _pattern(data, "endings")
        self.bounded = _pattern(data, "bounded")
        self.joints = _pattern(data, "joints")
        self.joined = _pattern(data, "joined")
        self.passed_over = _pattern(data, "passed_over")
        leads = self.heads | self.conditions | self.occasions | self.tails
        self.phrases = frozenset(word for word in leads if "_" in word)
        self.after_noun = "after_noun" in data
        self.inserted = "inserted" in data
        self.compounds = "compounds" in data


def _words(data: dict[str, str], name: str) -> frozenset[str]:
    return frozenset(fold(data.get(name, "")).split())


def _pattern(data: dict[str, str], name: str) -> re.Pattern[str] | None:
    return re.compile(fold(data[name]).replace("\\w", f"[{WORD}]"), re.ASCII) if name in data else None


def _load() -> dict[str, Additions]:
    told = tomllib.loads((files("ledger.facts") / "data" / "narrowing.toml").read_text("utf-8"))
    return {code: Additions(data) for code, data in told.items()}


ADDITIONS = _load()
_NONE = Additions({})


def additions_of(language: Language) -> Additions:
    """The vocabulary of a language; an empty one where it has none."""
    return ADDITIONS.get(language.code, _NONE)


def _speakers() -> dict[str, tuple[str, ...]]:
    """In which languages with Latin letters a word of grammar is used, by word."""
    found: dict[str, tuple[str, ...]] = {}
    for code, known in ADDITIONS.items():
        language = lx.LANGUAGES[code]
        if language.script != "latin":
            continue
        words = language.vocabulary | known.heads | known.conditions | known.occasions | known.labels | set(language.elisions)
        for word in sorted(words):
            found[word] = (*found.get(word, ()), code)
    return found


_SPEAKERS = _speakers()
_PLAIN = re.compile("[a-z]+'?", re.ASCII)


def spoken(source: str, summary: str, detected: Language) -> Language:
    """The language in which most words of two folded sentences do something, `detected` where none has more: in a short text
    too little speaks for a language by itself.
    """
    if detected.script != "latin":
        return detected
    votes = {detected.code: 0}
    for word in dict.fromkeys((*_PLAIN.findall(source), *_PLAIN.findall(summary))):
        for code in _SPEAKERS.get(word, ()):
            votes[code] = votes.get(code, 0) + 1
    best = max(votes, key=lambda code: (votes[code], code == detected.code))
    return lx.LANGUAGES[best]


class Item(NamedTuple):
    """A word (`w`), number (`n`) or punctuation mark (`p`) at `start`, with its tags. `thing`: a word with content of its own;
    `content`: one that is not said of statements themselves either (`the user's rule`).
    """

    word: str
    kind: str
    start: int
    tags: int
    content: bool
    thing: bool


_ITEM = re.compile(
    rf"[0-9](?:[0-9.,:-]*[{WORD}])*|(?:(?!_)[{WORD}])+(?:['.@/_-]+(?:(?!_)[{WORD}])+)*|[,;:()\[\]\"!?\u2014\u060c\u3001]|(?<=\s)-(?=\s)",
    re.ASCII,
)


def items(folded: str, language: Language) -> list[Item]:
    """The words of a folded sentence; what is elided before an apostrophe is a word of its own."""
    found: list[Item] = []
    for m in _ITEM.finditer(folded):
        text, at = m[0], m.start()
        if text[0] in DIGITS:
            found.append(Item(text, "n", at, 0, True, True))
            continue
        if text[0] in _MARKS:
            found.append(Item(text, "p", at, 0, False, False))
            continue
        elided = next((e for e in language.elisions if text.startswith(e) and len(text) > len(e) + 1), "")
        if elided:
            found.append(Item(elided, "w", at, lx.STOP | language.tags.single.get(elided, 0), False, False))
        found.append(_word(text[len(elided) :], at + len(elided), language))
    return _joined(found, additions_of(language).phrases, language)


def _joined(found: list[Item], phrases: frozenset[str], language: Language) -> list[Item]:
    """Two words that lead to others together are one (`во время`)."""
    if not phrases:
        return found
    told: list[Item] = []
    for item in found:
        both = f"{told[-1].word}_{item.word}" if told else ""
        if both in phrases:
            told[-1] = _word(both, told[-1].start, language)
        else:
            told.append(item)
    return told


_MARKS = frozenset(',;:()[]"!?\u2014\u060c\u3001-')


def _word(word: str, at: int, language: Language) -> Item:
    tags = language.tags.single.get(word, 0)
    if word.endswith("n't"):
        tags |= lx.NEG | lx.AUX
    known = additions_of(language)
    if word in language.number_words and word not in known.any_of and word not in known.all_of:
        return Item(word, "n", at, tags, True, True)
    thing = not tags & FUNCTION and len(word) > 1 and word not in _unsaid(language.code)
    said = word in known.neutral or word in known.speakers
    return Item(word, "w", at, tags, thing and not said, thing and (not said or word in known.speakers))


@lru_cache(maxsize=32)
def _unsaid(code: str) -> frozenset[str]:
    """Words that only lead to others, or bound a number."""
    language, known = lx.LANGUAGES[code], ADDITIONS.get(code, _NONE)
    bounds = frozenset(entry[0] for entry in (*language.bounds, *language.bounds_after) if len(entry) == 1)
    return bounds | known.heads | known.ban_heads | known.conditions | known.occasions | known.any_of | known.all_of


class Vocabulary:
    """The words of a text, to be asked whether it has a word in any of its forms."""

    def __init__(self, words: Iterable[Item], language: Language) -> None:
        self._language = language
        self._keys: set[str] = set()
        self._fronts: set[str] = set()
        self._short: set[str] = set()
        self._heads: set[str] = set()
        self._words: set[str] = set()
        self.valued = False
        """Does the text hold a number or a day?"""
        self.numbered = False
        for item in words:
            if item.kind == "n":
                self.valued = self.numbered = True
            elif item.kind == "w":
                keys = _keys(item.word, language)
                self.valued = self.valued or keys[0][:1] == "#"
                self._keys.update(keys)
                self._words.add(item.word)
                if item.thing and len(item.word) >= NAME_CHARS:
                    self._fronts.add(item.word[:NAME_CHARS])
                elif item.thing:
                    self._short.add(item.word[: _short(item.word)])
                if item.thing:
                    self._heads.add(item.word[: _short(item.word)])

    def has(self, item: Item) -> bool:
        """Does the text hold this word, a form of it or a word for the same? Values are compared elsewhere."""
        keys = _keys(item.word, self._language)
        if item.kind == "n":
            return True
        if keys[0][:1] == "#":
            return self.valued
        word, front = item.word, item.word[: _short(item.word)]
        if word in self._words or not self._keys.isdisjoint(keys) or front in self._short:
            return True
        return word[:NAME_CHARS] in self._fronts if len(word) >= NAME_CHARS else front in self._heads

    def ends(self, item: Item) -> bool:
        """Is the word a compound whose last part is a word of the text?"""
        return any(len(word) >= SHORT_CHARS and item.word.endswith(word) for word in self._words)

    def part_of(self, item: Item) -> bool:
        """Is the word a part of a word of the text, or the other way round?"""
        word = item.word
        return len(word) >= SHORT_CHARS and any(
            word in other or (len(other) >= SHORT_CHARS and other in word) for other in self._words
        )


def _short(word: str) -> int:
    """How many letters of a short word tell it: a sign of Korean is a syllable."""
    return SYLLABLES if "\uac00" <= word[0] <= "\ud7a3" else SHORT_CHARS


SYLLABLES = 2


def _keys(word: str, language: Language) -> tuple[str, ...]:
    return tuple(key.lstrip("-^") for key in language.keys(word)) or ("",)


@lru_cache(maxsize=4)
def vocabulary(folded: str, code: str) -> Vocabulary:
    """The words of a whole text; one is asked for many sentences."""
    language = lx.LANGUAGES[code]
    return Vocabulary(items(folded, language), language)


class Piece(NamedTuple):
    """Words between two boundaries. `mark` is the one before it, `after` the one behind; `part` numbers the stronger ones."""

    items: list[Item]
    mark: str
    after: str
    part: int


_STRONG = frozenset(";()[]\u2014-")


def pieces(told: list[Item]) -> list[Piece]:
    """A sentence cut at its marks, conjunctions and reasons."""
    found: list[Piece] = []
    held: list[Item] = []
    mark, part = "", 0
    for item in told:
        if item.kind == "p" and item.word not in '"!?':
            if held:
                found.append(Piece(held, mark, item.word, part))
            held, mark = [], item.word
            part += item.word in _STRONG
        elif item.tags & (lx.CONJ | lx.REASON) and held:
            found.append(Piece(held, mark, item.word, part))
            held, mark = [item], ""
        elif item.kind != "p":
            held.append(item)
    if held:
        found.append(Piece(held, mark, "", part))
    return found
