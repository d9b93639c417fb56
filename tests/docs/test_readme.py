"""README and runbook are run, not believed."""

from __future__ import annotations

import ast
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from schemas.codec import encode
from schemas.ids import event_id
from schemas.records import SessionOpened
from tests.docs.readme import README, blocks, demo_output, excerpt, first_loss, loss, shell_lines, worst_losses
from tests.support.cli import CODEX_SAMPLE, ROOT, SAMPLE, SESSION, has_no_traceback, in_process, in_subprocess

pytestmark = pytest.mark.docs
TEXT = README.read_text("utf-8")
RUNBOOK = (ROOT / "ops" / "runbook.md").read_text("utf-8")
LINES = [*dict.fromkeys([*shell_lines(TEXT), *shell_lines(RUNBOOK)])]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """A home with sessions of both agents, a log that holds them, and the files that the README names."""
    home = tmp_path / "home"
    for folder, sample in ((".claude/projects/harbor-pay", SAMPLE), (".codex/sessions/2026", CODEX_SAMPLE)):
        (home / folder).mkdir(parents=True)
        shutil.copy(sample, home / folder)
    work = tmp_path / "work"
    work.mkdir()
    shutil.copy(SAMPLE, work / "TRANSCRIPT.jsonl")
    (work / "ops").symlink_to(ROOT / "ops")
    source = "The gateway accepts 40 req/s at most."
    (work / "SOURCE.txt").write_text(source)
    (work / "SUMMARY.txt").write_text("The gateway has a limit.")
    (work / "BATCH.jsonl").write_text(json.dumps({"id": "a", "source": source, "summary": source}) + "\n")
    (work / "CLAIMS.jsonl").write_text(json.dumps({"text": source, "key": f"{SESSION}:x"}) + "\n")
    store = work / "my-store"
    store.write_text('#!/bin/sh\necho \'{"status": "absent"}\'\n')
    store.chmod(0o755)
    name = "elsewhere"
    opened = SessionOpened(id=event_id("session.opened", name, name), scope=name, session=name, store="none")
    (work / "RECORDS.jsonl").write_bytes(encode(opened) + b"\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CLEDGER_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("CLEDGER_LOG", raising=False)
    monkeypatch.chdir(work)
    assert in_process(capsys, "ingest", home / ".claude", "--json").code == 0
    return home


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("cledger ")])
def test_readme_command_does_what_it_shows(line: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word.replace("~", str(place)) if word.startswith("~/") else word for word in shlex.split(line)]
    ran = in_process(capsys, *[SESSION if word == "SESSION" else word for word in words[1:]])
    assert ran.code in (0, 1, 3), ran.err
    assert "error: " not in ran.err
    assert has_no_traceback(ran)
    assert ran.out.strip()


@pytest.mark.parametrize("line", [line for line in LINES if not line.startswith("cledger ")])
def test_readme_make_targets_exist(line: str) -> None:
    """They are what is running this test; that they are there is what can be checked from inside."""
    command, target = line.split()
    assert command == "make"
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_readme_shows_what_the_demo_prints(tmp_path: Path) -> None:
    """Refresh it with: python -m tests.docs.refresh"""
    ran = in_subprocess("demo", data=tmp_path)
    assert ran.code == 0
    shown, printed = demo_output(TEXT).splitlines(), ran.out.splitlines()

    def key_lines(lines: list[str]) -> list[str]:
        return [
            line for line in lines if re.match(r"\d\. |  round \d|   1\. |  (anchored|unanchored|tombstoned|absent) ", line)
        ]

    assert key_lines(shown) == key_lines(printed)
    assert [line for line in shown if "refused (rule" in line] == [line for line in printed if "refused (rule" in line]
    assert "0 differences" in demo_output(TEXT)
    assert excerpt(TEXT) == worst_losses(demo_output(TEXT))


def test_readme_shows_one_object_of_forgotten(tmp_path: Path) -> None:
    """Refresh it with: python -m tests.docs.refresh"""
    ran = in_subprocess("forgotten", SAMPLE, "--json", "--limit", 1, data=tmp_path)
    assert json.loads(loss(TEXT)) == first_loss(ran.object)


