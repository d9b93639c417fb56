"""The Python API against a fleet: decided by workers, fail closed, and only what concerns the client is read (P3, P5)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ledger.client import LedgerClient
from ledger.log import DECISIONS, EVENTS, NewEntry, partition_of
from ledger.recorder import made
from ledger.refusals import AnswerUnknown, RecallFloorViolation, RehydrationBoundaryError
from ops import open_ledger, open_ledger_sync
from schemas.codec import decode_decision, encode
from schemas.records import Candidate, Claim, CompactionRequested
from tests.support.fleet import Fleet, fleet

pytestmark = pytest.mark.integration
LIMIT = "The gateway accepts 40 req/s at most."
PARTITIONS = 4
WAIT_S = 60.0
"""How long a request waits here: workers of a loaded machine take their time to come up."""


@pytest.fixture
async def ledger(broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Fleet]:
    """A ledger on Kafka and its workers, none of them started yet."""
    async with fleet(broker, tmp_path / "fleet", PARTITIONS, toy=False) as workers:
        monkeypatch.setenv("CLEDGER_KAFKA_PREFIX", workers.log.prefix)
        monkeypatch.setenv("CLEDGER_DATA", str(tmp_path / "client"))
        monkeypatch.delenv("CLEDGER_TOKEN_FILE", raising=False)
        yield workers


def folded_here(ledger: Fleet) -> list[str]:
    """Partitions of which the client made an index."""
    return [path.parent.name for path in (ledger.folder.parent / "client").rglob("data.mdb")]


async def prepared(client: LedgerClient, name: str, summary: str = LIMIT) -> tuple[Any, str]:
    scope = client.scope(name)
    span = await scope.record_span("m1", LIMIT)
    await scope.record_summary("sum-1", summary, covers=[span])
    return scope, span


async def test_fleet_decides_answers_and_is_told(ledger: Fleet) -> None:
    """Contracts section 5: the same calls as on an embedded log; the client folds nothing."""
    ledger.start("w1")
    async with open_ledger(ledger.url) as client:
        scope, span = await prepared(client, "agent-1", "Limits were discussed.")
        with pytest.raises(RecallFloorViolation) as refused:
            await scope.request_compaction("sum-1", [span], timeout_s=WAIT_S)
        assert any("40 req/s" in item.fact_text for item in refused.value.evidence)
        await scope.record_summary("sum-2", LIMIT, covers=[span])
        grant = await scope.request_compaction("sum-2", [span], request="r1", timeout_s=WAIT_S)
        assert (await client.outcome("agent-1", "agent-1", "r1")).status == "pending"
        await scope.applied(grant)
        assert (await client.outcome("agent-1", "agent-1", "r1")).status == "applied"
        (answer,) = [one for one in await scope.recall("40 req/s") if one.cls == "numeric"]
        assert (answer.answer, answer.carriers[0].id) == ("anchored", "sum-2")
        with pytest.raises(RehydrationBoundaryError):
            await scope.gate([Claim(text="The gateway accepts 900 req/s.", key="no-such-span")], timeout_s=WAIT_S)
        backend: Any = client._backend
        assert backend.answered["here"] == 0
        assert backend.answered["worker"] >= 3
    assert not folded_here(ledger), "the client folded"


async def test_client_started_again_gets_the_recorded_decision(ledger: Fleet) -> None:
    """P3: it published, was ended, and asks again under the same id: the owner says it again, on the topic and over HTTP."""
    async with open_ledger(ledger.url) as client:
        _, span = await prepared(client, "agent-1")
        fields = {"request": "r1", "summary": "sum-1", "evictions": (Candidate(span=span),), "mode": "all"}
        asked = made(CompactionRequested, "agent-1", "agent-1", **fields)
        await ledger.log.append(EVENTS, [NewEntry("agent-1", encode(asked))])
    ledger.start("w1")
    await ledger.settled()
    async with open_ledger(ledger.url) as client:
        number = partition_of("agent-1", PARTITIONS)
        (recorded,) = await ledger.log.read(DECISIONS, number, 0)
        again = await client.scope("agent-1").request_compaction("sum-1", [span], request="r1", timeout_s=WAIT_S)
        assert again == decode_decision(recorded.value)
        told = await client.outcome("agent-1", "agent-1", "r1")
        assert (told.status, told.decision["id"]) == ("pending", again.id)


async def test_late_grant_is_withdrawn_before_it_is_given(ledger: Fleet) -> None:
    """P5: nobody decides in time, the client withdraws; when the worker comes it decides, finds the withdrawal, and the next
    request is decided without the phantom.
    """
    async with open_ledger(ledger.url) as client:
        scope, span = await prepared(client, "agent-1")
        with pytest.raises(AnswerUnknown, match="withdrawn") as unknown:
            await scope.request_compaction("sum-1", [span], request="late", timeout_s=0.5)
        assert f"No worker owns partition {partition_of('agent-1', PARTITIONS)}" in unknown.value.hint
        assert f"cledger worker --log {ledger.url}" in unknown.value.hint
        ledger.start("w1")
        await ledger.settled()
        (late,) = await ledger.log.read(DECISIONS, partition_of("agent-1", PARTITIONS), 0)
        assert decode_decision(late.value).request_id == "late"
        assert (await client.outcome("agent-1", "agent-1", "late")).status == "withdrawn"
        with pytest.raises(AnswerUnknown, match="withdrawn before"):
            await scope.request_compaction("sum-1", [span], request="late", timeout_s=WAIT_S)
        assert (await scope.request_compaction("sum-1", [span], request="next", timeout_s=WAIT_S)).evict == (span,)


async def test_without_workers_the_one_partition_is_folded_here_and_that_is_said(
    ledger: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    """P4: an answer all the same, of one partition, and nothing published."""
    async with open_ledger(ledger.url) as client:
        scope, _ = await prepared(client, "agent-1")
        with caplog.at_level(logging.WARNING, "cledger.client"):
            assert {one.answer for one in await scope.recall("40 req/s")} == {"anchored"}
        assert "folding the partition here" in caplog.text
        backend: Any = client._backend
        assert backend.answered == {"here": 1}
        assert folded_here(ledger) == [f"p{partition_of('agent-1', PARTITIONS):03}"]
        assert await ledger.log.end(DECISIONS, partition_of("agent-1", PARTITIONS)) == 0


async def test_client_reads_decisions_of_its_own_partitions_and_nothing_else(ledger: Fleet) -> None:
    """Bytes read stay near the bytes of the answers: no event is read, and no partition without a scope of the client's."""
    ledger.start("w1")
    async with open_ledger(ledger.url) as busy, open_ledger(ledger.url) as quiet:
        scope, span = await prepared(quiet, "quiet")
        await scope.withdraw(await scope.request_compaction("sum-1", [span], timeout_s=WAIT_S))
        log: Any = quiet._log
        first = log.bytes_read[DECISIONS]
        elsewhere = [
            f"busy-{n}" for n in range(60) if partition_of(f"busy-{n}", PARTITIONS) != partition_of("quiet", PARTITIONS)
        ]
        await asyncio.gather(*(ask(busy, name) for name in elsewhere))
        await scope.request_compaction("sum-1", [span], timeout_s=WAIT_S)
        assert log.bytes_read[EVENTS] == 0
        assert log.bytes_read[DECISIONS] <= 3 * first, "a second answer costs as much as the first, whatever others ask"


