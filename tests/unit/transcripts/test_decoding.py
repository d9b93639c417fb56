"""Lines that are no whole object: everything lost is named, and what can be had is had (design section 7)."""

from __future__ import annotations

import json

import pytest

from ledger.transcripts.lines import LINE_BYTES_MAX
from ledger.transcripts.model import Unread
from tests.unit.transcripts.builders import as_bytes, assistant, items_of, messages, read, report, spoken, user

U1 = user("u1", "Which invoices are open?")
A1 = assistant("a1", "INV-31 and INV-32.")
U2 = user("u2", "Close INV-31 only.")


def dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def unread(*lines: object, **options: object) -> list[tuple[int, str]]:
    return sorted((item.line, item.reason) for item in read(*lines, **options) if isinstance(item, Unread))  # type: ignore[arg-type]


def test_two_whole_objects_on_one_line_are_read_without_a_fault() -> None:
    items = read(U1, dumped(A1) + dumped(U2))
    assert [item.key for item in messages(items)] == ["u1", "a1", "u2"]
    assert report(items).reading == "complete"
    first, second = messages(items)[1:]
    data = as_bytes([U1, dumped(A1) + dumped(U2)])
    assert json.loads(data[second.where.start : second.where.end])["uuid"] == "u2"
    assert (first.where.number, second.where.number) == (2, 2)
    assert first.where.end == second.where.start


def test_broken_object_before_a_whole_one_is_reported_and_the_whole_one_saved() -> None:
    broken = '{"type":"queue-operation","operation":"enq' + json.dumps(U2, separators=(",", ":"))
    items = read(U1, A1, broken)
    assert [item.key for item in messages(items)] == ["u1", "a1", "u2"]
    assert [(one.line, one.reason) for one in report(items).skipped] == [(3, "two_records_on_one_line")]


def test_whole_object_before_a_broken_one_is_kept_and_reported() -> None:
    items = read(U1, dumped(A1) + '{"type":"user","uuid":"u9","mess', U2)
    assert [item.key for item in messages(items)] == ["u1", "a1", "u2"]
    assert unread(U1, dumped(A1) + '{"type":"user","mess', U2) == [(2, "two_records_on_one_line")]


def test_object_over_several_lines_is_joined_and_each_line_reported() -> None:
    raw = dumped(user("u1", "low water 04:12BREAKBREAKhigh water 10:31"))
    items = read(*raw.replace("BREAK", "\n").split("\n"), A1)
    assert spoken(items)[0] == ("user", "low water 04:12\n\nhigh water 10:31")
    assert [(one.line, one.reason) for one in report(items).skipped] == [
        (1, "record_over_several_lines"),
        (2, "record_over_several_lines"),
        (3, "record_over_several_lines"),
    ]
    assert [item.key for item in messages(items)] == ["u1", "a1"]


def test_pretty_printed_object_is_joined() -> None:
    items = read(*json.dumps(U1, indent=1).split("\n"), A1)
    assert [item.key for item in messages(items)] == ["u1", "a1"]
    assert report(items).reading == "degraded"


def test_truncated_object_does_not_take_the_next_line_with_it() -> None:
    items = read(dumped(U1)[:60], A1, U2)
    assert [item.key for item in messages(items)] == ["a1", "u2"]
    assert [(one.line, one.reason) for one in report(items).skipped] == [(1, "truncated_record")]


def test_last_line_without_lf_that_parses_is_read() -> None:
    items = items_of(as_bytes([U1, A1])[:-1])
    assert [item.key for item in messages(items)] == ["u1", "a1"]
    assert report(items).reading == "complete"


def test_last_line_without_lf_that_breaks_off_is_half_written() -> None:
    result = report(items_of(as_bytes([U1, A1])[:-30]))
    assert [(one.line, one.reason) for one in result.skipped] == [(2, "half_written")]
    assert (result.messages, result.reading) == (1, "degraded")


def test_bytes_that_are_no_utf8_are_replaced_and_reported() -> None:
    line = dumped(assistant("a1", "pat~ maison")).encode().replace(b"~", b"\xe9")
    items = read(U1, line, U2)
    assert spoken(items)[1] == ("assistant", "pat\ufffd maison")
    assert [(one.line, one.reason) for one in report(items).skipped] == [(2, "invalid_utf8")]


