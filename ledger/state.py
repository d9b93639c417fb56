"""What is known of one scope: typed rows, a narrow view to read them through, and a draft that collects changes.

Nothing here does I/O. `Rows` is the view that rules, decide and evolve read; `Draft` lays changes over it, so that a step sees
what it has itself changed, and hands them out as a set. Keys are relative to the scope and hold no position of the log, so
equal logs give equal rows on any machine and under any partition count (promise P2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from schemas.ids import digest
from schemas.records import SummaryState

R = TypeVar("R", bound=msgspec.Struct)
ORDINAL_BYTES = 4
KEY_BYTES = 16
FACT_KEY_BYTES = 12


class Row(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """Base of all rows. Rows are a cache of the log, so their shape may change with the index format version."""


class ScopeRow(Row, frozen=True, kw_only=True):
    """The scope as a whole: its pins, trust, counters and clock."""

    opened: bool = False
    root: str = ""
    rules_version: str = ""
    policy: tuple[tuple[str, str], ...] = ()
    store: str = "none"
    horizon_s: int | None = None
    sessions: int = 0
    carriers: int = 0
    output_seq: int = 0
    clock_ms: int = 0
    degraded: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    audits_passed: int = 0
    compactions: int = 0
    compactions_since_audit: int = 0
    hit_rate: str = ""
    hit_rate_change: str = ""
    evicted: tuple[tuple[str, int, int], ...] = ()
    trust: str = "unknown"
    records: int = 0
    degraded_at: int = 0
    closed: bool = False


class SessionRow(Row, frozen=True, kw_only=True):
    """One session: its ordinal in the scope, its window and its summaries that are live now."""

    id: str
    ordinal: int
    event: str
    parent: str = ""
    runtime: str = ""
    horizon_s: int | None = None
    window_budget: int | None = None
    window_tokens: int | None = None
    rounds: int = 0
    boundary_turn: int = -1
    live: tuple[str, ...] = ()
    pending: str = ""
    spans: int = 0
    dropped: int = 0
    closed: bool = False


class SpanRow(Row, frozen=True, kw_only=True):
    """A raw span. `text_digest` is of role and text; the text itself stays in the log."""

    id: str
    ordinal: int
    session: int
    role: str
    turns: tuple[int, int]
    text_digest: bytes
    text_sha256: str
    length: int
    extractor: str = ""
    manifested: bool
    in_window: bool = False
    in_store: bool = False
    external: bool = False
    leaving: str = ""
    """Request id of its session's pending grant that names the span."""
    leaving_store: str = ""
    """Key, in hex, of the pending eviction request that names the span: sessions of a scope may use one request id each."""
    left_round: int = 0
    tokens: int | None = None
    tombstoned: bool = False


class FactRef(msgspec.Struct, frozen=True, array_like=True):
    """A fact of a span, at code points `[start, end)` of its text."""

    fact: bytes
    start: int
    end: int


class SpanFactsRow(Row, frozen=True, kw_only=True):
    """The facts of a span in the order of its manifests; only ever appended to."""

    refs: tuple[FactRef, ...] = ()


class PlaceRow(Row, frozen=True, kw_only=True):
    """The name that stands at a place: a span in its session, a carrier of a fact, a session in its scope."""

    span: str


class FactRow(Row, frozen=True, kw_only=True):
    """What a fact says, where it was first said, and how many carriers the whole scope can reach."""

    id: str
    cls: str
    kind: str
    value: str
    subject: str
    context: str
    polarity: str
    quantifier: str
    hedge: str
    valid_from: str
    valid_to: str
    span: str
    start: int
    end: int
    role: str
    stored: int = 0
    external: int = 0
    leaving_store: int = 0
    tombstone: str = ""
    expired: bool = False
    tombstoned_at: int = 0
    """Carrier ordinal at which the tombstone came: only a later span states the fact again."""


