"""Reported faults of stream consumers, each as a small case: over a log in memory, and over Kafka through a worker.

The cases lie outside the repository. Where the product has no such thing, or answers otherwise on purpose, the test says so.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition

import schemas.codec
from consumers.carrier_index import CarrierIndex
from consumers.ingest_monitor import Level
from consumers.membership import GROUP
from consumers.partition import Partition
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import IntegrityError, LedgerError
from ledger.following import all_entries
from ledger.log import DECISIONS, EVENTS, Entry, Log, NewEntry
from ledger.state import SCOPE
from ledger.storage.layout import MAP_VARIABLE
from schemas.codec import decode_decision, decode_record, encode
from schemas.decisions import RecordRejected
from schemas.ids import Position
from schemas.records import SpanRecorded
from tests.support.cli import SHARED
from tests.support.fleet import Fleet, fleet
from tests.support.folding import entries
from tests.support.given import audit, entry, evict, opened, request, span, summary, tombstone
from tests.support.histories import history
from tests.support.history_check import check_history
from tests.support.toy_facts import toy_facts, toy_id

CASES = SHARED / "cases" / "field-cases.jsonl"
SCOPE_NAME = "s1"
END = 1 << 40


@pytest.fixture(autouse=True)
def toy() -> Iterator[None]:
    with toy_facts():
        yield


def case(name: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What comes in and what is expected."""
    if not CASES.exists():
        pytest.skip("the cases lie outside the repository, and are not here")
    found = next(each for each in map(json.loads, CASES.read_text("utf-8").splitlines()) if each["id"] == name)
    return found["input"]["stream"], found["expected"]


def _config(name: str) -> dict[str, Any]:
    return next(each for each in map(json.loads, CASES.read_text("utf-8").splitlines()) if each["id"] == name)["input"][
        "config"
    ]


def numbered(count: int) -> list[NewEntry]:
    """Records of one scope that stand at the offsets from 0 on."""
    return entries([opened(), *(span(number, "n:40" if number % 2 else "n:7") for number in range(1, count))])


class Bench(Protocol):
    """A ledger of one partition, and somebody who folds it in lives that end."""

    log: Log

    async def life(self, name: str = "w1", **more: Any) -> int:
        """Fold and publish everything; the exit code. `name` has an index of its own."""
        ...

    def index(self, name: str = "w1") -> CarrierIndex:
        """The index, between two lives."""
        ...


class InMemory:
    """Both in this process."""

    def __init__(self, root: Path) -> None:
        self.log: MemoryLog = MemoryLog()
        self._root = root

    def index(self, name: str = "w1") -> CarrierIndex:
        return CarrierIndex.create(self._root / name, self.log.identity, 0)

    async def life(self, name: str = "w1") -> int:
        index = self.index(name)
        partition = Partition(self.log, index, 0)
        try:
            await partition.catch_up()
        except LedgerError as error:
            return error.exit_code
        finally:
            partition.close()
            index.close()
        return 0


class OnKafka:
    """A worker process over Kafka."""

    def __init__(self, ledger: Fleet) -> None:
        self.ledger, self.log = ledger, ledger.log
        self.said = ""

    def index(self, name: str = "w1") -> CarrierIndex:
        place = self.ledger.folder / name / "kafka" / self.log.identity.log_id / "index" / "p000"
        return CarrierIndex(place, self.log.identity, 0)

    async def life(self, name: str = "w1", **more: Any) -> int:
        worker = self.ledger.start(name, "--exit-when-idle", 0, **more)
        code = await worker.ended()
        self.said = worker.said
        assert "Traceback" not in self.said
        return code


@pytest.fixture
async def in_memory(tmp_path: Path) -> InMemory:
    return InMemory(tmp_path)


