"""Small transcripts of every format to begin fuzzing from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ledger.transcripts.formats import Reader
from ledger.transcripts.reading import FORMATS
from tests.fuzz.mutations import bombs, encoded
from tests.unit.transcripts import test_copilot, test_documents, test_pi
from tests.unit.transcripts.builders import (
    assistant,
    attachment,
    boundary,
    codex,
    codex_kept,
    codex_message,
    codex_tokens,
    summary,
    tool_result,
    tool_use,
    user,
)

SAMPLES = Path(__file__).resolve().parents[2] / "ops" / "samples"


class Seed(NamedTuple):
    """A transcript: its entries as JSON values, and how they become a file."""

    name: str
    format: str
    entries: list[Any]
    lay_out: Callable[[list[Any]], bytes]

    def reader(self) -> Reader:
        """A reader of this format."""
        return next(one for one in FORMATS if one.name == self.format).reader()

    @property
    def by_line(self) -> bool:
        """One entry a line?"""
        return self.lay_out is lines


def lines(entries: list[Any]) -> bytes:
    """One entry a line."""
    return b"".join(encoded(one) + b"\n" for one in entries)


def under(key: str, indent: int | None) -> Callable[[list[Any]], bytes]:
    """One document."""
    return lambda entries: bombs(json.dumps({"info": {"id": "s"}, key: entries}, indent=indent).encode())


def sample(path: Path) -> list[Any]:
    """The first entries of a bundled transcript."""
    return [json.loads(line) for line in path.read_bytes().splitlines()[:40]]


CLAUDE: list[Any] = [
    user("u1", "Ship only after QA has signed the batch.", timestamp="2026-10-05T08:00:01.000Z", version="2.1.9"),
    assistant("a1", "Understood: by 12 October.", "u1", message={"id": "r1", "model": "m", "usage": {"input_tokens": 9}}),
    tool_use("a2", "Bash", {"command": "echo '{\"x\": [1]}'"}, parent="a1"),
    tool_result("u2", 'done {"type":"user"}\nthe next line', parent="a2"),
    attachment("t1", type="file", content={"type": "text", "file": {"content": "re-attached notes of the file"}}),
    attachment("t2", type="queued_command", prompt="Also keep the port 8443.", commandMode="prompt"),
    {"type": "progress", "uuid": "p1", "sessionId": "S", "data": {"type": "agent_progress", "agentId": "ag", "message": {
        "type": "assistant", "uuid": "g1", "message": {"content": [{"type": "text", "text": "The sub-agent has looked."}]}}}},
    boundary("b1", "u2", {"trigger": "auto", "preTokens": 150000, "preservedMessages": {"anchorUuid": "s1", "uuids": ["u2"]}}),
    summary("s1", "Ship after QA; the port stays.", "b1"),
    user("u3", "Except for glass, of course.", "s1"),
    assistant("a3", "Glass goes apart then.", "u3", isSidechain=True, agentId="ag2"),
    {"type": "summary", "summary": "Batches", "leafUuid": "u3"},
    boundary("b2", "u3", None),
    summary("s2", [{"type": "text", "text": "Glass apart, QA first."}], "b2"),
    user("u4", "<command-name>/clear</command-name>", "s2", isMeta=True),
]  # fmt: skip
CODEX: list[Any] = [
    codex("session_meta", id="cx", cli_version="0.144.2", source={"subagent": {"thread_spawn": {"parent_thread_id": "cp"}}}),
    codex("turn_context", model="m"),
    codex_message("user", "Sort the claims by their port."),
    codex("response_item", type="reasoning", summary=[], encrypted_content="x"),
    codex("response_item", type="function_call", name="exec", arguments='{"cmd":"ls -l"}', call_id="c1"),
    codex("response_item", type="function_call_output", call_id="c1", output="claims.csv and ports.csv"),
    codex("response_item", type="custom_tool_call", name="patch", input="*** Begin", call_id="c2"),
    codex_message("assistant", "They are sorted by port now."),
    codex_tokens(1000),
    codex("compacted", message="Claims sorted.", replacement_history=[codex_kept("user", "Sort the claims by their port.")]),
    codex_tokens(300),
    codex("event_msg", type="context_compacted"),
    codex_message("assistant", "Half of the claims are left."),
    codex("compacted", message="", replacement_history=[{"type": "compaction", "encrypted_content": "x"}], window_id="w2"),
    codex_message("user", "Then finish the other half."),
]
PI: list[Any] = [
    test_pi.HEADER,
    test_pi.said("user", "Sort the tides by the hour.", 1),
    test_pi.said("assistant", "By the hour of which port?", 2, 1, usage={"input": 5, "cacheRead": 70, "cacheWrite": 0}),
    test_pi.entry("message", 3, 2, message={"role": "bashExecution", "command": "ls", "output": "tides.csv and ports.csv"}),
    test_pi.compaction(4, 3, firstKeptEntryId="e2"),
    test_pi.said("user", "Of the northern port, please.", 5, 4),
    test_pi.entry("branch_summary", 6, 2, fromId="e5", summary="The north was tried."),
    test_pi.said("user", "Of the southern port then.", 7, 6),
    test_pi.compaction(8, 7, firstKeptEntryId="e7"),
]
PI_FLAT: list[Any] = [
    {key: value for key, value in one.items() if key not in ("id", "parentId") or one["type"] == "session"} for one in PI
]
COPILOT: list[Any] = [
    test_copilot.START,
    test_copilot.user(1, "Read the whole tide table."),
    test_copilot.assistant(
        2, "I am looking at it.", toolRequests=[{"toolCallId": "t", "name": "view", "arguments": {"path": "x"}}]
    ),
    test_copilot.event("tool.execution_start", 3, toolCallId="t", toolName="view", arguments={"path": "x"}),
    test_copilot.event(
        "tool.execution_complete", 4, toolCallId="t", success=True, result={"content": "Low water is at 04:12."}
    ),
    test_copilot.event("session.compaction_start", 5),
    test_copilot.user(6, "And when is high water?"),
    test_copilot.complete(7, "Low water 04:12.", preCompactionTokens=9000, tokensRemoved=-5),
    test_copilot.assistant(8, "High water is at 10:31."),
]
OPENHANDS: list[Any] = [
    *test_documents.TALK,
    test_documents.condensation(7, start=4, end=5),
    test_documents.said(8, "user", "By the hour, and by port."),
    test_documents.condensation(9, ids=[2, 8]),
    test_documents.said(10, "agent", "They are sorted by both."),
]

SEEDS: tuple[Seed, ...] = (
    Seed("claude-code", "claude-code", CLAUDE, lines),
    Seed("codex", "codex", CODEX, lines),
    Seed("pi", "pi", PI, lines),
    Seed("pi-flat", "pi", PI_FLAT, lines),
    Seed("copilot-cli", "copilot-cli", COPILOT, lines),
    Seed("openhands", "openhands", OPENHANDS, under("trajectory", 1)),
    Seed("openhands-lines", "openhands", OPENHANDS, lines),
    Seed("opencode", "opencode", test_documents.EXPORT, under("messages", None)),
    Seed("opencode-lines", "opencode", test_documents.EXPORT, lines),
    *(
        Seed(path.stem, path.stem.split("-tide")[0].split("-retry")[0], sample(path), lines)
        for path in sorted(SAMPLES.glob("*.jsonl"))
    ),
)  # fmt: skip
