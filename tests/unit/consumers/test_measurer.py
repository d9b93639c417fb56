"""The measurer: what was recorded without a manifest gets one, once, by our extractor, from the text on record (C2, P3)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from consumers import remeasuring
from consumers.measurer import MEASURER, measure
from consumers.remeasuring import Checkpoint, extracted_again
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import LogUnavailable
from ledger.facts import EXTRACTOR, extract
from ledger.log import EVENTS, Entry, LogIdentity, NewEntry
from schemas.codec import encode
from schemas.decisions import CompactionGranted, CompactionRefused
from schemas.facts import Manifest
from schemas.records import ManifestRecorded, SpanRecorded
from tests.support import toy_facts as toy
from tests.support.followed import LOGS, Followed, followed
from tests.support.given import opened, request, span, summary

LIMIT = 1000


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr("consumers.remeasuring.extract", toy.extract)
    with toy.toy_facts():
        yield


@pytest.fixture(params=LOGS)
async def at(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Followed]:
    async with followed(request.param, tmp_path) as made:
        yield made


async def run(at: Followed, limit: int = LIMIT) -> int:
    return await measure(at.log, at.index, 0, limit=limit)


async def test_span_without_manifest_may_leave_once_it_was_measured(at: Followed) -> None:
    """C2: refused while nobody knows what it holds, granted afterwards, on what our extractor found."""
    await at.fold(opened(), span(1, "n:40 p:billing", manifest=False), summary("m1", "n:40 p:billing"), request("q1", "m1", 1))
    assert await run(at) == 1
    await at.fold()
    await at.fold(request("q2", "m1", 1))
    refused, granted = await at.decisions()
    assert isinstance(refused, CompactionRefused)
    assert (refused.rule, refused.reason) == ("C2", "unmanifested")
    assert isinstance(granted, CompactionGranted)
    (made,) = await at.events(ManifestRecorded)
    assert made.manifest == toy.extract("n:40 p:billing", "user", scope_key="s1")
    assert (made.session, made.manifest.extractor) == ("s1", EXTRACTOR)


async def test_span_that_holds_no_fact_is_measured_too(at: Followed) -> None:
    """C2: nothing found is an answer, and not the same as nobody looked."""
    await at.fold(opened(), span(1, "hello", manifest=False), summary("m1", ""))
    assert await run(at) == 1
    await at.fold()
    await at.fold(summary("m2", "so far"), request("q1", "m2", 1))
    assert isinstance((await at.decisions())[-1], CompactionGranted)


async def test_manifest_that_lies_counts_as_none_and_is_replaced(at: Followed) -> None:
    """C2: a listed fact that does not stand in the text leaves the span unmeasured."""
    lying = toy.extract("n:7 i:host", "user", scope_key="s1")
    await at.fold(opened(), span(1, "n:40 i:host", manifest=lying))
    assert await run(at) == 1
    await at.fold()
    assert await run(at) == 0
    (made,) = await at.events(ManifestRecorded)
    assert [fact.value for fact in made.manifest.facts] == ["n:40", "i:host"]


async def test_measured_spans_and_summaries_are_left_alone(at: Followed) -> None:
    await at.fold(opened(), span(1, "n:40"), span(2, "", manifest=Manifest(extractor=EXTRACTOR)), summary("m1", "n:40"))
    assert await run(at) == 0


async def test_second_measurer_changes_nothing(at: Followed) -> None:
    """P3: without the checkpoint, before the fold, by anybody: the same ids and bytes, which are duplicates."""
    await at.fold(opened(), span(1, "n:40", manifest=False), span(2, "p:billing", manifest=False))
    assert await run(at) == 2
    (at.index.directory / f"{MEASURER}.checkpoint").unlink()
    assert await run(at) == 2
    first, second, *again = await at.events(ManifestRecorded)
    assert again == [first, second]
    await at.fold()
    assert at.duplicates() == 2
    (at.index.directory / f"{MEASURER}.checkpoint").unlink()
    assert await run(at) == 0, "the index says that they are measured"


class CountingLog(MemoryLog):
    """Notes which events are read."""

    def __init__(self) -> None:
        super().__init__()
        self.offsets: list[int] = []

    async def read(self, topic: str, partition: int, offset: int, **limits: int) -> list[Entry]:
        found = await super().read(topic, partition, offset, **limits)
        if topic == EVENTS:
            self.offsets += [entry.position.offset for entry in found]
        return found


async def test_each_record_is_looked_at_once(tmp_path: Path) -> None:
    """Work per call is bounded by what is new, also for another process that goes on in the same folder."""
    log = CountingLog()
    at = Followed(log, tmp_path / "index")
    await at.fold(opened(), *(span(number, "n:40", manifest=number % 2 == 0) for number in range(1, 8)))
    log.offsets.clear()
    assert await run(at) == 4
    assert log.offsets == list(range(8))
    log.offsets.clear()
    assert await run(at) == 0
    assert log.offsets == []
    await at.fold(span(8, "n:7", manifest=False))
    log.offsets.clear()
    assert await run(at) == 1
    assert log.offsets == [*range(8, 13)]
    at.partition.close()
    at.index.close()


async def test_limit_bounds_one_call_and_the_next_goes_on(at: Followed) -> None:
    await at.fold(opened(), *(span(number, f"n:{number}", manifest=False) for number in range(1, 6)))
    assert [await run(at, 2) for _ in range(4)] == [2, 2, 1, 0]
    assert [record.span for record in await at.events(ManifestRecorded)] == [f"s1:{number}" for number in range(1, 6)]


async def test_what_is_not_folded_yet_waits(at: Followed) -> None:
    """The index says what is measured, so nothing beyond it is looked at."""
    await at.fold(opened())
    await at.log.append(EVENTS, [NewEntry("s1", encode(span(1, "n:40", manifest=False)))])
    assert await run(at) == 0
    await at.fold()
    assert await run(at) == 1


async def test_only_the_text_on_record_is_measured(at: Followed) -> None:
    """I1: a second text under a used id was refused, and so was a span of a session that is not open."""
    await at.fold(opened(), span(1, "n:40", manifest=False), span(1, "n:7", manifest=False))
    await at.fold(span(1, "n:443", manifest=False, session="s9"))
    await at.log.append(EVENTS, [NewEntry("s1", b"\xff no record"), NewEntry("s1", encode(span(2, "n:9", scope="s2")))])
    await at.fold()
    assert await run(at) == 1
    (made,) = await at.events(ManifestRecorded)
    assert [fact.value for fact in made.manifest.facts] == ["n:40"]


async def test_end_between_append_and_checkpoint_repeats_and_loses_nothing(
    at: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P1, P3: what was appended is appended again under the same id."""
    await at.fold(opened(), span(1, "n:40", manifest=False))

    def full(self: Checkpoint, offset: int) -> None:
        raise LogUnavailable("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "advance", full)
        with pytest.raises(LogUnavailable):
            await run(at)
    assert await run(at) == 1
    first, second = await at.events(ManifestRecorded)
    assert first == second
    await at.fold()
    assert at.duplicates() == 1


async def test_manifest_that_no_record_holds_keeps_nobody_waiting(at: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    """C2: such a span stays raw, and the ones behind it are measured."""
    await at.fold(opened(), span(1, "n:40 n:7 n:443 " * 5 + "i:host p:billing", manifest=False), span(2, "n:7", manifest=False))
    monkeypatch.setattr(remeasuring, "RECORD_BYTES_MAX", 500)
    assert await run(at) == 1
    assert [record.span for record in await at.events(ManifestRecorded)] == ["s1:2"]
    assert await run(at) == 0


def test_validity_is_part_of_what_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fact's validity is in its id, so the measurer must find the ids that the publisher would have found."""
    monkeypatch.setattr(remeasuring, "extract", extract)
    text = "Service api-1 accepts 100 req/s."
    record = msgspec.structs.replace(span(1, text, manifest=False), valid_from="2026-01-01", valid_to="2026-02-01")
    assert isinstance(record, SpanRecorded)
    valid = extract(text, "user", scope_key="s1", valid=("2026-01-01", "2026-02-01"))
    assert extracted_again(record) == valid
    assert {fact.id for fact in valid.facts}.isdisjoint({fact.id for fact in extract(text, "user", scope_key="s1").facts})


PLACE = LogIdentity("one", 4)


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b'{"offset":7}', b'{"log_id":"one","partitions":4,"partition":1,"offset":9,"check":""}'],
)
def test_damaged_checkpoint_counts_as_none(tmp_path: Path, damage: bytes) -> None:
    """P7: at worst everything is looked at again."""
    Checkpoint(tmp_path, "m", PLACE, 1).advance(7)
    assert Checkpoint(tmp_path, "m", PLACE, 1).offset == 7
    (tmp_path / "m.checkpoint").write_bytes(damage)
    assert Checkpoint(tmp_path, "m", PLACE, 1).offset == 0


@pytest.mark.parametrize("place", [(LogIdentity("two", 4), 1), (LogIdentity("one", 5), 1), (PLACE, 2)])
def test_checkpoint_of_another_place_counts_as_none(tmp_path: Path, place: tuple[LogIdentity, int]) -> None:
    Checkpoint(tmp_path, "m", PLACE, 1).advance(7)
    assert Checkpoint(tmp_path, "m", *place).offset == 0


def test_checkpoint_only_rises(tmp_path: Path) -> None:
    mark = Checkpoint(tmp_path, "m", PLACE, 1)
    for offset, stands in ((7, 7), (3, 7), (9, 9)):
        mark.advance(offset)
        assert (mark.offset, Checkpoint(tmp_path, "m", PLACE, 1).offset) == (stands, stands)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.checkpoint"]


def test_checkpoint_that_cannot_be_written_is_an_error_with_a_name(tmp_path: Path) -> None:
    with pytest.raises(LogUnavailable, match="cannot be written"):
        Checkpoint(tmp_path / "gone", "m", PLACE, 1).advance(1)
