"""A fleet of workers under faults: after each of them, what it said is what an undisturbed fold says (F1 to F7, F10)."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from consumers.membership import ANSWER_S
from ledger.errors import LogDamaged
from ledger.log import EVENTS
from ops.kafka.broker import Cluster
from tests.support.broker import started
from tests.support.fleet import LONG, SESSION_TIMEOUT_S, Publisher, Running, answered, fleet, until, written_by_others

pytestmark = [pytest.mark.integration, pytest.mark.crash]
KILLS = 100 if LONG else 12
ENDING_S = 3 * ANSWER_S + 6
"""A worker that nobody answers: the commit under way, the farewell, one more, and what a loaded machine takes."""

REBALANCING_S = 120 if LONG else 8


async def test_workers_killed_at_random_under_load_lose_and_double_nothing(broker: str, tmp_path: Path) -> None:
    """F1, F2; P1, P2, P3, P9: two workers, four partitions, a publisher that goes on."""
    chance = random.Random(20261130)
    async with fleet(broker, tmp_path) as ledger:
        publisher = Publisher(ledger.log, seed=1)
        publisher.go_on()
        workers: dict[str, Running] = {name: ledger.start(name) for name in ("a", "b")}
        for kill in range(KILLS):
            name = chance.choice(("a", "b"))
            await workers[name].says("live")
            await asyncio.sleep(chance.random())
            await workers[name].kill()
            workers[name] = ledger.start(name)
            if kill % 5 == 4:  # now and then both are gone
                other = "a" if name == "b" else "b"
                await workers[other].kill()
                workers[other] = ledger.start(other)
        await publisher.stop()
        await ledger.settled()
        assert await ledger.stop() == [0, 0]
        verdict = await ledger.judge()
        assert verdict.decisions > KILLS
        assert verdict.alerts > KILLS
        assert verdict.repeats < (verdict.decisions + verdict.alerts) / 8  # what was on its way, and requests that came again
        killed = sum(worker.status == -9 for worker in ledger.workers)
        print(f"kills {killed}, acknowledged {publisher.acknowledged}, appended again {publisher.repeated}")
        assert killed >= KILLS
        assert verdict.events >= publisher.acknowledged


async def test_rebalances_without_a_pause_lose_and_double_nothing(broker: str, tmp_path: Path) -> None:
    """F4; P1, P2, P3, P9: a third worker joins and leaves, in order or by a kill, and the fold never stands still for long."""
    chance = random.Random(4)
    async with fleet(broker, tmp_path) as ledger:
        publisher = Publisher(ledger.log, seed=2)
        publisher.go_on()
        kept = [ledger.start(name) for name in ("a", "b")]
        for worker in kept:
            await worker.says("live")
        end_s = time.monotonic() + REBALANCING_S
        rounds = 0
        while time.monotonic() < end_s:
            third = ledger.start("c")
            await third.says("answering at")
            await asyncio.sleep(chance.random() * 2)
            await (third.stop() if chance.random() < 0.5 else third.kill())
            rounds += 1
        await publisher.stop()
        await ledger.settled(30)  # progress goes on at once
        assert all(worker.running() for worker in kept)
        assert await ledger.stop() == [0, 0]
        verdict = await ledger.judge()
        print(f"a third worker came and went {rounds} times")
        assert rounds >= 3
        assert verdict.decisions > 50


async def test_worker_that_slept_past_its_session_and_wakes_can_only_repeat(broker: str, tmp_path: Path) -> None:
    """F3; P2: SIGSTOP, replaced by another, SIGCONT: what it still had to say is on record with the same bytes."""
    chance = random.Random(3)
    async with fleet(broker, tmp_path) as ledger:
        publisher = Publisher(ledger.log, seed=3, pause_s=0.01)
        publisher.go_on()
        sleeper = ledger.start("sleeper")
        await sleeper.says("live")
        other: Running | None = None
        for _ in range(6 if LONG else 2):
            await asyncio.sleep(chance.random())
            sleeper.signal(signal.SIGSTOP)
            if other is None:
                other = ledger.start("other")
                await other.says("live")
            await asyncio.sleep(2 * SESSION_TIMEOUT_S)
            before = publisher.acknowledged
            await ledger.settled_up_to(await ledger.ends())  # the one that is awake owns everything now
            assert publisher.acknowledged > before
            sleeper.signal(signal.SIGCONT)
        await publisher.stop()
        await ledger.settled()
        assert await ledger.stop() == [0, 0]
        await ledger.judge()


async def test_every_append_delivered_twice_changes_nothing(broker: str, tmp_path: Path) -> None:
    """F10; P3: the same state and the same outputs as if each record had come once; only requests are answered again."""
    async with fleet(broker, tmp_path / "twice") as twice, fleet(broker, tmp_path / "once") as once:
        for ledger, copies in ((twice, 2), (once, 1)):
            await Publisher(ledger.log, seed=5, copies=copies, chunk=40).publish(240)
            worker = ledger.start("a", "--exit-when-idle", 0)
            assert await worker.ended() == 0
        verdicts = [await twice.judge(), await once.judge()]
        assert verdicts[0].events == 2 * verdicts[1].events
        assert (verdicts[0].decisions, verdicts[0].alerts) == (verdicts[1].decisions, verdicts[1].alerts)
        assert await twice.said() == await once.said()
        assert twice.digests() == once.digests()


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A broker that these tests may kill."""
    cluster = started(tmp_path_factory.mktemp("kafka-workers"))
    yield cluster
    cluster.stop()


