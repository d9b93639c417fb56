"""pi session JSONL: the form without entry ids, and the tree form (version 2 and 3) with `id` and `parentId`.

A compaction is one line with the summary and the first entry that is kept: by its index, which counts entries from 0 with the
header as 0, or by its id. The kept entries stand before that line and are not written again. In the tree form the window is the
path from the newest entry to the root; an entry whose parent is not the entry before it begins another branch, and what is on
neither path has left the window without a compaction.

Up to March 2026 a second compaction looked only at what stood behind the first: what the first had kept, and the second did not
keep, was in front of no summariser. Nothing in a file names the writer's version, so a compaction's own time decides.

What is recorded: messages of user and assistant; tool calls, tool results and commands that the user ran as role `tool`;
messages of extensions and summaries of abandoned branches as role `system`. Thinking is not recorded, and neither is a command
whose output was kept out of the window.
"""

from __future__ import annotations

import re

import msgspec

from ledger.transcripts.formats import Fields, Format, text_field
from ledger.transcripts.jsonl import JsonlReader
from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.model import Item, Opened, time_ms
from ledger.transcripts.session_items import Boundary, SessionItems
from ledger.transcripts.texts import Block, Call, Piece, is_injected, text_of
from ledger.transcripts.window import Live

TAIL_SUMMARISED_FROM_MS = 1774742400000
"""2026-03-29: from then on a compaction summarises what the one before it had kept. Files do not name the tool's version; who
ran an older one later is told that less was unseen than there was, never that less was lost.
"""

READ_TYPES = frozenset({"session", "message", "compaction", "custom_message", "branch_summary"})
_METADATA = frozenset({"model_change", "thinking_level_change", "custom", "label", "session_info"})
_PARENT_FILE = re.compile(r"_([0-9A-Za-z-]{8,64})\.jsonl\Z", re.ASCII)


class Usage(msgspec.Struct, gc=False):
    """Token counts of one response."""

    input: int | None = None
    cacheRead: int | None = None  # noqa: N815 - the format's own names
    cacheWrite: int | None = None  # noqa: N815

    def window(self) -> int:
        """Tokens that stood in the window when the response was asked for."""
        return (self.input or 0) + (self.cacheRead or 0) + (self.cacheWrite or 0)


class PiBlock(Block, gc=False):
    """One content block; a tool call has its arguments under a name of its own."""

    arguments: msgspec.Raw = msgspec.Raw(b"")


class Body(msgspec.Struct, gc=False):
    """The `message` of a message line."""

    role: str = ""
    content: str | list[PiBlock] | None = None
    model: str | None = None
    usage: Usage | None = None
    command: str | None = None
    output: str | None = None
    excludeFromContext: bool | None = None  # noqa: N815


class Line(msgspec.Struct, gc=False):
    """One entry."""

    type: str = ""
    id: str | None = None
    parentId: str | None = None  # noqa: N815
    timestamp: str | None = None
    message: Body | None = None
    content: str | list[PiBlock] | None = None
    summary: str | None = None
    firstKeptEntryIndex: int | None = None  # noqa: N815
    firstKeptEntryId: str | None = None  # noqa: N815
    tokensBefore: int | float | None = None  # noqa: N815
    version: int | str | None = None
    parentSession: str | None = None  # noqa: N815
    branchedFrom: str | None = None  # noqa: N815


class _Node(msgspec.Struct):
    """One entry of the tree: what it put into the window, or for a compaction the first entry that it kept."""

    parent: str | None
    entry: Live | None = None
    compaction: bool = False
    first_kept: str | None = None


