"""What only a person or an auditor can say, appended as records. Nothing is changed in any other way."""

from __future__ import annotations

import msgspec

from ledger.errors import LedgerError, UsageError
from ledger.log import EVENTS, NewEntry
from ledger.lookup import fact_row
from ledger.recorder import made
from ledger.state import fact_key
from ops.queries.facts import named_facts
from ops.store import Reading, Store
from schemas.codec import encode
from schemas.ids import digest
from schemas.records import FactTombstoned


class NothingNamed(LedgerError):
    """A text names no fact that the session ever had, so there is nothing to be said about one."""

    exit_code = 3


class TombstoneAnswer(msgspec.Struct, kw_only=True):
    """One fact that was dropped on purpose. `added` is false where the same was on record already.

    `in_force` is false where the fact was stated again after this very tombstone: then it needs one with another reason.
    """

    fact: str
    cls: str = msgspec.field(name="class")
    value: str
    session: str
    reason: str
    authority: str
    event: str
    added: bool
    in_force: bool


def tombstone_records(reading: Reading, session: str, text: str, reason: str, authority: str) -> list[FactTombstoned]:
    """A record for each fact of the session's scope that `text` names, and for no other.

    The occurrence is a hash of fact, reason and authority, so the same said twice is one event (P3). Raises `NothingNamed`,
    or `UsageError` for an empty reason or authority.
    """
    if not reason.strip() or not authority.strip():
        raise UsageError("a tombstone needs a reason and an authority", hint="Say why, and who decided it.")
    found = reading.session(session)
    named = named_facts(found, text)
    if not named.rows:
        raise NothingNamed(
            f"{text!r} names no fact that session {found.session.id} ever had",
            hint="Nothing was written. Look for it with: cledger recall FACT --session S",
        )
    records = []
    for row in named.rows.values():
        occurrence = digest("tombstone", row.id, reason, authority).hex()
        records.append(
            made(
                FactTombstoned,
                found.scope,
                found.session.id,
                fact=row.id,
                reason=reason,
                authority=authority,
                occurrence=occurrence,
            )
        )
    return records


async def tombstone(store: Store, session: str, text: str, reason: str, authority: str) -> list[TombstoneAnswer]:
    """Drop on purpose exactly the facts that `text` names, and fold. Raises as `tombstone_records` does."""
    from ledger.fold import is_on_record

    with store.reading() as reading:
        records = tombstone_records(reading, session, text, reason, authority)
        rows = {record.scope: reading.rows(record.scope) for record in records}
        fresh = [record for record in records if (at := rows[record.scope]) is None or not is_on_record(at, record)]
    if fresh:
        await store.log.append(EVENTS, [NewEntry(record.scope, encode(record)) for record in fresh])
    await store.fold("wait")
    with store.reading() as reading:
        return [_answer(reading, record, added=record in fresh) for record in records]


def _answer(reading: Reading, record: FactTombstoned, *, added: bool) -> TombstoneAnswer:
    rows = reading.rows(record.scope)
    row = fact_row(rows, fact_key(record.fact)) if rows is not None else None
    return TombstoneAnswer(
        fact=record.fact,
        cls=row.cls if row is not None else "",
        value=row.value if row is not None else "",
        session=record.session,
        reason=record.reason,
        authority=record.authority,
        event=record.id,
        added=added,
        in_force=row is not None and bool(row.tombstone),
    )
