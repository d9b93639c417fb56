"""Kills a worker process and collects what it had said: at named fault points, or from outside after a number of lines.

A worker is any command that writes a line to stdout, unbuffered, for each thing that it was told is durable. What the lines
mean is the test's business. `CrashHarness` counts how often each point was hit, so that a test can demand that every one was.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ledger.faults import ANNOUNCEMENT, POINTS, VARIABLE

PROJECT = Path(__file__).parents[2]
OUTSIDE = "(killed from outside)"
FINISHED = "(ended by itself)"
PATIENCE_S = 60
"""A worker that neither dies nor ends in this time has hung, which fails the test."""


@dataclass(frozen=True)
class Run:
    """One life of a worker: the lines it wrote, where it ended (a fault point, `OUTSIDE` or `FINISHED`), and its stderr."""

    lines: list[str]
    ended: str
    stderr: str


@dataclass
class CrashHarness:
    """Runs workers and keeps count of how they ended."""

    ends: Counter[str] = field(default_factory=Counter)

    def run(self, command: Sequence[str], *, fault: str = "", kill_after_lines: int | None = None) -> Run:
        """One life of `command`. `fault` is a plan as in `CLEDGER_FAULTS`; `kill_after_lines` kills it from outside.

        Raises `AssertionError` if the worker ends in any other way than by a kill or with exit code 0.
        """
        process = subprocess.Popen(
            list(command),
            cwd=PROJECT,
            env=os.environ | {VARIABLE: fault},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        lines: list[str] = []
        if kill_after_lines is not None:
            while len(lines) < kill_after_lines and (line := process.stdout.readline()):
                lines.append(line.rstrip("\n"))
            process.send_signal(signal.SIGKILL)
        try:
            # What was read ahead with the lines is in the stream's buffer, which `communicate` passes by.
            ahead = process.stdout.read() if kill_after_lines is not None else ""
            rest, stderr = process.communicate(timeout=PATIENCE_S)
            rest = ahead + rest
        except subprocess.TimeoutExpired:
            process.kill()
            rest, stderr = process.communicate()
            raise AssertionError(f"{command} hung ({fault or 'no fault'}); it said:\n{rest[-500:]}\n{stderr[-2000:]}") from None
        ended = self._end(process.returncode, stderr, kill_after_lines is not None)
        assert ended is not None, f"{command} ended with {process.returncode} ({fault or 'no fault'}):\n{stderr[-2000:]}"
        self.ends[ended] += 1
        # A last line without its end was cut off by the kill: nobody can rely on it.
        complete = rest if rest.endswith("\n") else rest[: rest.rfind("\n") + 1]
        return Run(lines + complete.splitlines(), ended, stderr)

    def _end(self, code: int, stderr: str, killed: bool) -> str | None:
        if code == -signal.SIGKILL:
            announced = [line.split() for line in stderr.splitlines() if line.startswith(ANNOUNCEMENT + " ")]
            return announced[-1][1] if announced else OUTSIDE if killed else None
        return FINISHED if code == 0 else None

    def assert_all_hit(self, points: Iterable[str]) -> None:
        """Every one of these declared points ended at least one worker."""
        wanted = sorted(points)
        assert wanted, "no fault point is declared under this name: was its module imported?"
        missed = [name for name in wanted if not self.ends[name]]
        assert not missed, f"never hit: {missed}; {self.report()}"

    def report(self) -> str:
        """How the workers ended, with counts."""
        return ", ".join(f"{name} {count}" for name, count in sorted(self.ends.items()))


def points(prefix: str) -> list[str]:
    """The declared fault points whose names begin with `prefix`, in order."""
    return sorted(name for name in POINTS if name.startswith(prefix))
