"""Waiting for decisions: one reader for each partition in which somebody waits, however many wait.

A reader begins at the end noted before the first request and looks at the header `request_id` before it decodes anything, so
that the decisions of others cost their bytes and nothing else. It ends a little after the last one who waits has gone: a client
that asks seldom reads what comes while it waits, and not what the rest of the fleet is told in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from ledger.errors import LogUnavailable
from ledger.following import wait_for
from ledger.log import DECISIONS, Entry, Log, partition_of
from schemas.codec import decode_decision
from schemas.decisions import AnyDecision

LINGER_S = 1.0
"""How long a reader follows its partition after the last answer: whoever asks again meanwhile need not ask for the end."""

WAIT_S = 5.0
"""How long one wait for the next entry may take before it is begun anew; it bounds nothing else."""

RETRY_S = 0.2
"""Between two tries while the log does not answer; those who wait give up by their own time."""

REQUEST_ID, SOURCE_OFFSET, STATUS = "request_id", "source_offset", "status"
"""Headers of a decision: whose request it answers, where the event stands that it was published for, and, of one that is said
again, what had become of it by then.
"""


class Answer(NamedTuple):
    """A decision that came, the offset of the event that it was published for, and what had become of its request by then:
    `pending`, `applied`, `withdrawn`, or the empty string where it was just decided.
    """

    decision: AnyDecision
    source_offset: int
    status: str


class Waiting:
    """One who waits for the decision on a request, from before the request is appended."""

    def __init__(self, scope: str, session: str, request: str) -> None:
        self.scope, self.session, self.request = scope, session, request
        self.answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._offset: int | None = None
        self._early: list[Answer] = []

    def asked_at(self, offset: int) -> None:
        """The request stands at this offset. What was published for an earlier one of the same id says nothing of what became
        of it since; the answer to this one is on its way.
        """
        self._offset = offset
        for answer in self._early:
            self.offer(answer)

    def offer(self, answer: Answer) -> None:
        """A decision on a request of this id came."""
        if self._offset is None:
            self._early.append(answer)
        elif answer.source_offset >= self._offset and not self.answer.done():
            self.answer.set_result(answer)


class Answers:
    """Hands decisions of a log to those who wait for them. Use from one event loop."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._readers: dict[int, _Reader] = {}

    async def expect(self, scope: str, session: str, request: str) -> Waiting:
        """Wait from now on: a decision that is published after this returned is not missed. End with `forget`.

        Raises what `Log.end` raises.
        """
        number = partition_of(scope, self._log.identity.partitions)
        reader = self._readers.get(number)
        if reader is None:
            reader = self._readers[number] = _Reader(self._log, number)
        waiting = Waiting(scope, session, request)
        await reader.add(waiting)
        return waiting

    async def look(self, waiting: Waiting) -> None:
        """Read what is there now, for who knows that the decision has been published."""
        await self._readers[partition_of(waiting.scope, self._log.identity.partitions)].read()

    def forget(self, waiting: Waiting) -> None:
        """Stop waiting; harmless when repeated, and after the end."""
        waiting.answer.cancel()
        reader = self._readers.get(partition_of(waiting.scope, self._log.identity.partitions))
        if reader is not None:
            reader.remove(waiting)

    async def close(self) -> None:
        """End every reader. Who still waits is cancelled."""
        for reader in self._readers.values():
            await reader.close()
        self._readers.clear()


class _Reader:
    """Follows the decisions of one partition while somebody waits there."""

    def __init__(self, log: Log, number: int) -> None:
        self._log, self._number = log, number
        self._offset = -1
        self._waiting: dict[tuple[str, bytes], list[Waiting]] = {}
        self._task: asyncio.Task[None] | None = None
        self._reading = asyncio.Lock()

    async def add(self, waiting: Waiting) -> None:
        async with self._reading:
            if self._task is None or self._task.done():
                self._offset = max(self._offset, await self._log.end(DECISIONS, self._number))
            self._waiting.setdefault(_key(waiting), []).append(waiting)
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._follow(), name=f"answers-{self._number}")

    def remove(self, waiting: Waiting) -> None:
        others = [each for each in self._waiting.get(_key(waiting), ()) if each is not waiting]
        if others:
            self._waiting[_key(waiting)] = others
        else:
            self._waiting.pop(_key(waiting), None)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        for waiting in self._all():
            waiting.answer.cancel()

    async def _follow(self) -> None:
        """Read until nobody waits. A log that does not answer is tried again; damage is told to all who wait."""
        while True:
            try:
                arrived = await wait_for(
                    self._log, DECISIONS, self._number, self._offset, WAIT_S if self._waiting else LINGER_S
                )
                if arrived:
                    await self.read()
                elif not self._waiting:
                    return
            except LogUnavailable:
                if not self._waiting:
                    return
                await asyncio.sleep(RETRY_S)
            except Exception as error:  # noqa: BLE001  whatever it was, those who wait must learn of it
                for waiting in self._all():
                    if not waiting.answer.done():
                        waiting.answer.set_exception(error)
                return

    async def read(self) -> None:
        """Read up to the end as it is now, and hand out what somebody waits for."""
        async with self._reading:
            while entries := await self._log.read(DECISIONS, self._number, self._offset):
                for entry in entries:
                    self._hand_out(entry)
                self._offset = entries[-1].position.offset + 1

    def _hand_out(self, entry: Entry) -> None:
        headers = dict(entry.headers)
        waiting = self._waiting.get((entry.key, headers.get(REQUEST_ID, b"")))
        if not waiting:
            return
        decision = decode_decision(entry.value)
        answer = Answer(decision, int(headers.get(SOURCE_OFFSET, b"-1")), headers.get(STATUS, b"").decode())
        for each in waiting:  # request ids are unique in their session only
            if each.session == decision.session:
                each.offer(answer)

    def _all(self) -> Iterator[Waiting]:
        for waiting in self._waiting.values():
            yield from waiting


def _key(waiting: Waiting) -> tuple[str, bytes]:
    return waiting.scope, waiting.request.encode("utf-8", "surrogatepass")
