"""What became of a request: for a program that asked, was ended before the answer, and was started again."""

from __future__ import annotations

from typing import Any

import msgspec

from ledger.lookup import request_row
from ops.store import Found


class RequestAnswer(msgspec.Struct, kw_only=True):
    """`status` is `pending` (granted, neither applied nor withdrawn), `applied`, `withdrawn`, `refused`, `granted` (nothing is
    left to do), `absent`, or `unknown` with a reason. `decision` is the one on record.
    """

    scope: str
    session: str
    request: str
    status: str
    decision: dict[str, Any] | None
    reason: str
    gap: int


def outcome(found: Found, request: str, gap: int = 0) -> RequestAnswer:
    """The request of this id in the session. One that is not on record while records are not folded yet is unknown."""
    row = request_row(found.rows, found.session.id, request)
    status, reason = (row.status, "") if row is not None else ("absent", "no such request was folded")
    if row is None and gap:
        status, reason = "unknown", f"the index is {gap} records behind the log"
    return RequestAnswer(
        scope=found.scope,
        session=found.session.id,
        request=request,
        status=status,
        decision=msgspec.json.decode(row.decision) if row is not None else None,
        reason=reason,
        gap=gap,
    )
