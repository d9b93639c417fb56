"""Words and what they do: negation, quantifiers, bounds, hedges, stems and concepts, one table a language.

The tables are package data (`data/lang/*.toml`, `data/concepts.toml`), read once at import and never afterwards. A further
language is one more file in `data/lang`; `data/lang/README.md` says what stands in it. `ledger.facts.language.detection`
chooses the language of a text.
"""

from __future__ import annotations

import re
import tomllib
from functools import cached_property, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from ledger.facts.language.fold import fold
from ledger.facts.language.pieces import Entry
from ledger.facts.language.stems import Stemmer, longest_first

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
BOUND = 1 << 28
PRED = 1 << 29
EXCEPT = 1 << 31
NONE = 1 << 32
LABEL_STOP = 1 << 33
ADVERB = 1 << 34
REPORT = 1 << 35
SOFT = 1 << 36
PERMIT = 1 << 37
REVOKE = 1 << 38
FORBID = 1 << 39
"""What a word does in its clause; a word may do several things."""

WORDS_KEPT = 8192
"""Words of one language whose stem and keys are remembered. It changes nothing but speed."""

_TAGS = {
    "neg": NEG, "exc": EXC, "until": UNTIL, "only": ONLY, "all": ALL, "some": SOME, "most": MOST, "hedge": HEDGE, "must": MUST,
    "may": MAY, "aux": AUX, "pron": PRON, "sub": SUB, "reason": REASON, "conj": CONJ, "or": OR, "question": QUESTION,
    "verb": VERB,
    "decided": DECIDED, "rejected": REJECTED, "promise": PROMISE, "stop": STOP, "neutral": NEUTRAL, "instead": INSTEAD,
    "afterwards": AFTERWARDS, "please": PLEASE, "ask": ASK, "noun_stop": NOUN_STOP, "pred": PRED, "except": EXCEPT,
    "none": NONE, "label_stop": LABEL_STOP, "adverb": ADVERB, "report": REPORT,
    "soft": SOFT, "permit": PERMIT, "revoke": REVOKE, "forbid": FORBID,
}  # fmt: skip
_ENDINGS = (("without_words", EXC), ("only_words", ONLY), ("must_words", MUST), ("may_words", MAY))
_BOUNDS = {"le": "<=", "ge": ">=", "gt": ">", "lt": "<", "approx": "~"}


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
        self.script: str = data.get("script", "latin")
        self.no_spaces: bool = data.get("no_spaces", False)
        self._words(data)
        self._grammar(data)
        self._measures(data.get("bounds", {}))
        self._numbers(data.get("numbers", {}))
        self._dates(data.get("dates", {}))
        self.stem = lru_cache(maxsize=WORDS_KEPT)(Stemmer(self.code, data.get("stem", {})))
        self.function_words = frozenset(word for word, tag in self.tags.single.items() if tag & (STOP | AUX | PRON | NEG))
        self.vocabulary = self._vocabulary()
        self.known: dict[str, Entry] = {}
        self.keys = lru_cache(maxsize=WORDS_KEPT)(self._keys)

    @cached_property
    def concepts(self) -> dict[str, tuple[str, ...]]:
        """The concepts of a word or stem. Made when a text in the language is first read, for most programs meet one or two."""
        return self._told[0]

    @cached_property
    def concept_phrases(self) -> dict[str, list[tuple[tuple[str, ...], str]]]:
        """By their first word, the rest of phrases that tell a concept, with it."""
        return self._told[1]

    @cached_property
    def _told(self) -> tuple[dict[str, tuple[str, ...]], dict[str, list[tuple[tuple[str, ...], str]]]]:
        words: dict[str, tuple[str, ...]] = {}
        phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        codes = {self.code} if self.code == UNREAD_CODE else {"x", self.code}
        for key, told in _CONCEPTS:
            for phrase in (entry for code, text in told if code in codes for entry in _entries(text)):
                if len(phrase) > 1:
                    phrases.setdefault(phrase[0], []).append((phrase[1:], key))
                    continue
                for form in dict.fromkeys((phrase[0], self.stem(phrase[0]))):
                    held = words.get(form, ())
                    if key not in held and "-" + key not in held and key.lstrip("-") not in held:
                        words[form] = (*held, key)
        return words, phrases

    def _words(self, data: dict[str, Any]) -> None:
        self.apostrophe_negation: bool = data.get("apostrophe_negation", False)
        self.tags = Phrases()
        for name, text in data.get("tags", {}).items():
            if name in _TAGS:
                for entry in _entries(text):
                    self.tags.add(entry, _TAGS[name])
        self.inside: tuple[tuple[str, int], ...] = tuple(
            sorted(
                ((fold(word), _TAGS[name]) for name, text in data.get("inside", {}).items() for word in text.split()),
                key=lambda row: (-len(row[0]), row),
            )
        )
        self.particles = longest_first(data.get("particles", ""))
        self.verb_prefixes: tuple[str, ...] = tuple(fold(data.get("verb_prefixes", "")).split())
        self.prefixes: tuple[str, ...] = tuple(fold(p) for p in data.get("prefixes", ()))
        self.elisions = longest_first(data.get("elisions", ""))
        self.letters: frozenset[str] = frozenset(data.get("letters", ""))
        self.hints = frozenset(fold(data.get("hints", "")).split())
        """Words of every day that do nothing in a clause but tell the language."""

    def _grammar(self, data: dict[str, Any]) -> None:
        """What a word does only by its ending, its accent or its neighbours; and on which side of a date something lies."""
        self.negative_words = _pattern(data.get("negative_words", ""))
        self.negative_unless_before = frozenset(fold(data.get("negative_unless_before", "")).split())
        endings = ((_pattern(data.get(name, "")), tag) for name, tag in _ENDINGS)
        self.endings = tuple((pattern, tag) for pattern, tag in endings if pattern is not None)
        """What else the ending of a word says: *without*, *only*, *must*, *may*. The word keeps its content."""
        self.restricts = tuple(fold(data.get("restricts", "")).split())
        self.fronted = frozenset(fold(data.get("fronted", "")).split())
        accents = (item.partition("=") for item in data.get("accents", "").split())
        self.accents = {word: _TAGS[name] | (STOP if len(word) == 1 else 0) for word, _, name in accents}
        """Words that only their accent tells from another: `\u00e9` is *is*, `e` is *and*."""
        self.accented = frozenset(fold(word) for word in self.accents)
        self.before = frozenset(fold(data.get("before", "")).split())
        self.after = frozenset(fold(data.get("after", "")).split())
        self.by = frozenset(fold(data.get("by", "")).split())
        self.since = frozenset(fold(data.get("since", "")).split())
        self.postpositions: bool = data.get("postpositions", False)
        self.verb_last: bool = data.get("verb_last", False)
        self.double_negation: bool = data.get("double_negation", False)
        """Two negative words make one negation (`no ... nunca`, `nie ... nigdy`, `ne ... pas`)."""

    def _measures(self, data: dict[str, str]) -> None:
        self.bounds = self._bounds(data, ("le", "ge", "gt", "lt", "approx"), "")
        self.bounds_after = self._bounds(data, ("le", "ge", "gt", "lt"), "after_")
        self.of = _entries(data.get("of", ""))
        self.to = frozenset(fold(data.get("to", "")).split())
        self.per = frozenset(fold(data.get("per", "")).split())
        self.lasting = frozenset(fold(data.get("lasting", "")).split())
        """Words of `per` that before a number say how long, not how often: `per 90 secondi`."""
        if self.no_spaces:
            bounds = [("".join(entry), BOUND) for entry in (*self.bounds, *self.bounds_after)]
            self.inside = tuple(sorted((*self.inside, *bounds), key=lambda row: (-len(row[0]), row)))

    def _vocabulary(self) -> frozenset[str]:
        """Every word by which a text tells that it is in this language."""
        bounds = {word for entry in (*self.bounds, *self.bounds_after) for word in entry}
        sides = self.by | self.since | self.before | self.after
        dated = {*self.months, *self.weekdays, *self.relative_days}
        return frozenset(self.hints | self.number_words | bounds | sides | dated | self.tags.single.keys())

    @staticmethod
    def _bounds(data: dict[str, str], names: tuple[str, ...], prefix: str) -> dict[tuple[str, ...], str]:
        return {entry: _BOUNDS[name] for name in names for entry in _entries(data.get(prefix + name, ""))}

    def _numbers(self, data: dict[str, Any]) -> None:
        self.number_units = _pairs(data.get("units", ""))
        self.number_scales = _pairs(data.get("scales", ""))
        self.number_times = _pairs(data.get("times", ""))
        self.number_joiner = frozenset(fold(data.get("joiner", "")).split())
        self.decimal_comma: bool = data.get("decimal_comma", True)
        self.number_inner = _pairs(data.get("inner", ""))
        self.number_glue = frozenset(fold(data.get("glue", "")).split())
        self.number_glued: bool = data.get("glued", False)
        self.numeral_signs: bool = data.get("signs", False)
        self.no_numbers = frozenset(fold(data.get("idioms", "")).split())
        self.counters = tuple(fold(data.get("counters", "")).split())
        self.percent_before = frozenset(fold(data.get("percent_before", "")).split())
        self.number_words = frozenset((*self.number_units, *self.number_scales, *self.number_times))

    def _dates(self, data: dict[str, Any]) -> None:
        self.months = _pairs(data.get("months", ""))
        self.weekdays = _pairs(data.get("weekdays", ""))
        self.other_than_months = frozenset(fold(data.get("months_also_words", "")).split())
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

    def _keys(self, word: str) -> tuple[str, ...]:
        """Every name under which the word is looked up: its concepts (`-` before the opposite), its stem, its negated base."""
        for particle in self.particles:
            if word.endswith(particle) and len(word) > len(particle):
                word = word[: -len(particle)]
                break
        for elided in self.elisions:
            if word.startswith(elided) and len(word) > len(elided) + 1:
                word = word[len(elided) :]
                break
        day = self.weekdays.get(word)
        if day is not None:
            return (f"#day{day}",)
        month = self.months.get(word)
        if month is not None and word not in self.tags.single and word not in self.other_than_months:
            return (f"#month{month}",)
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


