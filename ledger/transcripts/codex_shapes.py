"""The shapes of Codex's lines, and what a line puts into the window."""

from __future__ import annotations

import msgspec

from ledger.transcripts.decoding import DECODE_FAULTS
from ledger.transcripts.texts import SUMMARY_HEADS, Block, Call, Content, Piece, Result, is_injected, result_text, text_of
from schemas.records import Role

NOTHING = msgspec.Raw(b"")
"""A field that is not there."""


class HistoryItem(msgspec.Struct, gc=False):
    """One item of a replacement history."""

    type: str = ""
    role: str | None = None
    content: Content = None
    encrypted_content: str | None = None


class Payload(msgspec.Struct, gc=False):
    """The payload of a line, whatever its type. Fields whose type varies stay undecoded until they are used."""

    type: str | None = None
    id: str | int | None = None
    role: str | None = None
    content: Content = None
    name: str | None = None
    call_id: str | None = None
    arguments: msgspec.Raw = NOTHING
    input: msgspec.Raw = NOTHING
    action: msgspec.Raw = NOTHING
    output: Result | msgspec.UnsetType = msgspec.UNSET
    info: msgspec.Raw = msgspec.Raw(b"")
    source: msgspec.Raw = msgspec.Raw(b"")
    message: msgspec.Raw = NOTHING
    model: str | None = None
    author: str | None = None
    window_id: str | int | None = None
    replacement_history: list[HistoryItem] | None = None
    encrypted_content: str | None = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    cli_version: str | None = None
    agent_nickname: str | None = None

    def has_words(self) -> bool:
        """Is there anything that a known type would have put into the window?"""
        arguments = bytes(self.arguments) or bytes(self.input)
        return bool(self.content or self.replacement_history or self.output or arguments)


class Line(msgspec.Struct, gc=False):
    """One line."""

    type: str = ""
    timestamp: str | None = None
    payload: Payload | None = None


class Usage(msgspec.Struct, gc=False):
    """Token counts of one response."""

    total_tokens: int | None = None


class Info(msgspec.Struct, gc=False):
    """What a `token_count` event says."""

    last_token_usage: Usage | None = None


class Spawn(msgspec.Struct, gc=False):
    """Who started a sub-agent."""

    parent_thread_id: str | None = None
    agent_nickname: str | None = None
    agent_role: str | None = None


class SubAgent(msgspec.Struct, gc=False):
    """The sub-agent part of a header."""

    thread_spawn: Spawn | None = None


class SourceField(msgspec.Struct, gc=False):
    """A header's `source`, where it is an object."""

    subagent: SubAgent | str | None = None


_source = msgspec.json.Decoder(SourceField)
_message = msgspec.json.Decoder(str | None)


def spawn_of(raw: msgspec.Raw) -> Spawn | None:
    """The sub-agent part of a header's `source`, which is a plain word for a person's own session."""
    try:
        subagent = _source.decode(raw).subagent
    except DECODE_FAULTS:
        return None
    if subagent is None:
        return None
    return subagent.thread_spawn or Spawn() if isinstance(subagent, SubAgent) else Spawn()


def pieces_of(role: str, content: Content) -> list[Piece]:
    """A message's pieces: the speaker's own text as one, text that the runtime put into the user's role as another."""
    if isinstance(content, str):
        content = [Block(type="text", text=content)]
    own: list[str] = []
    foreign: list[str] = []
    for block in content or ():
        text = block.text
        if text and not text.isspace():
            injected = role != "assistant" and (role != "user" or is_injected(text))
            (foreign if injected else own).append(text)
    pieces: list[Piece] = []
    if own:
        speaker: Role = "assistant" if role == "assistant" else "user"
        pieces.append((speaker, "\n\n".join(own), ()))
    if foreign:
        pieces.append(("system", "\n\n".join(foreign), ()))
    return pieces


def is_hollow(content: Content) -> bool:
    """Does a text block lack its text? Then something was lost, and not merely empty."""
    return content is None or (
        not isinstance(content, str) and any(block.text is None and "text" in block.type for block in content)
    )


def call_of(payload: Payload) -> Call:
    """A tool call. One of a kind of its own has no name but that."""
    name = payload.name or (payload.type or "").removesuffix("_call")
    raw = payload.arguments
    if raw is NOTHING:
        raw = payload.input if payload.input is not NOTHING else payload.action
    return Call(name, bytes(raw))


def output_text(output: Result | msgspec.UnsetType) -> str:
    """A tool's output: a string, text blocks, or the older envelope, a string that holds `{"output": …, "metadata": …}`."""
    text = result_text(output)
    if text.startswith('{"output":'):
        try:
            return msgspec.json.decode(text.encode("utf-8", "replace"), type=Envelope).output
        except (msgspec.DecodeError, RecursionError):
            return text
    return text


class Envelope(msgspec.Struct):
    """The older form of a tool's output."""

    output: str


def message_text(raw: msgspec.Raw) -> str | None:
    """The summary that a `compacted` line itself holds; None for one that is no text."""
    if raw is NOTHING:
        return ""
    try:
        return _message.decode(raw) or ""
    except DECODE_FAULTS:
        return None


def summary_in(history: list[HistoryItem] | None) -> str:
    """The summary that a local compaction puts last, in the user's role, recognised by the tool's own lead-in."""
    for item in reversed(history or []):
        if item.role == "user":
            text = text_of(item.content)
            if text.startswith(SUMMARY_HEADS):
                return text
    return ""
