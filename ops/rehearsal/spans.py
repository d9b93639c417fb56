"""Operations on sessions, spans, summaries and the clock."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.facts import extract
from ledger.lookup import scope_row, span_facts, span_row, summary_row
from ledger.masking import mask
from ledger.rows import SummaryRow
from ledger.state import fact_name
from ops.queries.facts import named_facts
from ops.rehearsal.scenario import Fields
from ops.rehearsal.stage import Stage, Step, own_text
from ops.store import Reading
from schemas.alerts import AlertRaised
from schemas.decisions import RecordRejected
from schemas.records import (
    CompactionObserved,
    FactTombstoned,
    PlainText,
    SpanRange,
    SummaryRecorded,
    SummaryState,
    Tick,
)


async def session_(stage: Stage, fields: Fields) -> Step | None:
    """The session's horizon, before anything else."""
    if stage.opened:
        raise fields.refuse("session must come before every other event")
    stage.horizon_s = fields.number("horizon_s") if fields.has("horizon_s") else None
    stage.declared = fields.text("store", "ledger")
    return None


async def span(stage: Stage, fields: Fields) -> Step:
    """Record a span: accepted, unchanged, or refused."""
    name = fields.text("id")
    with stage.store.reading() as reading:
        known = span_row(reading.session(stage.session).rows, name) is not None
    ttl_s = fields.number("ttl_s") if fields.has("ttl_s") else None
    in_window = fields.flag("window")
    decisions, alerts = await stage.say(
        stage.span_record(name, fields.text("text"), valid=fields.pair("valid"), ttl_s=ttl_s, in_window=in_window)
    )
    refused = [decision for decision in decisions if isinstance(decision, RecordRejected)]
    if refused:
        return {"result": "refused", "reason": refused[0].reason}
    if known:
        lacks = name in stage.missing
        return {"result": "unchanged", **({"stored": True, "indexed": False} if lacks else {})}
    flags = [alert.kind for alert in alerts if isinstance(alert, AlertRaised) and alert.kind == "ttl_below_horizon"]
    flags += [
        f"polarity_conflict:{alert.reason}"
        for alert in alerts
        if isinstance(alert, AlertRaised) and alert.kind == "polarity_conflict"
    ]
    return {"result": "accepted", **({"flags": flags} if flags else {})}


async def batch_index(stage: Stage, fields: Fields) -> Step:
    """Each id counts as a span with a text of its own."""
    await stage.say(*(stage.span_record(name, own_text(name)) for name in fields.names("spans")))
    return {"result": "accepted"}


async def transcript_window(stage: Stage, fields: Fields) -> Step:
    """Ids must carry their session, else two sessions would share them."""
    session, names = fields.text("session"), fields.names("ids")
    if not session:
        raise fields.refuse("transcript_window needs session (text)")
    if not all(name.startswith(f"{session}:") for name in names):
        return {"result": "refused", "reason": "id_not_session_scoped"}
    await stage.open(session)
    with stage.store.reading() as reading:
        rows = reading.session(stage.session).rows
        new = [name for name in dict.fromkeys(names) if span_row(rows, name) is None]
    await stage.say(*(stage.span_record(name, own_text(name), session=session) for name in names))
    return {"result": "accepted", "new": new}


