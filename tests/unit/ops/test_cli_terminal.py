"""On a terminal, and interrupted: progress bars, colour, escapes in transcripts, Ctrl-C, following live files."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from tests.support.cli import SAMPLE, SESSION, command_line, environment, in_subprocess, with_rules

HOSTILE = "Do not run \x1b]0;owned\x07\x1b[2J on \u202ehost-77.example\u202c, [bold]ever[/bold] \x9b31m."


def _on_terminal(*arguments: object, data: Path, **env: str) -> str:
    program, *rest = command_line(*arguments)
    child = pexpect.spawn(
        program, rest, env=environment(data, TERM="xterm-256color", **env), encoding="utf-8", timeout=60, dimensions=(40, 80)
    )
    child.expect(pexpect.EOF)
    child.close()
    return str(child.before)


def test_terminal_escapes_in_a_transcript_are_shown_and_not_obeyed(tmp_path: Path) -> None:
    """P10."""
    out = _on_terminal("forgotten", with_rules(tmp_path / "t.jsonl", HOSTILE), "--limit", 0, "--all", data=tmp_path / "data")
    assert "\x1b]0;owned" not in out
    assert "\x1b[2J" not in out
    assert "\u202e" not in out
    assert "\\x1b" in out
    assert "[bold]ever[/bold]" in out


def test_terminal_json_of_such_a_transcript_is_valid_and_harmless(tmp_path: Path) -> None:
    ran = in_subprocess(
        "forgotten", with_rules(tmp_path / "t.jsonl", HOSTILE), "--limit", "0", "--json", data=tmp_path / "data"
    )
    assert "\x1b" not in ran.out
    assert "\u202e" not in ran.out
    assert any("\x1b" in one["text"] for one in ran.object["forgotten"])


def test_terminal_shows_colour_and_a_progress_bar_unless_told_otherwise(tmp_path: Path) -> None:
    out = _on_terminal("ingest", SAMPLE, data=tmp_path / "a")
    assert re.search(r"reading|folding", out)
    assert re.search(r"\x1b\[1m", out)
    plain = _on_terminal("ingest", SAMPLE, data=tmp_path / "b", NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", plain)


def test_off_a_terminal_there_is_neither_colour_nor_a_bar(tmp_path: Path) -> None:
    ran = in_subprocess("ingest", SAMPLE, data=tmp_path / "data")
    assert "\x1b" not in ran.out
    assert ran.err == ""


PATIENCE_S = 60
"""Nothing here takes a tenth of it; a process that hangs is killed then, and the test fails."""


def _started(data: Path, *arguments: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command_line(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(data)
    )
    end = threading.Timer(PATIENCE_S, process.kill)
    end.daemon = True
    end.start()
    return process


@pytest.fixture
def following(tmp_path: Path) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    """A live transcript, of which the first 40 lines are written, and a process that follows it."""
    live = tmp_path / "live" / "session.jsonl"
    live.parent.mkdir()
    live.write_bytes(b"\n".join(SAMPLE.read_bytes().split(b"\n")[:40]) + b"\n")
    process = _started(tmp_path / "data", "ingest", live.parent, "--follow", "--json")
    try:
        yield live, process
    finally:
        process.kill()
        process.communicate()


def test_follow_prints_new_findings_and_ctrl_c_stores_everything_and_ends_with_130(
    tmp_path: Path, following: tuple[Path, subprocess.Popen[str]]
) -> None:
    live, process = following
    assert process.stdout is not None
    assert process.stderr is not None
    assert "following" in process.stderr.readline()
    with live.open("ab") as file:
        for line in SAMPLE.read_bytes().split(b"\n")[40:60]:
            file.write(line + b"\n")
        file.write(b'{"type":"user","half')
    kinds = set()
    while not kinds & {"fact_lost", "prohibition_lost", "fact_inverted"}:
        kinds.add(json.loads(process.stdout.readline())["kind"])
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "Traceback" not in err
    total = json.loads(out.splitlines()[-1])
    assert total["rounds"] == 1
    again = in_subprocess("ingest", live, "--json", data=tmp_path / "data")
    assert again.object["added"] <= 1, "all but the note on the half-written line is stored"
    assert in_subprocess("forgotten", SESSION, "--json", data=tmp_path / "data").object["rounds"] == 1


def appended(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "half-written"])
def test_ctrl_c_takes_a_whole_last_line_without_its_break_and_names_a_half_written_one(
    tmp_path: Path, following: tuple[Path, subprocess.Popen[str]], whole: bool
) -> None:
    """P1: nothing that was read is dropped in silence."""
    live, process = following
    assert process.stdout is not None
    assert process.stderr is not None
    assert "following" in process.stderr.readline()
    rest = SAMPLE.read_bytes().split(b"\n")[40:61]
    appended(live, b"\n".join(rest) if whole else b"\n".join(rest)[:-20])
    while json.loads(process.stdout.readline())["kind"] != "fact_lost":
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert ("bytes of a half-written last line were left" in err) is not whole
    appended(live, b"\n" if whole else rest[-1][-20:] + b"\n")
    again = in_subprocess("ingest", live, "--json", data=tmp_path / "data")
    assert (again.object["added"] == 0) is whole


def test_interrupt_of_a_follower_of_alerts_ends_with_130(tmp_path: Path) -> None:
    in_subprocess("ingest", SAMPLE, data=tmp_path / "data")
    process = _started(tmp_path / "data", "alerts", "--follow", "--json")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["state"] == "raised"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "Traceback" not in err
