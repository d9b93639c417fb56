"""Formats that are one JSON document: OpenHands and opencode, whole, one entry a line, broken off and damaged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ledger.transcripts import document
from ledger.transcripts.document import entries_in
from ledger.transcripts.model import Conflict, Duplicate, Item, Opened
from tests.unit.transcripts.builders import detected, messages, read_opencode, read_openhands, report, rounds, spoken, summaries

# --- OpenHands ---------------------------------------------------------------------------------------------------------------


def event(number: int, source: str, **fields: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": f"2026-08-31T15:23:{number:02}.581223", "source": source, **fields}


def said(number: int, source: str, text: str) -> dict[str, Any]:
    return event(number, source, action="message", message=text, args={"content": text})


def condensation(number: int, *, summary: str | None = "Sorted.", **forgotten: Any) -> dict[str, Any]:
    start, end = forgotten.get("start"), forgotten.get("end")
    names = {"forgotten_event_ids": forgotten.get("ids"), "forgotten_events_start_id": start, "forgotten_events_end_id": end}
    return event(number, "agent", action="condensation", args={**names, "summary": summary, "summary_offset": 2})


TALK = [
    event(0, "environment", observation="agent_state_changed", content=""),
    event(1, "agent", action="system", args={"content": "Be brief.", "openhands_version": "0.53.0"}),
    said(2, "user", "Sort the tides."),
    event(3, "user", action="recall", args={"query": "Sort the tides."}),
    event(4, "agent", action="run", args={"command": "ls", "thought": "Let me look."}),
    event(5, "agent", observation="run", cause=4, content="tides.csv"),
    said(6, "agent", "By hour?"),
]


def trajectory(*events: dict[str, Any], indent: int | None = 2) -> bytes:
    return json.dumps({"trajectory": [*events]}, indent=indent).encode()


def shares(items: list[Item]) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(one.summarised.keys, one.kept.keys) for one in rounds(items)]


@pytest.mark.parametrize("indent", [2, None])
def test_trajectory_gives_the_words_of_its_events(indent: int | None) -> None:
    data = trajectory(*TALK, indent=indent)
    items = read_openhands(data)
    assert spoken(items) == [
        ("system", "Be brief."),
        ("user", "Sort the tides."),
        ("assistant", "Let me look."),
        ("tool", '{"tool":"run","input":{"command":"ls"}}'),
        ("tool", "tides.csv"),
        ("assistant", "By hour?"),
    ]
    for one in messages(items):
        inside = json.loads(data[one.where.start : one.where.end])
        assert str(inside["id"]) == one.key.split(".")[0]
        assert data[: one.where.start].count(b"\n") + 1 == one.where.number
    assert report(items, "openhands").version == "0.53.0"


def test_same_events_one_a_line_or_as_a_bare_list_give_the_same() -> None:
    """Contracts 1: the session is told by its first event, whatever the layout."""
    whole = read_openhands(trajectory(*TALK))
    by_line = read_openhands(b"\n".join(json.dumps(one).encode() for one in TALK))
    bare = read_openhands(json.dumps(TALK).encode())
    assert spoken(whole) == spoken(by_line) == spoken(bare)
    assert {one.session for items in (whole, by_line, bare) for one in items if isinstance(one, Opened)} == {
        messages(whole)[0].session
    }


def test_one_event_by_itself_is_read_whatever_its_layout() -> None:
    """P11: the words of a quote are read again from the bytes of its entry alone."""
    for one in TALK[1:3]:
        for indent in (None, 2):
            items = read_openhands(json.dumps(one, indent=indent).encode())
            assert spoken(items) == [(("system" if one["source"] == "agent" else "user"), one["args"]["content"])]
            assert report(items, "openhands").skipped == ()


def test_condensation_forgets_a_range_or_a_list_and_keeps_the_rest() -> None:
    items = read_openhands(
        trajectory(*TALK, condensation(7, start=4, end=5), said(8, "user", "Yes."), condensation(9, ids=[2, 8]))
    )
    assert shares(items) == [(("4", "4.1", "5"), ("1", "2", "6")), (("2", "8"), ("1", "6"))]
    assert [(one.generation, one.replaces) for one in summaries(items)] == [(1, None), (1, None)]


def test_range_that_takes_in_the_condensation_before_condenses_its_summary_again() -> None:
    items = read_openhands(
        trajectory(*TALK, condensation(7, start=4, end=5), said(8, "user", "Yes."), condensation(9, start=6, end=8))
    )
    assert [(one.generation, one.replaces) for one in summaries(items)] == [(1, None), (2, "summary-7")]


def test_condensation_without_a_summary_is_a_round_that_misses_one() -> None:
    items = read_openhands(trajectory(*TALK, condensation(7, ids=[], summary=None)))
    assert [(one.state, one.summarised.keys) for one in rounds(items)] == [("missing", ())]
    assert report(items, "openhands").reading == "degraded"


def test_events_of_the_sdk_are_read() -> None:
    user = {"role": "user", "content": [{"type": "text", "text": "Sort the tides."}]}
    sdk = [
        {"id": "a", "source": "agent", "kind": "SystemPromptEvent", "system_prompt": {"text": "Be brief."}},
        {"id": "b", "source": "user", "kind": "MessageEvent", "llm_message": user},
        {
            "id": "c",
            "source": "agent",
            "kind": "ActionEvent",
            "tool_name": "terminal",
            "thought": [{"type": "text", "text": "Let me look."}],
            "action": {"command": "ls", "kind": "TerminalAction"},
            "tool_call": {"id": "t", "name": "terminal", "arguments": '{"command":"ls"}'},
        },
        {"id": "d", "source": "environment", "kind": "ObservationEvent", "tool_name": "terminal",
         "observation": {"content": [{"type": "text", "text": "tides.csv"}]}},
        {"id": "e", "source": "environment", "kind": "Condensation", "summary": "Listed.", "forgotten_event_ids": ["c", "d"]},
        {"id": "f", "source": "environment", "kind": "Condensation", "summary": "2", "forgotten_event_ids": ["b", "e-summary"]},
    ]  # fmt: skip
    data = b"\n".join(json.dumps(one).encode() for one in sdk)
    assert detected(data) == "openhands"
    items = read_openhands(data)
    assert ("tool", '{"tool":"terminal","input":{"command":"ls"}}') in spoken(items)
    assert shares(items) == [(("c", "c.1", "d"), ("a", "b")), (("b",), ("a",))]
    assert [one.generation for one in summaries(items)] == [1, 2]


def test_document_that_breaks_off_gives_its_whole_events_and_says_so() -> None:
    """T1: a cut document is never read as complete, wherever it was cut."""
    data = trajectory(*TALK)
    for cut in range(30, len(data), 7):
        result = report(read_openhands(data[:cut]), "openhands")
        assert result.reading == "degraded", cut
    whole = spoken(read_openhands(data))
    assert spoken(read_openhands(data[: data.index(b'"By hour?"')])) == whole[:-1]


def test_damaged_event_is_reported_at_its_line_and_the_others_are_read() -> None:
    data = trajectory(*TALK).replace(b'"content": "Sort the tides."', b'"content": ["Sort"]', 1)
    items = read_openhands(data)
    assert len(messages(items)) == 5
    assert [one.reason for one in report(items, "openhands").skipped] == ["unexpected_shape"]
    broken = trajectory(*TALK).replace(b"tides.csv", b"tides\xffcsv", 1)
    items = read_openhands(broken)
    assert {one.reason for one in report(items, "openhands").skipped} >= {"invalid_utf8"}
    assert len(messages(items)) == 6


def test_document_above_the_limit_is_reported_and_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document, "DOCUMENT_BYTES_MAX", 600)
    result = report(read_openhands(trajectory(*TALK)), "openhands")
    assert {one.reason for one in result.skipped} == {"line_too_long", "half_written"}


def test_nesting_bomb_in_a_document_is_reported() -> None:
    result = report(read_openhands(b'{"trajectory": [' + b"[" * 300_000), "openhands")
    assert result.reading == "degraded"


def test_entries_of_a_damaged_document_are_its_whole_objects() -> None:
    assert entries_in(b'{"a": [{"b": [{}]}, {"c": 1}, {"d": ') == ([(7, 18), (20, 28)], 34, False)
    assert entries_in(b'[{"b": 1}x{"c": "]"}]')[0] == [(1, 9), (10, 20)]
    assert entries_in(b'{"b": 1}\n{"c": 2}')[0] == [(0, 8), (9, 17)]
    assert entries_in(b"]]}}") == ([], 0, True)


# --- opencode ----------------------------------------------------------------------------------------------------------------


def message(number: int, role: str, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    head = {"id": f"m{number}", "sessionID": "ses_1", "role": role, "time": {"created": 1_790_000_000_000 + number}, **info}
    return {"info": head, "parts": [*parts]}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


EXPORT = [
    message(1, "user", text("Keep port 8443."), summary={"title": "Port", "diffs": []}),
    message(
        2,
        "assistant",
        {"type": "reasoning", "text": "hm"},
        {
            "type": "tool",
            "tool": "bash",
            "callID": "c",
            "state": {"status": "completed", "input": {"command": "ls"}, "output": "a"},
        },
        text("Kept."),
        tokens={"input": 10, "cache": {"read": 5, "write": 1}},
        modelID="m-1",
    ),
    message(3, "user", text("And the host?")),
    message(4, "user", {"type": "compaction", "auto": True, "tail_start_id": "m3"}),
    message(5, "assistant", text("Port 8443 stays."), summary=True, parentID="m4", tokens={"input": 900}),
    message(6, "user", text("Continue if you have next steps.", synthetic=True)),
]


def opencode(*entries: Any, **options: Any) -> list[Item]:
    return read_opencode(json.dumps({"info": {"id": "ses_1"}, "messages": [*entries]}, **options).encode())


@pytest.mark.parametrize("indent", [1, None])
def test_export_gives_words_rounds_and_tail(indent: int | None) -> None:
    items = opencode(*EXPORT, indent=indent)
    assert spoken(items) == [
        ("user", "Keep port 8443."),
        ("assistant", "Kept."),
        ("tool", '{"tool":"bash","input":{"command":"ls"}}'),
        ("tool", "a"),
        ("user", "And the host?"),
        ("system", "Continue if you have next steps."),
    ]
    (done,) = rounds(items)
    assert (done.id, done.trigger, done.state, done.tokens_before) == ("m4", "auto", "text", 900)
    assert shares(items) == [(("m1", "m2", "m2.1", "m2.2"), ("m3",))]
    assert messages(items)[0].time_ms == 1_790_000_000_001
    assert report(items, "opencode").reading == "complete"


def test_summary_of_reasoning_alone_is_empty_and_one_that_failed_is_an_error() -> None:
    asked = message(4, "user", {"type": "compaction", "auto": False})
    reasoned = message(5, "assistant", {"type": "reasoning", "text": "hm"}, summary=True)
    failed = message(5, "assistant", summary=True, error={"name": "APIError", "data": {"message": "overloaded"}})
    assert [(one.state, one.trigger) for one in rounds(opencode(EXPORT[0], asked, reasoned))] == [("empty", "manual")]
    assert [one.state for one in rounds(opencode(EXPORT[0], asked, failed))] == ["error_text"]


def test_compaction_that_was_asked_for_and_not_answered_misses_its_summary() -> None:
    asked = message(4, "user", {"type": "compaction", "auto": True})
    assert [(one.state, one.waiting) for one in rounds(opencode(EXPORT[0], asked, EXPORT[2]))] == [("missing", False)]
    assert [(one.state, one.waiting) for one in rounds(opencode(EXPORT[0], asked))] == [("missing", True)]


def test_repeated_message_is_a_copy_or_a_conflict() -> None:
    items = opencode(EXPORT[0], EXPORT[0], message(1, "user", text("Keep port 9443.")))
    assert [len([one for one in items if isinstance(one, kind)]) for kind in (Duplicate, Conflict)] == [1, 1]


def test_formats_of_documents_are_recognised_by_their_beginning() -> None:
    assert detected(trajectory(*TALK)) == "openhands"
    assert detected(trajectory(*TALK, indent=None)) == "openhands"
    assert detected(json.dumps(TALK).encode()) == "openhands"
    assert detected(json.dumps({"info": {"id": "s"}, "messages": EXPORT}).encode()) == "opencode"
    assert detected(json.dumps(EXPORT, indent=2).encode()) == "opencode"
    assert detected(json.dumps(EXPORT[0]).encode()) == "opencode"
    assert detected(b'{"name": "package", "version": "1.0.0"}') is None
    assert detected(b'[{"id": 1, "source": "x"}]') is None