@pytest.fixture(params=["memory", pytest.param("kafka", marks=pytest.mark.integration)])
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Both, one after the other."""
    if request.param == "memory":
        yield InMemory(tmp_path)
        return
    async with fleet(request.getfixturevalue("broker"), tmp_path, 1) as ledger:
        yield OnKafka(ledger)


def progress(bench: Bench, name: str = "w1") -> tuple[int, int]:
    """Next offset and duplicates."""
    index = bench.index(name)
    with index.snapshot() as snapshot:
        found = snapshot.offset_next, snapshot.duplicates
    index.close()
    return found


async def judged(bench: Bench) -> None:
    """Nothing is lost, doubled or contradictory."""
    await check_history(bench.log)


def at(offset: int, new: NewEntry) -> Entry:
    """An entry as it is delivered."""
    return Entry(Position(EVENTS, 0, offset), new.key, new.value)


def delivered(bench: InMemory, offsets: Sequence[int], records: Sequence[NewEntry], name: str = "w1") -> str:
    """Hand these offsets to the fold, as a log that errs would; what it says, empty if it took them."""
    index = bench.index(name)
    partition = Partition(bench.log, index, 0)
    try:
        partition.fold_batch([at(offset, records[offset]) for offset in offsets])
    except IntegrityError as error:
        return error.message
    finally:
        partition.close()
        index.close()
    return ""


async def test_r146_reading_that_resumes_ahead_of_the_position_applies_nothing(in_memory: InMemory) -> None:
    """What comes early is dropped with the gap named; from the position on everything is applied once."""
    stream, expected = case("R146")
    position, (early, again) = stream[0]["offset"], [step["offsets"] for step in stream if step["op"] == "deliver"]
    records = numbered(expected["final_commit"])
    await in_memory.log.append(EVENTS, records[:position])
    assert await in_memory.life() == 0
    said = delivered(in_memory, early, records)
    assert f"offset {position} is missing, {early[0]} came" in said
    assert [[position, early[0] - 1]] == expected["gaps_reported"]
    assert progress(in_memory) == (position, 0)
    assert delivered(in_memory, again, records) == ""
    assert again == expected["applied_offsets"]
    assert progress(in_memory) == (expected["final_commit"], expected["doubled"])


@pytest.mark.integration
async def test_r146_position_that_the_group_remembers_is_not_believed(broker: str, tmp_path: Path) -> None:
    """The index alone says where to go on, whatever somebody committed."""
    stream, expected = case("R146")
    position, early = stream[0]["offset"], stream[2]["offsets"][0]
    records = numbered(expected["final_commit"])
    async with fleet(broker, tmp_path, 1) as ledger:
        bench = OnKafka(ledger)
        await bench.log.append(EVENTS, records[:position])
        assert await bench.life() == 0
        await bench.log.append(EVENTS, records[position:])
        prefix = ledger.log.prefix
        consumer = AIOKafkaConsumer(bootstrap_servers=broker, group_id=prefix + GROUP, enable_auto_commit=False)
        await consumer.start()
        place = TopicPartition(prefix + EVENTS, 0)
        consumer.assign([place])
        await consumer.commit({place: early})
        await consumer.stop()
        assert await bench.life() == 0
        assert progress(bench) == (expected["final_commit"], expected["doubled"])
        assert await ledger.committed() == {0: expected["final_commit"]}
        await judged(bench)


async def test_r147_what_moves_to_another_worker_comes_again_and_counts_once(bench: Bench) -> None:
    """P3, P9: the second worker folds everything for itself, and says only what is not on record."""
    _, expected = case("R147")
    begin = [opened(store="ledger"), span(1, "n:40"), span(2, "n:7"), entry(1), entry(2), tombstone(toy_id("n:40", SCOPE_NAME))]
    await bench.log.append(EVENTS, entries([*begin, evict("e10", 1)]))
    assert await bench.life("w1") == 0
    before = await bench.log.end(DECISIONS, 0)
    assert before == 1
    await bench.log.append(EVENTS, entries([audit(2, "n:7"), evict("e12", 2)]))
    assert await bench.life("w2") == 0
    assert await bench.log.end(DECISIONS, 0) == before + 1
    assert progress(bench, "w2")[1] == expected["doubled"]
    await judged(bench)


@pytest.mark.integration
async def test_r151_markers_at_the_end_are_told_and_not_waited_for(broker: str, tmp_path: Path) -> None:
    """The ledger's topics are never written in transactions, since a marker is a hole in what is counted (L3). So the answer is
    not *ready*; it is a halt with the place and the way out, at once.
    """
    _, expected = case("R151")
    async with fleet(broker, tmp_path, 1) as ledger:
        bench = OnKafka(ledger)
        await bench.log.append(EVENTS, numbered(5))
        producer = AIOKafkaProducer(bootstrap_servers=broker, transactional_id=ledger.log.prefix)
        await producer.start()
        async with producer.transaction():
            await producer.send_and_wait(ledger.log.prefix + EVENTS, numbered(6)[5].value, SCOPE_NAME.encode(), partition=0)
        await producer.stop()
        assert await bench.life() == 5
        assert f"{EVENTS}/0@6" in bench.said
        assert "transactions" in bench.said
        assert expected["waiting_forever"] is False
        assert progress(bench)[0] <= 6


@pytest.mark.integration
async def test_r155_full_map_is_told_and_nothing_is_lost_or_enlarged_under_a_reader(broker: str, tmp_path: Path) -> None:
    """F15: the map is never enlarged while it is open; the whole batch is undone, and a larger one takes it."""
    _, expected = case("R155")
    async with fleet(broker, tmp_path, 1, batch=100) as ledger:
        bench = OnKafka(ledger)
        await bench.log.append(EVENTS, entries(each for n in range(16) for each in history((155, n), 150, f"s{n}")))
        worker = ledger.start("w1", env={MAP_VARIABLE: "1"})
        reason = ""
        while "filled its map" not in reason:
            told = await worker.answers("/readyz", 503)
            reason = "".join(each["reason"] for each in told["partitions"])
            await asyncio.sleep(0.05)
        assert MAP_VARIABLE in reason
        assert worker.running() is not expected["crash"]
        assert await worker.stop() == 0
        assert 0 < progress(bench)[0] < await bench.log.end(EVENTS, 0)
        assert await bench.life() == 0
        assert progress(bench)[0] == await bench.log.end(EVENTS, 0)
        await judged(bench)


async def test_r156_record_of_an_unknown_kind_stops_the_fold_before_it(bench: Bench) -> None:
    """Three faults: nothing behind it is applied, the position stays, and the kind is named."""
    stream, expected = case("R156")
    first, last = numbered(2)
    unknown = NewEntry(
        SCOPE_NAME, json.dumps({**stream[1], "type": "span.scored.v1", "scope": SCOPE_NAME, "id": "e1"}).encode()
    )
    await bench.log.append(EVENTS, [first, unknown, last])
    for _ in range(2):
        assert await bench.life() == 5
        assert progress(bench) == (len(expected["applied"]), 0)
    if isinstance(bench, OnKafka):
        assert "does not know record type 'span.scored.v1'" in bench.said


async def test_r157_record_without_a_type_is_quarantined(bench: Bench) -> None:
    """Every record ever written has a type with a version, so bytes without one are no old record: rejected, and on."""
    stream, _ = case("R157")
    records = numbered(2)
    await bench.log.append(EVENTS, [records[0], NewEntry(SCOPE_NAME, stream[0]["raw"].encode()), records[1]])
    assert await bench.life() == 0
    assert progress(bench) == (3, 0)
    await judged(bench)


def test_r157_old_shape_is_read_as_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the case is about: a shape that changed is upcast on read, and the log stays as it is."""
    _, expected = case("R157")
    new = span(1, "n:40")
    old = encode(new).replace(b'"span.recorded.v1"', b'"span.recorded.v0"').replace(b'"role":', b'"speaker":')

    def upcast(value: dict[str, Any]) -> dict[str, Any]:
        return {**{k: v for k, v in value.items() if k != "speaker"}, "type": "span.recorded.v1", "role": value["speaker"]}

    monkeypatch.setitem(schemas.codec.UPCASTS, "span.recorded.v0", upcast)
    found = [decode_record(data) for data in (old, encode(new))]
    assert found == [new, new]
    assert all(isinstance(each, SpanRecorded) for each in found)
    assert len(found) - len(expected["decoded"]) == expected["rejected"]


