"""Units of measurement: which one stands after a number, and how many base units it is. Exact ratios throughout (rule F2).

`MiB` and `MB` are both bytes and differ by their factor; months and days, percent and plain ratios, one currency and another
are different dimensions and never equal.
"""

from __future__ import annotations

import tomllib
from fractions import Fraction
from importlib.resources import files
from typing import NamedTuple

from ledger.facts.language.fold import fold


class Unit(NamedTuple):
    """`factor` base units of the dimension whose base is `base`."""

    base: str
    factor: Fraction


def _read() -> tuple[dict[str, Unit], dict[str, Unit], dict[str, list[tuple[tuple[str, ...], Unit]]]]:
    data = tomllib.loads((files("ledger.facts") / "data" / "units.toml").read_text("utf-8"))
    symbols: dict[str, Unit] = {}
    words: dict[str, Unit] = {}
    phrases: dict[str, list[tuple[tuple[str, ...], Unit]]] = {}
    for entry in data.values():
        base = entry["base"]
        for item in entry["symbols"].split():
            symbol, _, factor = item.rpartition("=")
            symbols.setdefault(symbol, Unit(base, Fraction(factor)))
        pending: list[str] = []
        for item in entry["words"].split():
            word, _, factor = item.partition("=")
            pending.append(fold(word))
            if factor:
                unit = Unit(base, Fraction(factor))
                for name in pending:
                    parts = tuple(name.split("_"))
                    if len(parts) > 1:
                        phrases.setdefault(parts[0], []).append((parts[1:], unit))
                    else:
                        words.setdefault(name, unit)
                pending = []
    for rows in phrases.values():
        rows.sort(key=lambda row: (-sum(map(len, row[0])), row[0]))
    return symbols, words, phrases


SYMBOLS, WORDS, PHRASES = _read()


_FOLDED = frozenset(fold(symbol) for symbol in SYMBOLS)


def may_be_unit(folded: str) -> bool:
    """Is this folded word a unit in some letter case? Which one, only the word as it was written says: `MB`, `Mb`."""
    return folded in _FOLDED or folded in WORDS


def unit_of(name: str, attached: bool = False) -> Unit | None:
    """The unit that a word names, by symbol (case-sensitive) or by word; `attached` means no space stood before it.

    `5m` is five minutes, `5 m` five metres; a bare capital such as `A` or `V` counts only where it cannot be a word.
    """
    if attached and name == "m":
        return Unit("s", Fraction(60))
    found = SYMBOLS.get(name)
    if found is not None:
        return found
    return WORDS.get(fold(name))
