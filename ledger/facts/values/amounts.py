"""Amounts told by set words (rule F2: one value in any words): `half an hour`, `two thirds of`, `one and a half`, `3 of the 5`.

A duration is read in seconds or months, a share in percent where something stands behind it to be shared (`half of the
budget`, not `the first half`), so that the same amount in digits equals it exactly.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

from ledger.facts.language.fold import WORD, fold
from ledger.facts.language.lexicon import LANGUAGES
from ledger.facts.values.units import Unit

_DATA: dict[str, dict[str, Any]] = tomllib.loads((files("ledger.facts") / "data" / "amounts.toml").read_text("utf-8"))
_BASES = {"seconds": "s", "months": "month", "percent": "%", "numbers": ""}


class Amount(NamedTuple):
    """A value at `[start, end)` with its unit; `unit` is None where a unit may still follow."""

    start: int
    end: int
    value: Fraction
    unit: Unit | None


class _Table(NamedTuple):
    pattern: re.Pattern[str]
    values: dict[str, tuple[Fraction, str]]
    of: re.Pattern[str] | None
    unless: re.Pattern[str] | None


@lru_cache(maxsize=64)
def _table(code: str) -> _Table | None:
    data = _DATA.get(code)
    if data is None:
        return None
    values: dict[str, tuple[Fraction, str]] = {}
    for kind, base in _BASES.items():
        for entry in fold(data.get(kind, "")).split():
            words, _, value = entry.partition("=")
            values[words.replace("_", " ")] = Fraction(value), base
    names = sorted(values, key=lambda name: (-len(name), name))
    heads = "".join(sorted({name[0] for name in names}))
    before, after = ("", "") if LANGUAGES[code].no_spaces else (f"(?<![{WORD}-])", f"(?![{WORD}])")
    pattern = re.compile(rf"(?=[{heads}]){before}(?:{'|'.join(map(re.escape, names))}){after}", re.ASCII)
    return _Table(pattern, values, _any_of(data.get("of", ""), r"\s(?:{})"), _any_of(data.get("unless", ""), r"(?:{})\s$"))


def _any_of(words: str, shape: str) -> re.Pattern[str] | None:
    """The words in the shape, each whole unless it ends in an apostrophe."""
    if not words:
        return None
    names = [
        re.escape(word.replace("_", " ")) + ("" if word.endswith("'") else f"(?![{WORD}])") for word in fold(words).split()
    ]
    return re.compile(f"(?<![{WORD}])" * (shape[-1] == "$") + shape.format("|".join(names)), re.ASCII)


BEFORE_MAX = 16
"""Code points before a share in which the word stands that makes it no share."""


def amounts(folded: str, start: int, end: int, code: str) -> Iterator[Amount]:
    """The amounts of `[start, end)` that are told by set words, in order."""
    table = _table(code)
    if table is None:
        return
    at = start
    while (m := table.pattern.search(folded, at, end)) is not None:
        value, base = table.values[m[0]]
        if base == "%" and not _shared(table, folded, m, end):
            at = m.start() + 1  # `a quarter of an hour` is a duration behind its article
            continue
        yield Amount(m.start(), m.end(), value, Unit(base, Fraction(1)) if base else None)
        at = m.end()


def _shared(table: _Table, folded: str, m: re.Match[str], end: int) -> bool:
    if table.of is not None and not table.of.match(folded, m.end(), end):
        return False
    return table.unless is None or not table.unless.search(folded[max(0, m.start() - BEFORE_MAX) : m.start()])


@lru_cache(maxsize=64)
def out_of(code: str) -> re.Pattern[str]:
    """What stands between a part and the whole, with an article: `of`, `out of the`; nothing where a language has none."""
    names = sorted((" ".join(words) for words in LANGUAGES[code].of), key=lambda name: (-len(name), name))
    return re.compile(rf"\s(?:{'|'.join(map(re.escape, names))})\s" if names else "(?!)", re.ASCII)


_SLASH = re.compile(rf"/([0-9]{{1,4}})(?=\s[{WORD}])(?!\s[0-9])", re.ASCII)


def slashed(folded: str, at: int, end: int) -> re.Match[str] | None:
    """`/5` of `3/5 nodes`: the whole that a part is told of by a slash, its digits as group 1."""
    return _SLASH.match(folded, at, end)


def shared_of(folded: str, at: int, end: int, code: str) -> bool:
    """Does what is shared stand here: ` of the budget`?"""
    table = _table(code)
    return table is not None and table.of is not None and table.of.match(folded, at, end) is not None
