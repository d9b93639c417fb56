"""Copying a log: everything, byte for byte, once; resumed where it stopped; refused where it does not belong."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from ledger.adapters.memory_log import MemoryLog
from ledger.errors import IntegrityError, LogUnavailable, UsageError
from ledger.following import all_entries
from ledger.log import ALERTS, DECISIONS, EVENTS, TOPICS, Entry, NewEntry, partition_of
from ops.cli.screen import json_line
from ops.log_copy import copy_log
from ops.replay import replay, verify_replay
from schemas.codec import encode
from schemas.ids import Position
from tests.support.cli import SAMPLE, Cli
from tests.support.folding import entries, fold_all
from tests.support.given import opened, span

Contents = dict[str, dict[str, list[tuple[bytes, tuple[tuple[str, bytes], ...]]]]]


async def filled(partitions: int, seed: str = "copy", count: int = 300) -> MemoryLog:
    """A log with entries of many scopes in all topics."""
    log, chance = MemoryLog(partitions), random.Random(seed)
    for topic in TOPICS:
        await log.append(topic, [an_entry(chance) for _ in range(count)])
    return log


def an_entry(chance: random.Random) -> NewEntry:
    headers = tuple((f"h{chance.randrange(3)}", chance.randbytes(3)) for _ in range(chance.randrange(3)))
    return NewEntry(f"scope-{chance.randrange(12)}", chance.randbytes(chance.randrange(40)), headers)


async def contents(log: MemoryLog) -> Contents:
    """Value and headers of every entry, in order, by topic and scope."""
    found: Contents = {topic: {} for topic in TOPICS}
    for topic in TOPICS:
        for number in range(log.identity.partitions):
            async for entry in all_entries(log, topic, number):
                found[topic].setdefault(entry.key, []).append((entry.value, entry.headers))
    return found


@pytest.mark.parametrize(("from_", "to"), [(1, 1), (1, 4), (4, 1), (3, 5)])
async def test_copy_has_every_entry_of_every_scope_in_its_order(from_: int, to: int) -> None:
    source, target = await filled(from_), MemoryLog(to)
    answer = await copy_log(source, target)
    assert await contents(target) == await contents(source)
    assert [(each.copied, each.present, each.entries) for each in answer.topics] == [(300, 0, 300)] * 3


async def test_copy_repeated_copies_nothing_and_catches_up_with_a_source_that_grew() -> None:
    source, target = await filled(3), MemoryLog(2)
    await copy_log(source, target)
    assert [each.copied for each in (await copy_log(source, target)).topics] == [0, 0, 0]
    await source.append(EVENTS, [an_entry(random.Random("more")) for _ in range(7)])
    assert [each.copied for each in (await copy_log(source, target)).topics] == [7, 0, 0]
    assert await contents(target) == await contents(source)


class CutShort(MemoryLog):
    """A log that fails after some entries, as a broker does in mid-copy: of the call that fails, a few entries still land."""

    def __init__(self, partitions: int, entries: int) -> None:
        super().__init__(partitions)
        self.left = entries

    async def append(self, topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        if len(entries) > self.left:
            await super().append(topic, entries[: self.left])
            self.left = 1 << 30
            raise LogUnavailable("gone")
        self.left -= len(entries)
        return await super().append(topic, entries)


@pytest.mark.parametrize("after", [0, 1, 130, 299, 300, 301, 640, 899])
async def test_copy_that_was_cut_short_goes_on_where_it_stopped(after: int) -> None:
    source, target = await filled(3), CutShort(2, after)
    with pytest.raises(LogUnavailable):
        await copy_log(source, target)
    answer = await copy_log(source, target)
    assert await contents(target) == await contents(source)
    assert sum(each.present for each in answer.topics) == after


@pytest.mark.parametrize(
    "strange", [NewEntry("scope-1", b"other"), NewEntry("nobody's", b""), NewEntry("scope-1", b"", (("h", b""),))]
)
@pytest.mark.parametrize("topic", [EVENTS, ALERTS])
async def test_target_with_entries_of_its_own_is_refused_before_anything_is_written(topic: str, strange: NewEntry) -> None:
    source, target = await filled(2), MemoryLog(2)
    await target.append(topic, [strange])
    before = await contents(target)
    with pytest.raises(UsageError, match=r"no earlier copy"):
        await copy_log(source, target)
    assert await contents(target) == before


class Busy(MemoryLog):
    """A log that gets an event and its decision each time somebody reads its events."""

    pairs = 0

    async def read(self, topic: str, partition: int, offset: int, **limits: int) -> list[Entry]:
        if topic == EVENTS:
            for kind in (EVENTS, DECISIONS):
                await self.append(kind, [NewEntry("scope-1", b"%d" % self.pairs)])
            self.pairs += 1
        return await super().read(topic, partition, offset, **limits)


async def test_p8_copy_of_a_log_in_use_holds_no_decision_whose_event_it_lacks() -> None:
    """P8: verified, it is a whole log; a second copy brings what came meanwhile."""
    source, target = Busy(1), MemoryLog(1)
    await source.append(EVENTS, [NewEntry("scope-1", b"first")])
    for _ in range(2):
        await copy_log(source, target)
        events, decisions = [{entry.value for entry in await target.read(topic, 0, 0)} for topic in (EVENTS, DECISIONS)]
        assert decisions <= events
    assert decisions


async def test_target_that_is_ahead_of_its_source_is_refused() -> None:
    source, target = await filled(2), MemoryLog(2)
    await copy_log(source, target)
    await target.append(EVENTS, [NewEntry("scope-1", b"its own life")])
    with pytest.raises(UsageError, match=r"no earlier copy"):
        await copy_log(source, target)


async def test_log_is_not_copied_into_itself() -> None:
    log = await filled(1)
    with pytest.raises(UsageError, match=r"one log"):
        await copy_log(log, log)


class Misrouted(MemoryLog):
    """A log in which somebody published past the ledger: the first entry of each read stands under a foreign key."""

    async def read(
        self, topic: str, partition: int, offset: int, *, max_entries: int = 1000, max_bytes: int = 8 << 20
    ) -> list[Entry]:
        found = await super().read(topic, partition, offset, max_entries=max_entries, max_bytes=max_bytes)
        return [Entry(entry.position, "" if not n else entry.key, entry.value, entry.headers) for n, entry in enumerate(found)]


async def test_entry_that_is_out_of_place_stops_the_copy_and_is_named() -> None:
    source = Misrouted(2)
    await source.append(EVENTS, [NewEntry("scope-1", b"v")])
    with pytest.raises(IntegrityError, match=r"compaction\.events/\d@0"):
        await copy_log(source, MemoryLog(2))


class PublishedPast(MemoryLog):
    """A log in which somebody puts records where they do not belong, with a key of their choice."""

    def stray(self, partition: int, key: str, value: bytes) -> None:
        entries = self._entries[EVENTS][partition]
        entries.append(Entry(Position(EVENTS, partition, len(entries)), key, value))


async def test_misrouted_entries_are_left_out_when_asked_for_and_listed(tmp_path: Path) -> None:
    """P1, P8: the source keeps them; the copy is whole without them, and so is what was decided. A second copy catches up."""
    source, target = PublishedPast(4), MemoryLog(2)
    away = (partition_of("s1", 4) + 1) % 4
    for key in ("s1", "", "k" * 2000, "\udcff"):
        source.stray(away, key, encode(span(1, "n:41")))
    await source.append(EVENTS, entries([opened(), span(1, "n:40")]))
    await fold_all(source, tmp_path / "source")
    assert await source.end(DECISIONS, away) > 0
    with pytest.raises(IntegrityError, match="past the ledger") as refused:
        await copy_log(source, target)
    assert "--leave-out-misrouted" in refused.value.hint
    answer = await copy_log(source, target, leave_out_misrouted=True)
    assert [each.position for each in answer.left_out] == [f"compaction.events/{away}@{at}" for at in range(4)]
    assert {each.sha256 for each in answer.left_out} == {hashlib.sha256(encode(span(1, "n:41"))).hexdigest()}
    assert (await verify_replay(target, None)).differences == []
    assert (await replay(target)).records == 2
    await source.append(EVENTS, entries([span(2, "n:7")]))
    again = await copy_log(source, target, leave_out_misrouted=True)
    assert ([each.copied for each in again.topics], len(again.left_out)) == ([1, 0, 0], 4)
    assert json_line(again)


def test_log_copy_of_a_transcript_folds_to_the_same_digest(cli: Cli, tmp_path: object) -> None:
    """P2, on the embedded log through the command."""
    source, target = f"lmdb:{tmp_path}/one", f"lmdb:{tmp_path}/two"
    assert cli("ingest", SAMPLE, "--log", source).code == 0
    copied = cli("log", "copy", source, target, "--json")
    assert copied.code == 0, copied.err
    digests = {cli("replay", "--log", url, "--json").object["digest"] for url in (source, target)}
    assert len(digests) == 1
    assert "already" in cli("log", "copy", source, target).out
    assert cli("log", "copy", target, f"lmdb:{tmp_path}/missing/../two").code == 2
    assert cli("log", "copy", f"lmdb:{tmp_path}/none", target).code == 4
