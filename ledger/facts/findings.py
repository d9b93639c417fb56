"""The outcome of one fact in one summary, and small readings of a fact's value that several places share."""

from __future__ import annotations

from typing import Literal

import msgspec

from ledger.facts.language.fold import DIGITS, fold
from schemas.facts import Survival


class Finding(msgspec.Struct, frozen=True):
    """How one fact fared. `start`, `end`: where it stands in the summary, or what stands there instead; code points."""

    outcome: Survival
    start: int | None = None
    end: int | None = None
    polarity: Literal["kept", "inverted", "n/a"] = "n/a"
    quantifier: Literal["kept", "changed", "n/a"] = "n/a"
    hedge: Literal["kept", "stripped", "n/a"] = "n/a"


MISSING = Finding("missing")


def tail_of(value: str) -> str:
    """The key under which a path is found by its last part alone."""
    return "/" + fold(value.replace("\\", "/").rstrip("/").rpartition("/")[2])


def is_date(value: str) -> bool:
    """Is this the canonical form of a date, time or distance in days, rather than a sentence?"""
    return (
        (value[:1] in "-+?T" or DIGITS.issuperset(value[:4]))
        and any(char in DIGITS for char in value)
        and len(value) <= 48
        and value[:1] != " "
        and " " not in value
    )
