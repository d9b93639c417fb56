"""What is known of one scope: typed rows, a narrow view to read them through, and a draft that collects changes.

Nothing here does I/O. `Rows` is the view that rules, decide and evolve read; `Draft` lays changes over it, so that a step sees
what it has itself changed, and hands them out as a set. Keys are relative to the scope and hold no position of the log, so
equal logs give equal rows on any machine and under any partition count (promise P2).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from ledger.rows import (
    AlertRow,
    CarriedRow,
    FactInSessionRow,
    FactRow,
    FactValueRow,
    LifeRow,
    LostRow,
    PlaceRow,
    RepairRow,
    RequestRow,
    RoundRow,
    ScopeRow,
    SeenRow,
    SessionRow,
    SpanFactsRow,
    SpanRow,
    SummaryRow,
    SummaryTextRow,
)
from schemas.ids import digest

R = TypeVar("R", bound=msgspec.Struct)
ORDINAL_BYTES = 4
KEY_BYTES = 16
FACT_KEY_BYTES = 12


class Shelf(msgspec.Struct, frozen=True):
    """Tables whose rows an ordered store keeps together: all rows about one thing, whose key is their first `lead` bytes."""

    mark: bytes
    lead: int


BY_NAME = Shelf(b"\xf0", KEY_BYTES)
BY_FACT = Shelf(b"\xf1", FACT_KEY_BYTES)
BY_ALERT = Shelf(b"\xf2", KEY_BYTES)
"""Keys of names and facts are hashes, so each lies somewhere else. A record writes four or five rows about each of its
facts: side by side they are one page to read and to write, one by table they were as many pages as rows.
"""

SHELVES = (BY_NAME, BY_FACT, BY_ALERT)


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
ALERT = Table(18, AlertRow, shelf=BY_ALERT)
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

SUMMARY_BY_TEXT = Table(25, PlaceRow)
"""The first summary with a text, by SHA-256 of the text: a text that is a summary's is no raw entry under any key (rule I3)."""

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
    SUMMARY_BY_TEXT,
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
        self._groups: dict[bytes, dict[bytes, bytes | list[bytes]]] = {}
        """Changed keys by table and group. Most groups are those of a fact and have one: that key stands there alone."""

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
        rows = self._changed.get(table.prefix, {})
        if len(group) != table.group_bytes:
            return {key: row for key, row in rows.items() if key.startswith(group)}
        keys = self._groups.get(table.prefix, {}).get(group, ())
        return {key: rows[key] for key in ((keys,) if isinstance(keys, bytes) else keys)}

    def put(self, table: Table[R], key: bytes, row: R) -> None:
        """Set a row."""
        self._set(table, key, row)

    def delete(self, table: Table[R], key: bytes) -> None:
        """Remove a row."""
        self._set(table, key, None)

    def _set(self, table: Table[R], key: bytes, row: R | None) -> None:
        rows = self._changed.setdefault(table.prefix, {})
        if table.group_bytes and key not in rows:
            self._group(table, key)
        rows[key] = row

    def _group(self, table: Table[R], key: bytes) -> None:
        groups, group = self._groups.setdefault(table.prefix, {}), key[: table.group_bytes]
        known = groups.get(group)
        if known is None:
            groups[group] = key
        elif isinstance(known, bytes):
            groups[group] = [known, key]
        else:
            known.append(key)

    def changes(self) -> Iterator[tuple[Table[Any], bytes, Any]]:
        """Every change, tables and keys in order of their first change."""
        for prefix, rows in self._changed.items():
            table = TABLE_BY_PREFIX[prefix]
            for key, row in rows.items():
                yield table, key, row

    def tables(self) -> list[Table[Any]]:
        """Tables with changes, in order of their first one."""
        return [TABLE_BY_PREFIX[prefix] for prefix in self._changed]

    def drain(self, table: Table[R]) -> Iterator[tuple[bytes, R | None]]:
        """The changes of a table in order of the first change of their key. Each is forgotten with the next one: of a large
        draft little is left by the time it was read.
        """
        self._groups.pop(table.prefix, None)
        rows = self._changed.pop(table.prefix, {})
        order = list(rows)
        order.reverse()
        while order:
            key = order.pop()
            yield key, rows.pop(key)

    def apply_to(self, target: Draft) -> None:
        """Hand the changes over to another draft; this one has none from then on, for both together may be large."""
        if target._changed:
            for table in self.tables():
                for key, row in self.drain(table):
                    target._set(table, key, row)
        else:
            target._changed, target._groups = self._changed, self._groups
        self._changed, self._groups = {}, {}


def ordinal_key(*ordinals: int) -> bytes:
    """Fixed-width big-endian, so that byte order is number order."""
    return b"".join(number.to_bytes(ORDINAL_BYTES, "big") for number in ordinals)


@lru_cache(maxsize=1 << 11)
def name_key(*names: str) -> bytes:
    """A short key for names of any length. Remembered for those at hand: one record asks for the same few many times."""
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
