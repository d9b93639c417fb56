"""English pairs of a source and its summary, with the verdict a careful reader gives (F2).

`english_desk` was written before the rules that now pass it; half of it (`held_out`) was never looked at while they were
mended. Read for the first time the whole gave 49 of 60 verdicts right: 8 of 30 lossy summaries certified, 3 of 30 faithful ones
refused. `english_kinds` are further pairs of the same kinds, from which those rules were found.
"""

from __future__ import annotations

import pytest

from tests.support.pairs import Pair, pairs_of, verdict_of

DESK = pairs_of("english_desk")
KINDS = pairs_of("english_kinds")

FALSE_ALARMS_MAX = 2
"""Of the fifteen faithful pairs held out."""

OUT_OF_REACH = {
    "k085": "`private` for what is not shared takes knowledge of the world",
    "k095": "so does `inside a folder` for `only its files`",
    "k226": "`A` and `a` are one word here, so `team A` and `team B` are both a team",
    "k248": "a number that was approximate and no longer is counts as kept; the stripped hedge is said",
    "k250": "the same, with the hedge in a label",
    "k294": "members of a list in items of their own, of which one is read as another language",
}
"""Pairs that are judged wrongly, and why."""


def verdict(case: Pair) -> str:
    return verdict_of(case)


def test_desk_pairs_are_sixty_of_every_kind_and_half_is_held_out_f2() -> None:
    """Without this, a pair that is hard could be dropped and nobody would notice."""
    counted = [(case["split"], case["expected"]) for case in DESK]
    assert all(counted.count((split, wanted)) == 15 for split in ("dev", "held_out") for wanted in ("evict_ok", "below_floor"))
    assert len({case["kind"] for case in DESK if case["expected"] == "below_floor"}) == 10


@pytest.mark.parametrize("case", [case for case in DESK if case["split"] == "dev"], ids=lambda case: case["id"])
def test_desk_pair_on_which_rules_were_mended_is_right_f2(case: Pair) -> None:
    assert verdict(case) == case["expected"]


def test_desk_pairs_held_out_are_never_certified_when_lossy_f2() -> None:
    """F2: no false certification, and few false alarms, among pairs that no rule was fitted to."""
    held = [case for case in DESK if case["split"] == "held_out"]
    lossy = [case["id"] for case in held if case["expected"] == "below_floor" and verdict(case) == "evict_ok"]
    alarms = [case["id"] for case in held if case["expected"] == "evict_ok" and verdict(case) != "evict_ok"]
    assert lossy == []
    assert len(alarms) <= FALSE_ALARMS_MAX


@pytest.mark.parametrize("case", [case for case in KINDS if case["id"] not in OUT_OF_REACH], ids=lambda case: case["id"])
def test_pair_of_a_known_kind_is_judged_as_a_reader_would_f2(case: Pair) -> None:
    assert verdict(case) == case["verdict"]


def test_pairs_out_of_reach_are_named_only_while_they_are_f2() -> None:
    """A pair that has come within reach leaves the list."""
    assert {case["id"] for case in KINDS if verdict(case) != case["verdict"]} == set(OUT_OF_REACH)
