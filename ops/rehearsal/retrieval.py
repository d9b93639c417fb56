"""Retrievals through the agent's own path."""

from __future__ import annotations

from ledger.lookup import span_row, summary_row
from ledger.retrieval import Fetched, beyond_threshold
from ops.queries.recall import recall
from ops.rehearsal.scenario import Fields
from ops.rehearsal.stage import Stage, Step, sha256_of
from ops.retrieval.own_store import OwnStore
from schemas.records import (
    RetrievalObserved,
)


async def retrieve(stage: Stage, fields: Fields) -> Step:
    """A retrieval through the agent's own path, told to the ledger with its provenance."""
    by = fields.text("by")
    if by == "query":
        return await _by_query(stage, fields)
    if by == "fact":
        return await _by_fact(stage, fields)
    key = fields.text("value")
    fetched = await fetch(stage, key, fields.text("backend", ""))
    await _told(stage, fetched, fields.text("expect", "") == "raw")
    return _step_of(fetched)


async def fetch(stage: Stage, key: str, backend: str = "") -> Fetched:
    """What the store gives for a key; `backend` says how it misbehaves."""
    if backend == "empty_value":
        return Fetched(status="empty", key=key, carrier=key, raw=True)
    if backend == "no_such_key" or key in stage.missing:
        return Fetched(status="absent", key=key)
    if backend:
        return Fetched(status="error", key=key, detail=backend)
    with stage.store.reading() as reading:
        found = reading.session(stage.session)
        return await OwnStore(reading, found).fetch(key)


async def _told(stage: Stage, fetched: Fetched, expect_raw: bool, query: str = "") -> None:
    occurrence = stage.occurrence()
    await stage.say(
        stage.make(
            RetrievalObserved,
            query=query,
            key=fetched.key,
            status=fetched.status,
            carrier=fetched.carrier,
            raw=fetched.raw,
            generation=fetched.generation,
            turns=fetched.turns,
            expected_raw=expect_raw,
            text_sha256=sha256_of(fetched.text) if fetched.text else "",
            occurrence=occurrence,
        )
    )


async def _by_fact(stage: Stage, fields: Fields) -> Step:
    with stage.store.reading() as reading:
        found = reading.session(stage.session)
        answers = await recall(reading, found, fields.text("value"), fields.text("as_of", ""))
        raw = [carrier.id for answer in answers for carrier in answer.carriers if carrier.raw and carrier.where == "store"]
    if any(answer.answer == "tombstoned" for answer in answers):
        return {"result": "tombstone"}
    if all(answer.answer == "anchored" for answer in answers) and raw:
        return {"result": "found_raw", "id": raw[0]}
    summaries = [carrier.id for answer in answers for carrier in answer.carriers if not carrier.raw]
    return {"result": "summary_not_raw", "id": summaries[0]} if summaries else {"result": "absent"}


async def _by_query(stage: Stage, fields: Fields) -> Step:
    hits, query = fields.objects("candidates"), fields.text("value")
    expect_raw = fields.text("expect", "") == "raw"
    if not hits and fields.number("live_spans", 0) > 0:
        await _told(stage, Fetched(status="empty", key=""), expect_raw, query)
        return {"result": "error_empty_backend"}
    live, tombstoned = await _without_tombstones(stage, [str(hit["id"]) for hit in hits])
    metric, least = fields.text("metric", "cosine_similarity"), fields.decimal("min_similarity", "0")
    far = [str(hit["id"]) for hit in hits if str(hit["id"]) in live and beyond_threshold(metric, str(hit["raw"]), least)]
    near = [name for name in live if name not in far][: fields.number("top_k", len(hits))]
    extra: Step = {**({"rejected": far} if far else {}), **({"tombstoned": tombstoned} if tombstoned else {})}
    if not near:
        return {"result": "below_threshold", "near_misses": len(far), **extra} if far else {"result": "absent", **extra}
    fetched = await _provenance(stage, near[0])
    await _told(stage, fetched, expect_raw, query)
    step = {**_step_of(fetched), **extra}
    if fields.text("want", "") == "all":
        step.pop("id", None)
        return {**step, "ids": near, "newest": await _newest(stage, near)}
    return step


async def _without_tombstones(stage: Stage, names: list[str]) -> tuple[list[str], list[str]]:
    with stage.store.reading() as reading:
        rows = reading.session(stage.session).rows
        gone = [name for name in names if (row := span_row(rows, name)) is not None and row.tombstoned and not row.in_store]
    return [name for name in names if name not in gone], gone


async def _provenance(stage: Stage, name: str) -> Fetched:
    with stage.store.reading() as reading:
        rows = reading.session(stage.session).rows
        summary = summary_row(rows, name)
    if summary is not None:
        return Fetched(status="ok", key=name, carrier=name, raw=False, generation=summary.generation)
    return await fetch(stage, name)


async def _newest(stage: Stage, names: list[str]) -> str:
    with stage.store.reading() as reading:
        rows = reading.session(stage.session).rows
        ordinals = {name: row.ordinal for name in names if (row := span_row(rows, name)) is not None}
    return max(ordinals, key=lambda name: ordinals[name], default="")


def _step_of(fetched: Fetched) -> Step:
    if fetched.status == "ok":
        return {"result": "found_raw" if fetched.raw else "summary_not_raw", "id": fetched.carrier}
    if fetched.status == "empty":
        return {"result": "error_empty_value", "id": fetched.carrier or fetched.key}
    return {"result": fetched.status}
