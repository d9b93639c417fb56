"""`python -m tests.bench`: the goals in turn, a table, and 1 as exit code where one is missed."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import msgspec

from ledger.errors import LedgerError
from tests.bench import audit_goal, fold_goals, kafka_goals, text_goals
from tests.bench.harness import Case, Outcome, failed, measure, table
from tests.bench.inputs import Inputs
from tests.bench.stored import RESULTS, store

GOALS: dict[str, tuple[Callable[[Inputs], Case | Outcome], ...]] = {
    "G1": (text_goals.g1,),
    "G2": (text_goals.g2, text_goals.g2_shared, text_goals.g2b),
    "G3": (text_goals.g3, text_goals.g3_cold, text_goals.g3_fold),
    "G4": (kafka_goals.g4,),
    "G5": (fold_goals.g5, kafka_goals.g5_kafka),
    "G6": (kafka_goals.g6,),
    "G7": (kafka_goals.g7, kafka_goals.g7_backfill),
    "G8": (fold_goals.g8, fold_goals.g8_snapshot),
    "G9": (fold_goals.g9, fold_goals.g9_scopes),
    "G10": (audit_goal.g10, audit_goal.g10_memory, audit_goal.g10_large),
}


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(prog="tests.bench", description="Ratios of speed against the goals of the design.")
    parser.add_argument("--only", default="", help=f"goals to measure, of {','.join(GOALS)}")
    parser.add_argument("--rounds", type=int, default=7, help="measured rounds of each goal, after one to warm up")
    parser.add_argument("--records", type=int, default=40_000, help="records of the growing run of G9")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the figures are kept for the README")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    options = parser.parse_args(arguments)
    options.goals = [name for name in options.only.upper().split(",") if name] or list(GOALS)
    unknown = [name for name in options.goals if name not in GOALS]
    if unknown or options.rounds < 1:
        parser.error(f"no such goal: {', '.join(unknown)}" if unknown else "at least one round is needed")
    return options


def machine() -> str:
    """What the figures were taken on."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines() if Path("/proc/cpuinfo").exists() else ():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    libraries = ", ".join(f"{name} {version(name)}" for name in ("msgspec", "lmdb"))
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, {libraries}, load {_load()}"


def _load() -> str:
    return " ".join(f"{one:.1f}" for one in os.getloadavg())


def taken(name: str, goal: Callable[[Inputs], Case | Outcome], inputs: Inputs, rounds: int) -> Outcome:
    """One goal measured. What fails is an outcome too, so that the others are measured all the same."""
    try:
        case = goal(inputs)
        return case if isinstance(case, Outcome) else measure(case, rounds)
    except (LedgerError, OSError, RuntimeError, subprocess.SubprocessError) as error:
        return Outcome(code=name, what=(goal.__doc__ or name).partition("\n")[0], unit="", status="wrong", note=str(error))


def main(arguments: list[str]) -> int:
    """Measure, print, and say by exit code whether all goals hold."""
    options = parsed(arguments)
    before, start = machine(), time.monotonic()
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="cledger-bench-") as folder:
        inputs = Inputs(Path(folder), options.records)
        for name in options.goals:
            for goal in GOALS[name]:
                outcomes.append(taken(name, goal, inputs, options.rounds))
                store(outcomes[-1:], before, options.results)
                print(f"{outcomes[-1].code}: {outcomes[-1].status} ({time.monotonic() - start:.0f} s)", file=sys.stderr)
    if options.json:
        print(msgspec.json.encode({"machine": before, "load_after": _load(), "goals": outcomes}).decode())
    else:
        print(f"{before}; afterwards {_load()}\n\n{table(outcomes)}")
    return failed(outcomes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
