"""A sentence as it is read: its values first, then, if they are asked for, its tokens and clauses."""

from __future__ import annotations

import re

from ledger.facts.language.clauses import Clause, clauses_of
from ledger.facts.language.fold import DIGITS, UPPER, WORD, fold
from ledger.facts.language.idioms import settle_words
from ledger.facts.language.known import ORDERS, SETTLED, SETTLES, STARTS
from ledger.facts.language.lexicon import Language
from ledger.facts.language.tokens import Token, order, read_words, tag
from ledger.facts.language.wording import settle_neighbours
from ledger.facts.values.bounds import TURNED, turn_bounds
from ledger.facts.values.dates import Dated, find_dates
from ledger.facts.values.identifiers import classify, find_identifiers
from ledger.facts.values.quantities import Number, find_numbers

_CAPITAL = re.compile("[A-Z\u00c0-\u00de\u0410-\u042f\u0391-\u03a9]", re.ASCII)
_CAPITALS = UPPER.union(*(map(chr, range(first, last + 1)) for first, last in ((0xC0, 0xDE), (0x410, 0x42F), (0x391, 0x3A9))))


_LETTERS = re.compile(f"(?:(?![0-9_])[{WORD}])+", re.ASCII)


class Sentence:
    """A sentence at `[start, end)` with its clauses and the values that stand in it.

    It is cut into tokens when somebody asks for them, and into clauses likewise: much of what is passed over is told without.
    """

    __slots__ = (
        "_clauses",
        "_folded",
        "_original",
        "_spots",
        "_tokens",
        "dates",
        "end",
        "identifiers",
        "language",
        "numbers",
        "start",
    )

    def __init__(self, original: str, folded: str, start: int, end: int, language: Language) -> None:
        self._original, self._folded = original, folded
        self.start, self.end, self.language = start, end, language
        self.numbers: list[Number] = []
        self.dates: list[Dated] = []
        self.identifiers: list[tuple[int, int]] = []
        self._tokens: list[Token] | None = None
        self._clauses: list[Clause] | None = None
        self._spots: dict[int, int] | None = None

    @property
    def tokens(self) -> list[Token]:
        """Words, values and punctuation marks in order."""
        return self.read() if self._tokens is None else self._tokens

    def read(self) -> list[Token]:
        """Reads the tokens, by which a bound that takes up a negation is turned, in `numbers` too."""
        self._tokens = _tokens(self._original, self._folded, self)
        return self._tokens

    @property
    def clauses(self) -> list[Clause]:
        """The clauses in order."""
        if self._clauses is None:
            self._clauses = clauses_of(self.tokens, self._folded, self.language)
        return self._clauses

    @property
    def valued(self) -> bool:
        """Does an identifier, a date or a number stand in it?"""
        return bool(self.identifiers or self.dates or self.numbers)

    @property
    def question(self) -> bool:
        """Does it ask, by the mark at its end?"""
        return self._original[self.start : self.end].rstrip("\"')]} \u201d*_").endswith(("?", "\uff1f", "\u061f"))

    def spot(self, start: int) -> int:
        """The index of the token of the value that begins at `start`; -1 where it is part of another."""
        if self._spots is None:
            self._spots = {token.start: at for at, token in enumerate(self.tokens) if token.kind in "ndi"}
        return self._spots.get(start, -1)


def analyse(original: str, folded: str, start: int, end: int, language: Language) -> Sentence:
    """The values of one sentence at `[start, end)`, with what its tokens and clauses are read from."""
    sentence = Sentence(original, folded, start, end, language)
    sentence.identifiers = find_identifiers(original, start, end)
    sentence.dates = find_dates(folded, start, end, language)
    if sentence.dates and sentence.identifiers:
        sentence.dates = [
            d
            for d in sentence.dates
            if not any(a < d.end and d.start < b and (b - a) > (d.end - d.start) for a, b in sentence.identifiers)
        ]
        sentence.identifiers = [
            (a, b) for a, b in sentence.identifiers if not any(d.start < b and a < d.end for d in sentence.dates)
        ]
    taken = [*sentence.identifiers, *((d.start, d.end) for d in sentence.dates)]
    sentence.numbers = find_numbers(original, folded, start, end, language, taken)
    if sentence.numbers and any(number.op in TURNED for number in sentence.numbers):
        sentence.read()
    return sentence


def _tokens(original: str, folded: str, sentence: Sentence) -> list[Token]:
    """The tokens of a sentence, with what they do there."""
    tokens: list[Token] = []
    language = sentence.language
    looks = _read(original, folded, sentence, tokens)
    if looks & STARTS:
        tag(tokens, language)
    settle_words(original, tokens, language)
    if looks & SETTLES:
        settle_neighbours(tokens, language)
    if sentence.numbers and any(number.op in TURNED for number in sentence.numbers):
        turn_bounds(folded, tokens, sentence.numbers)
    if looks & ORDERS:
        order(tokens, language)
    if sentence.dates and any(date.value[0] in DIGITS for date in sentence.dates):
        for token in tokens:
            if token.kind == "w" and token.word in language.weekdays:
                token.keys = ()  # the date says it already
    _name(original, sentence, tokens)
    return tokens


def _number_end(number: Number) -> int:
    """Where the number itself ends, without the noun that a rate may enclose (`5 starts per minute`)."""
    return number.noun_start if number.start < number.noun_start < number.end else number.end


def _pronoun(number: Number, folded: str) -> bool:
    """`the green one` counts nothing."""
    return number.value == "1" and not number.op and folded[number.start] not in DIGITS


def _read(original: str, folded: str, sentence: Sentence, tokens: list[Token]) -> int:
    """Appends words and values; answers in which respects they are to be looked at again (`ledger.facts.language.known`)."""
    at, language = sentence.start, sentence.language
    if not (sentence.identifiers or sentence.dates or sentence.numbers):
        return read_words(folded, at, sentence.end, language, tokens)
    values: list[tuple[int, int, str, str]] = [(a, b, "i", original[a:b]) for a, b in sentence.identifiers]
    values += [(d.start, d.end, "d", d.value) for d in sentence.dates]
    values += [(n.start, _number_end(n), "n", n.canonical) for n in sentence.numbers if not _pronoun(n, folded)]
    values.sort()
    looks = 0
    for a, b, kind, value in values:
        if a < at:
            continue
        looks |= read_words(folded, at, a, language, tokens)
        keys: tuple[str, ...] = ("!" + value,) if kind == "i" else ("#" + value,)
        if kind == "i" and not classify(value) and _LETTERS.fullmatch(value):
            keys = (*language.keys(fold(value)), *keys)
        if value in SETTLED:
            looks |= SETTLES
        tokens.append(Token(a, b, kind, value, 0, keys))
        at = b
    return looks | read_words(folded, at, sentence.end, language, tokens)


def _name(original: str, sentence: Sentence, tokens: list[Token]) -> None:
    """Capital letters within a sentence make a name, unless the language or the sentence capitalises anyway."""
    if not _CAPITAL.search(original, sentence.start + 1, sentence.end):
        return
    if sentence.language.code == "de":
        return
    words = [t for t in tokens if t.keys and t.kind == "w"]
    capitals = sum([original[t.start] in _CAPITALS for t in words])
    if capitals * 2 > len(words) + 2:
        return
    opening = True
    for token in tokens:
        if token.kind == "p":
            opening = token.word in ".:!?(*-"
            continue
        if not opening and token.kind == "w" and token.keys and original[token.start] in _CAPITALS:
            token.name = True
        opening = False
