"""One partition's life: catch up with the log, fold a batch, commit, publish the outbox.

The position comes from the index alone. Where somebody waits for answers the log is read ahead of the fold, decisions go out
while the commit is under way, and requests that stand behind long work of other scopes are answered before it is done.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import msgspec

from consumers.answering_ahead import AnswersAhead
from consumers.carrier_index import CarrierIndex, entry_hash
from consumers.enforcement import OutputHead, end_soon
from consumers.folding import Fold, Notes, OutputMissed, OutputsWanted
from consumers.on_record import Published
from consumers.publishing import Numbered, Publisher
from consumers.reading_ahead import ReadAhead
from consumers.recorded_outputs import RecordedOutputs
from ledger.answers import SOURCE_OFFSET
from ledger.errors import LogDamaged, UnknownRecordType
from ledger.following import connections_of
from ledger.log import ALERTS, DECISIONS, EVENTS, Entry, Log, TakesDeadLetters

BATCH_ENTRIES = 1000
BATCH_BYTES = 2 << 20
"""Entries and bytes of values in one commit. Every fact touches pages all over the index, so memory grows with the batch: ten
times as many entries took 100 MB more and folded no faster. Much smaller batches write the same pages again and again.
"""

LEARN_ENTRIES = 10_000
"""Outputs on record that are read at a time; what is kept of each is a hash."""

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with records folded and records there are."""