async def test_broker_killed_under_load_is_waited_for_and_nothing_is_lost(own_broker: Cluster, tmp_path: Path) -> None:
    """F6; P1, P2, P9: `kill -9` of the broker under two workers and a publisher; no worker ends, and each goes on by itself."""
    async with fleet(own_broker.servers, tmp_path, timeout_s=60) as ledger:
        publisher = Publisher(ledger.log, seed=6)
        publisher.go_on()
        workers = [ledger.start(name) for name in ("a", "b")]
        for worker in workers:
            await worker.says("live")
        for _ in range(3 if LONG else 1):
            before = publisher.acknowledged
            own_broker.kill_node(1)
            await asyncio.sleep(1)
            own_broker.start_node(1)
            await asyncio.to_thread(own_broker.wait_ready)
            await until(lambda: publisher.acknowledged > before + 60, "the publisher to go on")  # noqa: B023
        await publisher.stop()
        await ledger.settled()
        assert all(worker.running() for worker in workers)
        assert await ledger.stop() == [0, 0]
        verdict = await ledger.judge()
        print(f"acknowledged {publisher.acknowledged}, appended again {publisher.repeated}")
        assert verdict.events >= publisher.acknowledged


async def test_worker_told_to_end_while_the_broker_is_away_ends(own_broker: Cluster, tmp_path: Path) -> None:
    """F27: nobody answers its commits and its farewell, nor says where the log ends; it does not wait for them for ever."""
    async with fleet(own_broker.servers, tmp_path, 1, timeout_s=60) as ledger:
        await ledger.log.append(EVENTS, answered("before"))
        worker = ledger.start("a")
        await ledger.settled()
        own_broker.kill_node(1)
        try:
            told = await worker.answers("/readyz", 503)
            assert told["readiness"] == "not ready"
            assert f"kafka://{own_broker.servers} has not answered since" in told["reasons"][0]
            began_s = time.monotonic()
            assert await worker.stop(60) == 0
            assert time.monotonic() - began_s < ENDING_S
        finally:
            own_broker.start_node(1)
            await asyncio.to_thread(own_broker.wait_ready)
        assert "Traceback" not in worker.said


async def test_broker_that_goes_and_comes_back_is_told_in_one_line_each(own_broker: Cluster, tmp_path: Path) -> None:
    """F6: by a worker with many partitions, and while it is away in `/readyz` and `/healthz`."""
    async with fleet(own_broker.servers, tmp_path, 8, timeout_s=60) as ledger:
        await ledger.log.append(EVENTS, answered("before"))
        worker = ledger.start("a")
        await ledger.settled()
        await worker.answers("/readyz", 200)
        own_broker.kill_node(1)
        try:
            await worker.answers("/readyz", 503)
            assert "has not answered since" in (await worker.answers("/healthz", 200))["waits"][0]
        finally:
            own_broker.start_node(1)
            await asyncio.to_thread(own_broker.wait_ready)
        assert (await worker.answers("/readyz", 200))["reasons"] == []
        warned = [line for line in worker.said.splitlines() if " WARNING " in line]
        assert [" does not answer: " in line for line in warned] == [True, False], worker.said
        assert " is back after " in warned[1]
        assert await worker.stop() == 0


async def test_tail_lost_and_grown_beyond_the_reader_halts_the_worker(own_broker: Cluster, tmp_path: Path) -> None:
    """F7, P1, P8: the broker comes back with less, others append more than was lost, and the offsets look as they should."""
    async with fleet(own_broker.servers, tmp_path, 1, timeout_s=60) as ledger:
        await ledger.log.append(EVENTS, answered("before"))
        worker = ledger.start("a")
        await ledger.settled()
        worker.signal(signal.SIGSTOP)
        own_broker.kill_node(1)
        (place,) = own_broker.folder.glob(f"node-1/**/{ledger.log.prefix}{EVENTS}-0")
        for file in (*place.glob("*.log"), *place.glob("*.index"), *place.glob("*.timeindex")):
            os.truncate(file, 0)
        own_broker.start_node(1)
        await asyncio.to_thread(own_broker.wait_ready)
        await written_by_others(ledger.log, [(b"after", b"other %d" % n) for n in range(20)])
        worker.signal(signal.SIGCONT)
        (halted,) = (await worker.answers("/healthz", 503))["halted"]
        assert "says something else than what was folded there" in halted["reason"]
        assert halted["offset"] == 4
        assert await worker.stop() == LogDamaged.exit_code
        again = ledger.start("a", "--exit-when-idle", 0)
        assert await again.ended() == LogDamaged.exit_code
        assert "says something else than what was folded there" in again.said
