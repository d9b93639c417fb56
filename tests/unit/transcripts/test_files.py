"""Finding files: P10, a path is data."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ledger.errors import UsageError
from ledger.transcripts.files import Found, Refused, discover, open_regular
from ledger.transcripts.formats import UnsupportedTranscript
from ledger.transcripts.reading import Transcript
from ledger.transcripts.report import inspect
from tests.unit.transcripts.builders import as_bytes, user


def names(found: object, root: Path) -> list[str]:
    return [os.fspath(one.path.relative_to(root)) for one in found]  # type: ignore[attr-defined]


def test_folder_is_walked_in_byte_order_of_paths(tmp_path: Path) -> None:
    """Contracts 1: files are taken in byte order of their path."""
    for name in ("b.jsonl", "a/z.jsonl", "a.jsonl", "ä.jsonl", "a/B.jsonl", ".hidden/x.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"{}\n")
    assert names(discover([tmp_path]), tmp_path) == [
        ".hidden/x.jsonl",
        "a.jsonl",
        "a/B.jsonl",
        "a/z.jsonl",
        "b.jsonl",
        "ä.jsonl",
    ]


def test_links_out_of_the_folder_are_refused_and_links_inside_are_read_once(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "secret.jsonl"
    root.mkdir()
    outside.write_bytes(b"{}\n")
    (root / "own.jsonl").write_bytes(b"{}\n")
    (root / "again.jsonl").symlink_to(root / "own.jsonl")
    (root / "out.jsonl").symlink_to(outside)
    (root / "broken.jsonl").symlink_to(root / "nowhere")
    (root / "loop").symlink_to(root)
    found = list(discover([root]))
    assert [one.path.name for one in found if isinstance(one, Found)] == ["again.jsonl"]
    assert {one.path.name: one.reason for one in found if isinstance(one, Refused)} == {
        "out.jsonl": "outside",
        "broken.jsonl": "not_regular",
        "loop": "not_regular",
    }


def test_pipe_in_a_folder_is_refused_and_a_named_one_is_a_usage_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert [one.reason for one in discover([tmp_path]) if isinstance(one, Refused)] == ["not_regular"]
    with pytest.raises(UsageError, match="no regular file"):
        list(discover([tmp_path / "pipe"]))
    with pytest.raises(UsageError, match="no regular file"):
        open_regular(tmp_path / "pipe")
    with pytest.raises(UsageError):
        inspect("/dev/null")


@pytest.mark.parametrize("name", ["missing.jsonl", "no/such/folder", "nul\0byte"])
def test_named_path_that_cannot_be_read_is_a_usage_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        list(discover([tmp_path / name]))
    assert caught.value.exit_code == 2
    with pytest.raises(UsageError):
        inspect(tmp_path / name)


def test_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{}\n")
    assert [one.named for one in discover([path, tmp_path, path]) if isinstance(one, Found)] == [False]


@pytest.mark.parametrize("data", [b"", b" \n\n", b"hello\n", b"%PDF-1.7\n\x00"])
def test_empty_or_foreign_file_is_unsupported(tmp_path: Path, data: bytes) -> None:
    """Contracts 4: a named file that is unsupported or empty ends with 3."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    with pytest.raises(UnsupportedTranscript) as caught:
        inspect(path)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("before", [0, 1])
def test_file_that_begins_with_a_very_long_line_is_recognised(tmp_path: Path, before: int) -> None:
    path = tmp_path / "x.jsonl"
    title = {"type": "odd-title"}
    path.write_bytes(as_bytes([*[title] * before, user("u1", "x" * (2 << 20)), user("u2", "y")]))
    assert inspect(path).messages == 2


def test_transcript_is_streamed_and_closed(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(as_bytes([user("u1", "a")]))
    with Transcript(path) as transcript:
        assert transcript.format.name == "claude-code"
        assert len(list(transcript.items())) == 2
    transcript.close()
