"""In which language a text is written: by script, by its words, and by letters that only some languages have.

A text in a script or language without a table (`data/unread.toml` names those that are told apart) is *unread*: nobody could
say what it forbids or promises, so nothing of it is called kept unless it stands there word for word.
"""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import Any

from ledger.facts.language.fold import fold
from ledger.facts.language.lexicon import (
    ENGLISH,
    LABEL_STOP,
    LANGUAGES,
    NOUN_STOP,
    PRED,
    REPORT,
    UNREAD,
    VERB,
    Language,
)

_SCRIPTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("hangul", re.compile("[\uac00-\ud7a3]", re.ASCII)),
    ("kana", re.compile("[\u3041-\u30fa]", re.ASCII)),
    ("han", re.compile("[\u4e00-\u9fff]", re.ASCII)),
    ("cyrillic", re.compile("[\u0430-\u044f]", re.ASCII)),
    ("arabic", re.compile("[\u0620-\u064a]", re.ASCII)),
    ("devanagari", re.compile("[\u0904-\u0939]", re.ASCII)),
    (
        "other",
        re.compile(
            "[\u03b1-\u03c9\u0531-\u05ea\u0700-\u08ff\u0980-\u11ff\u1200-\u1cff\u2c00-\u2dff\ua000-\uabff]{3,}", re.ASCII
        ),
    ),
)
"""Scripts in the order in which they are asked for: kana before Han, since Japanese writes both. Of a script that is not read
only words count: a Greek letter by itself is a symbol."""

SCRIPT_HITS_MIN = 2
_SAMPLE_CHARS = 4000
"""How much of a text decides its language: enough for any sentence, small against bulk."""

SHORT_SAMPLE = 120
"""In so short a text one word decides, if it is a word of one language only and nothing speaks for another."""

SHARED_WEIGHT, OWN_WEIGHT, LETTER_WEIGHT = 2, 3, 4
"""What speaks for a language: a word that others have too, a word of its own, a word with letters such as `\u015f`."""

STRANGE_WORDS_MIN = 6
"""So many different words, none of them known to any language: a text that nobody here can read."""

_LETTERED = re.compile(
    "[A-Za-z]*[\u00aa-\u024f\u0400-\u04ff\u0600-\u06ff\u1e00-\u1eff][A-Za-z\u00aa-\u06ff\u1e00-\u1eff]*", re.ASCII
)
"""A word with letters beyond a to z."""
_BEYOND = re.compile("[^A-Za-z]", re.ASCII)
_WORDS = re.compile("[a-z']{1,14}(?![a-z'])", re.ASCII)
_LATIN = frozenset("abcdefghijklmnopqrstuvwxyz")

FOREIGN = re.compile("[\u00aa-\u1fff\u2c00-\u2dff\u3005-\ud7ff\uf900-\ufdff\ufe70-\uffdc]", re.ASCII)
"""A letter that English does not use: only a block that has one is asked again in what language it is."""


def _holders(sets: list[tuple[str, frozenset[str]]]) -> dict[str, tuple[str, ...]]:
    """Which languages have an entry, by entry."""
    found: dict[str, tuple[str, ...]] = {}
    for code, entries in sets:
        for entry in sorted(entries):
            found[entry] = (*found.get(entry, ()), code)
    return found


def _unread() -> dict[str, Any]:
    return tomllib.loads((files("ledger.facts") / "data" / "unread.toml").read_text("utf-8"))


_EVERYWHERE = VERB | REPORT | PRED | LABEL_STOP | NOUN_STOP
"""Words of these kinds alone (`cache`, `test`, `open`) stand in texts of all languages and speak for none."""


_LOANS = frozenset(word for word, tags in ENGLISH.tags.single.items() if not tags & ~_EVERYWHERE)


class _Script:
    """The languages that are written in one script, read and unread, with what tells them apart."""

    def __init__(self, name: str, unread: dict[str, Any]) -> None:
        held = [language for language in LANGUAGES.values() if language.script == name and language is not UNREAD]
        others = {code: entry for code, entry in unread.items() if entry.get("script", "latin") == name}
        self.languages = {language.code: language for language in held}
        self.codes = (*self.languages, *others)
        self.speakers = _holders(
            [(language.code, language.vocabulary - _LOANS) for language in held]
            + [(code, frozenset(fold(entry.get("words", "")).split())) for code, entry in others.items()]
        )
        alphabets = [(language.code, language.letters) for language in held]
        alphabets += [(code, frozenset(entry.get("letters", ""))) for code, entry in others.items()]
        self.alphabets = tuple((code, letters) for code, letters in alphabets if letters)
        self.latin = name == "latin"
        """Here `letters` is an alphabet beyond a to z; in other scripts it tells a language from the one that is read."""
        self.several = len(self.codes) > 1

    def votes(self, words: dict[str, None], original: str) -> dict[str, int]:
        """How much speaks for each language."""
        votes: dict[str, int] = {}
        known = self.speakers
        for word in words:
            codes = known.get(word)
            if codes is not None:
                weight = OWN_WEIGHT if len(codes) == 1 else SHARED_WEIGHT
                for code in codes:
                    votes[code] = votes.get(code, 0) + weight
        if original and not original.isascii():
            for word in dict.fromkeys(_LETTERED.findall(original[:_SAMPLE_CHARS])):
                beyond = _BEYOND.findall(word)
                for code, letters in self.alphabets:
                    if letters.issuperset(beyond) if self.latin else not letters.isdisjoint(beyond):
                        votes[code] = votes.get(code, 0) + LETTER_WEIGHT
        return votes


