"""Claude Code session JSONL, 2.0.76 and later, and the shapes of older files that are known from reports.

One line is one entry: `user`, `assistant`, `system`, `attachment`, `progress`, or metadata without a place in the conversation.
A response is written one content block a line; the lines share `message.id` and are one message. A compaction is a `system` line
with subtype `compact_boundary` and a `user` line with `isCompactSummary`, normally next to each other.

What is recorded: the text of user and assistant lines; tool calls (their compact JSON) and tool results as role `tool`; meta lines,
commands, hook context and attachments with text as role `system`; the messages of sub-agents that `agent_progress` lines repeat,
in the sub-agent's own session. Thinking blocks are not recorded: the text in the file is not what stands in the window.
Microcompactions clear tool results without a summary and are no round; `summary` lines are titles of sessions.
"""

from __future__ import annotations

import msgspec

from ledger.transcripts.decoding import LineDecoder
from ledger.transcripts.formats import Format, Sample, text_field
from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.model import (
    INSPECTED_ROLES,
    Conflict,
    Duplicate,
    Item,
    Message,
    Opened,
    Round,
    Share,
    Summary,
    TokensAfter,
    Version,
    Where,
    time_ms,
)
from ledger.transcripts.texts import (
    Content,
    Piece,
    action_of,
    call_text,
    fingerprint,
    is_injected,
    raw_text,
    result_text,
    summary_state,
    text_of,
)
from ledger.transcripts.window import Live, LiveWindow
from schemas.records import Role, SummaryState

HELD_ITEMS_MAX = 512
"""Items held back behind a boundary whose summary has not come; real files have up to a dozen attachments there."""

READ_TYPES = frozenset({"user", "assistant", "system", "attachment"})


class _Pending(msgspec.Struct):
    """A boundary whose summary has not come yet. Whatever follows waits in `held`."""

    round: Round
    anchors: frozenset[str]
    held: list[Item]


