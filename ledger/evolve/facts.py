"""Facts gain and lose carriers; what was lost can be regained, and what was regained clears its alerts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from ledger.evolve.effects import Effects
from ledger.evolve.rehydration import dependency_changed
from ledger.facts.contradiction import topic_key
from ledger.lookup import DAY_CHARS, fact_row, session_at, session_name, session_row, sessions_of, span_row
from ledger.rows import FactInSessionRow, FactRow, FactValueRow, LifeRow, PlaceRow, SessionRow
from ledger.state import (
    CARRIER_OF,
    FACT,
    FACT_IN_SESSION,
    FACT_VALUE,
    LIFE,
    LOST,
    ONLY,
    SCOPE,
    SPAN,
    TIMER,
    TIMERS,
    TOPIC,
    fact_key,
    fact_name,
    name_key,
    ordinal_key,
    value_key,
)
from schemas.decisions import LETTERS
from schemas.facts import Fact

replace = msgspec.structs.replace
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FACT_RULES = ("C3", "C1", "F2", "C6")
"""Rules whose alerts are about one fact in one session, and end when the fact is stated again or dropped on purpose."""


def subject_of(fact: bytes, session: str) -> str:
    """The subject of a fact's alerts: the fact as one session needs it."""
    return f"{fact_name(fact)}@{session}"


def register_fact(fx: Effects, fact: Fact, span: str, role: str, ordinal: int) -> tuple[bytes, FactRow]:
    """The row of a fact, made at its first statement. A span recorded after a tombstone makes the scope refer to the fact
    again; a late manifest of an older span does not.
    """
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
        _note_topic(fx, fact, key)
        _note_validity(fx, fact, key)
    elif row.tombstone and ordinal > row.tombstoned_at:
        row = replace(row, tombstone="", tombstoned_at=0)
        fx.draft.put(FACT, key, row)
    return key, row


def _note_topic(fx: Effects, fact: Fact, key: bytes) -> None:
    """R3: facts about the same thing find each other, in order of their first statement."""
    about = topic_key(fact)
    if about:
        fx.draft.put(TOPIC, name_key(about) + ordinal_key(fx.row.carriers) + key, FactValueRow(fact=key))


def _note_validity(fx: Effects, fact: Fact, key: bytes) -> None:
    """A fact with an end of validity ceases to be referred to when a tick passes it."""
    due_ms = validity_end_ms(fact.valid_to)
    if due_ms is not None:
        fx.draft.put(TIMER, TIMERS + due_ms.to_bytes(8, "big") + key, FactValueRow(fact=key))


def validity_end_ms(valid_to: str) -> int | None:
    """The end of a validity in milliseconds since the epoch, UTC where no zone is given; None for open or unreadable. A day
    ends with it.
    """
    try:
        moment = datetime.fromisoformat(valid_to)
        moment += timedelta(days=len(valid_to) == DAY_CHARS)
    except (ValueError, OverflowError):
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return max(0, (moment - _EPOCH) // timedelta(milliseconds=1))


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


def change_stored_summaries(fx: Effects, fact: bytes, step: int) -> None:
    """Move the count of summaries with a store entry that state a fact."""
    row = fact_row(fx.draft, fact)
    if step and row is not None:
        fx.draft.put(FACT, fact, replace(row, stored_summaries=row.stored_summaries + step))


def in_session_key(fact: bytes, session: SessionRow) -> bytes:
    """Key of what one session has of a fact."""
    return fact + ordinal_key(session.ordinal)


def change_in_session(fx: Effects, fact: bytes, session: SessionRow, *, window: int = 0, leaving: int = 0) -> None:
    """Move one session's counts of raw spans in its window that state a fact."""
    key = in_session_key(fact, session)
    row = fx.draft.get(FACT_IN_SESSION, key) or FactInSessionRow()
    fx.draft.put(FACT_IN_SESSION, key, replace(row, window=row.window + window, leaving=row.leaving + leaving))


def change_summarised(fx: Effects, fact: bytes, session: SessionRow, letter: str, *, live: int = 0, leaving: int = 0) -> None:
    """Move one session's counts of live summaries that state a fact, verbatim or equivalently as the letter says."""
    key = in_session_key(fact, session)
    row = fx.draft.get(FACT_IN_SESSION, key) or FactInSessionRow()
    if LETTERS[letter][0] == "verbatim":
        row = replace(row, verbatim=row.verbatim + live, leaving_verbatim=row.leaving_verbatim + leaving)
    else:
        row = replace(row, equivalent=row.equivalent + live, leaving_equivalent=row.leaving_equivalent + leaving)
    fx.draft.put(FACT_IN_SESSION, key, row)


def add_life(fx: Effects, fact: bytes, step: LifeRow) -> None:
    """C5: one more step in the life of a fact."""
    fx.draft.put(LIFE, fact + ordinal_key(*fx.next_life_step()), step)


def lost_key(session: SessionRow, round_: int, fact: bytes) -> bytes:
    """Key of a loss: by session, round and fact."""
    return ordinal_key(session.ordinal, round_) + fact


def regain(fx: Effects, fact: bytes, session: SessionRow, carrier: str) -> None:
    """A fact that a round lost or turned is stated again: its loss is marked, its alerts resolve (P9)."""
    key = in_session_key(fact, session)
    row = fx.draft.get(FACT_IN_SESSION, key)
    if row is None or not (row.lost_round or row.turned_round or row.unknown_round or row.stripped_round):
        return
    lost = fx.draft.get(LOST, lost_key(session, row.lost_round, fact)) if row.lost_round else None
    if lost is not None:
        fx.draft.put(LOST, lost_key(session, row.lost_round, fact), replace(lost, regained=carrier))
    if row.lost_round or row.unknown_round:
        step = LifeRow(step="regained", session=session.id, round=session.rounds, carrier=carrier, outcome="verbatim")
        add_life(fx, fact, step)
    fx.draft.put(FACT_IN_SESSION, key, replace(row, lost_round=0, turned_round=0, unknown_round=0, stripped_round=0))
    for rule in FACT_RULES:
        fx.resolve_alert(rule, subject_of(fact, session.id), f"stated again by {carrier}")


def regain_everywhere(fx: Effects, fact: bytes, carrier: str) -> None:
    """A store entry carries a fact for the whole scope: every session that lost it has it again."""
    for ordinal, _ in list(sessions_of(fx.draft, fact)):
        session = session_at(fx.draft, ordinal)
        if session is not None:
            regain(fx, fact, session, carrier)


def bury(fx: Effects, fact: bytes, row: FactRow, *, by: str, reason: str) -> None:
    """The fact, and no other, is dropped on purpose: it answers so from here on, and its alerts resolve wherever they are open.
    The spans that state it keep their ids for good, and the refusal of another text says why (I1); summaries that depend on
    them decay (R4).
    """
    fx.draft.put(FACT, fact, replace(row, tombstone=fx.cause, tombstoned_at=fx.row.carriers))
    for name in dict.fromkeys((row.span, *(place.span for _, place in fx.draft.walk(CARRIER_OF, fact)))):
        span = span_row(fx.draft, name)
        if span is not None:
            fx.draft.put(SPAN, name_key(name), replace(span, tombstoned=True))
            dependency_changed(fx, name)
    for ordinal, _ in list(sessions_of(fx.draft, fact)):
        for rule in FACT_RULES:
            fx.resolve_alert(rule, subject_of(fact, session_name(fx.draft, ordinal)), reason)
    add_life(fx, fact, LifeRow(step="tombstoned", session=fx.session, round=0, carrier=by))


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
