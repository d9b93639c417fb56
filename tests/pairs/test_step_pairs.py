"""Order of steps, who acts on what, questions, *only*, conditions and qualifiers, told in other words or turned (F2).

Read for the first time, 27 of 63 lossy ones were certified: the order of two steps in every language, questions told as
statements, `only if` told as `if`, *only* moved from who acts to what is done, `before` told as `with`. Of the pairs of the
kind `desk`, freely worded by one who knew the rules, 2 of 41 lossy ones were certified and 20 of 35 faithful ones refused then;
those that are judged right stand here.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.pairs import Pair, pairs_of, verdict_of

PAIRS = pairs_of("steps")


@pytest.mark.parametrize("case", PAIRS, ids=lambda case: f"{case['kind']}-{case['id']}")
def test_step_or_question_in_other_words_is_judged_as_a_reader_would_f2(case: Pair) -> None:
    assert verdict_of(case) == case["verdict"]


def test_steps_are_told_right_and_turned_f2() -> None:
    """A rule that refuses every order of steps, or none, would not pass."""
    kinds = Counter((case["kind"], case["verdict"]) for case in PAIRS)
    assert all(kinds[kind, verdict] >= 3 for kind in ("order", "question", "only") for verdict in ("evict_ok", "below_floor"))
