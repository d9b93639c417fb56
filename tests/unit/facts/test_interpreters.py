"""P2: the same text has the same facts under every interpreter, whatever Unicode tables that one was built with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CORPUS = Path(__file__).parent / "corpus"
WORKER = Path(__file__).parents[2] / "support" / "facts_worker.py"
ODD = (
    "Ünïcödé ＡＢＣ１２３ ﬁle ＿x＿ ½ ² Ⅷ ٣٤ १२ ๓ ①\u200b zero\u2028line\x85next\u00a0space\u3000wide "
    "\u1c80\u1c89\ua7cb \U00010d50\U0001cc00 İstanbul ΣΑΣ ς ß ẞ ǅ\n"
)
"""Letters, digits and spaces of which interpreters of different age think differently."""


def _interpreters() -> list[str]:
    folders = [*os.environ.get("PATH", "").split(os.pathsep), *map(str, Path.home().glob(".pyenv/versions/*/bin"))]
    found: dict[str, str] = {}
    for folder in folders:
        for name in ("python3.11", "python3.12", "python3.13", "python3.14"):
            path = Path(folder) / name
            if path.exists() and "shims" not in folder:
                found.setdefault(name, str(path))
    return [found[name] for name in sorted(found)]


def _digest(interpreter: str, text: Path, summary: Path) -> str:
    done = subprocess.run(
        [interpreter, str(WORKER), str(text), str(summary)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_extract_under_other_interpreters_gives_the_same_facts_p2(tmp_path: Path) -> None:
    names = ("pairs", "field", "second")
    rows = [json.loads(line) for name in names for line in (CORPUS / f"{name}.jsonl").read_text("utf-8").splitlines()]
    text, summary = tmp_path / "text", tmp_path / "summary"
    text.write_text(ODD + "\n".join(row["source"] for row in rows), "utf-8")
    summary.write_text(ODD + "\n".join(row["summary"] for row in rows), "utf-8")
    others = [path for path in _interpreters() if not path.endswith(f"python3.{sys.version_info.minor}")]
    if not others:
        pytest.skip("no other Python from 3.11 on is on the path or under ~/.pyenv/versions")
    expected = _digest(sys.executable, text, summary)
    assert int(expected.split()[0]) > 300
    assert {path: _digest(path, text, summary) for path in others} == dict.fromkeys(others, expected)
