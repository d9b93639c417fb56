"""Rules F1 to F5 as functions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.floors import (
    FLOORS,
    REPORTED_ONLY,
    WHOLE,
    MeasuredFact,
    answers_for,
    at_least,
    below_floor,
    budget_met,
    fidelity,
    floor_of,
    forced_below,
    measure,
    ratio_of,
    violation_rate,
)
from schemas.decisions import Ratio
from schemas.facts import FACT_CLASSES, FactClass, Outcome

TWO_FIFTHS: Ratio = (2, 5)


def said(cls: FactClass, outcome: Outcome, floor: Ratio = WHOLE, *, quantifier: bool = False) -> MeasuredFact:
    return MeasuredFact(cls, floor, outcome, quantifier)


def test_f1_floors_are_whole_but_for_narrative() -> None:
    assert {cls: FLOORS[cls] for cls in FACT_CLASSES} == {
        **dict.fromkeys(FACT_CLASSES, WHOLE),
        "narrative": TWO_FIFTHS,
    }


@pytest.mark.parametrize(
    ("cls", "kind", "role", "floor"),
    [
        ("numeric", "", "tool", WHOLE),
        ("decision", "decided", "user", WHOLE),
        ("decision", "rejected", "user", WHOLE),
        ("decision", "decided", "assistant", REPORTED_ONLY),
        ("decision", "rejected", "tool", REPORTED_ONLY),
        ("decision", "reason", "user", TWO_FIFTHS),
        ("decision", "reason", "assistant", TWO_FIFTHS),
        ("narrative", "", "user", TWO_FIFTHS),
        ("instruction", "", "assistant", WHOLE),
    ],
)
def test_f1_floor_of_one_fact(cls: FactClass, kind: str, role: str, floor: Ratio) -> None:
    assert floor_of(cls, kind, role) == floor  # type: ignore[arg-type]


def test_f1_policy_lays_over_reasons_and_decisions_too() -> None:
    floors = {**FLOORS, "narrative": (1, 2), "decision": (3, 4)}
    assert floor_of("decision", "reason", "user", floors) == (1, 2)
    assert floor_of("decision", "decided", "user", floors) == (3, 4)
    assert floor_of("decision", "decided", "assistant", floors) == REPORTED_ONLY


@pytest.mark.parametrize(
    ("text", "ratio"),
    [
        ("2/5", (2, 5)),
        ("0.4", (2, 5)),
        ("1", (1, 1)),
        ("1.0", (1, 1)),
        ("0", (0, 1)),
        ("3/3", (1, 1)),
        ("1.5", None),
        ("3/2", None),
        ("-1", None),
        ("1/0", None),
        ("1e-1", None),
        ("1e999999999", None),
        (" 1", None),
        ("\u0661", None),
        ("", None),
        ("0.4\n", None),
        ("1/" + "9" * 5000, None),
    ],
)
def test_f1_ratio_of_takes_exact_ratios_between_zero_and_one(text: str, ratio: Ratio | None) -> None:
    assert ratio_of(text) == ratio


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 20), st.integers(1, 20))
def test_f2_at_least_is_exact(kept: int, more: int, up: int, down: int) -> None:
    whole = kept + more
    assert at_least((kept, whole), (up, down)) == (whole == 0 or Fraction(kept, whole) >= Fraction(up, down))


def test_f2_fidelity_counts_verbatim_and_equivalent_only() -> None:
    assert fidelity(["verbatim", "equivalent", "changed", "inverted", "weakened", "missing", "unknown"]) == (2, 7)
    assert fidelity([]) == (0, 0)


def test_f2_measure_groups_by_class_and_floor_in_class_order() -> None:
    facts = [
        said("narrative", "missing", TWO_FIFTHS),
        said("decision", "missing", REPORTED_ONLY),
        said("decision", "verbatim"),
        said("prohibition", "equivalent"),
        said("narrative", "verbatim", TWO_FIFTHS),
        said("decision", "missing"),
    ]
    found = [(result.cls, result.floor, result.fidelity, result.dropped, result.holds) for result in measure(facts)]
    assert found == [
        ("prohibition", WHOLE, (1, 1), (), True),
        ("decision", REPORTED_ONLY, (0, 1), (1,), True),
        ("decision", WHOLE, (1, 2), (5,), False),
        ("narrative", TWO_FIFTHS, (1, 2), (0,), True),
    ]


@pytest.mark.parametrize(("kept", "dropped", "below"), [(2, 3, ()), (1, 2, (1, 2)), (4, 6, ()), (3, 5, (3, 4, 5, 6, 7))])
def test_f2_narrative_holds_at_exactly_two_fifths(kept: int, dropped: int, below: tuple[int, ...]) -> None:
    facts = [said("narrative", "verbatim", TWO_FIFTHS)] * kept + [said("narrative", "missing", TWO_FIFTHS)] * dropped
    assert below_floor(facts) == below


def test_f2_inverted_or_quantifier_changed_is_below_floor_whatever_the_class() -> None:
    facts = [
        said("narrative", "verbatim", TWO_FIFTHS),
        said("narrative", "inverted", TWO_FIFTHS),
        said("decision", "changed", REPORTED_ONLY, quantifier=True),
        said("decision", "missing", REPORTED_ONLY),
    ]
    assert below_floor(facts) == (1, 2)
    assert [forced_below(fact) for fact in facts] == [False, True, True, False]


@given(
    st.lists(st.builds(said, st.sampled_from(FACT_CLASSES), st.sampled_from(("verbatim", "missing", "inverted"))), max_size=8)
)
def test_f2_below_floor_keeping_what_it_names_is_enough(facts: list[MeasuredFact]) -> None:
    needed = set(below_floor(facts))
    mended = [MeasuredFact(f.cls, f.floor, "verbatim") if at in needed else f for at, f in enumerate(facts)]
    assert below_floor(mended) == ()


@pytest.mark.parametrize(
    ("before", "freed", "summary", "budget", "met"), [(100, 20, 5, 85, True), (100, 20, 6, 85, False), (80, 0, 0, 80, True)]
)
def test_f3_budget_counts_what_the_summary_adds(before: int, freed: int, summary: int, budget: int, met: bool) -> None:
    assert budget_met(before, freed, summary, budget) is met


def test_f4_a_summary_below_its_floor_does_not_answer_for_the_class() -> None:
    tags: list[tuple[FactClass, Ratio, Ratio]] = [
        ("numeric", (1, 2), WHOLE),
        ("identifier", (3, 3), WHOLE),
        ("decision", (0, 4), REPORTED_ONLY),
        ("decision", (1, 2), WHOLE),
    ]
    assert not answers_for("numeric", tags)
    assert answers_for("identifier", tags)
    assert not answers_for("decision", tags)
    assert answers_for("commitment", tags)


def test_f5_violation_rate_is_below_over_evicted() -> None:
    assert violation_rate(8, 3) == (3, 8)
