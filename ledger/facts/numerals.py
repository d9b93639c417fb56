"""Numbers as they are written: digits by either decimal convention, and number words. Exact rationals only."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from ledger.facts.fold import WORD
from ledger.facts.lexicon import LANGUAGES, Language

NUM = (
    r"\d{1,3}(?:(?:,\d{3})+(?![\d,])(?:\.\d+)?|(?:\.\d{3})+(?!\d)(?:,\d+)?|(?:['\u00a0 ]\d{3})+(?!\d)(?:[.,]\d+)?)"
    r"|\d+(?:[.,]\d+)?"
)
"""One number in digits: thousands in groups of three, or a plain number, with decimals by point or comma."""

DIGITS_MAX = 40
"""Longer runs of digits are no measured values; converting them would cost quadratic time."""


def show(number: Fraction) -> str:
    """`1.24`, `1240`, or `1/3` where no decimal is exact."""
    whole, rest = divmod(abs(number.numerator), number.denominator)
    sign = "-" if number < 0 else ""
    if not rest:
        return f"{sign}{whole}"
    base, twos, fives = number.denominator, 0, 0
    while base % 2 == 0:
        base, twos = base // 2, twos + 1
    while base % 5 == 0:
        base, fives = base // 5, fives + 1
    if base != 1:
        return f"{sign}{abs(number.numerator)}/{number.denominator}"
    places = max(twos, fives)
    digits = f"{abs(number.numerator) * 10**places // number.denominator:0{places + 1}}"
    return f"{sign}{digits[:-places]}.{digits[-places:]}".rstrip("0")


def decimal(text: str, comma: bool) -> Fraction | None:
    """The exact value of a digit notation; `comma` says that the language writes decimals with a comma."""
    if len(text) > DIGITS_MAX:
        return None
    text = text.replace("'", "").replace("\u00a0", "").replace(" ", "")
    points, commas = text.count("."), text.count(",")
    if points and commas:
        mark = max(text.rfind("."), text.rfind(","))
        text = re.sub("[.,]", "", text[:mark]) + "." + text[mark + 1 :]
    elif points + commas > 1:
        text = re.sub("[.,]", "", text)
    elif points + commas == 1:
        mark = text.find(".") if points else text.find(",")
        grouped = len(text) - mark == 4 and 1 <= mark <= 3 and text[0] != "0"
        thousands = grouped and (commas == 1) != comma
        text = text[:mark] + ("" if thousands else ".") + text[mark + 1 :]
    return Fraction(text)


@lru_cache(maxsize=64)
def word_hint(code: str) -> re.Pattern[str]:
    """A quick test for number words: most sentences have none."""
    stems = sorted({word[:3] for word in LANGUAGES[code].number_words})
    heads = "".join(sorted({stem[0] for stem in stems}))
    return re.compile(rf"(?<![{WORD}])(?=[{heads}])(?:" + "|".join(map(re.escape, stems)) + ")", re.ASCII)


@lru_cache(maxsize=64)
def word_pattern(code: str) -> re.Pattern[str]:
    """Number words of a language, one or several in a row."""
    language = LANGUAGES[code]
    names = "|".join(sorted((re.escape(word) for word in language.number_words), key=lambda w: (-len(w), w)))
    joiner = "|".join(sorted(re.escape(word) for word in language.number_joiner))
    join = rf"(?:[ -](?:(?:{joiner}) )?)" if joiner else "[ -]"
    return re.compile(rf"(?<![{WORD}.-])(?:{names})(?:{join}(?:{names}))*(?![{WORD}])", re.ASCII)


def word_value(text: str, language: Language) -> Fraction | None:
    """`two thousand five hundred` and the like; None where the words make no number."""
    total = group = 0
    for word in re.split(r"[ -]", text):
        if word in language.number_joiner and word not in language.number_words:
            continue
        if word in language.number_times:
            return Fraction(language.number_times[word])
        if word in language.number_units:
            group += language.number_units[word]
        elif word in language.number_scales:
            scale = language.number_scales[word]
            group = max(group, 1) * scale
            if scale >= 1000:
                total, group = total + group, 0
        else:
            return None
    return Fraction(total + group)
