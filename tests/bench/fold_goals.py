"""G5, G8 and G9: folding with synced commits, rebuilding from the log, and one run that grows."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import lmdb
import msgspec

from consumers.carrier_index import HASH_BYTES, Batch, CarrierIndex, entry_hash
from consumers.partition import BATCH_ENTRIES, Partition
from consumers.snapshots import restore, take
from consumers.stored_rows import SEAT_OF, rows_of
from ledger.log import EVENTS, Log, NewEntry
from ledger.state import ORDINAL_BYTES
from ledger.transcripts.reading import Transcript
from ops.store import Store
from ops.transcripts import read_records
from ops.wiring import open_log, scratch_log
from schemas.codec import encode
from schemas.ids import digest
from schemas.records import AnyRecord
from tests.bench.harness import Case, Side, Timed
from tests.bench.inputs import Inputs, growing, opening, span

_numbers = itertools.count()
Change = tuple[bytes, Any]


class NotingIndex(CarrierIndex):
    """An index that remembers what each batch wrote, so that the same can be written without any of the ledger."""

    noted: list[list[tuple[bytes, bytes | None]]]

    @contextmanager
    def batch(self) -> Iterator[Batch]:
        """As the index does, with the changes noted before they are written."""
        with super().batch() as batch:
            yield batch
            self.noted.append(_changes(batch))


def _changes(batch: Batch) -> list[tuple[bytes, bytes | None]]:
    encoded = msgspec.msgpack.Encoder().encode
    found: list[tuple[bytes, bytes | None]] = []
    for _, stored, draft in batch._drafts.values():
        places = ((stored.place_for(table, key), row) for table, key, row in draft.changes())
        found += [(place, encoded(row) if row is not None else None) for place, row in places]
    return sorted(found, key=lambda change: change[0])


def fresh(folder: Path) -> Path:
    """A directory that does not exist yet."""
    return folder / f"made-{next(_numbers)}"


async def _filled(log: Log, records: list[AnyRecord]) -> None:
    for at in range(0, len(records), BATCH_ENTRIES):
        await log.append(EVENTS, [NewEntry(record.scope, encode(record)) for record in records[at : at + BATCH_ENTRIES]])


async def _folded(log: Log, directory: Path, kind: type[CarrierIndex] = CarrierIndex) -> CarrierIndex:
    """Fold a whole log into a new index; nothing is published."""
    index = kind.create(directory, log.identity, 0)
    if isinstance(index, NotingIndex):
        index.noted = []
    partition = Partition(log, index, 0, publish=False)
    await partition.catch_up()
    partition.close()
    return index


def _rows(index: CarrierIndex) -> dict[bytes, bytes]:
    rows = rows_of(index.file)
    with index.file.read() as txn:
        places = ((bytes(key), value) for key, value in txn.cursor(db=rows.part))
        return {key: rows.read(txn, key, value) for key, value in places if key[ORDINAL_BYTES:][:1] != SEAT_OF}


def _of_file(inputs: Inputs) -> list[AnyRecord]:
    with Transcript(inputs.fold_file) as transcript:
        return list(read_records(transcript))


def g5(inputs: Inputs) -> Case:
    """Decode, fold and commit against the same rows written to a bare LMDB file in equal, synced batches."""
    records = _of_file(inputs)
    log = scratch_log()
    asyncio.run(_filled(log, records))
    noting = asyncio.run(_folded(log, fresh(inputs.folder), NotingIndex))
    assert isinstance(noting, NotingIndex)
    batches, expected = noting.noted, _rows(noting)
    noting.close()

    def ours() -> float:
        asyncio.run(_folded(log, fresh(inputs.folder))).close()
        return len(records)

    def bare() -> float:
        _write_bare(fresh(inputs.folder), batches)
        return len(records)

    def check() -> str:
        written = _write_bare(fresh(inputs.folder), batches)
        return "" if written == expected else "the rows written plainly are not the rows of the index"

    return Case(
        code="G5", what="fold with synced commits ÷ the same rows into bare LMDB", a=Side("fold", ours), b=Side("bare", bare),
        unit="records", check=check, note="no goal before there is a raw consumer to compare with",
    )  # fmt: skip


def _write_bare(directory: Path, batches: list[list[tuple[bytes, bytes | None]]]) -> dict[bytes, bytes]:
    directory.mkdir()
    env = lmdb.open(str(directory), map_size=1 << 32, max_dbs=1)
    try:
        rows = env.open_db(b"rows")
        for batch in batches:
            with env.begin(write=True) as txn:
                for key, value in batch:
                    if value is None:
                        txn.delete(key, db=rows)
                    else:
                        txn.put(key, value, db=rows)
        with env.begin() as txn:
            return {bytes(key): bytes(value) for key, value in txn.cursor(db=rows)}
    finally:
        env.close()


LIVE_RECORDS = 20
"""Records that arrive together while live: a publisher's message or two, with what goes with it."""