class PiReader(JsonlReader[Line]):
    """Reads one session file."""

    def __init__(self) -> None:
        super().__init__(Line, lambda kind, _: kind in READ_TYPES, lambda value: bool(value.type))
        self._items: SessionItems | None = None
        self._entries = 0
        self._messages = 0
        self._nodes: dict[str, _Node] = {}
        self._leaf: str | None = None
        self._before_round: set[str] = set()
        self._awaited: set[str] = set()

    def _end(self, out: list[Item]) -> None:
        """Nothing waits: a compaction is one line."""

    def _entry(self, value: Line, at: PhysicalLine, out: list[Item]) -> None:
        place = self._entries
        self._entries += 1
        kind = value.type
        if kind == "session":
            if self._items is None:
                self._open(value, at, out)
            return
        items = self._items or self._open(None, at, out)
        if value.parentId != self._leaf and value.id is not None and value.id not in self._nodes:
            self._switch(items, value.parentId)
        if kind not in READ_TYPES:
            if kind in _METADATA or self._is_foreign(at):
                pass
            elif value.message is not None or value.content or value.summary:
                self._lines.report(at, "unknown_type")
            self._grow(value, None, at)
            return
        if kind == "compaction":
            self._compaction(items, value, at, out)
            return
        pieces, model = self._pieces(value, at)
        self._check_calls(pieces, at)
        entry = items.add(self._native(value, place), pieces, at, out, place=place, stamp=value.timestamp, model=model)
        self._grow(value, entry, at)
        if value.message is not None and value.message.usage is not None:
            items.used(value.message.usage.window(), out)

    def _open(self, header: Line | None, at: PhysicalLine, out: list[Item]) -> SessionItems:
        session = (header.id if header else None) or f"unnamed-{at.sha256[:24]}"
        came_from = _PARENT_FILE.search((header.parentSession or header.branchedFrom or "") if header else "")
        self._items = SessionItems(
            Opened(
                session=session,
                scope=session,
                runtime="pi",
                version="" if header is None or header.version is None else str(header.version),
                parent=came_from[1] if came_from else None,
                time_ms=time_ms(header.timestamp) if header else None,
            ),
            out,
        )
        return self._items

    def _native(self, value: Line, place: int) -> str:
        """The entry's id; without one the ordinal of the message, or what is no message by its place."""
        if value.type == "message":
            self._messages += 1
        return value.id or (str(self._messages) if value.type == "message" else f"entry-{place}")

    # --- words ---------------------------------------------------------------------------------------------------------------

    def _pieces(self, value: Line, at: PhysicalLine) -> tuple[list[Piece], str]:
        if value.type != "message":
            text = value.summary if value.type == "branch_summary" else _text(value.content)
            return ([("system", text, ())] if text and not text.isspace() else []), ""
        message = value.message
        if message is None:
            self._lines.report(at, "unexpected_shape")
            return [], ""
        if message.role == "bashExecution":
            return _command(message), ""
        if message.role == "assistant":
            return _spoken(message.content), message.model or ""
        text = _text(message.content)
        if message.content is None:
            self._lines.report(at, "unexpected_shape")
        if not text or text.isspace():
            return [], ""
        if message.role == "user":
            return [("system" if is_injected(text) else "user", text, ())], ""
        return [("tool" if message.role == "toolResult" else "system", text, ())], ""

    # --- the tree ------------------------------------------------------------------------------------------------------------

    def _grow(self, value: Line, entry: Live | None, at: PhysicalLine, *, compaction: bool = False) -> None:
        """The entry is the leaf now. A copy of an entry that is there already moves nothing."""
        if value.id is not None and value.id not in self._nodes:
            if value.id in self._awaited:
                self._out_of_order(at)
            if value.parentId not in {None, value.id} and value.parentId not in self._nodes:
                self._awaited.add(value.parentId)
            self._nodes[value.id] = _Node(value.parentId, entry, compaction, value.firstKeptEntryId)
            self._leaf = value.id

    def _switch(self, items: SessionItems, leaf: str | None) -> None:
        """Another branch goes on: the window is what stands on the path to `leaf`, behind its latest compaction.

        A leaf that is not in the file says nothing: a line may be missing, and the window stays as it is.
        """
        if leaf is not None and leaf not in self._nodes:
            return
        path: list[tuple[str, _Node]] = []
        walked: set[str] = set()
        at = leaf
        while at is not None and at in self._nodes and at not in walked:
            walked.add(at)
            path.append((at, self._nodes[at]))
            at = self._nodes[at].parent
        path.reverse()
        live: list[Live] = []
        self._before_round = set()
        for number, (_, node) in enumerate(path):
            if node.compaction:
                before = path[:number]
                first = next((place for place, (name, _) in enumerate(before) if name == node.first_kept), number)
                live = [one.entry for _, one in before[first:] if one.entry is not None]
                self._before_round = {entry.native for entry in live}
            elif node.entry is not None:
                live.append(node.entry)
        items.window.entries[:] = live

    # --- rounds --------------------------------------------------------------------------------------------------------------

    def _compaction(self, items: SessionItems, value: Line, at: PhysicalLine, out: list[Item]) -> None:
        if value.id is not None and value.id in self._nodes:
            return
        live = items.window.entries
        if value.firstKeptEntryId is not None:
            kept = self._kept_from(value.firstKeptEntryId, live)
        else:
            first = self._entries if value.firstKeptEntryIndex is None else value.firstKeptEntryIndex
            kept = {entry.native for entry in live if entry.place >= first}
        moment = time_ms(value.timestamp)
        unseen = self._before_round if moment is None or moment < TAIL_SUMMARISED_FROM_MS else set()
        items.compact(
            Boundary(at=at, native=value.id, text=value.summary, tokens_before=value.tokensBefore, stamp=value.timestamp),
            out,
            kept=lambda entry: entry.native in kept,
            unseen=lambda entry: entry.native in unseen,
        )
        self._before_round = kept
        self._grow(value, None, at, compaction=True)

    def _kept_from(self, first: str, live: list[Live]) -> set[str]:
        """The entries of the path from `first` on. It need not have words of its own."""
        kept: set[str] = set()
        at = self._leaf
        walked: set[str] = set()
        while at is not None and at in self._nodes and at not in walked:
            walked.add(at)
            kept.add(at)
            if at == first:
                return {entry.native for entry in live if entry.native in kept}
            at = self._nodes[at].parent
        return set()