def _concepts(folder: Traversable) -> list[tuple[str, dict[str, Any]]]:
    """Every concept with what it holds, in the order of the tables."""
    texts = [(folder / name).read_text("utf-8") for name in ("concepts.toml", "concepts_work.toml")]
    return [entry for text in texts for entry in tomllib.loads(text).items()]


def _load() -> dict[str, Language]:
    folder = files("ledger.facts") / "data"
    found: dict[str, Language] = {}
    for entry in sorted((folder / "lang").iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".toml"):
            language = Language(tomllib.loads(entry.read_text("utf-8")))
            found[language.code] = language
    return found


_TOLD = list(_concepts(files("ledger.facts") / "data"))
_CONCEPTS = [
    (f"{sign}@{name}", tuple(entry.get(side, {}).items()))
    for name, entry in _TOLD
    for side, sign in (("same", ""), ("opposite", "-"))
]
"""Keys of concepts, each with the words for it by language; `x` stands for all."""

POLAR = {f"@{name}" for name, entry in _TOLD if "opposite" in entry}
"""Concepts that have an opposite."""

UNREAD_CODE = "und"
LANGUAGES: dict[str, Language] = _load()
ENGLISH = LANGUAGES["en"]
UNREAD = LANGUAGES[UNREAD_CODE] = Language({"code": UNREAD_CODE, "script": ""})
"""What stands for a language without a table: it has no words, so that nothing is read into them."""
