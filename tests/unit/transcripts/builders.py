"""Lines of transcripts, as short as a test can bear, and what a reader makes of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ledger.transcripts.claude_code import ClaudeCodeReader
from ledger.transcripts.codex import CodexReader
from ledger.transcripts.copilot import CopilotReader
from ledger.transcripts.formats import Reader
from ledger.transcripts.lines import LINE_BYTES_MAX, LineSplitter
from ledger.transcripts.model import Item, Message, Round, Summary
from ledger.transcripts.opencode import OpenCodeReader
from ledger.transcripts.openhands import OpenHandsReader
from ledger.transcripts.pi import PiReader
from ledger.transcripts.reading import format_of
from ledger.transcripts.report import InspectReport, report_of

SHARED = Path(__file__).resolve().parents[4] / "shared"
"""Real transcripts and field cases lie beside a checkout on some machines and are no part of the project."""

T0 = "2026-10-05T08:00:00.000Z"


def user(uuid: str | None, content: Any, parent: str | None = None, **more: Any) -> dict[str, Any]:
    return _entry("user", uuid, parent, {"message": {"role": "user", "content": content}, **more})


def assistant(uuid: str | None, content: Any, parent: str | None = None, **more: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    message = {"role": "assistant", "content": blocks, **more.pop("message", {})}
    return _entry("assistant", uuid, parent, {"message": message, **more})


def tool_use(uuid: str, name: str, arguments: Any, **more: Any) -> dict[str, Any]:
    return assistant(uuid, [{"type": "tool_use", "id": f"t-{uuid}", "name": name, "input": arguments}], **more)


def tool_result(uuid: str, content: Any, **more: Any) -> dict[str, Any]:
    return user(uuid, [{"type": "tool_result", "tool_use_id": "t", "content": content}], **more)


def attachment(uuid: str, **fields: Any) -> dict[str, Any]:
    return _entry("attachment", uuid, None, {"attachment": fields})


def boundary(uuid: str | None, logical: str | None = None, meta: Any = "plain", **more: Any) -> dict[str, Any]:
    fields = {"subtype": "compact_boundary", "content": "Conversation compacted", "logicalParentUuid": logical, **more}
    if meta is not None:
        fields["compactMetadata"] = {"trigger": "auto", "preTokens": 150000} if meta == "plain" else meta
    return _entry("system", uuid, None, fields)


def summary(uuid: str, text: Any, parent: str | None = None, **more: Any) -> dict[str, Any]:
    return user(uuid, text, parent, isCompactSummary=True, isVisibleInTranscriptOnly=True, **more)


def _entry(kind: str, uuid: str | None, parent: str | None, more: dict[str, Any]) -> dict[str, Any]:
    base: dict[str, Any] = {"type": kind, "parentUuid": parent, "isSidechain": False, "sessionId": "S", "timestamp": T0}
    if uuid is not None:
        base["uuid"] = uuid
    return {**base, **more}


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": T0, "type": kind, "payload": payload}


def codex_message(role: str, text: str, **more: Any) -> dict[str, Any]:
    block = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return codex("response_item", **_message_payload(role, [block]), **more)


def codex_kept(role: str, text: str) -> dict[str, Any]:
    return _message_payload(role, [{"type": "input_text", "text": text}])


def codex_tokens(total: int) -> dict[str, Any]:
    return codex("event_msg", type="token_count", info={"last_token_usage": {"total_tokens": total}})


def _message_payload(role: str, blocks: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": blocks}


def as_bytes(lines: Iterable[Any], end: bytes = b"\n") -> bytes:
    """Objects become compact JSON lines; bytes and text stand as they are."""
    whole: list[bytes] = []
    for line in lines:
        if isinstance(line, bytes):
            whole.append(line)
        elif isinstance(line, str):
            whole.append(line.encode("utf-8", "surrogatepass"))
        else:
            whole.append(json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
    return b"".join(line + end for line in whole)


def items_of(
    data: bytes,
    *,
    chunk: int = 1 << 20,
    line_bytes_max: int = LINE_BYTES_MAX,
    codex_format: bool = False,
    reader: Reader | None = None,
) -> list[Item]:
    """What the reader says of a whole file that holds `data`."""
    reader = reader or (CodexReader() if codex_format else ClaudeCodeReader())
    splitter = LineSplitter(line_bytes_max)
    items: list[Item] = []
    for at in range(0, len(data), chunk):
        for line in splitter.feed(data[at : at + chunk]):
            items += reader.feed(line)
    last = splitter.finish()
    if last is not None:
        items += reader.feed(last)
    return [*items, *reader.finish()]


def read_pi(*lines: Any) -> list[Item]:
    return items_of(as_bytes(lines), reader=PiReader())


def read_copilot(*lines: Any) -> list[Item]:
    return items_of(as_bytes(lines), reader=CopilotReader())


def read_openhands(data: bytes) -> list[Item]:
    return items_of(data, reader=OpenHandsReader())


def read_opencode(data: bytes) -> list[Item]:
    return items_of(data, reader=OpenCodeReader())


def read(*lines: Any, **options: Any) -> list[Item]:
    return items_of(as_bytes(lines), **options)


def read_codex(*lines: Any) -> list[Item]:
    return items_of(as_bytes([codex("session_meta", id="cx"), *lines]), codex_format=True)


def report(items: Iterable[Item], name: str = "claude-code") -> InspectReport:
    return report_of("t.jsonl", name, items)


def messages(items: Iterable[Item]) -> list[Message]:
    return [item for item in items if isinstance(item, Message)]


def spoken(items: Iterable[Item]) -> list[tuple[str, str]]:
    return [(item.role, item.text) for item in messages(items)]


def rounds(items: Iterable[Item]) -> list[Round]:
    return [item for item in items if isinstance(item, Round)]


def summaries(items: Iterable[Item]) -> list[Summary]:
    return [item for item in items if isinstance(item, Summary)]


def detected(data: bytes) -> str | None:
    known = format_of(data)
    return known.name if known else None
