"""Items to records: ids, order, sizes."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.transcripts.to_records import SPAN_TEXT_BYTES_MAX, split_text
from schemas.codec import RECORD_BYTES_MAX, decode_record, encode
from schemas.facts import Fact, Manifest
from schemas.ids import event_id
from schemas.records import (
    CompactionObserved,
    ManifestRecorded,
    SessionOpened,
    SpanRange,
    SpanRecorded,
    SummaryRecorded,
    TranscriptRead,
)
from tests.unit.transcripts.builders import (
    as_bytes,
    assistant,
    boundary,
    items_of,
    read,
    summary,
    tool_result,
    tool_use,
    user,
)
from tests.unit.transcripts.recording import maker, records

STORY = [
    user("u1", "Ship only after QA has signed.", timestamp="2026-10-05T08:01:00.000Z"),
    assistant("a1", "Understood.", message={"model": "m-1"}),
    tool_use("a2", "Bash", {"command": "cargo test"}),
    tool_result("u2", "12 passed"),
    boundary("b1", "u2", {"trigger": "auto", "preTokens": 9, "preservedMessages": {"uuids": ["a2", "u2"]}}),
    summary("s1", "Ship after QA.", "b1"),
    user("u3", "QA signs on 12 October."),
]


def spans(made: list[object]) -> list[SpanRecorded]:
    return [record for record in made if isinstance(record, SpanRecorded)]


def test_records_stand_in_log_order_and_survive_the_codec() -> None:
    made = records(read(*STORY))
    assert [type(record) for record in made] == [
        SessionOpened,
        *[SpanRecorded] * 4,
        SummaryRecorded,
        CompactionObserved,
        SpanRecorded,
    ]
    assert [decode_record(encode(record)) for record in made] == made


def test_session_opened_names_runtime_scope_and_rules() -> None:
    opened = records(read(*STORY))[0]
    assert isinstance(opened, SessionOpened)
    assert (opened.scope, opened.session, opened.runtime, opened.store, opened.rules_version) == (
        "S",
        "S",
        "claude-code",
        "none",
        "r1",
    )
    assert opened.id == event_id("session.opened", "S", "S")


def test_span_names_its_line_its_bytes_and_its_turn() -> None:
    data = as_bytes(STORY)
    first = spans(records(read(*STORY)))[0]
    assert (first.span, first.role, first.turns, first.text.text) == ("S:u1", "user", (1, 1), "Ship only after QA has signed.")
    assert (first.id, first.time_ms) == (event_id("span.recorded", "S", "S:u1"), 1791187260000)
    assert first.source is not None
    assert first.source.line == 1
    quoted = data[first.source.byte_start : first.source.byte_end]
    assert first.source.sha256 == hashlib.sha256(quoted).hexdigest()
    assert b'"uuid":"u1"' in quoted


def test_tool_calls_and_results_are_spans_of_role_tool() -> None:
    call, result = spans(records(read(*STORY)))[2:4]
    assert (call.role, call.actions, call.text.text) == (
        "tool",
        ("Bash cargo test",),
        '{"tool":"Bash","input":{"command":"cargo test"}}',
    )
    assert (result.role, result.text.text, result.turns) == ("tool", "12 passed", (4, 4))


def test_round_lists_ranges_of_spans_in_recording_order() -> None:
    observed = next(record for record in records(read(*STORY)) if isinstance(record, CompactionObserved))
    assert observed.summarised == (SpanRange("S:u1", "S:a1"),)
    assert observed.kept == (SpanRange("S:a2", "S:u2"),)
    assert (observed.summary, observed.turn, observed.ordinal, observed.tokens_before) == ("S:s1", 4, 1, 9)


def test_summary_names_what_it_covers_and_what_it_replaces() -> None:
    made = records(read(*STORY, boundary("b2", "u3"), summary("s2", "Ship after QA, 12 October.", "b2")))
    first, second = [record for record in made if isinstance(record, SummaryRecorded)]
    assert (first.generation, first.covers_summaries) == (1, ())
    assert (second.generation, second.covers_summaries, second.covers) == (2, ("S:s1",), (SpanRange("S:a2", "S:u3"),))


def test_scattered_ids_become_several_ranges() -> None:
    kept = {"preservedMessages": {"uuids": ["m2", "m5"]}}
    made = records(read(*(user(f"m{n}", f"text {n}") for n in range(1, 7)), boundary("b1", "m6", kept), summary("s1", "x")))
    observed = next(record for record in made if isinstance(record, CompactionObserved))
    assert observed.summarised == (SpanRange("S:m1", "S:m1"), SpanRange("S:m3", "S:m4"), SpanRange("S:m6", "S:m6"))
    assert observed.kept == (SpanRange("S:m2", "S:m2"), SpanRange("S:m5", "S:m5"))


@pytest.mark.parametrize(
    ("text", "state"), [("", "empty"), ("API Error: 529 Overloaded", "error_text"), ([{"encrypted_content": "g"}], "opaque")]
)
def test_summary_that_cannot_be_judged_carries_no_text(text: object, state: str) -> None:
    made = records(read(*STORY[:4], boundary("b1", "u2"), summary("s1", text, "b1")))
    told, observed = made[-2:]
    assert isinstance(told, SummaryRecorded)
    assert isinstance(observed, CompactionObserved)
    assert (told.state, told.text, told.manifest, observed.summary_state) == (state, None, None, state)


def test_missing_summary_is_an_observation_alone() -> None:
    made = records(read(*STORY[:5]))
    assert not any(isinstance(record, SummaryRecorded) for record in made)
    assert isinstance(made[-1], CompactionObserved)
    assert (made[-1].summary, made[-1].summary_state) == (None, "missing")


def test_everything_recorded_is_masked_before_it_is_measured() -> None:
    """P11: hash, facts and text are of the masked form."""
    measured: list[str] = []

    def extract(text: str, role: str, *, scope_key: str) -> Manifest:
        measured.append(text)
        return Manifest(extractor="t")

    made = records(
        read(
            user("u1", "key hunter2"),
            tool_use("a1", "Bash", {"command": "login hunter2"}),
            boundary("b"),
            summary("s", "hunter2"),
        ),
        mask=lambda text: text.replace("hunter2", "[masked:key]"),
        extract=extract,
    )
    assert b"hunter2" not in b"".join(encode(record) for record in made)
    assert "hunter2" not in "".join(measured)


def test_manifest_is_measured_under_the_scopes_key_and_the_spans_role() -> None:
    asked: list[tuple[str, str]] = []

    def extract(text: str, role: str, *, scope_key: str) -> Manifest:
        asked.append((role, scope_key))
        return Manifest(extractor="t")

    side = {"isSidechain": True, "agentId": "ag"}
    records(
        read(user("u1", "a"), assistant("x1", "b", **side), tool_result("r1", "c"), boundary("b1"), summary("s1", "d")),
        extract=extract,
    )
    assert asked == [("user", "S"), ("assistant", "S"), ("tool", "S"), ("assistant", "S")]


def test_sub_agent_span_is_in_the_roots_scope() -> None:
    made = records(read(user("u1", "a"), assistant("x1", "b", isSidechain=True, agentId="ag")))
    assert (made[3].scope, made[3].session, made[3].agent) == ("S", "S/ag", "ag")


def test_unread_lines_and_conflicts_end_the_file() -> None:
    made = records(read(user("u1", "a"), "not json", user("u1", "b")))
    read_record = made[-1]
    assert isinstance(read_record, TranscriptRead)
    assert [(line.line, line.reason) for line in read_record.unread] == [(2, "not_json")]
    assert read_record.conflicts == ("S:u1",)
    assert records(read(user("u1", "a"), "not json", user("u1", "b")))[-1].id == read_record.id


def test_whole_reading_writes_no_transcript_read() -> None:
    assert not any(isinstance(record, TranscriptRead) for record in records(read(*STORY)))


def test_many_unread_lines_take_several_records_with_ids_of_their_own() -> None:
    made = [r for r in records(read(user("u1", "a"), *["broken"] * 4500)) if isinstance(r, TranscriptRead)]
    assert [len(record.unread) for record in made] == [2000, 2000, 500]
    assert len({record.id for record in made}) == 3
    assert all(len(encode(record)) <= RECORD_BYTES_MAX for record in made)


def test_path_and_place_are_in_no_id() -> None:
    """Contracts 1: the same line from another file gives the same ids and, source aside, the same content."""
    there = records(items_of(as_bytes([{"type": "mode", "sessionId": "S"}, *STORY])), path="other/place.jsonl")
    here = records(items_of(as_bytes(STORY)))
    assert [_bare(record) for record in there] == [_bare(record) for record in here]


def _bare(record: object) -> bytes:
    return encode(msgspec.structs.replace(record, source=None))  # type: ignore[type-var]


# --- sizes -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["line of text\n", "x", "é", "\U0001f600", "\x01", '"\\'])
def test_long_text_is_split_into_parts_that_join_to_the_text(unit: str) -> None:
    text = unit * (3 * SPAN_TEXT_BYTES_MAX // 2 // len(unit.encode()) + 7)
    made = spans(records(read(user("u1", text))))
    assert len(made) > 1
    assert [span.span for span in made] == ["S:u1", *(f"S:u1.{n}" for n in range(1, len(made)))]
    assert "".join(span.text.text for span in made) == text
    assert all(len(span.text.text.encode()) <= SPAN_TEXT_BYTES_MAX and len(encode(span)) <= RECORD_BYTES_MAX for span in made)
    assert {span.turns for span in made} == {(1, 1)}


def test_round_names_all_parts_of_a_split_text() -> None:
    made = records(read(user("u1", "x\n" * 600_000), user("u2", "y"), boundary("b1"), summary("s1", "z")))
    observed = made[-1]
    assert isinstance(observed, CompactionObserved)
    assert observed.summarised == (SpanRange("S:u1", "S:u2"),)
    assert len({record.id for record in made}) == len(made)


@settings(max_examples=20, deadline=None)
@given(st.text(min_size=1, max_size=20), st.integers(1, 3))
def test_split_text_joins_to_the_text(text: str, parts: int) -> None:
    whole = text * (parts * SPAN_TEXT_BYTES_MAX // len(text.encode()))
    pieces = split_text(whole)
    assert "".join(pieces) == whole
    assert all(0 < len(piece.encode()) <= SPAN_TEXT_BYTES_MAX for piece in pieces)


def test_facts_that_do_not_fit_follow_as_manifests() -> None:
    def many(text: str, role: str, *, scope_key: str) -> Manifest:
        facts = tuple(Fact(id=f"f{n:024d}", cls="narrative", start=0, end=1, value="v" * 400) for n in range(5000))
        return Manifest(extractor="t", facts=facts, passed_over=3)

    made = records(read(user("u1", "x")), extract=many)
    span, *rest = made[1:]
    assert isinstance(span, SpanRecorded)
    assert all(isinstance(record, ManifestRecorded) and record.span == "S:u1" for record in rest)
    assert len({record.id for record in made}) == len(made)
    manifests = [record.manifest for record in made[1:]]  # type: ignore[union-attr]
    assert [fact.id for one in manifests if one for fact in one.facts] == [f"f{n:024d}" for n in range(5000)]
    assert sum(one.passed_over for one in manifests if one) == 3
    assert all(len(encode(record)) <= RECORD_BYTES_MAX for record in made)


def test_summary_too_large_for_a_record_is_unknown_and_said() -> None:
    made = records(read(user("u1", "x"), boundary("b1"), summary("s1", "word " * 300_000, "b1")))
    told, observed, said = made[-3:]
    assert isinstance(told, SummaryRecorded)
    assert isinstance(observed, CompactionObserved)
    assert isinstance(said, TranscriptRead)
    assert (told.state, told.text, observed.summary_state) == ("opaque", None, "opaque")
    assert said.unread[0].reason == "summary_too_large"


def test_round_with_more_ranges_than_fit_leaves_out_what_counts_as_summarised() -> None:
    names = [f"m{n:0200d}" for n in range(9000)]
    kept = {"preservedMessages": {"uuids": names[:3600:2]}}
    made = records(read(*(user(name, "t") for name in names), boundary("b1", None, kept), summary("s1", "x")))
    observed = made[-1]
    assert isinstance(observed, CompactionObserved)
    assert (observed.summarised, len(observed.kept)) == ((), 1800)
    assert all(len(encode(record)) <= RECORD_BYTES_MAX for record in made)


def test_reading_is_told_per_batch_while_a_file_grows() -> None:
    one = maker()
    for item in read(user("u1", "a"), "broken"):
        one.feed(item)
    assert len(one.reading()) == 1
    assert one.reading() == []
