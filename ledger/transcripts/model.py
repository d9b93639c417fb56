"""What a reader says of a transcript, whatever its format: neutral items in the order of the file.

A reader yields, for each session, `Opened` first; then messages, summaries and rounds in the order in which they took effect.
A summary stands directly before its round; whatever was written between a boundary and its summary stands behind the round.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.texts import Call
from schemas.records import Role, SummaryState

INSPECTED_ROLES: frozenset[str] = frozenset({"user", "assistant"})


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def time_ms(stamp: str | None) -> int | None:
    """ISO 8601 to milliseconds since the epoch, rounded down; None for what is no time. Without a zone it is read as UTC."""
    if not stamp:
        return None
    try:
        moment = datetime.fromisoformat(stamp)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return (moment - _EPOCH) // _MILLISECOND
    except (ValueError, OverflowError):
        return None


def stamp_of(milliseconds: int | None) -> str | None:
    """Milliseconds since the epoch as ISO 8601; None for what is no time."""
    if milliseconds is None:
        return None
    try:
        return (_EPOCH + timedelta(milliseconds=milliseconds)).isoformat(timespec="milliseconds")
    except OverflowError:
        return None


TOKENS_MAX = 2**40
"""Largest count of tokens that a record takes. What is above it, or below 0, is no count of tokens."""


def tokens_of(number: float | None) -> int | None:
    """A count as a file gives it; None where it is none, since a damaged number is not to be taken for a measurement."""
    return int(number) if number is not None and 0 <= number <= TOKENS_MAX else None


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A session is seen for the first time. `scope` is read from the file alone and never changes afterwards."""

    session: str
    scope: str
    runtime: str
    version: str = ""
    agent: str = ""
    parent: str | None = None
    time_ms: int | None = None
    where: PhysicalLine | None = None


class Message(msgspec.Struct, frozen=True, gc=False):
    """One piece of one entry: what a person, the agent, a tool or the runtime put into the window.

    `key` names it inside its session: the entry's native id, with `.n` for its second and later pieces. `body` is its text, or
    a tool call whose text is made when it is asked for. `turn` is the ordinal of its entry among the session's entries in this
    file, from 1. `counted` marks what `inspect` counts as a message. `calls` are the tool calls that it made.
    """

    session: str
    key: str
    role: Role
    body: str | Call
    where: PhysicalLine
    turn: int
    counted: bool = False
    stamp: str | None = None
    model: str = ""
    calls: tuple[Call, ...] = ()

    @property
    def text(self) -> str:
        """The words; a tool call is its compact JSON."""
        return self.body if isinstance(self.body, str) else self.body.text

    @property
    def actions(self) -> tuple[str, ...]:
        """A label for each call, as `Edit src/app.py`."""
        return tuple(call.action for call in self.calls)

    @property
    def time_ms(self) -> int | None:
        """The entry's own time, in milliseconds since the epoch."""
        return time_ms(self.stamp)


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The text that took the place of `covers` (keys of messages) and of the summary `replaces`.

    `late` marks one that came after its round had been reported without. `waiting` is that of its round.
    """

    session: str
    key: str
    round: str
    state: SummaryState
    text: str = ""
    generation: int = 1
    covers: tuple[str, ...] = ()
    replaces: str | None = None
    where: PhysicalLine | None = None
    time_ms: int | None = None
    tokens: int | None = None
    late: bool = False
    waiting: bool = False


class Share(msgspec.Struct, frozen=True):
    """One share of the live entries at a boundary: their keys in recording order, and how many messages they are."""

    keys: tuple[str, ...] = ()
    messages: int = 0


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One compaction. `summarised`, `kept` and `unseen` together are exactly the entries that were live at the boundary.

    `unseen` were neither kept nor in front of the summariser. `turn` is the ordinal of the last entry before the boundary.
    `waiting` marks one with which the file ends, so that its summary, or what else belongs to it, may still be written. What
    comes behind it stands behind that boundary.
    """

    session: str
    id: str
    ordinal: int
    turn: int
    trigger: str | None
    boundary_line: int | None
    summary: str | None
    summary_line: int | None
    state: SummaryState
    summarised: Share
    kept: Share
    unseen: Share
    tokens_before: int | None = None
    tokens_after: int | None = None
    time_ms: int | None = None
    where: PhysicalLine | None = None
    waiting: bool = False


class TokensAfter(msgspec.Struct, frozen=True, kw_only=True):
    """The window after a round as the first response behind it shows it, where the boundary does not say."""

    session: str
    round: str
    tokens: int


class Duplicate(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A further copy of an entry, same id, same text. It changes nothing. `counted` as in `Message`."""

    session: str
    key: str
    line: int
    counted: bool


class Conflict(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A further entry with an id that stands in the file with other text. The first occurrence holds."""

    session: str
    key: str
    line: int
    sha256: str


class Unread(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line of which something could not be read, or only by mending it; `reason` is a fixed word (see `decoding.py`)."""

    line: int
    reason: str
    sha256: str = ""


class Version(msgspec.Struct, frozen=True):
    """A further version of the tool wrote from here on."""

    version: str


Item = Opened | Message | Summary | Round | TokensAfter | Duplicate | Conflict | Unread | Version
