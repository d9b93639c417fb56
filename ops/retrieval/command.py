"""A command of the user's as retrieval path: one JSON line in, one JSON line out, with a deadline.

The command is started for each question, without a shell, with one line on its standard input:

    {"op": "fetch", "key": "s1"}            or  {"op": "search", "text": "rate limit", "k": 5}

and answers one line on its standard output:

    {"status": "ok", "carrier": "s1", "raw": true, "generation": 0, "turns": [4, 4], "text": "…"}
    {"hits": [{"carrier": "s1", "raw": true, "score": "0.81", "text": "…"}]}

A command that exits non-zero, is late, or answers anything else is answered *error* with the reason (V1, V4).
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from ledger.errors import UsageError
from ledger.retrieval import DEADLINE_S, Fetched, FetchStatus, Hit

ANSWER_BYTES_MAX = 4 << 20
"""Longest answer that is read; a store that returns more is answered as an error."""


class _Answer(msgspec.Struct):
    status: FetchStatus
    carrier: str = ""
    raw: bool | None = None
    generation: int | None = None
    turns: tuple[int, int] | None = None
    text: str = ""
    detail: str = ""


class _Hits(msgspec.Struct):
    hits: list[Hit]


class CommandStore:
    """Promises V1 to V5 over a command line given by the user, never by a transcript."""

    def __init__(self, command: str, *, deadline_s: float = DEADLINE_S) -> None:
        """Raises `UsageError` if the command line cannot be split into words, is empty, or names no program that can be run."""
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise UsageError(f"{command!r} is no command line: {error}") from None
        if not self._words:
            raise UsageError("an empty command line cannot be asked")
        if shutil.which(self._words[0]) is None:
            raise UsageError(f"{self._words[0]} cannot be run", hint="Check its path and permissions; nothing was recorded.")
        self._deadline_s = deadline_s

    async def fetch(self, key: str) -> Fetched:
        """What the command answers for this key; never raises for what it may answer."""
        raw = await self._ask({"op": "fetch", "key": key})
        if isinstance(raw, str):
            return Fetched(status="error", key=key, detail=raw)
        try:
            answer = msgspec.json.decode(raw, type=_Answer)
        except msgspec.DecodeError as error:
            return Fetched(status="error", key=key, detail=f"the command's answer cannot be read: {error}")
        if answer.status == "ok" and not answer.text:
            answer.status, answer.detail = "empty", "the command says ok and gives no text"
        return Fetched(
            status=answer.status,
            key=key,
            carrier=answer.carrier,
            raw=answer.raw,
            generation=answer.generation,
            turns=answer.turns,
            text=answer.text,
            detail=answer.detail,
        )

    async def search(self, text: str, k: int) -> Sequence[Hit]:
        """The command's hits, at most k. Raises `UsageError` where it cannot answer: an empty list would say too much."""
        raw = await self._ask({"op": "search", "text": text, "k": k})
        if isinstance(raw, str):
            raise UsageError(f"the retrieval command could not search: {raw}")
        try:
            return msgspec.json.decode(raw, type=_Hits).hits[:k]
        except msgspec.DecodeError as error:
            raise UsageError(f"the retrieval command's answer cannot be read: {error}") from None

    async def _ask(self, question: dict[str, Any]) -> bytes | str:
        """The answer's first line, or why there is none."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=ANSWER_BYTES_MAX,
                start_new_session=True,  # so that what the command started ends with it
            )
        except OSError as error:
            return f"{self._words[0]}: {error.strerror}"
        try:
            async with asyncio.timeout(self._deadline_s):
                return await _converse(process, msgspec.json.encode(question) + b"\n")
        except TimeoutError:
            return f"no answer within {self._deadline_s:g} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


async def _converse(process: asyncio.subprocess.Process, question: bytes) -> bytes | str:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(question)
        await process.stdin.drain()
        process.stdin.close()
    except (BrokenPipeError, ConnectionResetError):
        pass  # a command may answer without reading; what it says decides
    try:
        line = await process.stdout.readline()
    except ValueError:
        return f"the answer is longer than {ANSWER_BYTES_MAX} bytes"
    await process.wait()
    if process.returncode:
        return f"the command ended with {process.returncode}"
    return line if line.strip() else "the command answered nothing"
