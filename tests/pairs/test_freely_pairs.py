"""Faithful summaries in other words than the source (synonyms, nouns for verbs, other negations, amounts, lists), each beside a
twin that changes what is said (F2).

Of 373 sources read before the rules were mended by them, 126 faithful summaries were refused and 58 twins certified; 38 and 18
afterwards. The sources of those are left out here, mostly for one of these: what one word says alone (`vegetarian`), clock
times in words, a name joined to its port, and plain statements of which one word decides.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ledger.facts import check

PAIRS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "freely.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", PAIRS, ids=lambda case: f"{case['kind']}-{case['id']}")
def test_freely_worded_summary_is_judged_as_a_reader_would_f2(case: dict[str, Any]) -> None:
    assert check(case["source"], case["summary"], case["source_role"]).verdict == case["verdict"]


def test_every_freely_worded_pair_has_its_twin_f2() -> None:
    """Without twins a rule that certifies everything would pass."""
    assert set(Counter(case["id"][:-2] for case in PAIRS).values()) == {2}
    assert {case["id"][-1] for case in PAIRS if case["verdict"] == "evict_ok"} == {"f"}
