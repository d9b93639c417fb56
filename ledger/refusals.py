"""What a program gets when the ledger says no: one base, four kinds with the names the seeds gave them."""

from __future__ import annotations

import msgspec

from ledger.errors import LedgerError
from schemas.decisions import ActionDenied, AnyDecision, ClaimResult, Evidence, WouldPass


class QuotedEvidence(msgspec.Struct, frozen=True):
    """Evidence of a decision with the words it points at: the fact as it was said, and what the summary says of it."""

    evidence: Evidence
    fact_text: str
    summary_text: str = ""


class QuotedClaim(msgspec.Struct, frozen=True):
    """What became of one claim of an action, with its words and those that its store gave for it, if any."""

    result: ClaimResult
    text: str
    found: str = ""


class Refused(LedgerError):
    """A request was refused. Nothing has changed; `would_pass` says what would pass.

    `decision` is the recorded decision, `rule` the code of the rule that settled it, `evidence` the facts concerned, `claims`
    those of an action.
    """

    def __init__(
        self, decision: AnyDecision, evidence: tuple[QuotedEvidence, ...] = (), claims: tuple[QuotedClaim, ...] = ()
    ) -> None:
        self.decision = decision
        self.rule = decision.rule
        self.reason = decision.reason
        self.evidence = evidence
        self.claims = claims
        self.would_pass: WouldPass = getattr(decision, "would_pass", WouldPass())
        if isinstance(decision, ActionDenied):
            super().__init__(_denial(decision, claims), hint="; ".join(filter(None, (_hint(self.would_pass), _READ_AGAIN))))
        else:
            super().__init__(_message(decision, evidence), hint=_hint(self.would_pass) or _advice(decision.reason))


class LosslessRetrievalBoundaryError(Refused):
    """Identity or trust (rules I and T, seed 1): the request would change what a raw span is, or rests on retrieval that
    cannot be trusted.
    """


class UnanchoredReconstitutionError(Refused):
    """Carriers (rules C, seed 2): a fact would be left without a carrier."""


class RecallFloorViolation(Refused):
    """Recall floors (rules F, seed 3): a summary keeps less of a class than its floor."""


class RehydrationBoundaryError(Refused):
    """Rehydration (rules R, seed 5): a claim cannot be substantiated at the point of use."""


class RecordConflict(LedgerError):
    """What was recorded contradicts what is on record, so the ledger does not count it: it stands in the log as rejected, and
    nothing has changed. `subject` is the span or request, `rule` the code of the rule.
    """

    def __init__(self, message: str, *, subject: str, rule: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.subject = subject
        self.rule = rule


class AnswerUnknown(LedgerError):
    """No decision arrived in time, so the request was withdrawn; a grant that comes later is not counted (P5)."""

    exit_code = 3


_KINDS: dict[str, type[Refused]] = {
    "I": LosslessRetrievalBoundaryError,
    "T": LosslessRetrievalBoundaryError,
    "C": UnanchoredReconstitutionError,
    "F": RecallFloorViolation,
    "R": RehydrationBoundaryError,
}


def refusal(decision: AnyDecision, evidence: tuple[QuotedEvidence, ...] = (), claims: tuple[QuotedClaim, ...] = ()) -> Refused:
    """The error for a refusing decision, by the family of its rule. One that only has to wait is a plain `Refused`."""
    if decision.reason.startswith("pending:"):
        return Refused(decision, evidence, claims)
    return _KINDS.get(decision.rule[:1], Refused)(decision, evidence, claims)


def _message(decision: AnyDecision, evidence: tuple[QuotedEvidence, ...]) -> str:
    lines = [f"{decision.rule} {decision.reason}: request {decision.request_id or decision.request} is refused"]
    for item in evidence[:5]:
        said = f"; the summary says {item.summary_text!r}" if item.summary_text else ""
        lines.append(f"  {item.evidence.outcome} {item.evidence.cls}: {item.fact_text!r} ({item.evidence.span}){said}")
    if decision.evidence_total > len(evidence[:5]):
        lines.append(f"  … {decision.evidence_total} facts in all")
    return "\n".join(lines)


_READ_AGAIN = "read the original and act on what it says, or leave the claim out"

CLAIM_FAULTS = {
    "contradicted": "a later span says otherwise",
    "key_not_derivable": "the summary holds no key by which the original could be asked for",
    "not_found": "nothing came back for it",
    "not_raw": "what came back for it is a summary, not the original",
    "not_recorded": "what came back for it is not what was recorded",
    "does_not_hold": "the original does not say so",
}
"""What became of a claim that does not hold, by its status."""

_UNTRUSTED = frozenset({"unknown", "degraded"})


def _denial(decision: ActionDenied, claims: tuple[QuotedClaim, ...]) -> str:
    """Which claims do not hold and why, in words; the reason, too, where it is the trust in the session (T4)."""
    why = f"trust in this session is {decision.reason}, and " if decision.reason in _UNTRUSTED else ""
    held = "not every claim was shown to hold" if decision.claims else "it names no claim that could be shown to hold"
    lines = [f"{decision.rule} {decision.reason}: action {decision.request_id} is denied: {why}{held}"]
    words = {claim.result: claim for claim in claims}
    for result in decision.claims:
        if result.status == "holds":
            continue
        quoted = words.get(result)
        text = repr(quoted.text) if quoted is not None else result.text_sha256[:12]
        by = f" ({result.key})" if result.key else ""
        where = f", {result.contradicted_by}" if result.contradicted_by else ""
        lines.append(f"  claim {text}{by} {result.status}: {CLAIM_FAULTS[result.status]}{where}")
        if quoted is not None and quoted.found and result.status == "does_not_hold":
            lines.append(f"    it says {_cut(quoted.found)!r}")
    return "\n".join(lines)


QUOTE_CHARS = 300
"""So much of an original is quoted in a message."""


def _cut(text: str) -> str:
    return text if len(text) <= QUOTE_CHARS else text[: QUOTE_CHARS - 1] + "…"


def _hint(ways: WouldPass) -> str:
    parts = []
    if ways.carry_facts:
        parts.append(f"carry {len(ways.carry_facts)} facts in the summary, or tombstone them")
    if ways.skip_spans:
        parts.append(f"or leave out spans {', '.join(ways.skip_spans[:5])}")
    if ways.prefer_would_evict:
        parts.append(f"mode prefer would evict {', '.join(ways.prefer_would_evict[:5])}")
    if ways.record_first:
        parts.append(f"record first {', '.join(ways.record_first[:5])}")
    if ways.wait_for:
        parts.append(f"wait for request {ways.wait_for}, or withdraw it")
    return "; ".join(parts)


_ADVICE = {
    "summary_already_used": "record the summary under an id that was never used, and ask with that one",
    "span_named_twice": "name each span once",
    "summary_is_not_raw": "store it as what it is, a summary, under an id of its own",
    "rewrites_indexed_raw_span": "leave the raw entry as it is and write under a key of its own",
}
"""What would pass where it is no list of names, by the reason without the name behind it."""


def _advice(reason: str) -> str:
    what = reason.partition(":")[0]
    if what in ("summary_empty", "summary_opaque", "summary_error_text", "summary_missing"):
        return "record a summary that has a text, under an id of its own"
    return _ADVICE.get(what, "")
