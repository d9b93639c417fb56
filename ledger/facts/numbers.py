"""Numbers with their unit, bound and range, as exact rationals (rule F2: exact value in any notation, nothing rounded).

Canonical forms: `1.24 s`, `<=4 g/d`, `[2.3,3)`, `8100..8104`, `1:200`, `57 of 60`, `5 per 1200 s`, `1150 EUR`, `0.25`. A terminating decimal is
written out, another rational as `p/q`.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from ledger.facts import units
from ledger.facts.fold import WORD, fold
from ledger.facts.lexicon import ENGLISH, LANGUAGES, Language
from ledger.facts.units import Unit

DIGITS_MAX = 40
"""Longer runs of digits are no measured values; converting them would cost quadratic time."""

NUMBERS_MAX = 48
"""Numbers read of one sentence; one with more is a listing, and reading on would cost far more than its worth."""

_NUM = r"\d{1,3}(?:(?:,\d{3})+(?![\d,])(?:\.\d+)?|(?:\.\d{3})+(?!\d)(?:,\d+)?|(?:['\u00a0 ]\d{3})+(?!\d)(?:[.,]\d+)?)|\d+(?:[.,]\d+)?"
_START = re.compile(
    rf"(?<![{WORD}.])(?P<cur>[$€£¥₹₩₺₽]\s?|(?:usd|eur|gbp|chf|pln|sek|jpy)\s)?(?P<sign>(?:(?<![{WORD})\]])[+-])?)(?P<num>{_NUM})"
)
_MORE = re.compile(_NUM)
_OPERATOR = re.compile(r"(>=|<=|=>|=<|≥|≤|>|<|~|≈|±|==)\s*$")
_OPS = {
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
_PAIR = re.compile(rf"\s*(?:,|and|&&|;)?\s*(>=|<=|≥|≤|>|<)\s*({_NUM})")
_RANGE = re.compile(rf"\s?(?:-|~|\.\.\.?|\u2026)\s?(?={_NUM})|\s([{WORD}]+)\s(?={_NUM})")
_UNIT = re.compile(rf"(\s|-)?(°[CFc]?|[%‰€$£¥₹₩₺₽]|[A-Za-zµμ²³{WORD}]+(?:/[A-Za-z]+)?)")
_SCALE = {"k": 1000, "K": 1000, "M": 10**6, "bn": 10**9, "mio": 10**6, "B": 10**9}
_WORDS_BACK = re.compile(rf"[{WORD}'.~]+")
_NEXT_WORD = re.compile(rf"\s?-?\s?([{WORD}'-]+)")
_TIMES_WORDS = frozenset(
    {"times", "mal", "veces", "fois", "volte", "vezes", "keer", "ganger", "razy", "раз", "раза", "kez", "번", "回", "次"}
)
_SPACED_NOT_UNITS = frozenset({"A", "t", "M", "in", "am", "is", "as"})
_SINGLE_WORDS = frozenset(
    {
        "a",
        "an",
        "in",
        "to",
        "pt",
        "lb",
        "second",
        "quarter",
        "sec",
        "em",
        "min",
        "dag",
        "lat",
        "ans",
        "ora",
        "mes",
        "d",
    }
)


_DIGIT = re.compile("[0-9]")
_RATIO = re.compile(rf":({_NUM})(?![\d:])")
_SCALE_SUFFIX = re.compile(r"(bn|mio|[kKMB])(?![A-Za-z0-9/])")
_PER = re.compile(rf"\s?/\s?|\s([{WORD}]+)\s")
_WORD_RANGE = re.compile(rf"(?: ([{WORD}]+) |-)")


class Number(NamedTuple):
    """A number at `[start, end)`: bound, canonical value without the bound, base unit, and what it counts.

    `size` orders salience: 3 has a unit, bound, range, ratio or rate; 2 has four digits or more; 1 is a bare small number.
    """

    start: int
    end: int
    op: str
    value: str
    unit: str
    size: int
    noun_start: int = -1
    noun_end: int = -1

    @property
    def canonical(self) -> str:
        """Bound and value together, as stored in a fact."""
        return self.op + self.value


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


def find_numbers(
    original: str, folded: str, start: int, end: int, language: Language, taken: list[tuple[int, int]]
) -> list[Number]:
    """The numbers of `[start, end)` outside the `taken` ranges (dates, identifiers), in order. Digits and number words."""
    found: list[Number] = []
    cursor = start
    at = 0
    taken = sorted(taken)
    if _DIGIT.search(folded, start, end):
        for m in _START.finditer(folded, start, end):
            if m.start("num") < cursor:
                continue
            while at < len(taken) and taken[at][1] <= m.start("num"):
                at += 1
            if at < len(taken) and taken[at][0] < m.end("num"):
                continue
            number = _read(original, folded, m, end, language)
            if number is not None:
                found.append(number)
                cursor = number.end
                if len(found) >= NUMBERS_MAX:
                    return found
    if language.number_words and _word_hint(language.code).search(folded, start, end):
        found += _word_numbers(original, folded, start, end, language, [*taken, *((n.start, n.end) for n in found)])
        found = _outermost(sorted(found))
    return found


def _outermost(found: list[Number]) -> list[Number]:
    """`two tablets every 8 hours` is one number: what lies inside another is part of it."""
    kept: list[Number] = []
    for number in found:
        if not kept or number.start >= kept[-1].end:
            kept.append(number)
    return kept


def _read(original: str, folded: str, m: re.Match[str], end: int, language: Language) -> Number | None:
    value = decimal(m["num"], language.decimal_comma)
    tail = folded[m.end() : m.end() + 1]
    if value is None or (tail and tail in ".," and folded[m.end() + 1 : m.end() + 2].isdecimal()):
        return None
    if m["sign"] == "-":
        value = -value
    if _glued(original, folded, m, end):
        return None
    currency = units.unit_of(m["cur"].strip().upper(), True) if m["cur"] else None
    return _finish(
        original,
        folded,
        m.start("cur") if m["cur"] else m.start("sign"),
        m.end(),
        end,
        value,
        currency,
        language,
        len(re.sub(r"\D", "", m["num"], flags=re.ASCII)),
    )


_GLUED = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def _glued(original: str, folded: str, m: re.Match[str], end: int) -> bool:
    """Digits inside a longer name (`09bd59e`, `gemini-2.5`) are no number; `5k`, `30s` and `3x` are."""
    before = original[max(0, m.start() - 2) : m.start()]
    if not m["cur"] and len(before) == 2 and before[1] == "-" and before[0].isalnum() and before[0].isascii():
        return True
    tail = _GLUED.match(original, m.end(), end)
    if tail is None or tail[0] in _SUFFIXES or units.unit_of(tail[0], True) is not None:
        return False
    return not _DIMENSION.match(folded, m.end(), end) and units.unit_of(tail[0].partition("_")[0], True) is None


_SUFFIXES = frozenset({"k", "K", "M", "B", "bn", "x", "mio", "h", "th", "st", "nd", "rd", "G"})
_DIMENSION = re.compile(r"[x\u00d7]\d")


def _finish(
    original: str,
    folded: str,
    start: int,
    at: int,
    end: int,
    value: Fraction,
    unit: Unit | None,
    language: Language,
    digits: int,
) -> Number | None:
    """What stands around a number: bound before, second value of a range or pair, scale, unit, rate, bound after."""
    op, op_start = _bound_before(folded, start, language)
    high: Fraction | None = None
    high_op = ""
    pair = _PAIR.match(folded, at, end) if op in {">", ">=", "<", "<="} else None
    if pair:
        high, high_op, at = decimal(pair[2], language.decimal_comma), _OPS[pair[1]], pair.end()
    ratio = _RATIO.match(folded, at, end)
    if ratio and unit is None and high is None:
        right = decimal(ratio[1], language.decimal_comma)
        return Number(op_start, ratio.end(), op, f"{show(value)}:{show(right or Fraction(0))}", "ratio", 3)
    spread = _RANGE.match(folded, at, end) if high is None else None
    if spread and (spread[1] is None or spread[1] in language.to or spread[1] in language.of):
        second = _MORE.match(folded, spread.end(), end)
        right = decimal(second[0], language.decimal_comma) if second else None
        after_second = folded[second.end() : second.end() + 1] if second else ""
        if (
            second
            and right is not None
            and not (after_second == "-" and folded[second.end() + 1 : second.end() + 2].isdecimal())
        ):
            if spread[1] is not None and spread[1] in language.of:
                return _with_noun(
                    Number(op_start, second.end(), op, f"{show(value)} of {show(right)}", "", 3), folded, end, language
                )
            if right > value or spread[1] is None:
                high, at = right, second.end()
    scale, at = _scale(original, at, end, language, folded)
    value *= scale
    found_unit, unit_end = _unit(original, folded, at, end)
    if found_unit is not None and unit is None:
        unit, at = found_unit, unit_end
    elif found_unit is not None and unit is not None and found_unit.base == unit.base:
        at = unit_end
    return _assemble(folded, original, op_start, at, end, op, value, high, high_op, scale, unit, language, digits)


def _assemble(
    folded: str, original: str, start: int, at: int, end: int, op: str, value: Fraction, high: Fraction | None, high_op: str,
    scale: int, unit: Unit | None, language: Language, digits: int,
) -> Number | None:  # fmt: skip
    factor = unit.factor if unit else Fraction(1)
    base = unit.base if unit else ""
    noun = None if unit else _noun(folded, at, end, language)
    noun_word = folded[noun[0] : noun[1]] if noun else ""
    rate, rate_base, rate_end = _rate(original, folded, noun[1] if noun else at, end, language)
    low = value * factor
    text = show(low)
    if high is not None:
        top = high * scale * factor
        text = (
            f"{'[' if op != '>' else '('}{show(low)},{show(top)}{']' if high_op == '<=' else ')'}"
            if high_op
            else f"{show(low)}..{show(top)}"
        )
        op = "" if high_op else op
    if rate is not None:
        window = rate_base[0] == "#"
        base = f"{base}/{rate_base[-1] if not window else rate_base[1:]}" if not window else base
        text = (
            show(low / rate)
            if high is None and not window
            else f"{text} per {show(rate)} {rate_base.lstrip('#')}"
            if window
            else f"{text} per {show(rate)}"
        )
        at = rate_end
    if not op and not high_op:
        op, at = _bound_after(folded, max(at, noun[1] if noun else at), at, end, language)
    counted = noun is not None and noun_word not in _TIMES_WORDS
    size = 3 if base or op or high is not None or rate is not None else 2 if digits >= 4 else 1
    value_text = f"{text} {base}".strip()
    return Number(
        start, at, op, value_text, base, size, noun[0] if counted and noun else -1, noun[1] if counted and noun else -1
    )


def _with_noun(number: Number, folded: str, end: int, language: Language) -> Number:
    noun = _noun(folded, number.end, end, language)
    return number._replace(noun_start=noun[0], noun_end=noun[1]) if noun else number


def _bound_before(folded: str, start: int, language: Language) -> tuple[str, int]:
    window = folded[max(0, start - 48) : start]
    sign = _OPERATOR.search(window)
    if sign:
        return _OPS[sign[1]], start - len(window) + sign.start()
    words = list(_WORDS_BACK.finditer(window))[-5:]
    if not words or window[words[-1].end() :].strip():
        return "", start
    names = [word[0] for word in words]
    for length in range(min(5, len(names)), 0, -1):
        for offset in (0, 1):
            if length + offset > len(names) or (offset and names[-1] not in {"a", "an", "the", "de", "of", "von", "di", "az"}):
                continue
            chunk = tuple(names[len(names) - length - offset : len(names) - offset])
            op = language.bounds.get(chunk) or (ENGLISH.bounds.get(chunk) if language is not ENGLISH else None)
            if op:
                return op, start - len(window) + words[len(names) - length - offset].start()
    return "", start


def _bound_after(folded: str, look: int, at: int, end: int, language: Language) -> tuple[str, int]:
    words = list(_WORDS_BACK.finditer(folded, look, min(end, look + 40)))[:3]
    if words and folded[look : words[0].start()].strip() == "":
        for length in range(len(words), 0, -1):
            op = language.bounds_after.get(tuple(word[0] for word in words[:length]))
            if op:
                return op, words[length - 1].end()
    return "", at


def _scale(original: str, at: int, end: int, language: Language, folded: str) -> tuple[int, int]:
    """`5k`, `2M`, `3 million`: the factor and where it ends."""
    m = _SCALE_SUFFIX.match(original, at, end)
    if m:
        return (_SCALE[m[1]], m.end()) if m[1] != "B" else (1, at)
    m = _NEXT_WORD.match(folded, at, end)
    if m and m[1] in language.number_scales and language.number_scales[m[1]] >= 1000:
        return language.number_scales[m[1]], m.end()
    return 1, at


def _unit(original: str, folded: str, at: int, end: int) -> tuple[Unit | None, int]:
    m = _UNIT.match(original, at, end)
    if not m:
        return None, at
    for rest, unit in units.PHRASES.get(folded[m.start(2) : m.end(2)], ()):
        phrase = " ".join(rest)
        if folded.startswith(phrase, m.end(2) + 1) and folded[m.end(2)] in " -":
            return unit, m.end(2) + 1 + len(phrase)
    token = m[2]
    unit = units.unit_of(token, m[1] is None or m[1] == "-")
    if unit is None and "/" in token:
        token = token.partition("/")[0]
        unit = units.unit_of(token, m[1] is None)
    if unit is None and not token.isascii():
        return _attached_unit(folded, m.start(2), m.end(2))
    if unit is None or (m[1] and token in _SPACED_NOT_UNITS):
        return None, at
    return unit, m.start(2) + len(token)


def _attached_unit(folded: str, start: int, end: int) -> tuple[Unit | None, int]:
    """Scripts that write particles onto the unit: the longest unit word at the front of the token."""
    for stop in range(min(end, start + 4), start, -1):
        unit = units.WORDS.get(folded[start:stop])
        if unit is not None and not folded[start:stop].isascii():
            return unit, stop
    return None, start


def _noun(folded: str, at: int, end: int, language: Language) -> tuple[int, int] | None:
    m = _NEXT_WORD.match(folded, at, end)
    if not m or m[1] in language.function_words or m[1][0].isdecimal():
        return None
    return m.start(1), m.end(1)


def _rate(original: str, folded: str, at: int, end: int, language: Language) -> tuple[Fraction | None, str, int]:
    """`per second`, `/min`, `per 20-minute window`, `a day`: count of base units, the base (`#` before a window), the end."""
    m = _PER.match(folded, at, end)
    if not m or (m[1] is not None and m[1] not in language.per):
        return None, "", at
    inner = _MORE.match(folded, m.end(), end) or (
        _word_pattern(language.code).match(folded, m.end(), end) if language.number_words else None
    )
    unit, unit_end = _unit(original, " " * 0 + folded, inner.end() if inner else m.end(), end)
    if (
        unit is None
        or unit.base not in {"s", "month", "workday", "B", "g", "L", "m"}
        or (m[1] in {"a", "an"} and unit.base not in {"s", "month"})
    ):
        return None, "", at
    if inner:
        amount = decimal(inner[0], language.decimal_comma) if inner[0][0] in "0123456789" else _word_value(inner[0], language)
        return (None, "", at) if amount is None else (amount * unit.factor, "#" + unit.base, unit_end)
    return unit.factor, unit.base, unit_end


@lru_cache(maxsize=64)
def _word_hint(code: str) -> re.Pattern[str]:
    """A quick test for number words: most sentences have none."""
    stems = sorted({word[:3] for word in LANGUAGES[code].number_words})
    heads = "".join(sorted({stem[0] for stem in stems}))
    return re.compile(rf"(?<![{WORD}])(?=[{heads}])(?:" + "|".join(map(re.escape, stems)) + ")")


@lru_cache(maxsize=64)
def _word_pattern(code: str) -> re.Pattern[str]:
    language = LANGUAGES[code]
    names = "|".join(sorted((re.escape(word) for word in language.number_words), key=lambda w: (-len(w), w)))
    joiner = "|".join(sorted(re.escape(word) for word in language.number_joiner))
    join = rf"(?:[ -](?:(?:{joiner}) )?)" if joiner else "[ -]"
    return re.compile(rf"(?<![{WORD}.-])(?:{names})(?:{join}(?:{names}))*(?![{WORD}])")


def _word_numbers(
    original: str, folded: str, start: int, end: int, language: Language, taken: list[tuple[int, int]]
) -> list[Number]:
    found: list[Number] = []
    skip_to = start
    for m in _word_pattern(language.code).finditer(folded, start, end):
        if m.start() < skip_to or any(a < m.end() and m.start() < b for a, b in taken):
            continue
        value = _word_value(m[0], language)
        if value is None:
            continue
        at = m.end()
        high = _WORD_RANGE.match(folded, at, end)
        top = (
            _word_pattern(language.code).match(folded, high.end(), end)
            if high and (high[1] is None or high[1] in language.to)
            else None
        )
        top_value = _word_value(top[0], language) if top else None
        if top and top_value is not None and top_value > value and high and high[1] != "and":
            unit, unit_end = _unit(original, folded, top.end(), end)
            op, op_start = _bound_before(folded, m.start(), language)
            number: Number | None = _assemble(
                folded, original, op_start, unit_end if unit else top.end(), end, op, value, top_value, "", 1, unit, language, 1
            )
        else:
            number = _finish(original, folded, m.start(), at, end, value, None, language, 4 if value >= 1000 else 1)
        if number is not None:
            found.append(number)
            skip_to = number.end
            if len(found) >= NUMBERS_MAX:
                break
    return found


def _word_value(text: str, language: Language) -> Fraction | None:
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


def readings(text: str) -> tuple[str, ...]:
    """Every canonical value that the number in a bare piece of text can have: by each decimal convention and language."""
    folded = fold(text)
    values: dict[str, None] = {}
    for language in LANGUAGES.values():
        for number in find_numbers(text, folded, 0, len(text), language, []):
            values[number.canonical] = None
            flip = {">": "<=", "<": ">="}.get(number.op)
            if flip:
                values[flip + number.value] = None
    return tuple(values)
