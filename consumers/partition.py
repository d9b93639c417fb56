"""One partition's life: catch up with the log, fold a batch, commit, publish the outbox.

The position comes from the index alone. An offset above the expected one stops the fold, for a record is missing; one below
is skipped only if its bytes hash to what was folded there. Store, memory and I/O faults halt; bad bytes do not.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from consumers.carrier_index import Batch, CarrierIndex, Output, entry_hash
from ledger.errors import IntegrityError, LogDamaged, UnknownRecordType
from ledger.faults import declare, fault_point
from ledger.fold import RulesVersionNotCarried, Step, reject_unfoldable, step
from ledger.log import ALERTS, DECISIONS, EVENTS, Entry, Log, NewEntry, partition_of
from ledger.state import name_key
from schemas.alerts import AnyAlert
from schemas.codec import NotARecord, UnknownType, decode_record, encode
from schemas.decisions import AnyDecision
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

    def __init__(self, log: Log, index: CarrierIndex, number: int, *, publish: bool = True, learn: bool | None = None) -> None:
        """`publish` sends the outbox. `learn` looks up what the log topics hold already, which who publishes must, and which
        keeps the outbox short for who lets others publish.
        """
        self.log = log
        self.index = index
        self.number = number
        self._publishes = publish
        self._learns = publish if learn is None else learn
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"fold-{number}")
        self._taken_over = False

    async def _run(self, work: Callable[..., T], *args: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *args)

    def close(self) -> None:
        """Stop the commit thread; the index is its owner's."""
        self._thread.shutdown(wait=True)

    async def take_over(self) -> None:
        """Check that the log is the one that was folded, and learn which outputs are on record already (P1, P8).

        Raises `LogDamaged` if the log is shorter than what was folded or says something else at the last folded offset.
        """
        offset, mark = await self._run(self._last_folded)
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
        if self._learns:
            await self._learn_outputs()
        self._taken_over = True

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

    async def catch_up(self, progress: Progress | None = None) -> int:
        """Fold everything up to the log's end as it is now, publish, and return how many records were folded.

        Raises `UnknownRecordType`, `IntegrityError`, `LogDamaged`; what was committed before stays.
        """
        if not self._taken_over:
            await self.take_over()
        end = await self.log.end(EVENTS, self.number)
        folded = 0
        with self.index.snapshot() as snapshot:
            offset = first = snapshot.offset_next
        while offset < end:
            entries = await self.log.read(EVENTS, self.number, offset, max_entries=BATCH_ENTRIES, max_bytes=BATCH_BYTES)
            if not entries:
                break
            offset = await self._run(self.fold_batch, entries)
            folded = offset - first
            if progress is not None:
                progress(folded, end - first)
            await self.publish()
        await self.publish()
        return folded

    def fold_batch(self, entries: list[Entry]) -> int:
        """Fold entries into one commit and return the next offset. A stop in mid-batch keeps what came before it."""
        halt: Exception | None = None
        with self.index.batch() as batch:
            for entry in entries:
                offset = entry.position.offset
                if offset > batch.offset_next:
                    halt = IntegrityError(f"{EVENTS}/{self.number}: offset {batch.offset_next} is missing, {offset} came")
                    break
                if offset < batch.offset_next:
                    if batch.hash_at(offset) == entry_hash(entry.key, entry.value):
                        continue
                    halt = IntegrityError(
                        f"{entry.position}: the log says something else than what was folded there",
                        hint="Somebody edited or replaced the log. Run: cledger replay --verify",
                    )
                    break
                try:
                    self._fold(batch, entry)
                except (UnknownRecordType, IntegrityError) as error:
                    halt = error
                    break
                batch.advance(entry.key, entry.value)
            offset_next = batch.offset_next
        if halt is not None:
            raise halt
        return offset_next

    def _fold(self, batch: Batch, entry: Entry) -> None:
        offset = entry.position.offset
        draft = batch.scope(entry.key)
        try:
            record = decode_record(entry.value)
        except UnknownType as error:
            raise UnknownRecordType(
                f"{entry.position}: this release does not know record type {error.type!r}",
                hint="Upgrade this release; the fold stops before the record and loses nothing.",
            ) from None
        except NotARecord as error:
            result = self._unfoldable(draft, entry, str(error)[:200])
        else:
            if record.scope != entry.key or partition_of(entry.key, self.log.identity.partitions) != self.number:
                result = self._unfoldable(draft, entry, "key is not the record's scope, or stands in the wrong partition")
            else:
                try:
                    result = step(draft, record)
                except RulesVersionNotCarried as error:
                    raise UnknownRecordType(
                        f"{entry.position}: {error}", hint="Use a release that carries this rules version."
                    ) from None
                if isinstance(record, SpanRecorded) and not result.duplicate:
                    batch.locate(entry.key, name_key(record.span), offset)
                elif isinstance(record, SummaryRecorded) and not result.duplicate:
                    batch.locate(entry.key, name_key(record.summary), offset)
        self._take(batch, entry, result)

    def _unfoldable(self, draft: object, entry: Entry, reason: str) -> Step:
        sha256 = hashlib.sha256(entry.value).hexdigest()
        return reject_unfoldable(draft, scope=entry.key, content_sha256=sha256, reason=reason)  # type: ignore[arg-type]

    def _take(self, batch: Batch, entry: Entry, result: Step) -> None:
        if result.duplicate:
            batch.duplicates += 1
        if result.error is not None:
            _diagnostics.error("%s: the core raised", entry.position, exc_info=result.error)
        result.changes.apply_to(batch.scope(entry.key))
        for topic, item in _outputs(result):
            batch.emit(
                Output(
                    topic=topic,
                    scope=entry.key,
                    id=item.id,
                    request_id=getattr(item, "request_id", ""),
                    output_seq=item.output_seq,
                    source_offset=entry.position.offset,
                    value=encode(item),
                )
            )
        if result.repeated:
            head = msgspec.json.decode(result.repeated, type=_OutputHead)
            batch.emit(
                Output(DECISIONS, entry.key, head.id, head.request_id, head.output_seq, entry.position.offset, result.repeated),
                repeat=True,
            )

    async def publish(self) -> None:
        """Append the outbox to the output topics; what fails stays in the outbox, and nothing later is sent.

        A piece of the outbox takes one append for each topic, decisions first, for somebody waits for them. Within a scope and
        a topic the order is that of the outbox.
        """
        if not self._publishes:
            return
        while waiting := await self._run(self._outbox):
            sent: list[tuple[str, int, str, bytes]] = []
            done: list[int] = []
            try:
                for topic in (DECISIONS, ALERTS):
                    group = [item for item in waiting if item[1].topic == topic]
                    if not group:
                        continue
                    fault_point(PUBLISH_BEFORE)
                    positions = await self.log.append(topic, [_entry_of(output) for _, output in group])
                    fault_point(PUBLISH_AFTER)
                    sent += [(topic, at.offset, out.id, out.value) for at, (_, out) in zip(positions, group, strict=True)]
                    done += [number for number, _ in group]
            finally:
                if done:
                    await self._run(self.index.note_published, sent, done)

    def _outbox(self) -> list[tuple[int, Output]]:
        with self.index.snapshot() as snapshot:
            return snapshot.outbox(PUBLISH_ENTRIES, PUBLISH_BYTES)


class _OutputHead(msgspec.Struct):
    id: str
    output_seq: int
    request_id: str = ""


def output_id(entry: Entry) -> str:
    """The id of an output on record. Raises `LogDamaged` if it is none."""
    try:
        return msgspec.json.decode(entry.value, type=_OutputHead).id
    except msgspec.DecodeError:
        raise LogDamaged(f"{entry.position}: not a decision or alert", hint="Run: cledger replay --verify") from None


def _outputs(result: Step) -> list[tuple[str, AnyDecision | AnyAlert]]:  # decisions before the alerts they cause
    found: list[tuple[str, AnyDecision | AnyAlert]] = []
    if result.decision is not None:
        found.append((DECISIONS, result.decision))
    found.extend((ALERTS, alert) for alert in result.alerts)
    return found


def _entry_of(output: Output) -> NewEntry:
    headers = [("output_seq", str(output.output_seq).encode()), ("source_offset", str(output.source_offset).encode())]
    if output.request_id:
        headers.append(("request_id", output.request_id.encode()))
    return NewEntry(output.scope, output.value, tuple(headers))