async def test_r158_record_that_cannot_be_decoded_is_set_aside_and_its_scope_is_unknown(bench: Bench) -> None:
    """P1: quarantined once, everything behind it is applied."""
    stream, expected = case("R158")
    good = numbered(4)
    rows = [NewEntry(SCOPE_NAME, step["raw"].encode()) if not step["ok"] else good.pop(0) for step in stream]
    await bench.log.append(EVENTS, rows)
    assert await bench.life() == 0
    assert progress(bench) == (expected["final_commit"], 0)
    (decision,) = [decode_decision(each.value) async for each in all_entries(bench.log, DECISIONS, 0)]
    assert isinstance(decision, RecordRejected)
    (head,) = await bench.log.read(DECISIONS, 0, 0)
    assert [{"offset": int(dict(head.headers)["source_offset"])}] == expected["quarantined"]
    index = bench.index()
    with index.snapshot() as snapshot:
        rows_of_scope = snapshot.scope(SCOPE_NAME)
        assert rows_of_scope is not None
        row = rows_of_scope.get(SCOPE, b"")
        assert row is not None
        assert row.unclear
    index.close()
    await judged(bench)


async def test_r160_only_the_unbroken_run_is_ever_committed(in_memory: InMemory) -> None:
    """The position is the end of the unbroken run; what lay beyond the hole is applied when its turn comes, once."""
    stream, expected = case("R160")
    done = [step["offset"] for step in stream if step["op"] == "done"]
    again = stream[-1]["offsets"]
    hole = expected["commit_at_rebalance"]
    records = numbered(max(again) + 1)
    await in_memory.log.append(EVENTS, records[: done[0]])
    assert await in_memory.life() == 0
    assert delivered(in_memory, [offset for offset in done if offset < hole], records) == ""
    assert f"offset {hole} is missing" in delivered(in_memory, [offset for offset in done if offset > hole], records)
    assert progress(in_memory) == (hole, 0)
    assert delivered(in_memory, again, records) == ""
    assert progress(in_memory) == (max(again) + 1, expected["doubled"])


