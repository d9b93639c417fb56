"""Pending grants: a grant is a permission and not an effect, and no two grants together break a rule (P5)."""

from __future__ import annotations

import pytest

from ledger.state import ROUND
from schemas.decisions import (
    CompactionGranted,
    CompactionJudged,
    CompactionRefused,
    EvictionGranted,
    EvictionRefused,
    RecordRejected,
    WouldPass,
)
from schemas.records import AnyRecord
from tests.support.given import (
    applied,
    entry,
    evict,
    evicted,
    expired,
    given,
    manifest,
    observed,
    opened,
    request,
    span,
    summary,
    withdrawn,
)
from tests.support.toy_facts import extract, toy_id

pytestmark = pytest.mark.usefixtures("toy")


def base() -> list[AnyRecord]:
    return [opened(), span(1, "n:40"), span(2, "n:7"), summary("m1", "n:40 n:7"), summary("m2", "n:40 =n:7")]


def test_second_compaction_is_refused_until_the_first_ends() -> None:
    """Design section 5: one pending compaction per session, `pending:<id>`, with what to wait for."""
    scenario = given(*base(), request("q1", "m1", 1)).when(request("q2", "m2", 2))
    scenario.then_decision(CompactionRefused, reason="pending:q1", would_pass=WouldPass(wait_for="q1")).then_alerts()
    scenario.when(applied("q1", "n:40 n:7")).then_no_decision()
    scenario.when(request("q3", "m2", 2)).then_decision(CompactionGranted)


def test_withdrawn_grant_leaves_everything_as_it_was() -> None:
    """Design section 5: a withdrawn grant has no effect, and the same summary may be asked for again."""
    scenario = given(*base(), request("q1", "m1", 1), withdrawn("q1")).when(request("q2", "m1", 1, 2))
    scenario.then_decision(CompactionGranted, evict=("s1:1", "s1:2"))
    scenario.when(applied("q1", "n:40 n:7")).then_decision(RecordRejected, reason="no_pending_request")


def test_end_of_a_request_that_is_not_on_record_is_rejected() -> None:
    """A refusal is an event: the record says nothing that could take effect."""
    given(*base()).when(withdrawn("q1")).then_decision(RecordRejected, reason="request_not_recorded")
    given(*base()).when(applied("q1", "n:40 n:7")).then_decision(RecordRejected, reason="no_pending_request")
    given(*base()).when(evicted("q1")).then_decision(RecordRejected, reason="no_pending_request")


def test_withdrawing_a_refused_request_is_fine_and_an_applied_one_is_not() -> None:
    """A client withdraws before it knows the answer."""
    given(*base(), request("q1", "m9", 1)).when(withdrawn("q1")).then_no_decision()
    given(*base(), request("q1", "m1", 1), applied("q1", "n:40 n:7")).when(withdrawn("q1")).then_decision(
        RecordRejected, reason="request_applied"
    )


def test_applied_with_another_summary_is_rejected_and_stays_pending() -> None:
    """C3: what was measured is what may be used."""
    scenario = given(*base(), request("q1", "m1", 1)).when(applied("q1", "n:40 and other words"))
    scenario.then_decision(RecordRejected, reason="summary_differs_from_grant")
    scenario.when(request("q2", "m2", 2)).then_decision(CompactionRefused, reason="pending:q1")
    scenario.when(applied("q1", "n:40 n:7")).then_no_decision()


def test_observation_with_the_granted_summary_ends_the_grant_as_applied() -> None:
    """Design section 5: same summary SHA-256 = applied, then judged as observed."""
    scenario = given(*base(), request("q1", "m1", 1, 2)).when(observed("r1", "m1", turn=2))
    scenario.then_decision(CompactionJudged, verdict="held", ends_pending="q1", pending_applied=True).then_alerts()
    scenario.when(withdrawn("q1")).then_decision(RecordRejected, reason="request_applied")


def test_observation_with_another_summary_withdraws_the_grant() -> None:
    """Design section 5: else withdrawn, then judged: its evidence is that of what really happened."""
    scenario = given(*base(), summary("m3", "n:7"), request("q1", "m1", 1, 2)).when(observed("r1", "m3", turn=2))
    scenario.then_decision(CompactionJudged, verdict="violated", ends_pending="q1", pending_applied=False)
    scenario.then_alerts("+fact_lost")
    scenario.when(withdrawn("q1")).then_decision(RecordRejected, reason="request_withdrawn")


def test_observation_counts_what_was_pending_once() -> None:
    """C3: a pending span that left and its twin that was kept are one carrier gone and one left."""
    records = [opened(), span(1, "n:40"), span(2, "n:40"), summary("m1", "n:40"), summary("m2", "x"), request("q1", "m1", 1)]
    scenario = given(*records).when(observed("r1", "m2", turn=2, kept=(2,)))
    scenario.then_decision(CompactionJudged, verdict="held").then_alerts()


