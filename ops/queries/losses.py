"""The losses of a session that stand. A long session has tens of thousands: of each only what ranks and filters it is held."""

from __future__ import annotations

from sys import intern
from typing import cast

import msgspec

from consumers.carrier_index import KIND
from ledger.errors import IndexDamaged
from ledger.lookup import fact_row, facts_by_value, span_row
from ledger.rows import FactRow, LostRow, SpanRow
from ledger.state import LOST, ORDINAL_BYTES, ordinal_key
from ops.store import Found
from schemas.facts import FactClass, FactKind


class Loss(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A loss that stands: the key of its row, and what it is ranked and filtered by."""

    key: bytes
    cls: FactClass
    kind: FactKind
    outcome: str
    role: str
    turn: int
    ordinal: int
    """Of the span that states it, among the carriers of the scope."""
    name: str = ""
    """Of an identifier, its characters."""
    reversed_at: str = ""
    """Where the opposite was stated later, or the empty string."""

    @property
    def round(self) -> int:
        """The ordinal of the round in which it was lost."""
        return int.from_bytes(self.key[ORDINAL_BYTES : 2 * ORDINAL_BYTES], "big")


class LossRows(msgspec.Struct, frozen=True):
    """What the index says of a loss: where it stood and what became of it, the fact, and the span."""

    row: LostRow
    fact: FactRow
    span: SpanRow


def rows_of(found: Found, key: bytes, row: LostRow) -> LossRows:
    """The rows of a loss whose own is at hand. Raises `IndexDamaged`."""
    fact, span = fact_row(found.rows, key[2 * ORDINAL_BYTES :]), span_row(found.rows, row.span)
    if fact is None or span is None:
        missing = "fact" if fact is None else "span"
        raise IndexDamaged(
            f"{found.scope}: a lost fact stands in the index without its {missing}", hint=f"To do: {KIND.remedy}."
        )
    return LossRows(row, fact, span)


def look_up(found: Found, loss: Loss) -> LossRows:
    """The rows of a loss. Raises `IndexDamaged`."""
    row = found.rows.get(LOST, loss.key)
    if row is None:
        raise IndexDamaged(f"{found.scope}: the row of a lost fact is gone from the index", hint=f"To do: {KIND.remedy}.")
    return rows_of(found, loss.key, row)


def standing(found: Found) -> tuple[list[Loss], int]:
    """Losses that stand, and how many facts were dropped on purpose after they were lost. Raises `IndexDamaged`."""
    losses, tombstoned = [], 0
    for key, row in found.rows.walk(LOST, ordinal_key(found.session.ordinal)):
        of = rows_of(found, key, row)
        if row.regained:
            continue
        if of.fact.tombstone or of.fact.expired:
            tombstoned += 1
            continue
        losses.append(
            Loss(
                key=key,
                cls=cast(FactClass, intern(of.fact.cls)),
                kind=cast(FactKind, intern(of.fact.kind)),
                outcome=intern(row.outcome),
                role=intern(of.span.role),
                turn=of.span.turns[0],
                ordinal=of.span.ordinal,
                name=of.fact.value if of.fact.cls == "identifier" else "",
                reversed_at=_reversed_at(found, of.fact, of.span),
            )
        )
    return losses, tombstoned


def _reversed_at(found: Found, fact: FactRow, span: SpanRow) -> str:
    """D3: the later span that states the opposite of a decision, or the empty string."""
    if fact.cls not in ("decision", "instruction", "prohibition", "commitment"):
        return ""
    for cls in ("decision", "prohibition", "instruction", "commitment"):
        for other in facts_by_value(found.rows, cls, fact.value):
            later = span_row(found.rows, other.span)
            if other.polarity != fact.polarity and later is not None and later.ordinal > span.ordinal:
                return later.id
    return ""
