"""A policy test: what a scenario expects, against what the fold decided."""

from __future__ import annotations

from ops.rehearsal.rehearse import Rehearsed
from ops.rehearsal.scenario import Scenario


def compared(scenario: Scenario, answer: Rehearsed) -> list[str]:
    """Differences in words: each expected step must have at least the fields that are named, and trust its value."""
    if scenario.expected is None:
        return []
    found = {step["at"]: step for step in answer.steps}
    differences = []
    for wanted in scenario.expected.get("steps", []):
        got = found.get(wanted.get("at"), {})
        for key, value in wanted.items():
            if got.get(key) != value:
                said = got.get(key, "nothing")
                differences.append(f"event {wanted.get('at')}: expected {key} {value!r}, the ledger says {said!r}")
    trust = scenario.expected.get("trust")
    if trust is not None and str(trust).lower() != answer.trust:
        differences.append(f"expected trust {str(trust).lower()}, the ledger says {answer.trust}")
    return differences
