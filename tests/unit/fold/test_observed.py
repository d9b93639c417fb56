"""Observed compactions: nothing can be refused any more, so the same rules raise alerts (C3, C5, C6, F2, F5, D2)."""

from __future__ import annotations

import msgspec
import pytest

from ledger.state import LIFE, LOST, ROUND, SESSION, SPAN
from schemas.codec import decode_decision, encode
from schemas.decisions import CompactionGranted, CompactionJudged, CompactionRefused
from schemas.records import Role, SpanRange
from tests.support.given import Fold, Scenario, given, observed, opened, request, span, summary
from tests.support.toy_facts import toy_id

pytestmark = pytest.mark.usefixtures("toy")
F40, BAN = toy_id("n:40", "s1"), toy_id("p:billing", "s1")


def lives(scenario: Scenario, fact: str) -> list[tuple[str, int]]:
    """Steps in the life of a fact with their rounds."""
    return [(row.step, row.round) for _, row in scenario.fold.rows.walk(LIFE, bytes.fromhex(fact[1:]))]


def test_c3_lost_fact_is_a_ticket_and_a_lost_ban_a_page() -> None:
    """C3, P9: one alert a fact, one group a round."""
    scenario = given(opened(), span(1, "n:40 p:billing"), summary("m1", "x")).when(observed("r1", "m1", turn=1))
    scenario.then_decision(CompactionJudged, verdict="violated", evidence_total=2, ordinal=1)
    scenario.then_alerts("+fact_lost", "+prohibition_lost")
    scenario.then_alert("+fact_lost", severity="ticket", rule="C3", subject=f"{F40}@s1", group="s1/r1", runbook="fact_lost")
    scenario.then_alert("+prohibition_lost", severity="page", subject=f"{BAN}@s1", group="s1/r1")
    assert [item.cls for item in scenario.decision.evidence] == ["prohibition", "numeric"]


@pytest.mark.parametrize(
    ("roles", "severity"),
    [(("assistant",), "ticket"), (("tool",), "ticket"), (("system",), "page"), (("user", "assistant"), "page")],
)
def test_c3_negated_statement_pages_only_if_it_binds_the_agent(roles: tuple[Role, ...], severity: str) -> None:
    """C3, P9: what an agent or a tool says does not hold wakes nobody, unless the user had said it first."""
    spans = [span(number, "p:billing", role) for number, role in enumerate(roles, 1)]
    scenario = given(opened(), *spans, summary("m1", "x")).when(observed("r1", "m1", turn=len(roles)))
    scenario.then_alerts("+prohibition_lost").then_alert("+prohibition_lost", severity=severity, subject=f"{BAN}@s1")


def test_kept_tail_stays_in_the_window() -> None:
    """An observed round empties the window but for what it lists as kept."""
    spans = [span(number, f"n:{number}") for number in range(1, 5)]
    scenario = given(opened(), *spans, summary("m1", "x")).when(observed("r1", "m1", turn=4, kept=(3, 4)))
    scenario.then_decision(CompactionJudged, kept=2, left=(SpanRange("s1:1", "s1:2"),)).then_alerts("+fact_lost", "+fact_lost")
    scenario.when(observed("r2", None, turn=4, summary_state="missing"))
    scenario.then_decision(CompactionJudged, left=(SpanRange("s1:3", "s1:4"),), kept=0)


def test_span_without_turns_stands_behind_all_that_is_on_record() -> None:
    """C4, C3: who comes back in another process and counts no messages is in the window, and what was lost is stated again."""
    told = msgspec.structs.replace(span(8, "n:40"), turns=None)
    scenario = given(opened(), span(1, "n:40"), summary("m1", "x"), observed("r1", "m1", turn=7)).when(told)
    scenario.then_alerts("-fact_lost")
    assert [row.turns for _, row in scenario.fold.rows.walk(SPAN, b"") if row.in_window] == [(8, 8)]
    late = msgspec.structs.replace(told, turns=(3, 3))
    given(opened(), span(1, "n:40"), summary("m1", "x"), observed("r1", "m1", turn=7)).when(late).then_alerts()


