"""Who acts, what may be and what must be, hedges, denials, qualifiers and limits, told in other words or turned (F2).

Read for the first time, a permission told as a duty was certified in most languages, and in English behind *can*; so was who
does what, exchanged in a passive.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.pairs import Pair, pairs_of, verdict_of

PAIRS = pairs_of("turned")


@pytest.mark.parametrize("case", PAIRS, ids=lambda case: f"{case['kind']}-{case['id']}")
def test_turned_statement_is_told_from_one_in_other_words_f2(case: Pair) -> None:
    assert verdict_of(case) == case["verdict"]


def test_turned_pairs_hold_both_verdicts_of_each_kind_f2() -> None:
    """A rule that refuses every statement of a kind, or none, would not pass."""
    kinds = Counter((case["kind"], case["verdict"]) for case in PAIRS)
    wanted = ("parties", "modal", "hedge", "negation", "qualifier", "limit")
    assert all(kinds[kind, verdict] >= 3 for kind in wanted for verdict in ("evict_ok", "below_floor"))
