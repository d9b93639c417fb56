"""Facts gain and lose carriers; what was lost can be regained, and what was regained clears its alerts."""

from __future__ import annotations

import msgspec

from ledger.evolve.effects import Effects
from ledger.lookup import fact_row, session_row
from ledger.state import (
    CARRIER_OF,
    FACT,
    FACT_IN_SESSION,
    FACT_VALUE,
    LIFE,
    LOST,
    ONLY,
    SCOPE,
    FactInSessionRow,
    FactRow,
    FactValueRow,
    LifeRow,
    PlaceRow,
    SessionRow,
    fact_key,
    fact_name,
    ordinal_key,
    value_key,
)
from schemas.facts import Fact

replace = msgspec.structs.replace
FACT_RULES = ("C3", "C1", "F2", "C6")
"""Rules whose alerts are about one fact in one session, and end when the fact is stated again or dropped on purpose."""


def subject_of(fact: bytes, session: str) -> str:
    """The subject of a fact's alerts: the fact as one session needs it."""
    return f"{fact_name(fact)}@{session}"


def register_fact(fx: Effects, fact: Fact, span: str, role: str) -> tuple[bytes, FactRow]:
    """The row of a fact, made at its first statement. A statement after a tombstone makes the scope refer to it again."""
    key = fact_key(fact.id)
    row = fact_row(fx.draft, key)
    if row is None:
        row = FactRow(
            id=fact.id,
            cls=fact.cls,
            kind=fact.kind,
            value=fact.value,
            subject=fact.subject,
            context=fact.context,
            polarity=fact.polarity,
            quantifier=fact.quantifier,
            hedge=fact.hedge,
            valid_from=fact.valid_from,
            valid_to=fact.valid_to,
            span=span,
            start=fact.start,
            end=fact.end,
            role=role,
        )
        fx.draft.put(FACT_VALUE, value_key(fact.cls, fact.value) + key, FactValueRow(fact=key))
        fx.draft.put(FACT, key, row)
    elif row.tombstone:
        row = replace(row, tombstone="")
        fx.draft.put(FACT, key, row)
    return key, row


def add_carrier(fx: Effects, fact: bytes, ordinal: int, carrier: str) -> None:
    """Note that a carrier states a fact, for the question who carries it."""
    fx.draft.put(CARRIER_OF, fact + ordinal_key(ordinal), PlaceRow(span=carrier))


def change_stored(fx: Effects, fact: bytes, *, stored: int = 0, external: int = 0, leaving: int = 0) -> FactRow:
    """Move the scope-wide carrier counts of a fact."""
    row = fact_row(fx.draft, fact)
    assert row is not None, "a listed fact has a row"
    row = replace(
        row,
        stored=row.stored + stored,
        external=row.external + external,
        leaving_store=row.leaving_store + leaving,
    )
    fx.draft.put(FACT, fact, row)
    return row


def in_session_key(fact: bytes, session: SessionRow) -> bytes:
    """Key of what one session has of a fact."""
    return fact + ordinal_key(session.ordinal)


def change_in_session(
    fx: Effects, fact: bytes, session: SessionRow, *, window: int = 0, leaving: int = 0, verbatim: int = 0, equivalent: int = 0
) -> FactInSessionRow:
    """Move one session's carrier counts of a fact."""
    key = in_session_key(fact, session)
    row = fx.draft.get(FACT_IN_SESSION, key) or FactInSessionRow()
    row = replace(
        row,
        window=row.window + window,
        leaving=row.leaving + leaving,
        verbatim=row.verbatim + verbatim,
        equivalent=row.equivalent + equivalent,
    )
    fx.draft.put(FACT_IN_SESSION, key, row)
    return row


def add_life(fx: Effects, fact: bytes, step: LifeRow) -> None:
    """C5: one more step in the life of a fact, numbered by the scope's outputs and carriers so far."""
    scope = fx.row
    fx.draft.put(LIFE, fact + ordinal_key(scope.carriers, scope.output_seq), step)


def lost_key(session: SessionRow, round_: int, fact: bytes) -> bytes:
    """Key of a loss: by session, round and fact."""
    return ordinal_key(session.ordinal, round_) + fact


def regain(fx: Effects, fact: bytes, session: SessionRow, carrier: str) -> None:
    """A fact that a round lost or turned is stated again: its loss is marked, its alerts resolve (P9)."""
    key = in_session_key(fact, session)
    row = fx.draft.get(FACT_IN_SESSION, key)
    if row is None or not (row.lost_round or row.turned_round or row.unknown_round):
        return
    lost = fx.draft.get(LOST, lost_key(session, row.lost_round, fact)) if row.lost_round else None
    if lost is not None:
        fx.draft.put(LOST, lost_key(session, row.lost_round, fact), replace(lost, regained=carrier))
    if row.lost_round:
        step = LifeRow(step="regained", session=session.id, round=session.rounds, carrier=carrier, outcome="verbatim")
        add_life(fx, fact, step)
    fx.draft.put(FACT_IN_SESSION, key, replace(row, lost_round=0, turned_round=0, unknown_round=0))
    for rule in FACT_RULES:
        fx.resolve_alert(rule, subject_of(fact, session.id), f"stated again by {carrier}")


def take_carrier_ordinal(fx: Effects) -> int:
    """The next carrier ordinal of the scope: spans and summaries share one sequence, in order of their records."""
    number = fx.row.carriers + 1
    fx.draft.put(SCOPE, ONLY, replace(fx.row, carriers=number))
    return number


def needed_session(fx: Effects, session: str) -> SessionRow:
    """The row of a session that is known to be open."""
    row = session_row(fx.draft, session)
    assert row is not None, "the fold rejects records of sessions that were not opened"
    return row
