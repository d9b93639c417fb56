"""The fields that every decision shares."""

from __future__ import annotations

from typing import TypedDict

from ledger.lookup import scope_row
from ledger.state import Rows
from schemas.ids import decision_id
from schemas.records import Record


class Envelope(TypedDict):
    """Keyword arguments of `schemas.decisions.Decision`."""

    id: str
    scope: str
    session: str
    request: str
    rules_version: str
    output_seq: int


def envelope(view: Rows, record: Record) -> Envelope:
    """Id from the cause's event id, the scope's pinned rules version, and the scope's next output number."""
    scope = scope_row(view)
    return Envelope(
        id=decision_id(record.id),
        scope=record.scope,
        session=record.session,
        request=record.id,
        rules_version=scope.rules_version,
        output_seq=scope.output_seq + 1,
    )
