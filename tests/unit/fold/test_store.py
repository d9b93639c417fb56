"""The retrieval store: index evictions (C1, I4), index writes (I3), best effort (I2), carriers of a whole scope."""

from __future__ import annotations

import pytest

from ledger.state import LIFE, fact_key
from schemas.decisions import (
    EvictionGranted,
    EvictionJudged,
    EvictionRefused,
    IndexGranted,
    IndexRefused,
    RecordRejected,
    WouldPass,
)
from schemas.records import AnyRecord, EvictionObserved, IndexRechunked
from tests.support.given import (
    closed,
    declared,
    entry,
    evict,
    evicted,
    expired,
    externalised,
    given,
    observed,
    opened,
    record,
    sha256,
    span,
    span_name,
    summary,
    tombstone,
    write,
)
from tests.support.toy_facts import toy_id

pytestmark = pytest.mark.usefixtures("toy")
F40, F7, BAN = toy_id("n:40", "s1"), toy_id("n:7", "s1"), toy_id("p:billing", "s1")


def ledger() -> AnyRecord:
    """A scope whose store is the ledger itself."""
    return opened(store="ledger")


def outside(number: int, text: str, **fields: object) -> AnyRecord:
    """A span that only the store holds."""
    return span(number, text, in_window=False, **fields)  # type: ignore[arg-type]


def test_c1_last_carrier_stays_whatever_policy_asks() -> None:
    """C1: liveness decides; the refusal names the fact and every way out."""
    scenario = given(ledger(), outside(1, "n:40 n:7"), outside(2, "n:7")).when(evict("e1", 1))
    scenario.then_decision(EvictionRefused, rule="C1", reason="last_carrier", evidence_total=1, spans=("s1:1",)).then_alerts()
    assert scenario.decision.evidence[0].fact == F40
    assert scenario.decision.would_pass == WouldPass(carry_facts=(F40,), tombstone_facts=(F40,), externalise_spans=("s1:1",))


def test_c1_all_entries_of_a_request_count_as_gone() -> None:
    """C1: one request, decided as a whole; a name given twice counts once."""
    records = [ledger(), outside(1, "n:40"), outside(2, "n:40"), outside(3, "n:40")]
    given(*records).when(evict("e1", 1, 2)).then_decision(EvictionGranted, spans=("s1:1", "s1:2"))
    given(*records).when(evict("e1", 1, 1, 2, 2)).then_decision(EvictionGranted, spans=("s1:1", "s1:2"))
    given(*records).when(evict("e1", 1, 2, 3)).then_decision(EvictionRefused, reason="last_carrier")


@pytest.mark.parametrize(("text", "released"), [("n:40", True), ("~n:40", True), ("=n:40", False), ("x", False)])
def test_c1_verbatim_in_a_live_summary_releases_and_equivalent_does_not(text: str, released: bool) -> None:
    """C1: an equivalent restatement satisfies floors and does not release the last raw carrier."""
    records = [ledger(), span(1, "n:40"), summary("m1", text), observed("r1", "m1", turn=1)]
    given(*records).when(evict("e1", 1)).then_decision(EvictionGranted if released else EvictionRefused)


def test_c1_summary_that_is_not_live_releases_nothing() -> None:
    """C1: recorded is not live, and superseded is not live."""
    records = [ledger(), outside(1, "n:40"), summary("m1", "n:40", manifest=True)]
    given(*records).when(evict("e1", 1)).then_decision(EvictionRefused)
    live = [*records, observed("r1", "m1", turn=1)]
    given(*live).when(evict("e1", 1)).then_decision(EvictionGranted)
    given(*live, summary("m2", "x"), observed("r2", "m2", turn=1)).when(evict("e1", 1)).then_decision(EvictionRefused)


def test_c1_tombstone_externalisation_or_another_raw_span_releases() -> None:
    """C1: each of them is enough."""
    for release in (tombstone(F40), externalised(1, "n:40"), span(2, "n:40")):
        given(ledger(), outside(1, "n:40"), release).when(evict("e1", 1)).then_decision(EvictionGranted)


