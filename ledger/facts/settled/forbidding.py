"""Does a sentence of a user forbid, hold back until the user agrees, set a day, or lift what was said before?

By words alone, beside what the facts of the sentence say: it ranks losses and decides nothing else. The words are the kinds
`KINDS` of `data/standing/*.toml`; an underscore joins the words of a phrase and a star stands for any letters.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ledger.facts.language.fold import WORD, fold
from ledger.facts.language.lexicon import AUX, CONJ, LANGUAGES, MAY, MUST, NEG, PLEASE, VERB, Language
from ledger.facts.settled.standing import RUNNING, WORDS, says, tells_of_past

KINDS = ("head", "none", "idle", "lead", "barred", "last", "denied", "unless", "tag", "lifts", "permits")
"""Forbids at the head of a sentence; denies there; denies and forbids nothing; stands before a head; forbids anywhere; forbids
at the end; forbids where a fact of the sentence is denied; and where it is an order too; asks for assent; takes a rule back;
permits.
"""

SENTENCE_CHARS_MAX = 1000
"""A longer run without stops is a list or a log; its beginning is looked at."""

SHORT_CHARS_MAX = 120

PAST_CHARS_MIN = 6
"""A shorter English word in -ed is often a noun (`seed`); the first word behind a negation goes with one (`no added logs`)."""

DAY_WORDS = 3
"""A day stands so near to the word that makes it a deadline."""

_WORD = re.compile(f"[{WORD}]+", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}\b|\d{1,2}:\d\d", re.ASCII)
_SIGNS = re.compile(r"[?\uff1f\u061f!\uff01]", re.ASCII)


def _phrases(code: str, kind: str) -> str:
    gap = r"[\s,\u3001\uff0c]*" if code in RUNNING else r"[\s,\u060c]+"
    phrases = sorted(set(fold(WORDS[code].get(kind, "")).split()), key=lambda phrase: (-len(phrase), phrase))
    written = [re.escape(phrase).replace("_", gap).replace(r"\*", f"[{WORD}]*") for phrase in phrases]
    return "|".join(written) or "(?!)"


@lru_cache(maxsize=256)
def _pattern(code: str, kind: str) -> re.Pattern[str]:
    words = f"(?:{_phrases(code, kind)})"
    if code not in RUNNING:
        words = f"(?<![{WORD}]){words}(?![{WORD}])"
    if kind in {"head", "none", "lead"}:
        return re.compile(rf"[^{WORD}]*{words}", re.ASCII)
    if kind in {"last", "idle"} and code in _VERB_LAST:
        return re.compile(rf"{words}[^{WORD}]*$", re.ASCII)
    if kind == "tag":
        return re.compile(rf"[,;.\uff0c\u3001\u3002\u060c]\s{{0,4}}{words}\s{{0,4}}[?\uff1f\u061f][^{WORD}]{{0,8}}$", re.ASCII)
    return re.compile(words, re.ASCII)


_LATIN = tuple(LANGUAGES[code] for code in sorted(WORDS) if LANGUAGES[code].script == "latin")
_VERB_LAST = frozenset({"hi", "ja", "ko", "tr", "zh"})
"""Languages in which a sentence ends with what it forbids."""


def _has(kind: str, folded: str, language: Language) -> bool:
    return kind in WORDS[language.code] and _pattern(language.code, kind).search(folded) is not None


def untagged(sentence: str, language: Language) -> str:
    """The sentence without a question for assent at its end (`..., ok?`)."""
    if not _SIGNS.search(sentence, max(0, len(sentence) - 12)) or "tag" not in WORDS[language.code]:
        return sentence
    found = _pattern(language.code, "tag").search(fold(sentence))
    return sentence[: found.start()] if found is not None else sentence


def _from_head(folded: str, language: Language) -> str:
    """The sentence behind words like `please`, `and`, `ok`."""
    tags, lead = language.tags.single, _pattern(language.code, "lead")
    at = 0
    while True:
        word = _WORD.search(folded, at)
        if word is None or not (tags.get(word[0], 0) & (PLEASE | CONJ) or lead.match(word[0])):
            return folded[at:]
        at = word.end()


def forbids(sentence: str, language: Language) -> bool:
    """Do words that forbid whatever stands beside them stand in it (`off limits`, `check with me before`)? In which language a
    short sentence is written its words often leave open, so there those of all languages with Latin letters count.
    """
    folded = fold(sentence[:SENTENCE_CHARS_MAX])
    short = len(folded) <= SHORT_CHARS_MAX and language.script == "latin"
    if any(_forbids(folded, one) for one in (_LATIN if short else (language,))):
        return True
    return _has("last", folded, language) and not _has("idle", folded, language)


def _forbids(folded: str, language: Language) -> bool:
    if _has("barred", folded, language):
        return True
    return "head" in WORDS[language.code] and _pattern(language.code, "head").match(_from_head(folded, language)) is not None


def denies_all(sentence: str, language: Language, *, order: bool) -> bool:
    """Does a sentence in which something is denied forbid it: `No pushes`, `you can't`, in an order `without`? What it tells to
    be so (`no model is defined`) it does not forbid.
    """
    folded = fold(sentence[:SENTENCE_CHARS_MAX])
    return _has("denied", folded, language) or (order and _has("unless", folded, language)) or begins_denied(sentence, language)


def begins_denied(sentence: str, language: Language) -> bool:
    """Does a sentence begin with a negation and tell nothing to be so?"""
    folded = _from_head(fold(sentence[:SENTENCE_CHARS_MAX]), language)
    if "none" not in WORDS[language.code]:
        return False
    idle = _pattern(language.code, "idle").search(folded) if "idle" in WORDS[language.code] else None
    head = _pattern(language.code, "none").match(folded)
    if head is None or (idle is not None and not _WORD.search(folded, 0, idle.start())) or folded[head.end() :].startswith(","):
        return False
    return not _tells(re.split("[,;:]", folded[head.end() :], maxsplit=1)[0], language)


def _tells(clause: str, language: Language) -> bool:
    """Does it tell what is or was so, and not what may be?"""
    words, tags = _WORD.findall(clause), language.tags.single
    if any(tags.get(word, 0) & (MAY | MUST) for word in words):
        return False
    past = language.code == "en" and any(word.endswith("ed") and len(word) >= PAST_CHARS_MIN for word in words[1:])
    return past or any(tags.get(word, 0) & AUX for word in words)


def dated(sentence: str, language: Language) -> bool:
    """Does it name a day by which something has to be (`by Friday`, `before 2026-12-04`)?"""
    folded = fold(sentence[:SENTENCE_CHARS_MAX])
    if tells_of_past(sentence, language):
        return False
    sides = language.by | language.before
    if language.no_spaces:
        return any(side in folded for side in sides) and (bool(_DATE.search(folded)) or _names_day(folded, language))
    words = [word for word in re.split(r"[\s,;()]+", folded) if word]
    for at, word in enumerate(words):
        if word in sides and any(_day(near, language) for near in words[max(0, at - DAY_WORDS) : at + DAY_WORDS + 1]):
            return True
    return False


def _day(word: str, language: Language) -> bool:
    word = word.strip(".!?:\u0964\u061f")
    named = word in language.weekdays or word in language.months or word in language.relative_days
    return named or word.split("'")[0] in language.weekdays or _DATE.match(word) is not None


def _names_day(folded: str, language: Language) -> bool:
    return any(day in folded for days in (language.weekdays, language.months, language.relative_days) for day in days)


def lifts(sentence: str, language: Language) -> bool:
    """Does it speak of what was said before and take that back (`forget what I said about`, `no longer applies`)?"""
    return _has("lifts", fold(sentence), language)


def permits(sentence: str, language: Language) -> bool:
    """Does it permit something from now on (`you may now`)?"""
    return _has("permits", fold(sentence), language)


def orders(sentence: str, language: Language) -> bool:
    """Does it order something or set a bound, rather than tell what was seen?"""
    if tells_of_past(sentence, language):
        return False
    words = _WORD.findall(_from_head(fold(sentence), language))
    tags = [language.tags.single.get(word, 0) for word in words]
    begun = bool(tags) and bool(tags[0] & VERB) and not tags[0] & NEG
    return begun or any(tag & MUST for tag in tags) or says("lasting", sentence, language)
