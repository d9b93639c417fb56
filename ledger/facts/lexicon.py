"""Words and what they do: negation, quantifiers, bounds, hedges, stems and concepts, one table a language.

The tables are package data (`data/lang/*.toml`, `data/concepts.toml`), read once at import and never afterwards. A language is
chosen for a text by its script and its function words; English stands in where nothing speaks for another.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Any

from ledger.facts.fold import fold

NEG = 1 << 0
EXC = 1 << 1
UNTIL = 1 << 2
ONLY = 1 << 3
ALL = 1 << 4
SOME = 1 << 5
MOST = 1 << 6
HEDGE = 1 << 7
MUST = 1 << 8
MAY = 1 << 9
AUX = 1 << 10
PRON = 1 << 11
SUB = 1 << 12
REASON = 1 << 13
CONJ = 1 << 14
OR = 1 << 15
QUESTION = 1 << 16
VERB = 1 << 17
DECIDED = 1 << 18
REJECTED = 1 << 19
PROMISE = 1 << 20
STOP = 1 << 21
NEUTRAL = 1 << 22
INSTEAD = 1 << 23
AFTERWARDS = 1 << 24
PLEASE = 1 << 25
ASK = 1 << 26
NOUN_STOP = 1 << 27
PRED = 1 << 29
EXCEPT = 1 << 31
NONE = 1 << 32
LABEL_STOP = 1 << 33
ADVERB = 1 << 34
REPORT = 1 << 35
"""What a word does in its clause; a word may do several things."""

_TAGS = {
    "neg": NEG, "exc": EXC, "until": UNTIL, "only": ONLY, "all": ALL, "some": SOME, "most": MOST, "hedge": HEDGE, "must": MUST,
    "may": MAY, "aux": AUX, "pron": PRON, "sub": SUB, "reason": REASON, "conj": CONJ, "or": OR, "question": QUESTION,
    "verb": VERB,
    "decided": DECIDED, "rejected": REJECTED, "promise": PROMISE, "stop": STOP, "neutral": NEUTRAL, "instead": INSTEAD,
    "afterwards": AFTERWARDS, "please": PLEASE, "ask": ASK, "noun_stop": NOUN_STOP, "pred": PRED, "except": EXCEPT,
    "none": NONE, "label_stop": LABEL_STOP, "adverb": ADVERB, "report": REPORT,
}  # fmt: skip
_BOUNDS = {"le": "<=", "ge": ">=", "gt": ">", "lt": "<", "approx": "~"}
_COMBINING = re.compile("[\u0300-\u036f\u064b-\u065f\u0670\u0640\u05b0-\u05c7]+", re.ASCII)
_IRREGULAR: dict[str, str] = {}
_DUTCH_DOUBLED = re.compile(r"([aeou])\1", re.ASCII)
_ENGLISH_DOUBLED = re.compile(r"([bdfgmnprt])\1$", re.ASCII)


def _entries(text: str) -> list[tuple[str, ...]]:
    return [tuple(word for word in entry.split("_") if word) or (entry,) for entry in fold(text).split()]


class Phrases:
    """Phrases of one or more words, looked up by their first word, the longest first."""

    def __init__(self) -> None:
        self.single: dict[str, int] = {}
        self.longer: dict[str, list[tuple[tuple[str, ...], int]]] = {}

    def add(self, entry: tuple[str, ...], tag: int) -> None:
        """`tag` is or-ed to what the entry already has."""
        if len(entry) == 1:
            self.single[entry[0]] = self.single.get(entry[0], 0) | tag
            return
        rows = self.longer.setdefault(entry[0], [])
        for at, (rest, old) in enumerate(rows):
            if rest == entry[1:]:
                rows[at] = (rest, old | tag)
                return
        rows.append((entry[1:], tag))
        rows.sort(key=lambda row: (-len(row[0]), row[0]))


class Language:
    """Everything the extractor knows of one language."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.code: str = data["code"]
        self.apostrophe_negation: bool = data.get("apostrophe_negation", False)
        self.tags = Phrases()
        for name, text in data.get("tags", {}).items():
            if name in _TAGS:
                for entry in _entries(text):
                    self.tags.add(entry, _TAGS[name])
        self.inside: tuple[tuple[str, int], ...] = tuple(
            (fold(word), _TAGS[name]) for name, text in data.get("inside", {}).items() for word in text.split()
        )
        self.negative_words = _pattern(data.get("negative_words", ""))
        self.particles: tuple[str, ...] = tuple(sorted(fold(data.get("particles", "")).split(), key=lambda p: (-len(p), p)))
        self.verb_prefixes: tuple[str, ...] = tuple(fold(data.get("verb_prefixes", "")).split())
        self.letters: frozenset[str] = frozenset(data.get("letters", ""))
        self.before = frozenset(fold(data.get("before", "")).split())
        self.after = frozenset(fold(data.get("after", "")).split())
        self.by = frozenset(fold(data.get("by", "")).split())
        self.since = frozenset(fold(data.get("since", "")).split())
        self.prefixes: tuple[str, ...] = tuple(fold(p) for p in data.get("prefixes", ()))
        self.bounds = self._bounds(data.get("bounds", {}), ("le", "ge", "gt", "lt", "approx"), "")
        self.bounds_after = self._bounds(data.get("bounds", {}), ("le", "ge"), "after_")
        joins = data.get("bounds", {})
        self.of = frozenset(fold(joins.get("of", "")).split())
        self.to = frozenset(fold(joins.get("to", "")).split())
        self.per = frozenset(fold(joins.get("per", "")).split())
        self._numbers(data.get("numbers", {}))
        self._dates(data.get("dates", {}))
        stem = data.get("stem", {})
        self.suffixes: tuple[str, ...] = tuple(sorted(fold(stem.get("suffixes", "")).split(), key=lambda s: (-len(s), s)))
        self.stem_min: int = stem.get("least", 3)
        if self.code == "en":
            _IRREGULAR.update(
                (form, base) for form, _, base in (item.partition("=") for item in fold(stem.get("irregular", "")).split())
            )
        self.stem_rounds: int = stem.get("rounds", 1)
        self.no_spaces: bool = data.get("no_spaces", False)
        self.verb_last: bool = data.get("verb_last", False)
        self.function_words = frozenset(word for word, tag in self.tags.single.items() if tag & (STOP | AUX | PRON | NEG))
        bound_words = (
            *self.by,
            *self.since,
            *self.before,
            *self.after,
            *(word for entry in (*self.bounds, *self.bounds_after) for word in entry),
        )
        self.vocabulary: frozenset[str] = frozenset(
            (*self.tags.single, *self.months, *self.weekdays, *self.number_words, *self.relative_days, *bound_words)
        )
        self.concepts: dict[str, tuple[str, ...]] = {}
        self.concept_phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self.known: dict[str, tuple[tuple[int, str, int, tuple[str, ...]], ...]] = {}
        self.keys = lru_cache(maxsize=65536)(self._keys)

    @staticmethod
    def _bounds(data: dict[str, str], names: tuple[str, ...], prefix: str) -> dict[tuple[str, ...], str]:
        return {entry: _BOUNDS[name] for name in names for entry in _entries(data.get(prefix + name, ""))}

    def _numbers(self, data: dict[str, Any]) -> None:
        self.number_units = _pairs(data.get("units", ""))
        self.number_scales = _pairs(data.get("scales", ""))
        self.number_times = _pairs(data.get("times", ""))
        self.number_joiner = frozenset(fold(data.get("joiner", "")).split())
        self.decimal_comma: bool = data.get("decimal_comma", True)
        self.number_words = frozenset((*self.number_units, *self.number_scales, *self.number_times))

    def _dates(self, data: dict[str, Any]) -> None:
        self.months = _pairs(data.get("months", ""))
        self.weekdays = _pairs(data.get("weekdays", ""))
        self.relative_days = _pairs(data.get("relative", ""))
        self.ahead = _entries(data.get("ahead", ""))
        self.ago = frozenset(fold(data.get("ago", "")).split())
        self.clock = {key: value for key, _, value in (item.partition("=") for item in fold(data.get("clock", "")).split())}
        self.day_first: bool = data.get("day_first", "yes") == "yes"

    def cues(self, wanted: int) -> frozenset[str]:
        """Every word that has one of the wanted tags, or begins a phrase that has, or a word that ends in `n't`."""
        found = {part for word, tag in self.tags.single.items() if tag & wanted for part in (word, *word.split("-"))}
        found.update(first for first, rows in self.tags.longer.items() if any(tag & wanted for _, tag in rows))
        return frozenset(found)

    def stem(self, word: str) -> str:
        """The part of a word that its inflections share; a word too short to cut stays whole."""
        if not word.isascii():
            word = _COMBINING.sub("", word)
        if self.code == "en":
            return _english(word)
        if self.code == "nl":
            word = _DUTCH_DOUBLED.sub(r"\1", word)
        for _ in range(self.stem_rounds):
            for suffix in self.suffixes:
                if word.endswith(suffix) and len(word) - len(suffix) >= self.stem_min:
                    word = word[: -len(suffix)]
                    break
            else:
                break
        return word

    def _keys(self, word: str) -> tuple[str, ...]:
        """Every name under which the word is looked up: its concepts (`-` before the opposite), its stem, its negated base."""
        for particle in self.particles:
            if word.endswith(particle) and len(word) > len(particle):
                word = word[: -len(particle)]
                break
        stem = self.stem(word)
        keys = [*self.concepts.get(word, ()), *self.concepts.get(stem, ())]
        keys.append(stem)
        for prefix in self.prefixes:
            if word.startswith(prefix) and len(word) - len(prefix) >= 4:
                base = word[len(prefix) :].lstrip("-")
                base_stem = self.stem(base)
                keys.append("-" + base_stem)
                keys.extend(("-" + key).replace("--", "") for key in self.concepts.get(base_stem, ()))
                break
        for prefix in self.verb_prefixes:
            if word.startswith(prefix) and len(word) - len(prefix) >= 4:
                base_stem = self.stem(word[len(prefix) :])
                keys += [*self.concepts.get(base_stem, ()), base_stem]
                break
        return tuple(dict.fromkeys(keys))


