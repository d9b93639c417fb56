"""Requested compactions: rules I3, I4, C2, C3, F1 to F4 in modes `all` and `prefer`."""

from __future__ import annotations

import msgspec
import pytest

from schemas.decisions import CompactionGranted, CompactionRefused, RecordRejected, WouldPass
from schemas.records import Candidate
from tests.support.given import (
    applied,
    declared,
    externalised,
    given,
    observed,
    opened,
    policy,
    request,
    span,
    summary,
    tombstone,
)
from tests.support.toy_facts import toy_id

pytestmark = pytest.mark.usefixtures("toy")
F40, F7, BAN = toy_id("n:40", "s1"), toy_id("n:7", "s1"), toy_id("p:billing", "s1")


def test_c3_all_facts_kept_is_granted_and_nothing_changes_yet() -> None:
    """C3: measured first, granted then; a grant is a permission and no effect."""
    scenario = given(opened(), span(1, "n:40 p:billing"), summary("m1", "n:40 =p:billing"))
    scenario.when(request("q1", "m1", 1)).then_decision(
        CompactionGranted, rule="C3", evict=("s1:1",), summary="m1", request_id="q1"
    ).then_alerts()
    assert [(tag.cls, tag.fidelity, tag.floor) for tag in scenario.decision.tags] == [
        ("prohibition", (1, 1), (1, 1)),
        ("numeric", (1, 1), (1, 1)),
    ]


@pytest.mark.parametrize("sign", ["", "="])
def test_f2_verbatim_and_equivalent_survive(sign: str) -> None:
    """F2: both count."""
    given(opened(), span(1, "n:40"), summary("m1", f"{sign}n:40")).when(request("q1", "m1", 1)).then_decision(CompactionGranted)


@pytest.mark.parametrize("text", ["other", "*n:40", "<n:40", "-n:40", "%n:40"])
def test_f2_missing_changed_weakened_inverted_do_not_survive(text: str) -> None:
    """F2: nothing else counts; the refusal names the fact, its class, its floor and where it stands."""
    scenario = given(opened(), span(1, "see n:40"), summary("m1", text)).when(request("q1", "m1", 1))
    scenario.then_decision(CompactionRefused, rule="F2", reason="below_floor", evidence_total=1).then_alerts()
    (evidence,) = scenario.decision.evidence
    assert (evidence.fact, evidence.cls, evidence.span, evidence.start, evidence.end) == (F40, "numeric", "s1:1", 4, 8)
    assert (evidence.floor, evidence.fidelity) == ((1, 1), (0, 1))


def test_c3_mode_all_is_all_or_nothing() -> None:
    """C3: one span that falls short refuses the whole request, with what mode prefer would grant."""
    scenario = given(opened(), span(1, "n:40"), span(2, "n:7"), summary("m1", "n:40")).when(request("q1", "m1", 1, 2))
    scenario.then_decision(
        CompactionRefused,
        would_pass=WouldPass(
            skip_spans=("s1:2",),
            carry_facts=(F7,),
            tombstone_facts=(F7,),
            externalise_spans=("s1:2",),
            prefer_would_evict=("s1:1",),
        ),
    )


def test_f3_mode_prefer_skips_what_does_not_hold_and_says_why() -> None:
    """F3: the order is a preference and not a mandate."""
    scenario = given(opened(), span(1, "n:7"), span(2, "n:40"), summary("m1", "n:40"))
    scenario.when(request("q1", "m1", 1, 2, mode="prefer")).then_decision(CompactionGranted, rule="F3", evict=("s1:2",))
    (skipped,) = scenario.decision.skipped
    assert (skipped.span, skipped.rule, skipped.cls, skipped.facts, skipped.reason) == (
        "s1:1",
        "F2",
        "numeric",
        (F7,),
        "below_floor",
    )


def test_f3_mode_prefer_stops_once_the_budget_is_met() -> None:
    """F3: no more than needed leaves; the summary's own tokens count."""
    spans = [span(number, "n:40") for number in range(1, 5)]
    scenario = given(opened(), *spans, summary("m1", "n:40", tokens=5))
    asked = request("q1", "m1", 3, 1, 2, 4, mode="prefer", tokens=10, tokens_before=100, budget_tokens=85)
    scenario.when(asked).then_decision(CompactionGranted, evict=("s1:3", "s1:1"), tokens_after=85)


