"""opencode messages: the JSON that `opencode export` writes, a bare list of the same messages, or one message a line.

A message is `{"info", "parts"}`. A compaction is asked for by a user message with a part of type `compaction`, which names the
first message that is kept, and answered by an assistant message with `summary: true`, whose text parts are the summary. A model
that only reasoned leaves an empty one; an answer that failed has its error in place of a summary.

What is recorded: text parts of user and assistant; text that the runtime put into the user's role as role `system`; tool calls
and their outputs as role `tool`. Reasoning, and text that is kept from the model, are not recorded.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ledger.transcripts.document import DocumentReader, raw_entries
from ledger.transcripts.formats import Fields, Format
from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.model import Item, Opened, stamp_of, time_ms
from ledger.transcripts.session_items import Boundary, SessionItems
from ledger.transcripts.texts import Call, Piece, is_injected, summary_state
from ledger.transcripts.window import Live

NOTHING = msgspec.Raw(b"")


class Time(msgspec.Struct, gc=False):
    """When, in milliseconds since the epoch."""

    created: int | float | None = None


class Cache(msgspec.Struct, gc=False):
    """Tokens that were cached."""

    read: int | None = None
    write: int | None = None


class Tokens(msgspec.Struct, gc=False):
    """Token counts of one response."""

    input: int | None = None
    cache: Cache | None = None

    def window(self) -> int:
        """Tokens that stood in the window when the response was asked for."""
        cache = self.cache or Cache()
        return (self.input or 0) + (cache.read or 0) + (cache.write or 0)


class Info(msgspec.Struct, gc=False):
    """What is said of a message. A user message has an object as `summary`: what it changed, and no compaction."""

    id: str | None = None
    sessionID: str | None = None  # noqa: N815 - the format's own names
    role: str | None = None
    time: Time | None = None
    summary: Any = None
    parentID: str | None = None  # noqa: N815
    modelID: str | None = None  # noqa: N815
    tokens: Tokens | None = None
    error: Any = None


class State(msgspec.Struct, gc=False):
    """The state of a tool call."""

    input: msgspec.Raw = NOTHING
    output: Any = None
    error: Any = None


class Part(msgspec.Struct, gc=False):
    """One part of a message."""

    type: str = ""
    text: str | None = None
    synthetic: bool | None = None
    ignored: bool | None = None
    tool: str | None = None
    state: State | None = None
    auto: bool | None = None
    tail_start_id: str | None = None


class Entry(msgspec.Struct, gc=False):
    """One message."""

    info: Info | None = None
    parts: list[Part] | None = None
    id: str | None = None
    sessionID: str | None = None  # noqa: N815 - as in `info`, whose fields some writers put beside the parts
    role: str | None = None
    time: Time | None = None
    summary: Any = None
    modelID: str | None = None  # noqa: N815
    tokens: Tokens | None = None
    error: Any = None
    timestamp: str | None = None
    """Not in this format: a message has its time in `info`."""

    def is_message(self) -> bool:
        """Is this a message, and not the document around it?"""
        return self.said() is not None

    def said(self) -> Info | None:
        """What is said of the message, if this is one."""
        if self.info is not None:
            return self.info if self.info.role is not None else None
        if self.role is None or self.parts is None:
            return None
        return Info(
            id=self.id,
            sessionID=self.sessionID,
            role=self.role,
            time=self.time,
            summary=self.summary,
            modelID=self.modelID,
            tokens=self.tokens,
            error=self.error,
        )


class Export(msgspec.Struct):
    """The document."""

    messages: list[msgspec.Raw]


class OpenCodeReader(DocumentReader[Entry]):
    """Reads one session."""

    def __init__(self) -> None:
        super().__init__(Entry, lambda *_: True, Entry.is_message, raw_entries(Export, "messages"))
        self._items: SessionItems | None = None
        self._place = 0
        self._asked: tuple[PhysicalLine, Info, Part] | None = None

    def _end(self, out: list[Item]) -> None:
        """A compaction that was asked for, and whose answer is not there yet."""
        self._unanswered(out, waiting=True)

    def _entry(self, value: Entry, at: PhysicalLine, out: list[Item]) -> None:
        info = value.said()
        if info is None or info.role is None:
            self._lines.report(at, "unexpected_shape")
            return
        self._place += 1
        items = self._items or self._open(info, at, out)
        parts = value.parts or []
        if info.role == "assistant" and info.summary is True:
            self._summary(items, info, parts, at, out)
            return
        self._unanswered(out)
        marker = next((part for part in parts if part.type == "compaction"), None)
        if marker is not None and info.role == "user":
            self._asked = at, info, marker
            return
        pieces = _pieces(info.role, parts)
        self._check_calls(pieces, at)
        native = info.id or str(self._place)
        items.add(native, pieces, at, out, place=self._place, stamp=_stamp(info), model=info.modelID or "")
        if info.tokens is not None:
            items.used(info.tokens.window(), out)

    def _open(self, info: Info, at: PhysicalLine, out: list[Item]) -> SessionItems:
        session = info.sessionID or f"unnamed-{at.sha256[:24]}"
        opened = Opened(session=session, scope=session, runtime="opencode", time_ms=time_ms(_stamp(info)))
        self._items = SessionItems(opened, out)
        return self._items

    def _summary(self, items: SessionItems, info: Info, parts: list[Part], at: PhysicalLine, out: list[Item]) -> None:
        asked, self._asked = self._asked, None
        text = _own_text(parts)
        failed = _error_text(info.error)
        self._compact(
            items,
            asked,
            out,
            Boundary(
                at=asked[0] if asked else at,
                native=(asked[1].id if asked else None) or info.id,
                text=text or failed,
                state=summary_state(text or failed, error=bool(failed)),
                summary_at=at,
                trigger=_trigger(asked[2]) if asked else None,
                tokens_before=info.tokens.window() or None if info.tokens else None,
                stamp=_stamp(info),
            ),
        )

    def _unanswered(self, out: list[Item], *, waiting: bool = False) -> None:
        asked, self._asked = self._asked, None
        if asked is not None and self._items is not None:
            at, info, marker = asked
            boundary = Boundary(at=at, native=info.id, text=None, trigger=_trigger(marker), stamp=_stamp(info))
            self._compact(self._items, asked, out, boundary, waiting=waiting)

    @staticmethod
    def _compact(
        items: SessionItems,
        asked: tuple[PhysicalLine, Info, Part] | None,
        out: list[Item],
        boundary: Boundary,
        *,
        waiting: bool = False,
    ) -> None:
        tail = asked[2].tail_start_id if asked else None
        first = next((entry.place for entry in items.window.entries if entry.native == tail), None)

        def is_kept(entry: Live) -> bool:
            return first is not None and entry.place >= first

        items.compact(boundary, out, kept=is_kept, waiting=waiting)


def _stamp(info: Info) -> str | None:
    created = info.time.created if info.time else None
    return stamp_of(int(created)) if created is not None and abs(created) < 1e15 else None


def _trigger(marker: Part) -> str | None:
    return None if marker.auto is None else "auto" if marker.auto else "manual"


def _own_text(parts: list[Part]) -> str:
    texts = [part.text for part in parts if part.type == "text" and part.text and not part.ignored]
    return "\n\n".join(text for text in texts if not text.isspace())


def _error_text(error: Any) -> str:
    """Name and message of an error, or nothing where there is none."""
    if not error:
        return ""
    data = error.get("data") if isinstance(error, dict) else None
    message = data.get("message") if isinstance(data, dict) else error if isinstance(error, str) else None
    name = error.get("name") if isinstance(error, dict) else None
    return ": ".join(one for one in (name, message) if isinstance(one, str)) or "error"


def _pieces(role: str, parts: list[Part]) -> list[Piece]:
    """The speaker's own text as one piece, the runtime's as another, then each tool call and its output."""
    own: list[str] = []
    foreign: list[str] = []
    calls: list[Call] = []
    tools: list[Piece] = []
    for part in parts:
        if part.type == "text" and part.text and not part.text.isspace() and not part.ignored:
            theirs = role != "assistant" and (part.synthetic is True or role != "user" or is_injected(part.text))
            (foreign if theirs else own).append(part.text)
        elif part.type == "tool" and part.state is not None:
            call = Call(part.tool or "tool", bytes(part.state.input))
            calls.append(call)
            tools.append(("tool", call, (call,)))
            output = part.state.output if isinstance(part.state.output, str) else part.state.error
            if isinstance(output, str) and output and not output.isspace():
                tools.append(("tool", output, ()))
    pieces: list[Piece] = []
    if own:
        pieces.append(("assistant" if role == "assistant" else "user", "\n\n".join(own), tuple(calls)))
    if foreign:
        pieces.append(("system", "\n\n".join(foreign), ()))
    return pieces + tools


def _claims_line(fields: Fields) -> bool:
    return "parts" in fields and ("info" in fields or {"id", "role"} <= fields.keys())


def _claims_file(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"["):
        named = b'"info"' in start[:4096] or (b'"id"' in start[:4096] and b'"role"' in start[:4096])
        return named and b'"parts"' in start
    return start.startswith(b"{") and b'"info"' in start[:4096] and b'"messages"' in start and b'"parts"' in start


FORMAT = Format(name="opencode", reader=OpenCodeReader, claims_line=_claims_line, claims_file=_claims_file)