def _text(content: str | list[PiBlock] | None) -> str:
    return text_of(content if content is None or isinstance(content, str) else list(content))


def _spoken(content: str | list[PiBlock] | None) -> list[Piece]:
    """An assistant's own text as one piece, and a piece for each tool call."""
    if content is None or isinstance(content, str):
        return [("assistant", content, ())] if content and not content.isspace() else []
    calls = tuple(Call(block.name or "tool", bytes(block.arguments)) for block in content if block.type == "toolCall")
    tools: list[Piece] = [("tool", call, (call,)) for call in calls]
    text = "\n\n".join(block.text for block in content if block.text and not block.text.isspace())
    return [("assistant", text, calls), *tools] if text else tools


def _command(message: Body) -> list[Piece]:
    """A command that the user ran, and what it printed."""
    pieces: list[Piece] = []
    if message.command and not message.excludeFromContext:
        call = Call("bash", msgspec.json.encode({"command": message.command}))
        pieces.append(("tool", call, (call,)))
    if message.output and not message.output.isspace() and not message.excludeFromContext:
        pieces.append(("tool", message.output, ()))
    return pieces


def _claims(fields: Fields) -> bool:
    kind = text_field(fields, "type")
    if kind == "session":
        return "id" in fields and ("cwd" in fields or "version" in fields) and "data" not in fields
    if kind == "message":
        return "message" in fields and "timestamp" in fields and not {"uuid", "sessionId", "payload"} & fields.keys()
    return kind == "compaction" and "summary" in fields and ("firstKeptEntryId" in fields or "firstKeptEntryIndex" in fields)


FORMAT = Format(name="pi", reader=PiReader, claims_line=_claims)
