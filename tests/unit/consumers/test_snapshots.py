"""A snapshot stands for a prefix of the log, byte for byte, or it is refused with a reason (P2, P7)."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from consumers import snapshots
from consumers.carrier_index import ROWS, CarrierIndex
from consumers.fold_lock import folding
from consumers.partition import Partition
from consumers.snapshot_manifest import MANIFEST
from consumers.snapshots import SnapshotUnfit, latest, prune, restore, take, verify
from ledger import faults
from ledger.adapters.lmdb_log import LmdbLog
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import IndexBusy, IndexDamaged, LedgerError, LogUnavailable, UsageError
from ledger.log import ALERTS, DECISIONS, EVENTS, Log, LogIdentity
from ledger.storage.layout import DATA, IDENTITY
from schemas.ids import digest
from tests.support.folding import entries
from tests.support.histories import history
from tests.support.toy_facts import toy_facts

RECORDS = 5_000
FLIPS = 200
SEED = 20261130
NOW_MS = 1_800_000_000_000


@pytest.fixture(autouse=True)
def toys() -> Iterator[None]:
    with toy_facts():
        yield


async def fold(log: Log, directory: Path) -> dict[str, Any]:
    """Catch up with the log and publish; everything that two folds of one log must agree on."""
    index = CarrierIndex.create(directory, log.identity, 0)
    partition = Partition(log, index, 0)
    try:
        await partition.catch_up()
        with index.snapshot() as view:
            return {
                "offset": view.offset_next,
                "chain": view.chain,
                "duplicates": view.duplicates,
                "outbox": view.outbox(10),
                "scopes": {scope: view.scope_digest(scope) for scope in view.scopes()},
            }
    finally:
        partition.close()
        index.close()


def take_of(directory: Path, identity: LogIdentity, root: Path) -> snapshots.StoredSnapshot:
    index = CarrierIndex(directory, identity, 0)
    try:
        return take(index, root, created_ms=NOW_MS)
    finally:
        index.close()


async def outputs(log: Log) -> list[bytes]:
    return [entry.value for topic in (DECISIONS, ALERTS) for entry in await log.read(topic, 0, 0, max_entries=100_000)]


@pytest.fixture
async def log() -> AsyncIterator[MemoryLog]:
    """A log of one scope with 120 records, and room for more."""
    made = MemoryLog(log_id="one")
    await made.append(EVENTS, entries(history(SEED, 120)))
    yield made
    await made.close()


async def series(log: MemoryLog, tmp_path: Path, count: int = 3) -> tuple[Path, list[Path]]:
    """Snapshots of a growing log, oldest first."""
    root, taken = tmp_path / "snapshots", []
    for number in range(count):
        await log.append(EVENTS, entries(history((SEED, number), 30, f"scope-{number}")))
        await fold(log, tmp_path / "index")
        taken.append(take_of(tmp_path / "index", log.identity, root).path)
    return root, taken


async def test_snapshot_restored_elsewhere_goes_on_as_the_undisturbed_fold(tmp_path: Path) -> None:
    """P2, P9: 5,000 records, a snapshot, more records; then the same digest, the same outputs, none of them twice."""
    first, more = entries(history(SEED, RECORDS)), entries(history((SEED, "more"), 600, "other"))
    undisturbed, moved = LmdbLog.create(tmp_path / "undisturbed", 1), LmdbLog.create(tmp_path / "moved", 1)
    for each in (undisturbed, moved):
        await each.append(EVENTS, first)
    await fold(moved, tmp_path / "index")
    taken = take_of(tmp_path / "index", moved.identity, tmp_path / "snapshots")
    for each in (undisturbed, moved):
        await each.append(EVENTS, more)
    await fold(moved, tmp_path / "index")
    published = await outputs(moved)

    choice = latest(tmp_path / "snapshots", moved.identity, 0, offset_end=await moved.end(EVENTS, 0))
    assert choice.found == taken
    assert taken.manifest.offset_next == len(first)
    assert taken.manifest.created_ms == NOW_MS
    restore(taken.path, tmp_path / "elsewhere" / "p000")
    restored = await fold(moved, tmp_path / "elsewhere" / "p000")
    assert restored == await fold(undisturbed, tmp_path / "undisturbed-index")
    assert await outputs(moved) == published == await outputs(undisturbed)
    for each in (undisturbed, moved):
        await each.close()


async def test_snapshots_taken_while_the_fold_goes_on_stand_each_for_a_prefix(
    log: MemoryLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P2: rows and offset of a copy are those of one commit, whatever is committed meanwhile."""
    monkeypatch.setattr("consumers.partition.BATCH_ENTRIES", 5)
    await log.append(EVENTS, entries(history((SEED, "more"), 480, "more")))
    index = CarrierIndex.create(tmp_path / "index", log.identity, 0)
    partition, taken = Partition(log, index, 0), {}
    folding_on = asyncio.create_task(partition.catch_up())
    while not folding_on.done() and len(taken) < 8:
        made = await asyncio.to_thread(take, index, tmp_path / "snapshots", created_ms=NOW_MS)
        taken[made.manifest.offset_next] = made.path
    assert await folding_on == 600
    partition.close()
    index.close()
    assert len([offset for offset in taken if 0 < offset < 600]) >= 2
    expected = await fold(log, tmp_path / "index")
    for offset, path in taken.items():
        restore(path, tmp_path / "restored" / str(offset))
        assert await fold(log, tmp_path / "restored" / str(offset)) == expected


