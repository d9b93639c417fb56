"""Retrievals through the agent's own path."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from ledger.lookup import fact_row, span_facts, span_row, summary_row
from ledger.retrieval import Fetched, Hit, beyond_threshold, metric_of, similarity_of
from ledger.state import PLACE, fact_key
from ops.queries.recall import RecallAnswer, recall
from ops.rehearsal.scenario import Fields
from ops.rehearsal.stage import ANCHOR, Stage, Step, sha256_of
from ops.retrieval.own_store import OwnStore
from ops.store import Found
from schemas.records import RetrievalObserved


async def retrieve(stage: Stage, fields: Fields) -> Step:
    """A retrieval through the agent's own path, told to the ledger with its provenance."""
    by = fields.text("by")
    if by == "query":
        return await _by_query(stage, fields)
    if by == "fact":
        return await _by_fact(stage, fields)
    if by != "key":
        raise fields.refuse(f"retrieve needs by (key, fact or query), not {by!r}")
    key = fields.text("value")
    fetched = await asked(stage, key, fields.text("backend", ""))
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
        summary = summary_row(found.rows, key)
        if summary is not None and (summary.live or summary.retired):
            return Fetched(status="ok", key=key, carrier=key, raw=False, generation=summary.generation)
        return await OwnStore(reading, found).fetch(key)


async def asked(stage: Stage, key: str, backend: str = "") -> Fetched:
    """What an agent that asks by key is told: a span whose every fact was dropped on purpose is a tombstone, whatever the store
    still holds or holds no more under its key (P4).
    """
    dropped = _dropped(stage, key)
    return Fetched(status="tombstone", key=key, carrier=key) if dropped else await fetch(stage, key, backend)


def _dropped(stage: Stage, name: str) -> bool:
    """Is this a span of which nothing is referred to any more, since it was dropped on purpose?"""
    with stage.store.reading() as reading:
        rows = reading.session(stage.session).rows
        span = span_row(rows, name)
        if span is None or not span.tombstoned:
            return False
        facts = (fact_row(rows, ref.fact) for ref in span_facts(rows, name).refs)
        return all(fact is None or (fact.tombstone and span.ordinal <= fact.tombstoned_at) for fact in facts)


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
    if not fields.text("value").strip():
        raise fields.refuse("retrieve needs value (the words of a fact)")
    as_of = fields.text("as_of", "")
    if as_of and not is_time(as_of):
        raise fields.refuse(f"retrieve needs as_of (ISO 8601), not {as_of!r}")
    with stage.store.reading() as reading:
        found = reading.session(stage.session)
        answers = _said_once(found, await recall(reading, found, fields.text("value"), as_of))
        carriers = [carrier for answer in answers for carrier in answer.carriers if carrier.id not in stage.missing]
        raw = [carrier.id for carrier in carriers if carrier.raw and carrier.where == "store"]
    if any(answer.answer == "tombstoned" for answer in answers):
        return {"result": "tombstone"}
    if all(answer.answer == "anchored" for answer in answers) and raw:
        return {"result": "found_raw", "id": raw[0]}
    summaries = [carrier.id for answer in answers for carrier in answer.carriers if not carrier.raw]
    return {"result": "summary_not_raw", "id": summaries[0]} if summaries else {"result": "absent"}


def is_time(text: str) -> bool:
    """Is this an ISO 8601 date or time?"""
    try:
        return bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def _said_once(found: Found, answers: list[RecallAnswer]) -> list[RecallAnswer]:
    """Of what was said several times, each for a time of its own, the answer that holds at the time asked for."""
    best: dict[tuple[str, ...], RecallAnswer] = {}
    for answer in answers:
        row = fact_row(found.rows, fact_key(answer.fact))
        said = (row.cls, row.value, row.subject, row.polarity, row.quantifier) if row is not None else (answer.fact,)
        known = best.get(said)
        if known is None or _weight(found, answer) > _weight(found, known):
            best[said] = answer
    return list(best.values())


def _weight(found: Found, answer: RecallAnswer) -> tuple[int, str]:
    """An anchored fact speaks before one that was dropped, and both before one that is not there; else the later validity."""
    row = fact_row(found.rows, fact_key(answer.fact))
    return {"anchored": 2, "tombstoned": 1}.get(answer.answer, 0), row.valid_from if row is not None else ""


async def _by_query(stage: Stage, fields: Fields) -> Step:
    hits, query = _hits(fields), fields.text("value")
    expect_raw = fields.text("expect", "") == "raw"
    if not hits and fields.has("candidates") and fields.number("live_spans", _live_spans(stage)) > 0:
        await _told(stage, Fetched(status="empty", key=""), expect_raw, query)
        return {"result": "error_empty_backend"}
    tombstoned = [hit.carrier for hit in hits if _dropped(stage, hit.carrier)]
    live = [hit for hit in hits if hit.carrier not in tombstoned]
    if metric_of(fields.text("metric", "")) == "distance" and any(Decimal(hit.score) < 0 for hit in hits):
        raise fields.refuse("a distance is never below 0")
    metric, least = fields.text("metric", "cosine_similarity"), fields.decimal("min_similarity", "-Infinity")
    far = [hit.carrier for hit in live if beyond_threshold(metric, hit.score, least)]
    closest = sorted(live, key=lambda hit: similarity_of(metric, hit.score), reverse=True)
    near = [hit.carrier for hit in closest if hit.carrier not in far][: fields.number("top_k", len(hits) or 1, least=1)]
    extra: Step = {**({"rejected": far} if far else {}), **({"tombstoned": tombstoned} if tombstoned else {})}
    if far and not near:
        return {"result": "below_threshold", "near_misses": len(far), **extra}
    if not near:
        return {"result": "tombstone" if tombstoned else "absent", **extra}
    fetched = await _first_there(stage, near, expect_raw, query)
    step = {**_step_of(fetched), **extra}
    if fields.text("want", "") == "all":
        step.pop("id", None)
        return {**step, "ids": near, "newest": await _newest(stage, near)}
    return step


async def _first_there(stage: Stage, names: list[str], expect_raw: bool, query: str) -> Fetched:
    """The first hit that resolves, told with its provenance; one that names nothing on record has none (I5)."""
    fetched = Fetched(status="absent", key=names[0])
    for name in names:
        fetched = await fetch(stage, name)
        known = fetched.status != "absent" or fetched.carrier or name in stage.missing
        await _told(stage, fetched if known else Fetched(status="ok", key=name), expect_raw, query)
        if fetched.status != "absent":
            break
    return fetched


def _hits(fields: Fields) -> list[Hit]:
    """The candidates that a scenario brings, in its order."""
    candidates = (fields.within("candidates", at) for at in range(len(fields.objects("candidates"))))
    return [Hit(carrier=each.text("id"), score=each.decimal("raw")) for each in candidates]


def _live_spans(stage: Stage) -> int:
    """Raw spans that the store holds."""
    with stage.store.reading() as reading:
        found = reading.session(stage.session)
        places = (place for _, place in found.rows.walk(PLACE, b""))
        rows = (span_row(found.rows, place.span) for place in places if place.span not in (ANCHOR, *stage.missing))
        return sum(row is not None and row.in_store for row in rows)


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
