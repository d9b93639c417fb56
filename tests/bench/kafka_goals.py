"""G4 to G7: the consumer on a real Kafka against a raw reader, a Faust agent, and an echo.

The broker is started for the run and shares the machine's cores, so G4 to G6 go by CPU seconds of the measured process. Each
side reads the same topic from its beginning.
"""

from __future__ import annotations

import asyncio
import logging
import os
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from aiokafka import AIOKafkaConsumer, TopicPartition

from consumers.carrier_index import CarrierIndex
from consumers.partition import BATCH_BYTES, BATCH_ENTRIES, Partition
from ledger.adapters.kafka_log import KafkaLog
from ledger.fold import step
from ledger.log import DECISIONS, EVENTS, NewEntry
from ledger.recorder import made
from ledger.state import Draft
from ops.kafka.broker import Cluster
from ops.kafka.jars import missing_tools
from schemas.codec import decode_record, encode
from schemas.records import AnyRecord, EvictionRequested
from tests.bench.fold_goals import fresh
from tests.bench.harness import Case, Figures, Outcome, Side, judged
from tests.bench.inputs import Inputs, growing, opening, span
from tests.support.rows import MemoryRows

RECORDS = 8_000
REQUESTS, WARM_UP = 180, 50
ROUNDS = 5
BACKFILL, ASKED_BESIDE = 20_000, 1_000
"""Records that a backfill has to append while requests are asked, in the second half of G7, and those requests: so many that
several compactions of the backfill are folded meanwhile.
"""


class Broker:
    """One broker for a run of the bench, and a topic that is filled once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def servers(self) -> str:
        """Its address. It stops with this process."""
        cluster = Cluster.make(self._folder / "kafka", 1, bound=True)
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
        cluster.start()
        return cluster.servers

    @cached_property
    def filled(self) -> str:
        """The prefix of a ledger whose only partition holds the records of a growing scope."""
        prefix = f"b{uuid.uuid4().hex[:8]}."
        records = list(growing("kafka", RECORDS))
        asyncio.run(_fill(self.servers, prefix, records))
        return prefix


async def _fill(servers: str, prefix: str, records: list[AnyRecord]) -> None:
    log = await KafkaLog.create(servers, 1, prefix=prefix)
    try:
        for at in range(0, len(records), BATCH_ENTRIES):
            await log.append(EVENTS, [NewEntry(one.scope, encode(one)) for one in records[at : at + BATCH_ENTRIES]])
    finally:
        await log.close()


_brokers: dict[Path, Broker] = {}


def broker_of(inputs: Inputs) -> Broker:
    """The broker of this run."""
    return _brokers.setdefault(inputs.folder, Broker(inputs.folder))


def _skipped(code: str, what: str) -> Outcome | None:
    missing = missing_tools()
    return Outcome(code=code, what=what, unit="records", status="skipped", note=missing) if missing else None


async def _raw(servers: str, topic: str, count: int) -> int:
    """A plain consumer that drops what it reads."""
    consumer = AIOKafkaConsumer(bootstrap_servers=servers, enable_auto_commit=False, max_partition_fetch_bytes=4 << 20)
    await consumer.start()
    try:
        place = TopicPartition(topic, 0)
        consumer.assign([place])
        consumer.seek(place, 0)
        seen = 0
        while seen < count:
            seen += sum(map(len, (await consumer.getmany(timeout_ms=1000, max_records=1000)).values()))
        return seen
    finally:
        await consumer.stop()


async def _in_memory(servers: str, prefix: str) -> tuple[int, int]:
    """Decode, recognise duplicates, fold and decide, with nothing stored. Records and facts known in the end."""
    log = await KafkaLog.open(servers, prefix=prefix)
    try:
        scopes: dict[str, Draft] = {}
        offset, end = 0, await log.end(EVENTS, 0)
        while offset < end:
            for entry in await log.read(EVENTS, 0, offset, max_entries=BATCH_ENTRIES, max_bytes=BATCH_BYTES):
                draft = scopes.setdefault(entry.key, Draft(MemoryRows()))
                step(draft, decode_record(entry.value)).changes.apply_to(draft)
                offset = entry.position.offset + 1
        return offset, sum(row is not None for draft in scopes.values() for _, _, row in draft.changes())
    finally:
        await log.close()


async def _stored(servers: str, prefix: str, directory: Path) -> tuple[int, int]:
    """The product's own fold: synced commits with position, hashes and outbox. Records, and rows in the end."""
    log = await KafkaLog.open(servers, prefix=prefix)
    index = CarrierIndex.create(directory, log.identity, 0)
    partition = Partition(log, index, 0, publish=False)
    try:
        folded = await partition.catch_up()
        with index.file.read() as txn:
            return folded, int(txn.stat(index.file.database("rows"))["entries"])
    finally:
        partition.close()
        index.close()
        await log.close()


