"""A worker on a log that is damaged, poisoned or from another release: it halts or refuses with a reason, and never resets
(F7, F13, F19, F21; P1, P7, P8).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import NewPartitions, NewTopic
from aiokafka.structs import TopicPartition

from consumers.folding import stray_scope
from ledger.adapters.kafka_log import KafkaLog
from ledger.following import all_entries
from ledger.kafka.writing import MESSAGE_BYTES_MAX
from ledger.log import ALERTS, DEAD_LETTERS, DECISIONS, EVENTS, NewEntry, partition_of
from schemas.codec import decode_decision
from schemas.decisions import RecordRejected
from tests.support.broker import admin_of
from tests.support.fleet import Publisher, answered, fleet, written_by_others

pytestmark = [pytest.mark.integration, pytest.mark.crash]
INTEGRITY = 5


def scope_in(number: int, partitions: int, name: str = "scope") -> str:
    """A scope of a partition."""
    return next(each for n in range(999) if partition_of(each := f"{name}-{n}", partitions) == number)


async def test_topic_made_anew_under_a_worker_halts_it_and_is_refused_by_a_new_one(broker: str, tmp_path: Path) -> None:
    """F7: `5` and a reason, whatever the new topic holds; nothing of it is folded."""
    async with fleet(broker, tmp_path, 1) as ledger:
        await ledger.log.append(EVENTS, answered("before"))
        worker = ledger.start("a")
        await ledger.settled()
        async with admin_of(broker) as admin:
            await admin.delete_topics([ledger.log.prefix + EVENTS])
            deadline_s = time.monotonic() + 30
            while (await admin.create_topics([NewTopic(ledger.log.prefix + EVENTS, 1, 1)])).topic_errors[0][1]:
                assert time.monotonic() < deadline_s
                await asyncio.sleep(0.1)
        await written_by_others(ledger.log, [(b"before", b"other %d" % n) for n in range(9)])
        told = await worker.answers("/healthz", 503)
        (halted,) = told["halted"]
        assert "was deleted" in halted["reason"] or "made anew" in halted["reason"]
        assert (await worker.answers("/readyz", 503))["readiness"] == "not ready"
        assert await worker.stop() == INTEGRITY
        again = ledger.start("a")
        assert await again.ended() == INTEGRITY
        assert "made anew" in again.said
        assert "Traceback" not in again.said


async def test_topic_that_grew_partitions_is_refused_with_the_way_out(broker: str, tmp_path: Path) -> None:
    """F7, F11: scopes would go to other partitions than their history."""
    async with fleet(broker, tmp_path, 2) as ledger:
        await ledger.log.append(EVENTS, answered("before"))
        async with admin_of(broker) as admin:
            await admin.create_partitions({ledger.log.prefix + EVENTS: NewPartitions(3)})
        worker = ledger.start("a")
        assert await worker.ended() == INTEGRITY
        assert "has 3 partitions, it had 2" in worker.said


POISON: dict[str, tuple[bytes | None, bytes | None]] = {
    "no value": (b"KEY", None),
    "empty": (b"KEY", b""),
    "half a record": (b"KEY", b'{"type":"span.recorded.v1","id":'),
    "no object": (b"KEY", b"[1]"),
    "invalid UTF-8": (b"KEY", b'{"type":"span.recorded.v1","id":"\xff\xfe"}'),
    "a NUL": (b"KEY", b"\0" * 100),
    "nested deep": (b"KEY", b"[" * 100_000),
    "nested deep in a field": (b"KEY", b'{"type":"session.opened.v1","parent":' + b'{"a":' * 50_000 + b"}" * 50_001),
    "not a number": (b"KEY", b'{"type":"tick.v1","id":"x","scope":"KEY","session":"KEY","timer":"t","due_ms":NaN}'),
    "a huge integer": (
        b"KEY",
        b'{"type":"tick.v1","id":"x","scope":"KEY","session":"KEY","timer":"t","due_ms":%s}' % (b"9" * 4000),
    ),
    "another's scope": (b"KEY", b'{"type":"session.closed.v1","id":"x","scope":"elsewhere","session":"elsewhere"}'),
    "the same key twice": (b"KEY", b'{"type":"session.closed.v1","type":"x","id":"x","id":7,"scope":"KEY","session":"KEY"}'),
    "no key": (None, b"{}"),
    "an empty key": (b"", b"{}"),
    "a key that is no text": (b"\xff\xfe", b"{}"),
    "half a surrogate as key": (b"\xed\xa0\x80", b"{}"),
    "a long key": (b"k" * 5000, b"{}"),
    "too large": (b"KEY", random.Random(19).randbytes(1_100_000)),
}
"""What stands beside it is the scope's name in the bytes."""


