"""Typed look-ups over the rows of one scope: names in, rows out. No rule is stated here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from ledger.rows import FactInSessionRow, FactRow, RequestRow, RoundRow, ScopeRow, SessionRow, SpanFactsRow, SpanRow, SummaryRow
from ledger.rules.carriers import CarrierCount
from ledger.rules.floors import FLOORS, ratio_of
from ledger.rules.trust import AUDIT_WINDOW, TrustState, trust
from ledger.state import (
    FACT,
    FACT_IN_SESSION,
    FACT_KEY_BYTES,
    FACT_VALUE,
    ONLY,
    PLACE,
    REQUEST,
    ROUND,
    SCOPE,
    SESSION,
    SESSION_NAME,
    SPAN,
    SPAN_FACTS,
    SUMMARY,
    SUMMARY_BY_TEXT,
    WINDOW,
    Rows,
    name_key,
    ordinal_key,
    value_key,
)
from schemas.decisions import Ratio
from schemas.facts import Fact, FactClass, FactKind
from schemas.records import SpanRange

NO_SCOPE = ScopeRow()
NO_REFS = SpanFactsRow()
NOWHERE = FactInSessionRow()


def scope_row(view: Rows) -> ScopeRow:
    """The scope's row, or an empty one for a scope without records."""
    return view.get(SCOPE, ONLY) or NO_SCOPE


def session_row(view: Rows, session: str) -> SessionRow | None:
    """A session by id."""
    return view.get(SESSION, name_key(session))


def span_row(view: Rows, span: str) -> SpanRow | None:
    """A raw span by id."""
    return view.get(SPAN, name_key(span))


def span_facts(view: Rows, carrier: str) -> SpanFactsRow:
    """The facts listed for a span or summary."""
    return view.get(SPAN_FACTS, name_key(carrier)) or NO_REFS


def summary_row(view: Rows, summary: str) -> SummaryRow | None:
    """A summary by id."""
    return view.get(SUMMARY, name_key(summary))


def is_summary_text(view: Rows, sha256: str) -> bool:
    """Is this, by its SHA-256 in hex, the text of a summary of the scope?"""
    return bool(sha256) and view.get(SUMMARY_BY_TEXT, name_key(sha256)) is not None


def request_row(view: Rows, session: str, request: str) -> RequestRow | None:
    """A request by session and request id."""
    return view.get(REQUEST, name_key(session, request))


def round_row(view: Rows, session: SessionRow, ordinal: int) -> RoundRow | None:
    """A round of a session by its ordinal."""
    return view.get(ROUND, ordinal_key(session.ordinal, ordinal))


def fact_row(view: Rows, fact: bytes) -> FactRow | None:
    """A fact by key."""
    return view.get(FACT, fact)


def fact_in_session(view: Rows, fact: bytes, session: SessionRow) -> FactInSessionRow:
    """What one session has of a fact."""
    return view.get(FACT_IN_SESSION, fact + ordinal_key(session.ordinal)) or NOWHERE


def is_referred(row: FactRow) -> bool:
    """A scope refers to a fact until it was dropped on purpose or its validity ended (design section 3)."""
    return not row.tombstone and not row.expired


DAY_CHARS = len("2026-03-31")


def is_valid_at(row: FactRow, moment: str) -> bool:
    """Does the fact's validity cover this moment, an ISO 8601 date or time? An end that is a day covers the whole of it."""
    if row.valid_from and moment < row.valid_from:
        return False
    if not row.valid_to:
        return True
    return moment[:DAY_CHARS] <= row.valid_to if len(row.valid_to) == DAY_CHARS else moment < row.valid_to


def carrier_count(view: Rows, fact: bytes, row: FactRow, session: SessionRow) -> CarrierCount:
    """Carriers of a fact that this session can reach now. A pending grant has changed nothing yet: recall, trust, alerts and
    judgements of what was observed go by this.
    """
    mine = fact_in_session(view, fact, session)
    return CarrierCount(
        raw_window=mine.window,
        raw_stored=row.stored,
        external=row.external,
        verbatim=mine.verbatim,
        equivalent=mine.equivalent,
        summaries_stored=row.stored_summaries,
    )


def assured_count(view: Rows, fact: bytes, row: FactRow, session: SessionRow) -> CarrierCount:
    """Carriers of a fact that this session is sure to keep: what a pending grant may take away counts as gone. Requests are
    decided by this, so that two grants can be carried out in any order (P5).
    """
    now, mine = carrier_count(view, fact, row, session), fact_in_session(view, fact, session)
    return CarrierCount(
        raw_window=now.raw_window - mine.leaving,
        raw_stored=now.raw_stored - row.leaving_store,
        external=now.external,
        verbatim=now.verbatim - mine.leaving_verbatim,
        equivalent=now.equivalent - mine.leaving_equivalent,
        summaries_stored=now.summaries_stored,
    )


