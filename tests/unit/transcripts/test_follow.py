"""Following a file that grows. Time does not pass here: `sleep` changes the file instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ledger.errors import UsageError
from ledger.transcripts.claude_code import ClaudeCodeReader
from ledger.transcripts.follow import FileChanged, FollowedLines, LastLine, follow
from tests.unit.transcripts.builders import as_bytes, assistant, boundary, messages, rounds, summary, user

Seen = FollowedLines | FileChanged | LastLine


async def story(path: Path, *steps: Callable[[], object]) -> list[Seen]:
    """Everything that is seen while `steps` happen one after the other, each at a quiet moment."""
    left = list(steps)

    async def sleep(_: float) -> None:
        left.pop(0)()

    return [seen async for seen in follow(path, stop=lambda: not left, sleep=sleep)]


def lines(seen: list[Seen]) -> list[bytes]:
    return [line.data for one in seen if isinstance(one, FollowedLines) for line in one.lines]


def changes(seen: list[Seen]) -> list[tuple[str, int]]:
    return [(one.change, one.lost) for one in seen if isinstance(one, FileChanged)]


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


async def test_follow_yields_lines_when_they_are_complete(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b'{"a":1}\n{"b"')
    seen = await story(path, lambda: append(path, b":2"), lambda: append(path, b'}\n{"c":3}\n'))
    assert lines(seen) == [b'{"a":1}', b'{"b":2}', b'{"c":3}']
    assert [line.start for one in seen if isinstance(one, FollowedLines) for line in one.lines] == [0, 8, 16]


async def test_follow_ends_with_what_stands_behind_the_last_line_break(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b'{"a":1}\n{"b"')
    seen = await story(path, lambda: append(path, b":2}"))
    assert lines(seen) == [b'{"a":1}']
    assert isinstance(seen[-1], LastLine)
    assert (seen[-1].line.data, seen[-1].line.start, seen[-1].line.ended) == (b'{"b":2}', 8, False)


async def test_follow_reports_a_file_cut_short_and_starts_over(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b'{"a":1}\n{"half')
    seen = await story(path, lambda: path.write_bytes(b'{"n":1}\n'))
    assert changes(seen) == [("truncated", 6)]
    assert lines(seen) == [b'{"a":1}', b'{"n":1}']


async def test_follow_reads_the_old_file_to_its_end_before_the_new_one(tmp_path: Path) -> None:
    path, old = tmp_path / "t", tmp_path / "old"
    path.write_bytes(b'{"a":1}\n')

    def rotate() -> None:
        append(path, b'{"b":2}\n')
        path.rename(old)
        path.write_bytes(b'{"c":3}\n')

    seen = await story(path, rotate, lambda: None)
    assert changes(seen) == [("replaced", 0)]
    assert lines(seen) == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


async def test_follow_notices_a_file_rewritten_in_place(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b'{"a":1}\n')

    def rewrite() -> None:
        with path.open("r+b") as file:
            file.write(b'{"x":9}\n{"y":9}\n')

    seen = await story(path, rewrite, lambda: None)
    assert changes(seen) == [("rewritten", 0)]
    assert lines(seen) == [b'{"a":1}', b'{"x":9}', b'{"y":9}']


async def test_follow_ends_when_the_file_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b'{"a":1}\n{')
    seen = await story(path, path.unlink, lambda: None, lambda: None)
    assert changes(seen) == [("gone", 1)]


async def test_follow_of_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        await story(tmp_path / "t", lambda: None)


async def test_followed_boundary_waits_for_its_summary(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(as_bytes([user("u1", "a"), assistant("a1", "b"), boundary("b1", "a1")]))
    reader = ClaudeCodeReader()
    seen = await story(path, lambda: append(path, as_bytes([summary("s1", "Kept.", "b1")])), lambda: None)
    items = [item for one in seen if isinstance(one, FollowedLines) for line in one.lines for item in reader.feed(line)]
    assert [one.state for one in rounds(items)] == ["text"]
    assert len(messages(items)) == 2
