"""Folding entries of one partition into its index: one batch, one commit.

An offset above the expected one stops the fold, for a record is missing; one below is skipped only if its bytes hash to what
was folded there. Bad bytes are rejected whole and the rest goes on; store, memory and I/O faults halt.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
from collections import Counter
from collections.abc import Callable
from functools import lru_cache

import msgspec

from consumers.boundary_alerts import alerts_of, dead_letter_of
from consumers.carrier_index import Batch, CarrierIndex, Output, entry_hash
from consumers.enforcement import decisions_of
from consumers.on_record import Published
from consumers.publishing import PUBLISH_BYTES, PUBLISH_ENTRIES, Numbered
from consumers.recorded_outputs import RecordedOutputs
from ledger.errors import IndexDamaged, IntegrityError, UnknownRecordType
from ledger.fold import RulesVersionNotCarried, Step, reject_unfoldable, step
from ledger.log import DECISIONS, EVENTS, KEY_BYTES_MAX, Entry, LogIdentity, partition_of
from ledger.state import name_key
from schemas.codec import NotARecord, UnknownType, decode_record
from schemas.decisions import RecordRejected
from schemas.records import AnyRecord, SpanRecorded, SummaryRecorded

_diagnostics = logging.getLogger("cledger.fold")
Notes = tuple[list[Published], list[int]]


class OutputsWanted(UnknownRecordType):
    """A record of a rules version that this build does not carry: its outputs were not read, or are not on record."""


class OutputMissed(OutputsWanted):
    """Something before this record was folded before it was on record: of this batch, or of one that is committed."""

    def __init__(self, entry: Entry, error: RulesVersionNotCarried) -> None:
        super().__init__(f"{entry.position}: {error}", hint=f"Begin again once it is on record, or: {CARRIES}")
        self.scope, self.number = error.scope, error.missed


def _wanted(entry: Entry, error: RulesVersionNotCarried) -> OutputsWanted:
    return OutputMissed(entry, error) if error.missed else OutputsWanted(f"{entry.position}: {error}", hint=CARRIES)


class Fold:
    """Folds batches of one partition. Use from one thread at a time."""

    def __init__(
        self,
        identity: LogIdentity,
        index: CarrierIndex,
        number: int,
        *,
        recorded: RecordedOutputs,
        speaks: Callable[[], bool],
        buries: bool,
        outputs: Counter[tuple[str, str]],
        observe: Callable[[Entry], None],
    ) -> None:
        """`speaks` is whether this process publishes, or follows who does: what is taken from the record is said already then.
        It `buries` bytes that cannot be folded among the dead letters, if the log has them. `outputs` counts what is said, by
        type and rule; `observe` is called with each entry once it is committed.
        """
        self.offset_next = 0
        """The next record to fold, as of the last commit of this process."""

        self._identity, self._index, self._number = identity, index, number
        self._recorded, self._speaks, self._buries = recorded, speaks, buries
        self._outputs, self._observe = outputs, observe
        self._tell: Callable[[Numbered], None] | None = None
        self._said: list[Numbered] | None = []
        self._said_bytes = 0
        self._untold: list[Numbered] = []
        self._counted: Counter[tuple[str, str]] = Counter()

    def batch(
        self, entries: list[Entry], notes: Notes, tell: Callable[[Numbered], None] | None = None
    ) -> list[Numbered] | None:
        """Fold entries into one commit, with `notes` of what was published. Returns what was put into the outbox, or None where
        that is too much to hold beside it. Raises `OutputMissed` with nothing committed.

        A stop in mid-batch keeps what came before it, and nothing of the entry that it stops at: that one's effects may stand
        in the transaction already, so the batch is undone and made again without it. `tell` is called with each decision as
        soon as its record is folded; the commit comes later.
        """
        whole = 0
        self._tell, self._said, self._said_bytes = tell, [], 0
        self._counted.clear()
        self._untold.clear()
        try:
            with self._index.batch() as batch:
                batch.note_published(*notes)
                for entry in entries:
                    self._next(batch, entry)
                    whole += 1
                    self._tell_all()
                offset_next = batch.offset_next
        except (IndexDamaged, OutputMissed):
            raise
        except (UnknownRecordType, IntegrityError):
            if whole:
                self.batch(entries[:whole], notes)
            raise
        self.offset_next = offset_next
        self._outputs.update(self._counted)
        for entry in entries:
            self._observe(entry)
        return self._said

    def _tell_all(self) -> None:
        if self._tell is not None:
            for item in self._untold:
                self._tell(item)
            self._untold.clear()

    def _next(self, batch: Batch, entry: Entry) -> None:
        offset = entry.position.offset
        if offset > batch.offset_next:
            raise IntegrityError(f"{EVENTS}/{self._number}: offset {batch.offset_next} is missing, {offset} came")
        if offset < batch.offset_next:
            if batch.hash_at(offset) == entry_hash(entry.key, entry.value):
                return
            raise IntegrityError(
                f"{entry.position}: the log says something else than what was folded there",
                hint="Somebody edited or replaced the log. Run: cledger replay --verify",
            )
        self._entry(batch, entry)
        batch.advance(entry.key, entry.value)

    def _entry(self, batch: Batch, entry: Entry) -> None:
        offset, partitions = entry.position.offset, self._identity.partitions
        if not names_a_scope(entry.key) or partition_of(entry.key, partitions) != self._number:
            stray = msgspec.structs.replace(entry, key=stray_scope(self._number, partitions))
            buried = entry if names_a_scope(entry.key) else stray
            self._take(batch, stray, self._unfoldable(batch, stray, STRAY, buried))
            return
        draft = batch.scope(entry.key)
        record, fault = record_of(entry)
        if record is None:
            self._take(batch, entry, self._unfoldable(batch, entry, fault, entry))
            return
        try:
            result = step(draft, record, self._taken())
        except RulesVersionNotCarried as error:
            raise _wanted(entry, error) from None
        if not result.duplicate and not isinstance(result.decision, RecordRejected):
            if isinstance(record, SpanRecorded):
                batch.locate(entry.key, name_key(record.span), offset)
            elif isinstance(record, SummaryRecorded):
                batch.locate(entry.key, name_key(record.summary), offset)
        self._take(batch, entry, result)

    def _taken(self) -> RecordedOutputs | None:
        return self._recorded if self._recorded.began else None

    def _unfoldable(self, batch: Batch, entry: Entry, reason: str, buried: Entry) -> Step:
        sha256, draft = hashlib.sha256(entry.value).hexdigest(), batch.scope(entry.key)
        try:
            result = reject_unfoldable(draft, scope=entry.key, content_sha256=sha256, reason=reason, recorded=self._taken())
        except RulesVersionNotCarried as error:
            raise _wanted(entry, error) from None
        if self._buries and self._speaks():
            for output in dead_letter_of(buried, result):
                self._emit(batch, output)
        return result

    def _take(self, batch: Batch, entry: Entry, result: Step) -> None:
        if result.duplicate:
            batch.duplicates += 1
        if result.error is not None:
            _diagnostics.error("%s: the core raised", entry.position, exc_info=result.error)
        result.changes.apply_to(batch.scope(entry.key))
        if result.followed:
            batch.follow(result.followed)
            self._recorded.took(entry.key, result.decision, result.alerts)
            if self._speaks():
                return
        for output, repeat in decisions_of(entry, result):
            self._emit(batch, output, repeat=repeat)
        for output in alerts_of(entry, result):
            self._emit(batch, output)
        for said in (result.decision, *result.alerts):
            if said is not None:
                self._counted[str(said.__struct_config__.tag), said.rule] += 1

    def _emit(self, batch: Batch, output: Output, *, repeat: bool = False) -> None:
        number = batch.emit(output, repeat=repeat)
        if number is None:
            return
        self._said_bytes += len(output.value)
        if self._said is not None:
            self._said.append((number, output))
            if len(self._said) > PUBLISH_ENTRIES or self._said_bytes > PUBLISH_BYTES:
                self._said = None
        if self._tell is not None and output.topic == DECISIONS:
            self._untold.append((number, output))


CARRIES = "Use a release that carries this rules version."
STRAY = "its key belongs into another partition, or is none"


def record_of(entry: Entry) -> tuple[AnyRecord | None, str]:
    """The record of an entry, or None and why it is none. Raises `UnknownRecordType`."""
    try:
        record = decode_record(entry.value)
    except UnknownType as error:
        raise UnknownRecordType(
            f"{entry.position}: this release does not know record type {error.type!r}",
            hint="Upgrade this release; the fold stops before the record and loses nothing.",
        ) from None
    except NotARecord as error:
        return None, str(error)[:200]
    return (record, "") if record.scope == entry.key else (None, "key is not the record's scope")


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
