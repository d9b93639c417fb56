"""Numbers, paths and commands as people read them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from ops.cli.words import (
    command,
    count,
    day_time,
    left_cut,
    listed,
    of_class,
    place,
    short_action,
    short_ids,
    short_path,
    short_sessions,
)
from ops.session_names import begins


def test_count_has_one_and_many() -> None:
    assert count(1, "round") == "1 round"
    assert count(0, "round") == "0 rounds"
    assert count(14100, "log entry", "log entries") == "14,100 log entries"
    assert of_class(1, "numeric") == "1 number"
    assert of_class(2, "narrative") == "2 narrative sentences"
    assert listed([]) == "none"


def test_command_can_be_pasted() -> None:
    words = ("cledger", "recall", "it's $5; rm -rf", "--session", "a b")
    assert shlex.split(command(*words)) == list(words)


def test_short_path_prefers_what_is_shorter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert short_path(str(tmp_path / "a.jsonl")) == "a.jsonl"
    assert short_path("/etc/x") == "/etc/x"
    assert short_path("") == ""
    assert place(str(tmp_path / "a.jsonl"), 7) == "a.jsonl:7"
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "b")
    assert short_path(str(tmp_path / "a.jsonl")) == "~/a.jsonl"


SESSION = "c813f6a4-3b6a-5ee3-ae08-9c3ffb8f470c"
SPAN = "a82e4b9f-b340-511b-9ab3-5992baf026e6"


def test_short_ids_cuts_ids_and_leaves_words() -> None:
    assert short_ids(f"{SESSION}:{SPAN}") == "c813f6a4:a82e4b9f"
    assert short_ids(f"{SESSION}/a7c41f2:m1") == "c813f6a4/a7c41f2:m1"
    assert short_ids(f"stated again by {SESSION}:{SPAN}.2, twice") == "stated again by c813f6a4:a82e4b9f.2, twice"
    assert short_ids("f9331998" + "0" * 17) == "f9331998"
    assert short_ids("my-session:deadbeef") == "my-session:deadbeef"


def test_short_sessions_name_one_session_each() -> None:
    alike = ["019d6d29-8cf7-7fe3", "019d6d29-8cf8-7fe3", "s1", f"{SESSION}/a7c41f2", SESSION, "abcdefgh", "abcdefgh-x"]
    short = short_sessions(alike)
    assert short[SESSION] == "c813f6a4"
    assert short[f"{SESSION}/a7c41f2"] == "c813f6a4/a7c41f2"
    assert short["s1"] == "s1"
    assert [begins(session, name) for session, name in short.items()] == [True] * len(alike)
    roots = [session for session in alike if "/" not in session]
    for session, name in short.items():
        meant = [root for root in roots if root == name] or [root for root in roots if root.startswith(name)]
        assert "/" in session or meant == [session]


def test_short_action_cuts_paths_from_the_left_and_keeps_the_file() -> None:
    assert short_action("Edit /home/dev/pool/src/worker/charge.py") == "Edit …/charge.py"
    assert short_action("Grep cmd/entire/cli/*.go") == "Grep …/*.go"
    assert short_action("Bash make -C src test") == "Bash make -C src test"
    assert short_action("Fetch https://host.example/a/b/c") == "Fetch https://host.example/a/b/c"
    assert short_action("Read a/b.py") == "Read a/b.py"
    assert left_cut("/a/long/path.py", 8) == "…path.py"
    assert left_cut("short", 8) == "short"


def test_day_time_is_to_the_minute() -> None:
    assert day_time("2026-01-23T16:17:59.895Z") == "2026-01-23 16:17"
    assert day_time(None) == ""