@asynccontextmanager
async def _store(directory: Path) -> Any:
    """An embedded log with its index, opened as the command line opens it."""
    from ops.store import open_store

    async with open_store(f"lmdb:{directory}", create=True) as store:
        yield store


async def _live(directory: Path, records: list[AnyRecord]) -> str:
    async with _store(directory) as store:
        for at in range(0, len(records), LIVE_RECORDS):
            await store.log.append(EVENTS, [NewEntry(one.scope, encode(one)) for one in records[at : at + LIVE_RECORDS]])
            await store.fold()
        return _digest(store)


def _digest(store: Store) -> str:
    with store.reading() as reading:
        return reading.digest()


async def _rebuilt(log: Log, directory: Path) -> str:
    index = await _folded(log, directory)
    store = Store(log, [Partition(log, index, 0, publish=False)], directory.parent)
    found = _digest(store)
    for partition in store.partitions:
        partition.close()
    index.close()
    return found


def g8(inputs: Inputs) -> Case:
    """A new index from the log against live folding: append, fold, commit and publish every few records."""
    records = list(growing("rebuild", 2500))
    where = fresh(inputs.folder)
    lived = asyncio.run(_live(where, records))
    log = asyncio.run(open_log(f"lmdb:{where}", create=False))

    def rebuild() -> float:
        asyncio.run(_rebuilt(log, fresh(inputs.folder)))
        return len(records)

    def live() -> float:
        asyncio.run(_live(fresh(inputs.folder), records))
        return len(records)

    def check() -> str:
        return "" if asyncio.run(_rebuilt(log, fresh(inputs.folder))) == lived else "the rebuilt state has another digest"

    return Case(
        code="G8", what="rebuild from the log ÷ live", a=Side("rebuild", rebuild), b=Side("live", live), unit="records",
        goal=1.5, check=check, rounds_max=5,
        note=f"hashing cannot be switched off; {_hash_share(records)}",
    )  # fmt: skip


def g8_snapshot(inputs: Inputs) -> Case:
    """An index restored from a snapshot and checked against the log, against one folded from the log."""
    records = list(growing("snapshot", 10_000))
    log = scratch_log()
    asyncio.run(_filled(log, records))
    index = asyncio.run(_folded(log, fresh(inputs.folder)))
    stored = take(index, fresh(inputs.folder), created_ms=0)
    index.close()

    def restored() -> str:
        where = fresh(inputs.folder)
        restore(stored.path, where)
        return asyncio.run(_resumed(log, where))

    def resume() -> float:
        where = fresh(inputs.folder)
        restore(stored.path, where)
        asyncio.run(_resumed(log, where, digest=False))
        return len(records)

    def rebuild() -> float:
        asyncio.run(_folded(log, fresh(inputs.folder))).close()
        return len(records)

    def check() -> str:
        return "" if restored() == asyncio.run(_rebuilt(log, fresh(inputs.folder))) else "the restored state has another digest"

    return Case(
        code="G8 snapshot", what="resume from a snapshot ÷ rebuild from the log", a=Side("resume", resume), unit="records",
        b=Side("rebuild", rebuild), goal=20.0, check=check, rounds_max=3, note="restoring verifies every page and row",
    )  # fmt: skip


async def _resumed(log: Log, directory: Path, *, digest: bool = True) -> str:
    """Open a restored index, compare it with the log, fold what is missing: nothing. Its digest."""
    index = CarrierIndex(directory, log.identity, 0)
    partition = Partition(log, index, 0, publish=False)
    await partition.catch_up()
    found = _digest(Store(log, [partition], directory.parent)) if digest else ""
    partition.close()
    index.close()
    return found