def _rows_agree(inputs: Inputs) -> str:
    broker = broker_of(inputs)
    in_memory = asyncio.run(_in_memory(broker.servers, broker.filled))
    stored = asyncio.run(_stored(broker.servers, broker.filled, fresh(inputs.folder)))
    return "" if in_memory == stored else f"in memory {in_memory} records and rows, stored {stored}"


def g4(inputs: Inputs) -> Case | Outcome:
    """Consumer in memory against raw `getmany`."""
    what = "decode, dedupe, fold and decide in memory ÷ raw getmany"
    if skipped := _skipped("G4", what):
        return skipped
    broker = broker_of(inputs)
    return Case(
        code="G4", what=what, unit="records", goal=0.50, check=lambda: _rows_agree(inputs), rounds_max=5,
        a=Side("consumer", lambda: asyncio.run(_in_memory(broker.servers, broker.filled))[0]),
        b=Side("getmany", lambda: asyncio.run(_raw(broker.servers, broker.filled + EVENTS, RECORDS))),
        note="a record here is a message with two facts, 1 kB of JSON; each changes some fifteen rows",
        why="the peer makes no object of a record; ours changes some fifteen rows for each, in Python, and hashes them",
    )  # fmt: skip


def g5_kafka(inputs: Inputs) -> Case | Outcome:
    """The same with synced commits and position."""
    what = "the same with synced LMDB commits ÷ raw getmany"
    if skipped := _skipped("G5 Kafka", what):
        return skipped
    broker = broker_of(inputs)
    return Case(
        code="G5 Kafka", what=what, unit="records", goal=0.25, rounds_max=5,
        a=Side("fold", lambda: asyncio.run(_stored(broker.servers, broker.filled, fresh(inputs.folder)))[0]),
        b=Side("getmany", lambda: asyncio.run(_raw(broker.servers, broker.filled + EVENTS, RECORDS))),
        why="as G4, and each row is encoded, summed and put on a page",
    )  # fmt: skip


FAUST = """
import asyncio, sys, tempfile
import faust
broker, topic, group, count = sys.argv[1:5]
app = faust.App(group, broker="kafka://" + broker, store="memory://", datadir=tempfile.mkdtemp(),
                topic_disable_leader=True, topic_allow_declare=False, consumer_auto_offset_reset="earliest",
                web_enabled=False, worker_redirect_stdouts=False)
seen = 0
@app.agent(app.topic(topic, key_serializer="raw", value_serializer="raw", value_type=bytes))
async def count_records(stream):
    global seen
    async for value in stream:
        seen += 1
        if seen == int(count):
            import os
            os._exit(0)
faust.Worker(app, loglevel="CRITICAL", quiet=True, redirect_stdouts=False).execute_from_commandline()
"""


def g6(inputs: Inputs) -> Case | Outcome:
    """G4's consumer against a Faust agent that only counts."""
    what = "G4's consumer ÷ a Faust agent that only counts"
    if skipped := _skipped("G6", what):
        return skipped
    broker = broker_of(inputs)

    def agent() -> float:
        topic, group = broker.filled + EVENTS, f"g{uuid.uuid4().hex[:8]}"
        done = subprocess.run(
            [sys.executable, "-c", FAUST, broker.servers, topic, group, str(RECORDS)],
            check=False, timeout=120, capture_output=True,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"the Faust agent ended with {done.returncode}: {done.stderr[-300:]!r}")
        return RECORDS

    return Case(
        code="G6", what=what, unit="records", goal=10.0, rounds_max=3,
        a=Side("consumer", lambda: asyncio.run(_in_memory(broker.servers, broker.filled))[0]), b=Side("agent", agent),
        note="the agent's start, about a second of CPU, counts for it",
        why="as G4: a fold of facts costs as much as the peer's four tasks for a record",
    )  # fmt: skip


def g7(inputs: Inputs) -> Outcome:
    """A request published to its decision readable, against an echo."""
    return _latency(inputs, "G7", "request to decision readable ÷ echo", backfill=False)


