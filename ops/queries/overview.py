"""What the log knows: sessions, and the trust in one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from ledger.lookup import scope_row, span_facts, trust_of_scope, window_spans
from ledger.rules.floors import violation_rate
from ledger.state import LOST, ORDINAL_BYTES, PLACE, ROUND, ordinal_key
from ops.queries.quotes import iso_time
from ops.store import Found, Reading
from schemas.decisions import Ratio

AT_ONCE = 64
"""Records that are asked of a log at the same time: one on another machine takes as long for many as for one."""


class RoundAnswer(msgspec.Struct, kw_only=True):
    """One compaction: what left the window and what became of its facts, which add up."""

    round: int
    id: str
    observed: bool
    trigger: str
    summary: str
    summary_state: str
    verdict: str
    summarised: int
    kept: int
    unseen: int
    dropped: int
    survived: int
    lost: int
    unknown: int
    tokens_before: int | None
    tokens_after: int | None


class SessionAnswer(msgspec.Struct, kw_only=True):
    """One session as the log knows it."""

    session: str
    scope: str
    runtime: str
    spans: int
    compactions: int
    dropped: int
    lost: int
    trust: str
    closed: bool
    last: str | None = None
    """Time of its last span, where its record says one, and the file that it stands in."""

    path: str = ""
    unreadable: int = 0
    """Compactions whose summary nobody can read: what went with them is not judged."""


class StatusAnswer(msgspec.Struct, kw_only=True):
    """Trust with its reasons, and the figures that are watched. Ratios are decimals, null where nothing was measured."""

    session: str
    trust: str
    reasons: list[str]
    compactions: int
    compactions_since_audit: int
    hit_rate: float | None
    hit_rate_change: float | None
    floor_violation_rate: dict[str, float]
    context_retained_raw: int
    window_tokens: int | None
    window_budget: int | None
    gap: int
    rounds: list[RoundAnswer]
    scope: str


def trust_of(found: Found, gap: int) -> tuple[str, list[str]]:
    """T1: the trust in a session's scope; an index that lags the log adds a reason and is never lossless."""
    state, reasons = trust_of_scope(scope_row(found.rows))
    if not gap:
        return state, list(reasons)
    return ("unknown" if state == "lossless" else state), [*reasons, f"index_behind_log:{gap}"]


def rounds_of(found: Found) -> list[RoundAnswer]:
    """Rounds of a session, oldest first."""
    return [
        RoundAnswer(
            round=row.ordinal,
            id=row.round,
            observed=row.observed,
            trigger=row.trigger,
            summary=row.summary,
            summary_state=row.summary_state,
            verdict=row.verdict,
            summarised=row.left,
            kept=row.kept,
            unseen=row.unseen,
            dropped=row.dropped,
            survived=row.survived,
            lost=row.lost,
            unknown=row.unknown,
            tokens_before=row.tokens_before,
            tokens_after=row.tokens_after,
        )
        for _, row in found.rows.walk(ROUND, ordinal_key(found.session.ordinal))
    ]


def lost_now(found: Found) -> int:
    """Facts of the session that are lost and were not stated again."""
    return sum(1 for _, row in found.rows.walk(LOST, ordinal_key(found.session.ordinal)) if not row.regained)


def sessions(reading: Reading, *, compacted: bool, among: Iterable[Found] | None = None) -> list[SessionAnswer]:
    """All sessions of the view, or those given, or of them those that were compacted at least once."""
    return [
        SessionAnswer(
            session=found.session.id,
            scope=found.scope,
            runtime=found.session.runtime,
            spans=found.session.spans,
            compactions=found.session.rounds,
            dropped=found.session.dropped,
            lost=lost_now(found),
            trust=trust_of(found, reading.gap)[0],
            closed=found.session.closed,
            unreadable=sum(row.summary_state != "text" for row in rounds_of(found)),
        )
        for found in (reading.sessions() if among is None else among)
        if found.session.rounds or not compacted
    ]


def last_span(found: Found) -> str:
    """The span of a session that was recorded last, or the empty string. Halves what is left to look at, for a session can be
    long and rows are walked in one direction.
    """
    group = ordinal_key(found.session.ordinal)
    last, low, high = "", 1, scope_row(found.rows).carriers
    while low <= high:
        middle = (low + high) // 2
        later = next(found.rows.walk(PLACE, group, group + ordinal_key(middle)), None)
        if later is None:
            high = middle - 1
        else:
            last, low = later[1].span, int.from_bytes(later[0][ORDINAL_BYTES:], "big") + 1
    return last


class _Source(msgspec.Struct):
    path: str = ""


class _Seen(msgspec.Struct):
    time_ms: int | None = None
    source: _Source | None = None


async def with_last(reading: Reading, answers: list[SessionAnswer]) -> list[SessionAnswer]:
    """The same with when and where each session was last seen: one record of each is read, some at the same time."""
    for at in range(0, len(answers), AT_ONCE):
        await asyncio.gather(*(_note_last(reading, answer) for answer in answers[at : at + AT_ONCE]))
    return answers


async def _note_last(reading: Reading, answer: SessionAnswer) -> None:
    found = reading.session_in(answer.scope, answer.session)
    span = last_span(found) if found is not None else ""
    async for _, value in reading.values(answer.scope, [span] if span else []):
        seen = msgspec.json.decode(value, type=_Seen)
        answer.last = iso_time(seen.time_ms)
        answer.path = seen.source.path if seen.source is not None else ""


def status(reading: Reading, found: Found) -> StatusAnswer:
    """Trust, audits, floor-violation rate (F5), hit rate, and the window against its budget."""
    row, session = scope_row(found.rows), found.session
    state, reasons = trust_of(found, reading.gap)
    return StatusAnswer(
        session=session.id,
        trust=state,
        reasons=reasons,
        compactions=row.compactions,
        compactions_since_audit=row.compactions_since_audit,
        hit_rate=float(row.hit_rate) if row.hit_rate else None,
        hit_rate_change=float(row.hit_rate_change) if row.hit_rate_change else None,
        floor_violation_rate={cls: _decimal(violation_rate(evicted, below)) for cls, evicted, below in row.evicted if evicted},
        context_retained_raw=_retained_raw(found),
        window_tokens=session.window_tokens,
        window_budget=session.window_budget,
        gap=reading.gap,
        rounds=rounds_of(found),
        scope=found.scope,
    )


def _decimal(ratio: Ratio) -> float:
    """An exact ratio as people read it."""
    return round(ratio[0] / ratio[1], 4)


def _retained_raw(found: Found) -> int:
    """C2: spans that stay in the window because their facts are not known."""
    return sum(
        1
        for span in window_spans(found.rows, found.session)
        if not span.manifested and not span_facts(found.rows, span.id).refs
    )
