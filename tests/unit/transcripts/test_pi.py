"""pi: the form without ids, the tree form, and what a second compaction never saw."""

from __future__ import annotations

from typing import Any

from ledger.transcripts.model import Conflict, Duplicate, Item, Opened, TokensAfter
from tests.unit.transcripts.builders import as_bytes, detected, messages, read_pi, report, rounds, spoken, summaries
from tests.unit.transcripts.recording import records

BEFORE_THE_MEND = "2026-01-10T09:00:00.000Z"
AFTER_THE_MEND = "2026-06-10T09:00:00.000Z"
HEADER = {"type": "session", "id": "P", "version": 3, "timestamp": BEFORE_THE_MEND, "cwd": "/src"}


def entry(kind: str, number: int | None = None, parent: int | None = None, **fields: Any) -> dict[str, Any]:
    ids = {} if number is None else {"id": f"e{number}", "parentId": None if parent is None else f"e{parent}"}
    return {"type": kind, **ids, "timestamp": BEFORE_THE_MEND, **fields}


def said(role: str, text: str, number: int | None = None, parent: int | None = None, **more: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": text}]
    return entry("message", number, parent, message={"role": role, "content": blocks, **more})


def compaction(
    number: int | None = None, parent: int | None = None, *, summary: Any = "Sorted.", **more: Any
) -> dict[str, Any]:
    return entry("compaction", number, parent, summary=summary, **{"tokensBefore": 9000, **more})


def shares(items: list[Item]) -> list[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]:
    return [(one.summarised.keys, one.kept.keys, one.unseen.keys) for one in rounds(items)]


def test_form_without_ids_counts_entries_from_0_with_the_header() -> None:
    items = read_pi(
        HEADER,
        said("user", "Sort the tides."),
        said("assistant", "By port?"),
        said("user", "By hour."),
        compaction(firstKeptEntryIndex=3),
        said("assistant", "Sorted by hour.", usage={"input": 5, "cacheRead": 700, "cacheWrite": 0}),
    )
    assert shares(items) == [(("1", "2"), ("3",), ())]
    (done,) = rounds(items)
    assert (done.id, done.boundary_line, done.summary_line, done.tokens_before, done.state) == ("round-1", 5, 5, 9000, "text")
    assert [(one.round, one.tokens) for one in items if isinstance(one, TokensAfter)] == [("round-1", 705)]


def test_index_behind_all_entries_keeps_nothing_and_two_objects_share_a_line() -> None:
    last = as_bytes([said("assistant", "Done.")], end=b"") + as_bytes([compaction(firstKeptEntryIndex=3)], end=b"")
    items = read_pi(HEADER, said("user", "Sort the tides."), last)
    assert shares(items) == [(("1", "2"), (), ())]
    assert report(items, "pi").skipped == ()


def test_tail_that_the_first_round_kept_and_the_second_did_not_was_seen_by_nobody() -> None:
    """Design 7: neither summarised nor kept is a share of its own. The hole was mended in March 2026."""
    lines = [
        HEADER,
        said("user", "One.", 1),
        said("user", "Two.", 2, 1),
        compaction(3, 2, firstKeptEntryId="e2"),
        said("user", "Three.", 4, 3),
    ]
    hole = read_pi(*lines, compaction(5, 4, firstKeptEntryId="e4"))
    assert shares(hole)[1] == ((), ("e4",), ("e2",))
    mended = read_pi(*lines, compaction(5, 4, firstKeptEntryId="e4", timestamp=AFTER_THE_MEND))
    assert shares(mended)[1] == (("e2",), ("e4",), ())
    no_time = read_pi(*lines, compaction(5, 4, firstKeptEntryId="e4", timestamp=None))
    assert shares(no_time)[1] == ((), ("e4",), ("e2",))


def test_first_kept_entry_without_words_still_marks_the_place() -> None:
    items = read_pi(
        HEADER,
        said("user", "One.", 1),
        entry("model_change", 2, 1, provider="x", modelId="m"),
        said("user", "Two.", 3, 2),
        compaction(4, 3, firstKeptEntryId="e2"),
    )
    assert shares(items) == [(("e1",), ("e3",), ())]


def test_other_branch_takes_the_window_back_to_its_own_path() -> None:
    items = read_pi(
        HEADER,
        said("user", "One.", 1),
        said("assistant", "Left.", 2, 1),
        said("user", "Left again.", 3, 2),
        entry("branch_summary", 4, 1, fromId="e3", summary="Left was tried."),
        said("user", "Right.", 5, 4),
        compaction(6, 5, firstKeptEntryId="e5"),
    )
    assert shares(items) == [(("e1", "e4"), ("e5",), ())]
    assert ("system", "Left was tried.") in spoken(items)


def test_branch_from_before_a_compaction_lives_without_it() -> None:
    items = read_pi(
        HEADER,
        said("user", "One.", 1),
        said("user", "Two.", 2, 1),
        compaction(3, 2, firstKeptEntryId="e2"),
        said("user", "Other.", 4, 1),
        compaction(5, 4, firstKeptEntryId="nowhere"),
        said("user", "Back.", 6, 3),
        compaction(7, 6, firstKeptEntryId="e6"),
    )
    assert shares(items) == [(("e1",), ("e2",), ()), (("e1", "e4"), (), ()), ((), ("e6",), ("e2",))]


def test_parent_that_is_not_in_the_file_leaves_the_window_alone() -> None:
    items = read_pi(HEADER, said("user", "One.", 1), said("user", "Two.", 3, 2), compaction(4, 3, firstKeptEntryId="e3"))
    assert shares(items) == [(("e1",), ("e3",), ())]


def test_repeated_entry_is_a_copy_or_a_conflict_and_moves_nothing() -> None:
    items = read_pi(
        HEADER,
        said("user", "One.", 1),
        said("user", "Two.", 2, 1),
        said("user", "One.", 1),
        said("user", "Uno.", 1),
        compaction(3, 2, firstKeptEntryId="e2"),
        compaction(3, 2, firstKeptEntryId="e2"),
    )
    assert [one.line for one in items if isinstance(one, Duplicate)] == [4]
    assert [one.line for one in items if isinstance(one, Conflict)] == [5]
    assert shares(items) == [(("e1",), ("e2",), ())]


def test_roles_are_told_apart() -> None:
    """P10, design 7: what an extension or a hidden command put there is no user's word."""
    call = {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": "tides.csv"}}
    items = read_pi(
        HEADER,
        entry("message", message={"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, call]}),
        said("toolResult", "04:12", toolCallId="c"),
        entry("message", message={"role": "bashExecution", "command": "ls", "output": "tides.csv"}),
        entry("message", message={"role": "bashExecution", "command": "env", "output": "KEY", "excludeFromContext": True}),
        entry("custom_message", content="Remember the moon.", customType="moon"),
        entry("custom", data={"content": "state"}),
        said("user", "<environment_context>x</environment_context>"),
        entry("message", message={"role": "assistant", "content": []}),
    )
    assert spoken(items) == [
        ("tool", '{"tool":"read","input":{"path":"tides.csv"}}'),
        ("tool", "04:12"),
        ("tool", '{"tool":"bash","input":{"command":"ls"}}'),
        ("tool", "tides.csv"),
        ("system", "Remember the moon."),
        ("system", "<environment_context>x</environment_context>"),
    ]
    assert messages(items)[0].actions == ("read tides.csv",)
    assert report(items, "pi").messages == 0


def test_header_names_version_and_parent_and_is_not_needed() -> None:
    branched = {**HEADER, "parentSession": "/x/2026-01-01T00-00-00_0db2eb3b-5ed8-4b70-88c6-a3f7104eb251.jsonl"}
    (opened,) = [one for one in read_pi(branched) if isinstance(one, Opened)]
    assert (opened.session, opened.version, opened.parent) == ("P", "3", "0db2eb3b-5ed8-4b70-88c6-a3f7104eb251")
    (bare,) = [one for one in read_pi(said("user", "One.")) if isinstance(one, Opened)]
    assert bare.session.startswith("unnamed-")


def test_summary_that_is_missing_empty_or_an_error_says_so() -> None:
    items = read_pi(
        HEADER,
        said("user", "One."),
        compaction(summary=None),
        compaction(summary=" "),
        compaction(summary="summary failed: gateway timeout (504)"),
    )
    assert [one.state for one in rounds(items)] == ["missing", "empty", "error_text"]
    assert [one.generation for one in summaries(items)] == [1, 1]


def test_unknown_type_with_words_is_reported_and_metadata_is_not() -> None:
    items = read_pi(HEADER, entry("label", targetId="e1", label="x"), entry("novel", content="words"), entry("message"))
    assert [(one.line, one.reason) for one in report(items, "pi").skipped] == [(3, "unknown_type"), (4, "unexpected_shape")]


def test_records_name_only_spans_that_were_recorded() -> None:
    items = read_pi(HEADER, said("user", "One."), said("user", "Two."), compaction(firstKeptEntryIndex=2, tokensBefore=1e300))
    made = records(items)
    assert [type(one).__name__ for one in made][-2:] == ["SummaryRecorded", "CompactionObserved"]


def test_format_is_recognised_by_header_or_compaction() -> None:
    assert detected(as_bytes([HEADER])) == "pi"
    assert detected(as_bytes([said("user", "One.")])) == "pi"
    assert detected(as_bytes([compaction(firstKeptEntryIndex=3)])) == "pi"
