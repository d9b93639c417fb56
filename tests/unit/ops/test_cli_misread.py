"""What `forgotten` says where lines of the transcript could not be taken: the same of file and log, and no comfort."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import SAMPLE, SESSION, in_process


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEDGER_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("CLEDGER_LOG", raising=False)


def _written(path: Path, lines: list[dict[str, object]], more: str = "") -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + more, "utf-8")
    return path


def _sample() -> list[dict[str, object]]:
    return [json.loads(line) for line in SAMPLE.read_text("utf-8").splitlines()]


def test_file_in_which_every_line_has_one_id_gives_one_answer_from_file_and_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """I1, D2: the ids conflict, the first holds; the round is there both times, and the exit code is the same."""
    path = _written(tmp_path / "one-id.jsonl", [{**line, "uuid": "same"} if "uuid" in line else line for line in _sample()])
    alone = in_process(capsys, "forgotten", path, "--json")
    in_process(capsys, "ingest", path, "--json")
    logged = in_process(capsys, "forgotten", SESSION, "--json")
    assert (logged.code, logged.object) == (alone.code, alone.object)
    assert alone.object["rounds"] == 1
    assert alone.code in (1, 3)


@pytest.mark.parametrize("more", ["", '{"type":"user","uuid":"broken\n'], ids=["sound", "unread"])
def test_session_without_rounds_is_no_comfort_where_a_line_was_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: str
) -> None:
    """D2: what could not be read may have been a compaction."""
    path = _written(tmp_path / "session.jsonl", _sample()[:6], more)
    ran = in_process(capsys, "forgotten", path, "--json")
    assert (ran.code, ran.object["note"]) == ((3, "unknown") if more else (0, "no_compactions_in_this_session"))


def test_forgotten_of_a_session_without_a_file_has_no_empty_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from schemas.codec import encode
    from schemas.ids import event_id
    from schemas.records import SessionOpened

    monkeypatch.setenv("COLUMNS", "100")
    opened = SessionOpened(id=event_id("session.opened", "mine", "mine"), scope="mine", session="mine", store="none")
    (tmp_path / "RECORDS.jsonl").write_bytes(encode(opened) + b"\n")
    assert in_process(capsys, "record", "--file", tmp_path / "RECORDS.jsonl").code == 0
    ran = in_process(capsys, "forgotten", "mine")
    assert ran.out.strip()
    assert [line for line in ran.out.splitlines() if not line.strip()] == []
