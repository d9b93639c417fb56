"""Sources and summaries with the verdict a careful reader gives (F2); `field` restates reported faults, the rest is ours.

Most of `second` (ids n, x, m, k) was written and frozen before the rules that now pass it. Read for the first time it gave:
n and x 47 of 60 verdicts right, 3 lossy summaries certified, 10 of 30 faithful ones refused; m and k 51 of 60, 1 and 8.
"""

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
SECOND = load("second")
HARD = load("hard")
"""Faithful summaries that the extractor still refuses: it fails closed where it cannot tell."""
POLARITY_OUT_OF_REACH = {"r008", "x6", "p5", "q3", "q11", "q20", "k15"}
"""`Implement` contradicts a stage that was declared a survey: that takes knowledge of the world, not of the words. In the
others the verdict is right, but the opposite stands in a fragment (`and tables`, `mit Steuer`) or in another word (`works`).
"""
QUANTIFIER_OUT_OF_REACH = {"q8", "q11"}
"""`Two of the five` told as `some`, `always ask` as `without asking`: refused, but not called a changed quantifier."""


@pytest.mark.parametrize("case", [*PAIRS, *FIELD, *SECOND], ids=lambda case: case["id"])
def test_check_verdict_of_a_pair_is_the_readers_f2(case: dict[str, Any]) -> None:
    found = check(case["source"], case["summary"], case["source_role"], id=case["id"])
    assert found.verdict == case["verdict"]
    if case["id"] not in QUANTIFIER_OUT_OF_REACH:
        assert found.quantifier == case["quantifier"]
    if case["id"] not in POLARITY_OUT_OF_REACH:
        assert found.polarity == case["polarity"]


@pytest.mark.parametrize("case", [*PAIRS, *FIELD, *SECOND, *HARD], ids=lambda case: case["id"])
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


def test_check_finds_a_call_under_the_object_that_it_is_called_on_f1() -> None:
    """F1: a method named with its object is the same call."""
    found = check("`ReadCommitted()` is called first.", "`store.ReadCommitted()` is called first.", "user")
    assert [fact.survival for fact in found.facts if fact.cls == "identifier"] == ["equivalent"]


def test_check_takes_a_quoted_question_for_a_question_f1() -> None:
    """F1: the mark stands before the closing quote, and the question is still one."""
    asked = "How can it be there? because creating the branch again undeletes the old one?"
    found = check(asked, f'User: "{asked}" All sessions show it.', "user")
    assert [fact.text for fact in found.facts if not fact.survives] == []