def test_observed_as_applied_drops_on_purpose_what_the_grant_named() -> None:
    """C3: the request's tombstones take effect with it, whoever reports that it was carried out."""
    fact = toy_id("n:7", "s1")
    records = [opened(), span(1, "n:40 n:7"), summary("m1", "n:40"), request("q1", "m1", 1, tombstones=(fact,))]
    scenario = given(*records).when(observed("r1", "m1", turn=1))
    scenario.then_decision(CompactionJudged, verdict="held", evidence_total=0).then_alerts()
    later = [span(2, "i:host"), summary("m2", "i:host", covers_summaries=("m1",))]
    dropped = request("q2", "m2", 2, tombstones=(toy_id("n:40", "s1"),))
    scenario.given(*later, dropped).when(observed("r2", "m2", turn=2))
    scenario.then_decision(CompactionJudged, verdict="held", evidence_total=0).then_alerts()


def test_p5_pending_compaction_counts_as_gone_for_an_index_eviction() -> None:
    """P5: window span pending, store entry asked for: the entry is the last."""
    records = [opened(store="ledger"), span(1, "n:40"), summary("m1", "x"), request("q1", "m1", 1)]
    given(*records[:-1]).when(evict("e1", 1)).then_decision(EvictionGranted)
    scenario = given(*records).when(evict("e1", 1)).then_decision(EvictionRefused, rule="C1", reason="last_carrier")
    scenario.when(withdrawn("q1")).then_no_decision()
    scenario.when(evict("e2", 1)).then_decision(EvictionGranted)


def test_p5_pending_index_eviction_counts_as_gone_for_a_compaction() -> None:
    """P5: the other way round."""
    records = [opened(store="ledger"), span(1, "n:40"), summary("m1", "x"), evict("e1", 1)]
    scenario = given(*records).when(request("q1", "m1", 1)).then_decision(CompactionRefused, rule="F2")
    scenario.when(withdrawn("e1")).then_no_decision()
    scenario.when(request("q2", "m1", 1)).then_decision(CompactionGranted)


def test_p5_summary_that_a_pending_grant_retires_releases_no_entry() -> None:
    """P5, C1: the old summary states it verbatim, but the pending compaction will supersede it."""
    records = [
        opened(store="ledger"), span(1, "n:40"), summary("m1", "n:40"), observed("r1", "m1", turn=1), span(2, "n:7"),
        summary("m2", "n:7", covers_summaries=("m1",)), request("q1", "m2", 2),
    ]  # fmt: skip
    given(*records[:-1]).when(evict("e1", 1)).then_decision(EvictionGranted)
    scenario = given(*records).when(evict("e1", 1)).then_decision(EvictionRefused, reason="last_carrier")
    scenario.when(withdrawn("q1")).then_no_decision()
    scenario.when(evict("e2", 1)).then_decision(EvictionGranted)


def test_p5_two_pending_evictions_of_two_carriers_the_second_is_refused() -> None:
    """P5, C1: each alone would be fine, both together lose the fact."""
    records = [opened(store="ledger"), span(1, "n:40", in_window=False), span(2, "n:40", in_window=False)]
    scenario = given(*records, evict("e1", 1)).when(evict("e2", 2))
    scenario.then_decision(EvictionRefused, rule="C1", reason="last_carrier").then_alerts()
    scenario.when(evict("e3", 1)).then_decision(EvictionRefused, rule="I4", reason="not_recorded")
    scenario.when(evicted("e1")).then_no_decision().then_alerts()
    scenario.when(evict("e4", 2)).then_decision(EvictionRefused, reason="last_carrier")


def test_pending_eviction_withdrawn_releases_its_entries() -> None:
    """P5: the entries count again."""
    records = [opened(store="ledger"), span(1, "n:40", in_window=False), span(2, "n:40", in_window=False)]
    given(*records, evict("e1", 1), withdrawn("e1")).when(evict("e2", 2)).then_decision(EvictionGranted)


def test_pending_eviction_that_was_seen_to_happen_is_carried_out() -> None:
    """Design section 5: pending until applied, withdrawn or a matching observation."""
    records = [opened(store="ledger"), span(1, "n:40"), span(2, "n:7"), evict("e1", 1, 2), expired("x1", 1)]
    given(*records).when(withdrawn("e1")).then_no_decision()
    given(*records, expired("x2", 2)).when(withdrawn("e1")).then_decision(RecordRejected, reason="request_applied")


def test_eviction_applied_late_spares_what_came_back() -> None:
    """C1: an entry that went by itself and was written again is not what the old grant spoke of."""
    records = [opened(store="ledger"), span(1, "n:40"), span(2, "n:7"), evict("e1", 1, 2), expired("x1", 1), entry(1)]
    scenario = given(*records, evicted("e1")).when(observed("r1", None, turn=2, summary_state="missing"))
    scenario.then_alerts("+summary_missing")
    scenario.when(evict("e2", 1)).then_decision(EvictionRefused, reason="last_carrier")


def test_eviction_applied_late_spares_what_another_grant_waits_for() -> None:
    """P5: an entry that went, came back and is pending again belongs to its new grant."""
    records = [
        opened(store="ledger"),
        span(1, "n:40"),
        span(2, "n:7"),
        evict("e1", 1, 2),
        expired("x1", 1),
        entry(1),
        evict("e2", 1),
    ]
    scenario = given(*records, evicted("e1")).when(withdrawn("e2")).then_no_decision()
    scenario.when(evict("e3", 1)).then_decision(EvictionGranted)
    scenario.when(evict("e4", 2)).then_decision(EvictionRefused, reason="not_recorded")


