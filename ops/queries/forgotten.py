"""What a session forgot (D1 to D3), from the index for the verdicts and from the log for the words."""

from __future__ import annotations

import msgspec

from ledger.facts import RULES_VERSION
from ledger.lookup import scope_row, span_facts, span_row
from ledger.rows import SpanRow
from ledger.rules.forgotten import Counts, LossRank, Note, counts, note, order
from ledger.rules.settled import REASONS, Reason, Verdict
from ledger.rules.trust import reading_fault
from ledger.state import FACT_IN_SESSION, PLACE, ROUND, ordinal_key
from ops.queries.course import verdicts
from ops.queries.losses import Loss, look_up, standing
from ops.queries.quotes import Quotes, excerpt, iso_time
from ops.store import Found, Reading
from schemas.facts import FACT_CLASSES

FOLLOWED_BY_SPANS = 8
"""Spans after a statement in which an action counts as following it (seed 4)."""


UNREADABLE = "a summary cannot be read, so nobody can tell what it kept"
"""Why the answer is *unknown* where everything else of the session was read."""


class Forgotten(msgspec.Struct, kw_only=True):
    """A fact that the session no longer holds, with a place and a hash by which the quote can be checked in the file."""

    fact: str
    cls: str = msgspec.field(name="class")
    kind: str
    round: int
    role: str
    text: str
    span: str
    start: int
    end: int
    sequence: int
    path: str
    line: int | None
    byte_start: int | None
    byte_end: int | None
    sha256: str
    timestamp: str | None
    model: str
    followed_by: list[str]
    acted: bool
    outcome: str
    rule: str
    summary_says: str
    reversed_at: str | None
    settled: Reason | None = None
    """Why it is not worth reading first (`ledger.rules.settled`); null: it is open."""
    settled_by: str | None = None
    """The span that settled it, and its line in the transcript."""

    settled_line: int | None = None


class Receipt(msgspec.Struct, kw_only=True):
    """Where the answer comes from."""

    source_path: str
    extracted_at: str | None
    method: str
    rules_version: str
    no_model: bool = True


class UnreadableRound(msgspec.Struct, frozen=True):
    """A round whose summary nobody can read: what went with it cannot be judged."""

    round: int
    summary_state: str


class ForgottenAnswer(msgspec.Struct, kw_only=True):
    """Totals over the whole session whatever the filters, and the losses that passed them."""

    session_id: str
    rounds: int
    dropped_total: int
    survived_in_summary: int
    forgotten_total: int
    tombstoned_total: int
    unknown_total: int
    note: Note | None
    reason: str = ""
    """Why nobody can tell, where the note is `unknown`."""

    matching: int
    forgotten: list[Forgotten]
    receipt: Receipt
    open_total: int = 0
    """Losses of the whole session that nothing settles."""
    open_matching: int = 0
    """Open losses among those that passed the filters."""
    settled_matching: dict[str, int] = msgspec.field(default_factory=dict)
    """Settled losses among those that passed the filters, by reason."""
    unreadable: list[UnreadableRound] = msgspec.field(default_factory=list)


async def forgotten(
    reading: Reading, found: Found, *, round_: int | None, classes: frozenset[str], limit: int
) -> ForgottenAnswer:
    """D1 to D3 by our own rules: facts of every class and role that left the window and have no carrier now.

    `classes` holds fact classes and the kinds decided, rejected, reason; empty means all. `limit` 0 lists everything.
    """
    losses, tombstoned = standing(found)
    totals = counts(left=found.session.dropped, lost=len(losses), tombstoned=tombstoned, unknown=_unknown(found))
    judged = await verdicts(reading, found, losses)
    shown = [(loss, verdict) for loss, verdict in zip(losses, judged, strict=True) if _passes(loss, round_, classes)]
    ranked = order((_rank(loss, verdict), at) for at, (loss, verdict) in enumerate(shown))
    reasons = [verdict.reason for _, verdict in shown]
    quotes = Quotes(reading, found.scope)
    chosen = ranked if not limit else ranked[:limit]
    return ForgottenAnswer(
        session_id=found.session.id,
        rounds=found.session.rounds,
        dropped_total=totals.dropped,
        survived_in_summary=totals.survived,
        forgotten_total=totals.forgotten,
        tombstoned_total=totals.tombstoned,
        unknown_total=totals.unknown,
        note=note_of(reading, found, totals),
        reason=reason_of(reading, found, totals),
        matching=len(shown),
        forgotten=[await _entry(found, *shown[at], quotes) for at in chosen],
        receipt=await receipt(found, quotes, "ours"),
        open_total=sum(verdict.reason is None for verdict in judged),
        open_matching=reasons.count(None),
        settled_matching={reason: reasons.count(reason) for reason in REASONS if reason in reasons},
        unreadable=unreadable_of(found),
    )


def note_of(reading: Reading, found: Found, totals: Counts) -> Note | None:
    """D2: the named answer, or *unknown* where records of the scope were not folded, or lines of its transcript could not be
    read: no loss found is then no finding.
    """
    answer = note(rounds=found.session.rounds, found=totals)
    return "unknown" if answer is not None and _not_seen(reading, found) else answer


def reason_of(reading: Reading, found: Found, totals: Counts) -> str:
    """D2: why the answer is *unknown*; the empty string where it is another one."""
    if note_of(reading, found, totals) != "unknown":
        return ""
    return _not_seen(reading, found) or UNREADABLE


def unreadable_of(found: Found) -> list[UnreadableRound]:
    """Rounds of the session without a summary that can be read, oldest first."""
    rows = (row for _, row in found.rows.walk(ROUND, ordinal_key(found.session.ordinal)))
    return [UnreadableRound(row.ordinal, row.summary_state) for row in rows if row.summary_state != "text"]


