"""Sources and summaries with the verdict a careful reader gives (F2). `pairs` are ours; `field` restates reported faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.facts import check

CORPUS = Path(__file__).parent / "corpus"


def load(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPUS / f"{name}.jsonl").read_text("utf-8").splitlines()]


PAIRS = load("pairs")
FIELD = load("field")
HARD = load("hard")
"""Faithful summaries that the extractor still refuses: it fails closed where it cannot tell."""
POLARITY_OUT_OF_REACH = {"r008"}
"""`Implement` contradicts a stage that was declared a survey: that takes knowledge of the world, not of the words."""


@pytest.mark.parametrize("case", [*PAIRS, *FIELD], ids=lambda case: case["id"])
def test_check_verdict_of_a_pair_is_the_readers_f2(case: dict[str, Any]) -> None:
    found = check(case["source"], case["summary"], case["source_role"], id=case["id"])
    assert (found.verdict, found.quantifier) == (case["verdict"], case["quantifier"])
    if case["id"] not in POLARITY_OUT_OF_REACH:
        assert found.polarity == case["polarity"]


@pytest.mark.parametrize("case", [*PAIRS, *FIELD, *HARD], ids=lambda case: case["id"])
def test_check_lossy_summary_is_never_certified_f2(case: dict[str, Any]) -> None:
    if case["verdict"] != "evict_ok":
        assert check(case["source"], case["summary"], case["source_role"]).verdict != "evict_ok"


def test_check_field_cases_finds_the_named_facts_f1() -> None:
    """Every named piece is covered by a fact, and nearly all have the class a reader gives them."""
    missed, classed, total = [], 0, 0
    for case in FIELD:
        found = check(case["source"], case["summary"], case["source_role"]).facts
        for want in case["facts"]:
            total += 1
            start = case["source"].find(want["text"])
            end = start + len(want["text"])
            near = [f for f in found if 2 * (min(end, f.end) - max(start, f.start)) >= min(end - start, f.end - f.start)]
            classed += any(f.cls == want["class"] for f in near)
            if not near:
                missed.append((case["id"], want["text"]))
    assert not missed
    assert classed * 10 >= total * 9
