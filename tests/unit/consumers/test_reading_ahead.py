"""Reading ahead of the fold: bounded, in order, and a fault of the log reaches who waits (design section 5)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from consumers import reading_ahead
from consumers.enforcement import RUN_ENTRIES, TAIL_ENTRIES, end_soon, is_request, is_round
from consumers.reading_ahead import ReadAhead
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import LogUnavailable
from ledger.log import EVENTS, Entry, NewEntry
from schemas.codec import encode
from schemas.ids import Position
from schemas.records import AnyRecord
from tests.support import given as g
from tests.support.folding import entries

PATIENCE_S = 5.0


class Failing(MemoryLog):
    """Cannot be read once told so."""

    def __init__(self) -> None:
        super().__init__(partitions=1)
        self.broken = False

    async def read(
        self, topic: str, partition: int, offset: int, *, max_entries: int = 1000, max_bytes: int = 8 << 20
    ) -> list[Entry]:
        if self.broken:
            raise LogUnavailable("out of reach")
        return await super().read(topic, partition, offset, max_entries=max_entries, max_bytes=max_bytes)


@pytest.fixture
def log() -> Failing:
    return Failing()


@pytest.fixture
async def ahead(log: Failing) -> AsyncIterator[ReadAhead]:
    made = ReadAhead(log, 0, lambda _: None)
    yield made
    await made.stop()


async def filled(log: MemoryLog, count: int) -> None:
    await log.append(EVENTS, entries([g.span(number, "n:40", manifest=False) for number in range(count)]))


async def test_what_waits_comes_once_and_in_order(log: Failing, ahead: ReadAhead) -> None:
    await filled(log, 50)
    ahead.start(3)
    found: list[int] = []
    while len(found) < 47:
        assert await ahead.arrived(PATIENCE_S)
        found += [entry.position.offset for entry in ahead.take(10, 1 << 20)]
    assert found == list(range(3, 50))
    assert not await ahead.arrived(0.01)


async def test_no_more_is_held_than_the_limit(log: Failing, ahead: ReadAhead, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backlog is not taken into memory; room that is made is filled again."""
    monkeypatch.setattr(reading_ahead, "AHEAD_ENTRIES", 20)
    monkeypatch.setattr(reading_ahead, "READ_ENTRIES", 10)
    await filled(log, 100)
    ahead.start(0)
    assert await ahead.arrived(PATIENCE_S)
    await asyncio.sleep(0.05)
    assert len(list(ahead)) == 20
    ahead.take(15, 1 << 20)
    await asyncio.sleep(0.05)
    assert [entry.position.offset for entry in ahead][:1] == [15]
    assert len(list(ahead)) == 25


async def test_fault_of_the_log_comes_after_what_was_read_and_reading_can_begin_anew(log: Failing, ahead: ReadAhead) -> None:
    await filled(log, 2)
    ahead.start(0)
    assert await ahead.arrived(PATIENCE_S)
    log.broken = True
    await filled(log, 1)
    await asyncio.sleep(0.05)
    assert len(ahead.take(10, 1 << 20)) == 2
    with pytest.raises(LogUnavailable):
        await ahead.arrived(PATIENCE_S)
    log.broken = False
    ahead.start(2)
    assert await ahead.arrived(PATIENCE_S)
    assert [entry.position.offset for entry in ahead.take(10, 1 << 20)] == [2]


def row(*records: AnyRecord) -> list[Entry]:
    made = [NewEntry(record.scope, encode(record)) for record in records]
    return [Entry(Position(EVENTS, 0, at), entry.key, entry.value) for at, entry in enumerate(made)]


def spans(count: int) -> list[AnyRecord]:
    return [g.span(number, "n:40", manifest=False) for number in range(count)]


def test_request_behind_many_entries_begins_a_batch_of_its_own() -> None:
    """It can be answered while they are folded; behind few it goes with them, for a commit costs as much."""
    asks = g.request("q1", "m1", 1)
    many, few = row(*spans(RUN_ENTRIES), asks), row(*spans(RUN_ENTRIES - 1), asks)
    assert end_soon(many) == many[:-1]
    assert end_soon(few) == few
    assert is_request(few[-1].value)


def test_batch_ends_some_entries_behind_its_last_request() -> None:
    found = end_soon(row(g.request("q1", "m1", 1), *spans(TAIL_ENTRIES + 50)))
    assert len(found) == 1 + TAIL_ENTRIES


def test_round_is_a_batch_of_its_own() -> None:
    entries_ = row(*spans(3), g.observed("r1", None, turn=3), *spans(2))
    assert end_soon(entries_) == entries_[:3]
    assert end_soon(entries_[3:]) == entries_[3:4]
    assert is_round(entries_[3].value)
