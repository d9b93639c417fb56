"""Recall floors (rules F1 to F5, seed 3): how much of each fact class a summary must keep.

Ratios are exact pairs of integers and are compared by cross-multiplication; no rounding, no float.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import msgspec

from schemas.decisions import Ratio
from schemas.facts import FACT_CLASSES, SURVIVING, FactClass, FactKind, Outcome

WHOLE: Ratio = (1, 1)
REPORTED_ONLY: Ratio = (0, 1)

FLOORS: Mapping[FactClass, Ratio] = {
    "numeric": WHOLE,
    "identifier": WHOLE,
    "prohibition": WHOLE,
    "commitment": WHOLE,
    "instruction": WHOLE,
    "decision": WHOLE,
    "narrative": (2, 5),
}
"""F1: floors by class before any policy. A decision has its floor only in the user's own words (`floor_of`)."""


def ratio_of(text: str) -> Ratio | None:
    """F1: a floor as policy writes it, `2/5` or `0.4`, between 0 and 1 and exact; None for anything else."""
    if not re.fullmatch(r"[0-9]{1,9}/[1-9][0-9]{0,8}|[01](\.[0-9]{1,9})?", text, re.ASCII):
        return None
    floor = Fraction(text)
    return (floor.numerator, floor.denominator) if floor <= 1 else None


def at_least(fidelity: Ratio, floor: Ratio) -> bool:
    """F2: is `fidelity` at or above `floor`? A class without facts (0 of 0) holds."""
    kept, whole = fidelity
    return whole == 0 or kept * floor[1] >= floor[0] * whole


def floor_of(cls: FactClass, kind: FactKind, role: str, floors: Mapping[FactClass, Ratio] = FLOORS) -> Ratio:
    """F1: the floor of one fact. Reasons have the narrative's; decisions of anybody but the user are reported only."""
    if cls != "decision":
        return floors[cls]
    if kind == "reason":
        return floors["narrative"]
    return floors["decision"] if role == "user" else REPORTED_ONLY


def fidelity(outcomes: Iterable[str]) -> Ratio:
    """F2: facts that survive ÷ facts, an exact ratio. Only *verbatim* and *equivalent* count."""
    kept = whole = 0
    for outcome in outcomes:
        whole += 1
        kept += outcome in SURVIVING
    return kept, whole


class ClassResult(msgspec.Struct, frozen=True):
    """How one class of one span fared: exact fidelity, its floor, and the facts that did not survive."""

    cls: FactClass
    fidelity: Ratio
    floor: Ratio
    dropped: tuple[int, ...]
    """Indexes into the span's facts."""

    @property
    def holds(self) -> bool:
        """F2: at or above the floor."""
        return at_least(self.fidelity, self.floor)


class MeasuredFact(msgspec.Struct, frozen=True):
    """A fact's class and floor with its outcome in a summary."""

    cls: FactClass
    floor: Ratio
    outcome: Outcome
    quantifier_changed: bool = False


def measure(facts: Sequence[MeasuredFact]) -> tuple[ClassResult, ...]:
    """F2 over one span: a result for each class and floor among its facts, in class order.

    An inverted polarity or a changed quantifier counts as not surviving whatever else matched; `forced_below` names them.
    """
    groups: dict[tuple[FactClass, Ratio], list[int]] = {}
    for index, fact in enumerate(facts):
        groups.setdefault((fact.cls, fact.floor), []).append(index)
    results = []
    for cls in FACT_CLASSES:
        for (group_cls, floor), indexes in groups.items():
            if group_cls == cls:
                dropped = tuple(index for index in indexes if facts[index].outcome not in SURVIVING)
                results.append(ClassResult(cls, (len(indexes) - len(dropped), len(indexes)), floor, dropped))
    return tuple(results)


def forced_below(fact: MeasuredFact) -> bool:
    """F2: an inverted polarity or a changed quantifier is below floor whatever the class."""
    return fact.outcome == "inverted" or fact.quantifier_changed


def below_floor(facts: Sequence[MeasuredFact], results: tuple[ClassResult, ...] | None = None) -> tuple[int, ...]:
    """F1, F2: indexes of the facts that need another carrier or a tombstone before their span may go. `results` are those of
    `measure`, where they are known.
    """
    results = measure(facts) if results is None else results
    needed = {index for result in results if not result.holds for index in result.dropped}
    needed.update(index for index, fact in enumerate(facts) if forced_below(fact))
    return tuple(sorted(needed))


def budget_met(tokens_before: int, tokens_freed: int, summary_tokens: int, budget_tokens: int) -> bool:
    """F3: does the window fit its budget once these tokens are gone and the summary is in?"""
    return tokens_before - tokens_freed + summary_tokens <= budget_tokens


def answers_for(cls: str, tags: Iterable[tuple[str, Ratio, Ratio]]) -> bool:
    """F4: may a summary answer for this class? One that is below its floor there is absent, not approximate: single facts that
    it was measured to state are carried by it, and what rests on it alone is not to be trusted.
    """
    return all(at_least(kept, floor) for tag_cls, kept, floor in tags if tag_cls == cls)


def violation_rate(evicted: int, below: int) -> Ratio:
    """F5: evicted spans whose summary is below floor ÷ evicted spans. It is watched, not the hit rate."""
    return below, evicted
