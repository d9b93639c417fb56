"""Operations on the retrieval store: entries asked for, lost, checked and measured."""

from __future__ import annotations

from fractions import Fraction
from math import floor

from ledger.log import EVENTS
from ledger.lookup import scope_row
from ledger.masking import mask
from ledger.rules.trust import hit_rate_change, is_jump, rate_of
from ops.rehearsal.scenario import Fields
from ops.rehearsal.stage import Stage, Step, sha256_of
from schemas.alerts import AlertRaised
from schemas.codec import decode_record
from schemas.decisions import EvictionGranted, IndexGranted
from schemas.records import (
    AnyRecord,
    EvictionApplied,
    EvictionObserved,
    EvictionRequested,
    IndexChecked,
    IndexRechunked,
    IndexWriteRequested,
    RetrievalMeasured,
)


async def evict(stage: Stage, fields: Fields) -> Step:
    """Ask to drop one entry; what is accepted is applied at once."""
    summary = fields.text("summary") if fields.has("summary") else None
    return await _evict(stage, (fields.text("span"),), fields.text("reason", fields.op), summary)


async def cleanup(stage: Stage, fields: Fields) -> Step:
    """Ask to drop several entries as one request."""
    return await _evict(stage, fields.names("delete"), fields.text("reason", "cleanup"), None)


async def _evict(stage: Stage, spans: tuple[str, ...], reason: str, summary: str | None) -> Step:
    request = stage.occurrence()
    decisions, _ = await stage.say(stage.make(EvictionRequested, request=request, spans=spans, reason=reason, summary=summary))
    decision = decisions[0]
    if isinstance(decision, EvictionGranted):
        await stage.say(stage.make(EvictionApplied, request=request))
        return {"result": "accepted"}
    return {"result": "refused", "reason": decision.reason}


async def rechunk(stage: Stage, fields: Fields) -> Step:
    """Ask to replace entries by others."""
    request, replaces, into = stage.occurrence(), fields.names("replaces"), fields.names("into", [])
    decisions, _ = await stage.say(
        stage.make(IndexWriteRequested, request=request, operation="rechunk", replaces=replaces, into=into)
    )
    if not isinstance(decisions[0], IndexGranted):
        return {"result": "refused", "reason": decisions[0].reason}
    await stage.say(stage.make(IndexRechunked, replaces=replaces, into=into, occurrence=request))
    return {"result": "accepted"}


async def index_put(stage: Stage, fields: Fields) -> Step:
    """Ask to add an entry."""
    request = stage.occurrence()
    kind = "summary" if fields.text("claims_kind", "raw") == "summary" else "raw"
    decisions, _ = await stage.say(
        stage.make(
            IndexWriteRequested,
            request=request,
            operation="put",
            key=fields.text("key"),
            claims_kind=kind,
            text_sha256=sha256_of(mask(fields.text("text", ""))),
        )
    )
    if isinstance(decisions[0], IndexGranted):
        return {"result": "accepted"}
    return {"result": "refused", "reason": decisions[0].reason}


async def index_state(stage: Stage, fields: Fields) -> Step | None:
    """What a check of the store found."""
    occurrence, missing, orphans = stage.occurrence(), fields.names("missing", []), fields.names("orphans", [])
    stage.missing = set(missing)
    await stage.say(stage.make(IndexChecked, missing=missing, orphans=orphans, occurrence=occurrence))
    return None


async def check_index(stage: Stage, _: Fields) -> Step:
    """What stands against the store now."""
    checks = [record for record in await _records(stage) if isinstance(record, IndexChecked)]
    last = checks[-1] if checks else None
    if last is not None and last.missing:
        return {"result": "missing", "count": len(last.missing)}
    if last is not None and last.orphans:
        return {"result": "orphans", "count": len(last.orphans)}
    return {"result": "ok", "count": 0}


async def _records(stage: Stage) -> list[AnyRecord]:
    entries = await stage.store.log.read(EVENTS, 0, 0, max_entries=100_000, max_bytes=1 << 30)
    return [decode_record(entry.value) for entry in entries]


async def entries_lost(stage: Stage, fields: Fields) -> Step:
    """Entries that a policy of the store has already removed."""
    occurrence = stage.occurrence()
    decisions, alerts = await stage.say(
        stage.make(
            EvictionObserved,
            spans=fields.names("spans"),
            policy=fields.text("policy", "ttl"),
            occurrence=occurrence,
        )
    )
    raised = [f"{alert.severity} {alert.kind}" for alert in alerts if isinstance(alert, AlertRaised)]
    return {"result": getattr(decisions[0], "verdict", "held"), "alerts": list(dict.fromkeys(raised))}


async def hit_rate(stage: Stage, fields: Fields) -> Step | None:
    """The hit rate after a compaction pass."""
    value = fields.decimal("value")
    if rate_of(value) is None:
        raise fields.refuse(f"hit_rate needs value from 0 to 1, not {value}")
    with stage.store.reading() as reading:
        before = scope_row(reading.session(stage.session).rows).hit_rate
    occurrence = stage.occurrence()
    await stage.say(stage.make(RetrievalMeasured, pass_=fields.number("compaction"), hit_rate=value, occurrence=occurrence))
    if not before:
        return None
    change = hit_rate_change(before, value)
    if is_jump(change):
        return {"result": "flagged", "flag": "hit_rate_jump", "rise_pct": _per_cent(change)}
    return {"result": "ok"}


def _per_cent(change: Fraction | None) -> int:
    """Whole per cent, half up, of the exact change."""
    return floor(change * 100 + Fraction(1, 2)) if change is not None else 0
