"""Plays one scenario: each operation appends the records a publisher would, folds them, and reads the answer back."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from ledger.log import EVENTS
from ops.rehearsal import actions, entries, retrieval, spans
from ops.rehearsal.scenario import Fields, Scenario
from ops.rehearsal.stage import Stage, Step
from ops.store import scratch_store


class Rehearsed(msgspec.Struct):
    """The answer to one scenario."""

    id: str
    steps: list[Step]
    trust: str


async def rehearse(scenario: Scenario) -> Rehearsed:
    """Play a scenario from an empty log. Raises `UsageError` for an event whose fields do not fit its operation."""
    async with scratch_store() as store:
        stage = Stage(store, scenario)
        steps = []
        for at in range(len(scenario.events)):
            step = await play(stage, at)
            if step is not None:
                steps.append({"at": at, **step})
        return Rehearsed(scenario.id, steps, await stage.trust())


async def records_of(scenario: Scenario) -> list[bytes]:
    """The records that a scenario appends, in order: the same ones can be appended to any log."""
    async with scratch_store() as store:
        stage = Stage(store, scenario)
        for at in range(len(scenario.events)):
            await play(stage, at)
        entries = await store.log.read(EVENTS, 0, 0, max_entries=1 << 30, max_bytes=1 << 40)
        return [entry.value for entry in entries]


async def play(stage: Stage, at: int) -> Step | None:
    """Play one event of the stage's scenario."""
    fields = Fields(stage.scenario, at)
    if fields.op != "session":
        await stage.open(stage.session)
    return await OPERATIONS[fields.op](stage, fields)


OPERATIONS: dict[str, Callable[[Stage, Fields], Coroutine[Any, Any, Step | None]]] = {
    "session": spans.session_,
    "span": spans.span,
    "batch_index": spans.batch_index,
    "transcript_window": spans.transcript_window,
    "summary": spans.summary,
    "summary_failed": spans.summary_failed,
    "tombstone": spans.tombstone,
    "evict": entries.evict,
    "expire": entries.evict,
    "cleanup": entries.cleanup,
    "rechunk": entries.rechunk,
    "index_put": entries.index_put,
    "index_state": entries.index_state,
    "check_index": entries.check_index,
    "retrieve": retrieval.retrieve,
    "check_keys": actions.check_keys,
    "check_summary": actions.check_summary,
    "hit_rate": entries.hit_rate,
    "audit": actions.audit,
    "action": actions.action,
    "clock": spans.clock,
    "count_spans": spans.count_spans,
    "status": spans.status,
    "draft_summary": actions.draft_summary,
    "compact": actions.compact,
    "entries_lost": entries.entries_lost,
    "alerts": actions.alerts,
}