async def test_snapshot_taken_again_at_the_same_offset_is_the_same_one(log: MemoryLog, tmp_path: Path) -> None:
    root, (path,) = await series(log, tmp_path, 1)
    before = (path / MANIFEST).read_bytes()
    assert take_of(tmp_path / "index", log.identity, root).path == path
    assert (path / MANIFEST).read_bytes() == before
    assert sorted(each.name for each in path.iterdir()) == [DATA, IDENTITY, MANIFEST], "looking leaves no trace"


async def test_damaged_snapshot_is_replaced_by_one_of_the_same_offset(log: MemoryLog, tmp_path: Path) -> None:
    root, (path,) = await series(log, tmp_path, 1)
    os.truncate(path / DATA, 4096)
    with pytest.raises(SnapshotUnfit, match="has 4096 bytes"):
        verify(path)
    assert verify(take_of(tmp_path / "index", log.identity, root).path)


async def test_snapshot_with_a_flipped_bit_is_refused_or_unharmed(log: MemoryLog, tmp_path: Path) -> None:
    """P7: anywhere in any of its files. What is restored is the index that was copied, or nothing is."""
    _, (path,) = await series(log, tmp_path, 1)
    expected = await fold(log, tmp_path / "index")
    chance, refused = random.Random(SEED), 0
    for number in range(FLIPS):
        copy, target = tmp_path / f"copy-{number}", tmp_path / f"target-{number}"
        shutil.copytree(path, copy)
        damaged = copy / chance.choice((DATA, DATA, MANIFEST, IDENTITY))
        raw = bytearray(damaged.read_bytes())
        raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
        damaged.write_bytes(bytes(raw))
        found: list[object] = []
        for look in (lambda: verify(copy), lambda: restore(copy, target)):  # noqa: B023  called at once
            try:
                look()
            except SnapshotUnfit as error:
                found.append(error)
        if len(found) == 2:
            refused += 1
            assert not target.exists()
        else:
            assert await fold(log, target) == expected
        assert damaged.name != DATA or len(found) == 2, "no bit of the data file is harmless"
        shutil.rmtree(copy)
        shutil.rmtree(target, ignore_errors=True)
    print(f"{refused} of {FLIPS} flips refused, the others did not matter")
    assert refused > FLIPS // 2


