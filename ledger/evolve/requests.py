"""Requests remember their decision and move through their life: pending, applied, withdrawn, refused."""

from __future__ import annotations

import msgspec

from ledger.evolve.effects import Effects
from ledger.rows import RequestRow
from ledger.state import REQUEST, name_key
from schemas.codec import encode
from schemas.decisions import AnyDecision

replace = msgspec.structs.replace
PENDING, APPLIED, WITHDRAWN, REFUSED, GRANTED = "pending", "applied", "withdrawn", "refused", "granted"
GRANT_TIMER = "grant:"
"""How the timer of a tick begins that asks whether a grant is pending still; its request id follows."""


def remember_request(fx: Effects, decision: AnyDecision, status: str, summary_sha256: str = "") -> None:
    """Keep a request's decision, so that a repeat gets the same bytes (P3)."""
    row = RequestRow(
        event=decision.request,
        request=decision.request_id,
        session=decision.session,
        status=status,
        decision=encode(decision),
        summary_sha256=summary_sha256,
    )
    fx.draft.put(REQUEST, name_key(decision.session, decision.request_id), row)


def request_mark(decision: AnyDecision) -> str:
    """How a span names the pending request that may take its store entry: by the key of the request's row."""
    return name_key(decision.session, decision.request_id).hex()


def set_status(fx: Effects, row: RequestRow, status: str) -> None:
    """Move a request on in its life."""
    fx.draft.put(REQUEST, name_key(row.session, row.request), replace(row, status=status))
    if row.status == PENDING:
        fx.resolve_alert("C3", _subject(row), f"the request was {status}")


def ask_for_end(fx: Effects, session: str, request: str) -> None:
    """A grant that is pending when its timer is due: nobody knows whether its spans are gone, and other requests are decided as
    if they were. A ticket, until it is applied, withdrawn or observed.
    """
    row = fx.draft.get(REQUEST, name_key(session, request))
    if row is not None and row.status == PENDING:
        fx.raise_alert(
            kind="grant_pending",
            rule="C3",
            severity="ticket",
            subject=_subject(row),
            session=row.session,
            reason="granted, and neither applied nor withdrawn for too long",
        )


def _subject(row: RequestRow) -> str:
    return f"request:{row.session}/{row.request}"