def test_f3_budget_exhausted_refuses_and_changes_nothing() -> None:
    """F3: too little is left: a ticket, nothing leaves, and what was skipped is listed."""
    scenario = given(opened(), span(1, "n:40"), span(2, "n:7"), summary("m1", "n:40"))
    asked = request("q1", "m1", 1, 2, mode="prefer", tokens=10, tokens_before=100, budget_tokens=80)
    scenario.when(asked).then_decision(CompactionRefused, rule="F3", reason="budget_exhausted").then_alerts("+budget_exhausted")
    assert scenario.decision.would_pass == WouldPass(carry_facts=(F7,), tombstone_facts=(F7,), externalise_spans=("s1:2",))
    assert [skipped.span for skipped in scenario.decision.skipped] == ["s1:2"]
    scenario.when(request("q2", "m1", 1)).then_decision(CompactionGranted).then_alerts("-budget_exhausted")


def test_f3_budget_beyond_all_candidates_has_no_way_out() -> None:
    """F3: where all candidates together free too little, no list may pretend to help."""
    scenario = given(opened(), span(1, "n:7"), summary("m1", "n:40"))
    asked = request("q1", "m1", 1, mode="prefer", tokens=10, tokens_before=100, budget_tokens=50)
    scenario.when(asked).then_decision(CompactionRefused, reason="budget_exhausted", would_pass=WouldPass())


def test_f3_budget_already_met_evicts_nothing_and_is_no_exhaustion() -> None:
    """F3: no span need leave."""
    scenario = given(opened(), span(1, "n:40"), summary("m1", "n:40"))
    asked = request("q1", "m1", 1, mode="prefer", tokens=10, tokens_before=50, budget_tokens=60)
    scenario.when(asked).then_decision(CompactionRefused, rule="F3", reason="within_budget").then_alerts()


def test_c3_another_span_that_stays_covers_a_dropped_fact() -> None:
    """C3: each dropped fact needs another carrier; two spans that leave together do not carry each other."""
    records = [opened(), span(1, "n:40"), span(2, "n:40"), summary("m1", "other")]
    given(*records).when(request("q1", "m1", 1)).then_decision(CompactionGranted)
    given(*records).when(request("q1", "m1", 1, 2)).then_decision(
        CompactionRefused,
        would_pass=WouldPass(
            carry_facts=(F40,), tombstone_facts=(F40,), externalise_spans=("s1:1", "s1:2"), prefer_would_evict=("s1:1",)
        ),
    )
    given(*records).when(request("q1", "m1", 1, 2, mode="prefer")).then_decision(CompactionGranted, evict=("s1:1",))


def test_c3_in_prefer_a_span_that_others_rely_on_stays() -> None:
    """C3, F3: an assistant's decision has no floor, but the user's copy, gone first, rests on it."""
    records = [opened(), span(1, "d:lmdb"), span(2, "d:lmdb", "assistant"), summary("m1", "other")]
    given(*records).when(request("q1", "m1", 2)).then_decision(CompactionGranted)
    given(*records).when(request("q1", "m1", 1, 2, mode="prefer")).then_decision(CompactionGranted, evict=("s1:1",))
    given(*records).when(request("q1", "m1", 2, 1, mode="prefer")).then_decision(CompactionGranted, evict=("s1:2",))


@pytest.mark.parametrize("rules", [{"store": "ledger"}, {"store": "none"}])
def test_c3_store_entry_covers_a_dropped_fact(rules: dict[str, str]) -> None:
    """C3: kind `ledger`: the span's record is its entry. Without a store the log is evidence and no carrier."""
    scenario = given(opened(**rules), span(1, "n:40"), summary("m1", "other")).when(request("q1", "m1", 1))
    scenario.then_decision(CompactionGranted if rules["store"] == "ledger" else CompactionRefused)


def test_c3_inverted_fact_is_refused_whatever_else_carries_it() -> None:
    """C3, F2: a false statement in the window is not mended by a true one in the store; a tombstone releases."""
    records = [opened(store="ledger"), span(1, "p:billing"), span(2, "p:billing"), summary("m1", "-p:billing")]
    given(*records).when(request("q1", "m1", 1)).then_decision(CompactionRefused, rule="F2")
    given(*records).when(request("q1", "m1", 1, tombstones=(BAN,))).then_decision(CompactionGranted)
    given(*records, tombstone(BAN)).when(request("q1", "m1", 1)).then_decision(CompactionGranted)


def test_c3_externalised_span_passes_whatever_the_summary_says() -> None:
    """F3: externalise with a verified round trip lets one pass."""
    text = "n:40 p:billing"
    records = [opened(), span(1, text), summary("m1", "-p:billing")]
    given(*records, externalised(1, text)).when(request("q1", "m1", 1)).then_decision(CompactionGranted)
    scenario = given(*records).when(externalised(1, "something else"))
    scenario.then_decision(RecordRejected, reason="round_trip_differs")
    scenario.when(request("q1", "m1", 1)).then_decision(CompactionRefused)


