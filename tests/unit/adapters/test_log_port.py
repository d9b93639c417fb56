"""The parts of the log port that are plain functions: placement and limits."""

from __future__ import annotations

import aiokafka.partitioner
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import EntryTooLarge, UsageError
from ledger.log import EVENTS, VALUE_BYTES_MAX, NewEntry, check_entries, check_offset, check_place, murmur2, partition_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_of_known_texts_is_what_the_java_client_computes(text: bytes, expected: int) -> None:
    """L5: the vectors of the Java client's own test."""
    assert murmur2(text) == expected


@given(st.binary(max_size=100))
def test_murmur2_of_any_bytes_is_what_another_client_computes(data: bytes) -> None:
    """L5"""
    assert murmur2(data) & 0xFFFFFFFF == aiokafka.partitioner.murmur2(data) & 0xFFFFFFFF


@given(st.text(min_size=1, max_size=30), st.integers(1, 300))
def test_partition_of_any_key_is_in_range_and_stable(key: str, partitions: int) -> None:
    """L5"""
    assert 0 <= partition_of(key, partitions) < partitions
    assert partition_of(key, partitions) == partition_of(key, partitions)


def test_check_entries_names_the_entry_and_the_limit() -> None:
    """L11"""
    with pytest.raises(EntryTooLarge, match=r"entry 1 .* 1048577 value bytes, the log takes 1048576"):
        check_entries(EVENTS, [NewEntry("s", b""), NewEntry("s", b"v" * (VALUE_BYTES_MAX + 1))])


def test_check_place_and_offset_refuse_what_no_log_has() -> None:
    """L10"""
    check_place(EVENTS, 3, 4)
    check_offset(EVENTS, 0, 0)
    for topic, partition in (("compaction", 0), (EVENTS, 4), (EVENTS, -1)):
        with pytest.raises(UsageError):
            check_place(topic, partition, 4)
    with pytest.raises(UsageError):
        check_offset(EVENTS, 0, -1)