def _not_seen(reading: Reading, found: Found) -> str:
    """What of the session the answer does not rest on, so that a loss may be there."""
    scope = scope_row(found.rows)
    if reading.gap:
        return f"the index is {reading.gap} records behind the log"
    if any(why.startswith(("internal_error:", "unreadable_record:")) for why in scope.unclear):
        return "records of this session could not be folded: cledger doctor says where"
    if any(why in reading_fault(1, 1) for why in scope.degraded):
        return "lines of the transcript could not be read, or share an id: cledger inspect PATH says which"
    return ""


def _unknown(found: Found) -> int:
    """Facts that went with a summary that cannot be read and were not stated since."""
    group = ordinal_key(found.session.ordinal)
    total = 0
    seen: set[bytes] = set()
    for _, place in found.rows.walk(PLACE, group):
        span = span_row(found.rows, place.span)
        if span is None or span.in_window:
            continue
        for ref in span_facts(found.rows, span.id).refs:
            if ref.fact in seen:
                continue
            seen.add(ref.fact)
            mine = found.rows.get(FACT_IN_SESSION, ref.fact + group)
            total += mine is not None and bool(mine.unknown_round)
    return total


def _passes(loss: Loss, round_: int | None, classes: frozenset[str]) -> bool:
    if round_ is not None and loss.round != round_:
        return False
    return not classes or loss.cls in classes or bool(loss.kind and loss.kind in classes)


def _rank(loss: Loss, verdict: Verdict) -> LossRank:
    return LossRank(
        outcome=loss.outcome,
        cls=loss.cls,
        role=verdict.role or loss.role,
        turn=loss.turn,
        reversed_later=bool(loss.reversed_at),
        settled=verdict.reason is not None,
    )


async def _entry(found: Found, loss: Loss, verdict: Verdict, quotes: Quotes) -> Forgotten:
    of = look_up(found, loss)
    record = await quotes.span(of.row.span)
    source = record.source if record is not None else None
    followed = await followed_by(found, of.span, quotes)
    settled_by = settling_span(found, loss, verdict)
    settling = await quotes.span(settled_by or "")
    return Forgotten(
        fact=of.fact.id,
        cls=of.fact.cls,
        kind=of.fact.kind,
        round=loss.round,
        role=verdict.role or of.span.role,
        text=await quotes.cut(of.row.span, of.row.start, of.row.end),
        span=of.row.span,
        start=of.row.start,
        end=of.row.end,
        sequence=of.span.turns[0],
        path=source.path if source is not None else "",
        line=source.line if source is not None else None,
        byte_start=source.byte_start if source is not None else None,
        byte_end=source.byte_end if source is not None else None,
        sha256=source.sha256 if source is not None else of.span.text_sha256,
        timestamp=iso_time(record.time_ms) if record is not None else None,
        model=record.model if record is not None else "",
        followed_by=followed,
        acted=bool(followed),
        outcome=of.row.outcome,
        rule="F2" if of.row.outcome == "inverted" else "C3",
        summary_says=excerpt(await quotes.cut(of.row.summary, of.row.summary_start, of.row.summary_end)),
        reversed_at=loss.reversed_at or None,
        settled=verdict.reason,
        settled_by=settled_by,
        settled_line=settling.source.line if settling is not None and settling.source is not None else None,
    )


def settling_span(found: Found, loss: Loss, verdict: Verdict) -> str | None:
    """The span that settles a loss; None where no single one does."""
    if verdict.by:
        place = found.rows.get(PLACE, ordinal_key(found.session.ordinal, verdict.by))
        return place.span if place is not None else None
    return loss.reversed_at or None if verdict.reason == "superseded" else None


async def followed_by(found: Found, span: SpanRow, quotes: Quotes) -> list[str]:
    """What the next spans of the session did, the statement's own span included."""
    actions: list[str] = []
    start = ordinal_key(span.session, span.ordinal)
    for seen, (_, place) in enumerate(found.rows.walk(PLACE, ordinal_key(span.session), start)):
        if seen > FOLLOWED_BY_SPANS:
            break
        record = await quotes.span(place.span)
        if record is not None:
            actions.extend(record.actions)
    return actions


async def receipt(found: Found, quotes: Quotes, method: str) -> Receipt:
    """Source path and event time of the last record of the session that was read."""
    last = ""
    for _, place in found.rows.walk(PLACE, ordinal_key(found.session.ordinal)):
        last = place.span
    record = await quotes.span(last)
    return Receipt(
        source_path=record.source.path if record is not None and record.source is not None else "",
        extracted_at=iso_time(record.time_ms) if record is not None else None,
        method=method,
        rules_version=scope_row(found.rows).rules_version or RULES_VERSION,
    )


def totals_of(found: Found) -> Counts:
    """The totals alone, without quotes."""
    losses, tombstoned = standing(found)
    return counts(left=found.session.dropped, lost=len(losses), tombstoned=tombstoned, unknown=_unknown(found))


async def open_losses(reading: Reading, found: Found) -> int:
    """How many losses of the whole session nothing settles. Reads its spans once."""
    return sum(verdict.reason is None for verdict in await verdicts(reading, found, standing(found)[0]))


def lost_by_class(found: Found) -> dict[int, dict[str, int]]:
    """For each round the losses that stand, by class in order of rank; the same losses that `forgotten` lists."""
    totals: dict[int, dict[str, int]] = {}
    for loss in standing(found)[0]:
        classes = totals.setdefault(loss.round, dict.fromkeys(FACT_CLASSES, 0))
        classes[loss.cls] += 1
    return {round_: {cls: count for cls, count in classes.items() if count} for round_, classes in totals.items()}
