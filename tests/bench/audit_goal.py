"""G10: a whole audit of a transcript with the command line, against another tool's audit of the same file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from functools import cache
from pathlib import Path

import msgspec

from tests.bench.harness import Case, Outcome, Side, judged
from tests.bench.inputs import AUDIT_LINES, SESSION, Inputs

PEER = "nauro-ballast==0.1.0.dev1"
INSTALL_S = 120
MEMORY_BASE_MB, LINES_HELD = 64, 2


class Used(msgspec.Struct):
    """What one command left: its standard output, and the most memory it had resident, in MB: all of it, and its own."""

    stdout: str
    peak_mb: float
    own_mb: float


def run_ledger(*arguments: str) -> Used:
    """Run the command line in a process of its own and learn the most memory that it ever had."""
    with tempfile.NamedTemporaryFile() as report:
        command = [sys.executable, "-m", "tests.bench.child", report.name, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"cledger {' '.join(arguments)} ended with {done.returncode}: {done.stderr[-2000:]}")
        peak, own = Path(report.name).read_text("ascii").split()
        return Used(done.stdout, int(peak) / 1024, int(own) / 1024)


_audits: list[Used] = []
"""Audits of this run, so that memory takes no further one."""


def audit(path: Path, session: str) -> Used:
    """Ingest a file into a new log and ask what was forgotten. Returns the answer, and the larger peaks of both commands."""
    with tempfile.TemporaryDirectory(prefix="cledger-bench-") as folder:
        log = f"lmdb:{folder}/log"
        taken = run_ledger("ingest", str(path), "--log", log, "--json")
        found = run_ledger("forgotten", session, "--log", log, "--json")
        return Used(found.stdout, max(taken.peak_mb, found.peak_mb), max(taken.own_mb, found.own_mb))


@cache
def peer() -> Path | None:
    """The peer's command, installed into an environment that goes away with this process; None where that cannot be done."""
    folder = Path(_keep().name) / "peer"
    try:
        venv.create(folder, with_pip=True)
        subprocess.run(
            [folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", PEER],
            check=True, capture_output=True, timeout=INSTALL_S,
        )  # fmt: skip
    except (subprocess.SubprocessError, OSError):
        return None
    return folder / "bin" / "nauro-ballast"


@cache
def _keep() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="cledger-peer-")


def g10(inputs: Inputs) -> Case | Outcome:
    """Ingest and forgotten, processes and all, against the peer's match on the same file."""
    command = peer()
    what = f"ingest and forgotten of {AUDIT_LINES:,} lines ÷ nauro-ballast match"
    if command is None:
        return Outcome(
            code="G10", what=what, unit="lines", status="skipped", goal=10,
            note=f"{PEER} could not be installed; the comparison needs a package index",
        )  # fmt: skip

    def ours() -> float:
        _audits.append(audit(inputs.audit_file, SESSION))
        return AUDIT_LINES

    def theirs() -> float:
        subprocess.run([command, "match", "--cc-root", inputs.audit_folder], check=True, capture_output=True)
        return AUDIT_LINES

    def check() -> str:
        answer = msgspec.json.decode(audit(inputs.audit_file, SESSION).stdout)
        other = subprocess.run(
            [command, "match", "--cc-root", inputs.audit_folder], check=True, capture_output=True, text=True
        ).stdout
        rounds = other.count("boundary trigger=")
        if answer["rounds"] != rounds:
            return f"{answer['rounds']} rounds found, the peer sees {rounds}"
        added = answer["survived_in_summary"] + answer["forgotten_total"]
        return "" if answer["dropped_total"] == added and answer["forgotten_total"] else "the totals do not add up"

    return Case(
        code="G10", what=what, a=Side("cledger", ours), b=Side("nauro-ballast", theirs), unit="lines", goal=10, check=check,
        rounds_max=2, warm_up=False, note="the peer looks at the user's messages only, ours at every fact of every message",
        why="of our time two fifths is extracting the facts, three fifths folding and storing them; the peer does neither",
    )  # fmt: skip


def g10_memory(inputs: Inputs) -> Outcome:
    """The most memory that an audit of 20,000 lines has resident, against the limit for this file."""
    used = max(_audits or [audit(inputs.audit_file, SESSION)], key=lambda one: one.peak_mb)
    return _judged_memory("G10 memory", f"{AUDIT_LINES:,} lines", inputs.audit_file, used)


def g10_large(inputs: Inputs) -> Outcome:
    """The same of 200 MB with rounds as far apart as in real sessions."""
    return _judged_memory("G10 memory, 200 MB", "200 MB", inputs.large_file, audit(inputs.large_file, SESSION))


def _judged_memory(code: str, of: str, path: Path, used: Used) -> Outcome:
    with path.open("rb") as file:
        longest = max(map(len, file)) / 1e6
    allowed = MEMORY_BASE_MB + LINES_HELD * longest
    return Outcome(
        code=code, what=f"peak resident memory of an audit of {of}", figure=f"{used.peak_mb:.0f} MB, {used.own_mb:.0f} its own",
        wanted=f"{MEMORY_BASE_MB} MB + {LINES_HELD} × longest line",
        unit="MB", status=judged(allowed / used.peak_mb, 1),
        note=f"{used.peak_mb:.0f} MB resident at most, {used.own_mb:.0f} MB of it the process's own, the rest pages of files "
        f"that the system can take back; {allowed:.1f} MB allowed",
        why="interpreter, libraries and language tables take 34 MB before the first line; then up to 6 of pages of the stores, "
        "those that a commit changes 8, rows, records and what the reader and the extractor remember 17; "
        "the ids that tell copies of a line 0.05 for each thousand lines",
    )  # fmt: skip
