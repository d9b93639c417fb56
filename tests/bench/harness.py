"""Two sides measured in turn: ratio by round, its median and quartiles, and whether the run can be believed at all."""

from __future__ import annotations

import gc
import resource
import statistics
import time
from collections.abc import Callable
from typing import Literal

import msgspec

Clock = Literal["wall", "cpu"]
Status = Literal["met", "near", "missed", "wrong", "inconclusive", "no goal", "skipped"]

ENOUGH = 0.8
"""Below this share of a goal a run fails; between it and the goal it is near, for a ratio moves by some per cent."""

SWAY_MAX = 0.40
"""If the reference itself varies by more than this share of its median, something else had the machine."""


class Side(msgspec.Struct, frozen=True):
    """One side of a comparison: `run` does the work and returns how much of it was done, in `unit`s."""

    name: str
    run: Callable[[], float]


Timed = tuple[float, float]
"""Rates by CPU and by wall clock. CPU is of this process and of the children it waited for."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A is ours, B the reference. `check` compares what both sides answer and returns what is wrong, or the empty string.

    `goal` is the least ratio of rates A/B. `rounds_max` keeps a slow pair from taking the whole time. `pair` stands in for two
    sides that are parts of one and the same run: it returns the rates of both. `why` says what a missed goal is due to.
    """

    code: str
    what: str
    unit: str
    a: Side | None = None
    b: Side | None = None
    pair: Callable[[], tuple[Timed, Timed]] | None = None
    goal: float | None = None
    clock: Clock = "cpu"
    check: Callable[[], str] = lambda: ""
    rounds_max: int = 99
    warm_up: bool = True
    note: str = ""
    why: str = ""


class Figures(msgspec.Struct, frozen=True):
    """Ratios by one clock: median with quartiles, and the raw rates they come from."""

    median: float
    low: float
    high: float
    rate_a: float
    rate_b: float
    sway: float


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What one case came to. `note` says what the figures do not; `figure` and `wanted` stand for what is no ratio."""

    code: str
    what: str
    unit: str
    status: Status
    goal: float | None = None
    clock: Clock = "cpu"
    rounds: int = 0
    cpu: Figures | None = None
    wall: Figures | None = None
    note: str = ""
    why: str = ""
    figure: str = ""
    wanted: str = ""


def measure(case: Case, rounds: int) -> Outcome:
    """Compare the answers, then the speed. A run whose reference sways too much is repeated once, then inconclusive."""
    wrong = case.check()
    if wrong:
        return Outcome(code=case.code, what=case.what, unit=case.unit, status="wrong", goal=case.goal, note=wrong)
    taken = min(rounds, case.rounds_max)
    if case.warm_up and case.a is not None and case.b is not None:
        case.a.run()
        case.b.run()
    cpu, wall = _rounds(case, taken)
    steady = (cpu if case.clock == "cpu" else wall).sway <= SWAY_MAX
    if not steady:
        cpu, wall = _rounds(case, taken)
        steady = (cpu if case.clock == "cpu" else wall).sway <= SWAY_MAX
    ratio = (cpu if case.clock == "cpu" else wall).median
    status: Status = "inconclusive" if not steady else judged(ratio, case.goal)
    return Outcome(
        code=case.code, what=case.what, unit=case.unit, status=status, goal=case.goal, clock=case.clock, rounds=taken,
        cpu=cpu, wall=wall, note=case.note, why=case.why,
    )  # fmt: skip


def judged(ratio: float, goal: float | None) -> Status:
    """A ratio against its goal."""
    if goal is None:
        return "no goal"
    return "met" if ratio >= goal else "near" if ratio >= ENOUGH * goal else "missed"


def _rounds(case: Case, rounds: int) -> tuple[Figures, Figures]:
    """A then B, next round B then A: what drifts slowly hits both alike."""
    ours: list[Timed] = []
    theirs: list[Timed] = []
    for number in range(rounds):
        if case.pair is not None:
            mine, other = case.pair()
            ours.append(mine)
            theirs.append(other)
        elif case.a is not None and case.b is not None:
            for rates, side in ((ours, case.a), (theirs, case.b))[:: 1 if number % 2 == 0 else -1]:
                rates.append(_timed(side))
    by_cpu, by_wall = (_figures([a[at] for a in ours], [b[at] for b in theirs]) for at in (0, 1))
    return by_cpu, by_wall


def _timed(side: Side) -> Timed:
    gc.collect()
    cpu, wall = _cpu_s(), time.perf_counter()
    done = side.run()
    wall, cpu = time.perf_counter() - wall, _cpu_s() - cpu
    return done / max(cpu, 1e-9), done / max(wall, 1e-9)


def _cpu_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _figures(a: list[float], b: list[float]) -> Figures:
    ratios = sorted(mine / theirs for mine, theirs in zip(a, b, strict=True))
    low, _, high = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else (ratios[0],) * 3
    middle_b = statistics.median(b)
    return Figures(
        median=statistics.median(ratios), low=low, high=high, rate_a=statistics.median(a), rate_b=middle_b,
        sway=(max(b) - min(b)) / middle_b,
    )  # fmt: skip


def failed(outcomes: list[Outcome]) -> int:
    """The exit code: 1 for a goal missed or a wrong answer, 3 where nothing can be said, else 0."""
    states = {one.status for one in outcomes}
    return 1 if states & {"missed", "wrong"} else 3 if "inconclusive" in states else 0


HEAD = ("goal", "what", "A/B", "quartiles", "wanted", "result", "A", "B", "unit", "by wall clock")


def table(outcomes: list[Outcome]) -> str:
    """A Markdown table, and what the figures do not say below it."""
    rows = [HEAD, tuple("---" for _ in HEAD), *(_row(one) for one in outcomes)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEAD))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows]
    notes = [f"- {one.code}: {one.note}" for one in outcomes if one.note]
    return "\n".join([*lines, "", *notes])


def _row(one: Outcome) -> tuple[str, ...]:
    chosen, other = (one.cpu, one.wall) if one.clock == "cpu" else (one.wall, one.cpu)
    if chosen is None or other is None:
        return (one.code, one.what, "", "", _number(one.goal), one.status, "", "", one.unit, "")
    return (
        one.code, one.what, _number(chosen.median), f"{_number(chosen.low)} to {_number(chosen.high)}",
        _number(one.goal) + ("" if one.clock == "cpu" else " (wall)"), one.status,
        f"{chosen.rate_a:,.0f}", f"{chosen.rate_b:,.0f}", f"{one.unit}/s", _number(other.median) if one.clock == "cpu" else "",
    )  # fmt: skip


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"