def rewritten(path: Path, **fields: Any) -> None:
    """The manifest with other fields, under a checksum that is right: what another release or log would have written."""
    raw = json.loads((path / MANIFEST).read_bytes()) | fields | {"check": ""}
    raw["check"] = digest("snapshot", json.dumps(raw, separators=(",", ":"))).hex()
    (path / MANIFEST).write_text(json.dumps(raw), "utf-8")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"format": 2}, "format 2, this release reads format 1"),
        ({"index_format": 999}, "under index format 999"),
        ({"rules_version": "older"}, "under rules version older"),
        ({"offset_next": 3}, "stands at offset"),
        ({"chain": "00"}, "with chain"),
        ({"file_bytes": 3}, "bytes"),
        ({"file_sha256": "00"}, "SHA-256"),
        ({"partition": 1}, "two stores"),
        ({"log_id": "two"}, "two stores"),
    ],
)
async def test_newest_that_does_not_fit_is_refused_and_the_next_older_taken(
    log: MemoryLog, tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    """P7: each refusal says why, and costs no more than folding a little more of the log."""
    root, (_, older, newest) = await series(log, tmp_path)
    rewritten(newest, **fields)
    choice = latest(root, log.identity, 0, offset_end=await log.end(EVENTS, 0))
    assert choice.found is not None
    assert choice.found.path == older
    assert [(each.path, reason in each.reason) for each in choice.refused] == [(newest, True)]


@pytest.mark.parametrize(
    ("identity", "ahead", "reason"),
    [
        (LogIdentity("two", 1), 0, "of log one, not of two"),
        (LogIdentity("one", 2), 0, "with 1 partitions, not 2"),
        (LogIdentity("one", 1), 1, "the log ends at"),
    ],
)
async def test_snapshots_of_another_log_or_ahead_of_it_are_refused(
    log: MemoryLog, tmp_path: Path, identity: LogIdentity, ahead: int, reason: str
) -> None:
    """P1, P7: a log that is shorter than what was folded has lost records; no snapshot may hide that."""
    root, taken = await series(log, tmp_path)
    choice = latest(root, identity, 0, offset_end=await log.end(EVENTS, 0) - ahead)
    assert [reason in each.reason for each in choice.refused] == [True] * (1 if ahead else 3)
    assert (choice.found.path if choice.found else None) == (taken[1] if ahead else None)


async def test_snapshot_of_another_partition_under_a_wrong_folder_is_refused(log: MemoryLog, tmp_path: Path) -> None:
    root, _ = await series(log, tmp_path, 1)
    (root / "p000").rename(root / "p004")
    choice = latest(root, log.identity, 4, offset_end=1000)
    assert choice.found is None
    assert "of partition 0, not 4" in choice.refused[0].reason


def test_no_snapshot_at_all_is_no_error(tmp_path: Path) -> None:
    choice = latest(tmp_path / "none", LogIdentity("one", 1), 0, offset_end=10)
    assert (choice.found, choice.refused) == (None, ())
    assert prune(tmp_path / "none", LogIdentity("one", 1), 0, offset_end=10, keep=1) == []


async def test_snapshot_whose_place_another_log_has_taken_is_not_made(log: MemoryLog, tmp_path: Path) -> None:
    root, (path,) = await series(log, tmp_path, 1)
    other = MemoryLog(log_id="two")
    await other.append(EVENTS, entries(history(SEED, 120) + history((SEED, 0), 30, "scope-0")))
    await fold(other, tmp_path / "other")
    with pytest.raises(SnapshotUnfit, match="another log"):
        take_of(tmp_path / "other", other.identity, root)
    assert verify(path).log_id == "one"


async def test_restore_leaves_an_index_alone_unless_asked(log: MemoryLog, tmp_path: Path) -> None:
    """P7: replacing takes a word of its own, and gives the snapshot's state."""
    _, (first, *_) = await series(log, tmp_path)
    before = await fold(log, tmp_path / "index")
    with pytest.raises(UsageError, match="already"):
        restore(first, tmp_path / "index")
    assert await fold(log, tmp_path / "index") == before
    manifest = restore(first, tmp_path / "index", replace=True)
    index = CarrierIndex(tmp_path / "index", log.identity, 0)
    with index.snapshot() as view:
        assert (view.offset_next, view.chain.hex()) == (manifest.offset_next, manifest.chain)
    index.close()
    assert await fold(log, tmp_path / "index") == before, "the log gives back what the snapshot lacked"


async def test_restored_index_over_an_edited_log_is_noticed(log: MemoryLog, tmp_path: Path) -> None:
    """P8: the last folded offset is compared with the log before anything is folded on top."""
    _, (path,) = await series(log, tmp_path, 1)
    edited = MemoryLog(log_id="one")
    await edited.append(EVENTS, entries(history((SEED, "edited"), 150)))
    restore(path, tmp_path / "restored")
    with pytest.raises(LedgerError, match="something else"):
        await fold(edited, tmp_path / "restored")


async def test_damaged_row_of_the_index_is_never_kept_in_a_snapshot(log: MemoryLog, tmp_path: Path) -> None:
    """P7: a snapshot of a damaged index would bring the damage back with every restore."""
    await fold(log, tmp_path / "index")
    index = CarrierIndex(tmp_path / "index", log.identity, 0)
    with index.file.write() as txn, txn.cursor(db=index.file.database(ROWS)) as cursor:
        assert cursor.first()
        key, raw = bytes(cursor.key()), bytearray(cursor.value())
        raw[-1] ^= 1
        txn.put(key, bytes(raw), db=index.file.database(ROWS))
    with pytest.raises(IndexDamaged, match="not what was written"):
        take(index, tmp_path / "snapshots", created_ms=NOW_MS)
    index.close()
    assert [path for path in (tmp_path / "snapshots" / "p000").iterdir() if path.name != ".lock"] == []


async def test_prune_keeps_the_newest_sound_ones(log: MemoryLog, tmp_path: Path) -> None:
    """P7: a damaged snapshot counts for nothing, so it never drives out the last sound one."""
    root, taken = await series(log, tmp_path, 4)
    end = await log.end(EVENTS, 0)
    os.truncate(taken[3] / DATA, 4096)
    assert prune(root, log.identity, 0, offset_end=end, keep=4) == []
    assert prune(root, log.identity, 0, offset_end=end, keep=2) == [taken[3], taken[0]]
    assert [path.exists() for path in taken] == [False, True, True, False]
    assert prune(root, LogIdentity("two", 1), 0, offset_end=end, keep=1) == [], "what is of another log stays"
    with pytest.raises(UsageError, match="at least one"):
        prune(root, log.identity, 0, offset_end=end, keep=0)


async def test_snapshots_are_changed_by_one_process_at_a_time(log: MemoryLog, tmp_path: Path) -> None:
    root, _ = await series(log, tmp_path, 1)
    with snapshots._sole(root / "p000"), pytest.raises(IndexBusy):
        take_of(tmp_path / "index", log.identity, root)


@pytest.mark.parametrize("point", [snapshots.COPIED, snapshots.WRITTEN])
async def test_failed_write_is_an_error_with_a_name_and_leaves_nothing(log: MemoryLog, tmp_path: Path, point: str) -> None:
    """P7: a full disk ends the snapshot, not the fold, and the older ones stay."""
    root, (path,) = await series(log, tmp_path, 1)
    await log.append(EVENTS, entries(history((SEED, 9), 30, "scope-9")))
    await fold(log, tmp_path / "index")
    faults.arm(f"{point}:1:error")
    try:
        with pytest.raises(LogUnavailable, match="no snapshot can be made"):
            take_of(tmp_path / "index", log.identity, root)
    finally:
        faults.arm("")
    assert sorted(each.name for each in (root / "p000").iterdir()) == [".lock", path.name]
    assert verify(path)


async def test_restore_that_fails_leaves_the_index_as_it_was(log: MemoryLog, tmp_path: Path) -> None:
    _, (first, *_) = await series(log, tmp_path)
    before = await fold(log, tmp_path / "index")
    faults.arm(f"{snapshots.RESTORE_WRITTEN}:1:error")
    try:
        with pytest.raises(LogUnavailable, match="cannot be restored"), folding(tmp_path, wait=False):
            restore(first, tmp_path / "index", replace=True)
    finally:
        faults.arm("")
    assert await fold(log, tmp_path / "index") == before
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".index.restoring")]  # noqa: PTH208  names are all it takes


async def test_index_made_while_a_snapshot_is_restored_is_not_lost(
    log: MemoryLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P7: who restores without the lock of the fold fails, and takes nothing away."""
    _, (path,) = await series(log, tmp_path, 1)

    def make(point: str) -> None:
        if point == snapshots.RESTORE_WRITTEN:
            CarrierIndex.create(tmp_path / "target", log.identity, 0).close()

    monkeypatch.setattr(snapshots, "fault_point", make)
    with pytest.raises(LogUnavailable, match="cannot be restored"):
        restore(path, tmp_path / "target")
    index = CarrierIndex(tmp_path / "target", log.identity, 0)
    with index.snapshot() as view:
        assert view.offset_next == 0
    index.close()


def test_manifest_says_what_a_reader_needs() -> None:
    """Its fields are a contract with later releases: they only grow."""
    names = {field.name for field in msgspec.structs.fields(snapshots.SnapshotManifest)}
    assert names >= {"format", "log_id", "partitions", "partition", "offset_next", "chain", "index_format", "rules_version"}
    assert names >= {"lib_version", "file_bytes", "file_sha256", "created_ms", "check"}
