"""Actions: denied until the rehydration rules are part of the scope's rules version."""

from __future__ import annotations

from ledger.decide.envelope import envelope
from ledger.state import Rows
from schemas.decisions import ActionDenied
from schemas.records import ActionProposed


def decide_action(view: Rows, record: ActionProposed) -> ActionDenied:
    """R5: this rules version carries no way to substantiate a claim, so no action may rest on one. Fails closed."""
    return ActionDenied(
        **envelope(view, record), request_id=record.request, rule="R5", reason="not_substantiated:rules_version_has_no_gate"
    )
