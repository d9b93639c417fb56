"""Manifests and tombstones: which facts a span is said to hold, and which were dropped on purpose (C2, C4, P4, P10)."""

from __future__ import annotations

import msgspec
import pytest

from ledger.state import LIFE, fact_key
from schemas.decisions import CompactionGranted, CompactionJudged, CompactionRefused, EvictionGranted, RecordRejected
from schemas.records import ManifestRecorded
from tests.support.given import evict, expired, given, manifest, observed, opened, request, span, summary, tombstone
from tests.support.toy_facts import extract, toy_id

pytestmark = pytest.mark.usefixtures("toy")
F40 = toy_id("n:40", "s1")


def test_c2_late_manifest_makes_a_span_known() -> None:
    """C2: from then on its facts bind."""
    scenario = given(opened(), span(1, "n:40", manifest=False), summary("m1", "x"), manifest(1, "n:40")).when(
        request("q1", "m1", 1)
    )
    scenario.then_decision(CompactionRefused, rule="F2")
    given(opened(), span(1, "x", manifest=False), summary("m1", "x"), manifest(1, "x")).when(
        request("q1", "m1", 1)
    ).then_decision(CompactionGranted)


def test_c2_later_manifest_adds_facts_and_removes_none() -> None:
    """Design section 3: a newer extractor adds manifests and removes no fact."""
    records = [opened(), span(1, "n:40 n:7"), summary("m1", "x")]
    fewer = manifest(1, "n:40 n:7", extractor="x2")
    only_seven = msgspec.structs.replace(
        fewer, manifest=msgspec.structs.replace(fewer.manifest, facts=fewer.manifest.facts[1:])
    )
    scenario = given(*records, only_seven).when(request("q1", "m1", 1))
    scenario.then_decision(CompactionRefused, evidence_total=2)


def test_c2_manifest_by_a_measurer_in_another_session_counts_for_the_spans_session() -> None:
    """C2: whoever measured it."""
    records = [opened(), opened("s1/a"), span(1, "n:40", manifest=False), manifest(1, "n:40", by="s1/a"), summary("m1", "x")]
    given(*records).when(observed("r1", "m1", turn=1)).then_alerts("+fact_lost").then_alert("+fact_lost", subject=f"{F40}@s1")


def test_c2_manifest_of_an_unknown_span_is_rejected() -> None:
    """C2: nothing is registered for a span that is not on record."""
    given(opened()).when(manifest(1, "n:40")).then_decision(RecordRejected, reason="span_not_recorded", rule="C2")


def test_p10_ungrounded_facts_are_left_out_and_alerted() -> None:
    """P10, C2: a listed fact is checked against its offsets; what does not stand there is no fact."""
    lie = extract("n:41 n:40", "user", scope_key="s1")
    scenario = given(opened()).when(span(1, "n:99 n:40", manifest=lie))
    scenario.then_alerts("+manifest_not_grounded").then_alert("+manifest_not_grounded", subject="manifest:s1:1", rule="C2")
    scenario.given(summary("m1", "n:40")).when(request("q1", "m1", 1)).then_decision(CompactionRefused, rule="C2")


def test_p10_late_manifest_is_checked_against_the_text_that_was_kept_for_it() -> None:
    """P10: the first manifest of a bare span is checked as if it had come with it; offsets outside the text are never taken."""
    lie = extract("n:41", "user", scope_key="s1")
    late = manifest(1, "n:41")
    scenario = given(opened(), span(1, "n:40", manifest=False)).when(late)
    scenario.then_alerts("+manifest_not_grounded")
    beyond = msgspec.structs.replace(
        late, manifest=msgspec.structs.replace(lie, facts=(msgspec.structs.replace(lie.facts[0], start=2, end=9),))
    )
    assert isinstance(beyond, ManifestRecorded)
    scenario = given(opened(), span(1, "n:40", manifest=False)).when(beyond)
    scenario.given(summary("m1", "x")).when(request("q1", "m1", 1)).then_decision(CompactionRefused, rule="C2")


def test_c2_span_may_leave_once_a_manifest_that_stands_in_its_text_has_replaced_a_lying_one() -> None:
    """C2: a manifest that lists what the text does not say is none; a good one that comes later is one."""
    lie = extract("n:41", "user", scope_key="s1")
    scenario = given(opened(), span(1, "n:40", manifest=lie), summary("m1", "n:40"))
    scenario.when(request("q1", "m1", 1)).then_decision(CompactionRefused, rule="C2")
    scenario.given(manifest(1, "n:40")).when(request("q2", "m1", 1)).then_decision(CompactionGranted)


