"""Waiting for decisions: one reader for all, nothing decoded that nobody waits for, and no answer that may be stale (P5)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import ledger.answers
from ledger.adapters.memory_log import MemoryLog
from ledger.client import LedgerClient
from ledger.errors import LogDamaged, LogUnavailable
from ledger.log import DECISIONS, EVENTS, Entry, Log, NewEntry
from ledger.refusals import AnswerUnknown, Refused
from ops import open_ledger
from ops.embedded import FoldingBackend
from ops.store import Store, scratch_store
from schemas.codec import decode_decision
from schemas.ids import Position
from tests.unit.client.test_client import LIMIT, NobodyDecides


class CountingLog(MemoryLog):
    """Counts reads of decisions, and refuses appends where it is told to."""

    def __init__(self, partitions: int = 1) -> None:
        super().__init__(partitions=partitions)
        self.reads: list[tuple[int, int]] = []
        self.down = False

    async def read(self, topic: str, partition: int, offset: int, **limits: Any) -> list[Entry]:
        if topic == DECISIONS:
            self.reads.append((partition, offset))
        return await super().read(topic, partition, offset, **limits)

    async def append(self, topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        if self.down:
            raise LogUnavailable("the log is down")
        return await super().append(topic, entries)


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    """A ledger in memory that a worker would fold."""
    async with scratch_store(CountingLog()) as store:
        yield store


async def appended(log: Log, count: int) -> None:
    """Wait until so many events stand in the log."""
    async with asyncio.timeout(30):
        while sum([await log.end(EVENTS, number) for number in range(log.identity.partitions)]) < count:  # noqa: ASYNC110  a log says nothing by itself
            await asyncio.sleep(0.01)


async def prepared(client: LedgerClient, name: str = "s", summary: str = LIMIT) -> tuple[Any, str]:
    scope = client.scope(name)
    span = await scope.record_span("m1", LIMIT)
    await scope.record_summary("sum-1", summary, covers=[span])
    return scope, span


async def test_grant_that_comes_after_the_client_gave_up_counts_for_nobody(store: Store) -> None:
    """P5: the withdrawal stands in the log before any decision, so the next request is decided without the phantom."""
    client = LedgerClient(store.log, NobodyDecides())
    scope, span = await prepared(client)
    with pytest.raises(AnswerUnknown, match="withdrawn"):
        await scope.request_compaction("sum-1", [span], request="late", timeout_s=0.05)
    worker = LedgerClient(store.log, FoldingBackend(store))
    await worker.nudge()
    decided = [decode_decision(entry.value).request_id for entry in await store.log.read(DECISIONS, 0, 0)]
    assert decided == ["late"]
    assert (await worker.outcome("s", "s", "late")).status == "withdrawn"
    assert (await worker.scope("s").request_compaction("sum-1", [span], request="next")).evict == (span,)


@pytest.mark.parametrize("decided_before", [True, False])
async def test_withdrawn_request_asked_again_is_no_grant(store: Store, decided_before: bool) -> None:
    """P3, P5: the recorded bytes say granted; what counts is that the grant was given back."""
    client = LedgerClient(store.log, NobodyDecides())
    scope, span = await prepared(client)
    with pytest.raises(AnswerUnknown):
        await scope.request_compaction("sum-1", [span], request="r1", timeout_s=0.05)
    worker = LedgerClient(store.log, FoldingBackend(store))
    if decided_before:
        await worker.nudge()
    with pytest.raises(AnswerUnknown, match="withdrawn before"):
        await worker.scope("s").request_compaction("sum-1", [span], request="r1")


async def test_applied_request_asked_again_gets_its_decision(store: Store) -> None:
    """P3: a program that was ended after it applied learns what it had."""
    client = LedgerClient(store.log, FoldingBackend(store))
    scope, span = await prepared(client)
    first = await scope.request_compaction("sum-1", [span], request="r1")
    await scope.applied(first)
    assert await client.scope("s").request_compaction("sum-1", [span], request="r1") == first
    assert (await client.outcome("s", "s", "r1")).status == "applied"
    assert (await client.outcome("s", "s", "never")).status == "absent"


async def test_decisions_for_others_are_not_decoded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header is matched first: the rest of the fleet costs its bytes and no more."""
    decoded: list[bytes] = []

    def counted(value: bytes) -> Any:
        decoded.append(value)
        return decode_decision(value)

    monkeypatch.setattr(ledger.answers, "decode_decision", counted)
    others = LedgerClient(store.log, NobodyDecides())
    for number in range(20):
        scope, span = await prepared(others, f"other-{number}")
        with pytest.raises(AnswerUnknown):
            await scope.request_compaction("sum-1", [span], request="same", timeout_s=0.01)
    mine = LedgerClient(store.log, FoldingBackend(store))
    scope, span = await prepared(mine)
    await scope.request_compaction("sum-1", [span], request="same")
    assert await store.log.end(DECISIONS, 0) == 21
    assert len(decoded) == 1


