"""What the owner ticks: the end of a validity, once, in a session that the scope has (design section 5, time)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import consumers.keeper
from ledger.adapters.memory_log import MemoryLog
from ledger.following import all_entries
from ledger.log import DECISIONS, EVENTS
from schemas.codec import decode_record
from schemas.records import Tick
from tests.support.folding import entries
from tests.support.given import opened, span
from tests.support.toy_facts import extract, toy_facts
from tests.unit.consumers.test_keeper import keeping, until

ENDS = "2026-01-31T00:00:00+00:00"
ENDS_MS = 1_769_817_600_000


@pytest.fixture(autouse=True)
def toy() -> Iterator[None]:
    with toy_facts():
        yield


async def test_end_of_a_validity_is_ticked_once_where_no_session_has_the_name_of_the_scope(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P3: a tick that the fold cannot take would be rejected and said again at every look."""
    monkeypatch.setattr(consumers.keeper, "TIMERS_S", 0.0)
    monkeypatch.setattr(consumers.keeper, "IDLE_S", 0.01)
    listed = extract("n:40", "user", scope_key="fleet")
    manifest = msgspec.structs.replace(listed, facts=(msgspec.structs.replace(listed.facts[0], valid_to=ENDS),))
    first = span(1, "n:40", session="agent-1", scope="fleet", manifest=manifest, valid_to=ENDS)
    log = MemoryLog(partitions=1)
    await log.append(EVENTS, entries([opened("agent-1", scope="fleet"), first]))
    async with keeping(log, tmp_path) as keeper:
        await until(lambda: keeper.status.published >= 3)
        looks = keeper.status.moved_s
        await until(lambda: keeper.status.moved_s > looks + 0.1)
        events = [decode_record(entry.value) async for entry in all_entries(log, EVENTS, 0)]
        ticks = [(each.session, each.timer, each.due_ms) for each in events if isinstance(each, Tick)]
        assert ticks == [("agent-1", "validity", ENDS_MS)]
        assert not await log.end(DECISIONS, 0)  # nothing was rejected