def sessions_concerned(view: Rows, fact: bytes, owner: int) -> list[SessionRow]:
    """Sessions for which a store entry of the fact counts, by ordinal: the entry's own and those that have or had the fact,
    without closed ones, which nobody reads. The owner alone if all are closed: a scope refers to its facts beyond its sessions.
    """
    ordinals = sorted({owner, *(ordinal for ordinal, _ in sessions_of(view, fact))})
    rows = [row for row in (session_at(view, ordinal) for ordinal in ordinals) if row is not None]
    return [row for row in rows if not row.closed] or [row for row in rows if row.ordinal == owner]


def as_fact(row: FactRow) -> Fact:
    """The fact as its manifest stated it."""
    return Fact(
        id=row.id,
        cls=cast(FactClass, row.cls),
        start=row.start,
        end=row.end,
        value=row.value,
        subject=row.subject,
        polarity="negated" if row.polarity == "negated" else "affirmed",
        quantifier=row.quantifier,
        hedge=row.hedge,
        kind=cast(FactKind, row.kind),
        context=row.context,
        valid_from=row.valid_from,
        valid_to=row.valid_to,
    )


def floors_in_force(scope: ScopeRow) -> Mapping[FactClass, Ratio]:
    """The floors of the rules version with the scope's policy laid over them (rule F1)."""
    floors = dict(FLOORS)
    for key, value in scope.policy:
        ratio = ratio_of(value) if key.startswith("floor.") else None
        if ratio is not None:
            floors[cast(FactClass, key.removeprefix("floor."))] = ratio
    return floors


def window_spans(view: Rows, session: SessionRow) -> Iterator[SpanRow]:
    """Spans that are in the session's window now, in recording order."""
    for _, place in view.walk(WINDOW, ordinal_key(session.ordinal)):
        row = span_row(view, place.span)
        if row is not None:
            yield row


def spans_in(view: Rows, session: SessionRow, ranges: Iterable[SpanRange]) -> Iterator[SpanRow]:
    """Spans of the session that the ranges name, in the order of the ranges. Ends that were never recorded name nothing."""
    for span_range in ranges:
        first, last = span_row(view, span_range.first), span_row(view, span_range.last)
        if first is None or last is None or first.session != session.ordinal or last.session != session.ordinal:
            continue
        group = ordinal_key(session.ordinal)
        for key, place in view.walk(PLACE, group, ordinal_key(session.ordinal, first.ordinal)):
            if int.from_bytes(key[len(group) :], "big") > last.ordinal:
                break
            row = span_row(view, place.span)
            if row is not None:
                yield row


def facts_by_value(view: Rows, cls: str, value: str) -> Iterator[FactRow]:
    """Facts of the class with this canonical value, whatever their subject."""
    for _, marker in view.walk(FACT_VALUE, value_key(cls, value)):
        row = fact_row(view, marker.fact)
        if row is not None:
            yield row


def sessions_of(view: Rows, fact: bytes) -> Iterator[tuple[int, FactInSessionRow]]:
    """Sessions, by ordinal, that have or had the fact."""
    for key, row in view.walk(FACT_IN_SESSION, fact):
        yield int.from_bytes(key[FACT_KEY_BYTES:], "big"), row


def session_at(view: Rows, ordinal: int) -> SessionRow | None:
    """The session with this ordinal."""
    return session_row(view, session_name(view, ordinal))


def session_name(view: Rows, ordinal: int) -> str:
    """The id of the session with this ordinal."""
    row = view.get(SESSION_NAME, ordinal_key(ordinal))
    return row.span if row is not None else ""


def policy_count(row: ScopeRow, key: str, default: int) -> int:
    """A whole number of the scope's policy."""
    for name, value in row.policy:
        if name == key:
            return int(value)
    return default


def trust_of_scope(row: ScopeRow) -> tuple[TrustState, tuple[str, ...]]:
    """T1: the trust in a scope with its reasons."""
    return trust(
        degraded=row.degraded,
        unclear=row.unclear,
        store=row.store,
        audits_passed=row.audits_passed,
        since_audit=row.compactions_since_audit,
        window=policy_count(row, "audit.window", AUDIT_WINDOW),
    )
