"""How long records take to fold, estimated without decoding them: for who must not keep others waiting."""

from __future__ import annotations

from collections.abc import Iterable

from consumers.enforcement import is_round
from ledger.log import Entry

ENTRY_MS, BYTES_PER_MS = 0.05, 20_000
ROUND_MS = 50.0
"""Milliseconds of one core: of any entry, for its bytes, and of a round that five hundred ordinary spans leave in."""


def entry_ms(value: bytes) -> float:
    """The estimate for one value, in milliseconds."""
    return ROUND_MS if is_round(value) else ENTRY_MS + len(value) / BYTES_PER_MS


def work_ms(entries: Iterable[Entry]) -> float:
    """The estimate for entries together, in milliseconds."""
    return sum(entry_ms(entry.value) for entry in entries)
