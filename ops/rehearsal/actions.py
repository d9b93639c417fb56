"""Checks, audits, compactions that are asked for, and actions."""

from __future__ import annotations

from collections.abc import Sequence

from ledger.facts import extract
from ledger.log import ALERTS
from ledger.lookup import span_row, summary_row
from ledger.masking import mask
from ledger.retrieval import Fetched, Hit
from ops.rehearsal.retrieval import asked, fetch
from ops.rehearsal.scenario import Fields
from ops.rehearsal.stage import Stage, Step, sha256_of
from ops.retrieval.backing import rehydrate
from schemas.alerts import AlertRaised
from schemas.codec import decode_alert
from schemas.decisions import CompactionGranted
from schemas.records import (
    ActionProposed,
    AuditRecorded,
    Candidate,
    Claim,
    CompactionApplied,
    CompactionRequested,
    FetchedClaim,
    PlainText,
    SpanRange,
    SummaryRecorded,
)


async def check_keys(stage: Stage, fields: Fields) -> Step:
    """Can somebody who has only the summary ask for what backs it?"""
    with stage.store.reading() as reading:
        row = summary_row(reading.session(stage.session).rows, fields.text("summary"))
    keys = list(row.underivable) if row is not None else [fields.text("summary")]
    return {"result": "not_derivable", "keys": keys} if keys else {"result": "derivable"}


async def check_summary(stage: Stage, fields: Fields) -> Step:
    """Did the store change under what the summary depends on?"""
    with stage.store.reading() as reading:
        found = reading.session(stage.session)
        row = summary_row(found.rows, fields.text("summary"))
    if row is None:
        return {"result": "dependencies_changed", "spans": []}
    names = list(row.depends_on) or [first for first, _ in row.covers]
    if row.changed:
        return {"result": "dependencies_changed", "spans": list(row.changed)}
    return {"result": "dependencies_intact", "spans": names}


async def audit(stage: Stage, fields: Fields) -> Step:
    """Ask for a pinned span through the agent's own path, and record what came back."""
    name = fields.text("span")
    fetched = await fetch(stage, name, fields.text("backend", ""))
    said = fields.text("fact", "")
    occurrence = stage.occurrence()
    status = fetched.status if fetched.status != "ok" or mask(said) in fetched.text else "absent"
    await stage.say(
        stage.make(
            AuditRecorded,
            span=name,
            status=status,
            text_sha256=sha256_of(fetched.text) if fetched.text else "",
            occurrence=occurrence,
        )
    )
    with stage.store.reading() as reading:
        row = span_row(reading.session(stage.session).rows, name)
    passed = status == "ok" and row is not None and row.text_sha256 == sha256_of(fetched.text)
    return {"result": "audit_passed" if passed else "audit_failed", "span": name}


async def action(stage: Stage, fields: Fields) -> Step:
    """An action with the claims it rests on, each rehydrated first."""
    items = (fields.within("claims", at) for at in range(len(fields.objects("claims"))))
    claims = [await _claim(stage, item) for item in items]
    request = stage.occurrence()
    decisions, _ = await stage.say(
        stage.make(
            ActionProposed,
            request=request,
            name=fields.text("name", ""),
            side_effects=fields.flag("side_effects", True),
            claims=tuple(claims),
        )
    )
    decision = decisions[0]
    if decision.reason:
        return {"result": "blocked", "reason": decision.reason}
    spans: tuple[str, ...] = getattr(decision, "substantiated_by", ())
    return {
        "result": "allowed",
        **({"substantiated_by": spans[0]} if len(spans) == 1 else {"substantiated_by": list(spans)} if spans else {}),
    }


async def _claim(stage: Stage, item: Fields) -> FetchedClaim:
    text = mask(item.text("text"))
    key, summary = (item.text(name) if item.has(name) else None for name in ("key", "summary"))
    claim = Claim(text=text, key=key, summary=summary)
    manifest = extract(text, "assistant", scope_key=stage.scope)
    with stage.store.reading() as reading:
        fetched = await rehydrate(reading.session(stage.session).rows, claim, _Path(stage))
    return FetchedClaim(
        claim=claim,
        manifest=manifest,
        status=fetched.status,
        span=fetched.carrier,
        text=fetched.text,
        raw=fetched.raw is True,
    )


class _Path:
    """The scenario's store as a retrieval path."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def fetch(self, key: str) -> Fetched:
        """What an agent that asks by key is told."""
        return await asked(self._stage, key)

    async def search(self, text: str, k: int) -> Sequence[Hit]:
        """Scenarios bring their own candidates."""
        return ()


async def draft_summary(stage: Stage, fields: Fields) -> Step | None:
    """A summary on record that is not in use yet."""
    name, text = fields.text("id"), mask(fields.text("text"))
    covers = tuple(SpanRange(span, span) for span in fields.names("covers", []))
    manifest = extract(text, "assistant", scope_key=stage.scope)
    await stage.say(
        stage.make(
            SummaryRecorded,
            summary=name,
            covers=covers,
            text=PlainText(text),
            manifest=manifest,
            tokens=fields.number("tokens", 0),
        )
    )
    return None


async def compact(stage: Stage, fields: Fields) -> Step:
    """Ask for a compaction in mode `all` or `prefer`; what is granted is applied at once unless `apply` is false."""
    request = stage.occurrence()
    items = (fields.within("evict", at) for at in range(len(fields.objects("evict"))))
    candidates = tuple(Candidate(span=item.text("span"), tokens=item.number("tokens", 0)) for item in items)
    decisions, _ = await stage.say(
        stage.make(
            CompactionRequested,
            request=request,
            summary=fields.text("summary"),
            evictions=candidates,
            mode="prefer" if fields.text("mode", "all") == "prefer" else "all",
            budget_tokens=fields.number("budget_tokens") if fields.has("budget_tokens") else None,
            tokens_before=fields.number("tokens_before") if fields.has("tokens_before") else None,
        )
    )
    decision = decisions[0]
    if isinstance(decision, CompactionGranted):
        if fields.flag("apply", True):
            await stage.say(stage.make(CompactionApplied, request=request, summary_sha256=decision.summary_sha256))
        skipped = [{"span": item.span, "class": item.cls} for item in decision.skipped]
        return {"result": "granted", "evict": list(decision.evict), **({"skipped": skipped} if skipped else {})}
    facts = [f"{item.outcome} {item.cls}" for item in decision.evidence]
    return {"result": "refused", "reason": decision.reason, **({"facts": facts} if facts else {})}


async def alerts(stage: Stage, _: Fields) -> Step:
    """Alerts that are open now, each kind once."""
    entries = await stage.store.log.read(ALERTS, 0, 0, max_entries=100_000, max_bytes=1 << 30)
    open_now: dict[str, str] = {}
    for alert in (decode_alert(entry.value) for entry in entries):
        if isinstance(alert, AlertRaised):
            open_now[alert.fingerprint] = f"{alert.severity} {alert.kind}"
        else:
            open_now.pop(alert.fingerprint, None)
    return {"result": "alerts", "open": sorted(set(open_now.values()))}
