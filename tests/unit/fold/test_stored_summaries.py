"""A superseded summary is a carrier while it has a store entry, and no longer (design section 3, C1, C4)."""

from __future__ import annotations

import pytest

from schemas.decisions import EvictionJudged, EvictionRefused
from schemas.records import EvictionObserved
from tests.support.given import Scenario, entry, evict, given, observed, opened, record, span, summary, tombstone
from tests.support.toy_facts import toy_id

pytestmark = pytest.mark.usefixtures("toy")
F40 = toy_id("n:40", "s1")


def superseded(*, stored: bool, store: str = "vectors") -> Scenario:
    """A summary that held a fact and was superseded by one that does not."""
    records = [opened(store=store), span(1, "n:40"), summary("m1", "n:40"), observed("r1", "m1", turn=1)]
    held = [entry("m1")] if stored else []
    return given(*records, *held, summary("m2", "x")).when(observed("r2", "m2", turn=2))


def gone(*names: str, occurrence: str = "e1") -> EvictionObserved:
    """The store has dropped these entries by itself."""
    return record(EvictionObserved, occurrence, spans=names, policy="ttl", occurrence=occurrence)


def test_c4_superseded_summary_with_a_store_entry_carries() -> None:
    """C4: the agent can still fetch it; without an entry the fact is lost."""
    superseded(stored=True).then_alerts()
    superseded(stored=False).then_alerts("+fact_lost")


def test_p9_entry_of_a_superseded_summary_clears_the_alert() -> None:
    """P9: the fact can be reached again."""
    superseded(stored=False).when(entry("m1")).then_alerts("-fact_lost")


def test_c1_entry_of_a_summary_that_goes_takes_its_facts_with_it() -> None:
    """C1: its last carrier, though it was no raw one; a second look says nothing."""
    scenario = superseded(stored=True).when(gone("m1"))
    scenario.then_decision(EvictionJudged, verdict="violated", spans=("m1",), evidence_total=1)
    scenario.then_alerts("+last_carrier_evicted")
    scenario.when(gone("m1", occurrence="e2")).then_decision(EvictionJudged, verdict="held", spans=()).then_alerts()


def test_c1_entry_of_a_live_summary_may_go() -> None:
    """C1: the window holds it; a fact dropped on purpose needs no carrier either."""
    records = [opened(store="vectors"), span(1, "n:40"), summary("m1", "n:40"), observed("r1", "m1", turn=1), entry("m1")]
    given(*records).when(gone("m1")).then_decision(EvictionJudged, verdict="held").then_alerts()
    superseded(stored=True).given(tombstone(F40)).when(gone("m1")).then_decision(EvictionJudged, verdict="held").then_alerts()


def test_c1_stored_summary_does_not_release_the_last_raw_entry() -> None:
    """C1: only another raw carrier, a live verbatim statement or a tombstone does."""
    superseded(stored=True, store="ledger").when(evict("e9", 1)).then_decision(EvictionRefused, reason="last_carrier")


def test_c4_summary_that_is_shown_once_more_carries_what_it_is_measured_to_state() -> None:
    """C4: its entry is counted once for each fact, however often it goes live."""
    records = [opened(store="vectors"), span(1, "n:40"), summary("m1", "n:40"), observed("r1", "m1", turn=1), entry("m1")]
    scenario = given(*records, span(2, "n:40")).when(observed("r2", "m1", turn=2)).then_alerts()
    scenario.when(summary("m2", "x"), observed("r3", "m2", turn=3)).then_alerts()
    scenario.when(gone("m1")).then_alerts("+last_carrier_evicted")
