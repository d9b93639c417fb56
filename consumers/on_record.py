"""What the output topics hold of one output: its bytes as a hash, and which records it was said for."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

HASH_BYTES = 16
NUMBER_BYTES = 8

SOURCES_KEPT = 16
"""Records by one id whose answers are told apart; a client that asks more often is long past the first."""


class Published(NamedTuple):
    """An output that stands in a log topic."""

    topic: str
    offset: int
    id: str
    value: bytes
    source_offset: int = -1
    """Where the record stands that it was published for, as its header says; -1 where none does."""


class OnRecord(msgspec.Struct, frozen=True):
    """What the log topics hold under one id: a hash of its bytes, and for how many records it was said."""

    mark: bytes
    answered: int
    sources: tuple[int, ...]
    """The last of their offsets. A copy for one of these answers nothing new: two owners in turn may both have sent it."""

    @classmethod
    def of(cls, raw: bytes) -> OnRecord:
        """As stored."""
        places = range(HASH_BYTES, len(raw), NUMBER_BYTES)
        answered, *sources = (_number(raw[at : at + NUMBER_BYTES]) for at in places)
        return cls(raw[:HASH_BYTES], answered, tuple(sources))

    def stored(self) -> bytes:
        """For `of`."""
        return self.mark + b"".join(number.to_bytes(NUMBER_BYTES, "big") for number in (self.answered, *self.sources))

    def with_copy(self, source_offset: int) -> OnRecord:
        """One more copy, which counts if it was said for another record."""
        if source_offset in self.sources:
            return self
        kept = (*self.sources, source_offset)[-SOURCES_KEPT:] if source_offset >= 0 else self.sources
        return OnRecord(self.mark, self.answered + 1, kept)


def _number(raw: bytes) -> int:
    return int.from_bytes(raw, "big")
