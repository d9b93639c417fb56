"""The fold on disk: the same bytes for a scope under any partition count, any company, any restart (P2, P3, P7, P9)."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings

from consumers.carrier_index import CarrierIndex
from ledger.adapters.memory_log import MemoryLog
from ledger.log import EVENTS
from schemas.records import AnyRecord
from tests.support.folding import ends, entries, fold_all, index_directory, published
from tests.support.given import Fold
from tests.support.histories import history, seeds
from tests.support.toy_facts import toy_facts

SCOPES = ("alpha", "beta", "gamma")
FEW = settings(max_examples=6, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))


@pytest.fixture(scope="module", autouse=True)
def _toy() -> Iterator[None]:
    with toy_facts():
        yield


def interleaved(seed: int, chance: random.Random) -> list[AnyRecord]:
    """Histories of several scopes, each in its own order, mixed."""
    queues = [history((seed, scope), 40, scope) for scope in SCOPES]
    mixed: list[AnyRecord] = []
    while any(queues):
        queue = chance.choice([queue for queue in queues if queue])
        mixed.append(queue.pop(0))
    return mixed


def alone(seed: int) -> dict[str, Fold]:
    """Each scope folded in memory with nobody else there."""
    return {scope: Fold(recount=False).take(history((seed, scope), 40, scope)) for scope in SCOPES}


@FEW
@given(seeds)
def test_fold_any_partition_count_and_company_gives_a_scope_the_same_bytes(seed: int) -> None:
    """P2, P9: 1, 4 or 64 partitions, other scopes in between, in memory or on disk; output numbers dense by scope."""
    expected = alone(seed)

    async def under(partitions: int, root: Path) -> None:
        log = MemoryLog(partitions)
        await log.append(EVENTS, entries(interleaved(seed, random.Random(seed + partitions))))
        digests = await fold_all(log, root)
        assert digests == {scope: fold.rows.digest(scope) for scope, fold in expected.items()}
        assert await published(log) == {scope: [raw for _, raw in fold.outputs] for scope, fold in expected.items()}

    for partitions in (1, 4, 64):
        with tempfile.TemporaryDirectory() as root:
            asyncio.run(under(partitions, Path(root)))


@FEW
@given(seeds)
def test_fold_restarted_at_any_place_and_rebuilt_publishes_nothing_twice(seed: int) -> None:
    """P2, P3, P7: index closed and opened between appends; then deleted and built anew: same digests, and no output again."""
    expected, chance = alone(seed), random.Random(seed)

    async def life(root: Path) -> None:
        log, records, at = MemoryLog(), interleaved(seed, chance), 0
        while at < len(records):
            size = chance.choice((1, 7, 60))
            await log.append(EVENTS, entries(records[at : at + size]))
            digests = await fold_all(log, root)
            at += size
        count, said = await ends(log), await published(log)
        assert digests == {scope: fold.rows.digest(scope) for scope, fold in expected.items()}
        assert said == {scope: [raw for _, raw in fold.outputs] for scope, fold in expected.items()}
        CarrierIndex.discard(index_directory(root, 0))
        assert await fold_all(log, root) == digests
        assert await ends(log) == count

    with tempfile.TemporaryDirectory() as root:
        asyncio.run(life(Path(root)))