def _pairs(text: str) -> dict[str, int]:
    return {key: int(value) for key, _, value in (item.partition("=") for item in fold(text).split())}


def _pattern(text: str) -> re.Pattern[str] | None:
    return re.compile(fold(text), re.ASCII) if text else None


@lru_cache(maxsize=65536)
def _english(word: str) -> str:
    """A light English stemmer: plural, -ing, -ed, -ly, -er, -ion and adjective endings."""
    word = _IRREGULAR.get(word, word)
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
    ("ing", 3),    ("ied", 3), ("ed", 3), ("ion", 4), ("ally", 4), ("ly", 4), ("ic", 4), ("ive", 5), ("al", 5),
    ("er", 4), ("or", 5),
    ("est", 4),
)  # fmt: skip


def _load() -> dict[str, Language]:
    folder = files(__package__) / "data"
    found: dict[str, Language] = {}
    for entry in sorted((folder / "lang").iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".toml"):
            language = Language(tomllib.loads(entry.read_text("utf-8")))
            found[language.code] = language
    for name, entry_data in tomllib.loads((folder / "concepts.toml").read_text("utf-8")).items():
        if "opposite" in entry_data:
            POLAR.add("@" + name)
        for side, sign in (("same", ""), ("opposite", "-")):
            for code, words in entry_data.get(side, {}).items():
                for language in found.values() if code == "x" else [found[code]] if code in found else []:
                    for phrase in _entries(words):
                        _add_concept(language, phrase, f"{sign}@{name}")
    return found


