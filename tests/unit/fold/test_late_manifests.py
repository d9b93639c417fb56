"""Facts that become known after their span has left: judged as its compaction would have been (C2, C3, P4)."""

from __future__ import annotations

import pytest

from ledger.lookup import carrier_count, fact_in_session, fact_row, round_row, session_row
from ledger.state import fact_key
from schemas.decisions import CompactionJudged
from tests.support.given import (
    Scenario,
    applied,
    given,
    manifest,
    observed,
    opened,
    request,
    span,
    summary,
    tombstone,
)
from tests.support.toy_facts import toy_id

pytestmark = pytest.mark.usefixtures("toy")
F40, BAN = toy_id("n:40", "s1"), toy_id("p:billing", "s1")


def left(text: str, *, said: str = "x", store: str = "none") -> Scenario:
    """A span without manifest that has left the window for a summary."""
    return given(opened(store=store), span(1, text, manifest=False), summary("m1", said), observed("r1", "m1", turn=1))


def test_c3_p4_late_facts_that_the_summary_lacks_are_lost_in_the_round_the_span_left_in() -> None:
    """C3, P4: the loss alerts of the departure come with the manifest, and the round's counts go on adding up."""
    scenario = left("n:40 p:billing").when(manifest(1, "n:40 p:billing"))
    scenario.then_decision(
        CompactionJudged, verdict="violated", reason="late_manifest", ordinal=1, round="r1", evidence_total=2, summary="m1"
    )
    scenario.then_alerts("+fact_lost", "+prohibition_lost", "-unmanifested_span_left")
    scenario.then_alert("+prohibition_lost", subject=f"{BAN}@s1", severity="page", group="s1/r1", rule="C3")
    rows = scenario.fold.rows
    session = session_row(rows, "s1")
    assert session is not None
    row = round_row(rows, session, 1)
    assert row is not None
    assert (row.dropped, row.lost, row.survived, session.dropped) == (2, 2, 0, 2)
    assert fact_in_session(rows, fact_key(F40), session).lost_round == 1


def test_c3_late_facts_that_a_live_summary_states_are_carried_by_it() -> None:
    """C3, C4: measured then and there, and lost only when that summary goes."""
    scenario = left("n:40", said="n:40").when(manifest(1, "n:40"))
    scenario.then_decision(CompactionJudged, verdict="held", evidence_total=0).then_alerts("-unmanifested_span_left")
    scenario.when(summary("m2", "x"), observed("r2", "m2", turn=2)).then_alerts("+fact_lost")


def test_f2_late_fact_that_the_summary_turns_pages() -> None:
    """F2: the opposite stands in the window."""
    left("n:40", said="-n:40").when(manifest(1, "n:40")).then_alerts("+fact_inverted", "-unmanifested_span_left")


def test_c1_late_facts_of_a_stored_span_are_not_lost() -> None:
    """C1: the raw entry carries them, though the summary lacks them."""
    scenario = left("n:40", store="ledger").when(manifest(1, "n:40"))
    scenario.then_decision(CompactionJudged, verdict="held").then_alerts("-unmanifested_span_left")


def test_p4_late_facts_whose_summary_cannot_be_read_are_unknown() -> None:
    """P4: nobody can say what became of them."""
    records = [opened(), span(1, "n:40", manifest=False), observed("r1", None, turn=1, summary_state="opaque")]
    scenario = given(*records).when(manifest(1, "n:40")).then_decision(CompactionJudged, verdict="unknown")
    session = session_row(scenario.fold.rows, "s1")
    assert session is not None
    assert fact_in_session(scenario.fold.rows, fact_key(F40), session).unknown_round == 1


def test_d1_late_facts_that_left_with_another_span_have_their_fate_already() -> None:
    """D1: each fact once; a tombstone that covers it holds."""
    records = [opened(), span(1, "n:40"), span(2, "n:40", manifest=False), summary("m1", "x"), observed("r1", "m1", turn=2)]
    scenario = given(*records, tombstone(F40)).when(manifest(2, "n:40"))
    scenario.then_decision(CompactionJudged, evidence_total=0).then_alerts("-unmanifested_span_left")
    session = session_row(scenario.fold.rows, "s1")
    assert session is not None
    assert session.dropped == 1


def test_p5_late_facts_of_a_summary_that_a_pending_grant_retires_count_as_leaving() -> None:
    """P5: other requests are decided as if the summary were gone already."""
    records = [span(2, "t:x"), summary("m2", "t:x", covers_summaries=("m1",)), request("q1", "m2", 2)]
    scenario = left("n:40", said="n:40").given(*records).when(manifest(1, "n:40"))
    scenario.when(applied("q1", "t:x"))
    rows, key = scenario.fold.rows, fact_key(F40)
    session, row = session_row(rows, "s1"), fact_row(rows, key)
    assert session is not None
    assert row is not None
    assert carrier_count(rows, key, row, session).total == 0  # its letter was not in the grant: unmeasured
    assert fact_in_session(rows, key, session).unknown_round == 2


def test_c2_manifest_of_a_span_that_never_was_in_the_window_is_not_judged() -> None:
    """C2: it left nothing."""
    records = [opened(store="ledger"), span(1, "n:40", manifest=False, in_window=False)]
    given(*records).when(manifest(1, "n:40")).then_no_decision().then_alerts()