async def ask(client: LedgerClient, name: str, summary: str = LIMIT) -> str:
    scope, span = await prepared(client, name, summary)
    try:
        await scope.request_compaction("sum-1", [span], request="same", timeout_s=WAIT_S)
    except RecallFloorViolation:
        return "refused"
    return "granted"


async def test_many_scopes_ask_two_workers_at_once(ledger: Fleet) -> None:
    """Each gets its own answer, though all of them call their request the same."""
    ledger.start("w1")
    ledger.start("w2")
    async with open_ledger(ledger.url) as client:
        answers = await asyncio.gather(
            *(ask(client, f"agent-{n}", LIMIT if n % 2 else "Limits were discussed.") for n in range(120))
        )
    assert answers == ["granted" if n % 2 else "refused" for n in range(120)]


async def test_synchronous_facade_asks_the_fleet(ledger: Fleet) -> None:
    """Contracts section 5: the same calls without an event loop, on either log."""
    ledger.start("w1")

    def program() -> str:
        with open_ledger_sync(ledger.url) as client:
            scope = client.scope("agent-1")
            span = scope.record_span("m1", LIMIT)
            scope.record_summary("sum-1", LIMIT, covers=[span])
            scope.applied(scope.request_compaction("sum-1", [span], timeout_s=WAIT_S))
            return {answer.answer for answer in scope.recall("40 req/s")}.pop()

    assert await asyncio.to_thread(program) == "anchored"
