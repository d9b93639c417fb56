"""However records are delivered, cut and repeated: the same state and the same outputs, byte for byte (P2, P3, P9)."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import Phase, given, settings

from schemas.records import AnyRecord
from tests.support.given import Fold
from tests.support.histories import history, seeds, shown, shrunk
from tests.support.rows import MemoryRows
from tests.support.toy_facts import toy_facts

QUICK = settings(max_examples=80, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))


@pytest.fixture(scope="module", autouse=True)
def _toy() -> Iterator[None]:
    with toy_facts():
        yield


def plain(records: list[AnyRecord]) -> Fold:
    return Fold(recount=False).take(records)


def repeated(records: list[AnyRecord], chance: random.Random) -> list[AnyRecord]:
    """Every record in its place, and again any number of times at any later place."""
    found: list[AnyRecord] = []
    for record in records:
        found.append(record)
        while chance.random() < 0.3:
            found.append(chance.choice(found))
    return found


def cut(records: list[AnyRecord], chance: random.Random, fold: Fold) -> Fold:
    """The records in batches of any size."""
    at = 0
    while at < len(records):
        size = chance.choice((1, 2, 3, 10, 50))
        fold.take(records[at : at + size])
        at += size
    return fold


def difference(records: list[AnyRecord], seed: int) -> str:
    once = plain(records)
    again = plain(repeated(records, random.Random(seed)))
    if again.outputs != once.outputs:
        return "other outputs"
    if again.rows.digest("s1") != once.rows.digest("s1"):
        return "other rows"
    known = {raw for _, raw in once.outputs}
    return "" if set(again.repeats) <= known else "a repeated decision with other bytes"


@QUICK
@given(seeds)
def test_fold_any_duplication_changes_nothing(seed: int) -> None:
    """P3: a repeated request gets its recorded decision again, same bytes; everything else only counts."""
    records = history(seed)
    if difference(records, seed):
        short = shrunk(records, lambda some: difference(some, seed))
        pytest.fail(f"{difference(short, seed)}\n{shown(short)}")


@QUICK
@given(seeds)
def test_fold_any_cut_into_batches_gives_the_same(seed: int) -> None:
    """P2: a batch is one draft over committed rows, and where it ends is nobody's business."""
    records = history(seed)
    once = plain(records)
    pieces = cut(records, random.Random(seed), Fold(recount=False))
    assert pieces.outputs == once.outputs
    assert pieces.rows.data == once.rows.data


@QUICK
@given(seeds)
def test_fold_from_any_prefix_goes_on_the_same(seed: int) -> None:
    """P2: the rows of a prefix are all that the fold knows of it."""
    records = history(seed)
    at = random.Random(seed).randrange(len(records) + 1)
    once, first = plain(records), plain(records[:at])
    rows: MemoryRows = first.rows.copy()
    second = Fold(rows, recount=False).take(records[at:])
    assert first.outputs + second.outputs == once.outputs
    assert second.rows.digest("s1") == once.rows.digest("s1")


@QUICK
@given(seeds)
def test_fold_scope_by_another_name_differs_in_names_only(seed: int) -> None:
    """P2: what a scope is called decides nothing: the same history under another name has the same kinds of outputs."""
    kinds = []
    for scope in ("s1", "t2"):
        records = history("same", scope=scope) if seed % 2 else history(("same", seed // 2), scope=scope)
        fold = plain(records)
        kinds.append([(topic, raw.split(b'"')[3]) for topic, raw in fold.outputs])
    assert len(kinds[0]) == len(kinds[1])
    assert sorted(kinds[0]) == sorted(kinds[1])
