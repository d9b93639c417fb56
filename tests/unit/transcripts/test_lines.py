"""Bytes to lines."""

from __future__ import annotations

import hashlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.transcripts.lines import LineSplitter, PhysicalLine, lines_of


def cut(data: bytes, size: int, limit: int = 1 << 20) -> list[PhysicalLine]:
    splitter = LineSplitter(limit)
    lines = [line for at in range(0, len(data), size) for line in splitter.feed(data[at : at + size])]
    last = splitter.finish()
    return [*lines, last] if last else lines


@given(st.binary(max_size=300).map(lambda raw: raw.replace(b"a", b"\n").replace(b"b", b"\r\n")), st.integers(1, 50))
def test_lines_cut_in_any_way_are_the_same(data: bytes, size: int) -> None:
    assert cut(data, size) == cut(data, max(len(data), 1))


@given(st.binary(max_size=300).map(lambda raw: raw.replace(b"a", b"\n")))
def test_line_offsets_name_the_bytes_of_the_line(data: bytes) -> None:
    for line in cut(data, 7):
        assert data[line.start : line.start + line.length] == line.data
        assert line.sha256 == hashlib.sha256(line.data).hexdigest()


@given(st.binary(max_size=300).map(lambda raw: raw.replace(b"a", b"\n").replace(b"b", b"\r\n")), st.integers(1, 60))
def test_lines_of_a_file_are_those_of_a_splitter(data: bytes, limit: int) -> None:
    told = [(one.number, one.start, one.data, one.ended, one.too_long) for one in cut(data, 9, limit)]
    assert [(one.number, one.start, one.data, one.ended, one.too_long) for one in lines_of(io.BytesIO(data), limit)] == told


def test_line_ends_at_lf_alone() -> None:
    text = "one\u2028two\u2029three\x85four\x0bfive\x0csix\rseven\n".encode()
    assert [line.data for line in cut(text, 3)] == [text[:-1]]


def test_line_with_crlf_loses_both() -> None:
    lines = cut(b"{}\r\n{}\r\n", 3)
    assert [(line.number, line.start, line.data) for line in lines] == [(1, 0, b"{}"), (2, 4, b"{}")]


def test_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert [(line.start, line.data) for line in cut(b"\xef\xbb\xbf{}\n", 2)] == [(3, b"{}")]


def test_half_written_line_waits_for_its_end() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b'{"a":') == []
    assert [line.data for line in splitter.feed(b"1}\n")] == [b'{"a":1}']
    assert splitter.finish() is None


@pytest.mark.parametrize("size", [1, 7, 100])
def test_line_over_the_limit_is_hashed_and_not_held(size: int) -> None:
    long = b"x" * 40
    lines = cut(b"{}\n" + long + b"\n{}\n", size, limit=10)
    assert [line.too_long is not None for line in lines] == [False, True, False]
    assert (lines[1].raw, lines[1].start, lines[1].length) == (b"", 3, 40)
    assert lines[1].sha256 == hashlib.sha256(long).hexdigest()
    assert (lines[2].number, lines[2].start) == (3, 44)


def test_line_over_the_limit_leaves_no_bytes_behind() -> None:
    splitter = LineSplitter(1000)
    for _ in range(1000):
        splitter.feed(b"y" * 100)
    assert splitter._parts == []
    assert splitter.offset == 100_000
