"""What a reader knows of ids: the same as a dictionary would, in memory that hardly grows with the file (goal G10)."""

from __future__ import annotations

import random
import tracemalloc
from uuid import UUID

import pytest

from ledger.transcripts import known_ids
from ledger.transcripts.known_ids import KnownIds


def _id(number: int) -> str:
    return str(UUID(int=number * 0x9E3779B97F4A7C15F39CC0605CEDC835 % (1 << 128)))


def test_ids_that_were_moved_out_are_found_with_their_fingerprints_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Given far more ids than stay at hand, some met again and again, then what is found is what a dictionary holds."""
    monkeypatch.setattr(known_ids, "RECENT_MAX", 50)
    chosen, known, plain = random.Random(7), KnownIds(), dict[str, tuple[int, ...]]()
    for number in range(5000):
        key = _id(chosen.randrange(3000)) if chosen.random() < 0.7 else f"msg_{chosen.randrange(300)}\ud800"
        assert known.find(key) == plain.get(key)
        plain[key] = (*plain.get(key, ()), (-1) ** number * chosen.getrandbits(62))
        known.put(key, plain[key])
    assert {key: known.find(key) for key in plain} == plain
    assert all(known.find(_id(number)) is None for number in range(3000, 9000))


def test_ids_of_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_ids, "RECENT_MAX", 1)
    monkeypatch.setattr(known_ids, "hash", lambda _: 77, raising=False)
    known = KnownIds()
    for number in range(20):
        known.put(_id(number), (number,))
    assert [known.find(_id(number)) for number in range(21)] == [*((number,) for number in range(20)), None]


def test_a_file_three_times_as_long_takes_little_more_memory() -> None:
    """A dictionary takes 200 bytes for each id more."""
    sizes = []
    for count in (20_000, 60_000):
        tracemalloc.start()
        known = KnownIds()
        for number in range(count):
            known.put(_id(number), (hash(number),))
        sizes.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    assert sizes[1] - sizes[0] < 40_000 * 40 + known_ids.RECENT_MAX * 250
    assert sizes[1] < 5_000_000
