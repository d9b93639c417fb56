"""Why a worker is not ready, in sentences, and a word when its log goes away and when it is back."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from consumers.keeper import PartitionStatus, State

NAMED = 8
"""Partitions that are named one by one; of more, how many they are."""

_log = logging.getLogger("cledger.worker")

_AT_WORK: dict[State, str] = {
    "recovering": "the index is being opened, restored or begun anew",
    "catching up": "catching up",
}


class Reach:
    """Whether the log answers. Said once when it does not any more, with what is waited for, and once when it does again."""

    def __init__(self, where: str, meanwhile: str = "nothing is decided meanwhile") -> None:
        """`where` is the log's address, or a word for it."""
        self._where, self._meanwhile = where, meanwhile
        self._since_s: float | None = None
        self._since = ""
        self._fault = ""

    def note(self, fault: str) -> None:
        """What kept the log from answering just now; the empty string if it answered."""
        if fault and self._since_s is None:
            self._since_s = time.monotonic()
            self._since = datetime.now(UTC).strftime("%H:%M:%S UTC")
            _log.warning("%s does not answer: %s; waiting for it, %s", self._where, fault, self._meanwhile)
        elif not fault and self._since_s is not None:
            _log.warning("%s is back after %.0f s; going on where it stopped", self._where, time.monotonic() - self._since_s)
            self._since_s = None
        self._fault = fault

    @property
    def told(self) -> str:
        """That the log is away, and since when; the empty string if it is not."""
        if self._since_s is None:
            return ""
        away_s = time.monotonic() - self._since_s
        return f"{self._where} has not answered since {self._since}, for {away_s:.0f} s: {self._fault}; it is waited for"


def away(statuses: Sequence[PartitionStatus]) -> str:
    """Why partitions wait for the log; the empty string if none does."""
    return next((each.reason for each in statuses if each.state == "waiting" and each.waits_for == "log"), "")


def waits(statuses: Sequence[PartitionStatus], reach: Reach) -> list[str]:
    """What is waited for that this process cannot bring about: the log, or a store that takes nothing."""
    told = [reach.told] if reach.told else []
    stores: dict[str, list[int]] = {}
    for each in statuses:
        if each.state == "waiting" and each.waits_for == "store":
            stores.setdefault(each.reason, []).append(each.partition)
    return told + [f"{named(numbers)}: the store takes nothing: {reason}" for reason, numbers in stores.items()]


def reasons(statuses: Sequence[PartitionStatus], reach: Reach, *, joined: bool, stuck: str) -> list[str]:
    """Every reason why a worker is not ready; none if it is."""
    found = [] if joined else ["the group of workers has not given out partitions yet"]
    found += [stuck] if stuck else []
    found += waits(statuses, reach)
    found += [
        f"{named([each.partition])} stands still before offset {each.offset}: {each.reason}"
        for each in statuses
        if each.state == "halted"
    ]
    for state, told in _AT_WORK.items():
        those = [each for each in statuses if each.state == state]
        if those:
            lacking = sum(each.lag for each in those)
            found.append(
                f"{named([each.partition for each in those])}: {told}" + (f", {lacking:,} records behind" * bool(lacking))
            )
    return found


def named(numbers: Sequence[int]) -> str:
    """`partition 3`, `partitions 0, 3 and 5`, `12 partitions`."""
    if len(numbers) > NAMED:
        return f"{len(numbers)} partitions"
    if len(numbers) == 1:
        return f"partition {numbers[0]}"
    return f"partitions {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
