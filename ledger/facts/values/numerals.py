"""Numbers as they are written: digits by either decimal convention, and number words. Exact rationals only."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from ledger.facts.language.fold import WORD
from ledger.facts.language.lexicon import LANGUAGES, Language

NUM = (
    r"\d{1,3}(?:(?:,\d{3})+(?![\d,])(?:\.\d+)?|(?:\.\d{3})+(?!\d)(?:,\d+)?|(?:['\u00a0 ]\d{3})+(?!\d)(?:[.,]\d+)?"
    r"|(?:\u066c\d{3})+(?!\d)(?:\u066b\d+)?)|\d{1,2}(?:,\d{2})+,\d{3}(?![\d,])(?:\.\d+)?|\d+\u066b\d+"
    r"|\d+(?:[.,]\d+)?"
)
"""One number in digits: thousands in groups of three (or, in India, of two above a thousand), or a plain number, with decimals
by point, comma or the Arabic mark."""

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
    if not text.isascii():
        text = text.replace("\u066c", "").replace("\u066b", ".")
        comma = comma and "." not in text
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
    language = LANGUAGES[code]
    if language.numeral_signs:
        return _signs(code)
    glued = language.number_inner if language.number_glue or language.number_glued else ()
    stems = sorted({word[:3] for word in (*language.number_words, *glued)})
    heads = "".join(sorted({stem[0] for stem in stems}))
    glue = "|".join(sorted(map(re.escape, language.number_glue)))
    before = f"(?<![{WORD}])" + (f"(?:{glue})?" if glue else "")
    return re.compile(rf"{before}(?=[{heads}])(?:" + "|".join(map(re.escape, stems)) + ")", re.ASCII)


def _signs(code: str) -> re.Pattern[str]:
    """Numbers in the signs of a positional notation (`三百二十`, `이십일`): two signs and more, or one before a counter."""
    language = LANGUAGES[code]
    signs = "".join(sorted({*language.number_units, *language.number_scales}))
    counters = "|".join(sorted(map(re.escape, language.counters), key=lambda c: (-len(c), c)))
    if language.no_spaces:
        idioms = "".join(f"(?!{re.escape(word)})" for word in sorted(language.no_numbers))
        return re.compile(rf"{idioms}(?:[{signs}]{{2,}}|[{signs}](?={counters}))", re.ASCII)
    names = "|".join(sorted(map(re.escape, language.number_times), key=lambda n: (-len(n), n)))
    powers = "".join(sorted(sign for sign, value in language.number_scales.items() if value < MYRIAD))
    return re.compile(
        rf"(?<![{WORD}.-])(?:(?=[{signs}]*[{powers}])[{signs}]{{2,}}|(?:{names}))(?=\s?(?:{counters})|(?![{WORD}]))", re.ASCII
    )


@lru_cache(maxsize=64)
def word_pattern(code: str) -> re.Pattern[str]:
    """Number words of a language, one or several in a row."""
    language = LANGUAGES[code]
    if language.numeral_signs:
        return _signs(code)
    names = "|".join(sorted(map(re.escape, _parts(code)), key=lambda w: (-len(w), w)))
    if language.number_glue or language.number_glued:
        names = f"(?:{names}){{1,12}}"
    joiner = "|".join(sorted(re.escape(word) for word in language.number_joiner))
    join = rf"(?:[ -](?:(?:{joiner}) )?)" if joiner else "[ -]"
    return re.compile(rf"(?<![{WORD}.-])(?:{names})(?:{join}(?:{names}))*(?![{WORD}])", re.ASCII)


def _parts(code: str) -> frozenset[str]:
    language = LANGUAGES[code]
    return frozenset((*language.number_words, *language.number_inner, *language.number_glue))


@lru_cache(maxsize=64)
def _parts_by_first(code: str) -> dict[str, tuple[str, ...]]:
    """The parts of number words by their first letter, the longest first."""
    found: dict[str, list[str]] = {}
    for part in sorted((*_parts(code), *LANGUAGES[code].number_joiner), key=lambda p: (-len(p), p)):
        found.setdefault(part[0], []).append(part)
    return {first: tuple(parts) for first, parts in found.items()}


def _split(text: str, at: int, parts: dict[str, tuple[str, ...]]) -> list[str] | None:
    """`centottanta` as `cent`, `ottanta`: the first way to cut the text into parts that leaves nothing over."""
    while at < len(text) and text[at] in " -":
        at += 1
    if at == len(text):
        return []
    for part in parts.get(text[at], ()):
        if text.startswith(part, at):
            rest = _split(text, at + len(part), parts)
            if rest is not None:
                return [part, *rest]
    return None


def word_value(text: str, language: Language) -> Fraction | None:
    """`two thousand five hundred`, `einundzwanzig`, `三百二十`; None where the words make no number."""
    if language.numeral_signs:
        return _sign_value(text, language)
    count = _Count(bool(language.number_glue))
    valued = alone = 0
    for word in _split(text, 0, _parts_by_first(language.code)) or ():
        if word in language.number_times:
            return Fraction(language.number_times[word])
        value = language.number_units.get(word, language.number_inner.get(word))
        if value is not None:
            valued += 1
            alone += word in language.number_inner
            if not count.add(value):
                return None
        elif word in language.number_scales:
            valued += 1
            if not count.scale(language.number_scales[word]):
                return None
    return None if valued == alone < 2 else Fraction(count.total + count.group)


class _Count:
    """A number as it is read word by word; what does not follow on is no number (`five four`)."""

    __slots__ = ("group", "least", "total", "units_first")

    def __init__(self, units_first: bool) -> None:
        self.total = self.group = 0
        self.least = 0
        """The scale of what was last put into the total; 0 before the first."""
        self.units_first = units_first

    def add(self, value: int) -> bool:
        """One more value of the group below the next scale."""
        low = self.group % 100
        if value >= 100:
            fits = self.group == 0
        elif low == 0:
            fits = True
        elif value < 10:
            fits = low >= 20 and low % 10 == 0 and value > 0
        elif low >= 10:
            fits = value < 20 and low in {60, 80}  # `soixante-dix`, `quatre-vingt-onze`
        else:
            fits = self.units_first and value % 10 == 0  # `einundzwanzig`
        self.group += value
        return fits

    def scale(self, scale: int) -> bool:
        """`hundred` multiplies what stands just before it, `thousand` and above all of the group."""
        if scale < LOWEST_SCALE:
            fits = self.group < 100
            self.group = max(self.group, 1) * scale
            return fits
        if self.least and scale >= self.least:
            return False
        self.total += max(self.group, 1) * scale
        self.group, self.least = 0, scale
        return True


LOWEST_SCALE = 1000
MYRIAD = 10_000


def _sign_value(text: str, language: Language) -> Fraction | None:
    """`三百二十` is 320, `二〇二七` 2027, `两万五千` 25000."""
    if text in language.number_times:
        return Fraction(language.number_times[text])
    if all(sign in language.number_units for sign in text):
        digits = [language.number_units[sign] for sign in text]
        if len(digits) > 1 and language.no_spaces and len(digits) < POSITIONS_MIN and 0 not in digits:
            return None  # `一二`, `三四`: one or two, three or four
        return Fraction(int("".join(map(str, digits))))
    total = group = digit = 0
    for sign in text:
        value = language.number_units.get(sign)
        if value is not None:
            digit = value
            continue
        scale = language.number_scales[sign]
        if scale < MYRIAD:
            group, digit = group + max(digit, 1) * scale, 0
        else:
            total, group, digit = total + max(group + digit, 1) * scale, 0, 0
    return Fraction(total + group + digit)


POSITIONS_MIN = 4
"""Bare digits without a power are a number from here on (`二〇二七`); fewer are mostly *two or three*."""
