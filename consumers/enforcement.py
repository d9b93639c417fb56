"""Requests of a batch decided: the stage of the fold that answers, by the last-carrier rule, the floors and the gate.

What is decided is in `ledger.decide`; here a decision becomes an entry of the outbox, its own bytes and no others. A request
that comes again gets the bytes of the decision that is on record (P3).
"""

from __future__ import annotations

import msgspec

from consumers.carrier_index import Output
from ledger.fold import Step
from ledger.log import DECISIONS, Entry
from schemas.codec import encode

REQUEST_TAGS = (
    b'{"type":"compaction.requested',
    b'{"type":"eviction.requested',
    b'{"type":"index.write_requested',
    b'{"type":"action.',
)
"""How the values of records begin for which somebody waits."""

ROUND_TAG = b'{"type":"compaction.observed'
TAIL_ENTRIES = 100
"""How many entries a commit may still take up after the last request in it."""

RUN_ENTRIES = 20
"""A request behind so many others begins a batch: it can be answered while they are folded."""


LIGHT_BYTES = 4 << 10


class OutputHead(msgspec.Struct):
    """What a decision or alert on record says of itself, as far as publishing needs it."""

    id: str
    output_seq: int
    request_id: str = ""


def is_request(value: bytes) -> bool:
    """Does somebody wait for the answer to this record? Told by its first bytes, without decoding it."""
    return value.startswith(REQUEST_TAGS)


def is_light(value: bytes) -> bool:
    """Is this a short request that compares no texts?"""
    return value.startswith(REQUEST_TAGS[1:3]) and len(value) <= LIGHT_BYTES


def is_round(value: bytes) -> bool:
    """Is this an observed compaction, which takes as long as hundreds of other records? Told as `is_request` tells."""
    return value.startswith(ROUND_TAG)


def end_soon(entries: list[Entry]) -> list[Entry]:
    """The batch, ended where somebody waits: before a request that stands behind many entries, and `TAIL_ENTRIES` after the
    last one. An observed compaction is a batch of its own: it touches the rows of every fact that left, and what one commit
    touches is in memory at once.
    """
    run, end = 0, len(entries)
    for at, entry in enumerate(entries):
        if at >= end:
            break
        if is_round(entry.value):
            return entries[: at or 1]
        run += 1
        if is_request(entry.value):
            if run > RUN_ENTRIES:
                return entries[:at]
            run, end = 0, min(len(entries), at + 1 + TAIL_ENTRIES)
    return entries[:end]


def decisions_of(entry: Entry, result: Step) -> list[tuple[Output, bool]]:
    """Outputs of a folded record for the topic of decisions; true beside one that repeats what is on record."""
    found: list[tuple[Output, bool]] = []
    decision, offset = result.decision, entry.position.offset
    if decision is not None:
        asked = getattr(decision, "request_id", "")
        found.append((Output(DECISIONS, entry.key, decision.id, asked, decision.output_seq, offset, encode(decision)), False))
    if result.repeated:
        head = msgspec.json.decode(result.repeated, type=OutputHead)
        again = (head.id, head.request_id, head.output_seq, offset, result.repeated, result.status)
        found.append((Output(DECISIONS, entry.key, *again), True))
    return found
