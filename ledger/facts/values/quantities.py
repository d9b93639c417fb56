"""Numbers with their unit, bound and range, as exact rationals (rule F2: exact value in any notation, nothing rounded).

Canonical forms: `1.24 s`, `<=1/21600 g/s`, `[2.3,3)`, `8100..8104`, `1:200`, `57 of 60`, `5 per 1200 s`, `1150 EUR`, `0.25`. A
terminating decimal is written out, another rational as `p/q`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from ledger.facts.language.fold import DIGITS, LOWER, UPPER, WORD, fold
from ledger.facts.language.lexicon import LANGUAGES, Language
from ledger.facts.values import units
from ledger.facts.values.amounts import Amount, amounts, out_of, shared_of, slashed
from ledger.facts.values.identifiers import NUMBERED
from ledger.facts.values.measures import (
    OPS,
    Line,
    bound_after,
    bound_before,
    noun_at,
    percent_before,
    rate_at,
    scale_at,
    unit_at,
)
from ledger.facts.values.numerals import NUM, decimal, show, word_hint, word_pattern, word_value
from ledger.facts.values.units import Unit

NUMBERS_MAX = 48
"""Numbers read of one sentence; one with more is a listing, and reading on would cost far more than its worth."""


_BEFORE = "0-9A-Za-z_\u00aa-\u2fff"
"""A digit after one of these belongs to a longer name; after a sign of a script without spaces it begins a number."""

_START = re.compile(
    rf"(?<![{_BEFORE}.])(?P<cur>[$€£¥₹₩₺₽]\s?|(?:usd|eur|gbp|chf|pln|sek|jpy)\s)?(?P<sign>(?:(?<![{WORD})\]])[+-])?)(?P<num>{NUM})",
    re.ASCII,
)


_MORE = re.compile(NUM, re.ASCII)


_PAIR = re.compile(rf"\s*(?:,|and|&&|;)?\s*(>=|<=|≥|≤|>|<)\s*({NUM})", re.ASCII)


_RANGE = re.compile(rf"\s?(?:-|~|\.\.\.?|\u2026)\s?(?={NUM})|\s([{WORD}]+)\s(?={NUM})", re.ASCII)


_TIMES_WORDS = frozenset(
    {"times", "mal", "veces", "fois", "volte", "vezes", "keer", "ganger", "razy", "раз", "раза", "kez", "번", "回", "次"}
)


_DIGIT = re.compile("[0-9]", re.ASCII)


_RATIO = re.compile(rf":({NUM})(?![\d:])", re.ASCII)


_WORD_RANGE = re.compile(rf"(?: ([{WORD}]+) |-)", re.ASCII)


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


def find_numbers(
    original: str, folded: str, start: int, end: int, language: Language, taken: list[tuple[int, int]]
) -> list[Number]:
    """The numbers of `[start, end)` outside the `taken` ranges (dates, identifiers), in order. Digits and number words."""
    digits = _DIGIT.search(folded, start, end)
    words = language.number_words and word_hint(language.code).search(folded, start, end)
    told = list(amounts(folded, start, end, language.code))
    if not (digits or words or told):
        return []
    found: list[Number] = []
    line = Line(original, folded, end, language)
    cursor = start
    at = 0
    if told:
        found = [_told(line, amount) for amount in told if not any(a < amount.end and amount.start < b for a, b in taken)]
        taken = [*taken, *((n.start, n.end) for n in found)]
    taken = sorted(taken)
    if digits:
        for m in _START.finditer(folded, start, end):
            if m.start("num") < cursor:
                continue
            while at < len(taken) and taken[at][1] <= m.start("num"):
                at += 1
            if at < len(taken) and taken[at][0] < m.end("num"):
                continue
            number = _read(line, m)
            if number is not None:
                found.append(number)
                cursor = number.end
                if len(found) >= NUMBERS_MAX:
                    return found
    if words:
        found += _word_numbers(line, start, [*taken, *((n.start, n.end) for n in found)])
    return _outermost(sorted(found)) if words or told else found


def _told(line: Line, amount: Amount) -> Number:
    """`half an hour`: an amount in set words, with its bound; one without a unit is read on as a number is."""
    if amount.unit is None:
        return _finish(line, amount.start, amount.end, amount.value, None, 1)
    op, start = bound_before(line, amount.start)
    return _assemble(line, start, amount.end, op, _Extent(amount.value), amount.unit, 1)


def _outermost(found: list[Number]) -> list[Number]:
    """`two tablets every 8 hours` is one number: what lies inside another is part of it."""
    kept: list[Number] = []
    for number in found:
        if not kept or number.start >= kept[-1].end:
            kept.append(number)
    return kept


_GLUED = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LAST_WORD = re.compile(rf"(?<![{WORD}])([{WORD}]+)-$", re.ASCII)
NUMBERED_MAX = 16
"""Code points before a digit in which the word of a degree stands (`severity-3`)."""
_SUFFIXES = frozenset({"k", "K", "M", "B", "bn", "x", "mio", "h", "th", "st", "nd", "rd", "G"})
_DIMENSION = re.compile(r"[x\u00d7]\d", re.ASCII)
_ALNUM = DIGITS | UPPER | LOWER


def _read(line: Line, m: re.Match[str]) -> Number | None:
    """The number that begins with the digits of `m`, or None where the digits belong to something else."""
    value = decimal(m["num"], line.language.decimal_comma)
    tail = line.folded[m.end() : m.end() + 2]
    if value is None or (tail[:1] in {".", ","} and tail[1:] in DIGITS) or _glued(line, m):
        return None
    currency = units.unit_of(m["cur"].strip().upper(), True) if m["cur"] else None
    start = m.start("cur") if m["cur"] else m.start("sign")
    digits = sum(char in DIGITS for char in m["num"])
    number = _finish(line, start, m.end(), -value if m["sign"] == "-" else value, currency, digits)
    if not number.unit and _PADDED.fullmatch(m["num"]) and _of_version(line, number):
        return number._replace(value=m["num"])
    return number


_PADDED = re.compile("[0-9]+\\.[0-9]*0", re.ASCII)
_VERSION = re.compile(
    r"(?:\b(?:versions?|releases?|ver\.?|series|branch|tag|python|py|pypy|numpy|scipy|pandas|django|flask|torch|tensorflow|node|npm|java"
    r"|jdk|kotlin|scala|ruby|rails|php|perl|go|golang|rust|rustc|cargo|gcc|clang|cmake|ubuntu|debian|fedora|alpine|kernel|linux|macos|ios"
    r"|android|postgres|postgresql|mysql|mariadb|redis|kafka|kubernetes|docker|helm|terraform|ansible|nginx|openssl|tls|http|react|vue"
    r"|angular|typescript|swift|dotnet|spring|gradle|maven|elixir|erlang|julia|bash|git|api|schema|protocol|firmware|spec)|\bv)\s?"
    r"[:=]?\s?$",
    re.ASCII,
)
_PRODUCT = re.compile(r"[a-z,(] (?:the )?[A-Z][A-Za-z+#-]+ $", re.ASCII)


def _of_version(line: Line, number: Number) -> bool:
    """`Python 3.10` is no decimal: the zero at its end counts. Told by the word before it, or by a name before it."""
    start = number.start
    before = line.original[max(0, start - 40) : start]
    return bool(_VERSION.search(line.folded, max(0, start - 40), start) or _PRODUCT.search(before))


def _glued(line: Line, m: re.Match[str]) -> bool:
    """Digits inside a longer name (`09bd59e`, `gemini-2.5`) are no number; `5k`, `30s` and `3x` are."""
    before = line.original[max(0, m.start() - 2) : m.start()]
    if not m["cur"] and len(before) == 2 and before[1] == "-" and before[0] in _ALNUM:
        degree = _LAST_WORD.search(line.folded, max(0, m.start() - NUMBERED_MAX), m.start())
        return degree is None or degree[1] not in NUMBERED
    tail = _GLUED.match(line.original, m.end(), line.end)
    if tail is None or tail[0] in _SUFFIXES or units.unit_of(tail[0], True) is not None:
        return False
    return not _DIMENSION.match(line.folded, m.end(), line.end) and units.unit_of(tail[0].partition("_")[0], True) is None


class _Extent(NamedTuple):
    """One value, or two: the ends of a range, or of a pair of bounds where `high_op` is set."""

    low: Fraction
    high: Fraction | None = None
    high_op: str = ""


def _finish(line: Line, start: int, at: int, value: Fraction, unit: Unit | None, digits: int) -> Number:
    """What stands around a number: bound before, second value of a range or pair, scale, unit, rate, bound after."""
    if unit is None and line.language.percent_before:
        unit, start = percent_before(line, start)
    op, op_start = bound_before(line, start)
    ratio = _RATIO.match(line.folded, at, line.end)
    if ratio and unit is None:
        right = decimal(ratio[1], line.language.decimal_comma)
        return Number(op_start, ratio.end(), op, f"{show(value)}:{show(right or Fraction(0))}", "ratio", 3)
    extent = _Extent(value)
    pair = _PAIR.match(line.folded, at, line.end) if op in {">", ">=", "<", "<="} else None
    if pair:
        extent, at = _Extent(value, decimal(pair[2], line.language.decimal_comma), OPS[pair[1]]), pair.end()
    else:
        part = _part(line, op_start, at, op, value) if unit is None else None
        if part is not None:
            return part
        second, stop = _second(line, at)
        if second is not None and second > value:
            extent, at = _Extent(value, second), stop
    scale, at = scale_at(line, at)
    found, stop = unit_at(line, at)
    if found is not None and (unit is None or found.base == unit.base):
        unit, at = unit or found, stop
    scaled = extent._replace(low=extent.low * scale, high=extent.high * scale if extent.high is not None else None)
    return _assemble(line, op_start, at, op, scaled, unit, digits)


_AND = frozenset("and und et y e i en och и ve".split())
_BETWEEN = re.compile(
    rf"(?<![{WORD}])(?:between|zwischen|entre|tra|fra|tussen|mellan|miedzy|pomiedzy|между|arasinda)(?![{WORD}])", re.ASCII
)
"""`shards 7 and 12` are two; `between 7 and 12` is a range."""


def _second(line: Line, at: int) -> tuple[Fraction | None, int]:
    """The value after a dash or `to`, and where it ends."""
    spread = _RANGE.match(line.folded, at, line.end)
    language = line.language
    if not spread or not (spread[1] is None or spread[1] in language.to):
        return None, at
    if spread[1] in _AND and not _BETWEEN.search(line.folded, max(0, at - 40), at):
        return None, at
    second = _MORE.match(line.folded, spread.end(), line.end)
    value = decimal(second[0], language.decimal_comma) if second else None
    if second is None or value is None:
        return None, at
    after = line.folded[second.end() : second.end() + 2]
    return (None, at) if after[:1] == "-" and after[1:] in DIGITS else (value, second.end())


def _part(line: Line, start: int, at: int, op: str, value: Fraction) -> Number | None:
    """`3 of 5`, `three of the five`, `3/5 nodes`: a part and the whole it is told of; with `2/3 of` it is a share."""
    folded, end, language = line.folded, line.end, line.language
    mark = slashed(folded, at, end)
    if mark is not None:
        whole, stop = Fraction(mark[1]), mark.end()
        if whole and value <= whole and shared_of(folded, stop, end, language.code):
            return Number(start, stop, op, f"{show(value * 100 / whole)} %", "%", 3)
        if unit_at(line, stop)[0] is not None:
            return None
    else:
        of = out_of(language.code).match(folded, at, end)
        found = _whole(line, of.end()) if of else None
        if found is None:
            return None
        whole, stop = found
    if not 0 <= value <= whole:
        return None
    return _with_noun(line, Number(start, stop, op, f"{show(value)} of {show(whole)}", "", 3))


def _whole(line: Line, at: int) -> tuple[Fraction, int] | None:
    """The number at `at`, in digits or words, and where it ends."""
    language = line.language
    digits = _MORE.match(line.folded, at, line.end)
    if digits is not None:
        value = decimal(digits[0], language.decimal_comma)
        return (value, digits.end()) if value is not None else None
    words = word_pattern(language.code).match(line.folded, at, line.end) if language.number_words else None
    value = word_value(words[0], language) if words else None
    return (value, words.end()) if words and value is not None else None


def _assemble(line: Line, start: int, at: int, op: str, extent: _Extent, unit: Unit | None, digits: int) -> Number:
    """The number with everything that was found around it, in base units."""
    factor, base = (unit.factor, unit.base) if unit else (Fraction(1), "")
    noun = None if unit else noun_at(line, at)
    after = noun[1] if noun else at
    rate = rate_at(line, after)
    low = extent.low * factor
    text = show(low)
    if extent.high is not None:
        text, op = _two(op, low, extent.high * factor, extent.high_op)
    if rate is not None:
        at = rate.end
        if rate.window:
            text = f"{text} per {show(rate.amount)} {rate.base}"
        else:
            base = f"{base}/{rate.base}"
            text = f"{text} per {show(rate.amount)}" if extent.high is not None else show(low / rate.amount)
    if not op and not extent.high_op:
        op, at = bound_after(line, max(at, after), at)
    counted = noun is not None and line.folded[noun[0] : noun[1]] not in _TIMES_WORDS
    size = 3 if base or op or extent.high is not None or rate is not None else 2 if digits >= 4 else 1
    spot = noun if counted and noun else (-1, -1)
    return Number(start, at, op, f"{text} {base}".strip(), base, size, *spot)


def _two(op: str, low: Fraction, high: Fraction, high_op: str) -> tuple[str, str]:
    """Text and remaining bound of two values: `[2.3,3)` for a pair of bounds, `3..5` for a range."""
    if not high_op:
        return f"{show(low)}..{show(high)}", op
    return f"{'(' if op == '>' else '['}{show(low)},{show(high)}{']' if high_op == '<=' else ')'}", ""


def _with_noun(line: Line, number: Number) -> Number:
    noun = noun_at(line, number.end)
    return number._replace(noun_start=noun[0], noun_end=noun[1]) if noun else number


def _word_numbers(line: Line, start: int, taken: list[tuple[int, int]]) -> list[Number]:
    """Numbers written as words, single or as a range (`three to five`)."""
    found: list[Number] = []
    skip_to = start
    pattern = word_pattern(line.language.code)
    for m in pattern.finditer(line.folded, start, line.end):
        if m.start() < skip_to or any(a < m.end() and m.start() < b for a, b in taken):
            continue
        value = word_value(m[0], line.language)
        if value is None:
            continue
        number = _word_range(line, m, value) or _finish(line, m.start(), m.end(), value, None, 4 if value >= 1000 else 1)
        if number is not None:
            found.append(number)
            skip_to = number.end
            if len(found) >= NUMBERS_MAX:
                break
    return found


def _word_range(line: Line, m: re.Match[str], low: Fraction) -> Number | None:
    join = _WORD_RANGE.match(line.folded, m.end(), line.end)
    if join is None or join[1] == "and" or not (join[1] is None or join[1] in line.language.to):
        return None
    top = word_pattern(line.language.code).match(line.folded, join.end(), line.end)
    high = word_value(top[0], line.language) if top else None
    if top is None or high is None or high <= low:
        return None
    unit, stop = unit_at(line, top.end())
    op, start = bound_before(line, m.start())
    return _assemble(line, start, stop if unit else top.end(), op, _Extent(low, high), unit, 1)


def readings(text: str) -> Iterator[str]:
    """Every canonical value that the number in a bare piece of text can have: by each decimal convention and language, read one
    after the other, for whoever looks for one of them mostly finds it with the first.
    """
    folded = fold(text)
    for language in LANGUAGES.values():
        for number in find_numbers(text, folded, 0, len(text), language, []):
            yield number.canonical
            flip = {">": "<=", "<": ">="}.get(number.op)
            if flip:
                yield flip + number.value
