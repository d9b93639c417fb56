"""Claude Code session JSONL, 2.0.76 and later, and the shapes of older files that are known from reports.

One line is one entry: `user`, `assistant`, `system`, `attachment`, `progress`, or metadata without a place in the conversation.
A response is written one content block a line; the lines share `message.id` and are one message. A compaction is a `system`
line with subtype `compact_boundary` and a `user` line with `isCompactSummary`, normally next to each other.

What is recorded: the text of user and assistant lines; tool calls (their compact JSON) and tool results as role `tool`; meta
lines, commands, hook context and attachments with text as role `system`; the messages of sub-agents that `agent_progress` lines
repeat, in the sub-agent's own session. Thinking blocks are not recorded: the text in the file is not what stands in the window.
Microcompactions clear tool results without a summary and are no round; `summary` lines are titles of sessions.
"""

from __future__ import annotations

from ledger.transcripts.claude_rounds import Chain, Told
from ledger.transcripts.claude_shapes import (
    METADATA,
    READ_TYPES,
    SYNTHETIC,
    AgentLine,
    AgentProgress,
    Line,
    MessageBody,
    attachment_text,
    claims,
    is_hollow,
    model_of,
    pieces_of,
)
from ledger.transcripts.formats import Format
from ledger.transcripts.jsonl import JsonlReader
from ledger.transcripts.known_ids import KnownIds
from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.model import (
    Conflict,
    Duplicate,
    Item,
    Message,
    Opened,
    TokensAfter,
    Version,
    time_ms,
    tokens_of,
)
from ledger.transcripts.texts import Block, Body, Call, Piece, fingerprint, summary_state, text_of
from ledger.transcripts.window import Live
from schemas.records import Role

NO_BLOCK = Block()
"""Stands for the only block of a message that has none, or several."""

EMPTY = fingerprint(())
"""The digest of an entry without words."""


def _matters(kind: str, data: bytes) -> bool:
    """Of all kinds of progress only that of a sub-agent has words of the conversation."""
    return kind in READ_TYPES or (kind == "progress" and b'"agent_progress"' in data)


