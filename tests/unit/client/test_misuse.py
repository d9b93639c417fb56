"""What a program does that it should not: it is told at once, with what would be right (P5, contracts section 5)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from consumers.membership import SESSION_TIMEOUT_MS
from ledger.client import LedgerClient
from ledger.errors import LogClosed, UsageError
from ledger.log import EVENTS
from ledger.refusals import LosslessRetrievalBoundaryError, RecordConflict
from ledger.scope import ANSWER_TIMEOUT_S, seconds_of
from ops import open_ledger, open_ledger_sync
from schemas.records import Claim

LIMIT = "The gateway accepts 40 req/s at most."


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[LedgerClient]:
    async with open_ledger(f"lmdb:{tmp_path / 'log'}") as client:
        yield client


async def test_p5_grant_withdrawn_after_it_was_applied_raises(ledger: LedgerClient) -> None:
    """P5: its spans have left, so nobody may think that they are carriers again."""
    scope = ledger.scope("s", store="ledger")
    span = await scope.record_span("1", LIMIT)
    await scope.record_summary("m1", LIMIT)
    grant = await scope.request_compaction("m1", [span])
    await scope.applied(grant, LIMIT)
    with pytest.raises(RecordConflict, match="applied; nothing was withdrawn") as caught:
        await scope.withdraw(grant)
    assert (caught.value.subject, caught.value.rule) == (grant.request_id, "C3")
    await scope.record_entry(await scope.record_span("2", LIMIT))
    eviction = await scope.request_eviction([span])
    await scope.applied(eviction)
    with pytest.raises(RecordConflict, match="applied; nothing was withdrawn"):
        await scope.withdraw(eviction)


async def test_p5_grant_withdrawn_twice_is_fine(ledger: LedgerClient) -> None:
    """P3: a program that was started again may say it once more."""
    scope = ledger.scope("s")
    span = await scope.record_span("1", LIMIT)
    await scope.record_summary("m1", LIMIT)
    grant = await scope.request_compaction("m1", [span])
    await scope.withdraw(grant)
    await scope.withdraw(grant)


@pytest.mark.parametrize("timeout_s", [float("nan"), float("inf"), -0.1, float("-inf"), "5", True, [5]])
async def test_timeout_that_is_no_span_of_time_is_refused_before_anything_is_appended(
    ledger: LedgerClient, timeout_s: Any
) -> None:
    """Contracts section 5: a call that could never answer, or never end, is a mistake of the program."""
    scope = ledger.scope("s")
    for call in (
        scope.request_compaction("m1", ["s:1"], timeout_s=timeout_s),
        scope.request_eviction(["s:1"], timeout_s=timeout_s),
        scope.request_index_write("put", key="s:1", timeout_s=timeout_s),
        scope.gate([], timeout_s=timeout_s),
    ):
        with pytest.raises(ValueError, match="timeout_s is"):
            await call
    assert await ledger._log.end(EVENTS, 0) == 0


async def test_timeout_of_none_is_the_default_which_outlasts_a_takeover(ledger: LedgerClient) -> None:
    """A worker that was killed is replaced after its session timeout; a decision that comes then is not given up."""
    assert seconds_of(None) == ANSWER_TIMEOUT_S > 2 * SESSION_TIMEOUT_MS / 1000
    scope = ledger.scope("s")
    span = await scope.record_span("1", LIMIT)
    await scope.record_summary("m1", LIMIT)
    assert (await scope.request_compaction("m1", [span], timeout_s=None)).evict == (span,)


def calls(scope: Any) -> dict[str, Callable[[], Any]]:
    """Every call of a scope that asks or appends."""
    return {
        "record_span": lambda: scope.record_span("2", LIMIT),
        "record_summary": lambda: scope.record_summary("m2", LIMIT),
        "request_compaction": lambda: scope.request_compaction("m1", ["s:1"]),
        "request_eviction": lambda: scope.request_eviction(["s:1"]),
        "request_index_write": lambda: scope.request_index_write("put", key="s:1"),
        "gate": lambda: scope.gate([Claim(text=LIMIT, key="s:1")]),
        "recall": lambda: scope.recall("40 req/s"),
        "observe_retrieval": lambda: scope.observe_retrieval(key="s:1"),
        "record_entry": lambda: scope.record_entry("s:1"),
        "tombstone": lambda: scope.tombstone("f" + "0" * 24, reason="r", authority="me"),
    }


async def test_call_after_the_end_says_that_the_ledger_was_closed(tmp_path: Path) -> None:
    """Whatever is called, and whatever lies below: one error, with the way out, and nothing is appended."""
    async with open_ledger(f"lmdb:{tmp_path / 'log'}") as client:
        scope = client.scope("s")
        grant = await granted(scope)
    for name, call in calls(scope).items() | {
        ("applied", lambda: scope.applied(grant)),
        ("withdraw", lambda: scope.withdraw(grant)),
    }:
        with pytest.raises(LogClosed, match="this ledger was closed") as closed:
            await call()
        assert "open_ledger()" in closed.value.hint, name
    for ask in (client.outcome("s", "s", "r"), client.nudge(), client.append([])):
        with pytest.raises(LogClosed, match="this ledger was closed"):
            await ask


async def granted(scope: Any) -> Any:
    span = await scope.record_span("1", LIMIT)
    await scope.record_summary("m1", LIMIT)
    return await scope.request_compaction("m1", [span])


def test_call_of_the_synchronous_facade_after_the_end_says_so(tmp_path: Path) -> None:
    with open_ledger_sync(f"lmdb:{tmp_path / 'log'}") as client:
        scope = client.scope("s")
        scope.record_span("1", LIMIT)
    for call in calls(scope).values():
        with pytest.raises(LogClosed, match="this ledger was closed"):
            call()


async def test_i3_summary_that_was_used_says_what_would_pass(ledger: LedgerClient) -> None:
    """I3: a program that is run twice learns that its summary needs an id of its own."""

    async def run() -> None:
        scope = ledger.scope("s")
        span = await scope.record_span("1", LIMIT)
        await scope.record_summary("m1", LIMIT, covers=[span])
        await scope.applied(await scope.request_compaction("m1", [span]), LIMIT)

    await run()
    with pytest.raises(LosslessRetrievalBoundaryError) as refused:
        await run()
    assert "under an id that was never used" in refused.value.hint


@pytest.mark.parametrize(("fields", "field"), [({"native": ""}, "entry id"), ({"turn": -1}, "turns are")])
async def test_span_that_says_nothing_sensible_is_refused_at_once(
    ledger: LedgerClient, fields: dict[str, Any], field: str
) -> None:
    """The program is told where it makes the record, and the log holds nothing of it."""
    with pytest.raises(UsageError, match=field):
        await ledger.scope("s").record_span(**{"native": "1", "text": LIMIT, **fields})
    assert await ledger._log.end(EVENTS, 0) == 0
