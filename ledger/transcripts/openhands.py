"""OpenHands: a trajectory (one JSON document), or the same events one a line; the shapes of the app and of the agent SDK.

A compaction is a condensation event. It names the events that are forgotten, one by one or as a range of ids; all others stay
in the window, and everything stays in the file. A range that takes in an earlier condensation condenses its summary again.

What is recorded: messages of user and agent; the agent's thought beside a tool call as its text, the call and what was observed
as role `tool`; the system prompt and what the runtime recalled as role `system`. A trajectory names no session: it is told by
its first event, which carries a time to the microsecond, so that a longer copy of it is the same session. The SDK's folder with
a file for each event is not read as one session.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from ledger.transcripts.decoding import DECODE_FAULTS
from ledger.transcripts.document import DocumentReader, raw_entries
from ledger.transcripts.formats import Fields, Format, text_field
from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.model import Item, Opened, Version, time_ms
from ledger.transcripts.session_items import Boundary, SessionItems
from ledger.transcripts.texts import Call, Piece, compact_json

NOTHING = msgspec.Raw(b"")

_SILENT_ACTIONS = frozenset({"recall", "change_agent_state", "condensation_request", "null", "start_hook_execution"})
_SYSTEM_OBSERVATIONS = frozenset({"recall", "agent_state_changed", "null", "think", "condense"})


class Args(msgspec.Struct, gc=False):
    """The `args` of an action, as far as they are words or a condensation."""

    content: str | None = None
    thought: Any = None
    final_thought: str | None = None
    openhands_version: str | None = None
    summary: str | None = None
    forgotten_event_ids: list[int | str] | None = None
    forgotten_events_start_id: int | None = None
    forgotten_events_end_id: int | None = None


class Trajectory(msgspec.Struct):
    """The document."""

    trajectory: list[msgspec.Raw]


class Line(msgspec.Struct, gc=False):
    """One event. `action` and `observation` are words in the app's events, objects in the SDK's."""

    id: int | str | None = None
    timestamp: str | None = None
    source: str | None = None
    kind: str | None = None
    action: Any = None
    observation: Any = None
    args: msgspec.Raw = NOTHING
    content: Any = None
    # The SDK's events
    llm_message: Any = None
    thought: Any = None
    tool_name: str | None = None
    tool_call: Any = None
    system_prompt: Any = None
    error: Any = None
    summary: str | None = None
    forgotten_event_ids: list[int | str] | None = None

    def is_event(self) -> bool:
        """Is this an event, and not a part of one or the document around it?"""
        return self.source is not None and (self.kind is not None or self.action is not None or self.observation is not None)


_args = msgspec.json.Decoder(Args)
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Forgotten(msgspec.Struct, frozen=True):
    """What a condensation takes out of the window, by ids or, without any, as a range of ids with both ends."""

    summary: str | None
    ids: frozenset[str]
    between: tuple[int | None, int | None] = (None, None)

    def has(self, native: str) -> bool:
        """Is this event, or this summary, taken out?"""
        first, last = self.between
        if self.ids or first is None or last is None:
            return native in self.ids
        return native.isascii() and native.isdecimal() and first <= int(native[:18]) <= last


class OpenHandsReader(DocumentReader[Line]):
    """Reads one trajectory."""

    def __init__(self) -> None:
        super().__init__(Line, lambda *_: True, Line.is_event, raw_entries(Trajectory, "trajectory"))
        self._items: SessionItems | None = None
        self._place = 0
        self._condensed: str | None = None

    def _end(self, out: list[Item]) -> None:
        """Nothing waits: a condensation is one event."""

    def _entry(self, value: Line, at: PhysicalLine, out: list[Item]) -> None:
        if not value.is_event():
            self._lines.report(at, "unexpected_shape")
            return
        self._place += 1
        items = self._items or self._open(value, at, out)
        try:
            args = _args.decode(value.args) if value.args is not NOTHING else Args()
        except DECODE_FAULTS:
            self._lines.report(at, "unexpected_shape")
            return
        if args.openhands_version:
            out.append(Version(args.openhands_version))
        if value.action == "condensation":
            ids = args.forgotten_event_ids
            between = (args.forgotten_events_start_id, args.forgotten_events_end_id)
            self._condensation(items, value, Forgotten(args.summary, frozenset(map(str, ids or ())), between), at, out)
        elif value.kind == "Condensation":
            ids = value.forgotten_event_ids
            self._condensation(items, value, Forgotten(value.summary, frozenset(map(str, ids or ()))), at, out)
        else:
            pieces = _sdk_pieces(value) if value.kind is not None else _pieces(value, args)
            self._check_calls(pieces, at)
            native = str(self._place) if value.id is None else str(value.id)
            items.add(native, pieces, at, out, place=self._place, stamp=value.timestamp)

    def _open(self, value: Line, at: PhysicalLine, out: list[Item]) -> SessionItems:
        first = hashlib.sha256(compact_json(at.data).encode("utf-8", "replace")).hexdigest()[:24]
        session = f"openhands-{first}"
        self._items = SessionItems(
            Opened(session=session, scope=session, runtime="openhands", time_ms=time_ms(value.timestamp)), out
        )
        return self._items

    def _condensation(self, items: SessionItems, value: Line, forgotten: Forgotten, at: PhysicalLine, out: list[Item]) -> None:
        earlier = self._condensed
        native = None if value.id is None else str(value.id)
        items.compact(
            Boundary(at=at, native=native, text=forgotten.summary, stamp=value.timestamp),
            out,
            kept=lambda entry: not forgotten.has(entry.native),
            resummarised=earlier is not None and (forgotten.has(earlier) or forgotten.has(f"{earlier}-summary")),
        )
        self._condensed = native


def _text(value: Any) -> str:
    """The words of a content: a string, an object with a text, or a list of such."""
    if isinstance(value, dict):
        value = next((value[key] for key in ("text", "content", "error", "output", "message") if value.get(key)), None)
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in value]
        value = "\n".join(part for part in parts if isinstance(part, str))
    return value if isinstance(value, str) and not value.isspace() else ""


def _pieces(value: Line, args: Args) -> list[Piece]:
    """The words of one of the app's events."""
    if isinstance(value.observation, str):
        text = _text(value.content)
        return [("system" if value.observation in _SYSTEM_OBSERVATIONS else "tool", text, ())] if text else []
    action = value.action
    if not isinstance(action, str) or action in _SILENT_ACTIONS:
        return []
    text = _text(args.content)
    if action == "message":
        return [("user" if value.source == "user" else "assistant", text, ())] if text else []
    if action == "system":
        return [("system", text, ())] if text else []
    if action == "finish":
        text = "\n\n".join(one for one in (_text(args.thought), _text(args.final_thought)) if one)
        return [("assistant", text, ())] if text else []
    call = Call(action, _without_thought(value.args))
    return _thought_and_call(_text(args.thought), call, by_user=value.source == "user")