async def test_many_who_wait_share_one_reader(store: Store) -> None:
    """A thousand requests cost a handful of reads, not a loop each; every one gets its own answer."""
    log = store.log
    assert isinstance(log, CountingLog)
    client = LedgerClient(log, NobodyDecides())

    async def agent(number: int) -> str:
        scope, span = await prepared(client, f"agent-{number}", LIMIT if number % 2 else "Limits were discussed.")
        try:
            await scope.request_compaction("sum-1", [span], timeout_s=60)
        except Refused as refused:
            return str(refused.evidence[0].evidence.span).partition(":")[0]
        return "granted"

    agents = [asyncio.create_task(agent(number)) for number in range(200)]
    await appended(log, 800)
    await store.fold()
    answers = await asyncio.gather(*agents)
    assert answers == ["granted" if number % 2 else f"agent-{number}" for number in range(200)]
    assert len(log.reads) < 40


async def test_only_partitions_in_which_somebody_waits_are_read() -> None:
    async with scratch_store(CountingLog(partitions=8)) as store:
        log = store.log
        assert isinstance(log, CountingLog)
        client = LedgerClient(log, NobodyDecides())
        asked = []
        for name in ("one", "two"):
            scope, span = await prepared(client, name)
            asked.append(asyncio.create_task(scope.request_compaction("sum-1", [span], timeout_s=30)))
        await appended(log, 8)
        touched = {number for number in range(8) if await log.end(EVENTS, number)}
        await store.fold()
        log.reads.clear()
        await asyncio.gather(*asked)
        assert {number for number, _ in log.reads} <= touched


async def test_reader_that_nobody_needs_ends_and_skips_what_came_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that asks seldom does not read what the rest is told in between."""
    monkeypatch.setattr(ledger.answers, "LINGER_S", 0.02)
    log = store.log
    assert isinstance(log, CountingLog)
    client = LedgerClient(log, FoldingBackend(store))
    scope, span = await prepared(client)
    await scope.withdraw(await scope.request_compaction("sum-1", [span]))
    await asyncio.sleep(0.3)
    log.reads.clear()
    other = LedgerClient(log, FoldingBackend(store))
    for number in range(5):
        second, one = await prepared(other, f"other-{number}")
        await second.request_compaction("sum-1", [one])
    await other.close()  # its own reader is not what is looked at
    end = await log.end(DECISIONS, 0)
    log.reads.clear()
    await scope.request_compaction("sum-1", [span])
    assert min(offset for _, offset in log.reads) >= end


async def test_request_that_cannot_be_withdrawn_says_so(store: Store) -> None:
    """P5: the log went away; the request may be granted later, and whoever asked has to know."""
    log = store.log
    assert isinstance(log, CountingLog)
    scope, span = await prepared(LedgerClient(log, NobodyDecides()))
    asking = asyncio.create_task(scope.request_compaction("sum-1", [span], request="r1", timeout_s=0.2))
    await asyncio.sleep(0.05)
    log.down = True
    with pytest.raises(AnswerUnknown, match="could not be withdrawn"):
        await asking


async def test_damage_is_told_to_all_who_wait(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """L10: nobody waits in vain on a log that is damaged."""
    client = LedgerClient(store.log, NobodyDecides())
    scope, span = await prepared(client)

    async def broken(*_: object) -> bool:
        raise LogDamaged("the topic was cut short")

    monkeypatch.setattr(ledger.answers, "wait_for", broken)
    with pytest.raises(LogDamaged):
        await scope.request_compaction("sum-1", [span], timeout_s=30)


async def test_waiting_on_an_embedded_log_ends_where_another_process_folds(tmp_path: Path) -> None:
    """Design section 5: many processes append, one folds; the others find their answers on the topic."""
    url = f"lmdb:{tmp_path / 'log'}"
    async with open_ledger(url) as folder, open_ledger(url) as other:
        await prepared(folder, "first")
        scope, span = await prepared(other, "second")
        granted = await asyncio.gather(
            scope.request_compaction("sum-1", [span]),
            *(folder.scope("first").record_span(f"n{number}", LIMIT) for number in range(5)),
        )
        assert granted[0].evict == (span,)
