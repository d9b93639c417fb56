"""Summaries that hold the words of a statement and say less or other than it did, by kind, with faithful twins (F2).

Kinds: a statement confined to a case (`case`) or a group, taken back (`retracted`), told as a claim or a condition
(`reported`), a condition of any told of all (`any_all`), a list of which members are left out (`shortened`), a range told as
its two ends (`range`), a word turned round (`opposite`), and plain restatements (`plain`). Each set was written before it was
read, and read once before the rules were mended by it: of 122 lossy ones 13 were certified, then of 60 eleven, of 70 nine, and
of the 58 and 64 held out three and six; of 119, 59, 45, 41 and 34 faithful ones 8, 9, 3, 7 and none were refused. Before a
summary's whole sentences were compared with the source, 102, 36, 59, 50 and 52 were certified.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from tests.support.pairs import pairs_of, verdict_of

PAIRS = pairs_of("lessened")

OUT_OF_REACH = {
    "case-037": "of so short an Italian source no fact is read",
    "case-223": "so short a Portuguese text is read as Spanish",
    "retracted-084": "so short a Turkish text is read as English",
}
"""Lossy pairs that are certified, and why."""

REFUSED_MAX = {"tuned": 15, "held_out": 7}
"""Faithful pairs that are refused, by split: what is reached. A verb or passive is not recognised, or lists cross."""

LANGUAGES_MIN = 16


@cache
def verdicts() -> dict[str, str]:
    return {case["id"]: verdict_of(case) for case in PAIRS}


def test_lessened_pairs_cover_every_kind_with_both_verdicts_in_every_language_f2() -> None:
    """Without faithful pairs a rule that refuses everything would pass."""
    assert len({case["id"] for case in PAIRS}) == len(PAIRS)
    kinds = Counter((case["kind"], case["verdict"]) for case in PAIRS)
    for kind in {case["kind"] for case in PAIRS} - {"plain"}:
        assert kinds[kind, "evict_ok"] >= 3
        assert kinds[kind, "below_floor"] >= 3
    spoken = Counter((case["language"], case["verdict"]) for case in PAIRS)
    assert len({language for language, _ in spoken}) >= LANGUAGES_MIN
    assert all(spoken[language, verdict] >= 3 for language, _ in spoken for verdict in ("evict_ok", "below_floor"))


@pytest.mark.parametrize("kind", sorted({case["kind"] for case in PAIRS}))
def test_statement_told_with_less_is_never_certified_by_kind_f2(kind: str) -> None:
    lossy = [case for case in PAIRS if case["kind"] == kind and case["verdict"] != "evict_ok"]
    certified = {case["id"] for case in lossy if verdicts()[case["id"]] == "evict_ok"}
    assert certified == {name for name in OUT_OF_REACH if name.startswith(kind)}


@pytest.mark.parametrize("split", sorted(REFUSED_MAX))
def test_faithful_twin_is_certified_but_for_a_few_f2(split: str) -> None:
    faithful = [case for case in PAIRS if case["split"] == split and case["verdict"] == "evict_ok"]
    refused = [case["id"] for case in faithful if verdicts()[case["id"]] != "evict_ok"]
    assert len(refused) <= REFUSED_MAX[split], refused
