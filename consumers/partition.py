"""One partition's life: catch up with the log, fold a batch, commit, publish the outbox.

The position comes from the index alone. An offset above the expected one stops the fold, for a record is missing; one below
is skipped only if its bytes hash to what was folded there. Store, memory and I/O faults halt; bad bytes do not.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

import msgspec

from consumers.boundary_alerts import alerts_of, dead_letter_of
from consumers.carrier_index import Batch, CarrierIndex, Output, entry_hash
from consumers.enforcement import OutputHead, decisions_of, end_soon
from ledger.errors import EntryTooLarge, IndexDamaged, IntegrityError, LogDamaged, LogMissing, UnknownRecordType
from ledger.faults import declare, fault_point
from ledger.fold import RulesVersionNotCarried, Step, reject_unfoldable, step
from ledger.following import connections_of
from ledger.log import (
    ALERTS,
    DEAD_LETTERS,
    DECISIONS,
    EVENTS,
    KEY_BYTES_MAX,
    Entry,
    Log,
    NewEntry,
    TakesDeadLetters,
    partition_of,
)
from ledger.state import name_key
from schemas.codec import NotARecord, UnknownType, decode_record
from schemas.decisions import RecordRejected
from schemas.records import SpanRecorded, SummaryRecorded

BATCH_ENTRIES = 1000
BATCH_BYTES = 2 << 20
"""Entries and bytes of values in one commit. Every fact touches pages all over the index, so memory grows with the batch: ten
times as many entries took 100 MB more and folded no faster. Much smaller batches write the same pages again and again.
"""

LEARN_ENTRIES = 10_000
"""Outputs on record that are read at a time; what is kept of each is a hash."""

PUBLISH_ENTRIES = 2000
PUBLISH_BYTES = 4 << 20
"""How much of the outbox is sent at a time: at most one append for each topic, and one commit that notes it."""

PUBLISH_BEFORE = declare("publish.before", "outputs are in the outbox, none of this group is in the log topics")
PUBLISH_AFTER = declare("publish.after", "outputs are in the log topics, the outbox still holds them")

_diagnostics = logging.getLogger("cledger.fold")
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
    ) -> None:
        """`publish` sends the outbox. `learn` looks up what the log topics hold already, which who publishes must, and which
        keeps the outbox short for who lets others publish. `outputs` counts what the folds say, by type
        and rule; `observe` is called with each entry once it is folded and committed, in the commit's thread.
        """
        self._outputs = outputs if outputs is not None else Counter()
        self._observe = observe
        self.log = log
        self.index = index
        self.number = number
        self._publishes = publish
        self._learns = publish if learn is None else learn
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"fold-{number}")
        self._taken_over = False
        self._connections = 0
        self._batch_outputs: Counter[tuple[str, str]] = Counter()
        self.offset_next = 0
        """The next record to fold, as of the last commit; meaningful once taken over."""

        self.published_next = 0
        """Every record below it is folded and its outputs are in the log; it grows only while this process publishes."""

        self._sending = asyncio.Lock()

    @property
    def publishes(self) -> bool:
        """Whether this process may publish for the partition now."""
        return self._publishes

    @property
    def taken_over(self) -> bool:
        """Whether the log was compared with what was folded, and the outputs on record were learnt, since ownership came."""
        return self._taken_over

    async def _run(self, work: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)

    def close(self) -> None:
        """Stop the commit thread; the index is its owner's."""
        self._thread.shutdown(wait=True)

    async def take_over(self) -> None:
        """Check that the log is the one that was folded, and learn which outputs are on record already (P1, P8).

        Raises `LogDamaged` if the log is shorter than what was folded or says something else at the last folded offset.
        """
        await self.compare_last()
        if self._learns:
            await self._learn_outputs()
        self._taken_over = True

    async def compare_last(self) -> None:
        """Does the last folded record still stand where it stood? Asked at the start and after each new connection: behind a
        broken one a log can lose its tail and grow beyond it again.
        """
        self._connections = connections_of(self.log)
        offset, mark = await self._run(self._last_folded)
        self.offset_next = offset + 1
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
                    [(topic, entry.position.offset, output_id(entry), entry.value) for entry in entries],
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
        if not self._taken_over:
            await self.take_over()
        end = await self.log.end(EVENTS, self.number)
        first = self.offset_next
        while self.offset_next < end and not ended():
            if not await self._advance():
                break
            if progress is not None:
                progress(self.offset_next - first, end - first)
        await self.publish()
        return self.offset_next - first

    async def advance(self) -> int:
        """Fold and publish the next batch, if there is one, without asking for the log's end. Returns how many were folded.

        For who was told that there is something: one question less stands between a request and its answer. Raises as
        `catch_up` does.
        """
        if not self._taken_over:
            await self.take_over()
        return await self._advance()

    async def _advance(self) -> int:
        before = self.offset_next
        entries = await self.log.read(EVENTS, self.number, before, max_entries=BATCH_ENTRIES, max_bytes=BATCH_BYTES)
        if not entries:
            return 0
        if connections_of(self.log) != self._connections:
            await self.compare_last()
        try:
            await self._run(self.fold_batch, end_soon(entries))
        except UnknownRecordType:
            await self.publish()
            raise
        await self.publish()
        return self.offset_next - before

    def fold_batch(self, entries: list[Entry]) -> int:
        """Fold entries into one commit and return the next offset. A stop in mid-batch keeps what came before it, and nothing
        of the entry that it stops at: that one's effects may stand in the transaction already, so the batch is undone and made
        again without it.
        """
        whole = 0
        self._batch_outputs.clear()
        try:
            with self.index.batch() as batch:
                for entry in entries:
                    self._fold_next(batch, entry)
                    whole += 1
                offset_next = batch.offset_next
        except IndexDamaged:
            raise
        except (UnknownRecordType, IntegrityError):
            if whole:
                self.fold_batch(entries[:whole])
            raise
        self._outputs.update(self._batch_outputs)
        self.offset_next = offset_next
        for entry in entries:
            self._observe(entry)
        return offset_next

    def _fold_next(self, batch: Batch, entry: Entry) -> None:
        offset = entry.position.offset
        if offset > batch.offset_next:
            raise IntegrityError(f"{EVENTS}/{self.number}: offset {batch.offset_next} is missing, {offset} came")
        if offset < batch.offset_next:
            if batch.hash_at(offset) == entry_hash(entry.key, entry.value):
                return
            raise IntegrityError(
                f"{entry.position}: the log says something else than what was folded there",
                hint="Somebody edited or replaced the log. Run: cledger replay --verify",
            )
        self._fold(batch, entry)
        batch.advance(entry.key, entry.value)

    def _fold(self, batch: Batch, entry: Entry) -> None:
        offset = entry.position.offset
        partitions = self.log.identity.partitions
        if not names_a_scope(entry.key) or partition_of(entry.key, partitions) != self.number:
            stray = msgspec.structs.replace(entry, key=stray_scope(self.number, partitions))
            buried = entry if names_a_scope(entry.key) else stray
            self._take(
                batch, stray, self._unfoldable(batch, stray, "its key belongs into another partition, or is none", buried)
            )
            return
        draft = batch.scope(entry.key)
        try:
            record = decode_record(entry.value)
        except UnknownType as error:
            raise UnknownRecordType(
                f"{entry.position}: this release does not know record type {error.type!r}",
                hint="Upgrade this release; the fold stops before the record and loses nothing.",
            ) from None
        except NotARecord as error:
            result = self._unfoldable(batch, entry, str(error)[:200], entry)
        else:
            if record.scope != entry.key:
                result = self._unfoldable(batch, entry, "key is not the record's scope", entry)
            else:
                try:
                    result = step(draft, record)
                except RulesVersionNotCarried as error:
                    raise UnknownRecordType(
                        f"{entry.position}: {error}", hint="Use a release that carries this rules version."
                    ) from None
                taken = not result.duplicate and not isinstance(result.decision, RecordRejected)
                if isinstance(record, SpanRecorded) and taken:
                    batch.locate(entry.key, name_key(record.span), offset)
                elif isinstance(record, SummaryRecorded) and taken:
                    batch.locate(entry.key, name_key(record.summary), offset)
        self._take(batch, entry, result)

    def _unfoldable(self, batch: Batch, entry: Entry, reason: str, buried: Entry) -> Step:
        sha256 = hashlib.sha256(entry.value).hexdigest()
        result = reject_unfoldable(batch.scope(entry.key), scope=entry.key, content_sha256=sha256, reason=reason)
        if (self._publishes or self._learns) and isinstance(self.log, TakesDeadLetters):
            for output in dead_letter_of(buried, result):
                batch.emit(output)
        return result

    def _take(self, batch: Batch, entry: Entry, result: Step) -> None:
        if result.duplicate:
            batch.duplicates += 1
        if result.error is not None:
            _diagnostics.error("%s: the core raised", entry.position, exc_info=result.error)
        result.changes.apply_to(batch.scope(entry.key))
        for output, repeat in decisions_of(entry, result):
            batch.emit(output, repeat=repeat)
        for output in alerts_of(entry, result):
            batch.emit(output)
        for said in (result.decision, *result.alerts):
            if said is not None:
                self._batch_outputs[str(said.__struct_config__.tag), said.rule] += 1

    async def publish(self) -> None:
        """Append the outbox to the output topics; what fails stays in the outbox, and nothing later is sent.

        A piece of the outbox takes one append for each topic, decisions first, for somebody waits for them. Within a scope and
        a topic the order is that of the outbox.
        """
        async with self._sending:
            folded = self.offset_next
            while self._publishes and (waiting := await self._run(self._outbox)):
                await self._send(waiting)
            if self._publishes:
                self.published_next = folded

    async def _send(self, waiting: list[tuple[int, Output]]) -> None:
        sent: list[tuple[str, int, str, bytes]] = []
        done: list[int] = []
        try:
            for topic in (DECISIONS, ALERTS, DEAD_LETTERS):
                group = [item for item in waiting if item[1].topic == topic]
                if not group:
                    continue
                fault_point(PUBLISH_BEFORE)
                entries = [_entry_of(output) for _, output in group]
                if topic != DEAD_LETTERS:
                    positions = await self.log.append(topic, entries)
                    sent += [(topic, at.offset, out.id, out.value) for at, (_, out) in zip(positions, group, strict=True)]
                elif isinstance(self.log, TakesDeadLetters):
                    await _bury(self.log, entries)
                fault_point(PUBLISH_AFTER)
                done += [number for number, _ in group]
        finally:
            if done:
                await self._run(self.index.note_published, sent, done)

    async def own(self, publishing: bool) -> None:
        """Gain or lose the right to publish. It is lost once what is on its way has been acknowledged or has failed. Once it is
        gained, what the output topics hold meanwhile is learnt before anything is folded or sent.

        A fold that goes on without it is harmless: its bytes are those of the owner (P2).
        """
        self._publishes = publishing
        if publishing:
            self._learns, self._taken_over = True, False
            return
        async with self._sending:
            pass

    def _outbox(self) -> list[tuple[int, Output]]:
        with self.index.snapshot() as snapshot:
            return snapshot.outbox(PUBLISH_ENTRIES, PUBLISH_BYTES)