def test_requests_of_two_sessions_may_share_an_id() -> None:
    """Contracts section 1: a request id is unique in its session."""
    records = [opened(store="ledger"), opened("s1/a"), span(1, "n:40"), span(1, "n:7", session="s1/a")]
    scenario = given(*records, evict("e1", 1), evict("e1", 1, session="s1/a")).when(withdrawn("e1"))
    scenario.when(evict("e2", 1)).then_decision(EvictionGranted)
    scenario.when(evict("e2", 1, session="s1/a")).then_decision(EvictionRefused, reason="not_recorded")


def test_manifest_that_arrives_while_its_span_is_leaving_is_not_lost_sight_of() -> None:
    """C2: a newer extractor adds a fact to a span under a pending grant; nothing measured it, so its fate is unknown."""
    older = extract("n:40", "user", scope_key="s1")
    records = [opened(), span(1, "n:40 n:7", manifest=older), summary("m1", "n:40"), request("q1", "m1", 1)]
    scenario = given(*records, manifest(1, "n:40 n:7", extractor="x2")).when(applied("q1", "n:40")).then_alerts()
    (row,) = scenario.fold.rows.all(ROUND).values()
    assert (row.dropped, row.survived, row.unknown) == (2, 1, 1)
    late = given(*records, manifest(1, "n:40 n:7", extractor="x2"), withdrawn("q1")).when(request("q2", "m1", 1))
    late.then_decision(CompactionRefused, evidence_total=1)


def test_known_outcome_of_a_fact_outweighs_that_of_a_late_manifest() -> None:
    """C2: two spans leave together, one measured with the fact and one that is said to hold it only later."""
    older = extract("n:7", "user", scope_key="s1")
    records = [
        opened(),
        span(1, "n:7 n:40", manifest=older),
        span(2, "n:40"),
        summary("m1", "n:40 n:7"),
        request("q1", "m1", 1, 2),
    ]
    scenario = given(*records, manifest(1, "n:7 n:40", extractor="x2")).when(applied("q1", "n:40 n:7"))
    (row,) = scenario.fold.rows.all(ROUND).values()
    assert (row.dropped, row.survived, row.unknown) == (2, 2, 0)


def test_manifest_that_arrives_while_its_entry_is_leaving_counts_as_leaving() -> None:
    """P5, C1: the entry goes with the fact that became known late."""
    records = [opened(store="ledger"), span(1, "n:40", manifest=False, turn=9), evict("e1", 1), manifest(1, "n:40")]
    scenario = given(*records, span(2, "n:40", in_window=False)).when(evict("e2", 2))
    scenario.then_decision(EvictionGranted)  # the span itself is still in the window


def test_grants_of_two_sessions_are_independent() -> None:
    """Window spans are carriers for their own session only."""
    other = [opened("s1/a"), span(1, "n:40", session="s1/a"), summary("m2", "n:40", session="s1/a")]
    scenario = given(opened(), *other, span(1, "n:40"), summary("m1", "n:40"), request("q1", "m1", 1))
    scenario.when(request("q1", "m2", 1, session="s1/a")).then_decision(CompactionGranted)


@pytest.mark.parametrize("text", ["=n:40 t:story t:tale", "n:40 =t:story t:tale", "n:40 t:story"])
def test_p5_compaction_leaves_what_a_pending_eviction_was_granted_for(text: str) -> None:
    """P5, C1: the entry may go because the window holds it; an equivalent statement, or a floor that holds without the fact, is
    then not enough, in whatever order the two are carried out.
    """
    good = "n:40 t:story t:tale"
    records = [opened(store="ledger"), span(1, good), summary("m1", text), summary("m2", good)]
    given(*records).when(request("q1", "m1", 1)).then_decision(CompactionGranted)
    scenario = given(*records, evict("e1", 1)).when(request("q1", "m1", 1))
    scenario.then_decision(CompactionRefused, rule="C1", reason="last_carrier")
    scenario.when(request("q2", "m2", 1)).then_decision(CompactionGranted)
    scenario.given(applied("q2", good)).when(evicted("e1")).then_alerts()


def test_p5_summary_that_a_pending_eviction_was_granted_for_is_superseded_by_one_that_states_it_verbatim() -> None:
    """P5, C1: the same for a live summary."""
    records = [
        opened(store="ledger"),
        span(1, "t:story"),
        summary("m1", "t:story"),
        observed("r1", "m1", turn=1),
        evict("e1", 1),
    ]
    records += [span(2, "n:7"), summary("m2", "n:7 =t:story", covers_summaries=("m1",))]
    records += [summary("m3", "n:7 t:story", covers_summaries=("m1",))]
    given(*records).when(request("q1", "m2", 2)).then_decision(CompactionRefused, rule="C3")
    given(*records).when(request("q1", "m3", 2)).then_decision(CompactionGranted)