def test_c2_span_without_manifest_is_retained_raw() -> None:
    """C2: it leaves only after a verified externalisation, and no fact list can help."""
    records = [opened(), span(1, "n:40", manifest=False), span(2, "n:7"), summary("m1", "n:40 n:7")]
    scenario = given(*records).when(request("q1", "m1", 1, 2))
    scenario.then_decision(CompactionRefused, rule="C2", reason="unmanifested")
    assert scenario.decision.would_pass == WouldPass(
        skip_spans=("s1:1",), externalise_spans=("s1:1",), prefer_would_evict=("s1:2",)
    )
    scenario.when(request("q2", "m1", 1, 2, mode="prefer")).then_decision(CompactionGranted, evict=("s1:2",))
    given(*records, externalised(1, "n:40")).when(request("q1", "m1", 1, 2)).then_decision(CompactionGranted)


def test_f1_floors_by_class_and_role() -> None:
    """F1: decisions in the user's words have a floor, the assistant's are reported only, reasons and narrative hold at 2/5."""
    refused = [("user", "d:lmdb"), ("user", "r:fast"), ("assistant", "t:story t:tale t:end"), ("tool", "c:friday")]
    for role, text in refused:
        given(opened(), span(1, text, role), summary("m1", "other")).when(request("q1", "m1", 1)).then_decision(
            CompactionRefused
        )
    given(opened(), span(1, "d:lmdb", "assistant"), summary("m1", "other")).when(request("q1", "m1", 1)).then_decision(
        CompactionGranted
    )
    half = [opened(), span(1, "t:story t:tale"), summary("m1", "t:tale")]
    given(*half).when(request("q1", "m1", 1)).then_decision(CompactionGranted)


def test_f2_quantifier_change_is_below_floor_whatever_the_class() -> None:
    """F2: even a decision of the assistant's, which is otherwise reported only."""
    records = [opened(), span(1, "d:lmdb", "assistant"), summary("m1", "%d:lmdb")]
    given(*records).when(request("q1", "m1", 1)).then_decision(CompactionRefused, rule="F2")


def test_f1_policy_lowers_a_floor_from_there_on_and_degrades() -> None:
    """F1: floors are policy, set by a record; one below 1.0 makes the scope best effort."""
    scenario = given(opened(), span(1, "n:40 n:7"), summary("m1", "n:40")).when(policy("floor.numeric", "0.5"))
    scenario.then_no_decision().then_trust("degraded", "floor_below_one:numeric")
    scenario.when(request("q1", "m1", 1)).then_decision(CompactionGranted)


def test_f1_policy_of_the_opening_record_is_in_force() -> None:
    """F1: policy is pinned by the scope's first session, and a later one changes nothing."""
    late = opened("s1/a", policy={"floor.numeric": "1/2"})
    scenario = given(
        opened(policy={"floor.narrative": "1"}), late, span(1, "t:story t:tale n:40"), summary("m1", "t:story n:40")
    )
    scenario.when(request("q1", "m1", 1)).then_decision(CompactionRefused, rule="F2")


@pytest.mark.parametrize(
    ("asked", "rule", "reason"),
    [
        (request("q1", "m9", 1), "I4", "summary_not_recorded:m9"),
        (request("q1", "m1", 1, 9), "I4", "not_recorded"),
        (request("q1", "m1", 1, 1), "I4", "span_named_twice"),
        (request("q1", "m1", 3), "I4", "not_in_window"),
        (request("q1", "m2", 1), "F2", "summary_empty"),
        (request("q1", "m3", 1), "F2", "summary_opaque"),
    ],
)
def test_i4_eviction_set_is_recorded_first(asked: object, rule: str, reason: str) -> None:
    """I4: a subset, by identity, of what is recorded; and a summary without text replaces nothing."""
    records = [
        opened(), span(1, "n:40"), span(3, "n:7", in_window=False),
        summary("m1", "n:40 n:7"), summary("m2", "  "), summary("m3", None, state="opaque"),
    ]  # fmt: skip
    given(*records).when(asked).then_decision(CompactionRefused, rule=rule, reason=reason).then_alerts()  # type: ignore[arg-type]


def test_i4_spans_and_summaries_of_another_session_are_not_its_own() -> None:
    """I4: window spans and summaries belong to one session."""
    other = [opened("s1/a"), span(1, "n:40", session="s1/a"), summary("m2", "n:40", session="s1/a")]
    scenario = given(opened(), *other, span(1, "n:7"), summary("m1", "n:40 n:7"))
    scenario.when(request("q1", "m1", 1, session="s1/a")).then_decision(CompactionRefused, reason="summary_not_recorded:m1")
    scenario.when(request("q2", "m2", 1)).then_decision(CompactionRefused, reason="summary_not_recorded:m2")
    foreign = msgspec.structs.replace(request("q3", "m1", 1), evictions=(Candidate(span="s1/a:1"),))
    scenario.when(foreign).then_decision(
        CompactionRefused, reason="not_in_window", would_pass=WouldPass(skip_spans=("s1/a:1",))
    )


