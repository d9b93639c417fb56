"""The command as tests run it: in this process for speed, in one of its own where exit codes and streams are what is tested."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from ops.cli.main import main

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "ops" / "samples" / "claude-code-retry-budget.jsonl"
CODEX_SAMPLE = ROOT / "ops" / "samples" / "codex-tide-cache.jsonl"
SESSION = "c813f6a4-3b6a-5ee3-ae08-9c3ffb8f470c"
SHARED = ROOT.parent / "shared"


class Ran:
    """What a command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The JSON lines on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def object(self) -> dict[str, Any]:
        """The one JSON line on stdout."""
        (only,) = self.objects
        return only


Cli = Callable[..., Ran]


def environment(data: Path, **more: str) -> dict[str, str]:
    """A clean environment whose logs lie under `data`."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("CLEDGER_", "COLUMNS", "NO_COLOR", "FORCE_"))
    }
    return {**kept, "CLEDGER_DATA": str(data), "PYTHONPATH": str(ROOT), **more}


def in_process(capsys: pytest.CaptureFixture[str], *arguments: object) -> Ran:
    """Run `cledger` in this process."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return Ran(code, captured.out, captured.err)


def command_line(*arguments: object) -> list[str]:
    """`cledger` with this interpreter."""
    return [sys.executable, "-m", "ops.cli.main", *(str(argument) for argument in arguments)]


def in_subprocess(
    *arguments: object,
    data: Path,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    prepare: Callable[[], None] | None = None,
) -> Ran:
    """Run `cledger` in a process of its own."""
    done = subprocess.run(
        command_line(*arguments),
        input=stdin,
        capture_output=True,
        env=environment(data, **(env or {})),
        cwd=ROOT,
        timeout=120,
        preexec_fn=prepare,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def with_rules(path: Path, words: str) -> Path:
    """The bundled session at `path`, with other words in the message that states the ground rules."""
    lines = SAMPLE.read_text().splitlines()
    for at, line in enumerate(lines):
        entry = json.loads(line)
        content = entry.get("message", {}).get("content") if entry.get("type") == "user" else None
        if isinstance(content, str) and content.startswith("Right. Ground rules"):
            entry["message"]["content"] = words
            lines[at] = json.dumps(entry)
            break
    else:
        raise AssertionError("the sample states no ground rules")
    path.write_text("\n".join(lines) + "\n")
    return path


def has_no_traceback(ran: Ran) -> bool:
    """Did people get a message and not a stack of frames?"""
    return "Traceback" not in ran.err and "Traceback" not in ran.out and "internal error" not in ran.err
