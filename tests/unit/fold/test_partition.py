"""One partition's life: what stops the fold, what is quarantined, what is skipped (P1, P3, P5, P7, P8; three faults)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import lmdb
import pytest

from consumers.carrier_index import CarrierIndex
from consumers.folding import stray_scope
from consumers.partition import Partition
from consumers.stored_rows import ROWS, StoredRows
from ledger import faults
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import IndexDamaged, IntegrityError, LogDamaged, UnknownRecordType
from ledger.log import ALERTS, DECISIONS, EVENTS, Entry, NewEntry, partition_of
from ledger.state import SCOPE, SPAN
from schemas.codec import decode_alert, decode_decision, encode
from schemas.decisions import CompactionRefused, RecordRejected
from schemas.ids import Position
from tests.support.folding import ends, entries, fold_all, index_directory, published
from tests.support.given import opened, request, span, summary

pytestmark = pytest.mark.usefixtures("toy")


class Folding(AbstractContextManager["Folding"]):
    """A partition over an index, opened for one block."""

    def __init__(self, log: MemoryLog, root: Path, number: int = 0, *, publish: bool = True) -> None:
        self.index = CarrierIndex.create(index_directory(root, number), log.identity, number)
        self.partition = Partition(log, self.index, number, publish=publish)

    def __exit__(self, *_: object) -> None:
        self.partition.close()
        self.index.close()

    def progress(self) -> tuple[int, int]:
        """Next offset and duplicates."""
        with self.index.snapshot() as snapshot:
            return snapshot.offset_next, snapshot.duplicates


async def test_unknown_type_stops_the_partition_before_the_record(tmp_path: Path) -> None:
    """Three faults: a type or version this build does not know; what came before it is committed, nothing is lost."""
    log = MemoryLog()
    await log.append(EVENTS, entries([opened(), span(1, "n:40")]))
    await log.append(EVENTS, [NewEntry("s1", b'{"type":"span.recorded.v9","id":"x","scope":"s1"}')])
    await log.append(EVENTS, entries([span(2, "n:7")]))
    with Folding(log, tmp_path) as folding:
        for _ in range(2):
            with pytest.raises(UnknownRecordType, match=r"compaction.events/0@2.*span.recorded.v9"):
                await folding.partition.catch_up()
            assert folding.progress() == (2, 0)


async def test_rules_version_that_is_not_carried_stops_the_partition(tmp_path: Path) -> None:
    """P2: a worker that does not carry a pinned version stops before the first record under it that has to be decided."""
    log = MemoryLog()
    pinned = opened(scope="t2", session="t2", rules_version="r0")
    await log.append(EVENTS, entries([opened(), pinned, request("q1", "m1", 1, scope="t2", session="t2")]))
    with Folding(log, tmp_path) as folding:
        with pytest.raises(UnknownRecordType, match="r0"):
            await folding.partition.catch_up()
        assert folding.progress() == (2, 0)


@pytest.mark.parametrize(
    "value", [b"", b"\xff\xfe", b"{}", b"[1]", b"{" * 5000, b'{"type":"span.recorded.v1","id":1}', b"null"]
)
async def test_p1_bytes_that_are_no_record_are_quarantined_and_the_rest_goes_on(tmp_path: Path, value: bytes) -> None:
    """P1, three faults: rejected once with the hash of their content, paged; again the same bytes are a duplicate."""
    log = MemoryLog()
    await log.append(EVENTS, [*entries([opened()]), NewEntry("s1", value), NewEntry("s1", value), *entries([span(1, "n:40")])])
    with Folding(log, tmp_path) as folding:
        await folding.partition.catch_up()
        assert folding.progress() == (4, 1)
    (decision,) = await log.read(DECISIONS, 0, 0)
    found = decode_decision(decision.value)
    assert isinstance(found, RecordRejected)
    assert found.content_sha256
    assert [decode_alert(entry.value).kind for entry in await log.read(ALERTS, 0, 0)] == ["record_unreadable"]


async def test_p1_misrouted_record_is_not_folded(tmp_path: Path) -> None:
    """Design section 5: key and scope differ, or the partition is not the key's."""
    log = MemoryLog()
    await log.append(EVENTS, [NewEntry("t2", encode(opened()))])
    with Folding(log, tmp_path) as folding:
        await folding.partition.catch_up()
        with folding.index.snapshot() as snapshot:
            assert snapshot.scope("s1") is None
    (entry,) = await log.read(DECISIONS, 0, 0)
    assert isinstance(decode_decision(entry.value), RecordRejected)


