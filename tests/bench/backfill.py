"""A backfill beside the requests of G7, in a process of its own as an ingest is: one scope, at the pace of the product."""

from __future__ import annotations

import asyncio
import sys

from consumers.membership import committed_offsets
from ledger.adapters.kafka_log import KafkaLog
from ledger.log import EVENTS, NewEntry
from ops.pacing import Pacer
from schemas.codec import encode
from tests.bench.inputs import growing

PIECE = 100


async def backfill(servers: str, prefix: str, count: int) -> None:
    """Append until done or killed. An echo, which says nothing of how far it is, is taken to be at the end."""
    entries = [NewEntry(one.scope, encode(one)) for one in growing("backfill", count)]
    log = await KafkaLog.open(servers, prefix=prefix)

    async def said() -> dict[int, int]:
        found = await committed_offsets(servers, prefix, log.identity.partitions)
        return found or {0: await log.end(EVENTS, 0)}

    pacer = Pacer(log, said)
    print("ready", flush=True)
    for at in range(0, len(entries), PIECE):
        await pacer.append(entries[at : at + PIECE])


if __name__ == "__main__":
    asyncio.run(backfill(sys.argv[1], sys.argv[2], int(sys.argv[3])))