class _Chain:
    """One session: the main chain of a session id, or one of its sub-agents."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.window = LiveWindow()
        self.parents: dict[str, tuple[str | None, int]] = {}
        self.turn = 0
        self.rounds = 0
        self.unnamed = 0
        self.usage: int | None = None
        self.pending: _Pending | None = None
        self.last_round: Round | None = None
        self.last_anchors: frozenset[str] = frozenset()
        self.last_summary: str | None = None
        self.generation = 0
        self.asks_tokens: str | None = None


class ClaudeCodeReader:
    """Reads one session file. First occurrence of a uuid wins for order and text; boundaries are told apart by uuid too."""

    def __init__(self) -> None:
        self._lines = LineDecoder(Line, READ_TYPES.__contains__, _is_record)
        self._chains: dict[str, _Chain] = {}
        self._seen: dict[str, int] = {}
        self._boundaries: set[str] = set()
        self._responses: dict[str, list[int]] = {}
        self._session = ""
        self._version: str | None = None

    def feed(self, line: PhysicalLine) -> list[Item]:
        """What this line completes."""
        out: list[Item] = []
        for value, at in self._lines.feed(line):
            self._entry(value, at, out)
        if self._lines.unread:
            out.extend(self._lines.unread)
            self._lines.unread.clear()
        return out

    def finish(self) -> list[Item]:
        """Boundaries that still wait have no summary; lines that still wait are lost."""
        out: list[Item] = []
        self._lines.finish()
        out.extend(self._lines.unread)
        self._lines.unread.clear()
        for chain in self._chains.values():
            self._close(chain, out)
        return out

    # --- one entry -----------------------------------------------------------------------------------------------------------

    def _entry(self, value: Line, at: PhysicalLine, out: list[Item]) -> None:
        kind = value.type
        if kind in {"user", "assistant"}:
            chain = self._chain(value, out)
            self._link(chain, value, at)
            if value.message is None:
                return
            if value.isCompactSummary:
                self._summary(chain, value, at, out)
            else:
                self._message(chain, value, at, out)
        elif kind == "attachment":
            chain = self._chain(value, out)
            self._link(chain, value, at)
            role, text = attachment_text(value.attachment)
            if text:
                self._record(chain, value.uuid, [(role, text, ())], at, out, stamp=value.timestamp)
        elif kind == "system":
            chain = self._chain(value, out)
            self._link(chain, value, at)
            if value.subtype == "compact_boundary":
                self._boundary(chain, value, at, out)
        elif kind == "progress" and value.uuid:
            self._link(self._chain(value, out), value, at)
            if b'"agent_progress"' in bytes(value.data):
                self._agent_progress(value, at, out)

    def _chain(self, value: Line, out: list[Item], agent: str | None = None) -> _Chain:
        root = value.sessionId or self._session or f"unnamed-{value.uuid or 'session'}"
        self._session = root
        if agent is None and value.isSidechain:
            agent = value.agentId or "sidechain"
        session = f"{root}/{agent}" if agent else root
        chain = self._chains.get(session)
        if chain is None:
            chain = self._chains[session] = _Chain(session)
            out.append(
                Opened(
                    session=session,
                    scope=root,
                    runtime="claude-code",
                    version=value.version or "",
                    agent=agent or "",
                    parent=root if agent else None,
                    time_ms=time_ms(value.timestamp),
                )
            )
        if value.version != self._version and value.version:
            self._version = value.version
            out.append(Version(value.version))
        return chain

    @staticmethod
    def _link(chain: _Chain, value: Line, at: PhysicalLine) -> None:
        if value.uuid and value.uuid not in chain.parents:
            chain.parents[value.uuid] = (value.parentUuid, at.number)

    def _message(self, chain: _Chain, value: Line, at: PhysicalLine, out: list[Item]) -> None:
        message = value.message
        assert message is not None
        assistant = value.type == "assistant"
        by_runtime = assistant and (bool(value.isApiErrorMessage) or message.model == "<synthetic>")
        pieces = pieces_of(message.content, assistant=assistant, injected=bool(value.isMeta) or by_runtime)
        added = self._record(
            chain,
            value.uuid,
            pieces,
            at,
            out,
            stamp=value.timestamp,
            model=message.model if message.model and not by_runtime else "",
            response=message.id if assistant else None,
        )
        if added and assistant and not by_runtime and message.usage is not None:
            tokens = message.usage.window()
            if chain.asks_tokens and tokens:
                out.append(TokensAfter(session=chain.session, round=chain.asks_tokens, tokens=tokens))
                chain.asks_tokens = None
            chain.usage = tokens or chain.usage

    def _record(
        self,
        chain: _Chain,
        uuid: str | None,
        pieces: list[Piece],
        at: PhysicalLine,
        out: list[Item],
        *,
        stamp: str | None,
        model: str | None = "",
        response: str | None = None,
    ) -> bool:
        """Add the pieces of one entry, unless it is a further copy. An entry without pieces counts as added."""
        digest = fingerprint(pieces)
        # The speaker's own text, where there is any, is the first piece.
        counts = bool(pieces) and pieces[0][0] in INSPECTED_ROLES
        if uuid is None:
            chain.unnamed += 1
            native = f"entry-{chain.unnamed}"
        else:
            native = uuid
            known = self._seen.get(uuid)
            if known is not None:
                self._repeated(chain, uuid, at, out, same=known == digest, counted=counts)
                return False
            self._seen[uuid] = digest
        if not pieces:
            return True
        if response and counts:
            told = self._responses.setdefault(response, [])
            if digest in told:
                out.append(Duplicate(session=chain.session, key=native, line=at.number, counted=True))
                return False
            counts = not told
            told.append(digest)
        sink = out
        spoken = counts or any([role != "system" for role, _, _ in pieces])
        if chain.pending is not None:
            if spoken or len(chain.pending.held) >= HELD_ITEMS_MAX:
                self._close(chain, out)
            else:
                sink = chain.pending.held
        chain.turn = turn = chain.turn + 1
        where = Where(at.number, at.start, at.data)
        keys: list[str] = []
        for role, text, actions in pieces:
            key = f"{native}.{len(keys)}" if keys else native
            counted = counts and not keys
            sink.append(Message(chain.session, key, role, text, where, turn, counted, stamp, model or "", actions))
            keys.append(key)
        chain.window.add(Live(native, tuple(keys), at.number, counts, spoken))
        return True

    @staticmethod
    def _repeated(chain: _Chain, uuid: str, at: PhysicalLine, out: list[Item], *, same: bool, counted: bool) -> None:
        if same:
            out.append(Duplicate(session=chain.session, key=uuid, line=at.number, counted=counted))
        else:
            out.append(Conflict(session=chain.session, key=uuid, line=at.number, sha256=at.sha256))

    def _agent_progress(self, value: Line, at: PhysicalLine, out: list[Item]) -> None:
        """A sub-agent's message as its parent's file repeats it; the sub-agent's own file has it under the same uuid."""
        try:
            progress = _agent_progress.decode(value.data)
        except msgspec.DecodeError:
            return
        line = progress.message
        if progress.type != "agent_progress" or not progress.agentId or line is None or line.message is None:
            return
        chain = self._chain(value, out, agent=progress.agentId)
        pieces = pieces_of(line.message.content, assistant=line.type == "assistant", injected=False)
        if pieces and line.uuid:
            self._record(
                chain,
                line.uuid,
                pieces,
                at,
                out,
                stamp=line.timestamp,
                model=line.message.model,
                response=line.message.id if line.type == "assistant" else None,
            )

    # --- rounds --------------------------------------------------------------------------------------------------------------

    def _boundary(self, chain: _Chain, value: Line, at: PhysicalLine, out: list[Item]) -> None:
        if value.uuid and value.uuid in self._boundaries:
            return
        if value.uuid:
            self._boundaries.add(value.uuid)
        self._close(chain, out)
        meta = value.compactMetadata or CompactMetadata()
        kept = _preserved(meta, chain)
        unseen_from = _unseen_from(value.logicalParentUuid, chain)
        shares = chain.window.cut(
            lambda entry: entry.native in kept, lambda entry: unseen_from is not None and entry.spoken and entry.line > unseen_from
        )
        pending = self._pend(chain, value, at, shares, meta)
        anchors = [value.uuid]
        if meta.preservedSegment is not None:
            anchors.append(meta.preservedSegment.anchorUuid)
        if meta.preservedMessages is not None:
            anchors.append(meta.preservedMessages.anchorUuid)
        chain.pending = _Pending(pending, frozenset(anchor for anchor in anchors if anchor), [])
        chain.parents = {uuid: link for uuid, link in chain.parents.items() if uuid in kept or link[1] >= at.number}

    @staticmethod
    def _pend(
        chain: _Chain, value: Line, at: PhysicalLine, shares: tuple[Share, Share, Share], meta: CompactMetadata | None
    ) -> Round:
        """A round as far as its boundary tells it; without a boundary (`meta` is None) as far as its summary does."""
        chain.rounds += 1
        return Round(
            session=chain.session,
            id=value.uuid or f"round-{chain.rounds}",
            ordinal=chain.rounds,
            turn=chain.turn,
            trigger=meta.trigger if meta else None,
            boundary_line=at.number if meta else None,
            summary=None,
            summary_line=None,
            state="missing",
            summarised=shares[0],
            kept=shares[1],
            unseen=shares[2],
            tokens_before=meta.preTokens if meta and meta.preTokens is not None else chain.usage,
            tokens_after=meta.postTokens if meta else None,
            time_ms=time_ms(value.timestamp),
            where=Where(at.number, at.start, at.data),
        )

    def _summary(self, chain: _Chain, value: Line, at: PhysicalLine, out: list[Item]) -> None:
        message = value.message
        assert message is not None
        text = text_of(message.content)
        digest = fingerprint([("system", text, ())])
        if value.uuid:
            known = self._seen.get(value.uuid)
            if known is not None:
                if known != digest:
                    out.append(Conflict(session=chain.session, key=value.uuid, line=at.number, sha256=at.sha256))
                return
            self._seen[value.uuid] = digest
        blocks = message.content if isinstance(message.content, list) else []
        opaque = any(block.encrypted_content or block.data or block.type == "redacted_thinking" for block in blocks)
        state = summary_state(text, opaque=opaque, error=bool(value.isApiErrorMessage))
        owner = self._owner(chain, value)
        if owner is None and self._late(chain, value, at, state, text, out):
            return
        if owner is None:
            shares = chain.window.cut(lambda _: False, lambda _: False)
            chain.pending = _Pending(self._pend(chain, value, at, shares, None), frozenset(), [])
            owner = chain
            if value.parentUuid:
                self._boundaries.add(value.parentUuid)
        self._close(owner, out, (value, at, state, text))

    def _owner(self, chain: _Chain, value: Line) -> _Chain | None:
        """The chain whose boundary this summary belongs to: by parent or anchor, else its own, else the only one that waits."""
        waiting = [other for other in self._chains.values() if other.pending]
        for other in waiting:
            if other.pending and ({value.parentUuid, value.uuid} & other.pending.anchors):
                return other
        if chain.pending:
            return chain
        return waiting[0] if len(waiting) == 1 else None

    def _late(
        self, chain: _Chain, value: Line, at: PhysicalLine, state: SummaryState, text: str, out: list[Item]
    ) -> bool:
        """A summary whose round was already reported without one. The round's effect stands; the text is told."""
        last = chain.last_round
        if last is None or last.state != "missing" or not {value.parentUuid, value.uuid} & chain.last_anchors:
            return False
        out.append(self._told(chain, last, value, at, state, text, late=True))
        chain.last_round = msgspec.structs.replace(last, state=state)
        return True

    @staticmethod
    def _told(
        chain: _Chain, of: Round, value: Line, at: PhysicalLine, state: SummaryState, text: str, *, late: bool = False
    ) -> Summary:
        return Summary(
            session=chain.session,
            key=value.uuid or f"summary-{of.ordinal}",
            round=of.id,
            state=state,
            text=text,
            generation=chain.generation + 1,
            covers=of.summarised.keys,
            replaces=chain.last_summary,
            where=Where(at.number, at.start, at.data),
            time_ms=time_ms(value.timestamp),
            late=late,
        )

    def _close(
        self, chain: _Chain, out: list[Item], told: tuple[Line, PhysicalLine, SummaryState, str] | None = None
    ) -> None:
        """Report the waiting round, with its summary or without one, and then whatever was held behind it."""
        pending, chain.pending = chain.pending, None
        if pending is None:
            return
        done = pending.round
        if told:
            summary = self._told(chain, done, *told)
            out.append(summary)
            done = msgspec.structs.replace(done, state=summary.state, summary=summary.key, summary_line=told[1].number)
        chain.last_summary = done.summary if done.state == "text" else None
        chain.generation = chain.generation + 1 if done.state == "text" else 0
        chain.last_round, chain.last_anchors = done, pending.anchors
        chain.asks_tokens = done.id if done.tokens_after is None else None
        out.append(done)
        out.extend(pending.held)


