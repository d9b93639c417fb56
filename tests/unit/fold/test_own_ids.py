"""An id is a record's own (contracts section 1), and a record that came too early was not on record."""

from __future__ import annotations

import msgspec
import pytest

from schemas.decisions import CompactionGranted, RecordRejected
from schemas.objects import OBJECTS, own_id
from schemas.records import AnyRecord, ManifestRecorded
from tests.support.given import entry, given, manifest, opened, policy, record, request, span, summary, tombstone, withdrawn
from tests.support.strategies import SHAPES, filled

replace = msgspec.structs.replace


def test_p1_record_under_another_records_id_does_not_take_its_place() -> None:
    """P1, I1: it is refused, one ticket tells of it, and the rightful record is taken when it comes."""
    rightful = span(2, "n:40")
    forged = replace(span(1, "p:billing"), id=rightful.id)
    scenario = given(opened()).when(forged)
    scenario.then_decision(RecordRejected, rule="I1", reason="id_not_its_own", subject="s1", request=rightful.id)
    scenario.then_alerts("+record_conflict").then_alert("+record_conflict", severity="ticket", rule="I1")
    scenario.when(rightful).then_no_decision().then_alerts()
    scenario.when(summary("m1", "n:40"), request("q1", "m1", 2)).then_decision(CompactionGranted)


@pytest.mark.parametrize(
    "item",
    [
        opened(),
        span(1, "n:40"),
        summary("m2", "x"),
        withdrawn("q1"),
        policy("audit.window", "9"),
        entry(1),
        tombstone("f" * 25),
    ],
    ids=lambda item: type(item).__name__,
)
def test_i1_record_whose_id_is_not_its_own_is_refused(item: AnyRecord) -> None:
    """Contracts section 1: whatever it says, and though the same was said before under the right id."""
    wrong = replace(item, id="0" * 32)
    scenario = given(opened(), span(1, "n:40")).when(wrong, wrong)
    scenario.then_decision(RecordRejected, reason="id_not_its_own").then_alerts("+record_conflict")


def test_i1_raw_span_rewritten_under_a_wrong_id_pages() -> None:
    """I1: who tries to change a raw span is told so, whatever id he uses."""
    wrong = replace(span(1, "n:41"), id="0" * 32)
    given(opened(), span(1, "n:40")).when(wrong).then_decision(RecordRejected, reason="immutable").then_alert(
        "+raw_span_rewritten", severity="page"
    )


def test_id_of_every_shape_is_made_of_its_object() -> None:
    """Contracts section 1: a record that speaks of something else has another id, and time and source are in none."""
    for shape in SHAPES:
        if not shape.__struct_config__.tag or shape not in OBJECTS:
            continue
        one = filled(shape)
        assert own_id(one) == own_id(replace(one, id="x", time_ms=None, source=None, sequence=None, agent="other"))
        for name in OBJECTS[shape]:
            value = getattr(one, name)
            assert own_id(replace(one, **{name: value + 1 if isinstance(value, int) else f"{value}x"})) != own_id(one)


def test_p3_record_that_came_too_early_is_taken_when_it_comes_again() -> None:
    """P3: before its session was opened nothing was on record, so nothing was first; its refusal is said once."""
    early = span(1, "n:40")
    scenario = given().when(early, early).then_decision(RecordRejected, reason="session_not_opened", rules_version="")
    scenario.when(opened()).when(early).then_no_decision().then_alerts()
    scenario.when(summary("m1", "n:40"), request("q1", "m1", 1)).then_decision(CompactionGranted)
    scenario.when(early).then_no_decision()


def test_p3_manifest_that_came_before_its_span_is_taken_when_it_comes_again() -> None:
    """C2, P3: else its span would have to stay raw for good."""
    early = manifest(1, "n:40")
    scenario = given(opened()).when(early).then_decision(RecordRejected, reason="span_not_recorded", rule="C2")
    scenario.given(span(1, "n:40", manifest=False), early, summary("m1", "n:40"))
    scenario.when(request("q1", "m1", 1)).then_decision(CompactionGranted)


def test_p3_early_record_that_may_not_be_folded_later_either_is_refused_once() -> None:
    """I1, P3: one decision for one id and content; that the span was rewritten is told by the alert."""
    early = span(1, "n:41")
    scenario = given().when(early).then_decision(RecordRejected, reason="session_not_opened")
    scenario.given(opened(), span(1, "n:40")).when(early).then_no_decision().then_alerts("+raw_span_rewritten")
    scenario.when(early).then_no_decision().then_alerts()


def test_p2_scope_is_not_opened_without_a_rules_version() -> None:
    """P2: a later release would pin its own and decide otherwise; a corrected record opens it."""
    bare = opened(rules_version="")
    scenario = given().when(bare).then_decision(RecordRejected, reason="rules_version_missing", rules_version="")
    scenario.when(opened()).then_no_decision()
    scenario.when(opened("s1/a", rules_version="")).then_no_decision()  # pinned by the first
    assert scenario.fold.scope.sessions == 2


def test_c2_two_manifests_of_one_span_are_two_records() -> None:
    """Contracts section 1: what can happen again has an occurrence of its own."""
    listed = manifest(1, "n:40 i:host").manifest
    first, second = (replace(listed, facts=listed.facts[at : at + 1]) for at in (0, 1))
    scenario = given(opened(), span(1, "n:40 i:host", manifest=False))
    scenario.when(*(record(ManifestRecorded, name, span="s1:1", manifest=part) for name, part in (("1", first), ("2", second))))
    scenario.then_no_decision().when(summary("m1", "n:40"), request("q1", "m1", 1))
    assert [item.fact for item in scenario.decision.evidence] == [second.facts[0].id]
