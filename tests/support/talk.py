"""A session of Claude Code in a few words: what was said and done before a compaction, its summary, and what came after."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Turn = tuple[str, Any]
"""`("user", text)`, `("agent", text)`, `("call", (tool, input))`, `("answer", text)` or `("summary", text)`, which compacts."""


def user(text: str) -> Turn:
    """Words of the user."""
    return "user", text


def agent(text: str) -> Turn:
    """Words of the agent."""
    return "agent", text


def ran(command: str, answer: str = "done") -> tuple[Turn, Turn]:
    """A command and what it printed."""
    return ("call", ("Bash", {"command": command})), ("answer", answer)


def wrote(path: str, text: str = "x = 1\n") -> tuple[Turn, Turn]:
    """A file written."""
    return ("call", ("Write", {"file_path": path, "content": text})), ("answer", f"The file {path} has been updated.")


def stopped(command: str, said: str = "") -> tuple[Turn, Turn]:
    """A command that the user did not let run, and what the user said instead."""
    refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    refusal += f" To tell you how to proceed, the user said:\n{said}" if said else ""
    return ("call", ("Bash", {"command": command})), ("answer", refusal)


def summary(text: str) -> Turn:
    """A compaction with this summary."""
    return "summary", text


def transcript(path: Path, turns: Iterable[Turn | Sequence[Turn]], session: str = "talk") -> Path:
    """Write the session to `path`."""
    flat = [turn for one in turns for turn in ([one] if isinstance(one[0], str) else one)]
    lines, parent = [], None
    for number, (kind, what) in enumerate(flat, 1):
        for line in _lines(kind, what, number):  # type: ignore[arg-type]
            common = {"parentUuid": parent, "uuid": f"u{number}-{len(lines)}", "sessionId": session, "version": "2.1.0"}
            lines.append(
                {**common, "isSidechain": False, "timestamp": f"2026-11-03T08:{number // 60:02}:{number % 60:02}.000Z", **line}
            )
            parent = lines[-1]["uuid"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def _lines(kind: str, what: Any, number: int) -> list[dict[str, Any]]:
    if kind == "user":
        return [{"type": "user", "message": {"role": "user", "content": what}}]
    if kind == "agent":
        return [_agent({"type": "text", "text": what}, number)]
    if kind == "call":
        return [_agent({"type": "tool_use", "id": f"t{number}", "name": what[0], "input": what[1]}, number)]
    if kind == "answer":
        result = {"type": "tool_result", "tool_use_id": f"t{number - 1}", "content": what}
        return [{"type": "user", "message": {"role": "user", "content": [result]}}]
    boundary = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "parentUuid": None}
    return [
        {**boundary, "compactMetadata": {"trigger": "auto", "preTokens": 100000}},
        {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": what}},
    ]


def _agent(block: dict[str, Any], number: int) -> dict[str, Any]:
    return {"type": "assistant", "message": {"id": f"m{number}", "model": "claude", "role": "assistant", "content": [block]}}