class FactInSessionRow(Row, frozen=True, kw_only=True):
    """How many carriers of a fact one session has in its window, which quality its live summaries give it, and its fate.

    What `leaving…` counts is part of the count beside it, and goes once the pending grant is applied.
    """

    window: int = 0
    leaving: int = 0
    verbatim: int = 0
    equivalent: int = 0
    dropped: bool = False
    lost_round: int = 0
    turned_round: int = 0
    unknown_round: int = 0
    stripped_round: int = 0
    leaving_verbatim: int = 0
    leaving_equivalent: int = 0


class FactValueRow(Row, frozen=True, kw_only=True):
    """Marks that a fact has this class and value: how a text is looked up whose subject is not given."""

    fact: bytes


class SummaryRow(Row, frozen=True, kw_only=True):
    """A summary: recorded, then perhaps live, then perhaps superseded."""

    id: str
    ordinal: int
    session: int
    event: str
    round: str
    generation: int
    state: SummaryState
    text_sha256: str
    live: bool = False
    retired: bool = False
    in_store: bool = False
    tokens: int | None = None
    covers: tuple[tuple[str, str], ...] = ()
    covers_summaries: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    underivable: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    verified: bool = False
    tags: tuple[tuple[str, int, int, int, int], ...] = ()


class SummaryTextRow(Row, frozen=True, kw_only=True):
    """A summary's text, kept until the summary is superseded, because facts are measured against it."""

    text: str


class CarriedRow(Row, frozen=True, kw_only=True):
    """Facts that a summary was measured to carry, each with the letter of its outcome."""

    facts: tuple[tuple[bytes, str], ...] = ()


class RequestRow(Row, frozen=True, kw_only=True):
    """A request and the bytes of its decision, for repeats and for the moment it is applied."""

    event: str
    request: str
    session: str
    status: str
    decision: bytes
    summary_sha256: str = ""


class SeenRow(Row, frozen=True, kw_only=True):
    """An event id that was folded, with a digest of its content."""

    content: bytes
    refused: bool = False


class RoundRow(Row, frozen=True, kw_only=True):
    """One compaction of one session, with what it cost."""

    round: str
    ordinal: int
    event: str
    decision: str
    trigger: str
    summary: str
    summary_state: str
    observed: bool
    verdict: str
    turn: int
    left: int
    kept: int
    unseen: int
    dropped: int
    survived: int
    lost: int
    unknown: int
    tokens_before: int | None = None
    tokens_after: int | None = None


class LostRow(Row, frozen=True, kw_only=True):
    """A fact that a round left without a carrier, where it stood, and what the summary says instead."""

    span: str
    start: int
    end: int
    outcome: str
    summary: str
    summary_start: int | None = None
    summary_end: int | None = None
    regained: str = ""


class LifeRow(Row, frozen=True, kw_only=True):
    """One step in the life of a fact: carried, turned, lost, regained or tombstoned at a round (rule C5)."""

    step: str
    session: str
    round: int
    carrier: str
    outcome: str = ""
    start: int | None = None
    end: int | None = None


class AlertRow(Row, frozen=True, kw_only=True):
    """An alert by fingerprint, with what is needed to resolve it."""

    kind: str
    rule: str
    severity: str
    subject: str
    session: str
    group: str
    open: bool
    raised_seq: int


class RepairRow(Row, frozen=True, kw_only=True):
    """When, in records of the scope, something showed that retrieval works again."""

    at: int
    what: str


class Shelf(msgspec.Struct, frozen=True):
    """Tables whose rows an ordered store keeps together: all rows about one thing, whose key is their first `lead` bytes."""

    mark: bytes
    lead: int


BY_NAME = Shelf(b"\xf0", KEY_BYTES)
BY_FACT = Shelf(b"\xf1", FACT_KEY_BYTES)
"""Keys of names and facts are hashes, so each lies somewhere else. A record writes four or five rows about each of its facts: side
by side they are one page to read and to write, one by table they were as many pages as rows.
"""


