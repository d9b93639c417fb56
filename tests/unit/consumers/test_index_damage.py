"""A damaged index is noticed, reported, and rebuilt from the log to the same digest; it never answers for what it lost (P7)."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from consumers.stored_rows import rows_of
from ledger.errors import IndexDamaged, LedgerError
from ledger.facts import RULES_VERSION, extract
from ledger.log import ALERTS, DECISIONS, EVENTS, NewEntry
from ledger.state import ORDINAL_BYTES
from ops.queries.forgotten import forgotten
from ops.store import Store, open_store
from schemas.codec import encode
from schemas.ids import event_id
from schemas.records import AnyRecord, CompactionObserved, PlainText, SessionOpened, SpanRecorded, SummaryRecorded

FLIPS = 60


def history() -> list[AnyRecord]:
    """A session of 60 messages and a compaction that keeps little of it."""
    records: list[AnyRecord] = [
        SessionOpened(
            id=event_id("session.opened", "s", "s"), scope="s", session="s", store="none", rules_version=RULES_VERSION
        )
    ]
    for number in range(60):
        text = f"Service api-{number} accepts {100 + number} req/s. Never restart host-{number} before {number % 12 + 8}:30."
        name = f"s:{number}"
        records.append(
            SpanRecorded(
                id=event_id("span.recorded", "s", name),
                scope="s",
                session="s",
                span=name,
                role="user",
                turns=(number, number),
                text=PlainText(text),
                manifest=extract(text, "user", scope_key="s"),
            )
        )
    summary = "Service api-3 accepts 103 req/s."
    records.append(
        SummaryRecorded(
            id=event_id("summary.recorded", "s", "m"), scope="s", session="s", summary="m", text=PlainText(summary), round="r"
        )
    )
    observed = event_id("compaction.observed", "s", "r")
    records.append(CompactionObserved(id=observed, scope="s", session="s", round="r", ordinal=1, turn=59, summary="m"))
    return records


async def ends(store: Store) -> tuple[int, int]:
    return await store.log.end(DECISIONS, 0), await store.log.end(ALERTS, 0)


@pytest.fixture
async def built(tmp_path: Path) -> tuple[Path, str, tuple[int, int]]:
    """A log with its index, the digest, and how much was published."""
    url = f"lmdb:{tmp_path / 'log'}"
    async with open_store(url, create=True) as store:
        await store.log.append(EVENTS, [NewEntry(record.scope, encode(record)) for record in history()])
        await store.fold()
        with store.reading() as reading:
            return tmp_path / "log", reading.digest(), await ends(store)


def emptied(data: Path) -> None:
    data.write_bytes(b"")


def halved(data: Path) -> None:
    data.write_bytes(data.read_bytes()[: data.stat().st_size // 2])


def zeroed(data: Path) -> None:
    raw = bytearray(data.read_bytes())
    raw[:8192] = bytes(8192)
    data.write_bytes(bytes(raw))


def removed(data: Path) -> None:
    data.unlink()


def foreign(data: Path) -> None:
    data.write_bytes(b"SQLite format 3\0" + bytes(8192))


def gone(data: Path) -> None:
    shutil.rmtree(data.parent)


@pytest.mark.parametrize("damage", [emptied, halved, zeroed, removed, foreign, gone])
async def test_index_damaged_is_rebuilt_to_the_same_digest_and_publishes_nothing_twice(
    built: tuple[Path, str, tuple[int, int]], damage: Callable[[Path], None]
) -> None:
    """P7, P9: reported unless the whole directory is simply not there."""
    directory, digest, published = built
    damage(directory / "index" / "p000" / "data.mdb")
    notices: list[str] = []
    async with open_store(f"lmdb:{directory}", notice=notices.append) as store:
        await store.fold()
        with store.reading() as reading:
            assert reading.digest() == digest
        assert await ends(store) == published
    assert bool(notices) == (damage is not gone)


async def test_answer_over_an_index_with_a_flipped_key_is_the_right_one_or_none(
    built: tuple[Path, str, tuple[int, int]],
) -> None:
    """P7: keys of rows and of seats; a fact that cannot be found is not taken for one that nobody stated."""
    directory = built[0]
    right = await losses(directory)
    data = directory / "index" / "p000" / "data.mdb"
    async with open_store(f"lmdb:{directory}") as store:
        file = store.partitions[0].index.file
        with file.read() as txn:
            keys = [bytes(key) for key, _ in txn.cursor(db=rows_of(file).part)]
    chance = random.Random(11)
    chosen = chance.sample([key for key in keys if len(key) > ORDINAL_BYTES + 1], 2 * FLIPS)
    sound, noticed = data.read_bytes(), 0
    for key in chosen:
        flipped = bytearray(key)
        flipped[chance.randrange(ORDINAL_BYTES + 1, len(key))] ^= 1 << chance.randrange(8)
        data.write_bytes(sound.replace(key, bytes(flipped)))
        try:
            assert await losses(directory) == right
        except LedgerError:
            noticed += 1
    print(f"{noticed} of {len(chosen)} keys noticed, the others were not asked for")
    assert noticed


async def losses(directory: Path) -> bytes:
    """What the session forgot."""
    async with open_store(f"lmdb:{directory}") as store:
        with store.reading() as reading:
            found = reading.session("s")
            return msgspec.json.encode(await forgotten(reading, found, round_=None, classes=frozenset(), limit=0))


async def test_index_with_flipped_bits_is_noticed_or_unharmed(built: tuple[Path, str, tuple[int, int]]) -> None:
    """P7: random bits of the data pages; what is read is what was written, or the damage is an error with a name."""
    directory, digest, _ = built
    data = directory / "index" / "p000" / "data.mdb"
    sound = data.read_bytes()
    chance, noticed = random.Random(7), 0
    for _ in range(FLIPS):
        raw = bytearray(sound)
        at = chance.randrange(8192, len(raw))
        raw[at] ^= 1 << chance.randrange(8)
        data.write_bytes(bytes(raw))
        try:
            async with open_store(f"lmdb:{directory}") as store:
                for partition in store.partitions:
                    if partition.index.file.check_structure():
                        raise IndexDamaged("the pages are damaged")
                with store.reading() as reading:
                    assert reading.digest() == digest
        except LedgerError:
            noticed += 1
    print(f"{noticed} of {FLIPS} flips noticed, the others did not matter")
    assert noticed