def _is_record(value: Line) -> bool:
    return bool(value.type)


def _preserved(meta: CompactMetadata, chain: _Chain) -> frozenset[str]:
    """Entries that stay in the window verbatim: the list if there is one, else the walk from the segment's tail to its head."""
    if meta.preservedMessages is not None:
        return frozenset((meta.preservedMessages.uuids or []) + (meta.preservedMessages.allUuids or []))
    segment = meta.preservedSegment
    if segment is None or not segment.headUuid or not segment.tailUuid:
        return frozenset()
    walked: set[str] = set()
    at: str | None = segment.tailUuid
    while at is not None and at not in walked:
        walked.add(at)
        if at == segment.headUuid:
            return frozenset(walked)
        at = chain.parents.get(at, (None, 0))[0]
    head, tail = chain.parents.get(segment.headUuid), chain.parents.get(segment.tailUuid)
    if head is None or tail is None:
        return frozenset(uuid for uuid in (segment.headUuid, segment.tailUuid) if uuid in chain.parents)
    # The chain is broken in between: take the file's own order, from head to tail.
    return frozenset(uuid for uuid, (_, line) in chain.parents.items() if head[1] <= line <= tail[1])


def _unseen_from(logical_parent: str | None, chain: _Chain) -> int | None:
    """The line behind which the summariser saw nothing. A parent older than the last round says nothing about this one."""
    if logical_parent is None or logical_parent not in chain.parents:
        return None
    if chain.last_round is not None and chain.parents[logical_parent][1] <= (chain.last_round.boundary_line or 0):
        return None
    return chain.parents[logical_parent][1]


def _claims(sample: Sample) -> bool:
    for fields in sample.objects:
        kind = text_field(fields, "type")
        if kind is None or "payload" in fields:
            continue
        if "sessionId" in fields and ("uuid" in fields or kind in _METADATA):
            return True
        if kind == "summary" and "leafUuid" in fields:
            return True
        if kind == "file-history-snapshot" and "messageId" in fields:
            return True
        if kind in READ_TYPES and "uuid" in fields and "parentUuid" in fields:
            return True
    return False


_METADATA = frozenset(
    {
        "mode", "permission-mode", "last-prompt", "ai-title", "custom-title", "agent-name", "agent-color", "agent-setting", "tag",
        "queue-operation", "worktree-state", "pr-link", "file-history-delta", "attribution-snapshot", "content-replacement",
        "bridge-session", "cost-state", "continued-in",
    }
)  # fmt: skip

FORMAT = Format("claude-code", _claims, ClaudeCodeReader)
