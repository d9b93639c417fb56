"""The outbox goes out in few appends, in order, and stops at the first that fails; decisions go out before their commit is
durable, and once (P9, design section 5).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from consumers.carrier_index import Batch, CarrierIndex, Output
from consumers.partition import Partition
from ledger import faults
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import LogUnavailable
from ledger.log import ALERTS, DECISIONS, EVENTS, NewEntry
from schemas.ids import Position, digest
from tests.support.folding import ends, entries, fold_all, published
from tests.support.given import opened, request, span, summary
from tests.support.toy_facts import toy_facts

ROUNDS = 25


class CountingLog(MemoryLog):
    """Counts appends to the output topics, and refuses one topic as long as it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.appends: list[str] = []
        self.refused = ""

    async def append(self, topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        if topic == self.refused:
            raise LogUnavailable(f"{topic} is not to be had")
        self.appends.append(topic)
        return await super().append(topic, entries)


def outputs() -> list[Output]:
    """Two scopes in turn, each time a decision and the alerts that it causes."""
    made: list[Output] = []
    for number in range(ROUNDS):
        scope = f"s{number % 2}"
        for topic in (DECISIONS, ALERTS, ALERTS):
            seq = len(made) + 1
            id_ = digest(scope, str(seq)).hex()
            value = b'{"id":"%s","output_seq":%d}' % (id_.encode(), seq)
            made.append(Output(topic, scope, id_, "", seq, number, value))
    return made


@pytest.fixture
def filled(tmp_path: Path) -> tuple[CountingLog, CarrierIndex]:
    log = CountingLog()
    index = CarrierIndex.create(tmp_path / "index", log.identity, 0)
    with index.batch() as batch:
        for output in outputs():
            batch.emit(output)
    return log, index


async def sent(log: MemoryLog, topic: str) -> list[bytes]:
    return [entry.value for entry in await log.read(topic, 0, 0)]


def of_topic(topic: str) -> list[bytes]:
    return [output.value for output in outputs() if output.topic == topic]


async def test_alternating_outputs_take_one_append_a_topic(filled: tuple[CountingLog, CarrierIndex]) -> None:
    """Order is kept within each scope and topic, whatever topics come in turn."""
    log, index = filled
    partition = Partition(log, index, 0)
    await partition.publish()
    assert log.appends == [DECISIONS, ALERTS]
    assert [await sent(log, topic) for topic in (DECISIONS, ALERTS)] == [of_topic(topic) for topic in (DECISIONS, ALERTS)]
    with index.snapshot() as snapshot:
        assert snapshot.outbox(1) == []
    partition.close()


@pytest.mark.parametrize("refused", [DECISIONS, ALERTS])
async def test_after_a_failed_append_nothing_later_is_sent(filled: tuple[CountingLog, CarrierIndex], refused: str) -> None:
    """What went out before the failure is noted, the rest waits, and a second attempt sends each output once."""
    log, index = filled
    partition = Partition(log, index, 0)
    log.refused = refused
    with pytest.raises(LogUnavailable):
        await partition.publish()
    assert log.appends == ([] if refused == DECISIONS else [DECISIONS])
    log.refused = ""
    await partition.publish()
    assert [await sent(log, topic) for topic in (DECISIONS, ALERTS)] == [of_topic(topic) for topic in (DECISIONS, ALERTS)]
    partition.close()


async def test_outbox_is_taken_in_pieces_of_few_bytes(filled: tuple[CountingLog, CarrierIndex]) -> None:
    """A piece ends with the output that reaches the limit, and there is always one."""
    _, index = filled
    with index.snapshot() as snapshot:
        assert len(snapshot.outbox(10)) == 10
        assert len(snapshot.outbox(10, max_bytes=1)) == 1
        size = len(outputs()[0].value)
        assert len(snapshot.outbox(10, max_bytes=2 * size)) == 2


class Asked:
    """A session that has a span, and a partition that follows its log."""

    def __init__(self, log: CountingLog, root: Path) -> None:
        self.log, self.root = log, root
        self.index = CarrierIndex.create(root / "index", log.identity, 0)
        self.partition = Partition(log, self.index, 0)

    async def ask(self, *names: str) -> None:
        """Requests arrive, and one batch of them is folded."""
        await self.log.append(EVENTS, entries([request(name, "m1", 1) for name in names]))
        assert await self.partition.arrived(5.0)
        await self.partition.advance()


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[Asked]:
    log = CountingLog()
    with toy_facts():
        await log.append(EVENTS, entries([opened(), span(1, "n:40"), summary("m1", "x")]))
        made = Asked(log, tmp_path)
        await made.partition.catch_up()
        log.appends.clear()
        yield made
        await made.partition.stop_reading()
        made.partition.close()
        made.index.close()


async def test_decision_is_out_before_its_commit_is_durable(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a disk who waits for an answer."""
    out: list[int] = []
    loop, finish = asyncio.get_running_loop(), Batch.finish

    def waiting(self: Batch) -> None:
        end = asyncio.run_coroutine_threadsafe(_until_one(asked.log), loop)
        out.append(end.result(5.0))
        finish(self)

    monkeypatch.setattr(Batch, "finish", waiting)
    await asked.ask("q1")
    assert out == [1]


async def _until_one(log: CountingLog) -> int:
    while not await log.end(DECISIONS, 0):  # noqa: ASYNC110  a log that is looked at tells nobody
        await asyncio.sleep(0.001)
    return await log.end(DECISIONS, 0)


async def test_decision_whose_commit_failed_is_found_on_record_and_not_said_again(asked: Asked) -> None:
    """P2, P9: the same bytes come out again; numbers of the outbox that were given anew stand for other outputs then."""
    await asked.ask("q1")
    faults.arm("index.commit.before:1:error")
    try:
        with pytest.raises(OSError, match=r"index\.commit\.before"):
            await asked.ask("q2", "q3")
    finally:
        faults.arm("")
    said = await asked.log.end(DECISIONS, 0)
    assert said == 3
    await asked.partition.catch_up()
    await asked.ask("q4")
    assert await asked.log.end(DECISIONS, 0) == 4
    with asked.index.snapshot() as snapshot:
        digests = {"s1": snapshot.scope_digest("s1")}
    await asked.partition.publish()
    with asked.index.snapshot() as snapshot:
        assert snapshot.outbox(10) == []
    before = await ends(asked.log)
    assert await fold_all(asked.log, asked.root / "anew") == digests
    assert await ends(asked.log) == before
    await published(asked.log)


async def test_decisions_that_could_not_be_sent_early_are_sent_after_the_commit(asked: Asked) -> None:
    """P9: nothing later is sent until they are."""
    asked.log.refused = DECISIONS
    with pytest.raises(LogUnavailable):
        await asked.ask("q1")
    asked.log.refused = ""
    await asked.ask("q2")
    assert [entry.value.count(b'"request_id":"q1"') for entry in await asked.log.read(DECISIONS, 0, 0)] == [1, 0]
    await published(asked.log)


async def test_owner_again_sends_nothing_before_it_learnt_what_is_on_record(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P9: another owner may have said it meanwhile; also where the right comes back in the middle of a batch."""
    await asked.partition.own(False)
    finish, loop = Batch.finish, asyncio.get_running_loop()

    def regained(self: Batch) -> None:
        asyncio.run_coroutine_threadsafe(asked.partition.own(True), loop).result(5.0)
        finish(self)

    monkeypatch.setattr(Batch, "finish", regained)
    await asked.ask("q1")
    monkeypatch.undo()
    assert await asked.log.end(DECISIONS, 0) == 0
    assert asked.partition.published_next == 3
    await fold_all(asked.log, asked.root / "other")
    assert await asked.log.end(DECISIONS, 0) == 1
    await asked.partition.catch_up()
    assert await asked.log.end(DECISIONS, 0) == 1
    assert asked.partition.published_next == 4


async def test_right_that_went_and_came_while_something_was_on_its_way_is_not_used_at_once(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P9: what was clear in one turn of the right says nothing of the next."""
    append = asked.log.append

    async def slow(topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        found = await append(topic, entries)
        if topic == DECISIONS:
            taken = asyncio.create_task(asked.partition.own(False))
            await asyncio.sleep(0)
            given = asyncio.create_task(asked.partition.own(True))
            await asyncio.sleep(0)
            moves.extend((taken, given))
        return found

    moves: list[asyncio.Task[None]] = []
    await asked.ask("q1")
    monkeypatch.setattr(asked.log, "append", slow)
    await asked.ask("q2")
    await asyncio.wait(moves)
    monkeypatch.undo()
    assert not asked.partition._publisher.clear
    assert not asked.partition.taken_over
    await asked.ask("q3")
    assert await asked.log.end(DECISIONS, 0) == 3


@pytest.mark.parametrize("copies", [1, 2, 20])
async def test_what_was_sent_twice_for_one_request_answers_no_later_one(asked: Asked, copies: int) -> None:
    """P3: each time that a request is repeated its decision is said again, however often an owner before said it."""
    await asked.ask("q1")
    said = await asked.log.read(DECISIONS, 0, 0)
    again = [NewEntry(entry.key, entry.value, entry.headers) for entry in said]
    for _ in range(copies):
        await asked.log.append(DECISIONS, again)
    await asked.partition.own(True)  # learns of the copies
    for asks in range(1, 3):
        await asked.ask("q1")
        assert await asked.log.end(DECISIONS, 0) == 1 + copies + asks
    before = await ends(asked.log)
    await fold_all(asked.log, asked.root / "anew")
    assert await ends(asked.log) == before


async def test_worker_that_lost_the_right_to_publish_says_nothing_early(asked: Asked) -> None:
    """Ownership is the right to publish; the fold goes on."""
    await asked.partition.own(False)
    await asked.ask("q1")
    assert await asked.log.end(DECISIONS, 0) == 0
    assert asked.partition.offset_next == 4