def test_half_a_surrogate_pair_is_no_fault() -> None:
    line = dumped(user("u1", "cut ~ here")).replace("~", "\\ud83d")
    items = read(line)
    assert spoken(items) == [("user", "cut \ufffd here")]
    assert report(items).reading == "complete"


def test_whole_surrogate_pair_beside_half_a_one_stays() -> None:
    line = dumped(user("u1", "~")).replace("~", "\\ud83d\\ude00 \\ude00 \\\\ud83d")
    assert spoken(read(line)) == [("user", "\U0001f600 \ufffd \\ud83d")]


def test_half_a_surrogate_pair_as_bytes_is_reported() -> None:
    assert unread(dumped(user("u1", "~")).replace("~", "\ud83d")) == [(1, "invalid_utf8")]


def test_nul_bytes_before_an_object_are_left_out_and_reported() -> None:
    items = read(b"\0" * 200 + as_bytes([U1])[:-1], A1)
    assert [item.key for item in messages(items)] == ["u1", "a1"]
    assert [(one.line, one.reason) for one in report(items).skipped] == [(1, "nul_bytes")]


def test_line_of_nul_bytes_is_reported() -> None:
    assert [line for line, _ in unread(U1, b"\0" * 4096, A1)] == [2]


def test_control_characters_inside_a_string_are_read_and_reported() -> None:
    items = read(dumped(user("u1", "a~b")).replace("~", "\t\x1b"))
    assert spoken(items) == [("user", "a\t\x1bb")]
    assert report(items).skipped[0].reason == "control_characters"


@pytest.mark.parametrize("depth", [200_000, 1_000_000])
def test_nesting_bomb_is_reported(depth: int) -> None:
    bomb = b'{"type":"user","uuid":"x","toolUseResult":' + b"[" * depth + b"]" * depth + b"}"
    assert unread(U1, bomb, A1) == [(2, "nested_too_deep")]


@pytest.mark.parametrize("bomb", [b"[" * 200_000, b'{"type":"user","a":' + b'{"a":' * 100_000, b'{"a":"' * 50_000])
def test_nesting_bomb_that_breaks_off_is_reported(bomb: bytes) -> None:
    assert [line for line, _ in unread(U1, bomb, A1)] == [2]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("5", "not_an_object"),
        ('["user"]', "not_an_object"),
        ("null", "not_an_object"),
        ("plain words", "not_json"),
        ('{"type":"user","uuid":"x","message":{"content":NaN}}', "not_json"),
        ('{"type":"user","uuid":"x","message":7}', "unexpected_shape"),
        ('{"type":"assistant","uuid":7,"message":{}}', "unexpected_shape"),
        ('{"type":12}', "unexpected_shape"),
    ],
)
def test_line_of_another_shape_is_reported(line: str, reason: str) -> None:
    assert unread(U1, line, A1) == [(2, reason)]


def test_unforeseen_fields_of_a_line_that_is_not_used_are_no_fault() -> None:
    assert unread(U1, {"type": "cost-state", "message": "free", "uuid": 7}, A1) == []


def test_blank_lines_are_no_fault() -> None:
    assert unread(U1, "", "   \t", A1, "") == []


def test_line_of_twelve_megabytes_is_read() -> None:
    items = read(user("u1", "x" * (12 << 20)), A1)
    assert [len(item.text) for item in messages(items)] == [12 << 20, 18]
    assert report(items).reading == "complete"


def test_line_over_the_limit_is_reported_and_the_next_one_read() -> None:
    items = read(user("u1", "x" * 5000), A1, line_bytes_max=2000, chunk=512)
    assert [item.key for item in messages(items)] == ["a1"]
    assert [(one.line, one.reason) for one in report(items).skipped] == [(1, "line_too_long")]
    assert LINE_BYTES_MAX == 64 << 20


def test_endless_broken_object_is_given_up() -> None:
    lines = ['{"type":"user","uuid":"u1","message":{"content":"', *["}"] * 5000]
    faults = unread(*lines, A1)
    assert {line for line, _ in faults} == set(range(1, 5002))
    assert [item.key for item in messages(read(*lines, A1))] == ["a1"]
