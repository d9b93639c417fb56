"""Folds a whole log into indexes on disk, and reads back what a subscriber would."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from consumers.carrier_index import CarrierIndex
from consumers.partition import Partition
from ledger.following import all_entries
from ledger.log import ALERTS, DECISIONS, EVENTS, Log, NewEntry
from schemas.codec import encode
from schemas.records import AnyRecord


class _Head(msgspec.Struct):
    id: str
    output_seq: int


def entries(records: Iterable[AnyRecord]) -> list[NewEntry]:
    """Records as a publisher appends them."""
    return [NewEntry(record.scope, encode(record)) for record in records]


def index_directory(root: Path, number: int) -> Path:
    """Where the index of a partition lies."""
    return root / f"index-{number}"


async def fold_all(log: Log, root: Path) -> dict[str, bytes]:
    """Fold and publish every partition that has entries; the digest of each scope."""
    digests: dict[str, bytes] = {}
    for number in range(log.identity.partitions):
        if not await log.end(EVENTS, number):
            continue
        index = CarrierIndex.create(index_directory(root, number), log.identity, number)
        partition = Partition(log, index, number)
        try:
            await partition.catch_up()
            with index.snapshot() as snapshot:
                digests |= {scope: snapshot.scope_digest(scope) for scope in snapshot.scopes()}
        finally:
            partition.close()
            index.close()
    return digests


async def published(log: Log) -> dict[str, list[bytes]]:
    """Outputs by scope, in order of their number. Raises `AssertionError` where a subscriber would be misled: two different
    outputs under one id or number, a number left out, or one topic out of order but for repeats.
    """
    found: dict[str, dict[int, bytes]] = {}
    for topic in (DECISIONS, ALERTS):
        for number in range(log.identity.partitions):
            last: dict[str, int] = {}
            async for entry in all_entries(log, topic, number):
                head = msgspec.json.decode(entry.value, type=_Head)
                mine = found.setdefault(entry.key, {})
                if head.output_seq not in mine:
                    assert head.output_seq > last.get(entry.key, 0), f"{entry.position}: out of order"
                    last[entry.key] = head.output_seq
                assert mine.setdefault(head.output_seq, entry.value) == entry.value, f"{entry.position}: other bytes"
    for scope, mine in found.items():
        assert sorted(mine) == list(range(1, len(mine) + 1)), f"{scope}: numbers are not dense"
    return {scope: [mine[number] for number in sorted(mine)] for scope, mine in found.items()}


async def ends(log: Log) -> dict[str, int]:
    """How many entries each output topic holds."""
    partitions = range(log.identity.partitions)
    return {topic: sum([await log.end(topic, number) for number in partitions]) for topic in (DECISIONS, ALERTS)}
