"""The alert stream as people read it: with the words of the facts concerned, and which alerts are open now."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import msgspec

from ledger.errors import LogDamaged
from ledger.log import ALERTS, EVENTS, Entry, Log
from ops.queries.quotes import Quotes, excerpt, iso_time, time_of
from ops.store import Reading
from schemas.alerts import AlertRaised, AnyAlert
from schemas.codec import NotARecord, UnknownType, decode_alert

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


class Cursor(msgspec.Struct, kw_only=True):
    """How far a reader of the stream has come: next offset by partition, highest output number by scope."""

    offsets: dict[int, int] = {}
    seen: dict[str, int] = {}


class AlertCount(msgspec.Struct, frozen=True):
    """How many alerts of one kind one session raised, or resolved."""

    session: str
    state: str
    severity: str
    kind: str
    count: int


async def end_of(log: Log) -> Cursor:
    """A cursor behind everything that is on record."""
    return Cursor(offsets={partition: await log.end(ALERTS, partition) for partition in range(log.identity.partitions)})


async def stream(reading: Reading, *, cursor: Cursor | None = None, since_ms: int | None = None) -> AsyncIterator[AlertAnswer]:
    """Alerts of the view's partitions behind the cursor, which moves along; `since_ms` leaves out those whose cause is known to
    be older.

    Repeats of an alert that is on record already are left out: consumers ignore an output number that they have seen.
    """
    at = cursor or Cursor()
    quotes = Quotes(reading, "")
    async for entry, alert in _entries(reading.log, at, reading.partitions):
        time_ms = await _time_of(reading, entry)
        if since_ms is not None and time_ms is not None and time_ms < since_ms:
            continue
        if quotes.scope != alert.scope:  # one scope's texts at a time are kept
            quotes = Quotes(reading, alert.scope)
        yield await _answer(quotes, entry, alert, time_ms)


async def tally(log: Log, cursor: Cursor) -> list[AlertCount]:
    """Alerts behind the cursor, counted by session, state and kind, in order of their first one. The cursor moves along."""
    counts: dict[tuple[str, str, str, str], int] = {}
    async for _, alert in _entries(log, cursor, range(log.identity.partitions)):
        key = (alert.session, _state(alert), alert.severity, alert.kind)
        counts[key] = counts.get(key, 0) + 1
    return [AlertCount(*key, count) for key, count in counts.items()]


async def _entries(log: Log, cursor: Cursor, partitions: Iterable[int]) -> AsyncIterator[tuple[Entry, AnyAlert]]:
    for partition in partitions:
        while entries := await log.read(ALERTS, partition, cursor.offsets.get(partition, 0), max_entries=READ_ENTRIES):
            for entry in entries:
                cursor.offsets[partition] = entry.position.offset + 1
                alert = _decoded(entry)
                if alert.output_seq > cursor.seen.get(alert.scope, 0):
                    cursor.seen[alert.scope] = alert.output_seq
                    yield entry, alert


def _decoded(entry: Entry) -> AnyAlert:
    try:
        return decode_alert(entry.value)
    except (NotARecord, UnknownType) as error:
        raise LogDamaged(f"{entry.position}: not an alert ({error})", hint="Run: cledger replay --verify") from None


def _state(alert: AnyAlert) -> str:
    return "raised" if isinstance(alert, AlertRaised) else "resolved"


async def _time_of(reading: Reading, entry: Entry) -> int | None:
    for name, value in entry.headers:
        if name == "source_offset":
            found = await reading.log.read(EVENTS, entry.position.partition, int(value), max_entries=1)
            return time_of(found[0].value) if found else None
    return None


async def _answer(quotes: Quotes, entry: Entry, alert: AnyAlert, time_ms: int | None) -> AlertAnswer:
    return AlertAnswer(
        state=_state(alert),
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
