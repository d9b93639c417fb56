"""Codex rollouts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ledger.transcripts.model import Conflict, Duplicate, Opened
from tests.unit.transcripts.builders import (
    as_bytes,
    codex,
    codex_kept,
    codex_message,
    codex_tokens,
    detected,
    items_of,
    messages,
    read_codex,
    report,
    rounds,
    spoken,
    summaries,
)


def compacted(message: Any = "", history: Any = (), **more: Any) -> dict[str, Any]:
    return codex("compacted", message=message, replacement_history=list(history) if history is not None else None, **more)


EVENT = codex("event_msg", type="context_compacted")
OPAQUE = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}
TALK = [codex_message("user", "Sort the claims."), codex_message("assistant", "Half are sorted.")]


def test_text_that_events_repeat_is_counted_once() -> None:
    items = read_codex(
        codex("event_msg", type="user_message", message="Sort the claims."),
        TALK[0],
        codex("event_msg", type="agent_message", message="Half are sorted."),
        TALK[1],
    )
    assert spoken(items) == [("user", "Sort the claims."), ("assistant", "Half are sorted.")]
    assert report(items).messages == 2


@pytest.mark.parametrize("before", [True, False])
def test_event_belongs_to_its_line_before_or_behind(before: bool) -> None:
    pair = [EVENT, compacted("Sorted.")] if before else [compacted("Sorted."), codex("turn_context"), EVENT]
    items = read_codex(*TALK, *pair, TALK[1])
    assert [one.state for one in rounds(items)] == ["text"]
    assert [one.summary_line for one in report(items).rounds] == [None if before else 6]


def test_event_alone_is_a_round_without_a_summary() -> None:
    items = read_codex(*TALK, EVENT, codex_message("user", "Go on."))
    (done,) = rounds(items)
    assert (done.state, done.summarised.keys, done.kept.keys) == ("missing", ("1", "2"), ("3",))
    assert report(items, "codex").reading == "degraded"


def test_kept_is_what_the_replacement_history_repeats_newest_first() -> None:
    items = read_codex(
        codex_message("user", "continue"),
        codex_message("user", "Use depot B."),
        codex_message("assistant", "Done."),
        codex_message("user", "continue"),
        compacted("x", [codex_kept("developer", "<permissions instructions>"), codex_kept("user", "continue")]),
    )
    (done,) = rounds(items)
    assert (done.summarised.keys, done.kept.keys) == (("1", "2", "3"), ("4",))


def test_kept_of_one_round_is_live_for_the_next() -> None:
    items = read_codex(
        *TALK, compacted("a", [codex_kept("user", "Sort the claims.")]), codex_message("user", "More."), compacted("b")
    )
    assert [one.summarised.keys for one in rounds(items)] == [("2",), ("1", "3")]
    assert [(one.generation, one.replaces) for one in summaries(items)] == [(1, None), (2, "summary-round-1")]


def test_old_line_without_a_history_keeps_the_newest_user_messages() -> None:
    items = read_codex(
        codex_message("user", "x" * 90_000), codex_message("assistant", "a"), codex_message("user", "b"), compacted("s", None)
    )
    assert rounds(items)[0].kept.keys == ("3",)


@pytest.mark.parametrize(
    ("message", "history", "state"),
    [
        ("Claims are to be sorted.", [], "text"),
        ("Claims are to be sorted.", [OPAQUE], "text"),
        ("", [OPAQUE], "opaque"),
        ("", [], "empty"),
        (None, None, "empty"),
        ("stream error: connection closed", [], "error_text"),
        ("Error: 503 service unavailable", [], "error_text"),
        (
            "",
            [codex_kept("user", "Another language model started to solve this problem and produced a summary of its thinking "
                        "process. Here is the summary, to assist with your own analysis:\nClaims are to be sorted.")],
            "text",
        ),
    ],
)  # fmt: skip
def test_summary_state(message: Any, history: Any, state: str) -> None:
    assert [one.state for one in rounds(read_codex(*TALK, compacted(message, history)))] == [state]


def test_summary_in_the_users_role_is_not_the_users_words() -> None:
    items = read_codex(
        codex_message(
            "user", "Another language model started to solve this problem and produced a summary of its thinking process. X"
        )
    )
    assert [role for role, _ in spoken(items)] == ["system"]
    assert report(items).messages == 0


@pytest.mark.parametrize(
    "text",
    [
        "# AGENTS.md instructions for /r\n\n<INSTRUCTIONS>",
        "<environment_context>\n</environment_context>",
        "<subagent_notification>\n{}",
    ],
)
def test_text_that_the_runtime_injects_is_system(text: str) -> None:
    assert spoken(read_codex(codex_message("user", text))) == [("system", text)]


def test_tool_calls_and_outputs_are_tool_pieces_named_by_their_call() -> None:
    items = read_codex(
        codex("response_item", type="function_call", name="exec_command", arguments='{"cmd":"cargo test"}', call_id="c1"),
        codex("response_item", type="function_call_output", call_id="c1", output="12 passed"),
        codex("response_item", type="custom_tool_call", id="ctc_1", name="apply_patch", input="*** Begin Patch", call_id="c2"),
        codex("response_item", type="custom_tool_call_output", call_id="c2", output='{"output":"Success","metadata":{}}'),
        codex("response_item", type="function_call_output", call_id="c3", output=[{"type": "input_text", "text": "text"}]),
        codex("response_item", type="reasoning", encrypted_content="g", summary=[]),
    )
    assert [(item.key, item.role, item.text, item.actions) for item in messages(items)] == [
        ("c1", "tool", '{"tool":"exec_command","input":{"cmd":"cargo test"}}', ("exec_command cargo test",)),
        ("c1:output", "tool", "12 passed", ()),
        ("ctc_1", "tool", '{"tool":"apply_patch","input":"*** Begin Patch"}', ("apply_patch",)),
        ("c2:output", "tool", "Success", ()),
        ("c3:output", "tool", "text", ()),
    ]


def test_words_of_another_agent_are_not_the_users() -> None:
    inter = codex("response_item", type="agent_message", author="a", content=[{"type": "input_text", "text": "North: 4 days."}])
    assert spoken(read_codex(inter)) == [("system", "North: 4 days.")]


@pytest.mark.parametrize(
    "line",
    [
        codex("response_item", type="new_item", content=[{"type": "text", "text": "x"}]),
        codex("new_line", type="message", role="user", content=[{"type": "input_text", "text": "x"}]),
        codex("response_item", type="message", role="user"),
        codex("response_item", type="function_call_output", call_id="c"),
        {"timestamp": "2026-10-05T08:00:00.000Z", "type": "response_item"},
    ],
)
def test_words_that_no_reader_knows_degrade_the_reading(line: dict[str, Any]) -> None:
    """T1: what was in the file and was not read shows."""
    assert report(read_codex(TALK[0], line), "codex").reading == "degraded"


def test_tool_lines_do_not_move_the_ordinals_of_messages() -> None:
    call = codex("response_item", type="function_call", name="x", arguments="{}", call_id="c1")
    assert [item.key for item in messages(read_codex(TALK[0], call, TALK[1]))] == ["1", "c1", "2"]


def test_repeated_id_is_a_duplicate_or_a_conflict() -> None:
    first = codex_message("assistant", "Half.")
    first["payload"]["id"] = "msg_1"
    other = json.loads(json.dumps(first))
    other["payload"]["content"][0]["text"] = "All."
    items = read_codex(first, first, other)
    assert [type(item) for item in items if isinstance(item, Duplicate | Conflict)] == [Duplicate, Conflict]


def test_tokens_before_and_after_come_from_the_nearest_counts() -> None:
    items = read_codex(*TALK, codex_tokens(226023), compacted("x"), codex_tokens(12965), EVENT, codex_tokens(13000))
    (done,) = rounds(items)
    assert (done.tokens_before, done.tokens_after) == (226023, 12965)


def test_round_does_not_take_the_tokens_of_the_round_before() -> None:
    items = read_codex(*TALK, codex_tokens(226023), compacted("x"), compacted("y"))
    assert [one.tokens_before for one in rounds(items)] == [226023, None]


@pytest.mark.parametrize("window", [7, "w-1"])
def test_window_ids_of_either_type_are_read(window: Any) -> None:
    items = read_codex(*TALK, compacted("x", window_id=window, window_number=1))
    assert rounds(items)[0].id == ("w-1" if window == "w-1" else "round-1")


def test_window_id_that_repeats_names_no_second_round() -> None:
    items = read_codex(*TALK, compacted("x", window_id="w"), TALK[0], compacted("y", window_id="w"))
    assert [one.id for one in rounds(items)] == ["w", "round-2"]


def test_resumed_session_stays_one_session() -> None:
    items = read_codex(TALK[0], codex("session_meta", id="cx"), TALK[1])
    assert [item.session for item in items if isinstance(item, Opened)] == ["cx"]


def _opened(*metas: dict[str, Any]) -> Opened:
    items = items_of(as_bytes([*(codex("session_meta", **meta) for meta in metas), TALK[0]]), codex_format=True)
    return next(item for item in items if isinstance(item, Opened))


def _spawned(parent: str) -> dict[str, Any]:
    return {"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1, "agent_nickname": "Hooke"}}}


def test_sub_agent_is_in_its_parent_threads_scope() -> None:
    """Contracts 1: inherited lines are recorded under the child; the scope is read from the file alone."""
    opened = _opened({"id": "child", "forked_from_id": "root", "source": _spawned("root")}, {"id": "root", "source": "cli"})
    assert (opened.session, opened.scope, opened.parent, opened.agent) == ("child", "root", "root", "Hooke")


def test_sub_agent_of_a_sub_agent_is_in_the_root_scope() -> None:
    opened = _opened({"id": "c", "source": _spawned("p")}, {"id": "p", "source": _spawned("r")}, {"id": "r", "source": "cli"})
    assert (opened.scope, opened.parent) == ("r", "p")


def test_fork_of_a_person_opens_its_own_scope() -> None:
    opened = _opened({"id": "fork", "forked_from_id": "old", "source": "cli"})
    assert (opened.session, opened.scope, opened.parent) == ("fork", "fork", "old")


def test_threads_that_name_each_other_as_parents_end() -> None:
    assert _opened({"id": "a", "source": _spawned("b")}, {"id": "b", "source": _spawned("a")}).scope == "b"


def test_rollout_without_a_header_is_read() -> None:
    items = items_of(as_bytes(TALK), codex_format=True)
    assert len(messages(items)) == 2


def test_format_is_recognised() -> None:
    assert detected(as_bytes([codex("session_meta", id="cx")])) == "codex"
    assert detected(as_bytes([TALK[0]])) == "codex"