async def test_p1_record_in_the_wrong_partition_is_not_folded(tmp_path: Path) -> None:
    """Design section 5: a misrouted record changes nothing where it belongs, and the partition in which it stands says so in a
    scope of its own: the record's scope is numbered elsewhere.
    """
    log = MemoryLog(4)
    wrong = (partition_of("s1", 4) + 1) % 4
    record = opened()
    with Folding(log, tmp_path, wrong) as folding:
        folding.partition.fold_batch([Entry(Position(EVENTS, wrong, 0), "s1", encode(record))])
        with folding.index.snapshot() as snapshot:
            assert snapshot.scope("s1") is None
            rows = snapshot.scope(stray_scope(wrong, 4))
            assert rows is not None
            row = rows.get(SCOPE, b"")
    assert row is not None
    assert not row.opened
    assert row.unclear


async def test_p5_offset_above_the_expected_one_stops(tmp_path: Path) -> None:
    """Design section 5: a record is missing."""
    with Folding(MemoryLog(), tmp_path) as folding:
        with pytest.raises(IntegrityError, match="offset 0 is missing"):
            folding.partition.fold_batch([Entry(Position(EVENTS, 0, 1), "s1", encode(opened()))])
        assert folding.progress() == (0, 0)


async def test_p3_p8_offset_below_is_skipped_only_with_the_same_bytes(tmp_path: Path) -> None:
    """Design section 5: below: skip if the bytes hash to what was folded there, else stop."""
    first = Entry(Position(EVENTS, 0, 0), "s1", encode(opened()))
    second = Entry(Position(EVENTS, 0, 1), "s1", encode(span(1, "n:40")))
    with Folding(MemoryLog(), tmp_path) as folding:
        folding.partition.fold_batch([first])
        assert folding.partition.fold_batch([first, second]) == 2
        forged = Entry(Position(EVENTS, 0, 1), "s1", encode(span(1, "n:41")))
        with pytest.raises(IntegrityError, match="something else"):
            folding.partition.fold_batch([forged])
        assert folding.progress() == (2, 0)


async def test_p8_log_that_says_something_else_is_noticed_at_take_over(tmp_path: Path) -> None:
    """P1, P8: the last folded record is read again and compared; a shorter log has lost records."""
    log = MemoryLog(log_id="same")
    await log.append(EVENTS, entries([opened(), span(1, "n:40")]))
    await fold_all(log, tmp_path)
    forged = MemoryLog(log_id="same")
    await forged.append(EVENTS, entries([opened(), span(1, "n:41"), span(2, "n:7")]))
    with Folding(forged, tmp_path) as folding, pytest.raises(LogDamaged, match="something else"):
        await folding.partition.catch_up()
    shorter = MemoryLog(log_id="same")
    await shorter.append(EVENTS, entries([opened()]))
    with Folding(shorter, tmp_path) as folding, pytest.raises(LogDamaged, match="ends before"):
        await folding.partition.catch_up()


async def test_p7_index_of_another_log_is_refused(tmp_path: Path) -> None:
    """P7: a foreign index is noticed at open."""
    await fold_all(await _log_with(opened()), tmp_path)
    with pytest.raises(IndexDamaged, match="another log"):
        await fold_all(await _log_with(opened()), tmp_path)


async def _log_with(*records: object) -> MemoryLog:
    log = MemoryLog()
    await log.append(EVENTS, entries(records))  # type: ignore[arg-type]
    return log


async def test_p8_output_on_record_with_other_bytes_stops_the_fold(tmp_path: Path) -> None:
    """Design section 5: two different decisions under one id are an integrity error."""
    records = [opened(), span(1, "n:40"), summary("m1", "x"), request("q1", "m1", 1)]
    log = await _log_with(*records)
    await fold_all(log, tmp_path / "first")
    (decision,) = await log.read(DECISIONS, 0, 0)
    assert isinstance(decode_decision(decision.value), CompactionRefused)
    edited = await _log_with(*records)
    await edited.append(DECISIONS, [NewEntry("s1", decision.value.replace(b"below_floor", b"other_words"))])
    with pytest.raises(IntegrityError, match="other bytes"):
        await fold_all(edited, tmp_path / "second")