async def _bury(log: TakesDeadLetters, entries: list[NewEntry]) -> None:
    """Keep a copy of bad bytes where people look for it. Where that place is missing or too small nobody else waits for it:
    they stand in the events for good, and the decision that rejects them says so.
    """
    try:
        await log.bury(entries)
    except (LogMissing, EntryTooLarge) as error:
        _diagnostics.warning("%s dead letters are not kept: %s", len(entries), error)


def names_a_scope(key: str) -> bool:
    """Can this key be the name of a scope? Some that foreign producers write cannot."""
    try:
        return 0 < len(key.encode()) <= KEY_BYTES_MAX
    except UnicodeEncodeError:
        return False


@lru_cache(maxsize=256)
def stray_scope(number: int, partitions: int) -> str:
    """The scope in which a partition speaks of what does not belong there. One of its own: the scope that the key names is
    numbered by another partition, and two outputs with one number contradict each other.
    """
    names = (f"stray-records-{n}" for n in itertools.count())
    return next(name for name in names if partition_of(name, partitions) == number)


def output_id(entry: Entry) -> str:
    """The id of an output on record. Raises `LogDamaged` if it is none."""
    try:
        return msgspec.json.decode(entry.value, type=OutputHead).id
    except msgspec.DecodeError:
        raise LogDamaged(f"{entry.position}: not a decision or alert", hint="Run: cledger replay --verify") from None


def _entry_of(output: Output) -> NewEntry:
    headers = [("output_seq", str(output.output_seq).encode()), ("source_offset", str(output.source_offset).encode())]
    if output.request_id:
        headers.append(("request_id", output.request_id.encode()))
    if output.status:
        headers.append(("status", output.status.encode()))
    return NewEntry(output.scope, output.value, tuple(headers))