def _add_concept(language: Language, phrase: tuple[str, ...], key: str) -> None:
    if len(phrase) > 1:
        language.concept_phrases.setdefault(phrase[0], []).append((phrase[1:], key))
        return
    for form in dict.fromkeys((phrase[0], language.stem(phrase[0]))):
        held = language.concepts.get(form, ())
        if key not in held and "-" + key not in held and key.lstrip("-") not in held:
            language.concepts[form] = (*held, key)


POLAR: set[str] = set()
"""Concepts that have an opposite."""

LANGUAGES: dict[str, Language] = _load()
ENGLISH = LANGUAGES["en"]

_SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("ko", re.compile("[\uac00-\ud7a3]", re.ASCII)),
    ("ja", re.compile("[\u3041-\u30fa]", re.ASCII)),
    ("zh", re.compile("[\u4e00-\u9fff]", re.ASCII)),
    ("ru", re.compile("[\u0430-\u044f]", re.ASCII)),
    ("el", re.compile("[\u03b1-\u03c9]", re.ASCII)),
    ("he", re.compile("[\u05d0-\u05ea]", re.ASCII)),
    ("ar", re.compile("[\u0620-\u064a]", re.ASCII)),
    ("hi", re.compile("[\u0904-\u0939]", re.ASCII)),
    ("th", re.compile("[\u0e01-\u0e3a]", re.ASCII)),
)
_UKRAINIAN = re.compile("[\u0456\u0457\u0454\u0491]", re.ASCII)
_WORDS = re.compile("[a-z']{1,14}(?![a-z'])", re.ASCII)
_SAMPLE_CHARS = 4000
"""How much of a text decides its language: enough for any sentence, small against bulk."""


