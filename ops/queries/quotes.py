"""Quotes: the words at a place, read from the log when they are shown, for no index or decision holds them."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from ops.store import Reading
from schemas.records import AnyRecord, SpanRecorded, SummaryRecorded

EXCERPT_CHARACTERS = 160
"""Longest excerpt of a summary that is shown beside a lost fact."""


class Quotes:
    """Reads the records of carriers once each and cuts quotes out of them."""

    def __init__(self, reading: Reading, scope: str) -> None:
        self.scope = scope
        self._reading = reading
        self._known: dict[str, AnyRecord | None] = {}

    async def record(self, carrier: str) -> AnyRecord | None:
        """The record of a span or summary."""
        if carrier not in self._known:
            self._known[carrier] = await self._reading.record(self.scope, carrier) if carrier else None
        return self._known[carrier]

    async def span(self, carrier: str) -> SpanRecorded | None:
        """The record of a span."""
        record = await self.record(carrier)
        return record if isinstance(record, SpanRecorded) else None

    async def text(self, carrier: str) -> str:
        """The whole text of a span or summary, or the empty string."""
        record = await self.record(carrier)
        if isinstance(record, SpanRecorded):
            return record.text.text
        if isinstance(record, SummaryRecorded) and record.text is not None:
            return record.text.text
        return ""

    async def cut(self, carrier: str, start: int | None, end: int | None) -> str:
        """The words at code points `[start, end)` of a carrier's text."""
        if start is None or end is None:
            return ""
        return (await self.text(carrier))[start:end]


class Words(msgspec.Struct, kw_only=True):
    """The words at a place: `ok`, `absent` where no span or summary of this name is on record or the place has no bounds, or
    `unknown` with a reason.
    """

    status: str
    text: str
    reason: str = ""


async def words_at(quotes: Quotes, carrier: str, start: int | None, end: int | None) -> Words:
    """The words at code points `[start, end)` of a carrier's text, told apart from none."""
    if start is None or end is None or await quotes.record(carrier) is None:
        return Words(status="absent", text="")
    return Words(status="ok", text=await quotes.cut(carrier, start, end))


def excerpt(text: str, limit: int = EXCERPT_CHARACTERS) -> str:
    """A text on one line, cut at a limit."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


class _Timed(msgspec.Struct):
    time_ms: int | None = None


def time_of(value: bytes) -> int | None:
    """When an entry of the events says that it happened; None for one that is no record, or does not say."""
    try:
        return msgspec.json.decode(value, type=_Timed).time_ms
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def iso_time(time_ms: int | None) -> str | None:
    """Milliseconds since the epoch as ISO 8601 in UTC; None for a time that no calendar has."""
    if time_ms is None:
        return None
    try:
        moment = datetime.fromtimestamp(time_ms / 1000, tz=UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
