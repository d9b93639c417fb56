"""Claims, backing, audits and acknowledgements through the fold (R1 to R6, T2, T3, I5, C6), in English."""

from __future__ import annotations

import msgspec

from ledger.facts import extract
from schemas.decisions import ActionAllowed, ActionDenied, RecordRejected
from schemas.records import (
    ActionProposed,
    Claim,
    DegradationAcknowledged,
    FetchedClaim,
    IndexChecked,
    ManifestRecorded,
    RetrievalObserved,
    SpanRange,
    Tick,
)
from tests.support.given import MAIN, Scenario, audit, expired, given, observed, opened, record, span, span_name, summary

LIMIT = "The partner gateway allows 40 req/s per key."
MAYBE = "We might move the demo to Thursday."
ROLLBACK = "Do not treat the rollback path as optional."


def fetched(text: str, number: int, came_back: str | None, *, key: str = "", by_summary: str | None = None) -> FetchedClaim:
    """A claim with what the store gave for its key."""
    return FetchedClaim(
        claim=Claim(text=text, key=None if by_summary else key or span_name(number), summary=by_summary),
        manifest=extract(text, "assistant", scope_key=MAIN),
        status="ok" if came_back is not None else "absent",
        span=span_name(number) if came_back is not None else "",
        text=came_back or "",
        raw=came_back is not None,
    )


def action(name: str, *claims: FetchedClaim, side_effects: bool = True) -> ActionProposed:
    return record(ActionProposed, name, request=name, name="deploy", side_effects=side_effects, claims=claims)


def ledger_scope(*spans: object) -> Scenario:
    """A scope whose store is the ledger, with an audit that passed."""
    return given(opened(store="ledger"), span(99, "anchor"), audit(99, "anchor", occurrence="before"), *spans)  # type: ignore[arg-type]


def test_r5_claim_that_stands_in_its_span_allows_the_action() -> None:
    """R3, R5: with the span that substantiates it."""
    scenario = ledger_scope(span(1, LIMIT)).when(action("a1", fetched(LIMIT, 1, LIMIT)))
    scenario.then_decision(ActionAllowed, substantiated_by=(span_name(1),)).then_alerts()
    assert scenario.decision.claims[0].authority == "verified"


def test_r3_claim_with_another_number_does_not_hold() -> None:
    """R3: compared when it is used; what was fetched is on record, so only the claim can be wrong."""
    scenario = ledger_scope(span(1, LIMIT))
    scenario.when(action("a1", fetched("The partner gateway allows 60 req/s per key.", 1, LIMIT)))
    scenario.then_decision(ActionDenied, reason="not_substantiated").then_alerts("+action_denied")
    assert scenario.decision.claims[0].status == "does_not_hold"


def test_r3_claim_that_turned_its_span_does_not_hold() -> None:
    """R3, seed 5: the rollback that is not optional."""
    scenario = ledger_scope(span(1, ROLLBACK)).when(action("a1", fetched("The rollback path is optional.", 1, ROLLBACK)))
    scenario.then_decision(ActionDenied)
    assert scenario.decision.claims[0].status == "does_not_hold"


def test_c6_claim_that_is_surer_than_its_span_does_not_hold() -> None:
    """C6, R3: a hedge that vanished."""
    scenario = ledger_scope(span(1, MAYBE)).when(action("a1", fetched("We move the demo to Thursday.", 1, MAYBE)))
    scenario.then_decision(ActionDenied)


def test_r3_later_span_that_contradicts_blocks_the_claim() -> None:
    """R3: whatever its own span says."""
    scenario = ledger_scope(span(1, "The ferry runs on Sundays."), span(2, "The ferry does not run on Sundays."))
    scenario.when(action("a1", fetched("The ferry runs on Sundays.", 1, "The ferry runs on Sundays.")))
    scenario.then_decision(ActionDenied, reason=f"contradicted_by:{span_name(2)}", rule="R3")