def test_c1_having_fallen_out_of_every_summary_releases_nothing() -> None:
    """Design section 3: a scope refers to every fact it ever carried."""
    records = [
        ledger(),
        span(1, "n:40"),
        summary("m1", "x"),
        observed("r1", "m1", turn=1),
        summary("m2", "y"),
        observed("r2", "m2", turn=1),
    ]
    given(*records).when(evict("e1", 1)).then_decision(EvictionRefused, reason="last_carrier")


@pytest.mark.parametrize(
    ("asked", "rule", "reason"),
    [
        (evict("e1", 9, summary="m9"), "I4", "not_recorded"),
        (evict("e1", 1, summary="m9"), "I4", "summary_not_recorded:m9"),
        (evict("e1", 1, summary="m1"), "F2", "below_floor"),
        (evict("e1", 1, summary="m2"), "C1", "last_carrier"),
        (evict("e1", 2), "C2", "unmanifested"),
        (evict("e1", 1, 2), "C1", "last_carrier"),
    ],
)
def test_reasons_are_tried_in_the_order_of_the_contract(asked: AnyRecord, rule: str, reason: str) -> None:
    """Contracts section 6: the first that applies."""
    records = [ledger(), outside(1, "n:40"), outside(2, "n:7", manifest=False), summary("m1", "*n:40"), summary("m2", "n:40")]
    given(*records).when(asked).then_decision(EvictionRefused, rule=rule, reason=reason).then_alerts()


def test_below_floor_lists_what_the_other_rules_ask_too() -> None:
    """WouldPass: a way out lets the request pass under all rules; saving the span elsewhere does not mend the named summary."""
    records = [ledger(), outside(1, "n:40 n:7"), outside(2, "i:host"), span(3, "i:host"), summary("m1", "n:40")]
    scenario = given(*records).when(evict("e1", 1, 2, summary="m1")).then_decision(EvictionRefused, reason="below_floor")
    ways = scenario.decision.would_pass
    assert (set(ways.carry_facts), set(ways.tombstone_facts)) == ({F7, F40, toy_id("i:host", "s1")},) * 2
    assert (ways.externalise_spans, ways.skip_spans) == ((), ())


def test_i4_entry_that_the_store_does_not_hold_is_not_recorded() -> None:
    """I4: a window span without an entry, an entry that went, one that is going."""
    records = [opened(), declared("vectors"), span(1, "n:40"), span(2, "n:40")]
    given(*records).when(evict("e1", 1)).then_decision(EvictionRefused, reason="not_recorded")
    held = given(*records, entry(1)).when(evict("e1", 1)).then_decision(EvictionGranted)
    held.when(evict("e2", 1)).then_decision(EvictionRefused, reason="not_recorded")
    held.given(evicted("e1")).when(evict("e3", 1)).then_decision(EvictionRefused, reason="not_recorded")
    held.given(entry(1, occurrence="2")).when(evict("e4", 1)).then_decision(EvictionGranted)


def test_c1_observed_eviction_of_the_last_carrier_alerts() -> None:
    """C1, P9: what a TTL has removed cannot be refused; a lost ban pages, and a new entry clears both."""
    scenario = given(ledger(), outside(1, "n:40 p:billing")).when(expired("x1", 1))
    scenario.then_decision(EvictionJudged, verdict="violated", reason="ttl", spans=("s1:1",))
    scenario.then_alerts("+last_carrier_evicted", "+prohibition_lost").then_alert(
        "+prohibition_lost", severity="page", rule="C1"
    )
    scenario.when(entry(1, occurrence="back")).then_alerts("-last_carrier_evicted", "-prohibition_lost")


def test_c1_observed_eviction_of_one_carrier_of_two_holds() -> None:
    """C1: nothing was lost, also where another eviction of the same entry was pending."""
    records = [ledger(), outside(1, "n:40"), outside(2, "n:40")]
    given(*records).when(expired("x1", 1, 1)).then_decision(EvictionJudged, verdict="held").then_alerts()
    given(*records, evict("e1", 1)).when(expired("x1", 1)).then_decision(EvictionJudged, verdict="held").then_alerts()


def test_c1_applied_eviction_of_a_tombstoned_fact_is_silent() -> None:
    """P9: what was dropped on purpose never alerts."""
    given(ledger(), outside(1, "n:40"), tombstone(F40), evict("e1", 1)).when(evicted("e1")).then_alerts()