async def summary(stage: Stage, fields: Fields) -> Step | None:
    """An observed compaction, live from then on."""
    name, covers = fields.text("id"), fields.names("covers", [])
    text = mask(fields.text("text"))
    stage.rounds += 1
    ranges = tuple(SpanRange(span, span) for span in covers)
    live = _live_summaries(stage)
    replaced = [
        row.id for row in live if row.id in covers or (row.covers and {first for first, _ in row.covers} <= set(covers))
    ]
    summary = stage.make(
        SummaryRecorded,
        summary=name,
        round=name,
        covers=ranges,
        covers_summaries=tuple(replaced),
        generation=1 + max((row.generation for row in live if row.id in covers), default=0),
        depends_on=fields.names("depends_on", []),
        keys=fields.names("keys", []),
        text=PlainText(text),
        manifest=extract(text, "assistant", scope_key=stage.scope),
    )
    observed = stage.make(
        CompactionObserved,
        round=name,
        ordinal=stage.rounds,
        turn=-1,
        trigger="scenario",
        summary=name,
        summarised=ranges,
        kept=_kept(row.id for row in live if row.id not in replaced),
    )
    decisions, _ = await stage.say(summary, observed)
    refused = [decision for decision in decisions if isinstance(decision, RecordRejected)]
    return {"result": "refused", "reason": refused[0].reason} if refused else None


async def summary_failed(stage: Stage, fields: Fields) -> Step | None:
    """A compaction whose summary is an error text: nothing took the place of what it covered."""
    await _round_without_summary(stage, "failed", "error_text", fields.names("covers", []))
    return None


async def _round_without_summary(stage: Stage, kind: str, state: SummaryState, covers: tuple[str, ...] = ()) -> None:
    stage.rounds += 1
    await stage.say(
        stage.make(
            CompactionObserved,
            round=f"{kind}-{stage.rounds}",
            ordinal=stage.rounds,
            turn=-1,
            trigger="scenario",
            summary_state=state,
            summarised=tuple(SpanRange(span, span) for span in covers),
            kept=_kept(row.id for row in _live_summaries(stage)),
        )
    )


def _live_summaries(stage: Stage) -> list[SummaryRow]:
    """What stays live, since no later summary covers it or all that it covers."""
    with stage.store.reading() as reading:
        found = reading.session(stage.session)
        rows = (summary_row(found.rows, name) for name in found.session.live)
        return [row for row in rows if row is not None]


def _kept(names: Iterable[str]) -> tuple[SpanRange, ...]:
    return tuple(SpanRange(name, name) for name in names)


async def tombstone(stage: Stage, fields: Fields) -> Step:
    """Drop exactly the named facts on purpose, those of the span where one is named."""
    words = fields.text("fact")
    if not words.strip():
        raise fields.refuse("tombstone needs fact (text)")
    with stage.store.reading() as reading:
        found = reading.session(stage.session)
        facts = list(named_facts(found, words).rows)
        if fields.has("span"):
            stated = {fact_name(ref.fact) for ref in span_facts(found.rows, fields.text("span")).refs}
            facts = [fact for fact in facts if fact in stated]
    if not facts:
        return {"result": "refused", "reason": "fact_not_recorded"}
    reason = fields.text("reason", "")
    await stage.say(
        *(stage.make(FactTombstoned, fact=fact, reason=reason, authority="scenario", occurrence=reason) for fact in facts)
    )
    return {"result": "accepted", "tombstoned": [fields.text("span")] if fields.has("span") else facts}


async def count_spans(stage: Stage, _: Fields) -> Step:
    """Raw spans on record, the audit's own left out."""
    with stage.store.reading() as reading:
        return {"result": "count", "count": _spans(reading) - 1}


async def status(stage: Stage, fields: Fields) -> Step:
    """Trust, after as many empty rounds as its count needs."""
    with stage.store.reading() as reading:
        row = scope_row(reading.session(stage.session).rows)
    for _ in range(fields.number("compactions_since_audit", row.compactions_since_audit) - row.compactions_since_audit):
        await _round_without_summary(stage, "empty", "missing")
    return {"result": "status", "trust": await stage.trust()}


async def clock(stage: Stage, fields: Fields) -> Step | None:
    """Time passes."""
    stage.clock_ms += 1000 * fields.number("advance_s")
    await stage.say(stage.make(Tick, timer="clock", due_ms=stage.clock_ms))
    return None


def _spans(reading: Reading) -> int:
    return sum(found.session.spans for found in reading.sessions())
