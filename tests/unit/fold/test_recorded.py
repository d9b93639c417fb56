"""Scopes under a rules version that a build does not carry: evolved from what is on record, up to what is not (P2)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

import ledger.fold
from consumers.carrier_index import CarrierIndex, IndexCondemned
from consumers.partition import Partition
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import IndexDamaged, UnknownRecordType
from ledger.facts import RULES_VERSION
from ledger.log import ALERTS, DECISIONS, EVENTS, Entry, NewEntry
from schemas.ids import Position
from schemas.records import ActionProposed, AnyRecord
from tests.support import given as g
from tests.support.folding import ends, entries, fold_all, index_directory, published
from tests.support.histories import history
from tests.support.toy_facts import toy_facts

OLDER = "rules-of-an-older-release"


@pytest.fixture(autouse=True)
def toy() -> Iterator[None]:
    """The toy language."""
    with toy_facts():
        yield


@contextmanager
def older_build() -> Iterator[None]:
    """A build that carries the older version, and publishers that pin it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger.fold, "RULES_VERSION", OLDER)
        patch.setattr(g, "RULES_VERSION", OLDER)
        yield


async def decided_by_the_older(root: Path, *records: AnyRecord) -> tuple[MemoryLog, dict[str, bytes]]:
    """A log that the older build has folded whole, and the digests of its scopes."""
    log = MemoryLog(partitions=1)
    await log.append(EVENTS, entries(records))
    with older_build():
        return log, await fold_all(log, root / "older")


def session() -> list[AnyRecord]:
    """A request that was granted and applied, one that was refused, a round, and a span that was rewritten."""
    with older_build():
        part = g.manifest(1, "n:40").manifest
        return [
            g.opened(), g.span(1, "n:40 i:host", manifest=part), g.span(2, "p:billing"), g.summary("m1", "n:40"),
            g.request("q1", "m1", 1), g.applied("q1", "n:40"), g.summary("m2", "x"), g.request("q2", "m2", 2),
            g.span(1, "n:41"), g.observed("r1", "m2", turn=2),
        ]  # fmt: skip


@contextmanager
def newer(log: MemoryLog, root: Path) -> Iterator[Partition]:
    """This build's fold of the only partition."""
    index = CarrierIndex.create(index_directory(root, 0), log.identity, 0)
    partition = Partition(log, index, 0)
    try:
        yield partition
    finally:
        partition.close()
        index.close()


@pytest.mark.parametrize("seed", range(8))
async def test_p2_what_is_on_record_gives_the_same_state_to_a_build_without_the_rules(tmp_path: Path, seed: int) -> None:
    """P2: the same state, and nothing is said again or otherwise."""
    with older_build():
        records = history((seed, "older"), 80, "s1")
    log, older = await decided_by_the_older(tmp_path, *records)
    before, said = await ends(log), await published(log)
    assert await fold_all(log, tmp_path / "newer") == older
    assert await ends(log) == before
    assert await published(log) == said


async def test_p2_a_scratch_fold_without_the_rules_finds_the_outputs_that_are_on_record(tmp_path: Path) -> None:
    """P2: a replay of the log compares equal, byte for byte."""
    log, _ = await decided_by_the_older(tmp_path, *session())
    index = CarrierIndex.create(tmp_path / "scratch", log.identity, 0)
    partition = Partition(log, index, 0, publish=False)
    await partition.catch_up()
    with index.snapshot() as snapshot:
        again = [(output.topic, output.value) for _, output in snapshot.outbox(10_000)]
    partition.close()
    index.close()
    for topic in (DECISIONS, ALERTS):
        on_record = [entry.value for entry in await log.read(topic, 0, 0)]
        assert [value for at, value in again if at == topic] == on_record