def g7_backfill(inputs: Inputs) -> Outcome:
    """The same while a backfill runs on the same partition."""
    return _latency(inputs, "G7 backfill", "the same under a paced backfill of the partition", backfill=True)


P50_MAX, P99_MAX = 1.5, 2.0


def _latency(inputs: Inputs, code: str, what: str, *, backfill: bool) -> Outcome:
    if skipped := _skipped(code, what):
        return skipped
    servers = broker_of(inputs).servers
    folder = fresh(inputs.folder)
    folder.mkdir()
    rounds: list[dict[str, tuple[float, float]]] = []
    for number in range(ROUNDS):
        taken: dict[str, tuple[float, float]] = {}
        for side in ("worker", "echo")[:: 1 if number % 2 == 0 else -1]:
            prefix = f"l{uuid.uuid4().hex[:8]}."
            asyncio.run(_fill(servers, prefix, _asked_about()))
            with _answering(side, servers, prefix, folder / f"{side}{number}"):
                times = asyncio.run(_ask(servers, prefix, backfill=backfill))
            taken[side] = statistics.median(times), statistics.quantiles(times, n=100)[98]
        rounds.append(taken)
    ratios = [[taken["worker"][at] / taken["echo"][at] for taken in rounds] for at in (0, 1)]
    shares = sorted(min(P50_MAX / p50, P99_MAX / p99) for p50, p99 in zip(*ratios, strict=True))
    low, middle, high = statistics.quantiles(shares, n=4, method="inclusive")
    p50, p99 = (statistics.median(each) for each in ratios)
    worker, echo = (statistics.median(taken[side][0] for taken in rounds) for side in ("worker", "echo"))
    figures = Figures(middle, low, high, 1 / worker, 1 / echo, 0.0)
    return Outcome(
        code=code, what=what, unit="answers", status=judged(middle, 1.0), goal=1.0, clock="wall", rounds=ROUNDS,
        wall=figures, cpu=figures,
        note=f"p50 {p50:.2f} times the echo's (goal 1.5), p99 {p99:.2f} times (goal 2.0); A/B is the smaller share of a goal; "
        f"worker p50 {worker * 1000:.1f} ms, echo {echo * 1000:.1f} ms",
        why="a request behind a batch waits for it or is decided beside it, in one interpreter with the fold and its commit"
        if backfill
        else "to the echo's append come two changes of thread and a fold, while the answer before is being committed",
    )  # fmt: skip


def _asked_about() -> list[AnyRecord]:
    return [opening("asked", "asked"), *(span("asked", "asked", number + 1) for number in range(4))]


@contextmanager
def _answering(side: str, servers: str, prefix: str, folder: Path) -> Iterator[None]:
    """A process that answers: the worker, or an echo with the same client settings."""
    environment = {
        **os.environ,
        "CLEDGER_DATA": str(folder),
        "CLEDGER_KAFKA_PREFIX": prefix,
    }
    arguments = (
        [sys.executable, "-m", "ops.cli.main", "worker", "--log", f"kafka://{servers}", "--web", "127.0.0.1:0"]
        if side == "worker"
        else [sys.executable, "-m", "tests.bench.echo", servers, prefix, str(len(_asked_about()))]
    )
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


async def _ask(servers: str, prefix: str, *, backfill: bool) -> list[float]:
    """Seconds from append to a readable answer, one request at a time; the first ones warm up, and the backfill begins then."""
    log = await KafkaLog.open(servers, prefix=prefix)
    try:
        for number in range(WARM_UP):
            await _answered(log, number)
        if not backfill:
            return [await _answered(log, WARM_UP + number) for number in range(REQUESTS)]
        with _backfilling(servers, prefix):
            return [await _answered(log, WARM_UP + number) for number in range(ASKED_BESIDE)]
    finally:
        await log.close()


@contextmanager
def _backfilling(servers: str, prefix: str) -> Iterator[None]:
    """A backfill under way in a process of its own."""
    command = [sys.executable, "-m", "tests.bench.backfill", servers, prefix, str(BACKFILL)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()


async def _answered(log: KafkaLog, number: int) -> float:
    request = made(EvictionRequested, "asked", "asked", request=f"r{number}", spans=("asked:m999",), reason="ttl")
    offset = await log.end(DECISIONS, 0)
    began = time.perf_counter()
    await log.append(EVENTS, [NewEntry(request.scope, encode(request))])
    if not await log.wait_for(DECISIONS, 0, offset, 60.0):
        raise RuntimeError(f"request {number} had no answer within a minute")
    return time.perf_counter() - began
