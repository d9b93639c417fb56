"""The policy in force in a scope: the floors of its rules version, and what was set over them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ledger.lookup import floors_in_force, policy_count, scope_row
from ledger.rules.trust import AUDIT_INTERVAL, AUDIT_WINDOW
from ops.store import Found


class PolicyAnswer(msgspec.Struct, kw_only=True):
    """One scope's policy. Floors are exact ratios; counts are compactions."""

    scope: str
    rules_version: str
    floors: dict[str, str]
    audit_window: int
    audit_interval: int
    set: dict[str, str]


def policy_of(found: Iterable[Found]) -> list[PolicyAnswer]:
    """One answer for each scope, in the order of the sessions."""
    answers: dict[str, PolicyAnswer] = {}
    for one in found:
        row = scope_row(one.rows)
        answers.setdefault(
            one.scope,
            PolicyAnswer(
                scope=one.scope,
                rules_version=row.rules_version,
                floors={cls: f"{low}/{high}" for cls, (low, high) in floors_in_force(row).items()},
                audit_window=policy_count(row, "audit.window", AUDIT_WINDOW),
                audit_interval=policy_count(row, "audit.interval", AUDIT_INTERVAL),
                set=dict(row.policy),
            ),
        )
    return list(answers.values())