def test_kept_span_carries_what_the_round_dropped() -> None:
    """C3: another carrier in the window."""
    records = [opened(), span(1, "n:40"), span(2, "n:40"), summary("m1", "x")]
    given(*records).when(observed("r1", "m1", turn=2, kept=(2,))).then_decision(CompactionJudged, verdict="held").then_alerts()


def test_unseen_spans_are_a_finding_of_their_own() -> None:
    """Design section 7: dropped before the summariser saw them."""
    records = [opened(), span(1, "n:40"), span(2, "n:7"), summary("m1", "n:40 n:7")]
    scenario = given(*records).when(observed("r1", "m1", turn=2, unseen=(2,)))
    scenario.then_decision(CompactionJudged, unseen=(SpanRange("s1:2", "s1:2"),)).then_alerts("+spans_unseen")
    (row,) = scenario.fold.rows.all(ROUND).values()
    assert (row.left, row.unseen, row.kept) == (1, 1, 0)


@pytest.mark.parametrize(
    ("state", "recorded"),
    [("empty", "m2"), ("opaque", "m3"), ("error_text", "m4"), ("missing", None), ("text", None), ("text", "m9")],
)
def test_d2_summary_that_cannot_be_read_makes_the_round_unknown(state: str, recorded: str | None) -> None:
    """D2, P4: only text can be judged: nothing is called lost that nobody could look for; a name without text is missing."""
    records = [
        opened(), span(1, "n:40 p:billing"), summary("m2", ""), summary("m3", None, state="opaque"),
        summary("m4", "API error", state="error_text"),
    ]  # fmt: skip
    told = state if state != "text" else "missing"
    scenario = given(*records).when(observed("r1", recorded, turn=1, summary_state=state))
    scenario.then_decision(CompactionJudged, verdict="unknown", reason=f"summary_{told}", summary_state=told, evidence_total=0)
    scenario.then_alerts(f"+summary_{told}")
    (row,) = scenario.fold.rows.all(ROUND).values()
    assert (row.dropped, row.survived, row.lost, row.unknown) == (2, 0, 0, 2)
    scenario.when(span(2, "n:40")).then_alerts()
    assert lives(scenario, F40) == [("unknown", 1), ("regained", 1)]


def test_d2_summary_called_text_that_is_empty_counts_as_empty() -> None:
    """D2: what was recorded decides, not what the observer calls it."""
    scenario = given(opened(), span(1, "n:40"), summary("m1", " \n")).when(observed("r1", "m1", turn=1))
    scenario.then_decision(CompactionJudged, verdict="unknown", summary_state="empty").then_alerts("+summary_empty")


def test_opaque_summary_makes_the_scope_unclear() -> None:
    """T1: an opaque summary is a reason for *unknown*."""
    records = [opened(), span(1, "n:40"), summary("m1", None, state="opaque")]
    given(*records).when(observed("r1", "m1", turn=1, summary_state="opaque")).then_trust("unknown", "opaque_summary:round_1")


def test_summary_of_another_session_counts_as_missing() -> None:
    """A live summary is a carrier for its own session only."""
    records = [opened(), opened("s1/a"), span(1, "n:40"), summary("m1", "n:40", session="s1/a")]
    scenario = (
        given(*records).when(observed("r1", "m1", turn=1)).then_decision(CompactionJudged, verdict="unknown", summary=None)
    )
    scenario.when(observed("r1", "m1", turn=1, session="s1/a")).then_decision(CompactionJudged, summary="m1")


def test_superseded_summary_cannot_come_back() -> None:
    """I3: its text is not kept, so nothing can be measured against it; a live one that is shown again is measured again."""
    records = [opened(), span(1, "n:40"), summary("m1", "n:40"), observed("r1", "m1", turn=1), span(2, "n:40 n:7")]
    again = given(*records).when(observed("r2", "m1", turn=2)).then_decision(CompactionJudged, verdict="violated")
    again.then_alerts("+fact_lost").then_alert("+fact_lost", subject=f"{toy_id('n:7', 's1')}@s1")
    later = [summary("m2", "n:40 n:7"), observed("r2", "m2", turn=2), span(3, "n:40")]
    scenario = given(*records, *later).when(observed("r3", "m1", turn=3))
    scenario.then_decision(CompactionJudged, verdict="unknown", summary_state="missing")


