"""Freely worded pairs in 16 languages, written and labelled by one who had seen neither the rules nor their data (F2).

They measure what the other suites cannot: those were read while the rules were made. The second half (`held_out`) is looked at
as counts alone. A summary that keeps hardly a word of its source is refused more often than not: a reader would have to know
what the sentences mean.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from tests.support.pairs import Pair, pairs_of, verdict_of

PAIRS = pairs_of("blind")

CERTIFIED_MAX = {"read": 4, "held_out": 4}
"""Lossy ones of 40 that are certified: what is reached."""

REFUSED_MAX = {"read": 27, "held_out": 33}
"""Faithful ones of 40 that are not certified."""


@cache
def judged() -> list[tuple[Pair, str]]:
    return [(pair, verdict_of(pair)) for pair in PAIRS]


@pytest.mark.parametrize("split", sorted(CERTIFIED_MAX))
def test_freely_worded_pairs_written_blind_are_judged_no_worse_than_before_f2(split: str) -> None:
    mine = [(pair["verdict"], verdict) for pair, verdict in judged() if pair["split"] == split]
    assert Counter(wanted for wanted, _ in mine) == {"below_floor": 40, "evict_ok": 40}
    assert sum(wanted != "evict_ok" and verdict == "evict_ok" for wanted, verdict in mine) <= CERTIFIED_MAX[split]
    assert sum(wanted == "evict_ok" and verdict != "evict_ok" for wanted, verdict in mine) <= REFUSED_MAX[split]