_UNREAD_DATA = _unread()
_BY_SCRIPT = {name: _Script(name, _UNREAD_DATA) for name in ("latin", "cyrillic", "arabic", "devanagari")}
_SIGNS = {"hangul": "ko", "kana": "ja", "han": "zh"}


def detect(folded: str, fallback: Language = ENGLISH, original: str = "") -> Language:
    """The language of a folded text; `UNREAD` where it is none that has a table.

    `original` is the text before folding, for the letters; `fallback` is the answer where nothing speaks for another language.
    """
    sample = folded[:_SAMPLE_CHARS]
    if not sample.isascii():
        script = _script(sample)
        if script == "other":
            return UNREAD
        if script in _SIGNS:
            return LANGUAGES.get(_SIGNS[script], UNREAD)
        if script:
            return _of_script(_BY_SCRIPT[script], sample, original)
    return _latin(sample, fallback, original)


def detect_beside(folded: str, other: Language, original: str = "") -> Language:
    """The language of a text that is compared with one in `other`: that one, where its own words leave it open."""
    found = detect(folded, original=original)
    if found is other or other is UNREAD or other.script != "latin" or (found is not UNREAD and found.script != "latin"):
        return found
    sample = folded[:_SAMPLE_CHARS]
    if _script(sample):
        return found
    votes = _BY_SCRIPT["latin"].votes(dict.fromkeys(_WORDS.findall(sample)), original)
    return other if votes.get(other.code, 0) >= max(votes.values(), default=0) else found


def _script(sample: str) -> str:
    """The script of the text other than Latin, empty where Latin letters prevail."""
    latin = -1
    for name, pattern in _SCRIPTS:
        hits = sum(map(len, pattern.findall(sample)))
        if hits >= SCRIPT_HITS_MIN:
            if latin < 0:
                latin = sum(char in _LATIN for char in sample)
            if hits * 4 >= latin:
                return name
    return ""


_SPLIT = re.compile("[\u0300-\u1fff]+", re.ASCII)


def _of_script(script: _Script, sample: str, original: str) -> Language:
    """Among languages of one script the one with a table answers unless more speaks for another."""
    held = next(iter(script.languages), "")
    votes = script.votes(dict.fromkeys(_SPLIT.findall(sample)), original) if script.several else {}
    best = max(script.codes, key=lambda code: (votes.get(code, 0), code == held))
    return script.languages.get(best, UNREAD)


def _latin(sample: str, fallback: Language, original: str) -> Language:
    script = _BY_SCRIPT["latin"]
    words = dict.fromkeys(_WORDS.findall(sample))
    votes = script.votes(words, original)
    best, best_hits = fallback.code, votes.get(fallback.code, 0)
    if len(votes) > (best_hits > 0):
        for code in script.codes:
            count = votes.get(code, 0)
            if count > best_hits and (count > OWN_WEIGHT or (not best_hits and len(sample) < SHORT_SAMPLE and len(votes) == 1)):
                best, best_hits = code, count
    if not best_hits and fallback is ENGLISH and ENGLISH.vocabulary.isdisjoint(words) and _strange(words):
        return UNREAD
    return fallback if best == fallback.code else script.languages.get(best, UNREAD)


def _strange(words: dict[str, None]) -> bool:
    """Are there words enough to tell, and none that English would form?"""
    if len(words) < STRANGE_WORDS_MIN:
        return False
    long = [word for word in words if len(word) > 2]
    return len(long) >= STRANGE_WORDS_MIN and not any(word.endswith(_ENGLISH_ENDINGS) for word in long)


_ENGLISH_ENDINGS = (
    "ing",
    "ed",
    "tion",
    "ly",
    "ment",
    "ity",
    "ness",
    "er",
    "ers",
    "ies",
    "able",
    "ty",
    "ure",
    "age",
    "ck",
    "th",
)