@pytest.mark.integration
async def test_r160_group_is_told_only_what_is_folded_and_published(broker: str, tmp_path: Path) -> None:
    """Killed between commit and publishing: the index is ahead, the group is told nothing, and outputs come once."""
    case("R160")
    async with fleet(broker, tmp_path, 1) as ledger:
        bench = OnKafka(ledger)
        await bench.log.append(EVENTS, entries([opened(), span(1, "n:40"), summary("m1", "n:40"), request("q1", "m1", 1)]))
        assert await ledger.start("w1", fault="publish.before:1:kill").ended() == -9
        assert progress(bench) == (4, 0)
        assert await ledger.committed() in ({}, {0: 0})
        assert await bench.log.end(DECISIONS, 0) == 0
        assert await bench.life() == 0
        assert await ledger.committed() == {0: 4}
        assert await bench.log.end(DECISIONS, 0) == 1
        await judged(bench)


async def test_r161_what_becomes_visible_late_is_never_jumped_over(in_memory: InMemory) -> None:
    """A reader stands at the first one that is missing, names it, and goes on in order. Over Kafka offsets become readable in
    order (below the high watermark), so there is nothing to wait for but damage, which R151 shows.
    """
    stream, expected = case("R161")
    visible = [step["seq"] for step in stream if step["op"] == "visible"]
    records = numbered(12)
    await in_memory.log.append(EVENTS, records[: visible[0][0]])
    assert await in_memory.life() == 0
    assert delivered(in_memory, visible[0], records) == ""
    assert f"offset {expected['waited_for'][0]} is missing" in delivered(in_memory, visible[1], records)
    assert delivered(in_memory, [*visible[2], *visible[1]], records) == ""
    assert f"offset {expected['gaps_reported'][0]} is missing" in delivered(in_memory, visible[3], records)
    assert progress(in_memory) == (expected["gaps_reported"][0], expected["skipped_silently"])


def test_r163_level_that_swings_around_a_limit_is_told_once() -> None:
    """What compares a level with a limit is the watch over publishers: two limits, one for each direction."""
    stream, expected = case("R163")
    limits = _config("R163")
    level = Level(fire_above=limits["fire_above"], clear_below=limits["clear_below"])
    states = ["firing" if level.see(step["value"]) else "ok" for step in stream]
    turns = [
        (step["at_s"], after) for step, before, after in zip(stream, ["ok", *states], states, strict=False) if before != after
    ]
    assert states == expected["states"]
    assert turns == [(expected["fired_at_s"], "firing"), (expected["resolved_at_s"], "ok")]


async def test_r165_backlog_is_taken_up_before_anything_new(bench: Bench) -> None:
    """After a restart nothing waits for a notice: what lies behind the position is folded first, once."""
    stream, expected = case("R165")
    position, last = stream[1]["position"], stream[0]["last"]
    records = numbered(expected["processed"][-1] + 1)
    await bench.log.append(EVENTS, records[: position + 1])
    assert await bench.life() == 0
    await bench.log.append(EVENTS, records[position + 1 : last + 1])
    await bench.log.append(EVENTS, records[last + 1 :])
    assert await bench.life() == 0
    assert progress(bench) == (expected["processed"][-1] + 1, expected["doubled"])
    await judged(bench)


async def test_r168_next_one_must_follow_the_last(in_memory: InMemory) -> None:
    """Above: refused. Below with the same bytes: nothing changes. Below with other bytes: refused."""
    stream, expected = case("R168")
    records = numbered(6)
    other = entries([span(9, "n:443")])[0]
    await in_memory.log.append(EVENTS, records[:1])
    assert await in_memory.life() == 0
    results = []
    for step in stream:
        chosen = {step["seq"]: other} if step.get("same_bytes") is False else {}
        said = delivered(in_memory, [step["seq"]], [chosen.get(n, record) for n, record in enumerate(records)])
        unchanged = not said and step["seq"] < progress(in_memory)[0] - 1
        results.append(
            "refused:gap" if "missing" in said else "refused:conflict" if said else "unchanged" if unchanged else "ok"
        )
    assert results == expected["results"]
    assert progress(in_memory)[0] - 1 == expected["length"]


@pytest.mark.integration
async def test_r168_repeat_and_conflict_are_told_apart_by_a_worker(broker: str, tmp_path: Path) -> None:
    """I1, P3: the same span again is a duplicate, with other text it is refused, and the first one stays."""
    case("R168")
    async with fleet(broker, tmp_path, 1) as ledger:
        bench = OnKafka(ledger)
        await bench.log.append(EVENTS, entries([opened(), span(1, "n:40"), span(1, "n:40"), span(1, "n:7")]))
        assert await bench.life() == 0
        assert progress(bench) == (4, 1)
        (decision,) = [decode_decision(each.value) async for each in all_entries(bench.log, DECISIONS, 0)]
        assert isinstance(decision, RecordRejected)
        assert decision.reason == "immutable"
        await judged(bench)
