"""What stands around a number: its bound, scale, unit and rate, and the noun that it counts."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from ledger.facts.language.fold import DIGITS, SPACE, WORD
from ledger.facts.language.lexicon import ENGLISH, LANGUAGES, Language
from ledger.facts.values import units
from ledger.facts.values.numerals import NUM, decimal, word_pattern, word_value
from ledger.facts.values.units import Unit


class Line(NamedTuple):
    """What is read: a text as written and folded, up to `end`, in a language."""

    original: str
    folded: str
    end: int
    language: Language


_MORE = re.compile(NUM, re.ASCII)
_OPERATOR = re.compile(r"(>=|<=|=>|=<|≥|≤|>|<|~|≈|±|==)\s*$", re.ASCII)


OPS = {
    ">=": ">=",
    "=>": ">=",
    "≥": ">=",
    "<=": "<=",
    "=<": "<=",
    "≤": "<=",
    ">": ">",
    "<": "<",
    "~": "~",
    "≈": "~",
    "±": "±",
    "==": "",
}


_UNIT = re.compile(rf"(\s|-)?(°[CFc]?|[%‰€$£¥₹₩₺₽]|[A-Za-zµμ²³{WORD}]+(?:/[A-Za-z]+)?)", re.ASCII)


_SCALE = {"k": 1000, "K": 1000, "M": 10**6, "bn": 10**9, "mio": 10**6, "B": 10**9}


_WORDS_BACK = re.compile(rf"[{WORD}'.~]+", re.ASCII)


_REST = re.compile(f"[{WORD}]+", re.ASCII)
_NEXT_WORD = re.compile(rf"[\s-]?([{WORD}][{WORD}'-]*)", re.ASCII)


_SPACED_NOT_UNITS = frozenset({"A", "t", "M", "in", "am", "is", "as"})


_ALSO_WORDS = frozenset({"с", "ч"})
"""`30 с` is thirty seconds, `2 с половиной` two *with* something: such a sign is a unit where no word follows."""

_WORD_NEXT = re.compile(rf"\s[{WORD}]", re.ASCII)


_SCALE_SUFFIX = re.compile(r"(bn|mio|[kKMB])(?![A-Za-z0-9/])", re.ASCII)


_PER = re.compile(rf"\s?/\s?|\s([{WORD}]+)\s", re.ASCII)


_EXTREMES = {"minimum": ">=", "min": ">=", "min.": ">=", "maximum": "<=", "max": "<=", "max.": "<="}
_ARTICLES = frozenset({"a", "an", "the", "de", "of", "von", "di", "az"})


@lru_cache(maxsize=64)
def _last_words(code: str) -> frozenset[str]:
    """The words that may stand last before a number that they bound."""
    return _ARTICLES.union(entry[-1] for language in (LANGUAGES[code], ENGLISH) for entry in language.bounds)


def bound_before(line: Line, start: int) -> tuple[str, int]:
    """The bound that stands before a number (`at most`, `>=`), empty if there is none, and where number and bound begin."""
    folded, language = line.folded, line.language
    window = folded[max(0, start - 48) : start]
    sign = _OPERATOR.search(window)
    if sign:
        return OPS[sign[1]], start - len(window) + sign.start()
    if language.no_spaces:
        return _bound_inside(window, start, language)
    words = list(_WORDS_BACK.finditer(window))[-5:]
    if not words or window[words[-1].end() :].strip(SPACE):
        return "", start
    names = [word[0] for word in words]
    if (
        len(names) > 1
        and names[-2] in _EXTREMES
        and names[-1] not in _ARTICLES
        and not window[words[-2].end() : words[-1].start()].strip(SPACE)
    ):
        return _EXTREMES[names[-2]], start  # `minimum width 240 px`
    if names[-1] not in _last_words(language.code):
        return "", start
    for length in range(min(5, len(names)), 0, -1):
        for offset in (0, 1):
            if length + offset > len(names) or (offset and names[-1] not in _ARTICLES):
                continue
            chunk = tuple(names[len(names) - length - offset : len(names) - offset])
            op = language.bounds.get(chunk) or (ENGLISH.bounds.get(chunk) if language is not ENGLISH else None)
            if op:
                return op, start - len(window) + words[len(names) - length - offset].start()
    return "", start


BOUND_GAP_MAX = 4
"""Signs between a bound and its number where a verb stands between: `最多保存 1,250`."""


def _bound_inside(window: str, start: int, language: Language) -> tuple[str, int]:
    """In a script without spaces: the bound that ends nearest before the number."""
    near = window.rstrip(SPACE)
    best, best_end = ("", start), (-1, 0)
    for (name, *_), op in language.bounds.items():
        at = near.rfind(name, max(0, len(near) - BOUND_GAP_MAX - len(name)))
        end = at + len(name)
        if at >= 0 and (end, len(name)) >= best_end and not any(char in ",.;:" for char in near[end:]):
            touching = end == len(near)
            best, best_end = (op, start - len(window) + at if touching else start), (end, len(name))
    return best


def bound_after(line: Line, look: int, at: int) -> tuple[str, int]:
    """The bound that stands at `look` (`or more`), empty if there is none, and where the number ends with or without it."""
    folded, end, language = line.folded, line.end, line.language
    if language.numeral_signs:
        look += folded[look : look + 1] == " "
        spot = next((at + len(c) for c in language.counters if folded.startswith(c, at, end)), look)
        names = [name for (name, *_) in language.bounds_after if folded.startswith(name, look, end)]
        if not names and spot != look:
            look, names = spot, [name for (name, *_) in language.bounds_after if folded.startswith(name, spot, end)]
        best = max(names, key=len, default="")
        stop = look + len(best)
        if best and look == spot and not language.no_spaces and (rest := _REST.match(folded, stop, end)):
            stop = rest.end()  # `3회까지입니다`: what is joined to the bound says no more
        return (language.bounds_after[(best,)], stop) if best else ("", at)
    words = list(_WORDS_BACK.finditer(folded, look, min(end, look + 40)))[:3]
    if words and folded[look : words[0].start()].strip(SPACE) == "":
        for length in range(len(words), 0, -1):
            op = language.bounds_after.get(tuple(word[0].rstrip(".") for word in words[:length]))
            if op:
                return op, words[length - 1].end()
    return "", at


def scale_at(line: Line, at: int) -> tuple[int, int]:
    """`5k`, `2M`, `3 million`: the factor and where it ends."""
    language = line.language
    m = _SCALE_SUFFIX.match(line.original, at, line.end)
    if m:
        return (_SCALE[m[1]], m.end()) if m[1] != "B" else (1, at)
    if language.numeral_signs:
        sign = line.folded[at : at + 1] if at < line.end else ""
        return (language.number_scales[sign], at + 1) if language.number_scales.get(sign, 0) >= 1000 else (1, at)
    m = _NEXT_WORD.match(line.folded, at, line.end)
    if m and m[1] in language.number_scales and language.number_scales[m[1]] >= 1000:
        return language.number_scales[m[1]], m.end()
    return 1, at


def unit_at(line: Line, at: int) -> tuple[Unit | None, int]:
    """The unit that begins at `at`, with or without a space or hyphen, and where it ends."""
    m = _UNIT.match(line.original, at, line.end)
    if not m:
        return None, at
    for rest, phrase_unit in units.PHRASES.get(line.folded[m.start(2) : m.end(2)], ()):
        phrase = " ".join(rest)
        if line.folded.startswith(phrase, m.end(2) + 1) and line.folded[m.end(2)] in " -":
            return phrase_unit, m.end(2) + 1 + len(phrase)
    name = m[2]
    unit = units.unit_of(name, m[1] is None or m[1] == "-")
    if unit is None and "/" in name:
        name = name.partition("/")[0]
        unit = units.unit_of(name, m[1] is None)
    front = _FRONT.match(name) if unit is None and not name.isascii() else None
    if front is not None:
        name = front[0]
        unit = units.unit_of(name, m[1] is None)  # `2.5 GBです`
    if unit is None and not name.isascii():
        return _attached_unit(line.folded, m.start(2), m.end(2))
    if unit is None or (
        m[1] and (name in _SPACED_NOT_UNITS or (name in _ALSO_WORDS and _WORD_NEXT.match(line.folded, m.end())))
    ):
        return None, at
    return unit, m.start(2) + len(name)


_FRONT = re.compile("[A-Za-z\u00b5\u03bc]+(?=[\u3040-\ud7a3])", re.ASCII)
"""A symbol in Latin letters to which a script without spaces, or Korean, attaches its words."""

ATTACHED_MAX = 6
"""The longest word for a unit in a script without spaces, in signs."""


def _attached_unit(folded: str, start: int, end: int) -> tuple[Unit | None, int]:
    """Scripts that write particles onto the unit: the longest unit word at the front of the token."""
    for stop in range(min(end, start + ATTACHED_MAX), start, -1):
        unit = units.WORDS.get(folded[start:stop])
        if unit is not None and not folded[start:stop].isascii():
            return unit, stop
    return None, start


def percent_before(line: Line, start: int) -> tuple[Unit | None, int]:
    """`%12`, `yüzde 12`, `百分之12`: percent, and where it begins, for a language that writes it before the number."""
    if line.folded[start - 1 : start] == "%":
        return units.SYMBOLS["%"], start - 1
    before = line.folded[max(0, start - 16) : start].rstrip(SPACE)
    for word in line.language.percent_before:
        if before.endswith(word):
            return units.SYMBOLS["%"], max(0, start - 16) + len(before) - len(word)
    return None, start


def noun_at(line: Line, at: int) -> tuple[int, int] | None:
    """The word after a number that says what is counted."""
    m = _NEXT_WORD.match(line.folded, at, line.end)
    if m and line.language.counters:
        return _counted(line, m.start(1), m.end(1))
    if not m or m[1] in line.language.function_words or m[1][0] in DIGITS:
        return None
    return m.start(1), m.end(1)


def _counted(line: Line, start: int, end: int) -> tuple[int, int] | None:
    """Behind the word that only counts (`个`, `개`): a pair of signs where there are no spaces, else the next word."""
    word = line.folded[start:end]
    counter = next((c for c in line.language.counters if word.startswith(c)), "")
    if line.language.no_spaces:
        start += len(counter)
        return (start, min(start + 2, end)) if start < end and not line.folded[start].isascii() else None
    if counter and len(word) - len(counter) < 2:
        m = _NEXT_WORD.match(line.folded, end, line.end)
        return (m.start(1), m.end(1)) if m and m[1][0] not in DIGITS else None
    return start, end


class Rate(NamedTuple):
    """`per second`: `amount` base units of `base`; a `window` of several units (`per 20 minutes`) is kept as it is."""

    amount: Fraction
    base: str
    window: bool
    end: int


_RATED = frozenset({"s", "month", "workday", "B", "g", "L", "m"})


def rate_at(line: Line, at: int) -> Rate | None:
    """The rate that begins at `at`: `per second`, `/min`, `per 20-minute window`, `a day`."""
    language = line.language
    m = _PER.match(line.folded, at, line.end)
    if not m or (m[1] is not None and m[1] not in language.per):
        return None
    inner = _MORE.match(line.folded, m.end(), line.end)
    if inner is None and language.number_words:
        inner = word_pattern(language.code).match(line.folded, m.end(), line.end)
    unit, stop = unit_at(line, inner.end() if inner else m.end())
    if unit is None or unit.base not in _RATED or (m[1] in {"a", "an"} and unit.base not in {"s", "month"}):
        return None
    if inner is not None and m[1] in language.lasting:
        return None
    if inner is None:
        return Rate(unit.factor, unit.base, False, stop)
    amount = decimal(inner[0], language.decimal_comma) if inner[0][0] in DIGITS else word_value(inner[0], language)
    return None if amount is None else Rate(amount * unit.factor, unit.base, True, stop)
