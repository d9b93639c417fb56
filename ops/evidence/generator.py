"""A long session from a seed: its turns, and a Claude Code shaped transcript of any size, streamed to disk.

The same seed gives the same bytes on every machine. Turns are made one by one and never held together.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from ops.evidence.chance import seeded
from ops.evidence.world import NAMES, SMALL_TALK, SOURCE_LINES, Planted, Topic, topic
from schemas.records import Role

TURNS = 14_000
HOURS = 200
"""The size of the session that the first two sources describe: about 14,000 turns, replayed over 200 hours."""

TURNS_PER_TOPIC = 35
RESTATED = 0.15
"""Share of planted statements that are said a second time later on. More makes every compactor look better than it is."""

_START = datetime(2026, 12, 1, 8, tzinfo=UTC)
_encode = msgspec.json.Encoder().encode


class Turn(msgspec.Struct, frozen=True):
    """One message. `planted` are the statements made in it; `writes` names the side effect that it has, if any."""

    number: int
    minute: int
    role: Role
    text: str
    planted: tuple[Planted, ...] = ()
    writes: str = ""

    @property
    def tokens(self) -> int:
        """Its size in the window, by the usual four characters a token."""
        return 4 + len(self.text) // 4


def turns(seed: int, *, count: int = TURNS, hours: int = HOURS, bulk_bytes: int = 0) -> Iterator[Turn]:
    """The turns of one session, oldest first.

    `bulk_bytes` is the mean size of a tool's output beyond its first lines: 0 for a session that is quick to fold.
    """
    chance = seeded("turns", seed)
    waiting: list[Planted] = []
    subject = topic(seed, 0)
    for number in range(1, count + 1):
        if (number - 1) % TURNS_PER_TOPIC == 0:
            subject = topic(seed, (number - 1) // TURNS_PER_TOPIC)
            waiting = [*waiting[-40:], *subject.planted]
        minute = number * hours * 60 // count
        role: Role = "user" if number % 9 == 1 else "tool" if number % 2 else "assistant"
        said: tuple[Planted, ...] = ()
        if role != "tool" and waiting and (role == "user" or chance.random() < 0.4):
            said = (waiting.pop(chance.randrange(len(waiting))),)
            if chance.random() < RESTATED:
                waiting.insert(0, said[0])
        if role == "tool":
            text, writes = _tool_output(chance, subject, number, bulk_bytes), ""
        else:
            text = _speech(chance, subject, said)
            writes = (
                f"Edit src/{subject.area}/{subject.part}_{subject.number}.py" if role == "assistant" and not number % 6 else ""
            )
        yield Turn(number, minute, role, text, said, writes)


def _speech(chance: random.Random, subject: Topic, said: tuple[Planted, ...]) -> str:
    before, after = chance.choice(SMALL_TALK), chance.choice(SMALL_TALK)
    middle = " ".join(one.sentence for one in said) or f"The {subject.name} still behaves as before."
    return f"{before} {middle} {after}"


def _tool_output(chance: random.Random, subject: Topic, number: int, bulk_bytes: int) -> str:
    """A result line, then a piece of a source file with line numbers: most bytes of a real session are such pieces."""
    lines = [f"{chance.randrange(10_000)} rows checked in {subject.area}, step {number}: ok"]
    room, at = chance.randrange(2 * bulk_bytes + 1), chance.randrange(900)
    while room > 0:
        at += 1
        lines.append(f"{at:6}\u2192{chance.choice(SOURCE_LINES).format(a=chance.choice(NAMES), b=chance.choice(NAMES), n=at)}")
        room -= len(lines[-1])
    return "\n".join(lines)


Summarise = Callable[[Sequence[Turn], str], str]
"""Makes a summary of the turns since the last one and of that one's text."""


def plain_summary(since: Sequence[Turn], last: str) -> str:
    """Every second planted statement, word for word, and a line about the rest."""
    kept = [one.sentence for turn in since for one in turn.planted][::2]
    head = "This session is being continued from a previous conversation that ran out of context."
    return "\n".join([head, f"Carried over: {len(last)} characters.", *(f"- {sentence}" for sentence in kept[-200:])])


class TranscriptShape(msgspec.Struct, frozen=True, kw_only=True):
    """How large the transcript becomes: it ends at `lines` lines or `size_bytes` bytes, whichever comes first."""

    lines: int = 1 << 60
    size_bytes: int = 1 << 60
    rounds: int = 8
    bulk_bytes: int = 1800
    session: str = "generated-session"