def test_c2_fact_that_becomes_known_after_its_span_left_has_no_carrier() -> None:
    """C2: the late manifest registers it, and a statement of it is a carrier as any other."""
    records = [opened(), span(1, "n:40", manifest=False), summary("m1", "x"), observed("r1", "m1", turn=1), manifest(1, "n:40")]
    given(*records, span(2, "n:40"), summary("m2", "x")).when(observed("r2", "m2", turn=2)).then_alerts("+fact_lost")


def test_p9_tombstone_resolves_the_alerts_of_its_fact_and_no_other() -> None:
    """P9, P4: the event resolves what was lost, exactly the named fact, in every session of the scope."""
    child = [opened("s1/a"), span(1, "n:40", session="s1/a"), summary("m2", "x", session="s1/a")]
    child += [observed("r1", "m2", turn=1, session="s1/a")]
    records = [opened(), span(1, "n:40 n:7"), summary("m1", "x"), observed("r1", "m1", turn=1), *child]
    scenario = given(*records).when(tombstone(F40)).then_alerts("-fact_lost", "-fact_lost")
    scenario.then_alert("-fact_lost", subject=f"{F40}@s1").then_alert("-fact_lost", subject=f"{F40}@s1/a")


def test_p9_alert_resolves_once() -> None:
    """P9: what was stated again is resolved; a tombstone has nothing left to resolve."""
    records = [opened(), span(1, "n:40"), summary("m1", "x"), observed("r1", "m1", turn=1)]
    scenario = given(*records).when(span(2, "n:40")).then_alerts("-fact_lost")
    scenario.when(tombstone(F40)).then_alerts()


def test_c5_every_step_in_the_life_of_a_fact_is_kept() -> None:
    """C5: two steps without any output or carrier between them stand side by side."""
    records = [opened(store="ledger"), span(1, "n:40"), summary("m1", "n:40"), observed("r1", "m1", turn=1)]
    scenario = given(*records, tombstone(F40), tombstone(F40, occurrence="2"), span(2, "n:40"))
    steps = [row.step for _, row in scenario.fold.rows.walk(LIFE, fact_key(F40))]
    assert steps == ["carried", "tombstoned", "tombstoned"]


def test_c4_tombstoned_fact_may_go_and_its_loss_is_silent() -> None:
    """C1, C3: the scope refers to it no longer."""
    records = [opened(store="ledger"), span(1, "n:40"), summary("m1", "-n:40"), tombstone(F40)]
    given(*records).when(observed("r1", "m1", turn=1)).then_decision(CompactionJudged, verdict="held").then_alerts()
    given(*records).when(expired("x1", 1)).then_alerts()
    given(*records).when(evict("e1", 1)).then_decision(EvictionGranted)


def test_statement_after_a_tombstone_is_referred_to_again() -> None:
    """Design section 3: until a tombstone is on record and no later span stated it again."""
    records = [opened(), span(1, "n:40"), tombstone(F40), span(2, "n:40"), summary("m1", "x")]
    scenario = given(*records).when(request("q1", "m1", 1, 2)).then_decision(CompactionRefused)
    scenario.when(observed("r1", "m1", turn=2)).then_alerts("+fact_lost")
    scenario.when(tombstone(F40, occurrence="2")).then_alerts("-fact_lost")


def test_late_manifest_of_an_older_span_does_not_undo_a_tombstone() -> None:
    """Design section 3: only a later span states it again."""
    records = [
        opened(),
        span(1, "n:40"),
        span(2, "n:40", manifest=False),
        tombstone(F40),
        manifest(2, "n:40"),
        summary("m1", "x"),
    ]
    given(*records).when(observed("r1", "m1", turn=2)).then_decision(CompactionJudged, verdict="held").then_alerts()


def test_tombstone_of_an_unknown_fact_is_rejected() -> None:
    """P4: one cannot drop on purpose what was never seen."""
    given(opened(), span(1, "n:40")).when(tombstone(toy_id("n:7", "s1"))).then_decision(
        RecordRejected, reason="fact_not_recorded"
    )
    given(opened()).when(tombstone("no fact id")).then_decision(RecordRejected, reason="fact_not_recorded")


def test_i1_span_of_a_tombstoned_fact_never_gets_another_text() -> None:
    """I1: a used id is never reused, and the refusal says why; by a request's tombstone too."""
    scenario = given(opened(), span(1, "n:40"), tombstone(F40)).when(span(1, "n:7"))
    scenario.then_decision(RecordRejected, rule="I1", reason="span_id_reused").then_alerts("+raw_span_rewritten")


def test_same_fact_twice_in_one_span_is_one_fact() -> None:
    """One carrier is one carrier, however often it says so."""
    scenario = given(opened(), span(1, "n:40 n:40"), summary("m1", "x")).when(request("q1", "m1", 1))
    scenario.then_decision(CompactionRefused, evidence_total=1)
