"""Owners are found again although they were asked for a moment ago; a fleet without workers is not asked all the time."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import Any

import msgspec
import pytest

import ledger.client
from consumers import membership
from consumers.membership import Member
from ledger.adapters.memory_log import MemoryLog
from ledger.client import LedgerClient
from ledger.errors import LogUnavailable
from ledger.log import LogIdentity
from ledger.refusals import AnswerUnknown
from ops import fleet
from ops.fleet import Fleet, FleetBackend
from ops.queries.quotes import Words
from ops.queries.unknown import unknown_words
from ops.settings import KafkaSettings
from ops.worker_client import NobodyAnswers, Reply
from ops.worker_questions import Question

GONE, THERE = "http://gone", "http://there"


class Workers(Fleet):
    """A fleet of which the group says one owner after the other, and of whose addresses one answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *owners: str) -> None:
        super().__init__("127.0.0.1:9", KafkaSettings(), LogIdentity("l", 1))
        self.asked, self._said = 0, list(owners)
        monkeypatch.setattr(membership, "members", self._members)

    async def _members(self, *_: Any) -> list[Member]:
        self.asked += 1
        owner = self._said.pop(0) if len(self._said) > 1 else self._said[0]
        return [Member(answers_at=owner, partitions=(0,))]

    async def _post(self, address: str, what: str, question: Question) -> Reply:
        if address == GONE:
            raise NobodyAnswers(f"{address} cannot be reached")
        return Reply([what.encode()], 0)


@pytest.mark.parametrize("ask", ["ask", "ask_all"])
async def test_owner_that_went_just_after_it_was_learnt_is_replaced(ask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers(monkeypatch, GONE, THERE)
    await workers.owners()
    answer = await getattr(workers, ask)("status", Question(scope="s"))
    assert (answer if ask == "ask" else answer[0]).lines == [b"status"]
    assert workers.asked == 2


async def test_owner_that_stays_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers(monkeypatch, GONE)
    with pytest.raises(NobodyAnswers, match="gone cannot be reached"):
        await workers.ask("status", Question(scope="s"))
    assert workers.asked == 2


async def test_fleet_without_workers_is_asked_once_for_many_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "ANEW_S", 60.0)
    workers = Workers(monkeypatch, "")
    for _ in range(20):
        with pytest.raises(NobodyAnswers):
            await workers.ask("status", Question(scope="s"))
    assert workers.asked == 1


