"""Following a log: waiting for an entry, and going through a partition in bounded reads. Works over any adapter of the port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from ledger.log import Entry, Log

PAUSE_S_FIRST, PAUSE_S_MAX = 0.001, 0.020
"""Pauses between two looks. Short at first, since an answer usually follows at once; longer later, so idling is cheap."""


@runtime_checkable
class Waits(Protocol):
    """A log that can tell of an arrival by itself; one that cannot is looked at again and again."""

    async def wait_for(self, topic: str, partition: int, offset: int, timeout_s: float) -> bool:
        """True once the entry at `offset` is readable, False if it is not after `timeout_s` seconds."""
        ...


class Reconnects(Protocol):
    """A log behind connections that can break; while one is broken, what stands in the log may become something else."""

    @property
    def connections(self) -> int:
        """How many were opened so far for reading."""
        ...


def connections_of(log: Log) -> int:
    """How many connections a log has opened for reading; always 0 where there are none. Once it is more than before, what was
    read last must be compared again (P8).
    """
    found: int = getattr(log, "connections", 0)  # asked for each batch; a protocol is compared member by member
    return found


async def wait_for(log: Log, topic: str, partition: int, offset: int, timeout_s: float) -> bool:
    """True once the entry at `offset` is readable, False if it is not after `timeout_s` seconds.

    Raises what `Log.end` raises: `LogDamaged`, `LogClosed`, `LogUnavailable`.
    """
    if isinstance(log, Waits):
        return await log.wait_for(topic, partition, offset, timeout_s)
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + timeout_s
    pause_s = PAUSE_S_FIRST
    while await log.end(topic, partition) <= offset:
        left_s = deadline_s - loop.time()
        if left_s <= 0:
            return False
        await asyncio.sleep(min(pause_s, left_s))
        pause_s = min(pause_s * 1.5, PAUSE_S_MAX)
    return True


async def all_entries(log: Log, topic: str, partition: int, start: int = 0, stop: int | None = None) -> AsyncIterator[Entry]:
    """Every entry from `start` up to, and without, `stop` (default: the end as of now), oldest first, in bounded reads."""
    if stop is None:
        stop = await log.end(topic, partition)
    while start < stop:
        batch = await log.read(topic, partition, start, max_entries=min(1000, stop - start))
        if not batch:
            return
        for entry in batch:
            yield entry
        start = batch[-1].position.offset + 1
