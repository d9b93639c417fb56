"""Faust agents, for what may be lost: telling people of alerts, and a live feed of them.

The truth is in the topic of alerts and in whoever replays it. A Faust agent commits records whose handler raised, so nothing
of the ledger hangs on one: a notification that is lost here is found by `cledger alerts`. The agents begin at the end of the
topic, so a restart or a rebuilt index tells nobody anything twice that is long known (P9).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import faust
import msgspec

from consumers.readiness import Reach
from consumers.shell import Site, execute, new_loop, settings_of
from ledger.log import ALERTS
from schemas.alerts import SEVERITIES, AlertRaised, AnyAlert
from schemas.codec import NotARecord, UnknownType, decode_alert

GROUP = "cledger-agents"
"""Agents of one name share the alerts; each target that is to hear all of them has a name of its own, behind this one."""

LOOK_S = 5.0
"""How often it is looked whether the log answers: whoever hears nothing must not take it for quiet."""

GATHER_S = 2.0
"""How long alerts of one cause are gathered before they go out as one notification: one bad compaction is one page."""

GROUPS_MAX = 1000
"""Groups that may be waiting; beyond, the oldest goes out at once."""

SEEN_MAX = 100_000
"""Scopes of which the last number is remembered, so that a copy of an alert tells nobody twice."""

FEED_WAITING_MAX = 1000
"""Alerts that a slow reader of the feed may lag behind before it loses the oldest, and is told how many."""

QUIET_S = 15.0
"""After so long without an alert a reader is given a sign, by which one that is gone is noticed."""

_log = logging.getLogger("cledger.agents")


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """What one cause set off, as one message. It holds ids and counts, no words of any transcript."""

    scope: str
    session: str
    group: str
    severity: str
    raised: dict[str, int]
    """Alerts by kind."""

    resolved: dict[str, int]
    first: dict[str, str]
    """Rule, kind, subject, fingerprint and runbook entry of the most severe one."""

    published_ms: int | None = None
    """When the first of them was published, in milliseconds since the epoch; None where the log gives no time."""


class Sink(Protocol):
    """Where notifications go."""

    async def send(self, notification: Notification) -> None:
        """Deliver, or raise. What cannot be delivered after the sink's own retries is lost here, and only here."""
        ...


class Gathering:
    """Turns a stream of alerts into one notification for each cause."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[tuple[str, str], tuple[float, int | None, list[AnyAlert]]] = OrderedDict()
        self._seen: OrderedDict[str, int] = OrderedDict()
        self.repeated = 0
        """Copies that were passed over."""

    def take(self, alert: AnyAlert, now_s: float, published_ms: int | None = None) -> bool:
        """Add an alert, unless its scope's numbers have passed it. False for a copy."""
        if alert.output_seq <= self._seen.get(alert.scope, 0):
            self.repeated += 1
            return False
        self._seen[alert.scope] = alert.output_seq
        self._seen.move_to_end(alert.scope)
        if len(self._seen) > SEEN_MAX:
            self._seen.popitem(last=False)
        self._waiting.setdefault((alert.scope, alert.group), (now_s, published_ms, []))[2].append(alert)
        return True

    def due(self, now_s: float) -> list[Notification]:
        """What has waited long enough, or must go because too much waits, oldest first."""
        found = []
        while self._waiting:
            key, (since_s, published_ms, alerts) = next(iter(self._waiting.items()))
            if now_s - since_s < GATHER_S and len(self._waiting) <= GROUPS_MAX:
                break
            del self._waiting[key]
            found.append(notification_of(alerts, published_ms))
        return found


def notification_of(alerts: Sequence[AnyAlert], published_ms: int | None = None) -> Notification:
    """One message for alerts of one cause. There is at least one."""
    raised = [alert for alert in alerts if isinstance(alert, AlertRaised)]
    first = min(raised or alerts, key=lambda alert: (SEVERITIES.index(alert.severity), alert.output_seq))
    return Notification(
        scope=first.scope,
        session=first.session,
        group=first.group,
        severity=first.severity if raised else "info",
        raised=dict(sorted(Counter(alert.kind for alert in raised).items())),
        resolved=dict(sorted(Counter(alert.kind for alert in alerts if not isinstance(alert, AlertRaised)).items())),
        first={
            "rule": first.rule,
            "kind": first.kind,
            "subject": first.subject,
            "fingerprint": first.fingerprint,
            "runbook": first.runbook,
        },
        published_ms=published_ms,
    )


