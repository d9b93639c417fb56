"""What is given that should not be: the right exit code, a message, no traceback, nothing lost."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.cli import SAMPLE, SESSION, Cli, command_line, environment, has_no_traceback, in_subprocess

COMMANDS = ("inspect", "ingest", "forgotten")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("words.jsonl", b"this is a letter to my aunt\n", 3),
        ("binary.jsonl", bytes(range(256)) * 40, 3),
        ("empty.jsonl", b"", 3),
        ("blank.jsonl", b"\n\n  \n", 3),
        ("other.jsonl", b'{"a":1}\n{"b":2}\n', 3),
        ("nul.jsonl", b"\0" * 5000, 3),
        ("bomb.jsonl", b"[" * 200_000 + b"\n", 3),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_cli_a_file_that_is_no_transcript_is_inconclusive(
    cli: Cli, data: Path, tmp_path: Path, command: str, name: str, content: bytes, code: int
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    ran = cli(command, path, "--json")
    assert ran.code == code, ran.err
    assert name in ran.err
    assert has_no_traceback(ran)
    assert not data.exists(), "no log is made for nothing"
    if command == "forgotten":  # D2: unknown is an answer
        assert (ran.object["note"], ran.object["receipt"]["source_path"]) == ("unknown", str(path))
        assert name in ran.object["reason"]
    if command == "inspect":
        assert (ran.object["path"], ran.object["reading"], ran.object["messages"]) == (str(path), "unknown", 0)


@pytest.mark.parametrize("command", COMMANDS)
def test_cli_a_path_that_is_no_readable_file_is_a_usage_error(cli: Cli, tmp_path: Path, command: str) -> None:
    fifo = tmp_path / "fifo.jsonl"
    os.mkfifo(fifo)
    for path in (tmp_path / "gone.jsonl", fifo, Path("/dev/zero"), Path("./\udcff.jsonl")):
        ran = cli(command, path, "--json")
        assert ran.code == 2, (path, ran.err)
        assert has_no_traceback(ran)


def test_cli_a_file_without_permission_is_a_usage_error(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(SAMPLE.read_bytes())
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    ran = in_subprocess("ingest", path, data=tmp_path / "data")
    assert ran.code == 2
    assert "permissions" in ran.err


@pytest.mark.parametrize("command", ["inspect", "ingest"])
def test_cli_a_folder_without_a_transcript_is_no_fault(cli: Cli, tmp_path: Path, command: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("x")
    ran = cli(command, folder, "--json")
    assert ran.code == 0
    assert has_no_traceback(ran)
    if command == "ingest":
        assert (ran.object["files"], ran.object["skipped"]) == (0, 1)
        assert "no transcript found" in ran.err


def test_cli_a_name_whose_bytes_are_no_text_is_read_like_any_other(cli: Cli, tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff\x1b[31m.jsonl"
    with open(path, "wb") as file:  # noqa: PTH123  the name is bytes
        file.write(SAMPLE.read_bytes())
    for command in COMMANDS:
        ran = cli(command, os.fsdecode(path), "--json")
        assert ran.code in (0, 1), ran.err
        assert has_no_traceback(ran)
        assert all(isinstance(one, dict) for one in ran.objects)
        assert "\x1b" not in cli(command, os.fsdecode(path)).out
    assert in_subprocess("inspect", os.fsdecode(path), data=tmp_path / "data").code == 0


def test_cli_a_half_written_last_line_waits_for_its_rest(tmp_path: Path) -> None:
    whole = SAMPLE.read_bytes()
    path = tmp_path / "live.jsonl"
    path.write_bytes(whole[: len(whole) // 2])
    first = in_subprocess("ingest", path, "--json", data=tmp_path / "data")
    path.write_bytes(whole)
    second = in_subprocess("ingest", path, "--json", data=tmp_path / "data")
    again = in_subprocess("ingest", path, "--json", data=tmp_path / "data")
    assert first.code == second.code == again.code == 0
    assert first.object["added"] > 0
    assert second.object["added"] > 0
    assert again.object["added"] == 0
    report = in_subprocess("inspect", path, "--json", data=tmp_path / "data").object
    assert report["reading"] == "complete"


def test_cli_a_line_of_12_megabytes_is_read(tmp_path: Path) -> None:
    lines = SAMPLE.read_text().splitlines()
    at, entry = next((n, json.loads(line)) for n, line in enumerate(lines) if '"type":"user"' in line and "ground" not in line)
    entry["message"]["content"] = "A" * (12 * 1024 * 1024)
    lines[at] = json.dumps(entry)
    path = tmp_path / "long.jsonl"
    path.write_text("\n".join(lines) + "\n")
    ran = in_subprocess("ingest", path, "--json", data=tmp_path / "data")
    assert ran.code == 0, ran.err
    assert ran.object["rounds"] == 2
    assert has_no_traceback(ran)


@pytest.mark.parametrize(
    ("url", "code"),
    [("lmdb:", 2), ("nonsense", 2), ("http://x", 2), ("kafka://", 2), ("kafka://127.0.0.1:1", 4), ("lmdb:/proc/nowhere", 4)],
)
def test_cli_a_log_that_is_not_there_or_no_address(cli: Cli, monkeypatch: pytest.MonkeyPatch, url: str, code: int) -> None:
    for command in (("ingest", SAMPLE), ("sessions",)):
        ran = cli(*command, "--log", url)
        assert ran.code == code, (command, ran.err)
        assert ran.out == ""
        assert has_no_traceback(ran)
    monkeypatch.setenv("CLEDGER_LOG", url)
    assert cli("sessions").code == code


def _no_file_over(size: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_cli_a_full_disk_ends_with_4_and_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """P1. The limit on file sizes stands in for a disk that fills up in the middle of the work."""
    data = tmp_path / "data"
    seen = set()
    for size in (0, 60_000, 300_000, 700_000):
        ran = in_subprocess("ingest", SAMPLE, "--json", data=data, prepare=lambda size=size: _no_file_over(size))
        assert ran.code in (0, 4), ran.err
        assert has_no_traceback(ran)
        seen.add(ran.code)
    assert 4 in seen
    after = in_subprocess("ingest", SAMPLE, "--json", data=data)
    assert after.code == 0, after.err
    assert in_subprocess("verify", "--json", data=data).object["problems"] == []
    whole = in_subprocess("forgotten", SAMPLE, "--json", "--limit", 0, data=data).object
    assert in_subprocess("forgotten", SESSION, "--json", "--limit", 0, data=data).object == whole


@pytest.mark.parametrize("json_option", [("--json",), ()], ids=["json", "text"])
@pytest.mark.parametrize(("command", "code"), [("forgotten", 1), ("inspect", 0)])
def test_cli_a_reader_that_closes_the_pipe_is_no_fault_and_keeps_the_verdict(
    tmp_path: Path, command: str, code: int, json_option: tuple[str, ...]
) -> None:
    limit = ("--limit", "0") if command == "forgotten" else ()
    line = " ".join(f"'{word}'" for word in command_line(command, SAMPLE, *limit, *json_option))
    done = subprocess.run(
        ["bash", "-c", f"{line} | true; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        env=environment(tmp_path / "data"),
        timeout=60,
        check=False,
    )
    assert done.returncode == code
    assert done.stderr == ""


def test_cli_a_named_file_of_which_no_line_can_be_read_is_inconclusive(cli: Cli, tmp_path: Path) -> None:
    """P9: it looks like a transcript, and nothing came of it: that is no success."""
    path = tmp_path / "renumbered.jsonl"
    path.write_text(SAMPLE.read_text("utf-8").replace(f'"{SESSION}"', "5"), "utf-8")
    ran = cli("ingest", path, "--json")
    assert ran.code == 3
    assert path.name in ran.err
    assert ran.object["records"] == 0


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_cli_streams_that_the_caller_closed_change_no_verdict(closed: str, tmp_path: Path) -> None:
    """A daemon without streams asks for the exit code alone."""
    line = " ".join([*command_line(), "forgotten", str(SAMPLE), closed])
    ran = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, env=environment(tmp_path), check=False)
    assert ran.returncode == 1, ran.stderr
    assert "internal error" not in ran.stderr


def test_cli_a_screen_of_no_width_is_written_to_all_the_same(tmp_path: Path) -> None:
    env = environment(tmp_path, COLUMNS="0")
    ran = subprocess.run([*command_line(), "forgotten", str(SAMPLE)], capture_output=True, text=True, env=env, check=False)
    assert "MISSING" in ran.stdout