async def dead_letters(log: KafkaLog, count: int) -> list[tuple[bytes | None, bytes | None, dict[str, bytes]]]:
    """What the topic of dead letters holds: key, value, headers."""
    place = TopicPartition(log.prefix + DEAD_LETTERS, 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=log.servers, enable_auto_commit=False, auto_offset_reset="earliest")
    await consumer.start()
    found = []
    try:
        consumer.assign([place])
        end_s = time.monotonic() + 20
        while len(found) < count and time.monotonic() < end_s:
            for records in (await consumer.getmany(timeout_ms=500)).values():
                found += [(record.key, record.value, dict(record.headers)) for record in records]
    finally:
        await consumer.stop()
    return found


async def test_poisoned_records_are_quarantined_whole_and_hold_up_nobody(broker: str, tmp_path: Path) -> None:
    """F19, F20, P1: each is rejected once, its bytes are in the dead letters under its offset, and the rest goes on."""
    async with fleet(broker, tmp_path, 2) as ledger:
        async with admin_of(broker) as admin:
            configs = {"max.message.bytes": str(MESSAGE_BYTES_MAX)}
            await admin.create_topics([NewTopic(ledger.log.prefix + DEAD_LETTERS, 2, 1, topic_configs=configs)])
        poisoned, other = scope_in(0, 2, "poisoned"), scope_in(0, 2, "other")
        await ledger.log.append(EVENTS, answered(other)[:2])
        values = [
            (key and key.replace(b"KEY", poisoned.encode()), value and value.replace(b"KEY", poisoned.encode()))
            for key, value in POISON.values()
        ]
        offsets = await written_by_others(ledger.log, values, max_request_size=MESSAGE_BYTES_MAX)
        await ledger.log.append(EVENTS, answered(other)[2:])
        worker = ledger.start("a", "--exit-when-idle", 0)
        assert await worker.ended() == 0
        verdict = await ledger.judge()
        found = [decode_decision(entry.value) async for entry in all_entries(ledger.log, DECISIONS, 0)]
        rejected = [each for each in found if isinstance(each, RecordRejected)]
        assert {each.scope for each in rejected} == {poisoned, stray_scope(0, 2)}
        assert len({each.content_sha256 for each in rejected}) == len({value or b"" for _, value in values})
        assert [each.scope for each in found if not isinstance(each, RecordRejected)] == [other]
        buried = await dead_letters(ledger.log, len(rejected))
        assert len(buried) == len(rejected) == verdict.decisions - 1
        by_offset = dict(zip(offsets, values, strict=True))
        for _, value, headers in buried:
            assert (value or b"") == (by_offset[int(headers["source_offset"])][1] or b"")


async def test_bad_record_holds_up_nobody_where_there_is_no_topic_of_dead_letters(broker: str, tmp_path: Path) -> None:
    """F19: its bytes stand in the events for good; the copy is a comfort, and its absence a warning."""
    async with fleet(broker, tmp_path, 1) as ledger:
        await ledger.log.append(EVENTS, [NewEntry("bad", b"{"), *answered("good")])
        worker = ledger.start("a", "--exit-when-idle", 0)
        assert await worker.ended() == 0
        assert "dead letters are not kept" in worker.said
        assert (await ledger.judge()).decisions == 2


async def test_type_that_is_not_known_stops_its_partition_and_no_other(broker: str, tmp_path: Path) -> None:
    """Three faults: 5 and the name of the type; what came before it is published; the other partition goes on."""
    async with fleet(broker, tmp_path, 2) as ledger:
        stopped, other = scope_in(0, 2), scope_in(1, 2)
        await ledger.log.append(EVENTS, answered(stopped))
        await ledger.log.append(
            EVENTS, [NewEntry(stopped, b'{"type":"span.scored.v7","id":"x","scope":"%s"}' % stopped.encode())]
        )
        await ledger.log.append(EVENTS, answered(scope_in(0, 2, "behind")))
        worker = ledger.start("a")
        (halted,) = (await worker.answers("/healthz", 503))["halted"]
        assert (halted["partition"], halted["offset"]) == (0, 4)
        assert "span.scored.v7" in halted["reason"]
        await ledger.log.append(EVENTS, answered(other))
        await ledger.settled_up_to({0: 4, 1: 4})
        assert [await ledger.log.end(DECISIONS, number) for number in (0, 1)] == [1, 1]
        assert await worker.stop() == INTEGRITY


