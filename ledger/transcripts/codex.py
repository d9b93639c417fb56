"""Codex rollout JSONL, 0.118 and later, and older lines without a replacement history.

Every line is `{"timestamp", "type", "payload"}`. The conversation is in `response_item` lines; `event_msg` lines repeat it for
display and are read for token counts only, so nothing is counted twice. A compaction is a `compacted` line; the
`context_compacted` event belongs to it, before or behind, and stands for a round of its own only where no such line is there.

What is recorded: messages of user and assistant; developer messages and text that the runtime put into the user's role as role
`system`; tool calls and their outputs as role `tool`. Reasoning is not recorded: it is encrypted. What a replacement history
holds beside copies of earlier lines (permissions, environment) is not recorded either: it is context, no line of the
conversation.

A rollout is one session, that of its first `session_meta` line. A fork replays its parent's lines, and they are the child's:
they were put into its window. A sub-agent is in the scope of its parent thread. Entries have an id in newer versions only;
elsewhere a message is named by its ordinal among the session's messages, and a call or output by its call id.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from ledger.transcripts.codex_shapes import (
    HistoryItem,
    Info,
    Line,
    Payload,
    call_of,
    is_hollow,
    message_text,
    output_text,
    pieces_of,
    spawn_of,
    summary_in,
)
from ledger.transcripts.decoding import DECODE_FAULTS
from ledger.transcripts.formats import Fields, Format, text_field
from ledger.transcripts.jsonl import JsonlReader
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
    time_ms,
    tokens_of,
)
from ledger.transcripts.texts import Body, Call, fingerprint, summary_state, text_of
from ledger.transcripts.window import Live, LiveWindow
from schemas.records import Role

KEPT_BYTES_WITHOUT_HISTORY = 80_000
"""Without a replacement history the newest user messages stay, up to 20,000 tokens, which the tool itself counts as four bytes
each."""

READ_TYPES = frozenset({"session_meta", "response_item", "event_msg", "compacted"})
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
_SUMMARIES = frozenset({"compaction", "compaction_summary"})
_SILENT = frozenset({"reasoning", "ghost_snapshot", "image_generation_call", "other"})
"""Items that put no readable words into the window."""

_info = msgspec.json.Decoder(Info)


class _Meta(msgspec.Struct):
    """What one `session_meta` line says of one thread."""

    id: str
    parent_thread: str | None
    forked_from: str | None
    version: str
    agent: str
    time_ms: int | None


class CodexReader(JsonlReader[Line]):
    """Reads one rollout."""

    def __init__(self) -> None:
        super().__init__(Line, lambda kind, _: kind in READ_TYPES, lambda value: bool(value.type) and value.payload is not None)
        self._metas: dict[str, _Meta] = {}
        self._first: _Meta | None = None
        self._session = ""
        self._window = LiveWindow()
        self._live = self._window.entries
        self._seen: dict[str, int] = {}
        self._window_ids: set[str] = set()
        self._turn = 0
        self._messages = 0
        self._sealed = False
        self._rounds_seen: set[str] = set()
        self._rounds = 0
        self._tokens: int | None = None
        self._model = ""
        self._pending: tuple[Summary, Round] | None = None
        self._event_expected = False
        self._event: tuple[PhysicalLine, str | None, int] | None = None
        self._last_summary: str | None = None
        self._generation = 0
        self._items = {
            "message": self._message,
            "agent_message": self._agent_message,
            **dict.fromkeys(_CALLS, self._call),
            **dict.fromkeys(_OUTPUTS, self._output),
        }

    def _end(self, out: list[Item]) -> None:
        """A round with which the file ends, whose token count, event or line may be yet to come; an event alone."""
        self._settle(out, waiting=True)
        if self._event is not None:
            self._event_alone(*self._event, out)

    def _entry(self, value: Line, at: PhysicalLine, out: list[Item]) -> None:
        kind, payload = value.type, value.payload
        if payload is None:
            if kind in READ_TYPES or not self._is_foreign(at):
                self._lines.report(at, "unexpected_shape")
        elif kind == "response_item":
            take = self._items.get(payload.type or "")
            if take is not None:
                take(value, payload, at, out)
            elif payload.type in _SUMMARIES:
                self._sealed = bool(payload.encrypted_content)
            elif payload.type not in _SILENT and payload.has_words():
                self._lines.report(at, "unknown_type")
        elif kind == "event_msg":
            if payload.type == "token_count":
                self._token_count(payload)
            elif payload.type == "context_compacted":
                self._compacted_event(value, at, out)
        elif kind == "compacted":
            self._compacted(value, payload, at, out)
        elif kind == "session_meta":
            self._session_meta(value, payload)
        elif kind == "turn_context":
            self._model = payload.model or self._model
        elif payload.has_words() and not self._is_foreign(at):
            self._lines.report(at, "unknown_type")

    # --- sessions ------------------------------------------------------------------------------------------------------------

    def _session_meta(self, value: Line, payload: Payload) -> None:
        if not isinstance(payload.id, str):
            return
        spawn = spawn_of(payload.source)
        meta = _Meta(
            payload.id,
            (spawn and spawn.parent_thread_id) or (payload.parent_thread_id if spawn else None),
            payload.forked_from_id,
            payload.cli_version or "",
            payload.agent_nickname or (spawn and (spawn.agent_nickname or spawn.agent_role)) or "",
            time_ms(value.timestamp),
        )
        self._metas.setdefault(meta.id, meta)
        if self._first is None:
            self._first = meta

    def _open(self, stamp: str | None, at: PhysicalLine, out: list[Item]) -> str:
        """The session of this file, opened with its first entry, when the header lines have all been seen."""
        first = self._first
        if first is None:
            first = _Meta(f"unnamed-{at.sha256[:24]}", None, None, "", "", time_ms(stamp))
        scope, seen = first, {first.id}
        while scope.parent_thread is not None and scope.parent_thread not in seen:
            seen.add(scope.parent_thread)
            parent = self._metas.get(scope.parent_thread)
            scope = parent or _Meta(scope.parent_thread, None, None, "", "", None)
        self._session = first.id
        out.append(
            Opened(
                session=first.id,
                scope=scope.id,
                runtime="codex",
                version=first.version,
                agent=first.agent,
                parent=first.parent_thread or first.forked_from,
                time_ms=first.time_ms,
            )
        )
        return self._session

    # --- entries -------------------------------------------------------------------------------------------------------------

    def _message(self, value: Line, payload: Payload, at: PhysicalLine, out: list[Item]) -> None:
        self._messages += 1
        pieces = pieces_of(payload.role or "", payload.content)
        if not pieces:
            if is_hollow(payload.content):
                self._lines.report(at, "unexpected_shape")
            return
        named = isinstance(payload.id, str) and payload.id != ""
        native = str(payload.id) if named else str(self._messages)
        role, body, calls = pieces[0]
        entry = self._record(native, role, body, calls, fingerprint(pieces), value.timestamp, at, out, named=named)
        if entry is None:
            return
        for role, body, calls in pieces[1:]:
            key = f"{native}.{len(entry.others) + 1}"
            out.append(Message(self._session, key, role, body, at, self._turn, False, value.timestamp, "", calls))
            entry.others += (key,)
        if pieces[0][0] == "user":
            entry.user_bytes = sum(len(body.encode("utf-8", "replace")) for _, body, _ in pieces if isinstance(body, str))

    def _agent_message(self, value: Line, payload: Payload, at: PhysicalLine, out: list[Item]) -> None:
        text = text_of(payload.content)
        if text and not text.isspace():
            native = payload.id if isinstance(payload.id, str) else ""
            self._record(native, "system", text, (), hash(("system", text)), value.timestamp, at, out, named=native != "")

    def _call(self, value: Line, payload: Payload, at: PhysicalLine, out: list[Item]) -> None:
        call = call_of(payload)
        if not call.is_utf8():
            self._lines.report(at, "invalid_utf8")
        native = (payload.id if isinstance(payload.id, str) else None) or payload.call_id or ""
        self._record(native, "tool", call, (call,), call.fingerprint(), value.timestamp, at, out, named=native != "")

    def _output(self, value: Line, payload: Payload, at: PhysicalLine, out: list[Item]) -> None:
        text = output_text(payload.output)
        if text and not text.isspace():
            native = payload.id if isinstance(payload.id, str) else ""
            if not native and payload.call_id:
                native = payload.call_id + ":output"
            self._record(native, "tool", text, (), hash(text), value.timestamp, at, out, named=native != "")
        elif payload.output is msgspec.UNSET and payload.type != "tool_search_output":
            self._lines.report(at, "unexpected_shape")

    def _record(
        self,
        native: str,
        role: Role,
        body: Body,
        calls: tuple[Call, ...],
        digest: int,
        stamp: str | None,
        at: PhysicalLine,
        out: list[Item],
        *,
        named: bool,
    ) -> Live | None:
        """Add the first piece of an entry, unless the entry's own id was seen before. One without an id gets its ordinal."""
        if self._pending is not None:
            self._settle(out)
        session = self._session or self._open(stamp, at, out)
        counts = role in INSPECTED_ROLES
        if named:
            known = self._seen.get(native)
            if known is not None:
                if known == digest:
                    out.append(Duplicate(session=session, key=native, line=at.number, counted=counts))
                else:
                    out.append(Conflict(session=session, key=native, line=at.number, sha256=at.sha256))
                return None
            self._seen[native] = digest
        self._turn = turn = self._turn + 1
        native = native or f"entry-{turn}"
        model = self._model if role == "assistant" else ""
        out.append(Message(session, native, role, body, at, turn, counts, stamp, model, calls))
        entry = Live(native, at.number, counts, True, digest)
        self._live.append(entry)
        return entry

    # --- rounds --------------------------------------------------------------------------------------------------------------

    def _token_count(self, payload: Payload) -> None:
        try:
            usage = _info.decode(payload.info).last_token_usage if bytes(payload.info) not in {b"", b"null"} else None
        except DECODE_FAULTS:
            return
        tokens = tokens_of(usage.total_tokens) if usage is not None else None
        if not tokens:
            return
        self._tokens = tokens
        if self._pending is not None:
            summary, done = self._pending
            self._pending = summary, msgspec.structs.replace(done, tokens_after=tokens)

    def _compacted_event(self, value: Line, at: PhysicalLine, out: list[Item]) -> None:
        if self._event_expected:
            self._event_expected = False
            if self._pending is not None:
                summary, done = self._pending
                self._pending = summary, msgspec.structs.replace(done, summary_line=at.number)
                self._settle(out)
        elif self._event is None:
            self._event = (at, value.timestamp, len(self._live))

    def _compacted(self, value: Line, payload: Payload, at: PhysicalLine, out: list[Item]) -> None:
        if at.sha256 in self._rounds_seen:
            return
        self._rounds_seen.add(at.sha256)
        self._sealed = False
        self._settle(out)
        self._event_expected, self._event = self._event is None, None
        session = self._session or self._open(value.timestamp, at, out)
        history = payload.replacement_history
        kept = self._kept(history)
        shares = self._window.cut(lambda entry: entry.native in kept, lambda _: False)
        opaque = any(item.encrypted_content for item in history or ())
        told = message_text(payload.message)
        if told is None:
            self._lines.report(at, "unexpected_shape")
        text = told or summary_in(history)
        state = summary_state(text, opaque=opaque)
        self._rounds += 1
        round_id = self._round_id(payload.window_id)
        moment = time_ms(value.timestamp)
        summary = Summary(
            session=session,
            key=f"summary-{round_id}",
            round=round_id,
            state=state,
            text=text,
            generation=self._generation + 1,
            covers=shares[0].keys,
            replaces=self._last_summary,
            where=at,
            time_ms=moment,
        )
        self._last_summary = summary.key if state == "text" else None
        self._generation = self._generation + 1 if state == "text" else 0
        done = Round(
            session=session,
            id=round_id,
            ordinal=self._rounds,
            turn=self._turn,
            trigger=None,
            boundary_line=at.number,
            summary=summary.key,
            summary_line=None,
            state=state,
            summarised=shares[0],
            kept=shares[1],
            unseen=shares[2],
            tokens_before=self._tokens,
            time_ms=moment,
            where=at,
        )
        self._pending = summary, done
        self._tokens = None

    def _round_id(self, window_id: str | int | None) -> str:
        """The new window's own id, where it is one; else the round's ordinal."""
        if isinstance(window_id, str) and window_id and window_id not in self._window_ids:
            self._window_ids.add(window_id)
            return window_id
        return f"round-{self._rounds}"

    def _kept(self, history: list[HistoryItem] | None) -> set[str]:
        """Entries that stay verbatim: those whose text the replacement history repeats, the newest first where texts repeat."""
        kept: set[str] = set()
        if history is None:
            left = KEPT_BYTES_WITHOUT_HISTORY
            for entry in reversed(self._window.entries):
                if entry.user_bytes:
                    left -= entry.user_bytes
                    if left < 0:
                        break
                    kept.add(entry.native)
            return kept
        wanted: Counter[int] = Counter()
        for item in history:
            if item.role:
                pieces = pieces_of(item.role, item.content)
                if pieces:
                    wanted[fingerprint(pieces)] += 1
        for entry in reversed(self._window.entries):
            if wanted[entry.digest] > 0:
                wanted[entry.digest] -= 1
                kept.add(entry.native)
        return kept

    def _settle(self, out: list[Item], *, waiting: bool = False) -> None:
        """Report the round that waited for its token count and its event."""
        if self._pending is not None:
            summary, done = self._pending
            self._pending = None
            if waiting:
                summary, done = msgspec.structs.replace(summary, waiting=True), msgspec.structs.replace(done, waiting=True)
            out += (summary, done)

    def _event_alone(self, at: PhysicalLine, stamp: str | None, before: int, out: list[Item]) -> None:
        """A compaction of which only the event is left: a round without a summary. What came later stays in the window."""
        session = self._session or self._open(stamp, at, out)
        late = {entry.native for entry in self._live[before:]}
        shares = self._window.cut(lambda entry: entry.native in late, lambda _: False)
        self._rounds += 1
        out.append(
            Round(
                session=session,
                id=f"round-{self._rounds}",
                ordinal=self._rounds,
                turn=self._turn,
                trigger=None,
                boundary_line=at.number,
                summary=None,
                summary_line=None,
                state="opaque" if self._sealed else "missing",
                summarised=shares[0],
                kept=shares[1],
                unseen=Share(),
                tokens_before=self._tokens,
                time_ms=time_ms(stamp),
                where=at,
                waiting=not late,
            )
        )


def _claims(fields: Fields) -> bool:
    return "payload" in fields and text_field(fields, "type") in READ_TYPES | {"turn_context", "world_state"}


FORMAT = Format(name="codex", reader=CodexReader, claims_line=_claims)
