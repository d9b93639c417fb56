"""The judge of what a fleet said: the events folded once more, undisturbed and in memory, must give the same bytes.

Decisions, alerts and indexes: none lost, none contradictory, each scope in order (P1, P2, P3, P9).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec

from consumers.carrier_index import CarrierIndex
from ledger.adapters.memory_log import MemoryLog
from ledger.following import all_entries
from ledger.log import ALERTS, DECISIONS, EVENTS, Entry, Log
from ops.store import scratch_store
from tests.support.toy_facts import toy_facts


class Verdict(msgspec.Struct, kw_only=True):
    """Counts of a history that was found right."""

    events: int = 0
    scopes: int = 0
    decisions: int = 0
    alerts: int = 0
    repeats: int = 0
    """Outputs that stand in the log once more, with equal bytes."""

    indexes: int = 0
    """Indexes of workers that stood at the end of their partition, and were equal."""

    indexes_behind: int = 0
    """Indexes that stood before it, and were equal there."""

    def __str__(self) -> str:
        counts = ", ".join(f"{name} {getattr(self, name)}" for name in self.__struct_fields__)
        return f"history: {counts}"


class Head(msgspec.Struct):
    """What every output says of itself."""

    id: str
    output_seq: int
    fingerprint: str = ""
    request_id: str = ""


async def undisturbed(log: Log, *, toy: bool, until: dict[int, int] | None = None) -> tuple[MemoryLog, dict[str, bytes]]:
    """The events of a log folded and published in memory, by nobody else and without a fault: that log, and a digest for each
    scope. `until` cuts each partition at an offset, those that it does not name at 0.
    """
    copy = MemoryLog(log.identity.partitions)
    for number in range(log.identity.partitions):
        stop = None if until is None else until.get(number, 0)
        copy._entries[EVENTS][number] = [entry async for entry in all_entries(log, EVENTS, number, 0, stop)]
    digests: dict[str, bytes] = {}
    with toy_facts() if toy else nullcontext():
        async with scratch_store(copy) as store:
            await store.fold()
            for partition in store.partitions:
                with partition.index.snapshot() as snapshot:
                    digests |= {scope: snapshot.scope_digest(scope) for scope in snapshot.scopes()}
    return copy, digests


async def outputs_of(log: Log, topic: str) -> dict[str, list[Entry]]:
    """What stands in an output topic, by scope, in order."""
    found: dict[str, list[Entry]] = {}
    for number in range(log.identity.partitions):
        async for entry in all_entries(log, topic, number):
            found.setdefault(entry.key, []).append(entry)
    return found


def first_copies(entries: Sequence[Entry], verdict: Verdict) -> list[bytes]:
    """The outputs of a scope and topic as a subscriber sees them who leaves out what he has seen. Raises `AssertionError` where
    one comes before its turn, or is said twice with different bytes.
    """
    seen: dict[int, bytes] = {}
    ids: dict[str, bytes] = {}
    for entry in entries:
        head = msgspec.json.decode(entry.value, type=Head)
        if head.output_seq in seen:
            verdict.repeats += 1
        else:
            assert head.output_seq > max(seen, default=0), f"{entry.position}: {head.output_seq} comes after {max(seen)}"
        assert seen.setdefault(head.output_seq, entry.value) == entry.value, f"{entry.position}: contradicts an earlier copy"
        assert ids.setdefault(head.id, entry.value) == entry.value, f"{entry.position}: contradicts {head.id}"
        headers = dict(entry.headers)
        assert headers.get("output_seq") == str(head.output_seq).encode(), f"{entry.position}: header {headers}"
        assert headers.get("request_id", b"").decode() == head.request_id, f"{entry.position}: header {headers}"
    return list(seen.values())


async def check_history(log: Log, places: Sequence[Path] = (), *, toy: bool = True, all_folded: bool = True) -> Verdict:
    """Is what the workers said, and what their indexes under `places` hold, what an undisturbed fold of the same events gives?

    Raises `AssertionError` that names what is lost, surplus, out of order or of other bytes.
    """
    copy, digests = await undisturbed(log, toy=toy)
    numbers = range(log.identity.partitions)
    ends = {number: await log.end(EVENTS, number) for number in numbers}
    verdict = Verdict(events=sum(ends.values()), scopes=len(digests))
    for topic in (DECISIONS, ALERTS):
        on_record, expected = await outputs_of(log, topic), await outputs_of(copy, topic)
        assert set(on_record) <= set(expected), f"{topic}: scopes that said nothing: {sorted(set(on_record) - set(expected))}"
        for scope, wanted in expected.items():
            said = first_copies(on_record.get(scope, []), verdict)
            right = first_copies(wanted, Verdict())
            lost, surplus = len(set(right) - set(said)), len(set(said) - set(right))
            assert said == right, f"{topic} {scope}: {len(said)} said, {len(right)} to be said, {lost} lost, {surplus} surplus"
        count = sum(len(first_copies(wanted, Verdict())) for wanted in expected.values())
        verdict.decisions, verdict.alerts = (count, verdict.alerts) if topic == DECISIONS else (verdict.decisions, count)
    complete: set[int] = set()
    for place in places:
        for number in numbers:
            if (place / f"p{number:03}").exists():
                complete |= await _check_index(log, place / f"p{number:03}", number, ends[number], digests, toy, verdict)
    if places and all_folded:
        missing_indexes = [number for number in numbers if ends[number] and number not in complete]
        assert not missing_indexes, f"no worker has folded partitions {missing_indexes} to their end"
    return verdict


async def _check_index(
    log: Log, directory: Path, number: int, end: int, digests: dict[str, bytes], toy: bool, verdict: Verdict
) -> set[int]:
    index = CarrierIndex(directory, log.identity, number)
    try:
        with index.snapshot() as snapshot:
            offset = snapshot.offset_next
            found = {scope: snapshot.scope_digest(scope) for scope in snapshot.scopes()}
    finally:
        index.close()
    if offset < end:
        _, earlier = await undisturbed(log, toy=toy, until={number: offset})
        digests = earlier
        verdict.indexes_behind += 1
    else:
        verdict.indexes += 1
    for scope, digest in found.items():
        assert digest == digests[scope], f"{directory} at {offset} of {end}: {scope} is in another state"
    if offset < end:
        assert set(found) == set(digests)
        return set()
    return {number}
