"""Numbers, paths and commands as people read them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from ops.cli.words import command, count, listed, of_class, place, short_path, short_session


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


def test_short_session_keeps_enough() -> None:
    assert short_session("c813f6a4-3b6a-5ee3-ae08-9c3ffb8f470c") == "c813f6a4-3b6a"
    assert short_session("c813f6a4-3b6a-5ee3-ae08-9c3ffb8f470c/a7c41f2") == "c813f6a4-3b6a/a7c41f2"
    assert short_session("s1") == "s1"
