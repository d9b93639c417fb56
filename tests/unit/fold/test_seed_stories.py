"""The incidents that the rules come from, told to the ledger in English, with the extractor that ships.

Each is told twice where it can be: as it was asked for, which is refused, and as it happened, which alerts.
"""

from __future__ import annotations

from ledger.facts import extract
from schemas.decisions import CompactionGranted, CompactionJudged, CompactionRefused, EvictionRefused, IndexRefused
from schemas.facts import FactClass
from schemas.records import RetrievalMeasured, RetrievalObserved
from tests.support.given import (
    MAIN,
    applied,
    audit,
    declared,
    entry,
    evict,
    expired,
    externalised,
    given,
    observed,
    opened,
    record,
    request,
    span,
    span_name,
    summary,
    tombstone,
    write,
)

RATE = "The partner API allows a rate limit of 40 req/s per key."
CHAT = "Good, the dashboards are green again and the queue is short."
FIRST = "The partner API allows a rate limit of 40 req/s per key. Dashboards are green."
COARSER = "Worked on the partner API and its limits; dashboards and queue looked healthy."

SERVICE = "The failing upstream is called kestrel-auth-7."
REFERENT_KEPT = "Incident triage: the failing upstream is kestrel-auth-7."
REFERENT_GONE = "Incident triage: the upstream service was identified and is being watched."

BUDGET = "Set the retry budget to 3 per 15-minute window."
SMALL_TALK = "Fine, let us look at the logs of the uploader next."
DISCUSSED = "Discussed retry policy parameters, then let us look at the logs of the uploader next."

BAN = "Do not contact the billing endpoint without approval."
WITHOUT_NOT = "Contact the billing endpoint without approval."


def fact_of(text: str, cls: FactClass) -> str:
    """The id of the text's fact of this class."""
    return next(fact.id for fact in extract(text, "user", scope_key=MAIN).facts if fact.cls == cls)


def test_seed_1_rate_limit_under_a_coarser_summary_alerts_at_the_round_that_dropped_it() -> None:
    """Seed 1 (I2, C5, T1): two generations, the second omits 40 req/s; the index answers more queries than before."""
    records = [
        opened(store="ledger"), declared("vectors", key_scheme="content_hash", ttl_s=86_400),
        span(4236, CHAT), span(4237, RATE), summary("4100-4400", FIRST),
    ]  # fmt: skip
    scenario = given(*records).then_trust("degraded", "content_hash_keys")
    scenario.when(observed("round-1", "4100-4400", turn=4400)).then_decision(CompactionJudged, verdict="held").then_alerts()
    scenario.given(summary("3800-4600", COARSER, generation=2))
    scenario.given(record(RetrievalMeasured, "1", pass_=1, hit_rate="0.62", occurrence="1"))
    scenario.when(observed("round-2", "3800-4600", turn=4600)).then_decision(CompactionJudged, verdict="violated", ordinal=2)
    limit = fact_of(RATE, "numeric")
    scenario.then_alert("+fact_lost", rule="C3", subject=f"{limit}@{MAIN}", group=f"{MAIN}/round-2")
    assert limit in {item.fact for item in scenario.decision.evidence}
    scenario.when(record(RetrievalMeasured, "2", pass_=2, hit_rate="0.81", occurrence="2")).then_alerts("+hit_rate_jump")
    scenario.then_trust("degraded", "hit_rate_jump")
    scenario.when(record(RetrievalObserved, "top", carrier="3800-4600", raw=False, expected_raw=True)).then_trust(
        "degraded", "summary_where_raw_was_expected"
    )


def test_seed_1_coarser_summary_is_refused_when_asked_for_and_its_upsert_is_halted() -> None:
    """Seed 1 (C3, I3): before anything left, the request names the fact; the pass that rewrites raw entries is halted."""
    scenario = given(opened(), span(1, CHAT), span(2, RATE), summary("m1", COARSER)).when(request("q1", "m1", 1, 2))
    scenario.then_decision(CompactionRefused, reason="below_floor")
    assert fact_of(RATE, "numeric") in scenario.decision.would_pass.carry_facts
    scenario.when(write("w1", "rechunk", replaces=(span_name(2),), into=("c1",))).then_decision(IndexRefused, rule="I3")
    scenario.given(summary("m2", FIRST)).when(request("q2", "m2", 2)).then_decision(CompactionGranted)


def test_seed_1_immutable_entries_and_an_audit_make_it_lossless() -> None:
    """Seed 1 (T1, P6): span ids as keys, immutable entries, and a pinned fact that came back verbatim."""
    scenario = given(opened(store="ledger"), span(1, RATE), summary("m1", COARSER), observed("r1", "m1", turn=1))
    scenario.then_trust("unknown")
    scenario.when(audit(1, RATE)).then_trust("lossless")


