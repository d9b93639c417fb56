"""Why a record changed nothing, read from the decisions on record."""

from __future__ import annotations

from ledger.log import DECISIONS, Log
from schemas.codec import decode_decision
from schemas.decisions import RecordRejected

READ_ENTRIES = 500


async def rejection_of(log: Log, event: str) -> str:
    """The reason for which the record with this event id was rejected, or the empty string. Reads backwards from the end."""
    for partition in range(log.identity.partitions):
        end = await log.end(DECISIONS, partition)
        while end > 0:
            start = max(0, end - READ_ENTRIES)
            for entry in reversed(await log.read(DECISIONS, partition, start, max_entries=end - start)):
                decision = decode_decision(entry.value)
                if isinstance(decision, RecordRejected) and decision.request == event:
                    return decision.reason
            end = start
    return ""