def test_nothing_in_the_window_and_nothing_live_holds() -> None:
    """An empty round costs nothing."""
    given(opened()).when(observed("r1", None, turn=0, summary_state="missing")).then_decision(CompactionJudged, verdict="held")


def test_c5_second_generation_loses_what_the_first_kept() -> None:
    """C5: the round at which a fact lost its last summary carrier is on record, and it is alerted then."""
    records = [opened(), span(1, "n:40 i:host"), summary("m1", "n:40 i:host"), observed("r1", "m1", turn=1)]
    scenario = given(*records, summary("m2", "i:host", generation=2)).when(observed("r2", "m2", turn=1))
    scenario.then_decision(CompactionJudged, verdict="violated", retires=("m1",)).then_alerts("+fact_lost")
    assert [item.rule for item in scenario.decision.evidence] == ["C5"]
    assert lives(scenario, F40) == [("carried", 1), ("lost_from_summary", 2)]
    assert {(row.span, row.outcome) for row in scenario.fold.rows.all(LOST).values()} == {("s1:1", "missing")}


def test_c5_second_generation_without_any_span_is_judged_all_the_same() -> None:
    """C5: a round in which no span leaves can still drop what the old summary carried."""
    records = [
        opened(),
        span(1, "p:billing"),
        summary("m1", "p:billing"),
        observed("r1", "m1", turn=1),
        summary("m2", "-p:billing"),
    ]
    scenario = given(*records).when(observed("r2", "m2", turn=1)).then_decision(CompactionJudged, verdict="violated")
    scenario.then_alerts("+fact_inverted")


def test_c5_users_decision_is_needed_though_an_assistant_said_it_last() -> None:
    """F1, C5: the span that leaves has no floor for it, the summary that is superseded carried it for the user."""
    records = [
        opened(),
        span(1, "d:lmdb"),
        summary("m1", "d:lmdb"),
        observed("r1", "m1", turn=1),
        span(2, "d:lmdb", "assistant"),
    ]
    scenario = given(*records, summary("m2", "x")).when(observed("r2", "m2", turn=2))
    scenario.then_decision(CompactionJudged, verdict="violated").then_alerts("+fact_lost")


def test_c5_summary_that_states_a_lost_fact_again_regains_it() -> None:
    """C5, P9: by its own measured facts, or by what survived."""
    records = [opened(), span(1, "n:40"), summary("m1", "x"), observed("r1", "m1", turn=1), span(2, "i:host")]
    scenario = given(*records, summary("m2", "n:40 i:host", manifest=True)).when(observed("r2", "m2", turn=2))
    scenario.then_alerts("-fact_lost")
    assert lives(scenario, F40) == [("lost", 1), ("regained", 1)]


@pytest.mark.parametrize(
    ("sign", "kind", "rule", "severity"),
    [
        ("-", "fact_inverted", "F2", "page"),
        ("%", "quantifier_changed", "F2", "ticket"),
        ("*", "fact_lost", "C3", "ticket"),
        ("<", "fact_lost", "C3", "ticket"),
        ("~", "hedge_stripped", "C6", "ticket"),
    ],
)
def test_f2_c6_what_a_summary_does_to_a_fact(sign: str, kind: str, rule: str, severity: str) -> None:
    """F2, C6: anything inverted pages; a summary that is surer than its source is a finding; restating clears each of them."""
    scenario = given(opened(), span(1, "n:40"), summary("m1", f"{sign}n:40")).when(observed("r1", "m1", turn=1))
    scenario.then_alerts(f"+{kind}").then_alert(f"+{kind}", rule=rule, severity=severity)
    scenario.then_decision(CompactionJudged, verdict="held" if sign == "~" else "violated")
    scenario.when(span(2, "n:40")).then_alerts(f"-{kind}")


