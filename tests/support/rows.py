"""Rows of one scope in memory, encoded as the index encodes them, with the same digest."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from consumers.stored_rows import RowSum
from ledger.state import TABLE_BY_PREFIX, Draft, R, Table

_encode = msgspec.msgpack.Encoder().encode


class MemoryRows:
    """The base that a draft lies over: empty at first, changed by `apply` alone."""

    def __init__(self) -> None:
        self.data: dict[bytes, dict[bytes, bytes]] = {prefix: {} for prefix in TABLE_BY_PREFIX}

    def get(self, table: Table[R], key: bytes) -> R | None:
        """The row, or None."""
        raw = self.data[table.prefix].get(key)
        return table.decode(raw) if raw is not None else None

    def walk(self, table: Table[R], group: bytes, start: bytes = b"") -> Iterator[tuple[bytes, R]]:
        """Rows of the group in key order, from `start` on."""
        rows = self.data[table.prefix]
        for key in sorted(key for key in rows if key.startswith(group) and key >= start):
            yield key, table.decode(rows[key])

    def all(self, table: Table[R]) -> dict[bytes, R]:
        """Every row of a table by key."""
        return dict(self.walk(table, b""))

    def apply(self, changes: Draft) -> None:
        """Write a draft's changes."""
        for table, key, row in changes.changes():
            assert TABLE_BY_PREFIX[table.prefix] is table
            if row is None:
                self.data[table.prefix].pop(key, None)
            else:
                self.data[table.prefix][key] = _encode(row)

    def digest(self, scope: str) -> bytes:
        """What `Snapshot.scope_digest` says of the same rows."""
        total = RowSum()
        for prefix, rows in self.data.items():
            shelf = TABLE_BY_PREFIX[prefix].shelf
            for key, row in rows.items():
                lead = shelf.lead if shelf is not None else 0
                total.add((shelf.mark if shelf is not None else b"") + key[:lead] + prefix + key[lead:], row)
        return total.digest(scope)

    def copy(self) -> MemoryRows:
        """The same rows, to go on from."""
        twin = MemoryRows()
        twin.data = {prefix: dict(rows) for prefix, rows in self.data.items()}
        return twin
