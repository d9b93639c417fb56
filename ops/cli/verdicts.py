"""How the outcome of an audit or of a gate reads on a terminal: what was asked, what came back, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ledger.refusals import CLAIM_FAULTS
from ops.cli.findings import show_trust
from ops.cli.screen import one_line, say, say_command, talk
from ops.cli.words import command, count, short_ids

if TYPE_CHECKING:
    from ops.desk import AuditAnswer, ClaimAnswer, GateAnswer

_CAME_BACK = {
    "ok": "something else came back than was recorded",
    "absent": "the store has nothing under this id",
    "empty": "the store has this id, and nothing under it",
    "tombstone": "the store says that it was dropped on purpose",
    "error": "the store could not be asked",
}

_WHY_DENIED = {
    "contradicted_by": "a later span says otherwise",
    "key_not_derivable": "a summary holds no key by which its original could be asked for",
    "degraded": "trust in this session is degraded",
    "unknown": "trust in this session is unknown",
    "not_substantiated": "not every claim was shown to hold",
}

_UNTRUSTED = frozenset({"degraded", "unknown"})


def show_audit(answer: AuditAnswer, retrieval: str | None) -> None:
    """One audit, and what makes the session trustworthy again where it failed."""
    say(("passed" if answer.passed else "failed", "bold green" if answer.passed else "bold red"), f"  {answer.session}")
    came = "it came back word for word" if answer.passed else _CAME_BACK.get(answer.status, answer.status)
    detail = f" ({one_line(answer.detail, 200)})" if answer.detail and answer.status in ("error", "empty") else ""
    say(f"the store was asked for span {answer.span}: {came}{detail}", indent=2)
    if answer.omitted_facts:
        say((f"the span states {count(answer.omitted_facts, 'fact')} that its manifest left out", "red"), indent=2)
    show_trust(answer.trust, answer.reasons)
    if not answer.passed:
        say("next: put what was recorded back into the store under this id, then audit again:", indent=2)
        where = ["--retrieval", retrieval] if retrieval else []
        say_command(command("cledger", "audit", answer.session, *where), indent=4)
    elif answer.trust == "degraded":
        say("next: if this shows that the session was repaired, say so:", indent=2)
        say_command(command("cledger", "acknowledge", answer.session, "--evidence", answer.event), indent=4)
    else:
        say(f"on record as event {answer.event}", indent=2)


def show_gate(answer: GateAnswer, session: str) -> None:
    """The decision in a sentence, each claim with what became of it, and what to do next."""
    allowed = answer.decision == "allowed"
    said = _why_allowed(answer) if allowed else f"{_why(answer.reason)} (rule {answer.rule})"
    trust = f"; trust in this session is {answer.trust}" if answer.reason not in _UNTRUSTED else ""
    say((answer.decision, "bold green" if allowed else "bold red"), f": {said}{trust}")
    for claim in answer.claims:
        _show_claim(claim)
    if allowed:
        return
    if answer.reason in _UNTRUSTED:
        say("next: why trust is missing, and what restores it, is told by:", indent=2)
        say_command(command("cledger", "status", session), indent=4)
    talk("nothing was done: read the original and act on what it says, or leave the claim out")


def _why_allowed(answer: GateAnswer) -> str:
    if all(claim.status == "holds" for claim in answer.claims):
        return "every claim was fetched and holds"
    return "it changes nothing anywhere, so it may go on; nothing may rest on a claim that does not hold"


def _why(reason: str) -> str:
    code, _, name = reason.partition(":")
    return f"{_WHY_DENIED.get(code, code.replace('_', ' '))}{f': {short_ids(name)}' if name else ''}"


def _show_claim(claim: ClaimAnswer) -> None:
    holds = claim.status == "holds"
    say(
        ("holds" if holds else claim.status.replace("_", " "), "green" if holds else "red"),
        f": “{one_line(claim.text, 120)}”",
        indent=2,
    )
    if claim.substantiated_by:
        said = f"it stands in {claim.substantiated_by}, authority {claim.authority}"
    else:
        code, _, name = claim.reason.partition(":")
        contradicted = f": {name}" if code == "contradicted_by" else ""
        detail = f" ({one_line(claim.reason, 160)})" if claim.reason and not contradicted else ""
        said = f"{CLAIM_FAULTS.get(claim.status, 'it was not shown to hold')}{contradicted}{detail}"
    say(said, indent=4)
