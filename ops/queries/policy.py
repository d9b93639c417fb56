"""The policy in force in a scope: the floors of its rules version, and what was set over them."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ledger.facts import RULES_VERSION
from ledger.lookup import floors_in_force, policy_count, scope_row
from ledger.rows import ScopeRow
from ledger.rules.trust import AUDIT_INTERVAL, AUDIT_WINDOW
from ops.store import Found


class PolicyAnswer(msgspec.Struct, kw_only=True):
    """One scope's policy. Floors are exact ratios; counts are compactions. An empty scope stands for one that is to come."""

    scope: str
    rules_version: str
    floors: dict[str, str]
    audit_window: int
    audit_interval: int
    set: dict[str, str]


def policy_of(found: Iterable[Found]) -> list[PolicyAnswer]:
    """One answer for each scope, in the order of the sessions; where there is none, that of a scope that is to come."""
    answers: dict[str, PolicyAnswer] = {}
    for one in found:
        answers.setdefault(one.scope, _policy(one.scope, scope_row(one.rows)))
    return list(answers.values()) or [_policy("", ScopeRow(rules_version=RULES_VERSION))]


def _policy(scope: str, row: ScopeRow) -> PolicyAnswer:
    return PolicyAnswer(
        scope=scope,
        rules_version=row.rules_version,
        floors={cls: f"{low}/{high}" for cls, (low, high) in floors_in_force(row).items()},
        audit_window=policy_count(row, "audit.window", AUDIT_WINDOW),
        audit_interval=policy_count(row, "audit.interval", AUDIT_INTERVAL),
        set=dict(row.policy),
    )


def alike(answers: Iterable[PolicyAnswer]) -> list[tuple[list[str], PolicyAnswer]]:
    """Scopes under one policy, with it, in the order of their first ones: a fleet has many scopes and few policies."""
    groups: dict[bytes, tuple[list[str], PolicyAnswer]] = {}
    for answer in answers:
        same = msgspec.json.encode(msgspec.structs.replace(answer, scope=""))
        groups.setdefault(same, ([], answer))[0].append(answer.scope)
    return list(groups.values())
