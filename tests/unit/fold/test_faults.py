"""Records that cannot take effect, trust, and what goes wrong inside (I1, P1, P3, T1, three faults)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ledger.errors import LogUnavailable
from ledger.fold import RulesVersionNotCarried, reject_unfoldable, step
from ledger.state import Draft
from schemas.decisions import CompactionGranted, CompactionRefused, RecordRejected
from schemas.objects import with_own_id
from schemas.records import (
    AnyRecord,
    IndexChecked,
    RetrievalMeasured,
    RetrievalObserved,
    ScopeLinked,
    TranscriptRead,
    UnreadLine,
)
from tests.support.given import (
    audit,
    declared,
    given,
    observed,
    opened,
    policy,
    record,
    request,
    span,
    summary,
    withdrawn,
)
from tests.support.rows import MemoryRows

pytestmark = pytest.mark.usefixtures("toy")


def test_i1_same_span_with_other_text_is_rejected_and_paged() -> None:
    """I1, T1: state untouched, trust too."""
    scenario = given(opened(), span(1, "n:40"), summary("m1", "n:40")).when(span(1, "n:41"))
    scenario.then_decision(RecordRejected, rule="I1", reason="immutable", subject="s1:1")
    scenario.then_alerts("+raw_span_rewritten").then_alert("+raw_span_rewritten", severity="page").then_trust("unknown")
    scenario.when(request("q1", "m1", 1)).then_decision(CompactionGranted)


def test_i1_same_text_in_another_role_is_another_span() -> None:
    """I1: same id, same role and text."""
    given(opened(), span(1, "n:40")).when(span(1, "n:40", "assistant")).then_decision(RecordRejected, reason="immutable")


def test_i1_p3_same_span_told_differently_is_a_duplicate() -> None:
    """I1: whatever else its publisher says of it."""
    other = span(1, "n:40", turn=7, in_window=False, manifest=False, model="m", tokens=9)
    scenario = given(opened(), span(1, "n:40"), summary("m1", "x")).when(other)
    scenario.then_no_decision().then_alerts()
    assert scenario.fold.duplicates == 1
    scenario.when(request("q1", "m1", 1)).then_decision(CompactionRefused)


def test_i1_rejection_is_said_once_for_each_content() -> None:
    """P3: contracts section 1: rejected once; another wrong text is another rejection."""
    scenario = given(opened(), span(1, "n:40")).when(span(1, "n:41"), span(1, "n:41"), span(1, "n:42"))
    assert [decision.reason for decision in scenario.decisions] == ["immutable", "immutable"]
    scenario.then_alerts("+raw_span_rewritten")


def test_i3_summary_and_span_share_no_id() -> None:
    """I3: a summary under a raw span's id would replace it, and the other way round."""
    given(opened(), span(1, "n:40")).when(summary("s1:1", "x")).then_decision(RecordRejected, reason="summary_id_is_a_raw_span")
    given(opened(), summary("s1:1", "x")).when(span(1, "n:40")).then_decision(RecordRejected, reason="span_id_is_a_summary")
    given(opened(), summary("m1", "x")).when(summary("m1", "y")).then_decision(
        RecordRejected, reason="conflicting_content"
    ).then_alerts("+record_conflict")


def test_p3_refused_record_stays_refused_when_it_comes_again() -> None:
    """P3: same id and content is a duplicate, though what it lacked came in between; a corrected one is taken."""
    asked = withdrawn("q1")
    scenario = given(opened(), asked, span(1, "n:40"), summary("m1", "n:40"), request("q1", "m1", 1)).when(asked)
    scenario.then_no_decision()
    scenario.when(msgspec.structs.replace(asked, reason="really")).then_no_decision()
    scenario.when(request("q2", "m1", 1)).then_decision(CompactionGranted)


def test_malformed_event_id_is_rejected() -> None:
    """Contracts section 1: an id is a hash."""
    for name in ("", "x", "0" * 31, "G" * 32, "0" * 33):
        bad = msgspec.structs.replace(span(1, "n:40"), id=name)
        given(opened()).when(bad).then_decision(RecordRejected, reason="malformed_event_id")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"span": ""}, "empty_name:span"),
        ({"turns": (-3, 1)}, "turns_out_of_order"),
        ({"turns": (2, 1)}, "turns_out_of_order"),
    ],
)
def test_record_that_says_nothing_sensible_is_rejected_once(change: dict[str, Any], reason: str) -> None:
    """P4: what stands in the log happened, and it changes nothing; the scope stays as it is known."""
    bad = with_own_id(msgspec.structs.replace(span(1, "n:40"), **change))
    scenario = given(opened()).when(bad).then_decision(RecordRejected, reason=reason).then_alerts()
    scenario.when(bad).then_no_decision()
    scenario.when(span(1, "n:40")).then_no_decision()
    assert scenario.fold.scope.unclear == ()