def test_r2_store_that_gives_another_text_than_recorded_substantiates_nothing() -> None:
    """R2, R3: the fold compares what came back with the recorded span."""
    scenario = ledger_scope(span(1, LIMIT)).when(action("a1", fetched(LIMIT, 1, LIMIT + " Or so.")))
    scenario.then_decision(ActionDenied)
    assert scenario.decision.claims[0].status == "not_recorded"


def test_r2_fetch_that_finds_nothing_denies() -> None:
    """R2: fails closed."""
    scenario = ledger_scope(span(1, LIMIT)).when(action("a1", fetched(LIMIT, 1, None)))
    scenario.then_decision(ActionDenied, reason="not_substantiated")


def test_r5_action_without_side_effects_is_allowed() -> None:
    """R5: only what changes something is gated."""
    ledger_scope(span(1, LIMIT)).when(action("a1", fetched(LIMIT, 1, None), side_effects=False)).then_decision(ActionAllowed)


def test_t4_degraded_scope_denies_unless_everything_was_fetched_and_held() -> None:
    """T4: the trust is the reason, and the raw span overrules it."""
    scenario = ledger_scope(span(1, LIMIT), record(IndexChecked, "c1", missing=(span_name(1),), occurrence="c1"))
    scenario.then_trust("degraded", "index_entries_missing")
    scenario.when(action("a1", fetched(LIMIT, 1, None))).then_decision(ActionDenied, reason="degraded", rule="T4")
    scenario.when(action("a2", fetched(LIMIT, 1, LIMIT))).then_decision(ActionAllowed)


def test_r1_summary_whose_key_nobody_can_derive_is_a_finding_when_it_is_written() -> None:
    """R1: and a claim by that summary is blocked for it."""
    scenario = ledger_scope(span(1, LIMIT))
    covers = (SpanRange(span_name(1), span_name(1)),)
    scenario.when(summary("m1", "Limits were settled.", covers=covers, keys=("gateway-limit",)))
    scenario.then_no_decision().then_alerts("+key_not_derivable")
    scenario.when(action("a1", fetched("Limits were settled.", 1, None, by_summary="m1")))
    scenario.then_decision(ActionDenied, reason="key_not_derivable", rule="R1")


def test_r6_live_summary_with_underivable_key_and_a_span_that_is_gone_pages() -> None:
    """R6: the boundary marker, at the moment the last signal comes."""
    covers = (SpanRange(span_name(1), span_name(1)),)
    scenario = ledger_scope(span(1, LIMIT, in_window=False), summary("m1", LIMIT, covers=covers, keys=("gateway-quota",)))
    scenario.when(observed("r1", "m1", turn=1)).then_alerts()
    scenario.when(expired("e1", 1))
    scenario.then_alert("+boundary_crossed", rule="R6", severity="page", subject="summary:m1")


def test_r6_derivable_key_crosses_no_boundary() -> None:
    """R6: the same loss, but anybody can ask for it."""
    covers = (SpanRange(span_name(1), span_name(1)),)
    scenario = ledger_scope(span(1, LIMIT, in_window=False), summary("m1", LIMIT, covers=covers, keys=("partner-gateway",)))
    scenario.when(observed("r1", "m1", turn=1)).when(expired("e1", 1))
    assert all(alert.kind != "boundary_crossed" for alert in scenario.alerts)


def test_t3_acknowledgement_counts_only_if_its_evidence_is_younger_than_the_fault() -> None:
    """T3: sticky until shown otherwise."""
    scenario = ledger_scope(span(1, LIMIT), audit(1, LIMIT, occurrence="old"))
    fault = record(IndexChecked, "c1", missing=(span_name(1),), occurrence="c1")
    scenario.when(fault).then_trust("degraded")
    old = audit(1, LIMIT, occurrence="old").id
    scenario.when(acknowledged(old, "1")).then_decision(RecordRejected, reason="evidence_older_than_degradation")
    scenario.when(acknowledged(fault.id, "2")).then_decision(RecordRejected, reason="evidence_not_on_record")
    scenario.when(acknowledged("no such event", "3")).then_decision(RecordRejected, reason="evidence_not_on_record")
    scenario.then_trust("degraded")
    young = audit(1, LIMIT, occurrence="young")
    scenario.when(young, acknowledged(young.id, "4")).then_no_decision().then_trust("lossless")