async def test_p3_repeated_request_gets_its_decision_again_with_the_same_bytes(tmp_path: Path) -> None:
    """P3: once for each delivery, and never once more after a rebuild."""
    asked = request("q1", "m1", 1)
    log = await _log_with(opened(), span(1, "n:40"), summary("m1", "n:40"), asked, asked)
    await fold_all(log, tmp_path)
    await log.append(EVENTS, entries([asked]))
    await fold_all(log, tmp_path)
    found = await log.read(DECISIONS, 0, 0)
    assert len(found) == 3
    assert len({entry.value for entry in found}) == 1
    assert {dict(entry.headers)["request_id"] for entry in found} == {b"q1"}
    CarrierIndex.discard(index_directory(tmp_path, 0))
    await fold_all(log, tmp_path)
    assert await log.end(DECISIONS, 0) == 3


async def test_p9_scratch_fold_publishes_nothing(tmp_path: Path) -> None:
    """P9: a replay never pages."""
    log = await _log_with(opened(), span(1, "n:40"), span(1, "n:41"))
    with Folding(log, tmp_path, publish=False) as folding:
        await folding.partition.catch_up()
        with folding.index.snapshot() as snapshot:
            assert len(snapshot.outbox(10)) == 2
    assert await published(log) == {}


async def test_row_that_cannot_be_read_halts_as_damage_and_is_never_put_on_record(tmp_path: Path) -> None:
    """Three faults: store faults halt; they must not become a `record.rejected` that every other machine would miss."""
    log = await _log_with(opened(), span(1, "n:40"))
    await fold_all(log, tmp_path)
    await log.append(EVENTS, entries([span(2, "n:7")]))
    with Folding(log, tmp_path) as folding:
        with folding.index.file.write() as txn, txn.cursor(db=folding.index.file.database(ROWS)) as cursor:
            assert cursor.set_range((1).to_bytes(4, "big") + SCOPE.prefix)
            key = bytes(cursor.key())
            txn.put(key, b"\xc1", db=folding.index.file.database(ROWS))
        with pytest.raises(IndexDamaged):
            await folding.partition.catch_up()
    assert await log.end(DECISIONS, 0) == 0


def test_fault_of_lmdb_while_reading_a_row_is_a_fault_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three faults: what LMDB raises inside the core comes out as the index's own error."""
    index = CarrierIndex.create(tmp_path / "index", MemoryLog().identity, 0)

    class Broken:
        def get(self, *_: object, **__: object) -> bytes:
            raise lmdb.CorruptedError("a page is wrong")

    rows = StoredRows(index.file, Broken(), 1)  # type: ignore[arg-type]
    with pytest.raises(IndexDamaged):
        rows.get(SPAN, b"x")
    index.close()


@pytest.mark.parametrize("point", ["publish.before", "publish.after", "index.commit.after"])
async def test_p9_outputs_of_a_life_that_ended_in_between_are_published_once(tmp_path: Path, point: str) -> None:
    """P9: on take-over the fold reads what is on record and publishes only what is missing."""
    log = await _log_with(opened(), span(1, "n:40"), span(1, "n:41"), summary("m1", "x"), request("q1", "m1", 1))
    faults.arm(f"{point}:1:error")
    try:
        with pytest.raises(OSError, match=point):
            await fold_all(log, tmp_path)
    finally:
        faults.arm("")
    await fold_all(log, tmp_path)
    found = await published(log)
    assert sum((await ends(log)).values()) == len(found["s1"]) == 3


async def test_p9_after_a_failed_send_nothing_later_is_sent_until_it_succeeds(tmp_path: Path) -> None:
    """P9: outputs go out in order."""
    log = await _log_with(opened(), span(1, "n:40"), span(1, "n:41"))
    faults.arm("publish.before:1:error")
    try:
        with Folding(log, tmp_path) as folding:
            with pytest.raises(OSError, match=r"publish\.before"):
                await folding.partition.catch_up()
            await log.append(EVENTS, entries([span(2, "n:7"), span(2, "n:8")]))
            await folding.partition.catch_up()
    finally:
        faults.arm("")
    assert len((await published(log))["s1"]) == 4


async def test_p8_chain_binds_every_entry_before_it(tmp_path: Path) -> None:
    """P8: two prefixes that end alike and differ before have different chains; the same prefix has one, however it is cut."""
    chains = []
    for place, first in (("a", "n:40"), ("b", "n:41"), ("c", "n:40")):
        log = await _log_with(opened(), span(1, first))
        if place == "c":
            await fold_all(log, tmp_path / place)
        await log.append(EVENTS, entries([span(2, "n:7")]))
        with Folding(log, tmp_path / place) as folding:
            await folding.partition.catch_up()
            with folding.index.snapshot() as snapshot:
                chains.append(snapshot.chain)
    assert chains[0] == chains[2] != chains[1]
