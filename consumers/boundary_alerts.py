"""Alerts of a batch: the stage of the fold that says what crossed a boundary, raised and resolved under stable fingerprints.

When an alert fires is in `ledger.evolve`; here it becomes an entry of the outbox. Its order is that of `output_seq`, so that a
reader who has seen a number needs nothing at or below it (P9). Bytes that are no record go whole to the dead letters as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from consumers.carrier_index import Output
from ledger.fold import Step
from ledger.log import ALERTS, DEAD_LETTERS, Entry
from schemas.codec import encode
from schemas.ids import digest


def alerts_of(entry: Entry, result: Step) -> Iterator[Output]:
    """Outputs of a folded record for the topic of alerts, encoded one by one: a compaction raises thousands."""
    for item in result.alerts:
        yield Output(ALERTS, entry.key, item.id, "", item.output_seq, entry.position.offset, encode(item))


def dead_letter_of(entry: Entry, result: Step) -> list[Output]:
    """The original bytes of an entry that cannot be folded, for the topic of dead letters, under an id of their own."""
    if result.decision is None:
        return []
    name = digest("dead-letter", result.decision.id).hex()
    return [Output(DEAD_LETTERS, entry.key, name, "", result.decision.output_seq, entry.position.offset, entry.value)]