def test_i3_summary_is_used_once() -> None:
    """I3: summaries of summaries get new ids; one that was used cannot take the place of other spans."""
    scenario = given(
        opened(), span(1, "n:40"), span(2, "n:7"), summary("m1", "n:40 n:7"), observed("r1", "m1", turn=1, kept=(2,))
    )
    scenario.when(request("q1", "m1", 2)).then_decision(CompactionRefused, rule="I3", reason="summary_already_used:m1")


def test_request_id_used_for_another_request_is_rejected() -> None:
    """P3: one id, one request; a repeat with the same content gets the same bytes again."""
    scenario = given(opened(), span(1, "n:40"), span(2, "n:7"), summary("m1", "n:40 n:7")).when(request("q1", "m1", 1))
    first = scenario.fold.outputs[-1][1]
    scenario.when(request("q1", "m1", 1)).then_no_decision()
    assert scenario.fold.repeats == [first]
    scenario.when(request("q1", "m1", 2)).then_decision(RecordRejected, reason="conflicting_content")


def test_f3_f4_granted_summary_is_tagged_with_fidelity_and_floor() -> None:
    """F3, F4: what the summary is worth, class by class, over the spans it replaces."""
    records = [opened(store="ledger"), span(1, "n:40 n:7"), span(2, "n:443 t:tale"), summary("m1", "n:40 n:443")]
    scenario = given(*records).when(request("q1", "m1", 1, 2)).then_decision(CompactionGranted)
    assert [(tag.cls, tag.fidelity, tag.floor) for tag in scenario.decision.tags] == [
        ("numeric", (2, 3), (1, 1)),
        ("narrative", (0, 1), (2, 5)),
    ]


def test_c3_superseded_summary_must_not_take_a_fact_with_it() -> None:
    """C3, C5: a fact that lives on in a live summary only is not dropped by the next generation."""
    records = [
        opened(), span(1, "n:40"), span(2, "n:7"), summary("m1", "n:40"), observed("r1", "m1", turn=1, kept=(2,)),
        summary("m2", "n:7", generation=2, covers_summaries=("m1", "m1")),
    ]  # fmt: skip
    scenario = given(*records).when(request("q1", "m2", 2))
    scenario.then_decision(CompactionRefused, rule="C3", would_pass=WouldPass(carry_facts=(F40,), tombstone_facts=(F40,)))
    scenario.when(request("q2", "m2", 2, mode="prefer")).then_decision(
        CompactionRefused, rule="C3", would_pass=WouldPass(carry_facts=(F40,), tombstone_facts=(F40,))
    )
    scenario.when(request("q3", "m2", 2, tombstones=(F40,))).then_decision(CompactionGranted, retires=("m1",))


def test_c3_a_span_on_which_a_superseded_summary_rests_stays() -> None:
    """C3: the user's decision is carried by the old summary and by an assistant's span that has no floor of its own."""
    records = [
        opened(), span(1, "d:lmdb"), summary("m1", "d:lmdb"), observed("r1", "m1", turn=1),
        span(2, "d:lmdb", "assistant"), span(3, "n:7"), summary("m2", "n:7", covers_summaries=("m1",)),
    ]  # fmt: skip
    given(*records).when(request("q1", "m2", 3)).then_decision(CompactionGranted, retires=("m1",))
    given(*records).when(request("q1", "m2", 2, 3)).then_decision(CompactionRefused, rule="F2")


def test_c3_live_summary_that_stays_covers() -> None:
    """C3: a live summary that the new one does not supersede is another carrier."""
    records = [
        opened(),
        span(1, "n:40"),
        summary("m1", "=n:40"),
        observed("r1", "m1", turn=1),
        span(2, "n:40"),
        summary("m2", "x"),
    ]
    given(*records).when(request("q1", "m2", 2)).then_decision(CompactionGranted)


def test_c3_applied_grant_leaves_the_window_and_raises_nothing() -> None:
    """C3: the effect comes with `compaction.applied`, and a fact that keeps a carrier raises no alert."""
    scenario = given(opened(store="ledger"), span(1, "n:40 p:billing"), summary("m1", "n:40"), request("q1", "m1", 1))
    scenario.when(applied("q1", "n:40")).then_no_decision().then_alerts()
    scenario.when(request("q2", "m1", 1)).then_decision(CompactionRefused, reason="summary_already_used:m1")


def test_i2_declared_store_matters_for_entries_only() -> None:
    """C3: a declared store carries nothing before its entries are on record."""
    scenario = given(opened(), declared("vectors"), span(1, "n:40"), summary("m1", "x")).when(request("q1", "m1", 1))
    scenario.then_decision(CompactionRefused)
