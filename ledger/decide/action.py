"""Actions: allowed only if every claim they rest on holds against its raw span, right now (rules R1 to R5, T4)."""

from __future__ import annotations

import hashlib

from ledger.decide.envelope import envelope
from ledger.facts import SummaryText, survival
from ledger.facts.contradiction import contradicts, surer, topic_key
from ledger.lookup import as_fact, fact_row, scope_row, span_facts, span_row, summary_row, trust_of_scope
from ledger.rules.rehydration import ClaimFault, claim_fault, may_act
from ledger.rules.trust import gate_reason
from ledger.state import TOPIC, Rows, name_key
from schemas.decisions import ActionAllowed, ActionDenied, ClaimResult, WouldPass
from schemas.facts import SURVIVING, Fact
from schemas.records import ActionProposed, FetchedClaim


def decide_action(view: Rows, record: ActionProposed) -> ActionAllowed | ActionDenied:
    """R5: enumerate the claims, compare each with what its key gave, and deny unless all hold.

    The reason is the first that applies: `contradicted_by:<span>`, `key_not_derivable`, then the scope's trust unless every
    claim was fetched raw and held in this very call (T4), then `not_substantiated`.
    """
    head = envelope(view, record)
    results = tuple(_judge(view, fetched) for fetched in record.claims)
    faults: list[ClaimFault] = [_fault_of(result) for result in results]
    if may_act(faults, side_effects=record.side_effects):
        spans = tuple(dict.fromkeys(result.substantiated_by for result in results if result.substantiated_by))
        return ActionAllowed(
            **head,
            request_id=record.request,
            rule="R5",
            substantiated_by=spans,
            claims=results,
            side_effects=record.side_effects,
        )
    rule, reason = _reason(view, results, faults)
    unfound = tuple(result.key for result in results if result.status in {"not_found", "not_recorded"} and result.key)
    return ActionDenied(
        **head,
        request_id=record.request,
        rule=rule,
        reason=reason,
        claims=results,
        would_pass=WouldPass(record_first=unfound),
    )


def _fault_of(result: ClaimResult) -> ClaimFault:
    return "" if result.status == "holds" else result.status


def _reason(view: Rows, results: tuple[ClaimResult, ...], faults: list[ClaimFault]) -> tuple[str, str]:
    for result in results:
        if result.status == "contradicted":
            return "R3", f"contradicted_by:{result.contradicted_by}"
    if "key_not_derivable" in faults:
        return "R1", "key_not_derivable"
    state, _ = trust_of_scope(scope_row(view))
    reason = gate_reason(state, all_fetched_and_held=bool(faults) and not any(faults))
    return ("T4", reason) if reason else ("R5", "not_substantiated")


def _judge(view: Rows, fetched: FetchedClaim) -> ClaimResult:
    """R1 to R4 on one claim."""
    claim = fetched.claim
    facts = fetched.manifest.facts if fetched.manifest is not None else ()
    span = span_row(view, fetched.span) if fetched.span else None
    recorded = span is not None and span.text_sha256 == _sha256(fetched.text)
    summary = summary_row(view, claim.summary or claim.key or "")
    contradiction = _contradiction(view, facts, span.ordinal if span is not None else 0)
    fault = claim_fault(
        contradicted=bool(contradiction),
        key_derivable=summary is None or claim.summary is None or not summary.underivable,
        status=fetched.status or "absent",
        raw=fetched.raw,
        recorded_text=recorded,
        holds=bool(facts) and recorded and _holds(view, facts, fetched),
    )
    return ClaimResult(
        text_sha256=_sha256(claim.text),
        key=claim.key or claim.summary or "",
        status=fault or "holds",
        authority=_authority(fault, fetched, summary is not None and bool(summary.changed)),
        contradicted_by=contradiction,
        substantiated_by=fetched.span if not fault else "",
    )


def _authority(fault: ClaimFault, fetched: FetchedClaim, changed: bool) -> str:
    """R4: verified just now, else what the summary's word is worth without it."""
    if not fault:
        return "verified"
    if fetched.status != "ok" or not fetched.raw:
        return "unbacked"
    return "decayed" if changed else "write_time"


def _holds(view: Rows, facts: tuple[Fact, ...], fetched: FetchedClaim) -> bool:
    """R3: polarity, quantifier, condition and every value of the claim stand in the span that was fetched."""
    text = SummaryText(fetched.text)
    said = [as_fact(row) for ref in span_facts(view, fetched.span).refs if (row := fact_row(view, ref.fact)) is not None]
    for fact in facts:
        if survival(fact, text).outcome not in SURVIVING:
            return False
        if any(surer(fact, other) for other in said):
            return False
    return True


def _contradiction(view: Rows, facts: tuple[Fact, ...], after: int) -> str:
    """R3: the span, later than the one that was fetched, that says otherwise; the empty string if there is none."""
    for fact in facts:
        key = topic_key(fact)
        if not key:
            continue
        for _, marker in view.walk(TOPIC, name_key(key)):
            row = fact_row(view, marker.fact)
            span = span_row(view, row.span) if row is not None else None
            if row is None or span is None or row.tombstone or row.expired or span.ordinal <= after:
                continue
            if contradicts(as_fact(row), fact):
                return span.id
    return ""


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
