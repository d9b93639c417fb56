"""A backfill that waits for the workers, so that live requests on the same partitions are not behind all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ledger.errors import LogUnavailable
from ledger.log import EVENTS, Log

LAG_MAX = 1_000
"""Records of one partition that may wait to be folded: a worker is through them in about a third of a second, so a request that
comes now waits no longer. Workers say twice a second how far they are, so a backfill moves two thousand records a second.
"""

LOOK_S = 0.25
PATIENCE_S = 30.0
"""How long the workers may stand still before the backfill goes on without them. They are away then, and nobody is delayed."""

Committed = Callable[[], Awaitable[dict[int, int]]]


class Pacer:
    """Waits while the workers lag. Where no worker ever said how far it is, nobody is waited for."""

    def __init__(self, log: Log, committed: Committed) -> None:
        self._log, self._committed = log, committed
        self._looked_s = 0.0
        self.waited_s = 0.0

    async def wait(self) -> None:
        """Return once the workers are near the end of every partition that they speak of, or out of reach."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._looked_s < LOOK_S:
            return
        began_s = stood_s = loop.time()
        last: dict[int, int] = {}
        while True:
            try:
                said = await self._committed()
                lag = max([await self._log.end(EVENTS, number) - offset for number, offset in said.items()], default=0)
            except LogUnavailable:
                break
            if said != last:
                last, stood_s = said, loop.time()
            if lag <= LAG_MAX or loop.time() - stood_s > PATIENCE_S:
                break
            await asyncio.sleep(LOOK_S)
        self._looked_s = loop.time()
        self.waited_s += self._looked_s - began_s
