"""Copilot CLI: events, calls that stand in two places, compactions that run in the background."""

from __future__ import annotations

from typing import Any

from ledger.transcripts.model import Conflict, Duplicate, Item, Opened
from tests.unit.transcripts.builders import as_bytes, detected, messages, read_copilot, report, rounds, spoken, summaries

START = {"type": "session.start", "id": "e0", "data": {"sessionId": "C", "copilotVersion": "1.0.48"}}


def event(kind: str, number: int, /, **data: Any) -> dict[str, Any]:
    return {"type": kind, "id": f"e{number}", "timestamp": "2026-05-31T08:00:00.000Z", "data": data}


def user(number: int, text: Any, **more: Any) -> dict[str, Any]:
    return event("user.message", number, content=text, **more)


def assistant(number: int, text: str, **more: Any) -> dict[str, Any]:
    return event("assistant.message", number, content=text, **more)


def complete(number: int, summary: str | None = "Tides.", **more: Any) -> dict[str, Any]:
    return event("session.compaction_complete", number, **{"success": True, "summaryContent": summary, **more})


def shares(items: list[Item]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(one.summarised.keys, one.kept.keys) for one in rounds(items)]


def test_record_over_several_lines_is_rejoined_and_reported() -> None:
    """T1: joined lines are read, and the reading is not complete for it."""
    items = read_copilot(
        user(1, "Read the tide table."),
        '{"type":"tool.execution_complete","id":"e2","data":{"result":{"content":"Low water 04:12',
        'High water 10:31"}}}',
        assistant(3, "High water is at 10:31."),
    )
    assert ("tool", "Low water 04:12\nHigh water 10:31") in spoken(items)
    result = report(items, "copilot-cli")
    assert [(one.line, one.reason) for one in result.skipped] == [
        (2, "record_over_several_lines"),
        (3, "record_over_several_lines"),
    ]
    assert (result.messages, result.reading) == (2, "degraded")


def test_compaction_takes_what_stood_before_its_start_and_keeps_what_was_said_meanwhile() -> None:
    items = read_copilot(
        START,
        user(1, "Sort the tides."),
        event("session.compaction_start", 2),
        user(3, "By hour."),
        complete(4, preCompactionTokens=9000, postCompactionTokens=800, tokensRemoved=-2098, trigger="threshold"),
        assistant(5, "Sorted."),
        complete(6),
    )
    assert shares(items) == [(("e1",), ("e3",)), (("e3", "e5"), ())]
    first, second = rounds(items)
    assert (first.id, first.trigger, first.tokens_before, first.tokens_after) == ("e4", "threshold", 9000, 800)
    assert (second.tokens_before, second.tokens_after) == (None, None)
    assert [one.generation for one in summaries(items)] == [1, 2]
    assert report(items, "copilot-cli").reading == "complete"


def test_compaction_that_failed_is_no_round_and_one_without_text_is_missing() -> None:
    items = read_copilot(
        user(1, "One."), complete(2, None, success=False, error="timeout"), complete(3, None), complete(3, None)
    )
    assert [(one.id, one.state) for one in rounds(items)] == [("e3", "missing")]


def test_call_is_recorded_once_though_two_events_have_it() -> None:
    request = {"toolCallId": "t1", "name": "view", "arguments": {"path": "tides.csv"}}
    items = read_copilot(
        assistant(1, "Looking.", toolRequests=[request]),
        event("tool.execution_start", 2, toolCallId="t1", toolName="view", arguments={"path": "tides.csv"}),
        event("tool.execution_complete", 3, toolCallId="t1", success=False, error={"message": "no such file"}),
        event("tool.execution_start", 4, toolCallId="t2", toolName="bash", arguments={"command": "ls"}),
    )
    assert spoken(items) == [
        ("assistant", "Looking."),
        ("tool", '{"tool":"view","input":{"path":"tides.csv"}}'),
        ("tool", "no such file"),
        ("tool", '{"tool":"bash","input":{"command":"ls"}}'),
    ]
    assert messages(items)[0].actions == ("view tides.csv",)


def test_words_of_others_in_the_users_role_are_not_the_users() -> None:
    """Design 7: a re-attached file is never taken for a user's words."""
    items = read_copilot(
        user(1, "Sort."),
        user(2, "Skill text.", source="skill-sort"),
        user(3, None),
        event("system.message", 4, content="Be brief."),
    )
    assert spoken(items) == [("user", "Sort."), ("system", "Skill text."), ("system", "Be brief.")]


def test_sub_agent_is_a_session_of_the_same_scope() -> None:
    items = read_copilot(START, {**assistant(1, "Inside."), "agentId": "child"}, assistant(2, "Deeper.", parentToolCallId="t9"))
    opened = [one for one in items if isinstance(one, Opened)]
    assert [(one.session, one.scope, one.version) for one in opened] == [
        ("C", "C", "1.0.48"),
        ("C/child", "C", "1.0.48"),
        ("C/t9", "C", "1.0.48"),
    ]


def test_repeated_event_is_a_copy_or_a_conflict() -> None:
    items = read_copilot(user(1, "One."), user(1, "One."), user(1, "Two."))
    assert [one.line for one in items if isinstance(one, Duplicate)] == [2]
    assert [one.line for one in items if isinstance(one, Conflict)] == [3]


def test_ephemeral_and_unread_types_add_nothing_and_odd_shapes_are_reported() -> None:
    items = read_copilot(
        {**assistant(1, "echo"), "ephemeral": True},
        event("assistant.message_delta", 2, deltaContent="x"),
        {"type": "user.message", "id": "e3"},
        user(4, 7),
        event("tool.execution_complete", 5, toolCallId="t"),
    )
    assert messages(items) == []
    assert [(one.line, one.reason) for one in report(items, "copilot-cli").skipped] == [
        (3, "unexpected_shape"),
        (4, "unexpected_shape"),
        (5, "unexpected_shape"),
    ]


def test_format_is_recognised_by_any_event() -> None:
    assert detected(as_bytes([START])) == "copilot-cli"
    assert detected(as_bytes([user(1, "One.")])) == "copilot-cli"