def test_later_opening_changes_nothing() -> None:
    """Design section 5: rules version and policy are pinned by the scope's first session."""
    scenario = given(opened()).when(opened(store="ledger", policy={"floor.numeric": "0"}), opened("s1/a", store="ledger"))
    scenario.then_no_decision()
    assert (scenario.fold.scope.store, scenario.fold.scope.policy, scenario.fold.scope.sessions) == ("none", (), 2)


@pytest.mark.parametrize("settings", [{"floor.numeric": "x"}, {"floor.none": "1"}, {"audit.window": "0"}, {"color": "red"}])
def test_f1_scope_is_not_opened_under_a_policy_that_cannot_be_read(settings: dict[str, str]) -> None:
    """F1: rejected, and a corrected record opens it."""
    scenario = given().when(opened(policy=settings)).then_decision(RecordRejected)
    scenario.when(opened(policy={"floor.narrative": "0.5"})).then_no_decision()
    assert scenario.fold.scope.policy == (("floor.narrative", "0.5"),)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("floor.numeric", "1e999999999", "not_a_ratio"),
        ("floor.numeric", "2", "not_a_ratio"),
        ("audit.window", "9" * 5000, "not_a_count"),
        ("audit.window", "\u0661", "not_a_count"),
        ("audit.window", "0", "not_a_count"),
        ("floor.everything", "1", "unknown_policy_key"),
        ("rules_version", "r0", "rules_version_not_carried"),
    ],
)
def test_f1_policy_that_cannot_be_taken_is_rejected(key: str, value: str, reason: str) -> None:
    """F1: keys are few, floors exact ratios from 0 to 1, counts whole numbers that fit."""
    given(opened()).when(policy(key, value)).then_decision(RecordRejected, reason=reason).then_trust("unknown")


def test_p2_scope_under_a_rules_version_that_is_not_carried_stops_the_fold() -> None:
    """P2: the fold stops before the record, and changes nothing."""
    rows = MemoryRows()
    with pytest.raises(RulesVersionNotCarried, match="r0"):
        step(Draft(rows), opened(rules_version="r0"))
    scenario = given(opened())
    assert step(Draft(scenario.fold.rows), opened("s1/a", rules_version="r0")).decision is None  # pinned by the first