def test_seed_2_service_name_whose_last_carrier_a_ttl_takes() -> None:
    """Seed 2 (C1): liveness decides and not wall-clock age; asked for it is refused, done by itself it alerts."""
    records = [opened(), declared("vectors"), span(1, SERVICE), entry(1), summary("m1", REFERENT_KEPT)]
    records += [observed("hour-8", "m1", turn=1), summary("m2", REFERENT_GONE, generation=2)]
    name = fact_of(SERVICE, "identifier")
    scenario = given(*records).when(observed("hour-20", "m2", turn=1)).then_decision(CompactionJudged, verdict="held")
    scenario.when(evict("ttl", 1)).then_decision(EvictionRefused, rule="C1", reason="last_carrier")
    assert name in scenario.decision.would_pass.tombstone_facts
    scenario.when(expired("ttl", 1)).then_alert("+last_carrier_evicted", rule="C1", subject=f"{name}@{MAIN}")
    scenario.when(tombstone(name)).then_alert("-last_carrier_evicted", subject=f"{name}@{MAIN}")


def test_seed_2_second_generation_that_drops_the_referent_is_refused() -> None:
    """Seed 2 (C3): the name lives on in the first summary only, and a summary of it must keep it."""
    records = [opened(), span(1, SERVICE), summary("m1", REFERENT_KEPT), observed("hour-8", "m1", turn=1), span(2, CHAT)]
    scenario = given(*records, summary("m2", f"{REFERENT_GONE} {CHAT}", generation=2, covers_summaries=("m1",)))
    scenario.when(request("hour-20", "m2", 2)).then_decision(CompactionRefused, rule="C3")
    assert fact_of(SERVICE, "identifier") in scenario.decision.would_pass.carry_facts


def test_seed_3_retry_budget_without_its_number_stays_in_mode_prefer() -> None:
    """Seed 3 (F1, F2, F3): low salience is a preference and not a mandate: the block with the threshold is skipped."""
    records = [opened(), span(1, BUDGET), span(2, SMALL_TALK), summary("m1", DISCUSSED)]
    scenario = given(*records).when(request("q1", "m1", 1, 2, mode="prefer"))
    scenario.then_decision(CompactionGranted, rule="F3", evict=(span_name(2),))
    (skipped,) = scenario.decision.skipped
    assert (skipped.span, skipped.rule) == (span_name(1), "F2")
    assert fact_of(BUDGET, "numeric") in skipped.facts
    scenario.when(applied("q1", DISCUSSED)).then_alerts()


def test_seed_3_retry_budget_may_go_once_it_is_externalised_or_carried() -> None:
    """Seed 3 (F3): a verified round trip lets it pass, and so does a summary with the number."""
    records = [
        opened(),
        span(1, BUDGET),
        span(2, SMALL_TALK),
        summary("m1", DISCUSSED),
        summary("m2", f"{BUDGET} {SMALL_TALK}"),
    ]
    given(*records, externalised(1, BUDGET)).when(request("q1", "m1", 1, 2)).then_decision(CompactionGranted)
    given(*records).when(request("q1", "m2", 1, 2)).then_decision(CompactionGranted)
    given(*records).when(request("q1", "m1", 1, 2)).then_decision(CompactionRefused, reason="below_floor")


def test_seed_3_billing_ban_without_its_not_pages() -> None:
    """Seed 3, 5 (F2, C3): the inverted ban is below floor whatever else holds it, and pages when it happened anyway."""
    records = [opened(store="ledger"), span(1, BAN), summary("m1", WITHOUT_NOT)]
    scenario = given(*records).when(request("q1", "m1", 1)).then_decision(CompactionRefused, rule="F2")
    ban = fact_of(BAN, "prohibition")
    assert [item.outcome for item in scenario.decision.evidence if item.fact == ban] == ["inverted"]
    scenario.when(observed("r1", "m1", turn=1)).then_decision(CompactionJudged, verdict="violated")
    scenario.then_alert("+fact_inverted", severity="page", rule="F2", subject=f"{ban}@{MAIN}")
    scenario.when(span(2, BAN)).then_alert("-fact_inverted", subject=f"{ban}@{MAIN}")


def test_seed_3_billing_ban_that_is_only_discussed_is_lost_and_pages() -> None:
    """Seed 3 (C3): "billing endpoint discussed" carries no ban."""
    scenario = given(opened(), span(1, BAN), summary("m1", "Billing endpoint discussed.")).when(observed("r1", "m1", turn=1))
    ban = fact_of(BAN, "prohibition")
    scenario.then_decision(CompactionJudged, verdict="violated").then_alert(
        "+prohibition_lost", severity="page", subject=f"{ban}@{MAIN}"
    )