def test_f2_inverted_fact_pages_though_the_store_holds_it() -> None:
    """C3: a false statement in the window is not mended by a true one in the store."""
    scenario = given(opened(store="ledger"), span(1, "p:billing"), summary("m1", "-p:billing"))
    scenario.when(observed("r1", "m1", turn=1)).then_decision(CompactionJudged, verdict="violated").then_alerts(
        "+fact_inverted"
    )


def test_p9_open_ticket_does_not_swallow_a_page() -> None:
    """P9: the same rule and fact, first as a ticket, then worse: somebody is called."""
    scenario = given(opened(store="ledger"), span(1, "n:40"), span(2, "n:40"), summary("m1", "%n:40"), summary("m2", "-n:40"))
    scenario.when(observed("r1", "m1", turn=1, kept=(2,))).then_alert("+quantifier_changed", severity="ticket")
    scenario.when(observed("r2", "m2", turn=2)).then_alert("+fact_inverted", severity="page", rule="F2")
    scenario.when(span(3, "n:40")).then_alerts("-fact_inverted")


def test_p9_an_open_alert_is_not_raised_again() -> None:
    """P9: a stable fingerprint: fire once, resolve once, fire again later."""
    records = [
        opened(store="ledger"),
        span(1, "p:billing"),
        span(2, "p:billing"),
        summary("m1", "-p:billing"),
        summary("m2", "-p:billing"),
    ]
    scenario = given(*records).when(observed("r1", "m1", turn=2, kept=(2,))).then_alerts("+fact_inverted")
    mark = scenario.alerts[0].fingerprint
    scenario.when(observed("r2", "m2", turn=2)).then_alerts()
    scenario.when(span(3, "p:billing")).then_alerts("-fact_inverted")
    assert scenario.alerts[0].fingerprint == mark
    scenario.given(summary("m3", "-p:billing")).when(observed("r3", "m3", turn=3)).then_alerts("+fact_inverted")
    assert scenario.alerts[0].fingerprint == mark


def test_span_recorded_after_a_boundary_that_it_stands_before_is_not_in_the_window() -> None:
    """Design section 3: late lines of the round's past are no carriers."""
    scenario = given(
        opened(), span(5, "n:7"), summary("m1", "n:7"), observed("r1", "m1", turn=5), span(3, "n:40"), span(6, "n:443")
    )
    scenario.when(observed("r2", None, turn=6, summary_state="missing")).then_decision(
        CompactionJudged, left=(SpanRange("s1:6", "s1:6"),)
    )


def test_requested_rounds_set_no_boundary() -> None:
    """A granted round says nothing of turns: what is recorded later is in the window."""
    text = "n:40"
    scenario = given(opened(), span(5, "n:40"), summary("m1", text), request("q1", "m1", 5)).given(
        observed("r1", "m1", turn=5), span(6, "n:7"), summary("m2", "n:7")
    )
    scenario.when(request("q2", "m2", 6)).then_decision(CompactionGranted)


def test_f5_violations_are_counted_by_class() -> None:
    """F5: evicted spans, and evicted spans whose summary is below floor, per class; rounds nobody can judge are left out."""
    records = [opened(), span(1, "n:40"), span(2, "n:7 i:host"), span(3, "n:40"), summary("m1", "n:40 i:host")]
    scenario = given(*records).when(observed("r1", "m1", turn=3))
    assert scenario.fold.scope.evicted == (("identifier", 1, 0), ("numeric", 3, 1))
    scenario.given(span(4, "n:443")).when(observed("r2", None, turn=4, summary_state="missing"))
    assert scenario.fold.scope.evicted == (("identifier", 1, 0), ("numeric", 3, 1))


def test_d1_facts_of_a_round_add_up() -> None:
    """D1: dropped = survived + lost + unknown."""
    records = [opened(store="none"), span(1, "n:40 n:7 i:host"), span(2, "i:host t:story"), summary("m1", "n:40 =i:host")]
    scenario = given(*records).when(observed("r1", "m1", turn=2))
    (row,) = scenario.fold.rows.all(ROUND).values()
    assert (row.dropped, row.survived, row.lost, row.unknown, row.observed, row.verdict) == (4, 2, 2, 0, True, "violated")