class Table(Generic[R]):
    """A kind of row: a one-byte prefix, the row's type, how many leading key bytes form a group that can be walked, and the
    shelf on which its rows stand, if any.
    """

    def __init__(self, prefix: int, row: type[R], *, group_bytes: int = 0, shelf: Shelf | None = None) -> None:
        self.prefix = bytes([prefix])
        self.row = row
        self.group_bytes = group_bytes
        self.shelf = shelf
        self.decode = msgspec.msgpack.Decoder(row).decode

    def place(self, key: bytes) -> bytes:
        """Where the row of a key stands in an ordered store, relative to its scope."""
        if self.shelf is None:
            return self.prefix + key
        lead = self.shelf.lead
        return self.shelf.mark + key[:lead] + self.prefix + key[lead:]

    def key_at(self, place: bytes) -> bytes | None:
        """The key of what stands at a place, or None where that is a row of another table."""
        if self.shelf is None:
            return place[1:] if place[:1] == self.prefix else None
        at = 1 + self.shelf.lead
        if place[:1] != self.shelf.mark or place[at : at + 1] != self.prefix:
            return None
        return place[1:at] + place[at + 1 :]


SCOPE = Table(1, ScopeRow)
SESSION = Table(2, SessionRow)
SPAN = Table(3, SpanRow, shelf=BY_NAME)
SPAN_FACTS = Table(4, SpanFactsRow, shelf=BY_NAME)
PLACE = Table(5, PlaceRow, group_bytes=ORDINAL_BYTES)
WINDOW = Table(6, PlaceRow, group_bytes=ORDINAL_BYTES)
FACT = Table(7, FactRow, shelf=BY_FACT)
FACT_IN_SESSION = Table(8, FactInSessionRow, group_bytes=FACT_KEY_BYTES, shelf=BY_FACT)
FACT_VALUE = Table(9, FactValueRow, group_bytes=KEY_BYTES)
SUMMARY = Table(10, SummaryRow, shelf=BY_NAME)
SUMMARY_TEXT = Table(11, SummaryTextRow, shelf=BY_NAME)
CARRIED = Table(12, CarriedRow, shelf=BY_NAME)
REQUEST = Table(13, RequestRow)
SEEN = Table(14, SeenRow)
ROUND = Table(15, RoundRow, group_bytes=ORDINAL_BYTES)
LOST = Table(16, LostRow, group_bytes=ORDINAL_BYTES)
LIFE = Table(17, LifeRow, group_bytes=FACT_KEY_BYTES, shelf=BY_FACT)
ALERT = Table(18, AlertRow)
CARRIER_OF = Table(19, PlaceRow, group_bytes=FACT_KEY_BYTES, shelf=BY_FACT)
"""Which carriers state a fact, by carrier ordinal: written for the question `carriers`, never walked by a rule."""
SESSION_NAME = Table(20, PlaceRow)
"""Session ids by ordinal."""

DEPENDS = Table(21, PlaceRow, group_bytes=KEY_BYTES, shelf=BY_NAME)
"""Summaries that depend on a span, by span and summary ordinal (rule R4)."""

REPAIR = Table(22, RepairRow)
"""Events that show a repaired store or a passed audit, by event id (rule T3)."""

TIMER = Table(23, FactValueRow, group_bytes=1)
"""Facts whose validity ends, by due time; walked from the start when the clock moves."""

TIMERS = b"t"
"""The one group of `TIMER`."""

TOPIC = Table(24, FactValueRow, group_bytes=KEY_BYTES)
"""Facts about the same thing, in order of their first statement (rule R3: a later span that contradicts)."""

TABLES: tuple[Table[Any], ...] = (
    SCOPE,
    SESSION,
    SPAN,
    SPAN_FACTS,
    PLACE,
    WINDOW,
    FACT,
    FACT_IN_SESSION,
    FACT_VALUE,
    SUMMARY,
    SUMMARY_TEXT,
    CARRIED,
    REQUEST,
    SEEN,
    ROUND,
    LOST,
    LIFE,
    ALERT,
    CARRIER_OF,
    SESSION_NAME,
    DEPENDS,
    REPAIR,
    TIMER,
    TOPIC,
)
TABLE_BY_PREFIX: dict[bytes, Table[Any]] = {table.prefix: table for table in TABLES}
ONLY = b""
"""The key of a table that has one row a scope."""


