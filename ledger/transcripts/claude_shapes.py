"""The shapes of Claude Code's lines, and what a line puts into the window."""

from __future__ import annotations

from typing import Any

import msgspec

from ledger.transcripts.formats import Fields, text_field
from ledger.transcripts.texts import Call, Content, Piece, is_injected, result_text
from schemas.records import Role

NOTHING = msgspec.Raw(b"")
"""A field that is not there."""

READ_TYPES = frozenset({"user", "assistant", "system", "attachment"})
METADATA = frozenset(
    {
        "mode", "permission-mode", "last-prompt", "ai-title", "custom-title", "agent-name", "agent-color", "agent-setting",
        "tag", "queue-operation", "worktree-state", "pr-link", "file-history-delta", "attribution-snapshot",
        "content-replacement", "bridge-session", "cost-state", "continued-in", "summary", "file-history-snapshot",
    }
)  # fmt: skip
"""Types of lines without a place in the conversation."""

SYNTHETIC = "<synthetic>"
"""The model of a message that the runtime wrote in the assistant's role."""


class Usage(msgspec.Struct, gc=False):
    """Token counts of one response; repeated on each of its lines."""

    input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None

    def window(self) -> int:
        """Tokens that stood in the window when the response was asked for."""
        return (self.input_tokens or 0) + (self.cache_read_input_tokens or 0) + (self.cache_creation_input_tokens or 0)


class MessageBody(msgspec.Struct, gc=False):
    """The `message` of a user or assistant line."""

    content: Content = None
    id: str | None = None
    model: str | None = None
    usage: Usage | None = None


class Segment(msgspec.Struct, gc=False):
    """The kept tail as a walk along parents, from tail to head."""

    headUuid: str | None = None  # noqa: N815 - the format's own names
    anchorUuid: str | None = None  # noqa: N815
    tailUuid: str | None = None  # noqa: N815


class Preserved(msgspec.Struct, gc=False):
    """The kept tail as a list."""

    anchorUuid: str | None = None  # noqa: N815
    uuids: list[str] | None = None
    allUuids: list[str] | None = None  # noqa: N815


class CompactMetadata(msgspec.Struct, gc=False):
    """What a boundary says of its round; older versions have trigger and `preTokens` only."""

    trigger: str | None = None
    preTokens: int | None = None  # noqa: N815
    postTokens: int | None = None  # noqa: N815
    preservedSegment: Segment | None = None  # noqa: N815
    preservedMessages: Preserved | None = None  # noqa: N815


class AgentLine(msgspec.Struct, gc=False):
    """A sub-agent's line inside a progress line."""

    type: str = ""
    uuid: str | None = None
    timestamp: str | None = None
    message: MessageBody | None = None


class AgentProgress(msgspec.Struct, gc=False):
    """The `data` of a progress line of type `agent_progress`."""

    type: str = ""
    agentId: str | None = None  # noqa: N815
    message: AgentLine | None = None


class Attachment(msgspec.Struct, gc=False):
    """The `attachment` of an attachment line, whatever its type: the same field has another shape in another type."""

    type: str = ""
    content: Any = None
    text: Any = None
    snippet: Any = None
    skills: Any = None
    addedBlocks: Any = None  # noqa: N815
    prompt: Any = None
    commandMode: Any = None  # noqa: N815