def test_internal_error_of_the_core_is_contained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three faults: rejected once, paged, the scope unknown, nothing else changed, the rest goes on."""
    scenario = given(opened(store="ledger"), span(1, "n:40"), summary("m1", "n:40"), audit(1, "n:40")).then_trust("lossless")

    def broken(*_: object) -> None:
        raise KeyError("a bug")

    with monkeypatch.context() as patch:
        patch.setattr("ledger.fold.decide", broken)
        scenario.when(request("q1", "m1", 1)).then_decision(RecordRejected, reason="internal_error:KeyError", request_id="q1")
    scenario.then_alerts("+internal_error").then_alert("+internal_error", severity="page").then_trust("unknown")
    scenario.when(request("q1", "m1", 1)).then_no_decision()
    scenario.when(request("q2", "m1", 1)).then_decision(CompactionGranted)


@pytest.mark.parametrize("fault", [MemoryError(), OSError(5, "I/O"), LogUnavailable("the disk is full")])
def test_fault_of_store_memory_or_io_halts(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    """Three faults: what is no function of the records is never put on record."""
    scenario = given(opened(), span(1, "n:40"), summary("m1", "n:40"))

    def broken(*_: object) -> None:
        raise fault

    monkeypatch.setattr("ledger.fold.decide", broken)
    with pytest.raises(type(fault)):
        step(Draft(scenario.fold.rows), request("q1", "m1", 1))


def test_p1_bytes_that_cannot_be_folded_are_quarantined_once() -> None:
    """P1: rejected once, paged, their scope unknown."""
    scenario = given(opened(store="ledger"), span(1, "n:40"), audit(1, "n:40")).then_trust("lossless")
    first = reject_unfoldable(scenario.fold.rows, scope="s1", content_sha256="ab" * 32, reason="no record")
    assert isinstance(first.decision, RecordRejected)
    assert (first.decision.session, first.decision.content_sha256, first.decision.output_seq) == ("", "ab" * 32, 1)
    assert [(alert.kind, alert.severity) for alert in first.alerts] == [
        ("record_unreadable", "page"),
        ("trust_changed", "ticket"),
    ]
    rows = scenario.fold.rows.copy()
    rows.apply(first.changes)
    assert reject_unfoldable(rows, scope="s1", content_sha256="ab" * 32, reason="no record").duplicate
    assert not reject_unfoldable(rows, scope="s1", content_sha256="cd" * 32, reason="no record").duplicate


@pytest.mark.parametrize(
    ("told", "reason", "alert"),
    [
        (record(TranscriptRead, "1", unread=(UnreadLine(line=1, reason="x"),)), "unread_transcript_lines", "+reading_degraded"),
        (record(TranscriptRead, "1", conflicts=("s1:1",)), "conflicting_transcript_lines", "+reading_degraded"),
        (record(IndexChecked, "1", missing=("s1:1",)), "index_entries_missing", "+index_inconsistent"),
        (record(IndexChecked, "1", orphans=("x",)), "index_entries_orphaned", "+index_inconsistent"),
        (record(RetrievalObserved, "1", status="empty", key="k"), "empty_value_for_live_key", "+empty_value_for_live_key"),
        (record(RetrievalObserved, "1", carrier="c"), "result_without_provenance", "+result_without_provenance"),
        (
            record(RetrievalObserved, "1", carrier="c", raw=False, expected_raw=True),
            "summary_where_raw_was_expected",
            "+summary_where_raw_was_expected",
        ),
        (audit(1, "something else"), "audit_failed", "+audit_failed"),
        (audit(9, "n:40"), "audit_failed", "+audit_failed"),
        (audit(1, "n:40", status="absent"), "audit_failed", "+audit_failed"),
    ],
)
def test_t1_what_degrades_a_scope(told: AnyRecord, reason: str, alert: str) -> None:
    """T1, I5: sticky, with its reason; the change of trust is a ticket that names from and to."""
    scenario = given(opened(store="ledger"), span(1, "n:40"), audit(1, "n:40", occurrence="first")).then_trust("lossless")
    scenario.when(told).then_alerts(alert).then_trust("degraded", reason)
    scenario.then_alert("+trust_changed", reason=f"lossless -> degraded: {reason}")
    scenario.when(audit(1, "n:40", occurrence="again")).then_trust("degraded", reason)


def test_t1_hit_rate_that_rises_by_more_than_fifteen_per_cent_degrades() -> None:
    """T1: relative, over one pass; a rate that is none is rejected and compares with nothing."""

    def rate(number: int, text: str) -> AnyRecord:
        return record(RetrievalMeasured, str(number), pass_=number, hit_rate=text, occurrence=str(number))

    scenario = given(opened(store="ledger"), rate(1, "0.60")).when(rate(2, "0.69")).then_alerts()
    for number, text in enumerate(("NaN", "1e99999", "-0.1", "x"), start=3):
        scenario.when(rate(number, text)).then_decision(RecordRejected, reason="hit_rate_not_a_decimal")
    scenario.when(rate(9, "0.80")).then_alerts("+hit_rate_jump").then_trust("degraded", "hit_rate_jump")
    assert scenario.fold.scope.hit_rate_change == "0.1594"


def test_t1_trust_goes_unknown_without_a_store_an_audit_or_with_too_many_compactions() -> None:
    """T1, T2, P6: audits vouch for a window of compactions."""
    scenario = given(opened(store="none"), span(1, "n:40", in_window=False), audit(1, "n:40")).then_trust("unknown")
    scenario.when(declared("ledger")).then_trust("lossless")
    scenario.given(policy("audit.window", "2"))
    empty = [observed(f"r{number}", None, turn=0, summary_state="missing") for number in range(3)]
    scenario.when(empty[0]).then_trust("lossless")
    scenario.when(empty[1]).then_trust("unknown").then_alert("+trust_changed")
    scenario.when(audit(1, "n:40", occurrence="again")).then_trust("lossless").then_alert("-trust_changed")


@pytest.mark.parametrize("state", ["opaque", "empty", "error_text", "missing"])
def test_t1_summary_that_cannot_be_read_makes_unclear_what_went_with_it(state: str) -> None:
    """T1, D2: nobody can tell what an opaque summary keeps, nor what stands behind one that is not there."""
    scenario = given(opened(store="ledger"), span(1, "n:40", in_window=True), audit(1, "n:40")).then_trust("lossless")
    scenario.when(observed("r1", None, turn=1, summary_state=state))
    state_now = "unknown" if state == "opaque" else "lossless"
    scenario.then_trust(state_now)
    bare = given(opened(store="notes"), span(1, "n:40"), audit(1, "n:40")).when(
        observed("r1", None, turn=1, summary_state=state)
    )
    bare.then_trust("unknown", f"{state}_summary:round_1")


def test_t1_linked_scope_that_is_not_imported_makes_unclear() -> None:
    """Design section 3: a parent that becomes known late."""
    linked = record(ScopeLinked, "elsewhere", parent_scope="elsewhere")
    given(opened(store="ledger"), span(1, "n:40"), audit(1, "n:40")).when(linked).then_trust(
        "unknown", "linked_scope_not_imported:elsewhere"
    )
