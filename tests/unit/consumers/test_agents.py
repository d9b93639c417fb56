"""What Faust agents share: one notification for each cause, no word twice, and no sink that keeps another from being told."""

from __future__ import annotations

import asyncio

import pytest

from consumers import agents as parts
from consumers.agents import FEED_WAITING_MAX, GATHER_S, Agents, Feed, Gathering, Notification, notification_of
from schemas.alerts import AlertRaised, AlertResolved, AnyAlert, Severity
from schemas.codec import encode


def alert(seq: int, group: str = "g1", scope: str = "s1", severity: Severity = "ticket", resolved: bool = False) -> AnyAlert:
    shape = AlertResolved if resolved else AlertRaised
    return shape(
        id=f"{seq:032x}", scope=scope, session=scope, fingerprint=f"f{seq}", group=group, rule="C3",
        kind="prohibition_lost" if severity == "page" else "fact_lost", severity=severity, subject=f"fact{seq}@s1", cause=group,
        output_seq=seq, runbook="fact_lost",
    )  # fmt: skip


class Told:
    """A sink that remembers."""

    def __init__(self) -> None:
        self.got: list[Notification] = []

    async def send(self, notification: Notification) -> None:
        self.got.append(notification)


class Broken:
    async def send(self, notification: Notification) -> None:
        raise ConnectionError("nobody is there")


def test_one_bad_compaction_is_one_notification_and_the_most_severe_alert_leads() -> None:
    """Design section 6: sinks page per group."""
    gathering = Gathering()
    for number in range(1, 375):
        assert gathering.take(alert(number, severity="page" if number == 200 else "ticket"), 0.0, number)
    assert gathering.due(GATHER_S / 2) == []
    (found,) = gathering.due(GATHER_S)
    assert found.published_ms == 1  # of the first
    assert (found.severity, found.raised) == ("page", {"fact_lost": 373, "prohibition_lost": 1})
    assert found.first["subject"] == "fact200@s1"
    assert gathering.due(10 * GATHER_S) == []


def test_p9_copy_of_an_alert_tells_nobody_twice() -> None:
    """P9: at least once on the topic, once to people; another scope's numbers are its own."""
    gathering = Gathering()
    assert gathering.take(alert(5), 0.0)
    assert not gathering.take(alert(5), 0.0)
    assert not gathering.take(alert(3), 0.0)
    assert gathering.take(alert(3, scope="s2"), 0.0)
    assert gathering.repeated == 2


def test_too_many_waiting_groups_go_out_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "GROUPS_MAX", 10)
    gathering = Gathering()
    for number in range(1, 31):
        gathering.take(alert(number, group=f"g{number}"), 0.0)
    assert [each.group for each in gathering.due(0.0)] == [f"g{number}" for number in range(1, 21)]


def test_what_was_only_resolved_is_no_page() -> None:
    found = notification_of([alert(1, severity="page", resolved=True)])
    assert (found.severity, found.raised, found.resolved) == ("info", {}, {"prohibition_lost": 1})


async def test_sink_that_fails_keeps_no_other_from_being_told() -> None:
    told = Told()
    agents = Agents([Broken(), told])
    agents.take(encode(alert(1)), 0.0)
    await agents.tell(GATHER_S)
    assert ([each.group for each in told.got], agents.sent, agents.failed) == (["g1"], 1, 1)


async def test_entry_that_is_no_alert_is_counted_and_the_next_one_is_told() -> None:
    told = Told()
    agents = Agents([told])
    agents.take(b"{", 0.0)
    agents.take(encode(alert(1)), 0.0)
    await agents.tell(GATHER_S)
    assert (agents.unreadable, len(told.got)) == (1, 1)


async def test_slow_reader_of_the_feed_loses_the_oldest_and_nobody_else_does() -> None:
    feed = Feed()
    slow, quick = feed.read(), feed.read()
    first = asyncio.ensure_future(anext(slow)), asyncio.ensure_future(anext(quick))
    await asyncio.sleep(0)
    for number in range(FEED_WAITING_MAX + 5):
        feed.publish(str(number).encode())
        if number % 100 == 0:
            await asyncio.sleep(0)
    assert [await each for each in first] == [b"0", b"0"]
    assert feed.lost > 0
    latest = b""
    for _ in range(FEED_WAITING_MAX):
        latest = await anext(slow)
    assert latest == str(FEED_WAITING_MAX + 4).encode()
    await slow.aclose()  # type: ignore[attr-defined]
    await quick.aclose()  # type: ignore[attr-defined]
