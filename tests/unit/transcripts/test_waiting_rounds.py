"""A live file that is read between a boundary and what belongs to it: the round is recorded once, whole."""

from __future__ import annotations

import pytest

from ledger.transcripts.to_records import records_of
from schemas.codec import encode
from schemas.records import AnyRecord, CompactionObserved, SummaryRecorded
from tests.unit.transcripts.builders import (
    as_bytes,
    assistant,
    attachment,
    boundary,
    codex,
    codex_kept,
    codex_message,
    codex_tokens,
    items_of,
    report,
    rounds,
    summary,
    user,
)
from tests.unit.transcripts.recording import maker

CLAUDE = [
    user("u1", "Ship only after QA has signed."),
    assistant("a1", "Understood."),
    boundary("b1", "a1"),
    attachment("f1", type="file", content={"type": "text", "file": {"content": "notes"}}),
    summary("s1", "Ship after QA.", "b1"),
    user("u2", "Except glass."),
]
CODEX = [
    codex("session_meta", id="cx"),
    codex_message("user", "Sort the claims."),
    codex_tokens(9000),
    codex("compacted", message="Claims.", replacement_history=[codex_kept("user", "Sort the claims.")]),
    codex("turn_context", model="m"),
    codex_tokens(700),
    codex("event_msg", type="context_compacted"),
    codex_message("assistant", "Half are sorted."),
]


def ingested(data: bytes, *, codex_format: bool, may_grow: bool = True) -> list[AnyRecord]:
    return list(records_of(items_of(data, codex_format=codex_format), maker(may_grow=may_grow)))


@pytest.mark.parametrize(("lines", "codex_format"), [(CLAUDE, False), (CODEX, True)], ids=["claude-code", "codex"])
def test_file_read_at_any_line_and_read_again_gives_the_records_of_one_reading(lines: list[object], codex_format: bool) -> None:
    """P3: the second reading adds what is new and repeats the rest byte for byte, in the order of one reading."""
    whole = [encode(one) for one in ingested(as_bytes(lines), codex_format=codex_format)]
    for count in range(1, len(lines)):
        early = [encode(one) for one in ingested(as_bytes(lines[:count]), codex_format=codex_format)]
        assert early == whole[: len(early)], count


@pytest.mark.parametrize("held", [3, 4])
def test_boundary_at_the_end_waits_for_its_summary_with_all_that_stands_behind_it(held: int) -> None:
    data = as_bytes(CLAUDE[:held])
    made = ingested(data, codex_format=False)
    assert not [one for one in made if isinstance(one, (CompactionObserved, SummaryRecorded))]
    assert [one.span for one in made if one.__struct_config__.tag == "span.recorded.v1"] == ["S:u1", "S:a1"]  # type: ignore[union-attr]


def test_boundary_at_the_end_is_inspected_as_a_round_that_misses_its_summary() -> None:
    items = items_of(as_bytes(CLAUDE[:3]))
    assert [(one.state, one.waiting) for one in rounds(items)] == [("missing", True)]
    assert report(items).reading == "degraded"


def test_boundary_with_talk_behind_it_waits_no_longer() -> None:
    items = items_of(as_bytes([*CLAUDE[:3], user("u9", "Go on.")]))
    assert [(one.state, one.waiting) for one in rounds(items)] == [("missing", False)]


def test_file_that_does_not_grow_any_more_is_recorded_to_its_end() -> None:
    made = ingested(as_bytes(CLAUDE[:3]), codex_format=False, may_grow=False)
    assert [one.summary_state for one in made if isinstance(one, CompactionObserved)] == ["missing"]


def test_compacted_line_at_the_end_waits_for_its_token_count() -> None:
    made = ingested(as_bytes(CODEX[:4]), codex_format=True)
    assert not [one for one in made if isinstance(one, (CompactionObserved, SummaryRecorded))]
    (done,) = [one for one in ingested(as_bytes(CODEX), codex_format=True) if isinstance(one, CompactionObserved)]
    assert done.tokens_after == 700