def test_demo_touches_neither_the_users_log_nor_the_network(tmp_path: Path) -> None:
    ran = in_subprocess("demo", "--json", data=tmp_path / "data")
    assert ran.code == 0
    assert ran.err == ""
    assert not (tmp_path / "data").exists()
    parts = [one["part"] for one in ran.objects]
    assert list(dict.fromkeys(parts)) == ["lost", "asked_first", "alerts", "tombstoned", "recall", "status", "replay"]
    by_part = {one["part"]: one for one in ran.objects}
    assert by_part["asked_first"]["answer"]["decision"] == "refused"
    assert by_part["replay"]["replay"]["differences"] == []
    answers = [answer["answer"] for one in ran.objects if one["part"] == "recall" for answer in one["answers"]]
    assert {"anchored", "unanchored", "tombstoned", "absent", "unknown"} <= set(answers)


@pytest.mark.parametrize("code", blocks("python", TEXT), ids=lambda code: code.strip().splitlines()[-1].strip()[:30])
def test_readme_python_runs_twice_on_one_log_and_says_what_it_did(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CLEDGER_DATA", str(tmp_path))
    for _ in range(2):
        exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
        assert capsys.readouterr().out.strip()


def test_readme_names_only_folders_and_files_that_are_there() -> None:
    for name in re.findall(r"`((?:tests|ops|ledger|schemas|consumers)/[\w./]+)`", TEXT):
        assert (ROOT / name).exists(), name


def test_readme_names_every_promise_and_every_exit_code() -> None:
    assert re.findall(r"^\| (P\d+) ", TEXT, re.MULTILINE) == [f"P{number}" for number in range(1, 13)]
    codes = TEXT.partition("## Exit codes")[2].partition("\n## ")[0]
    assert re.findall(r"^\| (\d+) ", codes, re.MULTILINE) == ["0", "1", "2", "3", "4", "5", "130"]


def test_readme_explains_every_rule_that_a_decision_or_loss_may_name() -> None:
    sources = "".join(path.read_text("utf-8") for path in sorted((ROOT / "ledger").rglob("*.py")))
    assert re.findall(r"^\| ([ICFRTD]\d) \|", TEXT, re.MULTILINE) == sorted(
        set(re.findall(r"\b[ICFRTD]\d\b", sources)), key=lambda code: ("ICFRTD".index(code[0]), code)
    )


def test_runbook_has_an_entry_for_every_kind_of_alert() -> None:
    """Every alert carries its kind as the key of its runbook entry."""
    entries = set(re.findall(r"^### (\w+)$", RUNBOOK, re.MULTILINE))
    kinds = set()
    for path in [*(ROOT / "ledger").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            kinds |= _kinds_of(node)
    assert len(kinds) > 20
    assert kinds - entries == set(), "write an entry in ops/runbook.md"


def _kinds_of(node: ast.AST) -> set[str]:
    """Kinds that a call to `raise_alert` names, or that a function called `_alert_kind` returns."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "raise_alert":
        values = [word.value for word in node.keywords if word.arg == "kind"]
        return {
            part.value
            for value in values
            for part in ([value.body, value.orelse] if isinstance(value, ast.IfExp) else [value])
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and re.fullmatch(r"[a-z]+(_[a-z]+)+", part.value)
        }
    if isinstance(node, ast.FunctionDef) and node.name == "_alert_kind":
        returned = [found.value for found in ast.walk(node) if isinstance(found, ast.Return)]
        firsts = [value.elts[0] for value in returned if isinstance(value, ast.Tuple)]
        return {first.value for first in firsts if isinstance(first, ast.Constant) and first.value}  # type: ignore[misc]
    return set()


def test_runbook_entries_say_meaning_first_look_and_safe_action() -> None:
    for entry in re.split(r"^### ", RUNBOOK, flags=re.MULTILINE)[1:]:
        name = entry.splitlines()[0]
        assert [word for word in ("Meaning:", "First look:", "Safe action:") if word not in entry] == [], name