def _sdk_pieces(value: Line) -> list[Piece]:
    """The words of one of the SDK's events."""
    if value.llm_message is not None:
        text = _text(value.llm_message)
        return [("user" if value.source == "user" else "assistant", text, ())] if text else []
    if value.tool_name is not None and value.observation is None and value.error is None:
        arguments = value.action
        if isinstance(value.tool_call, dict) and isinstance(value.tool_call.get("arguments"), str):
            arguments = value.tool_call["arguments"]
        call = Call(value.tool_name, msgspec.json.encode(arguments))
        return _thought_and_call(_text(value.thought), call, by_user=False)
    for role, field in (("tool", value.observation), ("tool", value.error), ("system", value.system_prompt)):
        if text := _text(field):
            return [("system" if role == "system" else "tool", text, ())]
    return []


def _thought_and_call(thought: str, call: Call, *, by_user: bool) -> list[Piece]:
    tool: Piece = ("tool", call, (call,))
    return [("assistant", thought, (call,)), tool] if thought and not by_user else [tool]


def _without_thought(raw: msgspec.Raw) -> bytes:
    """The arguments of a call; the thought beside it is recorded as the agent's text."""
    try:
        fields = _fields.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return bytes(raw)
    fields.pop("thought", None)
    return msgspec.json.encode(fields)


def _claims_line(fields: Fields) -> bool:
    if "source" not in fields or "id" not in fields or "type" in fields:
        return False
    kind = text_field(fields, "kind")
    return "action" in fields or "observation" in fields or (kind is not None and kind.endswith(("Event", "Condensation")))


def _claims_file(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:4096]
    if start.startswith(b"{"):
        return b'"trajectory"' in start
    return start.startswith(b"[") and b'"source"' in start and (b'"action"' in start or b'"observation"' in start)


FORMAT = Format(name="openhands", reader=OpenHandsReader, claims_line=_claims_line, claims_file=_claims_file)
