"""Event times that no calendar has, and events that are no records: every other answer is given all the same (P1, P9)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ledger.log import EVENTS, NewEntry
from ops.queries.quotes import iso_time, time_of
from ops.store import open_store
from tests.support.cli import SAMPLE, SESSION, Cli


def test_time_that_no_calendar_has_is_not_told() -> None:
    assert iso_time(9_007_199_254_740_991) is None
    assert iso_time(-9_007_199_254_740_991) is None
    assert iso_time(0) == "1970-01-01T00:00:00.000Z"


def test_event_that_is_no_record_has_no_time() -> None:
    assert [time_of(value) for value in (b"not json", b"\xff", b"[]", b'{"time_ms":"x"}', b"[" * 100_000)] == [None] * 5
    assert time_of(b'{"time_ms":5}') == 5


async def _append(data: Path, value: bytes) -> None:
    async with open_store(f"lmdb:{data / 'log'}") as store:
        await store.log.append(EVENTS, [NewEntry(SESSION, value)])


def test_p9_alerts_and_replay_go_on_beside_bytes_that_are_no_record(cli: Cli, data: Path) -> None:
    """P9: the alert about the bad bytes is one of many, and none of the others is held back."""
    assert cli("ingest", SAMPLE).code == 0
    before = len(cli("alerts", "--json").objects)
    asyncio.run(_append(data, b"not json"))
    ran = cli("alerts", "--json")
    assert (ran.code, ran.err.count("error")) == (0, 0)
    assert len(ran.objects) > before > 0
    assert cli("replay", "--until", "2027-01-01", "--json").code == 0
