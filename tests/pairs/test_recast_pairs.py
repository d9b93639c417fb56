"""Statements told in another form (order, mood, bound, table), each beside a twin that changes what is said (F2).

Read for the first time, before the rules that now pass them, the four parts (in the order of the file: 93, 93, 69 and 61
sources) gave 18, 25, 14 and 16 faithful ones refused and 21, 12, 8 and 8 twins certified. Each part from the second on was
written after the rules for those before it, with which 1, 8 and 5 were refused and 2, 2 and none certified; most of those were
mended then.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.pairs import Pair, pairs_of, verdict_of

PAIRS = pairs_of("recast")

OUT_OF_REACH = {
    "recast-002-l": "`day shift` for `night shift`: day is a measure of time as well",
    "recast-030-f": "`valid until` a day told as `expires after` it",
    "recast-030-l": "`valid until` a day told as `starts on` it",
    "recast-037-l": "who does what in a plain report, told in the passive",
    "recast-066-f": "a bound that stands between what is counted and its period (French)",
    "recast-217-l": "an order with a verb for its opposite that no table holds (`mask`, `show`)",
    "recast-222-f": "`see` told as `be visible`",
    "recast-271-f": "asking somebody told as needing their approval, of an amount that the ban is about",
}


@pytest.mark.parametrize(
    "case", [c for c in PAIRS if c["id"] not in OUT_OF_REACH], ids=lambda case: f"{case['kind']}-{case['id']}"
)
def test_statement_in_another_form_is_judged_as_a_reader_would_f2(case: Pair) -> None:
    assert verdict_of(case) == case["verdict"]


def test_recast_pairs_out_of_reach_are_named_only_while_they_are_f2() -> None:
    """A pair that has come within reach leaves the list."""
    missed = {c["id"] for c in PAIRS if verdict_of(c) != c["verdict"]}
    assert missed == set(OUT_OF_REACH)


def test_every_recast_pair_has_its_twin_f2() -> None:
    """Without faithful pairs a rule that refuses everything would pass, without twins one that certifies everything."""
    assert set(Counter(case["source"] + case["id"][:10] for case in PAIRS).values()) == {2}
    assert {case["id"][-1] for case in PAIRS if case["verdict"] == "evict_ok"} == {"f"}
