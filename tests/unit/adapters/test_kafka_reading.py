"""What a fetch from Kafka brought, unpacked: the next record or a damage that is named, never something in between (L3,
L10).
"""

from __future__ import annotations

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from ledger.errors import LogDamaged
from ledger.kafka.reading import _Fetch
from ledger.log import EVENTS

ZSTD = 4


def batch(first: int, values: list[bytes], *, numbers: list[int] | None = None, compression: int = ZSTD) -> bytes:
    """A stored batch; `numbers` are the places of its records, where some are left out."""
    builder = DefaultRecordBatchBuilder(2, compression, 0, -1, -1, 0, 1 << 20)
    for number, value in zip(numbers or range(len(values)), values, strict=True):
        builder.append(number, 1, b"scope", value, [])
    stored = bytearray(builder.build())
    stored[:8] = first.to_bytes(8, "big")  # the broker writes the first offset, outside what the checksum covers
    return bytes(stored)


def fetch(offset: int, *batches: bytes) -> _Fetch:
    return _Fetch(EVENTS, 3, offset, MemoryRecords(b"".join(batches)))


def one_by_one(whole: _Fetch) -> None:
    """Take everything."""
    while not whole.over:
        whole.take(1, 1)


def test_fetch_begins_in_the_middle_of_a_batch() -> None:
    whole = fetch(6, batch(5, [b"five", b"six", b"seven"]), batch(8, [b"eight"]))
    assert [(entry.position.offset, entry.value) for entry in whole.take(9, 99)] == [(6, b"six"), (7, b"seven"), (8, b"eight")]
    assert (whole.over, whole.next) == (True, 9)


def test_fetch_is_taken_piece_by_piece() -> None:
    whole = fetch(0, batch(0, [b"a" * 10] * 5), batch(5, [b"b"] * 5))
    sizes = [len(whole.take(*limits)) for limits in ((2, 999), (9, 1), (9, 11), (1, 1))]
    assert sizes == [2, 1, 2, 1]
    assert [entry.position.offset for entry in whole.take(99, 999)] == [6, 7, 8, 9]
    assert whole.take(99, 999) == []


def test_half_of_a_last_batch_is_left_for_the_next_fetch() -> None:
    whole = fetch(0, batch(0, [b"a"]), batch(1, [b"b" * 100])[:-20])
    assert [entry.value for entry in whole.take(9, 999)] == [b"a"]


@pytest.mark.parametrize(
    ("offset", "batches", "missing"),
    [
        (0, [batch(1, [b"one"])], 0),
        (0, [batch(0, [b"zero"]), batch(2, [b"two"])], 1),
        (0, [batch(0, [b"zero", b"two"], numbers=[0, 2])], 1),
        (2, [batch(0, [b"zero", b"one"], numbers=[0, 1])], 2),
    ],
    ids=["first", "between-batches", "compacted-away", "at-the-end"],
)
def test_hole_is_damage_and_the_missing_offset_is_named(offset: int, batches: list[bytes], missing: int) -> None:
    """L3"""
    with pytest.raises(LogDamaged, match=rf"{EVENTS}/3@{missing}\b") as raised:
        one_by_one(fetch(offset, *batches))
    assert raised.value.exit_code == 5


@pytest.mark.parametrize("at", range(17, 103, 3))
def test_every_changed_byte_of_a_batch_is_noticed(at: int) -> None:
    """L10: what the checksum covers, and the checksum."""
    stored = bytearray(batch(0, [b"value one", b"value two"], compression=0))
    stored[at] ^= 0x10
    with pytest.raises(LogDamaged, match=rf"{EVENTS}/3@0"):
        fetch(0, bytes(stored)).take(9, 999)
