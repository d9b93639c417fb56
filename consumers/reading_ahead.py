"""Reading one partition beyond what is folded, in the background: what waits is known while the fold is busy."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator

from consumers.enforcement import end_soon
from ledger.following import wait_for
from ledger.log import EVENTS, Entry, Log

AHEAD_ENTRIES = 4_000
AHEAD_BYTES = 4 << 20
"""What may be held beside the batch under way, in bytes of values. A request behind more than that is not seen earlier."""

READ_ENTRIES, READ_BYTES = 1_000, 1 << 20
"""How much is read at a time."""

WAIT_S = 5.0


class ReadAhead:
    """The entries that wait to be folded, from `start` on. Use from one event loop."""

    def __init__(self, log: Log, number: int, told: Callable[[list[Entry]], None]) -> None:
        """`told` is called with what has just arrived."""
        self._log, self._number, self._told = log, number, told
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self._offset = 0
        self._task: asyncio.Task[None] | None = None
        self._fault: Exception | None = None
        self._some = asyncio.Event()
        self._room = asyncio.Event()

    def __iter__(self) -> Iterator[Entry]:
        """What waits, oldest first."""
        return iter(self._entries)

    @property
    def end(self) -> int:
        """One past the last entry that was read."""
        return self._offset

    def start(self, offset: int) -> None:
        """Read from an offset on, unless that is under way."""
        if self._task is None:
            self._offset = offset
            self._task = asyncio.create_task(self._read(), name=f"read-ahead-{self._number}")

    async def stop(self) -> None:
        """End reading and forget what waits."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        self._entries.clear()
        self._bytes, self._fault = 0, None
        self._some.clear()

    async def arrived(self, timeout_s: float) -> bool:
        """Does anything wait to be folded, now or within `timeout_s` seconds? Raises what reading raises."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._some.wait()
        except TimeoutError:
            return False
        if self._entries:
            return True
        fault = self._fault
        await self.stop()
        assert fault is not None
        raise fault

    def take(self, max_entries: int, max_bytes: int) -> list[Entry]:
        """The next batch: entries in order until a limit is reached, ended where somebody waits for an answer."""
        found: list[Entry] = []
        for entry in self._entries:
            found.append(entry)
            max_bytes -= len(entry.value)
            if len(found) >= max_entries or max_bytes <= 0:
                break
        found = end_soon(found)
        for entry in found:
            self._entries.popleft()
            self._bytes -= len(entry.value)
        if not self._entries and self._fault is None:
            self._some.clear()
        self._room.set()
        return found

    async def _read(self) -> None:
        try:
            while True:
                while len(self._entries) >= AHEAD_ENTRIES or self._bytes >= AHEAD_BYTES:
                    self._room.clear()
                    await self._room.wait()
                if await wait_for(self._log, EVENTS, self._number, self._offset, WAIT_S):
                    found = await self._log.read(
                        EVENTS, self._number, self._offset, max_entries=READ_ENTRIES, max_bytes=READ_BYTES
                    )
                    self._take_in(found)
        except Exception as error:  # noqa: BLE001  whoever waits for entries gets it
            self._fault = error
            self._some.set()

    def _take_in(self, found: list[Entry]) -> None:
        if found:
            self._entries.extend(found)
            self._bytes += sum(len(entry.value) for entry in found)
            self._offset = found[-1].position.offset + 1
            self._some.set()
            self._told(found)
