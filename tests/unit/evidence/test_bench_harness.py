"""The bench judges ratios, refuses wrong answers, and does not believe a run whose reference sways."""

from __future__ import annotations

import itertools

import pytest

from tests.bench import harness
from tests.bench.__main__ import GOALS, parsed
from tests.bench.harness import Case, Outcome, Status, failed, judged, measure, table
from tests.bench.inputs import growing, span


def case(a: list[float], b: list[float], **fields: object) -> Case:
    """A case whose rates are given, round by round."""
    rounds = zip(itertools.cycle(a), itertools.cycle(b), strict=False)

    def pair() -> tuple[tuple[float, float], tuple[float, float]]:
        mine, theirs = next(rounds)
        return (mine, mine), (theirs, theirs)

    return Case(code="G0", what="made up", unit="things", pair=pair, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(("ratio", "status"), [(1.0, "met"), (0.81, "near"), (0.79, "missed")])
def test_ratio_is_judged_at_the_goal_and_at_four_fifths_of_it(ratio: float, status: Status) -> None:
    outcome = measure(case([100 * ratio], [100.0], goal=1.0), 5)
    assert outcome.status == status == judged(ratio, 1.0)
    assert outcome.cpu is not None
    assert outcome.cpu.median == pytest.approx(ratio)


def test_wrong_answer_fails_however_fast() -> None:
    outcome = measure(case([1000.0], [1.0], goal=1.0, check=lambda: "3 facts differ"), 5)
    assert (outcome.status, outcome.note, outcome.cpu) == ("wrong", "3 facts differ", None)
    assert failed([outcome]) == 1


def test_swaying_reference_is_repeated_once_and_then_inconclusive() -> None:
    outcome = measure(case([100.0], [100.0, 200.0], goal=1.0), 4)
    assert outcome.status == "inconclusive"
    assert failed([outcome]) == 3


def test_reference_that_settles_is_judged_after_the_repeat() -> None:
    first, second = [50.0, 200.0, 100.0], [100.0, 100.0, 100.0]
    assert measure(case([100.0], first + second, goal=1.0), 3).status == "met"


def test_median_of_ratios_is_not_the_ratio_of_medians() -> None:
    outcome = measure(case([10.0, 30.0, 20.0], [10.0, 10.0, 10.0]), 3)
    assert outcome.cpu is not None
    assert (outcome.status, outcome.cpu.low, outcome.cpu.median, outcome.cpu.high) == ("no goal", 1.5, 2.0, 2.5)


def test_sides_are_timed_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(harness, "_timed", lambda side: (order.append(side.name), (1.0, 1.0))[1])
    sides = {name: harness.Side(name, lambda: 1.0) for name in "AB"}
    measure(Case(code="G0", what="", unit="", a=sides["A"], b=sides["B"]), 3)
    assert order == ["A", "B", "B", "A", "A", "B"]


def test_table_has_a_row_for_every_outcome() -> None:
    outcomes = [
        measure(case([2.0], [1.0], goal=1.0), 2),
        Outcome(code="G10", what="a peer", unit="lines", status="skipped", note="offline"),
    ]
    text = table(outcomes)
    assert text.count("\n| G") == 2
    assert "- G10: offline" in text


def test_options_name_the_goals() -> None:
    assert parsed([]).goals == list(GOALS)
    assert parsed(["--only", "g1,G9", "--rounds", "3"]).goals == ["G1", "G9"]
    with pytest.raises(SystemExit) as refused:
        parsed(["--only", "G99"])
    assert refused.value.code == 2


def test_growing_run_has_the_records_asked_for_and_its_facts_hold() -> None:
    from ledger.facts import grounded
    from schemas.records import CompactionObserved

    records = list(growing("scope", 1100))
    assert len(records) == 1100 == len({record.id for record in records})
    assert sum(isinstance(record, CompactionObserved) for record in records) == 2
    made = span("scope", "scope", 12)
    assert made.manifest is not None
    assert all(grounded(fact, made.text.text, scope_key="scope") for fact in made.manifest.facts)
