"""The alert stream as people read it: with the words of the facts concerned, and which alerts are open now."""

from __future__ import annotations

from collections.abc import AsyncIterator

import msgspec

from ledger.log import ALERTS, EVENTS, Entry
from ops.queries.quotes import Quotes, excerpt, iso_time
from ops.store import Reading
from schemas.alerts import AlertRaised, AnyAlert
from schemas.codec import decode_alert

READ_ENTRIES = 500


class AlertAnswer(msgspec.Struct, kw_only=True):
    """One entry of the stream with quotes resolved. `time` is the event time of its cause, or null."""

    state: str
    severity: str
    kind: str
    rule: str
    scope: str
    session: str
    group: str
    subject: str
    fingerprint: str
    output_seq: int
    reason: str
    quotes: list[str]
    evidence_spans: list[str]
    runbook: str
    time: str | None
    position: str


class _Cause(msgspec.Struct):
    time_ms: int | None = None


async def stream(
    reading: Reading, *, start: dict[int, int] | None = None, since_ms: int | None = None
) -> AsyncIterator[AlertAnswer]:
    """Alerts from the given offsets on, by partition; `since_ms` leaves out those whose cause is known to be older.

    Repeats of an alert that is on record already are left out: consumers ignore an output number that they have seen.
    """
    seen: dict[str, int] = {}
    for partition in range(reading.log.identity.partitions):
        offset = (start or {}).get(partition, 0)
        while entries := await reading.log.read(ALERTS, partition, offset, max_entries=READ_ENTRIES):
            for entry in entries:
                alert = decode_alert(entry.value)
                if alert.output_seq <= seen.get(alert.scope, 0):
                    continue
                seen[alert.scope] = alert.output_seq
                time_ms = await _time_of(reading, entry)
                if since_ms is None or time_ms is None or time_ms >= since_ms:
                    yield await _answer(reading, entry, alert, time_ms)
            offset += len(entries)
            if start is not None:
                start[partition] = offset


async def _time_of(reading: Reading, entry: Entry) -> int | None:
    for name, value in entry.headers:
        if name == "source_offset":
            found = await reading.log.read(EVENTS, entry.position.partition, int(value), max_entries=1)
            return msgspec.json.decode(found[0].value, type=_Cause).time_ms if found else None
    return None


async def _answer(reading: Reading, entry: Entry, alert: AnyAlert, time_ms: int | None) -> AlertAnswer:
    quotes = Quotes(reading, alert.scope)
    return AlertAnswer(
        state="raised" if isinstance(alert, AlertRaised) else "resolved",
        severity=alert.severity,
        kind=alert.kind,
        rule=alert.rule,
        scope=alert.scope,
        session=alert.session,
        group=alert.group,
        subject=alert.subject,
        fingerprint=alert.fingerprint,
        output_seq=alert.output_seq,
        reason=alert.reason,
        quotes=[excerpt(await quotes.cut(item.span, item.start, item.end)) for item in alert.evidence[:5]],
        evidence_spans=[item.span for item in alert.evidence],
        runbook=alert.runbook,
        time=iso_time(time_ms),
        position=str(entry.position),
    )