class ClaudeCodeReader(JsonlReader[Line]):
    """Reads one session file. First occurrence of a uuid wins for order and text; boundaries are told apart by uuid too."""

    def __init__(self) -> None:
        super().__init__(Line, _matters, lambda value: bool(value.type))
        self._chains: dict[str, Chain] = {}
        self._seen = KnownIds()
        self._boundaries: set[str] = set()
        self._responses = KnownIds()
        self._session: str | None = None
        self._main: Chain | None = None
        self._version: str | None = None
        self._before: str | None = None
        self._wordless = KnownIds()
        self._awaited: set[str] = set()

    def _end(self, out: list[Item]) -> None:
        """Boundaries that still wait have no summary."""
        for chain in self._chains.values():
            chain.end(out)

    # --- one entry -----------------------------------------------------------------------------------------------------------

    def _entry(self, value: Line, at: PhysicalLine, out: list[Item]) -> None:
        kind = value.type
        talk = kind == "assistant" or kind == "user"
        if not talk and kind not in READ_TYPES and (kind != "progress" or value.uuid is None):
            if not at.raw.isascii():
                self._lines.check_utf8(at)
            if kind in METADATA or self._is_foreign(at):
                return
            if value.message is not None and value.message.content:
                self._lines.report(at, "unknown_type")
            return
        chain = self._main
        # Nearly every line goes on in the session of the line before.
        if value.isSidechain or value.sessionId != self._session or value.version != self._version or chain is None:
            chain = self._chain(value, out)
        uuid = value.uuid
        if uuid is not None:
            chain.links.append((uuid, value.parentUuid, at.number))
            if value.parentUuid != self._before or self._awaited:
                self._answers_another(uuid, value.parentUuid, at)
            elif value.parentUuid is not None:
                self._linked = True
            self._before = uuid
        if talk:
            message = value.message
            if message is None:
                self._lines.report(at, "unexpected_shape")
            elif value.isCompactSummary:
                self._summary(chain, value, message, at, out)
            elif kind == "assistant":
                self._assistant(chain, value, message, at, out)
            else:
                self._user(chain, value, message, at, out)
        else:
            self._not_talk(chain, value, at, out)

    def _not_talk(self, chain: Chain, value: Line, at: PhysicalLine, out: list[Item]) -> None:
        """A line of neither speaker: progress of a sub-agent, a boundary, an attachment."""
        if value.uuid is not None:
            self._wordless.put(value.uuid, (EMPTY,))
        if value.type == "progress":
            if isinstance(value.data, AgentProgress) and value.data.type == "agent_progress":
                self._agent_progress(value, value.data, at, out)
        elif value.type == "system":
            if value.subtype == "compact_boundary":
                self._boundary(chain, value, at, out)
        elif value.attachment is not None:
            role, text = attachment_text(value.attachment)
            if text:
                self._record(chain, value, role, text, (), hash((role, text)), at, out)

    def _answers_another(self, uuid: str, parent: str | None, at: PhysicalLine) -> None:
        """A line that goes on from another than the one before it. A parent that has not been read must not come later."""
        if uuid in self._awaited:
            self._out_of_order(at)
        if parent is None or parent == uuid:
            return
        if self._seen.find(parent) is None and self._wordless.find(parent) is None:
            self._awaited.add(parent)

    def _chain(self, value: Line, out: list[Item]) -> Chain:
        session = value.sessionId
        root = session or self._session or f"unnamed-{value.uuid or 'session'}"
        self._session = root
        chain = self._agent(root, (value.agentId or "sidechain") if value.isSidechain else "", value, out)
        self._main = None if value.isSidechain else chain
        if value.version is not None and value.version != self._version:
            self._version = value.version
            out.append(Version(value.version))
        return chain

    def _agent(self, root: str, agent: str, value: Line, out: list[Item]) -> Chain:
        """The chain of a session, or of one of its sub-agents: opened when it is first seen."""
        session = f"{root}/{agent}" if agent else root
        chain = self._chains.get(session)
        if chain is None:
            chain = self._chains[session] = Chain(session)
            out.append(
                Opened(
                    session=session,
                    scope=root,
                    runtime="claude-code",
                    version=value.version or "",
                    agent=agent,
                    parent=root if agent else None,
                    time_ms=time_ms(value.timestamp),
                )
            )
        return chain

    def _user(self, chain: Chain, value: Line, message: MessageBody, at: PhysicalLine, out: list[Item]) -> None:
        content = message.content
        if isinstance(content, list) and len(content) == 1 and content[0].type == "tool_result" and not value.isMeta:
            # Nearly all lines in the user's role are this, and nothing else needs to be done for them.
            text = content[0].content
            if isinstance(text, str) and text and not text.isspace():
                self._record(chain, value, "tool", text, (), hash(text), at, out)
                return
        self._message(chain, value, pieces_of(content, assistant=False, injected=value.isMeta is True), at, out)

    def _assistant(self, chain: Chain, value: Line, message: MessageBody, at: PhysicalLine, out: list[Item]) -> None:
        content = message.content
        if value.isApiErrorMessage or message.model == SYNTHETIC:
            self._message(chain, value, pieces_of(content, assistant=True, injected=True), at, out)
            return
        block = content[0] if isinstance(content, list) and len(content) == 1 else NO_BLOCK
        if block.type == "tool_use":
            call = Call(block.name or "tool", bytes(block.input))
            if not call.is_utf8():
                self._lines.report(at, "invalid_utf8")
            digest = call.fingerprint()
            added = self._record(chain, value, "tool", call, (call,), digest, at, out, model=message.model or "") is not None
        elif block.type == "text" and block.text and not block.text.isspace():
            text, digest = block.text, hash(("assistant", block.text))
            added = self._record(chain, value, "assistant", text, (), digest, at, out, model=message.model or "") is not None
        else:
            added = self._message(chain, value, pieces_of(content, assistant=True, injected=False), at, out)
        usage = message.usage
        if added and usage is not None and (usage.input_tokens or usage.cache_read_input_tokens):
            chain.usage = usage
            if chain.asks_tokens is not None and (tokens := tokens_of(usage.window())):
                out.append(TokensAfter(session=chain.session, round=chain.asks_tokens, tokens=tokens))
                chain.asks_tokens = None

    def _message(self, chain: Chain, value: Line | AgentLine, pieces: list[Piece], at: PhysicalLine, out: list[Item]) -> bool:
        """Add all pieces of one entry. Returns whether it is a new one; one without pieces is."""
        uuid = value.uuid
        if not pieces:
            if value.message is not None and is_hollow(value.message.content):
                self._lines.report(at, "unexpected_shape")
            known = (EMPTY,) if uuid is None else self._seen.find(uuid)
            if uuid is not None and known is None:
                known = (EMPTY,)
                self._seen.put(uuid, known)
            if known != (EMPTY,):
                self._again(chain, uuid or "", False, False, at, out)
            return known == (EMPTY,)
        self._check_calls(pieces, at)
        role, body, calls = pieces[0]
        model, more = model_of(value), len(pieces) > 1
        entry = self._record(chain, value, role, body, calls, fingerprint(pieces), at, out, model=model, more=more)
        if entry is None:
            return False
        sink = chain.sink(out)
        for role, body, calls in pieces[1:]:
            key = f"{entry.native}.{len(entry.others) + 1}"
            sink.append(Message(chain.session, key, role, body, at, chain.turn, False, value.timestamp, model, calls))
            entry.others += (key,)
        return True

    def _record(
        self,
        chain: Chain,
        value: Line | AgentLine,
        role: Role,
        body: Body,
        calls: tuple[Call, ...],
        digest: int,
        at: PhysicalLine,
        out: list[Item],
        *,
        model: str = "",
        more: bool = False,
    ) -> Live | None:
        """Add the first piece of an entry, the speaker's own text where there is any, unless it is a further copy.

        Texts that share a response's id are one message. `more` pieces will follow.
        """
        uuid = value.uuid
        counts = role == "user" or role == "assistant"
        if uuid is None:
            chain.unnamed += 1
            uuid = f"entry-{chain.unnamed}"
        else:
            known = self._seen.find(uuid)
            if known is not None:
                self._again(chain, uuid, known == (digest,), counts, at, out)
                return None
            self._seen.put(uuid, (digest,))
        if role == "assistant" and value.message is not None and (response := value.message.id) is not None:
            told = self._responses.find(response)
            if told is None:
                self._responses.put(response, (digest,))
            elif digest in told:
                self._again(chain, uuid, True, True, at, out)
                return None
            else:
                self._responses.put(response, (*told, digest))
                counts = False
        chain.turn = turn = chain.turn + 1
        spoken = role != "system" or more
        said = Message(chain.session, uuid, role, body, at, turn, counts, value.timestamp, model, calls)
        if chain.pending is None:
            out.append(said)
        else:
            chain.behind_boundary(said, spoken, out)
        entry = Live(uuid, at.number, counts, spoken)
        chain.live.append(entry)
        return entry

    @staticmethod
    def _again(chain: Chain, uuid: str, same: bool, counts: bool, at: PhysicalLine, out: list[Item]) -> None:
        """A further entry with a uuid that stands in the file already: a copy, or a conflict."""
        if same:
            out.append(Duplicate(session=chain.session, key=uuid, line=at.number, counted=counts))
        else:
            out.append(Conflict(session=chain.session, key=uuid, line=at.number, sha256=at.sha256))

    def _agent_progress(self, value: Line, data: AgentProgress, at: PhysicalLine, out: list[Item]) -> None:
        """A sub-agent's message as its parent's file repeats it; the sub-agent's own file has it under the same uuid."""
        line = data.message
        if not data.agentId or line is None or line.message is None or not line.uuid:
            if line is not None:
                self._lines.report(at, "unexpected_shape")
            return
        pieces = pieces_of(line.message.content, assistant=line.type == "assistant", injected=False)
        if pieces:
            self._message(self._agent(self._session or "", data.agentId, value, out), line, pieces, at, out)

    # --- rounds --------------------------------------------------------------------------------------------------------------

    def _boundary(self, chain: Chain, value: Line, at: PhysicalLine, out: list[Item]) -> None:
        if value.uuid is not None:
            if value.uuid in self._boundaries:
                return
            self._boundaries.add(value.uuid)
        chain.close(out)
        chain.boundary(value, at)

    def _summary(self, chain: Chain, value: Line, message: MessageBody, at: PhysicalLine, out: list[Item]) -> None:
        text = text_of(message.content)
        digest = fingerprint([("system", text, ())])
        owner, uuid = self._owner(chain, value), value.uuid
        if uuid is not None:
            known = self._seen.find(uuid)
            if known is None:
                self._seen.put(uuid, (digest,))
            elif known == (digest,):
                return
            else:
                out.append(Conflict(session=chain.session, key=uuid, line=at.number, sha256=at.sha256))
                if owner is None:
                    return
                # The id is another entry's, but a boundary waits for these words: they are its summary under the round's name.
                uuid = None
        blocks = message.content if isinstance(message.content, list) else []
        opaque = any(block.encrypted_content or bytes(block.data) or block.type == "redacted_thinking" for block in blocks)
        told = Told(value, uuid, at, summary_state(text, opaque=opaque, error=value.isApiErrorMessage is True), text)
        if owner is None:
            if chain.late(told, out):
                return
            owner = chain
            chain.without_boundary(value, at)
            if value.parentUuid is not None:
                self._boundaries.add(value.parentUuid)
        owner.close(out, told)

    def _owner(self, chain: Chain, value: Line) -> Chain | None:
        """The chain whose boundary this summary belongs to: by parent or anchor, else its own, else the only one that waits."""
        waiting = [(other, other.pending) for other in self._chains.values() if other.pending is not None]
        for other, pending in waiting:
            if {value.parentUuid, value.uuid} & pending.anchors:
                return other
        if chain.pending is not None:
            return chain
        return waiting[0][0] if len(waiting) == 1 else None


FORMAT = Format(name="claude-code", reader=ClaudeCodeReader, claims_line=claims)