class Partition:
    """Folds one partition of a log into its index. Use from one event loop; the commit runs in one thread of its own."""

    def __init__(
        self,
        log: Log,
        index: CarrierIndex,
        number: int,
        *,
        publish: bool = True,
        learn: bool | None = None,
        outputs: Counter[tuple[str, str]] | None = None,
        observe: Callable[[Entry], None] = lambda _: None,
        batch_entries: int | None = None,
    ) -> None:
        """`publish` sends the outbox. `learn` looks up what the log topics hold already, which who publishes must, and which
        keeps the outbox short for who lets others publish. `outputs` counts what the folds say, by type
        and rule; `observe` is called with each entry once it is folded and committed, in the commit's thread. Catching up
        takes `batch_entries` at once, `BATCH_ENTRIES` if nothing is said.
        """
        self.log, self.index, self.number = log, index, number
        self._learns = publish if learn is None else learn
        self._batch_entries = batch_entries
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"fold-{number}")
        self._taken_over = False
        self._connections = 0
        self._recorded = RecordedOutputs(log, number)
        self._fold = Fold(
            log.identity, index, number, recorded=self._recorded, speaks=self._speaks, observe=observe,
            buries=isinstance(log, TakesDeadLetters), outputs=outputs if outputs is not None else Counter(),
        )  # fmt: skip
        self._publisher = Publisher(log, index, self._run, allowed=publish)
        self._waiting = ReadAhead(log, number, self._arrived)
        self._ahead = AnswersAhead(index, self._publisher, self._waiting)
        self._tell: Callable[[Numbered], None] | None = None
        self._said: list[Numbered] | None = []
        self._notes: Notes = ([], [])
        self.published_next = 0
        """Every record below it is folded and its outputs are in the log; it grows only while this process publishes."""

    @property
    def offset_next(self) -> int:
        """The next record to fold, as of the last commit; meaningful once taken over."""
        return self._fold.offset_next

    @property
    def publishes(self) -> bool:
        """Whether this process may publish for the partition now."""
        return self._publisher.allowed

    @property
    def taken_over(self) -> bool:
        """Whether the log was compared with what was folded, and the outputs on record were learnt, since ownership came."""
        return self._taken_over

    @property
    def answered_ahead(self) -> int:
        """Requests that were answered before the fold came to them."""
        return self._ahead.answered

    def _speaks(self) -> bool:
        return self._publisher.allowed or self._learns

    async def _run(self, work: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)

    async def stop_reading(self) -> None:
        """End the reading ahead, which `arrived` begins."""
        await self._waiting.stop()

    def close(self) -> None:
        """Stop the threads; the index is its owner's."""
        self._ahead.close()
        self._thread.shutdown(wait=True)

    async def take_over(self) -> None:
        """Check that the log is the one that was folded, and learn which outputs are on record already (P1, P8).

        Raises `LogDamaged` if the log is shorter than what was folded or says something else at the last folded offset.
        """
        turn = self._publisher.turns
        await self.compare_last()
        if self._learns:
            await self._publisher.flush()
            await self._learn_outputs()
        self._publisher.learnt(turn)
        self._taken_over = turn == self._publisher.turns

    async def compare_last(self) -> None:
        """Does the last folded record still stand where it stood? Asked at the start and after each new connection: behind a
        broken one a log can lose its tail and grow beyond it again.
        """
        self._connections = connections_of(self.log)
        offset, mark = await self._run(self._last_folded)
        self._fold.offset_next = offset + 1
        if offset >= 0:
            found = await self.log.read(EVENTS, self.number, offset, max_entries=1)
            if not found:
                raise LogDamaged(
                    f"{EVENTS}/{self.number}: the log ends before offset {offset}, which was folded already",
                    hint="Records were lost. Restore the log, or delete the index to fold what is left.",
                )
            if entry_hash(found[0].key, found[0].value) != mark:
                raise LogDamaged(
                    f"{EVENTS}/{self.number}@{offset}: the log says something else than what was folded there",
                    hint="Somebody edited or replaced the log. Run: cledger replay --verify",
                )

    def _last_folded(self) -> tuple[int, bytes | None]:
        with self.index.snapshot() as snapshot:
            offset = snapshot.offset_next - 1
            return offset, snapshot.hash_at(offset) if offset >= 0 else None

    async def _learn_outputs(self) -> None:
        for topic in (DECISIONS, ALERTS):
            while True:
                offset = await self._run(self._outputs_next, topic)
                entries = await self.log.read(topic, self.number, offset, max_entries=LEARN_ENTRIES)
                if not entries:
                    break
                await self._run(
                    self.index.note_published,
                    [published_of(topic, entry) for entry in entries],
                    [],
                )
        await self._run(self.index.drop_published)

    def _outputs_next(self, topic: str) -> int:
        with self.index.snapshot() as snapshot:
            return snapshot.outputs_next(topic)

    async def gap(self) -> int:
        """Records between the index and the end of the log."""
        end = await self.log.end(EVENTS, self.number)
        with self.index.snapshot() as snapshot:
            return max(0, end - snapshot.offset_next)

    async def catch_up(self, progress: Progress | None = None, *, ended: Callable[[], bool] = lambda: False) -> int:
        """Fold everything up to the log's end as it is now, publish, and return how many records were folded. After a batch
        that finds `ended` true the rest is left.

        Raises `UnknownRecordType`, `IntegrityError`, `LogDamaged`; what was committed before stays, and before a record of an
        unknown type it is published too.
        """
        await self._waiting.stop()
        if not self._taken_over:
            await self.take_over()
        end = await self.log.end(EVENTS, self.number)
        first = self.offset_next
        while self.offset_next < end and not ended():
            count = self._batch_entries or BATCH_ENTRIES
            entries = await self.log.read(EVENTS, self.number, self.offset_next, max_entries=count, max_bytes=BATCH_BYTES)
            if not entries:
                break
            if connections_of(self.log) != self._connections:
                await self.compare_last()
            await self._fold_next(end_soon(entries))
            await self.publish()
            if progress is not None:
                progress(self.offset_next - first, end - first)
        await self.publish()
        return self.offset_next - first

    async def arrived(self, timeout_s: float) -> bool:
        """Is there something to fold, now or within `timeout_s` seconds? From now on the log is read ahead of the fold.

        Raises what reading raises.
        """
        self._waiting.start(self.offset_next)
        found = await self._waiting.arrived(timeout_s)
        if not found:
            await self._publisher.flush()
        return found

    async def advance(self) -> int:
        """Fold and publish the next batch of what `arrived`, and return how many records were folded. Somebody may wait for
        what it says, so decisions go out before the commit is durable. Raises as `catch_up` does.
        """
        if not self._taken_over:
            await self.take_over()
        if connections_of(self.log) != self._connections:
            await self._waiting.stop()  # it may have come from what the log was before
            await self.compare_last()
            return 0
        first = self.offset_next
        entries = self._waiting.take(BATCH_ENTRIES, BATCH_BYTES)
        if not entries:
            return 0
        if self._publisher.clear:
            self._tell = partial(self._publisher.tell, asyncio.get_running_loop())
            self._ahead.begin(entries)
        try:
            await self._fold_next(entries)
        except BaseException:
            await self._waiting.stop()  # what was taken from there is to be read again
            raise
        finally:
            self._tell = None
            await self._ahead.end()
        await self._publisher.finish(self._said, self.offset_next)
        self._note_progress(self.offset_next)
        return self.offset_next - first

    async def _fold_next(self, entries: list[Entry]) -> None:
        """Fold a batch. What is on record of rules versions that this build does not carry is read once it is wanted.

        Raises `IndexCondemned` if a committed record was followed before all that it led to
        was on record.
        """
        met = self._recorded.began
        if met:
            await self._recorded.refresh()
        try:
            await self._fold_once(entries)
        except OutputsWanted as error:
            if met and not isinstance(error, OutputMissed):
                raise
            await self._recorded.refresh()
            try:
                await self._fold_once([entry for entry in entries if entry.position.offset >= self.offset_next])
            except OutputMissed as missed:  # by a record of an earlier batch, if it is on record now
                if self._recorded.holds(missed.scope, missed.number):
                    await self._run(self.index.condemn, missed.message)
                raise
        self._recorded.committed()

    async def _fold_once(self, entries: list[Entry]) -> None:
        first = self.offset_next
        self._notes = notes = self._publisher.notes
        try:
            await self._run(self.fold_batch, entries)
        except BaseException as error:
            self._recorded.undone()
            await self._publisher.broken_off(kept=self.offset_next > first)
            if isinstance(error, UnknownRecordType):
                await self.publish()
            raise
        self._publisher.noted(notes)

    def fold_batch(self, entries: list[Entry]) -> int:
        """Fold entries into one commit and return the next offset; see `Fold.batch`."""
        self._said = self._fold.batch(entries, self._notes, self._tell)
        return self.offset_next

    def _arrived(self, entries: list[Entry]) -> None:
        if connections_of(self.log) == self._connections:
            self._ahead.arrived(entries)

    async def publish(self) -> None:
        """Append the outbox to the output topics; what fails stays in the outbox, and nothing later is sent."""
        folded = self.offset_next
        await self._publisher.publish()
        self._note_progress(folded)

    def _note_progress(self, folded: int) -> None:
        if self._publisher.sends:
            self.published_next = folded

    async def own(self, publishing: bool) -> None:
        """Gain or lose the right to publish. It is lost once what is on its way has been acknowledged or has failed. Once it is
        gained, what the output topics hold meanwhile is learnt before anything is folded or sent.

        A fold that goes on without it is harmless: its bytes are those of the owner (P2).
        """
        if publishing:
            self._learns, self._taken_over = True, False
        await self._publisher.own(publishing)


def published_of(topic: str, entry: Entry) -> Published:
    """An output on record. Raises `LogDamaged` if it is none."""
    source = next((value for name, value in entry.headers if name == SOURCE_OFFSET), b"")
    number = int(source) if source.isdigit() else -1
    return Published(topic, entry.position.offset, output_id(entry), entry.value, number)


def output_id(entry: Entry) -> str:
    """The id of an output on record. Raises `LogDamaged` if it is none."""
    try:
        return msgspec.json.decode(entry.value, type=OutputHead).id
    except msgspec.DecodeError:
        raise LogDamaged(f"{entry.position}: not a decision or alert", hint="Run: cledger replay --verify") from None