async def test_fold_stops_before_the_first_record_that_needs_a_decision_which_is_not_on_record(tmp_path: Path) -> None:
    """Design section 5: what needs no decision is evolved, the partition stands before the first record that does."""
    log, _ = await decided_by_the_older(tmp_path, *session())
    behind: list[AnyRecord] = [g.span(3, "n:7"), g.summary("m3", "n:7"), g.request("q3", "m3", 3), g.span(4, "n:443")]
    await log.append(EVENTS, entries(behind))
    before = await ends(log)
    with newer(log, tmp_path / "newer") as partition:
        for _ in range(2):
            with pytest.raises(UnknownRecordType, match=rf"compaction\.events/0@12.*{OLDER}.*its decision is not on record"):
                await partition.catch_up()
            assert partition.offset_next == len(session()) + 2
        assert await ends(log) == before
        with older_build():
            await fold_all(log, tmp_path / "older")
        await partition.catch_up()
        assert partition.offset_next == len(session()) + len(behind)
        with partition.index.snapshot() as snapshot:
            digest = snapshot.scope_digest("s1")
    with older_build():
        assert await fold_all(log, tmp_path / "older") == {"s1": digest}


class Cut:
    """A log as a reader sees it to whom the last entries of some topics have not come yet."""

    def __init__(self, log: MemoryLog, ends: dict[str, int]) -> None:
        self.identity, self._log, self._ends = log.identity, log, ends

    async def append(self, topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        return await self._log.append(topic, entries)

    async def read(
        self, topic: str, partition: int, offset: int, *, max_entries: int = 1000, max_bytes: int = 1 << 30
    ) -> list[Entry]:
        count = min(max_entries, await self.end(topic, partition) - offset)
        return await self._log.read(topic, partition, offset, max_entries=count, max_bytes=max_bytes) if count > 0 else []

    async def end(self, topic: str, partition: int) -> int:
        return min(self._ends.get(topic, 1 << 60), await self._log.end(topic, partition))


@pytest.mark.parametrize("seed", range(12))
async def test_alerts_that_came_later_than_their_record_was_followed_leave_no_wrong_state(tmp_path: Path, seed: int) -> None:
    """P2: once everything is on record the state is that of the older build, in the index as it was or in one made anew."""
    chance = random.Random(seed)
    with older_build():
        records = history((seed, "older"), 70, "s1")
    log, older = await decided_by_the_older(tmp_path, *records)
    seen, lag = chance.randrange(20, 60), chance.randrange(1, 8)
    sources = {
        topic: [int(dict(entry.headers)["source_offset"]) for entry in await log.read(topic, 0, 0)]
        for topic in (DECISIONS, ALERTS)
    }
    early = Cut(log, {
        EVENTS: seen,
        DECISIONS: sum(source < seen for source in sources[DECISIONS]),
        ALERTS: sum(source < seen - lag for source in sources[ALERTS]),
    })  # fmt: skip
    place = index_directory(tmp_path / "newer", 0)
    index = CarrierIndex.create(place, log.identity, 0)
    partition = Partition(early, index, 0, publish=False)
    with suppress(UnknownRecordType):  # it may notice at once, and stands before it then
        await partition.catch_up()
    partition.close()
    index.close()
    try:
        found = await fold_all(log, tmp_path / "newer")
    except IndexCondemned:
        with pytest.raises(IndexCondemned):
            CarrierIndex(place, log.identity, 0)
        CarrierIndex.discard(place)
        found = await fold_all(log, tmp_path / "newer")
    assert found == older


async def test_gap_that_nothing_on_record_fills_stops_the_fold_and_condemns_nothing(tmp_path: Path) -> None:
    """P2: the outputs may be on their way; the batch is folded once they are there."""
    log, older = await decided_by_the_older(tmp_path, *session()[:-1], g.request("q3", "m2", 2))
    early = Cut(log, {ALERTS: 0})
    index = CarrierIndex.create(index_directory(tmp_path / "newer", 0), log.identity, 0)
    partition = Partition(early, index, 0, publish=False)
    for _ in range(2):
        with pytest.raises(UnknownRecordType, match="before that was not"):
            await partition.catch_up()
    partition.close()
    index.close()
    assert await fold_all(log, tmp_path / "newer") == older


NEEDING: dict[str, Callable[[], AnyRecord]] = {
    "compaction.requested": lambda: g.request("new", "m2", 2),
    "compaction.observed": lambda: g.observed("r2", None, turn=9),
    "eviction.requested": lambda: g.evict("new", 2),
    "eviction.observed": lambda: g.expired("gone", 2),
    "index.write_requested": lambda: g.write("new", "put", key="k"),
    "action.proposed": lambda: g.record(ActionProposed, "new", request="new", name="deploy"),
    "span.recorded, another text": lambda: g.span(2, "n:99"),
    "manifest.recorded, of a span that left": lambda: g.manifest(1, "n:40 i:host", extractor="another"),
    "policy.set, another rules version": lambda: g.policy("rules_version", RULES_VERSION),
}


@pytest.mark.parametrize("record", NEEDING.values(), ids=NEEDING)
async def test_kinds_of_records_whose_outcome_a_build_without_the_rules_does_not_know_stop_it(
    tmp_path: Path, record: Callable[[], AnyRecord]
) -> None:
    """Fail closed: neither decided nor passed over."""
    log, _ = await decided_by_the_older(tmp_path, *session())
    await log.append(EVENTS, entries([record()]))
    with newer(log, tmp_path / "newer") as partition:
        with pytest.raises(UnknownRecordType, match=OLDER):
            await partition.catch_up()
        assert partition.offset_next == len(session())


async def test_bytes_that_are_no_record_stop_it_unless_their_rejection_is_on_record(tmp_path: Path) -> None:
    """Three faults: which number the rejection has among the outputs of the scope is known to who decides there."""
    log, _ = await decided_by_the_older(tmp_path, *session())
    await log.append(EVENTS, [NewEntry("s1", b"\xff{")])
    with newer(log, tmp_path / "newer") as partition:
        with pytest.raises(UnknownRecordType, match="bytes that cannot be read are not rejected on record"):
            await partition.catch_up()
        with older_build():
            older = await fold_all(log, tmp_path / "older")
        await partition.catch_up()
        with partition.index.snapshot() as snapshot:
            assert snapshot.scope_digest("s1") == older["s1"]


async def test_scopes_of_its_own_rules_are_decided_beside_those_that_are_followed(tmp_path: Path) -> None:
    """One partition, two versions: each scope by its own."""
    log, older = await decided_by_the_older(tmp_path, *session())
    own: list[AnyRecord] = [
        g.opened("own", scope="own"), g.span(1, "n:40", session="own", scope="own"),
        g.summary("m1", "n:40", session="own", scope="own"), g.request("q1", "m1", 1, session="own", scope="own"),
    ]  # fmt: skip
    await log.append(EVENTS, entries(own))
    digests = await fold_all(log, tmp_path / "newer")
    assert digests["s1"] == older["s1"]
    assert len((await published(log))["own"]) == 1


async def test_build_with_the_rules_does_not_go_on_from_an_index_of_a_build_without_them(tmp_path: Path) -> None:
    """P7: such an index may owe alerts; it is refused at open, and the log gives another."""
    log, older = await decided_by_the_older(tmp_path, *session())
    await fold_all(log, tmp_path / "newer")
    with older_build():
        with pytest.raises(IndexDamaged, match=OLDER):
            CarrierIndex.create(index_directory(tmp_path / "newer", 0), log.identity, 0)
        CarrierIndex.discard(index_directory(tmp_path / "newer", 0))
        assert await fold_all(log, tmp_path / "newer") == older


async def test_output_on_record_that_says_more_than_this_build_knows_stops_it(tmp_path: Path) -> None:
    """Fail closed: a decision is taken whole or not at all."""
    with older_build():
        log = MemoryLog(partitions=1)
        await log.append(EVENTS, entries(session()))
        await fold_all(log, tmp_path / "older")
    entry = log._entries[DECISIONS][0][0]
    log._entries[DECISIONS][0][0] = type(entry)(entry.position, entry.key, entry.value[:-1] + b',"another":1}', entry.headers)
    with newer(log, tmp_path / "newer") as partition, pytest.raises(UnknownRecordType, match="does not know everything"):
        await partition.catch_up()