def test_c2_span_that_left_without_manifest_is_a_finding() -> None:
    """C2: nobody knows what went with it."""
    scenario = given(opened(), span(1, "n:40", manifest=False), summary("m1", "n:40")).when(observed("r1", "m1", turn=1))
    scenario.then_alerts("+unmanifested_span_left").then_alert("+unmanifested_span_left", rule="C2", subject="span:s1:1")


def test_compaction_refused_and_then_done_anyway_is_judged() -> None:
    """Both modes are first class: a refusal changes nothing, and what happened after it is judged as it happened."""
    records = [opened(), span(1, "n:40"), summary("m1", "x")]
    scenario = given(*records).when(request("q1", "m1", 1)).then_decision(CompactionRefused).then_alerts()
    scenario.when(observed("r1", "m1", turn=1)).then_decision(CompactionJudged, verdict="violated").then_alerts("+fact_lost")


def test_decision_on_a_very_long_round_fits_a_log_entry() -> None:
    """Design section 5: outcomes per fact included, a decision must fit a log entry whatever a round dropped."""
    session = "0f8fad5b-d9cb-469f-a165-70867728950e"
    spans = [
        span(number, f"n:{number} i:host{number}", session=session, scope=session, tokens=1)
        for number in range(10**12, 10**12 + 3000)
    ]
    fold = Fold(recount=False).take(
        [opened(session, scope=session), *spans, summary("m1", "x", session=session, scope=session)]
    )
    fold.take([observed("r1", "m1", turn=10**12 + 3000, session=session, scope=session)])
    decision = decode_decision(fold.outputs[0][1])
    assert isinstance(decision, CompactionJudged)
    assert decision.evidence_total == 6000
    assert len(encode(decision)) < 120_000
    rows = fold.rows.all(ROUND).values()
    assert [(row.dropped, row.lost) for row in rows] == [(6000, 6000)]


def test_letters_of_a_run_of_spans_find_their_spans() -> None:
    """C5: spans without facts, kept ones in between and ones that were superseded: each fact has its own outcome."""
    texts = {1: "n:1", 2: "", 3: "n:3 n:4", 4: "n:5", 5: "n:6 n:7"}
    spans = [span(number, text) for number, text in texts.items()]
    records = [opened(), *spans, summary("m1", "=n:1 *n:3 -n:4 n:6")]
    scenario = given(*records).when(observed("r1", "m1", turn=5, kept=(4,)))
    (row,) = scenario.fold.rows.all(ROUND).values()
    assert (row.dropped, row.survived, row.lost) == (5, 2, 3)
    told = {item.fact: item.outcome for item in scenario.decision.evidence}
    assert told == {toy_id("n:3", "s1"): "changed", toy_id("n:4", "s1"): "inverted", toy_id("n:7", "s1"): "missing"}
    lost = {alert.evidence[0].fact: (alert.kind, alert.evidence[0].outcome) for alert in scenario.alerts if alert.evidence}
    assert lost == {
        toy_id("n:3", "s1"): ("fact_lost", "changed"),
        toy_id("n:4", "s1"): ("fact_inverted", "inverted"),
        toy_id("n:7", "s1"): ("fact_lost", "missing"),
    }


def test_summary_listed_as_kept_stays_live_and_carries_what_the_next_one_leaves_out() -> None:
    """C3, C5: a round supersedes the summaries that it does not keep, and no others."""
    first = [opened(), span(1, "n:40"), summary("m1", "n:40"), observed("r1", "m1", turn=1)]
    records = [*first, span(2, "n:7 n:40"), summary("m2", "n:7")]
    second = observed("r2", "m2", turn=2)
    kept = msgspec.structs.replace(second, kept=(SpanRange("m1", "m1"),))
    given(*records).when(second).then_decision(CompactionJudged, verdict="violated", retires=("m1",))
    scenario = given(*records).when(kept).then_decision(CompactionJudged, verdict="held", retires=()).then_alerts()
    assert scenario.fold.rows.all(SESSION).popitem()[1].live == ("m1", "m2")
