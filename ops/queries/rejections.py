"""Why records changed nothing, read from the decisions on record."""

from __future__ import annotations

import hashlib

import msgspec

from ledger.fold import is_quarantine
from ledger.following import all_entries
from ledger.log import DECISIONS, EVENTS, Entry, Log
from schemas.codec import NotARecord, UnknownType, decode_decision
from schemas.decisions import RecordRejected

READ_ENTRIES = 500
UNREADABLE = "unreadable"
_TYPE = str(RecordRejected.__struct_config__.tag).encode()


class RejectedKind(msgspec.Struct, kw_only=True):
    """Records that were rejected for one reason: how many, and where the first of them is. `quarantined` ones could not be
    folded at all, so that their scope is unknown.
    """

    reason: str
    count: int
    quarantined: bool
    first: str


async def rejected_kinds(log: Log) -> list[RejectedKind]:
    """What was rejected, each record once, by reason in the order in which they came."""
    kinds: dict[str, RejectedKind] = {}
    seen: set[str] = set()
    for partition in range(log.identity.partitions):
        async for entry in all_entries(log, DECISIONS, partition):
            decision = _rejection(entry) if _TYPE in entry.value else None
            if decision is None or decision.id in seen:
                continue
            seen.add(decision.id)
            unreadable = is_quarantine(decision)
            reason = UNREADABLE if unreadable else decision.reason.partition(":")[0]
            if reason not in kinds:
                kinds[reason] = RejectedKind(
                    reason=reason,
                    count=0,
                    quarantined=unreadable or reason == "internal_error",
                    first=await _place(log, entry, decision) if unreadable else f"scope {decision.scope}",
                )
            kinds[reason].count += 1
    return list(kinds.values())


def _rejection(entry: Entry) -> RecordRejected | None:
    try:
        decision = decode_decision(entry.value)
    except (NotARecord, UnknownType):
        return None  # what is amiss with outputs is for `verify` to say
    return decision if isinstance(decision, RecordRejected) else None


async def _place(log: Log, entry: Entry, decision: RecordRejected) -> str:
    """Where the bytes stand, if they do so where the decision was made: in a copy they may stand elsewhere."""
    for name, value in entry.headers:
        if name == "source_offset" and value.isdigit():
            found = await log.read(EVENTS, entry.position.partition, int(value), max_entries=1)
            if found and hashlib.sha256(found[0].value).hexdigest() == decision.content_sha256:
                return str(found[0].position)
    return f"scope {decision.scope}"


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
