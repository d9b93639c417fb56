"""Forgotten (rules D1 to D3, seed 4): what a session no longer holds, and the named ways of not knowing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from schemas.facts import FACT_CLASSES, FactClass

Note = Literal[
    "no_compactions_in_this_session",
    "nothing_decision_shaped_was_dropped",
    "every_dropped_decision_survived_in_a_summary",
    "unknown",
]

_ROLE_RANK = {"user": 0, "assistant": 1, "system": 2, "tool": 3}
_OUTCOME_RANK = {"inverted": 0, "changed": 1, "weakened": 2, "missing": 3}


class Counts(msgspec.Struct, frozen=True):
    """D1: facts of a whole session that left its window, each once, by what became of them. They add up."""

    dropped: int
    survived: int
    forgotten: int
    unknown: int
    tombstoned: int


class LossRank(msgspec.Struct, frozen=True):
    """What decides where a loss stands in the list."""

    outcome: str
    cls: FactClass
    role: str
    turn: int
    reversed_later: bool
    settled: bool = False


def counts(*, left: int, lost: int, tombstoned: int, unknown: int) -> Counts:
    """D1: dropped = survived + forgotten. What was dropped on purpose, or went with a summary that cannot be read, is counted
    by itself and is in none of the three.
    """
    dropped = left - tombstoned - unknown
    return Counts(dropped=dropped, survived=dropped - lost, forgotten=lost, unknown=unknown, tombstoned=tombstoned)


def note(*, rounds: int, found: Counts) -> Note | None:
    """D2: three named answers of not having lost anything, each for its own reason, and *unknown*; None with losses."""
    if not rounds:
        return "no_compactions_in_this_session"
    if found.forgotten:
        return None
    if found.unknown:
        return "unknown"
    return "nothing_decision_shaped_was_dropped" if not found.dropped else "every_dropped_decision_survived_in_a_summary"


def order(losses: Iterable[tuple[LossRank, int]]) -> list[int]:
    """D3: open before settled; inverted before changed before missing, the user's words before the agent's, newest first; a
    decision that was reversed later comes last.
    """

    def rank(item: tuple[LossRank, int]) -> tuple[bool, bool, bool, int, int, int, int]:
        loss = item[0]
        return (
            loss.reversed_later,
            loss.settled,
            loss.outcome != "inverted",
            _ROLE_RANK.get(loss.role, 4),
            FACT_CLASSES.index(loss.cls),
            _OUTCOME_RANK.get(loss.outcome, 4),
            -loss.turn,
        )

    return [index for _, index in sorted(losses, key=rank)]