def acknowledged(evidence: str, occurrence: str) -> DegradationAcknowledged:
    return record(DegradationAcknowledged, occurrence, evidence=evidence, authority="owner", occurrence=occurrence)


def test_t3_clean_index_check_is_evidence_too() -> None:
    """T3: a repaired store."""
    scenario = ledger_scope(span(1, LIMIT), record(IndexChecked, "c1", orphans=("x",), occurrence="c1"))
    clean = record(IndexChecked, "c2", occurrence="c2")
    scenario.when(clean).then_alerts("-index_inconsistent")
    scenario.when(acknowledged(clean.id, "1")).then_trust("lossless")


def test_t2_failed_audit_degrades_and_names_the_span() -> None:
    """T2: what comes back must be what was recorded."""
    scenario = ledger_scope(span(1, LIMIT)).when(audit(1, "The partner gateway allows 400 req/s per key.", occurrence="a9"))
    scenario.then_alerts("+audit_failed").then_trust("degraded", "audit_failed")
    scenario.then_alert("+audit_failed", rule="T2", severity="ticket", subject=f"audit:{span_name(1)}")


def test_i5_summary_where_raw_was_expected_degrades() -> None:
    """I5, T1: the caller is told, and the scope is degraded."""
    hit = record(
        RetrievalObserved,
        "q1",
        query="limit",
        status="ok",
        carrier="m1",
        raw=False,
        generation=1,
        expected_raw=True,
        occurrence="q1",
    )
    ledger_scope(span(1, LIMIT)).when(hit).then_trust("degraded", "summary_where_raw_was_expected")


def test_i5_result_without_provenance_degrades() -> None:
    """I5, T1: nobody can tell what it is."""
    hit = record(RetrievalObserved, "q1", query="limit", status="ok", carrier="", occurrence="q1")
    ledger_scope(span(1, LIMIT)).when(hit).then_trust("degraded", "result_without_provenance")


def test_validity_that_has_ended_by_a_tick_releases_the_fact() -> None:
    """Design section 3: a scope refers to a fact until its validity ended by a tick; the clock only moves forward."""
    manifest = extract(LIMIT, "user", scope_key=MAIN, valid=("", "2026-01-31"))
    first = span(1, LIMIT, manifest=manifest, in_window=False)
    january, february = 1_769_000_000_000, 1_770_000_000_000
    scenario = ledger_scope(first)
    scenario.when(record(Tick, "t1", timer="validity", due_ms=january)).when(expired("e1", 1))
    assert any(alert.kind == "last_carrier_evicted" for alert in scenario.alerts)
    scenario = ledger_scope(first)
    scenario.when(record(Tick, "t2", timer="validity", due_ms=february)).when(expired("e1", 1))
    assert all(alert.kind != "last_carrier_evicted" for alert in scenario.alerts)


def test_t2_fact_that_a_manifest_of_the_same_extractor_left_out_pages() -> None:
    """T2, design section 3: compactors lie by omission; a newer extractor that sees more is no lie."""
    listed = extract(LIMIT, "user", scope_key=MAIN)
    partial = msgspec.structs.replace(listed, facts=listed.facts[:1])
    scenario = ledger_scope(span(1, LIMIT, manifest=partial))
    newer = msgspec.structs.replace(listed, extractor="x999")
    scenario.when(record(ManifestRecorded, "audit", span=span_name(1), manifest=listed))
    scenario.then_alert("+fact_omitted", rule="T2", severity="page")
    other = ledger_scope(span(1, LIMIT, manifest=partial))
    other.when(record(ManifestRecorded, "newer", span=span_name(1), manifest=newer)).then_alerts()