class Rows(Protocol):
    """Read access to the rows of one scope."""

    def get(self, table: Table[R], key: bytes) -> R | None:
        """The row, or None."""
        ...

    def walk(self, table: Table[R], group: bytes, start: bytes = b"") -> Iterator[tuple[bytes, R]]:
        """Rows whose key begins with `group`, in key order, from `start` (a full key) on."""
        ...


class Draft:
    """Changes over rows that stay as they are; reads see the changes. A `None` row stands for a deletion."""

    def __init__(self, base: Rows) -> None:
        self._base = base
        self._changed: dict[bytes, dict[bytes, Any]] = {}
        self._groups: dict[bytes, dict[bytes, dict[bytes, Any]]] = {}

    def get(self, table: Table[R], key: bytes) -> R | None:
        """The row as changed, else as it is below."""
        rows = self._changed.get(table.prefix)
        if rows is not None and key in rows:
            row: R | None = rows[key]
            return row
        return self._base.get(table, key)

    def walk(self, table: Table[R], group: bytes, start: bytes = b"") -> Iterator[tuple[bytes, R]]:
        """Rows of the group, changes included, in key order."""
        changed = self._group_changes(table, group)
        if not changed:
            yield from self._base.walk(table, group, start)
            return
        mine = [key for key in sorted(changed) if key >= start]
        at = 0
        for key, row in self._base.walk(table, group, start):
            while at < len(mine) and mine[at] < key:
                if changed[mine[at]] is not None:
                    yield mine[at], changed[mine[at]]
                at += 1
            if at < len(mine) and mine[at] == key:
                if changed[key] is not None:
                    yield key, changed[key]
                at += 1
            else:
                yield key, row
        for key in mine[at:]:
            if changed[key] is not None:
                yield key, changed[key]

    def _group_changes(self, table: Table[R], group: bytes) -> dict[bytes, Any]:
        groups = self._groups.get(table.prefix, {})
        if len(group) == table.group_bytes:
            return dict(groups.get(group, {}))
        return {key: row for rows in groups.values() for key, row in rows.items() if key.startswith(group)}

    def put(self, table: Table[R], key: bytes, row: R) -> None:
        """Set a row."""
        self._set(table, key, row)

    def delete(self, table: Table[R], key: bytes) -> None:
        """Remove a row."""
        self._set(table, key, None)

    def _set(self, table: Table[R], key: bytes, row: R | None) -> None:
        self._changed.setdefault(table.prefix, {})[key] = row
        if not table.group_bytes:
            return
        group = key[: table.group_bytes]
        self._groups.setdefault(table.prefix, {}).setdefault(group, {})[key] = row

    def changes(self) -> Iterator[tuple[Table[Any], bytes, Any]]:
        """Every change, tables and keys in order of their first change."""
        for prefix, rows in self._changed.items():
            table = TABLE_BY_PREFIX[prefix]
            for key, row in rows.items():
                yield table, key, row

    def apply_to(self, target: Draft) -> None:
        """Hand the changes on to another draft."""
        for table, key, row in self.changes():
            target._set(table, key, row)


def ordinal_key(*ordinals: int) -> bytes:
    """Fixed-width big-endian, so that byte order is number order."""
    return b"".join(number.to_bytes(ORDINAL_BYTES, "big") for number in ordinals)


def name_key(*names: str) -> bytes:
    """A short key for names of any length."""
    return digest(*names, size=KEY_BYTES)


def fact_key(fact_id: str) -> bytes:
    """The 12 bytes of a fact id, or of anything else a digest that no fact has."""
    try:
        raw = bytes.fromhex(fact_id[1:])
    except ValueError:
        raw = b""
    return raw if fact_id[:1] == "f" and len(raw) == FACT_KEY_BYTES else digest("no-fact", fact_id, size=FACT_KEY_BYTES)


def fact_name(key: bytes) -> str:
    """The fact id of a key."""
    return "f" + key.hex()


def value_key(cls: str, value: str) -> bytes:
    """Key of all facts of one class with one value."""
    return digest("value", cls, value, size=KEY_BYTES)
