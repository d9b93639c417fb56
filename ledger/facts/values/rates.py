"""A period told by an adverb and by a rate: `a monthly cap of $1,500` and `$1,500 per month` say the same."""

from __future__ import annotations

import re
from collections.abc import Collection
from fractions import Fraction

from ledger.facts.values.numerals import show

PERIODS: dict[str, tuple[int, str]] = {
    "@hourly": (3600, "s"),
    "@daily": (86400, "s"),
    "@weekly": (604800, "s"),
    "@monthly": (1, "month"),
    "@quarterly": (3, "month"),
    "@yearly": (12, "month"),
}
"""Concepts of the adverbs, with the period in the base unit that rates are given in."""


def with_rate(value: str, keys: Collection[str]) -> list[str]:
    """The value as a rate, for each period that one of the keys names; nothing for what is a rate already or no number."""
    number, _, unit = value.partition(" ")
    if "/" in unit or not _plain(number):
        return []
    found = [(amount, base) for key, (amount, base) in PERIODS.items() if key in keys]
    return [f"{show(Fraction(number) / amount)} {unit}/{base}" for amount, base in found]


def without_rate(value: str) -> list[tuple[str, str]]:
    """A rate as the whole amount of each period that it comes to, with the concept of the period's adverb."""
    number, _, unit = value.partition(" ")
    counted, slash, base = unit.rpartition("/")
    if not slash or not _plain(number):
        return []
    totals = [(Fraction(number) * amount, key) for key, (amount, period) in PERIODS.items() if period == base]
    return [(f"{show(total)} {counted}".rstrip(), key) for total, key in totals if total.denominator == 1]


def told_either_way(keys: frozenset[str]) -> frozenset[str]:
    """The keys of a clause with those that it would have if its period were told the other way."""
    more: set[str] = set()
    adverbs = [key for key in PERIODS if key in keys]
    for key in sorted(keys):
        if key[:1] != "#":
            continue
        bare = key[1:].lstrip("<>=~")
        op = key[: len(key) - len(bare)]
        more.update(op + rated for rated in (with_rate(bare, adverbs) if adverbs else ()))
        for total, adverb in without_rate(bare) if "/" in bare else ():
            more.update((op + total, adverb))
    return keys | more if more else keys


def other_period(said: Collection[str], told: Collection[str]) -> bool:
    """Does the one name a period, and the other another one instead?"""
    one = [key for key in PERIODS if key in said]
    other = [key for key in PERIODS if key in told]
    return bool(one) and bool(other) and not any(key in other for key in one)


_PLAIN = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,30}|/[1-9][0-9]{0,29})?", re.ASCII)


def _plain(number: str) -> bool:
    return _PLAIN.fullmatch(number) is not None