class Feed:
    """Alerts as they come, to any number of readers, each of whom may be slow at nobody's cost but its own."""

    def __init__(self) -> None:
        self._readers: set[asyncio.Queue[bytes]] = set()
        self._ended = asyncio.Event()
        self.lost = 0
        """Alerts that slow readers did not get."""

    def publish(self, value: bytes) -> None:
        """Hand an alert to everyone who reads now."""
        for queue in self._readers:
            if queue.full():
                queue.get_nowait()
                self.lost += 1
            queue.put_nowait(value)

    async def read(self) -> AsyncIterator[bytes]:
        """Alerts from now on, until `end`; an empty value where none came for `QUIET_S`."""
        queue: asyncio.Queue[bytes] = asyncio.Queue(FEED_WAITING_MAX)
        self._readers.add(queue)
        try:
            while not self._ended.is_set():
                try:
                    async with asyncio.timeout(QUIET_S):
                        value = await queue.get()
                except TimeoutError:
                    value = b""
                if not self._ended.is_set():
                    yield value
        finally:
            self._readers.discard(queue)

    def end(self) -> None:
        """No more alerts come: those who read are let go."""
        self._ended.set()
        self.publish(b"")


class Agents:
    """What the agents share: the gathering, the feed, the sinks, and what went wrong."""

    def __init__(self, sinks: Sequence[Sink], reach: Reach | None = None) -> None:
        self.sinks = tuple(sinks)
        self.reach = reach or Reach("the log", "nobody is told of anything meanwhile")
        self.gathering = Gathering()
        self.feed = Feed()
        self.sent = 0
        self.failed = 0
        self.unreadable = 0
        self.untold = ""
        """Why the last notification did not arrive; the empty string if it did."""

    @property
    def reasons(self) -> list[str]:
        """Why people may miss alerts just now, in sentences."""
        return [each for each in (self.reach.told, self.untold) if each]

    def take(self, value: bytes, now_s: float, published_ms: int | None = None) -> None:
        """One entry of the topic of alerts."""
        try:
            alert = decode_alert(value)
        except (NotARecord, UnknownType) as error:
            self.unreadable += 1
            _log.warning("an entry of %s is no alert that this release knows: %s", ALERTS, error)
            return
        if self.gathering.take(alert, now_s, published_ms):
            self.feed.publish(value)

    async def tell(self, now_s: float) -> None:
        """Send what is due. A sink that fails is logged, and keeps no other from being told."""
        for notification in self.gathering.due(now_s):
            for sink in self.sinks:
                try:
                    await sink.send(notification)
                    self.sent += 1
                    self.untold = ""
                except Exception as error:  # noqa: BLE001  whatever a sink does, the others are told
                    self.failed += 1
                    self.untold = f"{sink} was not told of group {notification.group}: {error}"
                    _log.warning("%s; cledger alerts has it", self.untold)


class Following(NamedTuple):
    """What the agents follow: a broker's address as Faust writes it, who they log in as, the log's prefix, and under which name
    they read. `look` says what keeps the log from answering, the empty string if it answers.
    """

    broker: str
    credentials: Any
    prefix: str
    group: str
    look: Callable[[], Awaitable[str]]


def run_agents(agents: Agents, following: Following, *, folder: Path, site: Site) -> int:
    """Run the agents until a signal comes; returns the exit code."""
    loop = new_loop()
    return execute(app_of(agents, following, settings=settings_of(folder, site), loop=loop), None, site)


def app_of(agents: Agents, following: Following, *, settings: Mapping[str, Any], loop: asyncio.AbstractEventLoop) -> faust.App:
    """The Faust app: one agent that reads the alerts, timers that send what was gathered and look after the log."""
    broker, credentials, prefix, group, look = following
    app = faust.App(
        prefix + group,
        broker=broker,
        broker_credentials=credentials,
        loop=loop,
        consumer_auto_offset_reset="latest",
        topic_allow_declare=False,
        stream_wait_empty=False,
        value_serializer="raw",
        key_serializer="raw",
        **settings,
    )
    topic = app.topic(prefix + ALERTS, value_type=bytes, value_serializer="raw", key_type=bytes, key_serializer="raw")

    @app.agent(topic, name="notifications")
    async def notifications(stream: faust.StreamT[bytes]) -> None:
        """Each alert, to the feed and to the gathering."""
        async for event in stream.events():
            stamp_s = event.message.timestamp
            agents.take(event.value, loop.time(), None if stamp_s is None else round(stamp_s * 1000))

    @app.timer(interval=GATHER_S / 4)  # type: ignore[untyped-decorator]
    async def tell() -> None:
        """What was gathered long enough."""
        await agents.tell(loop.time())

    @app.timer(interval=LOOK_S)  # type: ignore[untyped-decorator]
    async def reach() -> None:
        """Does the log answer?"""
        agents.reach.note(await look())

    return app
