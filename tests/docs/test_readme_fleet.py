"""The README's commands for a fleet, in their order, on a real broker."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.docs.readme import README, fleet_lines
from tests.support.broker import new_prefix
from tests.support.cli import ROOT, SAMPLE, SESSION

pytestmark = pytest.mark.docs
SHOWN = "127.0.0.1:9092"
TIMEOUT_S = 120
_SET = re.compile("[A-Z_]+=")


@pytest.fixture
def environment(tmp_path: Path, broker: str) -> dict[str, str]:
    """A home with a session, and a ledger of this test's own on the broker."""
    (tmp_path / ".claude" / "projects").mkdir(parents=True)
    shutil.copy(SAMPLE, tmp_path / ".claude" / "projects")
    return {
        **os.environ,
        "HOME": str(tmp_path),
        "CLEDGER_DATA": str(tmp_path / "data"),
        "CLEDGER_KAFKA_PREFIX": new_prefix(),
        "PYTHONPATH": str(ROOT),
        "BROKER": broker,
    }


def test_readme_commands_for_a_fleet_do_what_they_show(
    environment: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers that are shown without an end run until the commands after them are through."""
    monkeypatch.chdir(tmp_path)
    workers: list[subprocess.Popen[bytes]] = []
    try:
        for line in fleet_lines(README.read_text("utf-8")):
            words, mine = _words(line, environment)
            if words[0] == "export":
                name, _, value = words[1].partition("=")
                environment[name] = value if "PREFIX" not in name else new_prefix()
                continue
            if "--snapshots" in words:
                data = mine.get("CLEDGER_DATA", str(tmp_path / "worker"))
                workers.append(subprocess.Popen(words, env={**environment, "CLEDGER_DATA": data}, cwd=tmp_path))
                continue
            if "--exit-when-idle" in words:
                environment = {**environment, "CLEDGER_DATA": str(tmp_path / "job")}
            _run(words, environment)
        assert len(workers) == 2
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        assert [worker.wait(30) for worker in workers] == [0, 0]
    finally:
        for worker in workers:
            if worker.poll() is None:
                worker.kill()
                worker.wait()


def _words(line: str, environment: dict[str, str]) -> tuple[list[str], dict[str, str]]:
    """The words of a command as they can be run, and the variables that are set in front of it."""
    words = [word.replace(SHOWN, environment["BROKER"]).replace("~", environment["HOME"]) for word in shlex.split(line)]
    words = [SESSION if word == "SESSION" else word for word in words]
    mine: dict[str, str] = {}
    while _SET.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        mine[name] = value
    program = {"cledger": [sys.executable, "-m", "ops.cli.main"], "python": [sys.executable]}.get(words[0])
    return ([*program, *words[1:]] if program is not None else words), mine


def _run(words: list[str], environment: dict[str, str]) -> None:
    for attempt in range(30):
        ran = subprocess.run(words, env=environment, check=False, capture_output=True, timeout=TIMEOUT_S)
        unfinished = b"catching up" in ran.stderr or b"no session" in ran.stderr or b"answers" in ran.stderr
        if ran.returncode in (0, 1, 3) or not unfinished or attempt == 29:
            break
        time.sleep(1.0)
    told = ran.stderr.decode("utf-8", "replace")
    assert ran.returncode in (0, 1, 3), f"{words}: {ran.returncode} {told}"
    assert "Traceback" not in told, told
