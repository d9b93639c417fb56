"""Evidence names who else carries the fact (contracts section 2)."""

from __future__ import annotations

import pytest

from schemas.decisions import CompactionRefused, EvictionRefused
from tests.support.given import applied, entry, evict, expired, given, observed, opened, request, span, summary

pytestmark = pytest.mark.usefixtures("toy")


def test_c1_evidence_names_the_summary_whose_words_do_not_release_the_entry() -> None:
    """C1: an equivalent statement is a carrier and still no release."""
    records = [opened(store="ledger"), span(1, "n:40"), summary("m1", "=n:40"), request("q1", "m1", 1), applied("q1", "=n:40")]
    scenario = given(*records).when(evict("e1", 1)).then_decision(EvictionRefused, reason="last_carrier")
    assert [item.carriers for item in scenario.decision.evidence] == [("m1",)]


def test_f2_evidence_names_what_stays_and_not_what_leaves() -> None:
    """F2: another span covers a missing fact and none that is inverted; what is to leave too covers nothing."""
    records = [opened(), span(1, "n:40"), span(2, "n:40"), span(3, "n:40"), summary("m1", "-n:40")]
    scenario = given(*records).when(request("q1", "m1", 1, 2)).then_decision(CompactionRefused, rule="F2")
    assert [item.carriers for item in scenario.decision.evidence] == [("s1:3",), ("s1:3",)]
    alone = given(opened(), span(1, "n:40"), summary("m1", "x")).when(request("q1", "m1", 1))
    assert [item.carriers for item in alone.decision.evidence] == [()]


def test_c3_evidence_of_an_observed_round_names_store_entries() -> None:
    """C3: a false statement in the window is evidence though the store has the true one."""
    records = [opened(store="vectors"), span(1, "n:40"), entry(1), summary("m1", "-n:40")]
    scenario = given(*records).when(observed("r1", "m1", turn=1))
    assert [item.carriers for item in scenario.decision.evidence] == [("s1:1",)]
    scenario.when(expired("x1", 1))
    assert [item.carriers for item in scenario.decision.evidence] == [()]


def test_f2_evidence_names_few_carriers_of_what_everybody_repeats() -> None:
    """Contracts section 2: a decision has to fit a log entry."""
    spans = [span(number, "n:40") for number in range(1, 100)]
    scenario = given(opened(), *spans, summary("m1", "-n:40")).when(request("q1", "m1", 1))
    assert [len(item.carriers) for item in scenario.decision.evidence] == [8]
