"""The extractor done plainly, as a reference for speed: the same rules, found the simple way.

Each class of words (negation, quantifier, obligation, decision and so on) is one `re` of all its words, run over each sentence;
so is each notation of a date, a number and an identifier. Nothing is passed over after a quick look, and no word, name or
encoding is remembered from one sentence to the next. What the rules do with what was found (clauses, statements, salience) is
the extractor's own code, on both sides.

That is the reference with one reading for all classes. `by_class` is the one that the goal is about: one pass for each class,
as five patterns are five passes, which finds the sentences that have the words or marks of its class and reads those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any
from unittest.mock import patch

from ledger.facts import model
from ledger.facts.extraction import analysis
from ledger.facts.extraction.analysis import Sentence
from ledger.facts.extraction.builder import Builder
from ledger.facts.language import lexicon, tokens
from ledger.facts.language.fold import WORD
from ledger.facts.language.known import CEASES, EVERY_LOOK
from ledger.facts.language.lexicon import Language
from ledger.facts.language.tokens import Token
from ledger.facts.structure.blocks import Block
from ledger.facts.structure.toolout import tells
from ledger.facts.values import dates, identifiers, quantities
from ledger.facts.values.dates import Dated
from schemas.facts import FACT_CLASSES, FactClass

ANYTHING = re.compile("")
"""A quick look that lets everything pass."""


@lru_cache(maxsize=64)
def word_classes(code: str) -> tuple[tuple[int, re.Pattern[str]], ...]:
    """For each class its tag and the pattern of its words, the longest first."""
    single = lexicon.LANGUAGES[code].tags.single
    classes = []
    for bit in range(max((tag.bit_length() for tag in single.values()), default=0)):
        words = sorted((word for word, tag in single.items() if tag >> bit & 1), key=lambda word: (-len(word), word))
        if words:
            pattern = rf"(?<![{WORD}])(?:{'|'.join(map(re.escape, words))})(?![{WORD}])"
            classes.append((1 << bit, re.compile(pattern, re.ASCII)))
    return tuple(classes)


def read_words(folded: str, start: int, end: int, language: Language, found: list[Token]) -> int:
    """Words and marks of a sentence: one pass for each class of words, one for the words themselves; then every look."""
    tags: dict[tuple[int, int], int] = {}
    for tag, pattern in word_classes(language.code):
        for m in pattern.finditer(folded, start, end):
            tags[m.span()] = tags.get(m.span(), 0) | tag
    first = len(found)
    language.known.clear()
    tokens.read_words(folded, start, end, language, found)
    language.known.clear()
    for token in found[first:]:
        if token.kind == "w" and not language.no_spaces:
            missed = language.tags.single.get(token.word, 0) & ~tags.get((token.start, token.end), 0)
            assert not missed, f"{token.word!r} lacks {missed:x}"
    return EVERY_LOOK


def find_dates(folded: str, start: int, end: int, language: Language) -> list[Dated]:
    """Dates of a sentence: every notation, whether there is a digit or not."""
    text = folded[start:end]
    found = dates._join(text, dates._days(text, language), dates._times(text, language))
    return [Dated(item.start + start, item.end + start, item.value) for item in found]


def analyse(original: str, folded: str, start: int, end: int, language: Language) -> Sentence:
    """A sentence cut into tokens and clauses, whether anything of it is kept or not."""
    sentence = analysis.analyse(original, folded, start, end, language)
    assert sentence.clauses or not sentence.tokens or all(token.kind == "p" for token in sentence.tokens)
    return sentence


def _tells(builder: Builder, block: Block, _: Language, small: bool) -> bool:
    return tells(builder.text[block.start : block.end], small)


@contextmanager
def plainly() -> Iterator[None]:
    """Within it `extract` works the plain way."""
    names = ("extract", "analysis", "passages", "bulk", "salience")
    modules = {name: import_module(f"ledger.facts.extraction.{name}") for name in names}
    classify, core = identifiers.classify.__wrapped__, identifiers._core.__wrapped__
    with (
        patch.object(modules["extract"], "look", lambda *_: "all"),
        patch.object(modules["extract"], "analyse", analyse),
        patch.object(modules["extract"], "_tells", _tells),
        patch.object(modules["analysis"], "read_words", read_words),
        patch.object(modules["analysis"], "find_dates", find_dates),
        patch.object(modules["analysis"], "classify", classify),
        patch.object(modules["passages"], "classify", classify),
        patch.object(modules["bulk"], "classify", classify),
        patch.object(modules["salience"], "classify", classify),
        patch.object(identifiers, "classify", classify),
        patch.object(identifiers, "_core", core),
        patch.object(identifiers, "may_name", lambda *_: True),
        patch.object(quantities, "_DIGIT", ANYTHING),
        patch.object(quantities, "word_hint", lambda _: ANYTHING),
        patch.object(model, "_encode", model._encode.__wrapped__),
        patch.object(Language, "keys", Language._keys, create=True),
    ):
        kept = {code: language.__dict__.pop("keys") for code, language in lexicon.LANGUAGES.items()}
        try:
            yield
        finally:
            for code, language in lexicon.LANGUAGES.items():
                language.keys = kept[code]
                language.known.clear()


_ENGLISH = lexicon.ENGLISH
_TIMES = (*_ENGLISH.clock, *_ENGLISH.relative_days, *_ENGLISH.months, *_ENGLISH.weekdays)
_VALUES: tuple[FactClass, ...] = ("numeric", "identifier", "commitment")


def _search_for(words: Iterable[str], marks: str) -> re.Pattern[str]:
    listed = "|".join(map(re.escape, sorted(set(words), key=lambda word: (-len(word), word))))
    return re.compile(rf"(?<![{WORD}])(?:{listed})(?![{WORD}])|{marks}", re.ASCII)


_TOLD_BY: dict[FactClass, re.Pattern[str]] = {
    "prohibition": _search_for(
        (*_ENGLISH.cues(lexicon.NEG | lexicon.EXC | lexicon.EXCEPT | lexicon.UNTIL), *CEASES), "n't|non-"
    ),
    "numeric": _search_for(_ENGLISH.number_words, "[0-9]"),
    "commitment": _search_for((*_ENGLISH.cues(lexicon.PROMISE), *_TIMES), "[0-9]"),
    "decision": _search_for(_ENGLISH.cues(lexicon.REASON | lexicon.INSTEAD | lexicon.DECIDED | lexicon.REJECTED), "(?!)"),
}
"""Words and marks by which a class is told in English: more than the class has, never less. The others have no such words."""


def _pass_of(cls: FactClass, builder: Builder, found: list[Block], language: Language) -> None:
    """Find the facts of one class: each sentence is searched for the words or marks of the class, and read where they stand."""
    if cls == "instruction" and builder.role != "user":
        return
    module, told_by, add = import_module("ledger.facts.extraction.extract"), _TOLD_BY.get(cls), Builder.add
    every, values, table, code = module.sentences, module.add_values, module._table, module.add_code

    def sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        for first, last in every(text, start, end):
            if cls == "identifier":
                hit = bool(identifiers.find_identifiers(text, first, last))
            else:
                hit = told_by is None or language.code != "en" or told_by.search(builder.folded, first, last) is not None
            if hit:
                yield first, last

    def only(self: Builder, of: FactClass, *place: Any, **more: Any) -> None:
        if of == cls:
            add(self, of, *place, **more)

    def nothing(*_: object) -> None: ...

    valued, stated = cls in _VALUES, cls not in _VALUES or cls == "commitment"
    with (
        patch.object(module, "sentences", sentences),
        patch.object(Builder, "add", only),
        patch.object(module, "add_values", values if valued else nothing),
        patch.object(module, "_table", table if valued or cls == "narrative" else nothing),
        patch.object(module, "add_code", code if valued or cls == "narrative" else nothing),
        patch.object(module, "add_statements", module.add_statements if stated else nothing),
    ):
        _read_blocks(builder, found, language)


_read_blocks = import_module("ledger.facts.extraction.extract")._read_blocks


@contextmanager
def by_class() -> Iterator[None]:
    """Within it `extract` works the plain way, and finds each class of facts in a pass of its own."""

    def passes(builder: Builder, found: list[Block], language: Language) -> None:
        for cls in FACT_CLASSES:
            _pass_of(cls, builder, found, language)

    with plainly(), patch.object(import_module("ledger.facts.extraction.extract"), "_read_blocks", passes):
        yield