def detect(folded: str, fallback: Language = ENGLISH, original: str = "") -> Language:
    """The language of a folded text, by script, then by its words and by letters that only some languages have.

    `original` is the text before folding, for the letters; `fallback` is the answer where nothing speaks for another language.
    """
    sample = folded[:_SAMPLE_CHARS]
    if not sample.isascii():
        for code, pattern in _SCRIPTS:
            hits = len(pattern.findall(sample))
            if hits >= 2 and hits * 4 >= sum(char in _LATIN for char in sample):
                if code == "ru" and "uk" in LANGUAGES and _UKRAINIAN.search(sample):
                    return LANGUAGES["uk"]
                return LANGUAGES.get(code, fallback)
    votes: dict[str, int] = {}
    for word in dict.fromkeys(_WORDS.findall(sample)):
        for code in _SPEAKERS.get(word, ()):
            votes[code] = votes.get(code, 0) + 1
    if original and not original.isascii():
        for letter in dict.fromkeys(original[:_SAMPLE_CHARS]):
            for code in _WRITERS.get(letter, ()):
                votes[code] = votes.get(code, 0) + LETTER_WEIGHT
    best, best_hits = fallback, votes.get(fallback.code, 0)
    for language in _LATIN_LANGUAGES:
        count = votes.get(language.code, 0)
        if count > best_hits and (
            count > 1 or (count == 1 and not best_hits and len(sample) < SHORT_SAMPLE and len(votes) == 1)
        ):
            best, best_hits = language, count
    return best


SHORT_SAMPLE = 120
"""In so short a text one word decides, if it is a word of one language only and nothing speaks for another."""

LETTER_WEIGHT = 2
"""What a letter such as `\u015f` says about the language, in words."""

_LATIN = frozenset("abcdefghijklmnopqrstuvwxyz")
_LATIN_LANGUAGES = tuple(
    language for code, language in LANGUAGES.items() if code not in {"ko", "ja", "zh", "ru", "uk", "el", "he", "ar", "hi", "th"}
)


def _holders(sets: list[tuple[str, frozenset[str]]]) -> dict[str, tuple[str, ...]]:
    """Which languages have an entry, by entry."""
    found: dict[str, tuple[str, ...]] = {}
    for code, entries in sets:
        for entry in sorted(entries):
            found[entry] = (*found.get(entry, ()), code)
    return found


_SPEAKERS = _holders([(code, language.vocabulary) for code, language in LANGUAGES.items()])
_WRITERS = _holders([(code, language.letters) for code, language in LANGUAGES.items()])

FOREIGN = re.compile("[\u00aa-\u1fff\u2c00-\u2dff\u3005-\ud7ff\uf900-\ufdff\ufe70-\uffdc]", re.ASCII)
"""A letter that English does not use: only a block that has one is asked again in what language it is."""

_LETTER = re.compile("[a-z\u0100-\U000323af]", re.ASCII)


def readable_letters(folded: str) -> bool:
    """Are there letters of a script for which there is language data? True for a text without letters."""
    sample = folded[:_SAMPLE_CHARS]
    letters = len(_LETTER.findall(sample))
    known = sum(char in _LATIN for char in sample) + sum(
        len(pattern.findall(sample)) for code, pattern in _SCRIPTS if code in LANGUAGES
    )
    return known * 2 >= letters
