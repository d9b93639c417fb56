"""Copilot CLI's `events.jsonl`: one event a line, `{"type", "id", "timestamp", "parentId", "data"}`, appended only.

A compaction is an event `session.compaction_complete` with the summary; one without success changed nothing and is no round. It
runs in the background: what was said after its `session.compaction_start` was not in front of the summariser and stays in the
window. Real files with a compaction were not at hand; this follows the published event types.

What is recorded: messages of user and assistant; tool calls, from the message that asks for them or else from the event that
starts them, and their results, as role `tool`; text of the system, and what another source put into the user's role, as role
`system`. Events of sub-agents are in the sub-agent's own session. Reasoning, deltas of streams and events marked as ephemeral
are passed over.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ledger.transcripts.formats import Fields, Format, text_field
from ledger.transcripts.jsonl import JsonlReader
from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.model import Item, Opened, time_ms
from ledger.transcripts.session_items import Boundary, SessionItems
from ledger.transcripts.texts import Call, Piece, is_injected

NOTHING = msgspec.Raw(b"")

READ_TYPES = frozenset(
    {
        "session.start",
        "session.resume",
        "user.message",
        "assistant.message",
        "system.message",
        "tool.execution_start",
        "tool.execution_complete",
        "session.compaction_start",
        "session.compaction_complete",
    }
)


class ToolRequest(msgspec.Struct, gc=False):
    """A tool call as the assistant's message has it."""

    toolCallId: str | None = None  # noqa: N815 - the format's own names
    name: str | None = None
    arguments: msgspec.Raw = NOTHING


class Data(msgspec.Struct, gc=False):
    """The `data` of an event, whatever its type."""

    content: Any = None
    sessionId: str | None = None  # noqa: N815
    copilotVersion: str | None = None  # noqa: N815
    source: str | None = None
    model: str | None = None
    parentToolCallId: str | None = None  # noqa: N815
    toolRequests: list[ToolRequest] | None = None  # noqa: N815
    toolCallId: str | None = None  # noqa: N815
    toolName: str | None = None  # noqa: N815
    arguments: msgspec.Raw = NOTHING
    result: Any = None
    error: Any = None
    success: bool | None = None
    trigger: str | None = None
    summaryContent: str | None = None  # noqa: N815
    preCompactionTokens: int | float | None = None  # noqa: N815
    postCompactionTokens: int | float | None = None  # noqa: N815


class Line(msgspec.Struct, gc=False):
    """One event."""

    type: str = ""
    id: str | None = None
    timestamp: str | None = None
    agentId: str | None = None  # noqa: N815
    ephemeral: bool | None = None
    data: Data | None = None


class CopilotReader(JsonlReader[Line]):
    """Reads the events of one session."""

    def __init__(self) -> None:
        super().__init__(Line, lambda kind, _: kind in READ_TYPES, lambda value: "." in value.type)
        self._root = ""
        self._version = ""
        self._sessions: dict[str, SessionItems] = {}
        self._started: dict[str, int] = {}
        self._calls: set[str] = set()
        self._entries = 0

    def _end(self, out: list[Item]) -> None:
        """Nothing waits: a compaction is one event."""

    def _entry(self, value: Line, at: PhysicalLine, out: list[Item]) -> None:
        self._entries += 1
        kind, data = value.type, value.data
        if kind not in READ_TYPES or value.ephemeral:
            if "." not in kind:
                self._is_foreign(at)
            return
        if data is None:
            self._lines.report(at, "unexpected_shape")
        elif kind == "session.start" or kind == "session.resume":
            if not self._root:
                self._root, self._version = data.sessionId or "", data.copilotVersion or ""
                self._session(value, data, at, out)
        else:
            items = self._session(value, data, at, out)
            if kind == "session.compaction_start":
                self._started[items.session] = self._entries
            elif kind == "session.compaction_complete":
                self._compaction(items, value, data, at, out)
            else:
                pieces = self._pieces(kind, data, at)
                self._check_calls(pieces, at)
                native = value.id or f"entry-{items.turn + 1}"
                items.add(native, pieces, at, out, place=self._entries, stamp=value.timestamp, model=data.model or "")

    def _session(self, value: Line, data: Data, at: PhysicalLine, out: list[Item]) -> SessionItems:
        """The session of an event: the file's own, or that of a sub-agent."""
        self._root = self._root or f"unnamed-{at.sha256[:24]}"
        agent = value.agentId or data.parentToolCallId or ""
        session = f"{self._root}/{agent}" if agent else self._root
        items = self._sessions.get(session)
        if items is None:
            items = self._sessions[session] = SessionItems(
                Opened(
                    session=session,
                    scope=self._root,
                    runtime="copilot-cli",
                    version=self._version,
                    agent=agent,
                    parent=self._root if agent else None,
                    time_ms=time_ms(value.timestamp),
                ),
                out,
            )
        return items

    def _pieces(self, kind: str, data: Data, at: PhysicalLine) -> list[Piece]:
        if kind == "tool.execution_start":
            if data.toolCallId is not None and data.toolCallId in self._calls:
                return []
            call = Call(data.toolName or "tool", bytes(data.arguments))
            return [("tool", call, (call,))]
        if kind == "tool.execution_complete":
            if data.result is None and data.error is None and data.success is None:
                self._lines.report(at, "unexpected_shape")
            text = _text(data.result) or _text(data.error)
            return [("tool", text, ())] if text else []
        text = _text(data.content)
        if data.content is not None and not isinstance(data.content, (str, list)):
            self._lines.report(at, "unexpected_shape")
        if kind == "assistant.message":
            return self._spoken(text, data)
        by_person = kind == "user.message" and data.source in {None, "", "user"} and not is_injected(text)
        return [("user" if by_person else "system", text, ())] if text else []

    def _spoken(self, text: str, data: Data) -> list[Piece]:
        calls: list[Call] = []
        for request in data.toolRequests or ():
            calls.append(Call(request.name or "tool", bytes(request.arguments)))
            if request.toolCallId is not None:
                self._calls.add(request.toolCallId)
        tools: list[Piece] = [("tool", call, (call,)) for call in calls]
        return [("assistant", text, tuple(calls)), *tools] if text else tools

    def _compaction(self, items: SessionItems, value: Line, data: Data, at: PhysicalLine, out: list[Item]) -> None:
        started = self._started.pop(items.session, self._entries)
        if data.success is False:
            return
        boundary = Boundary(
            at=at,
            native=value.id,
            text=data.summaryContent,
            trigger=data.trigger,
            tokens_before=data.preCompactionTokens,
            tokens_after=data.postCompactionTokens,
            stamp=value.timestamp,
        )
        items.compact(boundary, out, kept=lambda entry: entry.place > started)


def _text(value: Any) -> str:
    """The words of a content, a result or an error: a string, an object that has it, or a list of such."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("content", "text", "message") if value.get(key)), None)
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in value]
        value = "\n".join(part for part in parts if isinstance(part, str))
    return value if isinstance(value, str) and not value.isspace() else ""


_FAMILIES = ("session.", "user.", "assistant.", "tool.", "system.", "subagent.", "hook.", "skill.", "abort")


def _claims(fields: Fields) -> bool:
    kind = text_field(fields, "type")
    return kind is not None and kind.startswith(_FAMILIES) and "data" in fields


FORMAT = Format(name="copilot-cli", reader=CopilotReader, claims_line=_claims)
