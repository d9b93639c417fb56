"""The README shows the figures that were stored, and storing keeps what was not measured again."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.evidence.report import Table
from ops.evidence.stored import Evidence, part
from ops.evidence.stored import store as store_evidence
from ops.evidence.stored import stored as stored_evidence
from tests.bench.__main__ import GOALS
from tests.bench.harness import Figures, Outcome
from tests.bench.stored import Taken, store, stored
from tests.docs.measured import SESSION_ROWS, measured, section
from tests.docs.readme import README

pytestmark = pytest.mark.docs


def outcome(code: str, ratio: float, **fields: object) -> Outcome:
    figures = Figures(ratio, ratio, ratio, 1.0, 1.0, 0.0)
    return Outcome(code=code, what="a ÷ b", unit="things", goal=1.0, cpu=figures, wall=figures, **fields)  # type: ignore[arg-type]


def test_readme_shows_the_stored_figures() -> None:
    """Refresh it with: python -m tests.docs.refresh --measured"""
    assert measured(README.read_text("utf-8")) == section(stored(), stored_evidence())


def test_figures_are_stored_with_date_and_machine_and_no_goal_is_passed_over() -> None:
    shown = measured(README.read_text("utf-8"))
    assert [name for name in GOALS if f"| {name} " not in shown] == []
    assert all(one.date and "Python" in one.machine for one in stored())
    assert stored_evidence().session is not None
    assert stored_evidence().rounds is not None


def test_measuring_one_goal_again_replaces_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    store([outcome("G10 memory", 1.0, status="met"), outcome("G2", 2.0, status="met")], "first", path)
    store([outcome("G2", 0.5, status="missed")], "second", path)
    found = stored(path)
    assert [(one.outcome.code, one.machine, one.outcome.status) for one in found] == [
        ("G2", "second", "missed"),
        ("G10 memory", "first", "met"),
    ]


def test_a_run_that_failed_leaves_the_older_figure(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    store([outcome("G2", 2.0, status="met")], "first", path)
    store([Outcome(code="G2", what="", unit="", status="wrong", note="a file was missing")], "second", path)
    assert [(one.machine, one.outcome.status) for one in stored(path)] == [("first", "met")]


def test_section_says_of_a_missed_goal_why(tmp_path: Path) -> None:
    missed = Taken("2026-01-01", "a machine", outcome("G1", 0.5, status="missed", why="it is slow"))
    text = " ".join(section([missed], Evidence()).split())
    assert "| G1 | a ÷ b | 0.50 | 1.00 | no: it is slow |" in text
    assert "| G2 | | | | not measured yet |" in text
    assert "Taken: G1: 2026-01-01, a machine." in text


def test_half_of_the_evidence_that_was_not_gathered_again_stays(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    rows = [(name, "1", "2", "") for name in SESSION_ROWS]
    store_evidence(Evidence(session=part("9 turns", Table(("figure", "off", "on", "said"), rows))), path)
    store_evidence(Evidence(rounds=part("3 rounds", Table(("kind",), [("decided",)]))), path)
    found = stored_evidence(path)
    assert found.session is not None
    assert found.rounds is not None
    text = section([], found)
    assert "A session of 9 turns" in text
    assert "in 3 rounds" in text