def test_store_entries_carry_for_every_session_of_the_scope() -> None:
    """C1: an entry of the parent's span is the last that a sub-agent has; each session that needs the fact keeps a carrier."""
    child = [opened("s1/a"), span(1, "n:40", session="s1/a"), summary("m1", "x", session="s1/a")]
    records = [ledger(), span(1, "n:40"), *child, evict("e0", 1, session="s1/a"), evicted("e0", session="s1/a")]
    left = [*records, observed("r1", "m1", turn=1, session="s1/a")]
    given(*records).when(evict("e1", 1)).then_decision(EvictionGranted)
    scenario = given(*left).when(evict("e1", 1)).then_decision(EvictionRefused, reason="last_carrier")
    scenario.when(expired("x1", 1)).then_decision(EvictionJudged, verdict="violated")
    scenario.then_alerts("+last_carrier_evicted").then_alert("+last_carrier_evicted", subject=f"{F40}@s1/a", session="s1/a")
    given(*left, closed("s1/a")).when(evict("e1", 1)).then_decision(EvictionGranted)


def test_window_spans_carry_for_their_own_session_only() -> None:
    """C3: a sub-agent's copy in its own window does not help the parent, and the other way round."""
    child = [opened("s1/a"), span(1, "n:40", session="s1/a")]
    scenario = given(opened(), span(1, "n:40"), *child, summary("m1", "x")).when(observed("r1", "m1", turn=1))
    scenario.then_alerts("+fact_lost").then_alert("+fact_lost", subject=f"{F40}@s1")


def test_c1_closed_session_keeps_nothing_but_the_scope_still_refers() -> None:
    """C1: a closed session's window carries nothing any more, and its entries are not free for that."""
    given(ledger(), span(1, "n:40"), closed()).when(evict("e1", 1)).then_decision(EvictionRefused, reason="last_carrier")


def test_p9_entry_by_a_sub_agent_clears_the_parents_alert() -> None:
    """P9: store entries are carriers for the scope, so the loss is repaired for whoever had it."""
    records = [opened(), declared("vectors"), opened("s1/a"), span(1, "n:40"), summary("m1", "x"), observed("r1", "m1", turn=1)]
    given(*records).when(entry(1, session="s1/a", owner="s1")).then_alerts("-fact_lost")
    given(*records).when(externalised(1, "n:40", session="s1")).then_alerts("-fact_lost")
    given(*records).when(span(1, "n:40", session="s1/a")).then_alerts()


def test_p9_sub_agents_record_in_the_ledgers_own_store_clears_the_parents_alert() -> None:
    """P9: kind `ledger`: the span's record is its entry, for every session of the scope."""
    records = [ledger(), opened("s1/a"), span(1, "n:40"), expired("x1", 1), summary("m1", "x"), observed("r1", "m1", turn=1)]
    given(*records).when(span(1, "n:40", session="s1/a")).then_alerts("-fact_lost")


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (write("w1", "put", key="m1", claims_kind="raw", text_sha256=sha256("x")), "summary_is_not_raw"),
        (write("w1", "put", key="new", claims_kind="raw", text_sha256=sha256("x")), "summary_is_not_raw"),
        (write("w1", "put", key="s1:1", claims_kind="raw", text_sha256=sha256("x")), "summary_is_not_raw"),
        (write("w1", "put", key="s1:1", claims_kind="raw", text_sha256=sha256("other")), "rewrites_indexed_raw_span"),
        (write("w1", "put", key="s1:1", claims_kind="summary", text_sha256=sha256("other")), "rewrites_indexed_raw_span"),
        (write("w1", "rechunk", replaces=("m1", "s1:1"), into=("c1",)), "rewrites_indexed_raw_span"),
    ],
)
def test_i3_pass_that_counterfeits_or_rewrites_is_halted(asked: AnyRecord, reason: str) -> None:
    """I3: a summary stored as if raw is refused, raw entries are never replaced; the halted pass is a ticket."""
    scenario = given(ledger(), span(1, "n:40"), summary("m1", "x")).when(asked)
    scenario.then_decision(IndexRefused, rule="I3", reason=reason).then_alerts("+pass_halted")