def _hash_share(records: list[AnyRecord]) -> str:
    """What hashing every entry and chaining the hashes takes of a fold, by CPU."""
    log = scratch_log()
    asyncio.run(_filled(log, records))
    values = [(record.scope, encode(record)) for record in records]
    chain = b"\0" * HASH_BYTES
    start = time.process_time()
    for offset, (key, value) in enumerate(values):
        chain = digest("chain", chain, offset.to_bytes(8, "big"), entry_hash(key, value), size=HASH_BYTES)
    hashing = time.process_time() - start
    partition = time.process_time()
    asyncio.run(_folded_in_memory(log))
    whole = time.process_time() - partition
    return f"it takes {hashing / whole:.1%} of the fold's CPU, so on ÷ off is {1 - hashing / whole:.2f} (goal 0.80)"


async def _folded_in_memory(log: Log) -> None:
    from ops.store import scratch_store

    async with scratch_store(log, publish=False) as store:
        await store.fold()


EDGE = 10_000
"""Records at the beginning and at the end of a growing run that are compared."""


def g9(inputs: Inputs) -> Case:
    """One scope that grows: the last records of the run against the first ones, in one and the same run."""
    count = max(inputs.records, 3 * EDGE)

    def grown() -> tuple[Timed, Timed]:
        first, last = asyncio.run(_grown(fresh(inputs.folder), count))
        return last, first

    return Case(
        code="G9", what=f"records {count - EDGE:,} to {count:,} of one scope ÷ the first {EDGE:,}", pair=grown, unit="records",
        goal=1 / 1.2, rounds_max=2, note="with compactions, one for every 500 messages; --records sets the length of the run",
        why="the rows of a scope lie on more pages as it grows, so a commit writes more of them",
    )  # fmt: skip


async def _grown(directory: Path, count: int) -> tuple[Timed, Timed]:
    """Rates of the first and of the last `EDGE` records."""
    log = scratch_log()
    index = CarrierIndex.create(directory, log.identity, 0)
    partition = Partition(log, index, 0)
    used: list[Timed] = []
    source = growing("grown", count)
    while batch := list(itertools.islice(source, BATCH_ENTRIES)):
        await log.append(EVENTS, [NewEntry(record.scope, encode(record)) for record in batch])
        cpu, wall = time.process_time(), time.perf_counter()
        await partition.catch_up()
        used.append((time.process_time() - cpu, time.perf_counter() - wall))
    partition.close()
    index.close()
    edge = EDGE // BATCH_ENTRIES
    first, last = ((sum(one[0] for one in part), sum(one[1] for one in part)) for part in (used[:edge], used[-edge:]))
    return (EDGE / first[0], EDGE / first[1]), (EDGE / last[0], EDGE / last[1])


MANY, FEW, SCOPE_RECORDS = 10_000, 100, 30_000


def many_scopes(scopes: int) -> list[AnyRecord]:
    """`MANY` sessions and their messages in turn, in as many scopes: the same records but for the scope they are in."""
    names = [(f"scope-{number % scopes:07}", f"session-{number:07}") for number in range(MANY)]
    records: list[AnyRecord] = [opening(scope, session) for scope, session in names]
    records += [span(*names[number % MANY], number // MANY + 1) for number in range(SCOPE_RECORDS - MANY)]
    return records


def g9_scopes(inputs: Inputs) -> Case:
    """The same work spread over many scopes and over few."""
    logs = {}
    for scopes in (MANY, FEW):
        logs[scopes] = scratch_log()
        asyncio.run(_filled(logs[scopes], many_scopes(scopes)))

    def run(scopes: int) -> float:
        asyncio.run(_folded(logs[scopes], fresh(inputs.folder))).close()
        return SCOPE_RECORDS

    return Case(
        code="G9 scopes", what=f"{SCOPE_RECORDS:,} records in {MANY:,} scopes ÷ in {FEW:,}", a=Side("many", lambda: run(MANY)),
        b=Side("few", lambda: run(FEW)), unit="records", goal=1 / 1.5, rounds_max=2,
        note=f"{MANY:,} sessions on both sides; they differ in how many of them share a scope",
    )  # fmt: skip
