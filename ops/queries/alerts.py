"""The alert stream as people read it: with the words of the facts concerned, and which alerts are open now."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import msgspec

from ledger.errors import LogDamaged
from ledger.log import ALERTS, EVENTS, Entry, Log
from ledger.rows import RoundRow
from ledger.state import ROUND, ordinal_key
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
    round: int | None = None
    """The compaction that set it off, and the transcript that it is about, where there is one."""

    path: str = ""


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
    rounds = _Rounds(reading, "")
    async for entry, alert in _entries(reading.log, at, reading.partitions):
        time_ms = await _time_of(reading, entry)
        if since_ms is not None and time_ms is not None and time_ms < since_ms:
            continue
        if quotes.scope != alert.scope:  # one scope's texts at a time are kept
            quotes = Quotes(reading, alert.scope)
            rounds = _Rounds(reading, alert.scope)
        yield await _answer(quotes, entry, alert, time_ms, rounds.of(alert))


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


class _Rounds:
    """The rounds of the sessions of one scope, looked up where an alert belongs to one."""

    def __init__(self, reading: Reading, scope: str) -> None:
        self._reading, self._scope = reading, scope
        self._known: dict[str, dict[str, RoundRow]] = {}

    def of(self, alert: AnyAlert) -> RoundRow | None:
        """The round that set the alert off; None for another cause."""
        if not alert.group.startswith(f"{alert.session}/"):
            return None
        if alert.session not in self._known:
            found = self._reading.session_in(self._scope, alert.session)
            rows = found.rows.walk(ROUND, ordinal_key(found.session.ordinal)) if found is not None else ()
            self._known[alert.session] = {row.round: row for _, row in rows}
        return self._known[alert.session].get(alert.group.removeprefix(f"{alert.session}/"))


async def _path_of(quotes: Quotes, carriers: Iterable[str]) -> str:
    """The file of the first of these carriers that stands in one."""
    for carrier in carriers:
        record = await quotes.record(carrier)
        if record is not None and record.source is not None and record.source.path:
            return record.source.path
    return ""


async def _answer(quotes: Quotes, entry: Entry, alert: AnyAlert, time_ms: int | None, round_: RoundRow | None) -> AlertAnswer:
    carriers = [item.span for item in alert.evidence[:1]] + ([round_.summary] if round_ is not None else [])
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
        round=round_.ordinal if round_ is not None else None,
        path=await _path_of(quotes, carriers),
    )