@pytest.mark.parametrize(
    "asked",
    [
        write("w1", "put", key="m1", claims_kind="summary", text_sha256=sha256("x")),
        write("w1", "put", key="s1:1", claims_kind="raw", text_sha256=sha256("n:40")),
        write("w1", "put", key="new", claims_kind="raw", text_sha256=sha256("new")),
        write("w1", "rechunk", replaces=("m1",), into=("c1",)),
    ],
)
def test_i3_store_may_add(asked: AnyRecord) -> None:
    """I3: a compaction may add summaries, and the same raw text again."""
    given(ledger(), span(1, "n:40"), summary("m1", "x")).when(asked).then_decision(IndexGranted).then_alerts()


def test_i3_observed_rechunk_degrades_pages_and_costs_carriers() -> None:
    """I3, T1: raw entries were replaced: their keys answer nothing any more."""
    rechunk = record(IndexRechunked, "x", replaces=(span_name(1), "m1"), into=("c1",), occurrence="x")
    scenario = given(ledger(), outside(1, "n:40"), summary("m1", "x")).when(rechunk)
    scenario.then_alerts("+raw_span_rewritten", "+last_carrier_evicted").then_alert(
        "+raw_span_rewritten", rule="I3", severity="page"
    )
    scenario.then_trust("degraded", "raw_entries_rechunked")
    harmless = record(IndexRechunked, "x", replaces=("m1",), occurrence="x")
    given(ledger(), summary("m1", "x")).when(harmless).then_alerts().then_trust("unknown")


@pytest.mark.parametrize(
    ("fields", "kind", "severity", "reason"),
    [
        ({"key_scheme": "content_hash"}, "store_best_effort", "page", "content_hash_keys"),
        ({"mutable": True}, "store_best_effort", "page", "mutable_raw_entries"),
        ({"ttl_s": 60}, "ttl_below_horizon", "ticket", "ttl_below_horizon"),
    ],
)
def test_i2_best_effort_store_degrades(fields: dict[str, object], kind: str, severity: str, reason: str) -> None:
    """I2: content-hash keys, mutable raw entries, a TTL below the session's horizon."""
    scenario = given(opened(horizon_s=3600)).when(declared("vectors", **fields))
    scenario.then_alert(f"+{kind}", rule="I2", severity=severity, reason=reason).then_trust("degraded", reason)
    given(opened(horizon_s=3600)).when(declared("vectors", ttl_s=3600)).then_alerts().then_trust("unknown")


def test_entry_of_what_was_never_recorded_is_rejected() -> None:
    """I4: containment is by identity: an entry without its span is no carrier."""
    given(opened()).when(entry(7)).then_decision(RecordRejected, reason="span_not_recorded")
    given(opened()).when(externalised(7, "n:40")).then_decision(RecordRejected, reason="span_not_recorded")
    given(opened(), summary("m1", "x")).when(entry("m1")).then_no_decision()


def test_c5_fact_that_goes_with_two_entries_is_lost_once() -> None:
    """C5: entries of two sessions go together: one step in the fact's life for each session that needs it."""
    child = [opened("s1/a"), outside(1, "n:40", session="s1/a")]
    records = [ledger(), outside(1, "n:40"), *child]
    names = (span_name(1), span_name(1, "s1/a"))
    both = record(EvictionObserved, "x1", spans=names, policy="ttl", occurrence="x1")
    scenario = given(*records).when(both).then_alerts("+last_carrier_evicted", "+last_carrier_evicted")
    steps = [(row.step, row.session) for _, row in scenario.fold.rows.walk(LIFE, fact_key(F40))]
    assert steps == [("evicted", "s1"), ("evicted", "s1/a")]
    again = given(*records, span(2, "n:40"), span(2, "n:40", session="s1/a")).when(both).then_alerts()
    assert [row.step for _, row in again.fold.rows.walk(LIFE, fact_key(F40))] == []
    mixed = [
        ledger(),
        outside(1, "n:40"),
        opened("s1/a"),
        span(1, "n:40", session="s1/a"),
        observed("r", None, turn=1, session="s1/a"),
    ]
    scenario = given(*mixed).when(both)
    steps = [(row.step, row.session) for _, row in scenario.fold.rows.walk(LIFE, fact_key(F40)) if row.step == "evicted"]
    assert steps == [("evicted", "s1"), ("evicted", "s1/a")]
