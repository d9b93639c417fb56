"""The outbox of one partition on its way to the output topics: in order, and nothing later after a send that failed.

What is said follows from the log alone, so an answer may go out before the commit that holds it is durable: a process that ends
in between folds the same records again, says the same bytes, and finds them on record. Nobody waits for a disk who waits for a
decision. What was sent is noted in the index together with the next batch; whoever takes over before learns it from the log,
and sends nothing until then.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from consumers.carrier_index import CarrierIndex, Output
from consumers.on_record import Published
from ledger.errors import EntryTooLarge, LedgerError, LogMissing
from ledger.faults import declare, fault_point
from ledger.log import ALERTS, DEAD_LETTERS, DECISIONS, Log, NewEntry, TakesDeadLetters

PUBLISH_ENTRIES = 1000
PUBLISH_BYTES = 512 << 10
"""How much of the outbox is sent at a time: at most one append for each topic."""

PUBLISH_BEFORE = declare(
    "publish.before", "outputs are in the outbox or in the commit under way, none of this group is in the log topics"
)
PUBLISH_AFTER = declare("publish.after", "outputs are in the log topics, the outbox still holds them")

Numbered = tuple[int, Output]
"""An output with its number in the outbox."""

_diagnostics = logging.getLogger("cledger.fold")


class Publisher:
    """Sends what one partition's fold says. Use from one event loop, but for `tell`."""

    def __init__(self, log: Log, index: CarrierIndex, run: Callable[..., Awaitable[Any]], *, allowed: bool) -> None:
        """`run` calls a function in the partition's own thread. `allowed` is whether this process may publish."""
        self.allowed = allowed
        self._log, self._index, self._run = log, index, run
        self._sending = asyncio.Lock()
        self._turns = 0
        self._learnt = True
        self._clear = False
        self._told: deque[Numbered] = deque()
        self._early: asyncio.Task[None] | None = None
        self._early_done: list[int] = []
        self._sent: dict[str, int] = {}
        self._notes: list[Published] = []
        self._done: list[int] = []

    @property
    def clear(self) -> bool:
        """Whether everything said so far is on record, so that what is said next may go out at once."""
        return self.sends and self._clear

    @property
    def sends(self) -> bool:
        """Whether anything may be sent: the right is there, and what others said before it came is learnt. Asked before each
        piece, for the right may be lost while another is on its way.
        """
        return self.allowed and self._learnt

    @property
    def turns(self) -> int:
        """How often the right to publish came or went: what was learnt in one turn says nothing in the next."""
        return self._turns

    def learnt(self, turn: int) -> None:
        """What the output topics hold was learnt in this turn."""
        self._learnt = self._learnt or turn == self._turns

    async def own(self, allowed: bool) -> None:
        """Gain or lose the right to publish. It is lost once what is on its way has been acknowledged or has failed. Gained, it
        may be used once what the output topics hold by then is `learnt`.
        """
        self._turns += 1
        self._learnt = not allowed
        self.allowed = allowed
        self._clear = False
        if not allowed:
            async with self._sending:
                pass

    @property
    def notes(self) -> tuple[list[Published], list[int]]:
        """What is on record and not noted in the index: outputs, and numbers of the outbox that are finished."""
        return self._notes[:], self._done[:]

    def noted(self, notes: tuple[list[Published], list[int]]) -> None:
        """These notes are in the index."""
        del self._notes[: len(notes[0])]
        del self._done[: len(notes[1])]

    async def flush(self) -> None:
        """Note in the index what is on record."""
        notes = self.notes
        if any(notes):
            await self._run(self._index.note_published, *notes)
            self.noted(notes)

    def tell(self, loop: asyncio.AbstractEventLoop, item: Numbered) -> None:
        """The fold under way has put a decision into the outbox. Called in its thread; somebody who waits gets it at once."""
        self._told.append(item)
        if item[1].request_id:
            loop.call_soon_threadsafe(self._start_early)

    def _start_early(self) -> None:
        if self._told and (self._early is None or self._early.done()):
            self._early = asyncio.create_task(self._send_told())

    async def _send_told(self) -> None:
        async with self._sending:
            while self._told and self.clear:
                group = [self._told.popleft() for _ in range(len(self._told))]
                try:
                    self._early_done += await self._append(DECISIONS, group)
                    self._sent |= {output.id: output.source_offset for _, output in group}
                except LedgerError:  # the outbox has it; sending that says what is wrong
                    self._clear = False

    async def send_ahead(self, outputs: list[Output]) -> bool:
        """Send decisions of records that the fold has not reached yet; it will say the same and find them on record. False if
        they were not sent.

        Nothing is sent while something earlier waits to be: the order within a scope is that of its records.
        """
        async with self._sending:
            if not self.clear or any(item[1].scope == outputs[0].scope for item in self._told):
                return False
            try:
                await self._append(DECISIONS, [(-1, output) for output in outputs])
            except LedgerError:
                return False  # the fold comes to it
            self._sent |= {output.id: output.source_offset for output in outputs}
            return True

    @property
    def sent(self) -> frozenset[str]:
        """Ids of decisions that went out before the commit that holds them."""
        return frozenset(self._sent)

    async def finish(self, outputs: list[Numbered] | None, offset_next: int) -> None:
        """A batch is committed, after which the fold stands at `offset_next`: send what it said, and was not sent yet. Without
        `outputs`, which may be too many to hold, the outbox is gone through.

        Raises what the log raises; what failed stays in the outbox.
        """
        await self._early_over()
        async with self._sending:
            sent = set(self._early_done)
            self._done += self._early_done
            self._early_done.clear()
            self._told.clear()
            self._sent = {id_: at for id_, at in self._sent.items() if at >= offset_next}
            if not self.clear or outputs is None:
                self._clear = False
                await self._send_outbox()
            else:
                await self._send([item for item in outputs if item[0] not in sent])

    async def broken_off(self, *, kept: bool) -> None:
        """A batch failed. What it said and was sent is on record; the numbers of that in the outbox hold only if the part of
        the batch before the failure was `kept`, else they are given anew.
        """
        await self._early_over()
        if kept:
            self._done += self._early_done
        self._early_done.clear()
        self._told.clear()
        self._clear = False

    async def _early_over(self) -> None:
        early, self._early = self._early, None
        if early is not None:
            await early

    async def publish(self) -> None:
        """Send everything in the outbox, and note it. What fails stays there, and nothing later is sent."""
        async with self._sending:
            self._clear = False
            await self._send_outbox()

    async def _send_outbox(self) -> None:
        turn = self._turns
        await self.flush()
        while self.sends and (waiting := await self._run(self._outbox)):
            try:
                await self._send(waiting)
            finally:
                await self.flush()
        self._clear = self.sends and turn == self._turns

    async def _send(self, waiting: list[Numbered]) -> None:
        """One append for each topic, decisions first, for somebody waits for them. Within a scope and a topic the order is that
        of the outbox.
        """
        for topic in (DECISIONS, ALERTS, DEAD_LETTERS):
            group = [item for item in waiting if item[1].topic == topic]
            if group:
                self._done += await self._append(topic, group)

    async def _append(self, topic: str, group: list[Numbered]) -> list[int]:
        """Append a group and keep in mind that it is on record. Its numbers in the outbox."""
        fault_point(PUBLISH_BEFORE)
        entries = [_entry_of(output) for _, output in group]
        turn, cleared = self._turns, self._clear
        self._clear = False
        if topic != DEAD_LETTERS:
            positions = await self._log.append(topic, entries)
            said = zip(positions, group, strict=True)
            self._notes += [Published(topic, at.offset, out.id, out.value, out.source_offset) for at, (_, out) in said]
        elif isinstance(self._log, TakesDeadLetters):
            await _bury(self._log, entries)
        fault_point(PUBLISH_AFTER)
        self._clear = cleared and turn == self._turns
        return [number for number, _ in group if number >= 0]

    def _outbox(self) -> list[Numbered]:
        with self._index.snapshot() as snapshot:
            return snapshot.outbox(PUBLISH_ENTRIES, PUBLISH_BYTES)


async def _bury(log: TakesDeadLetters, entries: list[NewEntry]) -> None:
    """Keep a copy of bad bytes where people look for it. Where that place is missing or too small nobody else waits for it:
    they stand in the events for good, and the decision that rejects them says so.
    """
    try:
        await log.bury(entries)
    except (LogMissing, EntryTooLarge) as error:
        _diagnostics.warning("%s dead letters are not kept: %s", len(entries), error)


def _entry_of(output: Output) -> NewEntry:
    headers = [("output_seq", str(output.output_seq).encode()), ("source_offset", str(output.source_offset).encode())]
    if output.request_id:
        headers.append(("request_id", output.request_id.encode()))
    if output.status:
        headers.append(("status", output.status.encode()))
    return NewEntry(output.scope, output.value, tuple(headers))
