"""An echo: answers each request among the events with an entry of the decisions, with the ledger's own client alone."""

from __future__ import annotations

import asyncio
import sys

from consumers.enforcement import is_request
from ledger.adapters.kafka_log import KafkaLog
from ledger.following import wait_for
from ledger.log import DECISIONS, EVENTS, NewEntry


async def echo(servers: str, prefix: str, offset: int) -> None:
    """Answer everything from an offset on, until killed."""
    log = await KafkaLog.open(servers, prefix=prefix)
    while True:
        if await wait_for(log, EVENTS, 0, offset, 1.0):
            entries = await log.read(EVENTS, 0, offset)
            asked = [NewEntry(entry.key, entry.value) for entry in entries if is_request(entry.value)]
            if asked:
                await log.append(DECISIONS, asked)
            offset = entries[-1].position.offset + 1


if __name__ == "__main__":
    asyncio.run(echo(sys.argv[1], sys.argv[2], int(sys.argv[3])))
