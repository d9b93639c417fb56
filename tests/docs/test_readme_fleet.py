"""The README's commands for a fleet, in their order, on a real broker."""

from __future__ import annotations

import os
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
from tests.support.cli import ROOT, SAMPLE, SESSION, in_process

pytestmark = pytest.mark.docs
SHOWN = "127.0.0.1:9092"
TIMEOUT_S = 120


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
    """The worker that is shown without an end runs until the commands after it are through."""
    monkeypatch.chdir(tmp_path)
    assert in_process(capsys, "ingest", SAMPLE, "--log", "lmdb:./embedded").code == 0
    worker: subprocess.Popen[bytes] | None = None
    try:
        for line in fleet_lines(README.read_text("utf-8")):
            words = _words(line, environment)
            if words[0] == "export":
                name, _, value = words[1].partition("=")
                environment[name] = value if "PREFIX" not in name else new_prefix()
                continue
            if "--snapshots" in words:
                mine = {**environment, "CLEDGER_DATA": str(tmp_path / "worker")}
                worker = subprocess.Popen(words, env=mine, cwd=tmp_path)
                continue
            if "--exit-when-idle" in words:
                environment = {**environment, "CLEDGER_DATA": str(tmp_path / "second")}
            _run(words, environment)
        assert worker is not None
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
    finally:
        if worker is not None and worker.poll() is None:
            worker.kill()
            worker.wait()


def _words(line: str, environment: dict[str, str]) -> list[str]:
    words = [word.replace(SHOWN, environment["BROKER"]).replace("~", environment["HOME"]) for word in shlex.split(line)]
    words = [SESSION if word == "SESSION" else word for word in words]
    program = {"cledger": [sys.executable, "-m", "ops.cli.main"], "python": [sys.executable]}.get(words[0])
    return [*program, *words[1:]] if program is not None else words


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