def write_transcript(path: Path, seed: int, shape: TranscriptShape, summarise: Summarise = plain_summary) -> tuple[int, int]:
    """Stream a transcript to `path` and return how many lines and bytes it has. At least one of the limits has to be set.

    Memory is that of the turns since the last round.
    """
    written = lines = 0
    with path.open("wb") as file:
        for line in transcript_lines(seed, shape, summarise):
            file.write(line)
            written, lines = written + len(line), lines + 1
            if lines >= shape.lines or written >= shape.size_bytes:
                break
    return lines, written


def transcript_lines(seed: int, shape: TranscriptShape, summarise: Summarise = plain_summary) -> Iterator[bytes]:
    """Lines of an endless session, each with its line break; rounds stand where the limits of `shape` are divided evenly."""
    writer = _Writer(seed, shape.session)
    since: list[Turn] = []
    summary, written, lines, done = "", 0, 0, 0
    for turn in turns(seed, count=1 << 40, hours=1 << 36, bulk_bytes=shape.bulk_bytes):
        fresh = writer.turn(turn)
        since.append(turn)
        if max((lines + 1) * (shape.rounds + 1) // shape.lines, written * (shape.rounds + 1) // shape.size_bytes) > done:
            summary, done = summarise(since, summary), done + 1
            fresh += writer.boundary(turn, summary, sum(one.tokens for one in since))
            since = []
        for line in fresh:
            written, lines = written + len(line), lines + 1
            yield line


class _Writer:
    """Entries in the shape that Claude Code writes, linked as it links them."""

    def __init__(self, seed: int, session: str) -> None:
        self._seed, self._session = seed, session
        self._entries = 0
        self._parent: str | None = None

    def turn(self, turn: Turn) -> list[bytes]:
        """The entries of one turn: speech, then a tool's call if the turn has a side effect."""
        if turn.role == "user":
            return [self._entry(turn, "user", {"role": "user", "content": turn.text})]
        if turn.role == "tool":
            block = {"tool_use_id": f"toolu_{turn.number - 1}", "type": "tool_result", "content": turn.text}
            return [
                self._entry(
                    turn,
                    "user",
                    {"role": "user", "content": [block]},
                    toolUseResult={"stdout": turn.text, "file": {"content": turn.text}},
                )
            ]
        call = {
            "type": "tool_use",
            "id": f"toolu_{turn.number}",
            "name": "Bash",
            "input": {"command": f"make step-{turn.number}"},
        }
        if turn.writes:
            name, _, target = turn.writes.partition(" ")
            call = {"type": "tool_use", "id": f"toolu_{turn.number}", "name": name, "input": {"file_path": target}}
        speech = {"type": "text", "text": turn.text}
        return [self._entry(turn, "assistant", self._answer(turn, block)) for block in (speech, call)]

    def _answer(self, turn: Turn, block: dict[str, Any]) -> dict[str, Any]:
        usage = {"input_tokens": 3, "cache_read_input_tokens": 40_000, "output_tokens": turn.tokens}
        return {
            "model": "model-1",
            "id": f"msg_{turn.number}",
            "type": "message",
            "role": "assistant",
            "content": [block],
            "usage": usage,
        }

    def boundary(self, turn: Turn, summary: str, tokens: int) -> list[bytes]:
        """A compaction: the boundary, and the summary next to it."""
        metadata = {"trigger": "auto", "preTokens": tokens}
        logical, self._parent = self._parent, None
        marker = self._entry(
            turn, "system", None, subtype="compact_boundary", content="Conversation compacted", level="info",
            isMeta=False, logicalParentUuid=logical, compactMetadata=metadata,
        )  # fmt: skip
        message = {"role": "user", "content": summary}
        return [marker, self._entry(turn, "user", message, isVisibleInTranscriptOnly=True, isCompactSummary=True)]

    def _entry(self, turn: Turn, kind: str, message: dict[str, Any] | None, **fields: Any) -> bytes:
        self._entries += 1
        own = str(uuid.UUID(int=seeded(self._seed, self._entries).getrandbits(128), version=4))
        stamp = _START + timedelta(minutes=turn.minute, milliseconds=turn.number)
        entry: dict[str, Any] = {
            "parentUuid": self._parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/usera/project",
            "sessionId": self._session,
            "version": "2.1.42",
            "gitBranch": "main",
            "type": kind,
            **({"message": message} if message is not None else {}),
            **fields,
            "uuid": own,
            "timestamp": stamp.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        self._parent = own
        return _encode(entry) + b"\n"
