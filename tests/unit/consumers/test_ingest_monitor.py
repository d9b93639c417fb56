"""Silence, lag and holes in the numbers of publishers, seen without a clock and within bounded memory (design section 6)."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consumers.ingest_monitor import HOLES_MAX, IngestMonitor, PublisherStatus
from ledger.log import EVENTS, Entry
from schemas.codec import encode
from schemas.ids import Position
from schemas.records import AnyRecord, Source, Tick
from tests.support.given import closed, manifest, opened, span
from tests.support.given import record as made

MINUTE = 60_000
START = 1_800_000_000_000


def entry(
    record: AnyRecord, publisher: str = "hook", agent: str = "a1", sequence: int | None = None, time_ms: int | None = None
) -> Entry:
    """The record as this publisher numbers and dates it."""
    source = Source(publisher=publisher) if publisher else None
    value = encode(msgspec.structs.replace(record, source=source, agent=agent, sequence=sequence, time_ms=time_ms))
    return Entry(Position(EVENTS, 0, 0), record.scope, value)


def numbered(monitor: IngestMonitor, numbers: list[int], session: str = "s1") -> PublisherStatus:
    """What is known of a publisher that sent these numbers."""
    for number in numbers:
        monitor.observe(entry(span(1, "n:40", session=session, scope=session), sequence=number), START)
    (status,) = monitor.report(START)
    return status


@pytest.mark.parametrize(
    ("numbers", "missing", "late", "repeated"),
    [
        ([0, 1, 2], 0, 0, 0),
        ([7, 8, 9], 0, 0, 0),
        ([1, 2, 5], 2, 0, 0),
        ([1, 5, 2, 3, 4], 0, 3, 0),
        ([1, 5, 3], 2, 1, 0),
        ([1, 5, 3, 3, 2, 4, 4], 0, 3, 2),
        ([1, 2, 2, 1, 3], 0, 0, 2),
        ([3, 1], 0, 0, 1),
        ([1, 4, 10, 2, 8], 5, 2, 0),
    ],
)
def test_holes_in_the_numbers_are_counted_and_filled(numbers: list[int], missing: int, late: int, repeated: int) -> None:
    """P1: a hole is one between two numbers that were seen; what comes late fills it; a redelivery is no hole."""
    status = numbered(IngestMonitor(), numbers)
    assert (status.missing, status.late, status.repeated) == (missing, late, repeated)
    assert status.sequence == max(numbers)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=40))
@settings(max_examples=200, deadline=None)
def test_missing_is_what_lies_between_and_never_came(numbers: list[int]) -> None:
    """Against the plain definition, as long as no hole was given up."""
    status = numbered(IngestMonitor(), numbers)
    expected, last = set[int](), numbers[0]
    for number in numbers:
        expected |= set(range(last + 1, number))
        expected.discard(number)
        last = max(last, number)
    assert status.missing == len(expected)
    assert status.records == len(numbers)


def test_sessions_are_numbered_each_for_itself() -> None:
    monitor = IngestMonitor()
    numbered(monitor, [1, 2, 3], "s1")
    status = numbered(monitor, [90, 91], "s2")
    assert (status.missing, status.session, status.sequence, status.open_sessions) == (0, "s2", 91, 2)


def test_publisher_without_numbers_has_no_holes() -> None:
    monitor = IngestMonitor()
    monitor.observe(entry(span(1, "n:40")), START)
    (status,) = monitor.report(START)
    assert (status.sequence, status.missing) == (None, 0)


def test_publishers_are_told_apart_by_source_and_agent() -> None:
    monitor = IngestMonitor()
    for publisher, agent in (("hook", "a1"), ("hook", "a2"), ("reader", "a1"), ("", "a1"), ("hook", "a1")):
        monitor.observe(entry(span(1, "n:40"), publisher, agent), START)
    found = {(status.publisher, status.agent): status.records for status in monitor.report(START)}
    assert found == {("hook", "a1"): 2, ("hook", "a2"): 1, ("reader", "a1"): 1, ("", "a1"): 1}


def test_publisher_in_mid_session_that_says_nothing_is_silent() -> None:
    """The caller's clock counts, and the longest silence stands first."""
    monitor = IngestMonitor(silent_after_ms=10 * MINUTE)
    monitor.observe(entry(span(1, "n:40"), "quiet"), START)
    monitor.observe(entry(span(1, "n:40"), "busy"), START)
    monitor.observe(entry(span(2, "n:40"), "busy"), START + 9 * MINUTE)
    assert [status.state for status in monitor.report(START + 10 * MINUTE)] == ["active", "active"]
    found = monitor.report(START + 11 * MINUTE)
    assert [(s.publisher, s.state, s.silent_ms) for s in found] == [
        ("quiet", "silent", 11 * MINUTE),
        ("busy", "active", 2 * MINUTE),
    ]
    assert monitor.summary(START + 11 * MINUTE).silent == 1
    monitor.observe(entry(span(2, "n:40"), "quiet"), START + 12 * MINUTE)
    assert monitor.summary(START + 12 * MINUTE).silent == 0


