"""A log in memory, for tests, scratch folds and `rehearse`: the same promises within one process, and nothing on disk.

Differences that the port allows: L1 ends with the process, and L9 covers tasks and threads instead of processes.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence

from ledger.errors import LogClosed, UsageError
from ledger.log import (
    TOPICS,
    Entry,
    LogIdentity,
    NewEntry,
    check_entries,
    check_offset,
    check_place,
    partition_of,
)
from schemas.ids import Position


class MemoryLog:
    """The log port over lists, promises L2 to L12."""

    def __init__(self, partitions: int = 1, log_id: str = "") -> None:
        """An empty log. Without `log_id` it gets an id of its own. Raises `UsageError` for less than one partition."""
        if partitions < 1:
            raise UsageError(f"a log has at least 1 partition, not {partitions}")
        self._identity = LogIdentity(log_id or uuid.uuid4().hex, partitions)
        self._entries: dict[str, list[list[Entry]]] = {topic: [[] for _ in range(partitions)] for topic in TOPICS}
        self._mutex = threading.Lock()
        self._closed = False

    @property
    def identity(self) -> LogIdentity:
        """Which log this is."""
        return self._identity

    async def append(self, topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        """Append, see `ledger.log.Log`."""
        self._refuse_if_closed()
        check_entries(topic, entries)
        positions = []
        with self._mutex:
            for entry in entries:
                number = partition_of(entry.key, self._identity.partitions)
                partition = self._entries[topic][number]
                position = Position(topic, number, len(partition))
                partition.append(Entry(position, entry.key, bytes(entry.value), tuple(entry.headers)))
                positions.append(position)
        return positions

    async def read(
        self, topic: str, partition: int, offset: int, *, max_entries: int = 1000, max_bytes: int = 8 << 20
    ) -> list[Entry]:
        """Entries from `offset` on, see `ledger.log.Log`. `max_bytes` counts values."""
        self._refuse_if_closed()
        check_place(topic, partition, self._identity.partitions)
        check_offset(topic, partition, offset)
        found = []
        for entry in self._entries[topic][partition][offset : offset + max(1, max_entries)]:
            found.append(entry)
            max_bytes -= len(entry.value)
            if max_bytes <= 0:
                break
        return found

    async def end(self, topic: str, partition: int) -> int:
        """The offset that the next entry of the partition will take, see `ledger.log.Log`."""
        self._refuse_if_closed()
        check_place(topic, partition, self._identity.partitions)
        return len(self._entries[topic][partition])

    async def close(self) -> None:
        """Refuse every further call; calling it twice is harmless (L12)."""
        self._closed = True

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise LogClosed("the log in memory was closed")