class Line(msgspec.Struct, gc=False):
    """One line. Fields that decide nothing here are not named, so that they may change."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None  # noqa: N815
    logicalParentUuid: str | None = None  # noqa: N815
    sessionId: str | None = None  # noqa: N815
    agentId: str | None = None  # noqa: N815
    isSidechain: bool | None = None  # noqa: N815
    isMeta: bool | None = None  # noqa: N815
    isCompactSummary: bool | None = None  # noqa: N815
    isApiErrorMessage: bool | None = None  # noqa: N815
    timestamp: str | None = None
    version: str | None = None
    message: MessageBody | None = None
    compactMetadata: CompactMetadata | None = None  # noqa: N815
    attachment: Attachment | None = None
    data: AgentProgress | list[msgspec.Raw] | str | int | float | bool | None = None


def pieces_of(content: Content, *, assistant: bool, injected: bool) -> list[Piece]:
    """A message's pieces in order: the speaker's own text as one, text that a runtime put there as another, then tools."""
    if content is None:
        return []
    if isinstance(content, str):
        if not content or content.isspace():
            return []
        role: Role = "assistant" if assistant else "user"
        return [("system" if injected or (not assistant and is_injected(content)) else role, content, ())]
    own: list[str] = []
    foreign: list[str] = []
    tools: list[Piece] = []
    calls: list[Call] = []
    for block in content:
        kind = block.type
        if kind == "tool_use" or kind == "server_tool_use":
            call = Call(block.name or "tool", bytes(block.input))
            calls.append(call)
            tools.append(("tool", call, (call,)))
        elif kind.endswith("tool_result"):
            result = result_text(block.content)
            if result and not result.isspace():
                tools.append(("tool", result, ()))
        elif (text := block.text) and not text.isspace():
            theirs = kind == "text" and (injected or (not assistant and is_injected(text)))
            (foreign if theirs else own).append(text)
    if own:
        tools.insert(0, ("assistant" if assistant else "user", "\n\n".join(own), tuple(calls)))
    if foreign:
        tools.insert(1 if own else 0, ("system", "\n\n".join(foreign), ()))
    return tools


def is_hollow(content: Content) -> bool:
    """Of a message without pieces: was something lost, rather than empty? A block lacks the field that holds its words, or has
    words under a type that is not known.
    """
    if content is None or isinstance(content, str):
        return content is None
    for block in content:
        kind, inner = block.type, block.content
        if kind.endswith("tool_result"):
            if inner is msgspec.UNSET:
                return True
        elif (
            not kind or (inner is not msgspec.UNSET and inner) or bytes(block.input) or (kind == "text" and block.text is None)
        ):
            return True
    return False


def attachment_text(value: Attachment) -> tuple[Role, str]:
    """What an attachment put into the window. A prompt that the user typed while the agent was busy is the user's own words."""
    if value.type == "queued_command":
        text = "\n".join(_attached_texts(value.prompt, "text")) if value.prompt else ""
        own = value.commandMode in (None, "prompt") and not is_injected(text)
        return ("user" if own else "system"), text if text and not text.isspace() else ""
    texts: list[str] = []
    for field in (value.text, value.snippet, value.addedBlocks, value.skills, value.content):
        if field:
            texts += _attached_texts(field)
    if not texts:
        return "system", ""
    return "system", "\n\n".join(text for text in texts if text and not text.isspace())


def _attached_texts(field: Any, name: str = "content") -> list[str]:
    """The texts of one field: a string, a list of strings or of objects with a text, or a file. Anything else has none."""
    if isinstance(field, str):
        return [field]
    texts: list[str] = []
    for part in field if isinstance(field, list) else (field,):
        # A file, a memory or a skill whose text was put into the window; files nest their text once more.
        inner = part.get("file", part) if isinstance(part, dict) else part
        text = inner.get(name) if isinstance(inner, dict) else inner
        if isinstance(text, str):
            texts.append(text)
    return texts


def model_of(value: Line | AgentLine) -> str:
    """The model that wrote an entry, where one did."""
    if value.type != "assistant" or value.message is None or value.message.model == SYNTHETIC:
        return ""
    return value.message.model or ""


def claims(fields: Fields) -> bool:
    """Is this a line of Claude Code's?"""
    kind = text_field(fields, "type")
    if kind is None or "payload" in fields:
        return False
    if "sessionId" in fields and ("uuid" in fields or kind in METADATA):
        return True
    if kind in READ_TYPES:
        return "uuid" in fields and "parentUuid" in fields
    return (kind == "summary" and "leafUuid" in fields) or (kind == "file-history-snapshot" and "messageId" in fields)
