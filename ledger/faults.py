"""Named fault points: places where a test may end the process, or make a step fail, to see what survives.

They are inert unless the environment variable `CLEDGER_FAULTS` names one before the process starts:

    CLEDGER_FAULTS=log.append.before_commit:3           SIGKILL at the third hit
    CLEDGER_FAULTS=log.append.before_commit:3:error     OSError(EIO) at the third hit, once
    CLEDGER_FAULTS=log.append.before_commit:3:hang      the thread that hits it the third time never goes on

Several entries are separated by commas. Every point is declared where it is used, with what is true at that place; a test can
therefore list them all and demand that each was hit. The pure core has no fault points: it touches nothing that can fail.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
import time

from ledger.errors import UsageError

VARIABLE = "CLEDGER_FAULTS"
ANNOUNCEMENT = "fault-point"
"""First word of the line written to stderr just before the process ends itself: `fault-point NAME NTH`."""

ACTIONS = ("kill", "error", "hang")
POINTS: dict[str, str] = {}
"""Every declared point with what is true when it is reached."""


def _plan(text: str) -> dict[tuple[str, int], str]:
    """`name:nth[:kill|error|hang],…` as {(name, nth): action}. Raises `UsageError` for anything else."""
    plan: dict[tuple[str, int], str] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, rest = part.partition(":")
        nth, _, action = rest.partition(":")
        action = action or "kill"
        if not name or not (nth.isascii() and nth.isdecimal()) or int(nth) < 1 or action not in ACTIONS:
            raise UsageError(f"{VARIABLE}: {part!r} is not NAME:NTH or NAME:NTH:{'|'.join(ACTIONS)}, NTH from 1")
        plan[name, int(nth)] = action
    return plan


_armed = False
_planned: dict[tuple[str, int], str] = {}
_hits: dict[str, int] = {}
_counting = threading.Lock()


def arm(text: str) -> None:
    """Set the plan, as the environment variable does at import; the empty string disarms. Hit counts start again at 0."""
    global _armed  # noqa: PLW0603  one bool is all that an inert point may cost
    _planned.clear()
    _planned.update(_plan(text))
    _hits.clear()
    _armed = bool(_planned)


def declare(name: str, meaning: str) -> str:
    """Register a fault point at import time of the module that has it, and return its name."""
    if POINTS.setdefault(name, meaning) != meaning:
        raise ValueError(f"fault point {name!r} is declared twice")
    return name


def fault_point(name: str) -> None:
    """Reach a declared point. Costs one test of a module-level bool when nothing is armed."""
    if _armed:
        _reach(name)


def _reach(name: str) -> None:
    if name not in POINTS:
        raise ValueError(f"fault point {name!r} was never declared")
    with _counting:
        nth = _hits[name] = _hits.get(name, 0) + 1
    action = _planned.get((name, nth))
    if action == "error":
        raise OSError(errno.EIO, f"{ANNOUNCEMENT} {name} {nth}")
    if action is not None:
        os.write(2, f"{ANNOUNCEMENT} {name} {nth}\n".encode())
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    while action == "hang":
        time.sleep(3600)


arm(os.environ.get(VARIABLE, ""))