async def test_owners_that_were_learnt_a_while_ago_are_asked_for_beside_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that says nothing holds up nobody whose owner is known."""
    workers = Workers(monkeypatch, THERE)
    await workers.owners()
    monkeypatch.setattr(fleet, "OWNERS_S", 0.0)
    monkeypatch.setattr(fleet, "ANEW_S", 0.0)
    silent = asyncio.Event()

    async def nothing(*_: Any) -> list[Member]:
        await silent.wait()
        raise LogUnavailable("the brokers are silent")

    monkeypatch.setattr(membership, "members", nothing)
    async with asyncio.timeout(5):
        for _ in range(3):
            assert (await workers.ask("status", Question(scope="s"))).lines == [b"status"]
            await asyncio.sleep(0)
        silent.set()
        await asyncio.sleep(0.01)
        assert (await workers.ask("status", Question(scope="s"))).lines == [b"status"]
    await workers.close()


async def test_brokers_that_could_not_say_who_owns_what_are_not_asked_by_each_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    workers = Workers(monkeypatch, THERE)

    async def nothing(*_: Any) -> list[Member]:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0.05)
        raise LogUnavailable("the brokers are silent")

    monkeypatch.setattr(membership, "members", nothing)

    async def ask() -> None:
        with pytest.raises(LogUnavailable, match="silent"):
            await workers.ask("status", Question(scope="s"))

    await asyncio.gather(*(ask() for _ in range(9)))
    await ask()
    assert asked == 1


async def test_members_are_told_within_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever listens there and says nothing, as a broker that stands still, is given up."""
    monkeypatch.setattr(membership, "REACH_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as standing:
        address = f"127.0.0.1:{standing.getsockname()[1]}"
        with pytest.raises(LogUnavailable, match=rf"kafka://{address}: no broker can be reached") as silent:
            async with asyncio.timeout(5):
                await membership.members(address, "")
    assert "KafkaConnectionError" not in str(silent.value)


async def test_partition_of_a_silent_log_is_not_folded_by_each_caller(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Silent(MemoryLog):
        asked = 0

        async def end(self, topic: str, partition: int) -> int:
            del topic, partition
            self.asked += 1
            await asyncio.sleep(60)
            return 0

    monkeypatch.setattr(fleet, "REACH_S", 0.1)
    monkeypatch.setenv("CLEDGER_DATA", str(tmp_path))
    log = Silent()
    client = LedgerClient(log, FleetBackend("kafka://127.0.0.1:9", log, Workers(monkeypatch, GONE)))

    async def ask() -> None:
        with pytest.raises(LogUnavailable, match="said nothing"):
            await client.scope("s").recall("40 req/s")

    async with asyncio.timeout(5):
        await asyncio.gather(*(ask() for _ in range(9)))
        await ask()
    assert log.asked == 1
    await client.close()


async def test_request_without_a_decision_says_that_nobody_owns_its_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    """P5: unknown and withdrawn, with the reason and the way out; with an owner it is named instead."""
    for owner, told in (("", "No worker owns partition 0"), (THERE, f"The worker at {THERE} owns partition 0")):
        log = MemoryLog()
        client = LedgerClient(log, FleetBackend("kafka://127.0.0.1:9", log, Workers(monkeypatch, owner)))
        scope = client.scope("s")
        span = await scope.record_span("m1", "The gateway accepts 40 req/s at most.")
        with pytest.raises(AnswerUnknown) as unknown:
            await scope.request_compaction("m", [span], timeout_s=0.05)
        assert told in unknown.value.hint
        assert ("cledger worker --log kafka://127.0.0.1:9" in unknown.value.hint) == (not owner)
        assert "ask again under a new request id" in unknown.value.hint
        await client.close()


async def test_reason_that_cannot_be_had_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """P5: the request is withdrawn and unknown, whoever cannot say why."""
    monkeypatch.setattr(ledger.client, "REASON_S", 0.05)

    async def nothing(*_: Any) -> list[Member]:
        await asyncio.sleep(60)
        return []

    log = MemoryLog()
    workers = Workers(monkeypatch, THERE)
    monkeypatch.setattr(membership, "members", nothing)
    scope = LedgerClient(log, FleetBackend("kafka://127.0.0.1:9", log, workers)).scope("s")
    async with asyncio.timeout(5):
        with pytest.raises(AnswerUnknown, match="it was withdrawn"):
            await scope.request_compaction("m", [], timeout_s=0.05)


async def test_words_of_a_refusal_are_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """V1: an owner whose index lags says that it does not know; that is no fact without words."""
    monkeypatch.setattr(fleet, "ASK_AGAIN_S", 0.01)
    monkeypatch.setenv("CLEDGER_DATA", str(tmp_path))
    asked: list[Question] = []

    class Lagging(Workers):
        async def _post(self, address: str, what: str, question: Question) -> Reply:
            asked.append(question)
            words = Words(status="ok", text="40 req/s") if len(asked) > 2 else unknown_words(1)
            return Reply([msgspec.json.encode(Words(status="absent", text="")), msgspec.json.encode(words)], 0)

    log = MemoryLog()
    backend = FleetBackend("kafka://127.0.0.1:9", log, Lagging(monkeypatch, THERE))
    places = [("m1", None, None), ("m1", 0, 8)]
    assert await backend.quote("s", places) == ["", "40 req/s"]
    assert len(asked) == 3
