"""Files that are not what one session wrote in turn: lines of two formats, lines turned round, one id for everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ledger.transcripts.report import InspectReport, inspect
from tests.unit.transcripts.builders import (
    SHARED,
    as_bytes,
    assistant,
    boundary,
    codex,
    codex_message,
    messages,
    read,
    report,
    rounds,
    summaries,
    summary,
    user,
)

STORY = [
    user("u1", "Ship only after QA has signed."),
    assistant("a1", "Understood.", "u1"),
    user("u2", "Glass goes first.", "a1"),
    boundary("b1", "u2"),
    summary("s1", "Ship after QA.", "b1"),
    user("u3", "Go on.", "s1"),
]
CODEX = [codex("session_meta", id="cx"), codex_message("user", "Sort the claims."), codex("compacted", message="Claims.")]
PI = [
    {"type": "session", "id": "p", "cwd": "/w", "version": 3},
    {"type": "message", "id": "m1", "parentId": None, "timestamp": "t", "message": {"role": "user", "content": "Sort them."}},
    {"type": "message", "id": "m2", "parentId": "m1", "timestamp": "t", "message": {"role": "user", "content": "All."}},
]
COPILOT = [
    {"type": "session.start", "id": "c1", "data": {"sessionId": "c"}},
    {"type": "user.message", "id": "c2", "data": {"content": "Sort the claims."}},
]
FORMATS: dict[str, list[dict[str, Any]]] = {"claude-code": STORY, "codex": CODEX, "pi": PI, "copilot-cli": COPILOT}


def inspected(tmp_path: Path, lines: list[Any]) -> InspectReport:
    path = tmp_path / "t.jsonl"
    path.write_bytes(as_bytes(lines))
    return inspect(path)


@pytest.mark.parametrize("name", FORMATS)
def test_file_of_one_format_is_complete(tmp_path: Path, name: str) -> None:
    found = inspected(tmp_path, FORMATS[name])
    assert (found.format, found.skipped) == (name, ())


@pytest.mark.parametrize(("first", "second"), [(a, b) for a in FORMATS for b in FORMATS if a != b])
def test_lines_of_another_format_are_each_named_and_the_reading_is_degraded(tmp_path: Path, first: str, second: str) -> None:
    """T1: what stands there was not read, so nothing may be called complete."""
    found = inspected(tmp_path, FORMATS[first] + FORMATS[second])
    assert found.format == first
    assert found.reading == "degraded"
    start = len(FORMATS[first])
    assert [one.line for one in found.skipped] == list(range(start + 1, start + 1 + len(FORMATS[second])))


def test_metadata_of_the_own_format_is_not_another_format(tmp_path: Path) -> None:
    title = {"type": "custom-title", "sessionId": "S", "customTitle": "Glass"}
    unforeseen = {"type": "mood", "sessionId": "S", "uuid": "x", "content": "calm"}
    assert inspected(tmp_path, [*STORY, title, unforeseen]).reading == "complete"


@pytest.mark.parametrize("name", ["claude-code", "pi"])
def test_lines_turned_round_are_told_by_their_parents(tmp_path: Path, name: str) -> None:
    found = inspected(tmp_path, FORMATS[name][::-1])
    assert found.reading == "degraded"
    assert [one.reason for one in found.skipped] == ["out_of_order"]


def test_lines_turned_round_are_told_by_their_time_where_they_have_no_parents(tmp_path: Path) -> None:
    timed = [{**line, "timestamp": f"2026-10-05T08:00:0{second}.000Z"} for second, line in enumerate([*CODEX, *CODEX[1:]])]
    assert inspected(tmp_path, timed).skipped == ()
    found = inspected(tmp_path, timed[::-1])
    assert found.reading == "degraded"
    assert [one.reason for one in found.skipped] == ["out_of_order"]


def test_a_line_whose_parent_is_not_in_the_file_is_in_order() -> None:
    """A slice begins in mid-session; a tool's result can stand beside its neighbour's."""
    found = report(read(user("u5", "Go on.", "not-here"), assistant("a5", "Yes.", "u5"), assistant("a6", "And.", "u5")))
    assert found.skipped == ()


def test_a_line_that_is_its_own_parent_is_in_order() -> None:
    assert report(read(user("u5", "Go on.", "u5"), assistant("a5", "Yes.", "u5"))).skipped == ()


def test_summary_under_the_id_of_another_entry_still_ends_its_round() -> None:
    """I1: the id is its first owner's. The round has its summary, under its own name, and waits for nothing."""
    one_id = [{**line, "uuid": "same"} for line in STORY]
    items = read(*one_id)
    assert [one.text for one in messages(items)] == ["Ship only after QA has signed."]
    (done,) = rounds(items)
    (told,) = summaries(items)
    assert (done.state, done.waiting, done.summary) == ("text", False, told.key)
    assert (told.text, told.key) == ("Ship after QA.", "summary-1")
    found = report(items)
    assert (found.reading, found.conflicts, len(found.rounds)) == ("degraded", 1, 1)


def test_changed_copy_of_a_summary_ends_no_further_round() -> None:
    changed = summary("s1", "Ship before QA.", "b1")
    found = report(read(*STORY, boundary("b1", "u2"), changed))
    assert (len(found.rounds), found.conflicts) == (1, 1)


@pytest.mark.skipif(not SHARED.is_dir(), reason="no real transcripts beside this checkout")
@pytest.mark.parametrize("path", sorted((SHARED / "transcripts").glob("*.jsonl")), ids=lambda path: path.stem)
def test_real_transcript_turned_round_is_not_complete(tmp_path: Path, path: Path) -> None:
    """Titles of sessions, and a fixture whose stamps are cut out, have no order."""
    assert [one for one in inspect(path).skipped if one.reason in {"out_of_order", "other_format"}] == []
    if path.stem in {"claude-code-13-leaf-summaries", "codex-05-fixture-trimmed"}:
        return
    turned = tmp_path / "turned.jsonl"
    turned.write_bytes(b"\n".join(path.read_bytes().rstrip(b"\n").split(b"\n")[::-1]) + b"\n")
    assert "out_of_order" in {one.reason for one in inspect(turned).skipped}