async def test_build_without_the_pinned_rules_stops_and_one_that_carries_them_goes_on(broker: str, tmp_path: Path) -> None:
    """P2: of two releases in one group the one that may not decide stops before the first record, says so, and hands over."""
    async with fleet(broker, tmp_path, 2) as ledger:
        other = ledger.start("other-release", rules="rules-of-another-release")
        await other.says("partition 1: live")
        kept = ledger.start("this-release")
        await kept.says("live")
        await ledger.log.append(EVENTS, [entry for number in (0, 1) for entry in answered(scope_in(number, 2))])
        (halted,) = (await other.answers("/healthz", 503))["halted"]
        assert "rules-of-another-release" in halted["reason"]
        assert "its decision is not on record" in halted["reason"]
        assert halted["offset"] == len(answered("scope")) - 1  # what needs no decision is folded
        assert (await other.answers("/readyz", 503))["readiness"] == "not ready"
        assert await other.stop() == INTEGRITY
        await ledger.settled()  # its partition went to the one that can
        assert await ledger.stop() == [0]
        shutil.rmtree(other.data)  # no other release opens its indexes
        verdict = await ledger.judge()
        assert (verdict.decisions, verdict.indexes) == (2, 2)


async def test_build_without_the_pinned_rules_follows_what_is_on_record_and_says_nothing(broker: str, tmp_path: Path) -> None:
    """P2: an upgrade finds old sessions decided. They are folded by what is on record, up to the first new request."""
    async with fleet(broker, tmp_path, 1) as ledger:
        kept = ledger.start("this-release")
        await kept.says("live")
        await ledger.log.append(EVENTS, answered("old"))
        await ledger.settled()
        assert await ledger.stop() == [0]
        said = [await ledger.log.end(topic, 0) for topic in (DECISIONS, ALERTS)]
        other = ledger.start("other-release", rules="rules-of-another-release")
        await other.says("partition 0: live")
        await ledger.settled()
        assert (await other.answers("/readyz", 200))["readiness"] == "ready"
        fresh = answered("new")
        await ledger.log.append(EVENTS, fresh)
        (halted,) = (await other.answers("/healthz", 503))["halted"]
        assert halted["offset"] == len(answered("old")) + len(fresh) - 1
        assert [await ledger.log.end(topic, 0) for topic in (DECISIONS, ALERTS)] == said
        assert await other.stop() == INTEGRITY
        ledger.start("this-release")
        await ledger.settled()
        assert await ledger.stop() == [0]
        shutil.rmtree(other.data)
        assert (await ledger.judge()).decisions == 2


@pytest.mark.parametrize("point", ["index.commit.before", "publish.before"])
async def test_worker_that_hangs_is_not_ready_and_then_ends_itself_so_that_another_takes_over(
    broker: str, tmp_path: Path, point: str
) -> None:
    """F5: a commit that never returns leaves the web server alive to say so; a loop that hangs leaves only the watchdog."""
    async with fleet(broker, tmp_path, 1) as ledger:
        worker = ledger.start("a", "--watchdog", 4 if point == "index.commit.before" else 2, fault=f"{point}:1:hang")
        await worker.says("live")
        assert (await worker.answers("/readyz", 200))["readiness"] == "ready"
        await ledger.log.append(EVENTS, answered("scope"))
        if point == "index.commit.before":
            assert (await worker.answers("/readyz", 503, patience_s=3.9))["readiness"] == "not ready"
        assert await worker.ended() == 4
        assert ("partition 0 did not move" if point == "index.commit.before" else "event loop did not run") in worker.said
        assert "another worker takes over" in worker.said
        ledger.start("b")
        await ledger.settled()
        assert await ledger.stop() == [0]
        assert (await ledger.judge()).decisions == 1


DISK_BYTES = 24 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 24 MB."""
    if os.geteuid():
        pytest.skip("mounting a small disk needs root")
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


async def test_full_disk_is_waited_for_and_nothing_is_lost(broker: str, tmp_path: Path, small_disk: Path) -> None:
    """F13, P1: not ready, with the free bytes as the reason; goes on by itself once there is room."""
    async with fleet(broker, tmp_path, 1) as ledger:
        publisher = Publisher(ledger.log, seed=13, chunk=60)
        worker = ledger.start("a", data=small_disk / "data")
        await worker.says("live")
        await publisher.publish(120)
        await ledger.settled()
        ballast = small_disk / "ballast"
        with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * 4096)
        await publisher.publish(600)
        told = await worker.answers("/readyz", 503)
        while told["partitions"][0]["state"] != "waiting":
            told = await worker.answers("/readyz", 503)
            await asyncio.sleep(0.05)
        assert "o space left" in told["partitions"][0]["reason"] or "disk is full" in told["partitions"][0]["reason"]
        assert worker.running()
        ballast.unlink()
        await ledger.settled()
        assert (await worker.answers("/readyz", 200))["readiness"] == "ready"
        assert await ledger.stop() == [0]
        verdict = await ledger.judge()
        assert verdict.events == 720
        assert verdict.indexes == 1