def test_publisher_whose_sessions_are_closed_is_idle_and_not_silent() -> None:
    monitor = IngestMonitor()
    for record in (opened(), opened("s2", scope="s2"), closed(), closed()):
        monitor.observe(entry(record), START)
    assert [status.state for status in monitor.report(START + 999 * MINUTE)] == ["silent"]
    monitor.observe(entry(closed("s2", scope="s2")), START)
    (status,) = monitor.report(START + 999 * MINUTE)
    assert (status.state, status.open_sessions) == ("idle", 0)
    monitor.observe(entry(span(9, "n:40")), START + 1000 * MINUTE)
    assert monitor.report(START + 1000 * MINUTE)[0].state == "active"


def test_measurers_and_ticks_are_never_expected_again() -> None:
    """Who adds to a session what others said has no session of its own."""
    monitor = IngestMonitor()
    monitor.observe(entry(manifest(1, "n:40"), "measurer"), START)
    monitor.observe(entry(made(Tick, "t", timer="t", due_ms=1), "owner"), START)
    assert {status.state for status in monitor.report(START + 999 * MINUTE)} == {"idle"}


def test_age_on_arrival_is_the_lag() -> None:
    """By the publisher's own clock; one that is ahead of ours lags by nothing."""
    monitor = IngestMonitor(lagging_after_ms=5 * MINUTE)
    for time_ms, lag_ms, lagging in (
        (START - 6 * MINUTE, 6 * MINUTE, True),
        (START - MINUTE, MINUTE, False),
        (START + MINUTE, 0, False),
        (None, None, False),
    ):
        monitor.observe(entry(span(1, "n:40"), time_ms=time_ms), START)
        (status,) = monitor.report(START)
        assert (status.lag_ms, status.lagging) == (lag_ms, lagging)


@pytest.mark.parametrize(
    "value", [b"", b"\xff", b"[1]", b"{}", b"[" * 100_000, b'{"type":"span.recorded.v1","session":"s","sequence":1e99}']
)
def test_bytes_that_are_no_record_are_counted_and_do_no_harm(value: bytes) -> None:
    """P10: never raises, whatever comes in."""
    monitor = IngestMonitor()
    monitor.observe(Entry(Position(EVENTS, 0, 0), "s", value), START)
    assert monitor.report(START) == []
    assert monitor.summary(START).unreadable == 1


def test_publishers_beyond_the_limit_push_out_the_one_unheard_for_longest() -> None:
    """Memory is bounded, and what was forgotten is counted."""
    monitor = IngestMonitor(publishers_max=3)
    for publisher in ("a", "b", "c", "a", "d"):
        monitor.observe(entry(span(1, "n:40"), publisher), START)
    assert {status.publisher for status in monitor.report(START)} == {"a", "c", "d"}
    assert monitor.summary(START).forgotten == 1
    monitor.observe(entry(span(2, "n:40"), "b"), START)
    again = next(status for status in monitor.report(START) if status.publisher == "b")
    assert (again.records, again.open_sessions, again.state) == (1, 1, "active")


def test_sessions_beyond_the_limit_are_forgotten_and_claim_nothing() -> None:
    """A hole across what was forgotten is unknown, and no hole."""
    monitor = IngestMonitor(sessions_max=2)
    numbered(monitor, [1, 2], "s1")
    numbered(monitor, [1], "s2")
    assert numbered(monitor, [1], "s3").open_sessions == 2
    assert numbered(monitor, [9], "s1").missing == 0


def test_memory_stays_bounded_whatever_is_numbered() -> None:
    """A publisher that leaves out every other number, or fills one hole from its middle, costs no more than any other."""
    monitor = IngestMonitor()
    status = numbered(monitor, list(range(0, 4000, 2)))
    assert status.missing == 1999
    assert [len(session.holes) for session in monitor._sessions.values()] == [HOLES_MAX]
    status = numbered(monitor, [2**53 - 1])
    chance = random.Random(1)
    numbered(monitor, [chance.randrange(4000, 2**52) for _ in range(500)])
    (session,) = monitor._sessions.values()
    assert len(session.holes) <= HOLES_MAX


def test_long_names_are_cut() -> None:
    monitor = IngestMonitor()
    monitor.observe(entry(span(1, "n:40", session="s" * 5000), "p" * 5000, "a" * 5000), START)
    (status,) = monitor.report(START)
    assert {len(status.publisher), len(status.agent), len(status.session)} == {200}
