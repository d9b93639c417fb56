"""Who has stopped publishing, who lags, whose records have holes: seen from the events as they come in, kept in memory.

None of this is a function of the events alone, so none of it enters the log: it goes to metrics and health (design section 6).
Times are those at which the observer saw a record, in milliseconds of its own clock, handed in by the caller. A publisher's own
time is a claim and serves for one thing: to say how old its records are when they arrive.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Literal

import msgspec

from ledger.log import Entry
from schemas.facts import Whole
from schemas.ids import digest

PUBLISHERS_MAX = 1000
SESSIONS_MAX = 20_000
"""Publishers and sessions that are remembered; of more, the ones heard least recently are forgotten. A session takes about
0.5 KB.
"""

HOLES_MAX = 8
"""Holes in one session's numbers that may still be filled by late records. An older one counts as missing for good."""

NAME_CHARACTERS_MAX = 200
SILENT_AFTER_MS = 15 * 60_000
"""An agent that waits for a person or a long tool says nothing for minutes; for a quarter of an hour, seldom."""

LAGGING_AFTER_MS = 5 * 60_000
"""Records that are older than this on arrival come from a queue that does not drain, or from a backfill."""

LAGGING_ENDS_SHARE = 0.8
"""A publisher that lags is said to until its lag is below this share of the limit, so that it does not flicker there."""

PublisherState = Literal["active", "idle", "silent"]

_OPENING, _CLOSING = ("session.opened.", "span.recorded."), "session.closed."
"""Who opens a session or records what is said in one will go on until it closes it; who adds a manifest, an audit or a tick
need not be heard again.
"""


class PublisherStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One publisher (source and agent) as it was seen.

    `idle`: no session of its own is open, so nothing is to be expected from it. `sequence` is the last number seen in its
    latest session, None where it does not number. `missing` counts numbers that were left out and have not come late, `late`
    those that have, `repeated` numbers that came again, as a redelivery does. `lag_ms` is the age of its latest record on
    arrival, by its own clock.
    """

    publisher: str
    agent: str
    state: PublisherState
    lagging: bool
    records: int
    open_sessions: int
    session: str
    sequence: int | None
    missing: int
    late: int
    repeated: int
    silent_ms: int
    lag_ms: int | None


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """All publishers together, as figures for metrics. `forgotten` counts those that were dropped to bound memory."""

    publishers: int
    silent: int
    lagging: int
    missing: int
    unreadable: int
    forgotten: int


class _Origin(msgspec.Struct):
    publisher: str = ""


class _Head(msgspec.Struct):
    type: str
    session: str
    agent: str = ""
    source: _Origin | None = None
    sequence: Whole | None = None
    time_ms: Whole | None = None


_decode = msgspec.json.Decoder(_Head).decode


class Level:
    """A value that is too high from one limit on, and fine again only below another one."""

    __slots__ = ("clear_below", "fire_above", "firing")

    def __init__(self, *, fire_above: float, clear_below: float) -> None:
        self.fire_above, self.clear_below = fire_above, clear_below
        self.firing = False

    def see(self, value: float) -> bool:
        """Take note of the value; true while it is too high."""
        self.firing = value > self.fire_above or (self.firing and value >= self.clear_below)
        return self.firing


class _Publisher:
    __slots__ = ("lag_ms", "lagging", "late", "missing", "open", "records", "repeated", "seen_ms", "sequence", "session")

    def __init__(self, lagging_after_ms: int) -> None:
        self.lagging = Level(fire_above=lagging_after_ms, clear_below=lagging_after_ms * LAGGING_ENDS_SHARE)
        self.records = self.open = self.missing = self.late = self.repeated = 0
        self.seen_ms = 0
        self.session = ""
        self.sequence: int | None = None
        self.lag_ms: int | None = None


class _Session:
    """Numbers of one publisher in one session. Where they begin is not known: a hole is one between two that were seen."""

    __slots__ = ("holes", "last", "open", "owner")

    def __init__(self, owner: _Publisher) -> None:
        self.owner = owner
        self.last: int | None = None
        self.holes: list[tuple[int, int]] = []
        self.open = False

    def turn(self, is_open: bool) -> None:
        self.owner.open += is_open - self.open
        self.open = is_open

    def belong_to(self, owner: _Publisher) -> None:
        """Its publisher was forgotten, and is heard again."""
        self.owner = owner
        owner.open += self.open


class IngestMonitor:
    """Watches the events of any number of partitions. Memory is bounded by the two limits, whatever comes in."""

    def __init__(
        self,
        *,
        silent_after_ms: int = SILENT_AFTER_MS,
        lagging_after_ms: int = LAGGING_AFTER_MS,
        publishers_max: int = PUBLISHERS_MAX,
        sessions_max: int = SESSIONS_MAX,
    ) -> None:
        self._silent_after_ms = silent_after_ms
        self._lagging_after_ms = lagging_after_ms
        self._publishers_max = publishers_max
        self._sessions_max = sessions_max
        self._publishers: OrderedDict[tuple[str, str], _Publisher] = OrderedDict()
        self._sessions: OrderedDict[bytes, _Session] = OrderedDict()
        self._unreadable = 0
        self._forgotten = 0

    def observe(self, entry: Entry, now_ms: int) -> None:
        """Take note of an entry of the events topic that was read at `now_ms`. Never raises, whatever the bytes are."""
        try:
            head = _decode(entry.value)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._unreadable += 1
            return
        key = (_cut(head.source.publisher if head.source is not None else ""), _cut(head.agent))
        publisher = self._publisher(key)
        publisher.records += 1
        publisher.seen_ms = max(publisher.seen_ms, now_ms)
        publisher.lag_ms = max(0, now_ms - head.time_ms) if head.time_ms is not None else None
        publisher.lagging.see(publisher.lag_ms or 0)
        publisher.session = _cut(head.session)
        session = self._session(key, publisher, entry.key, head.session)
        if head.sequence is not None:
            _count(publisher, session, head.sequence)
        publisher.sequence = session.last
        if head.type.startswith(_OPENING):
            session.turn(True)
        elif head.type.startswith(_CLOSING):
            session.turn(False)

    def report(self, now_ms: int) -> list[PublisherStatus]:
        """Every publisher that is remembered, the one silent for longest first."""
        found = [self._status(key, publisher, now_ms) for key, publisher in self._publishers.items()]
        return sorted(found, key=lambda status: (-status.silent_ms, status.publisher, status.agent))

    def summary(self, now_ms: int) -> Summary:
        """The report as figures."""
        found = self.report(now_ms)
        return Summary(
            publishers=len(found),
            silent=sum(status.state == "silent" for status in found),
            lagging=sum(status.lagging for status in found),
            missing=sum(status.missing for status in found),
            unreadable=self._unreadable,
            forgotten=self._forgotten,
        )

    def _status(self, key: tuple[str, str], publisher: _Publisher, now_ms: int) -> PublisherStatus:
        silent_ms = max(0, now_ms - publisher.seen_ms)
        state: PublisherState = "active"
        if not publisher.open:
            state = "idle"
        elif silent_ms > self._silent_after_ms:
            state = "silent"
        return PublisherStatus(
            publisher=key[0],
            agent=key[1],
            state=state,
            lagging=publisher.lagging.firing,
            records=publisher.records,
            open_sessions=publisher.open,
            session=publisher.session,
            sequence=publisher.sequence,
            missing=publisher.missing,
            late=publisher.late,
            repeated=publisher.repeated,
            silent_ms=silent_ms,
            lag_ms=publisher.lag_ms,
        )

    def _publisher(self, key: tuple[str, str]) -> _Publisher:
        known = self._publishers.get(key)
        if known is None:
            known = self._publishers[key] = _Publisher(self._lagging_after_ms)
            if len(self._publishers) > self._publishers_max:
                self._publishers.popitem(last=False)
                self._forgotten += 1
        self._publishers.move_to_end(key)
        return known

    def _session(self, key: tuple[str, str], publisher: _Publisher, scope: str, session: str) -> _Session:
        name = digest(*key, scope, session)
        known = self._sessions.get(name)
        if known is None:
            known = self._sessions[name] = _Session(publisher)
            if len(self._sessions) > self._sessions_max:
                self._sessions.popitem(last=False)[1].turn(False)
        elif known.owner is not publisher:
            known.belong_to(publisher)
        self._sessions.move_to_end(name)
        return known


def _count(publisher: _Publisher, session: _Session, number: int) -> None:
    last = session.last
    if last is None or number == last + 1:
        session.last = number
    elif number > last:
        publisher.missing += number - last - 1
        session.holes = [*session.holes, (last + 1, number)][-HOLES_MAX:]
        session.last = number
    elif not _fill(session, number):
        publisher.repeated += 1
    else:
        publisher.missing -= 1
        publisher.late += 1


def _fill(session: _Session, number: int) -> bool:
    """Was this number missing? Then its hole gets smaller, or falls in two."""
    for at, (start, stop) in enumerate(session.holes):
        if start <= number < stop:
            left = [(a, b) for a, b in ((start, number), (number + 1, stop)) if a < b]
            session.holes = [*session.holes[:at], *left, *session.holes[at + 1 :]][-HOLES_MAX:]
            return True
    return False


def _cut(name: str) -> str:
    return name[:NAME_CHARACTERS_MAX]
