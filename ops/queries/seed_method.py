"""What a session forgot by the fourth seed's own rule (`--method seed`), over the same log, for comparison (D3).

Assistant text only; a sentence that looks like a decision and has no look-alike among the sentences of its own round's summary
counts as forgotten. `survived` here is dropped less forgotten, so that the counts add up, which the seed's own do not.
"""

from __future__ import annotations

from ledger.facts import SeedSentence, seed_sentences, seed_survives
from ledger.lookup import span_row
from ledger.rows import RoundRow, SpanRow
from ledger.rules.forgotten import Counts
from ledger.state import PLACE, ROUND, ordinal_key
from ops.queries.forgotten import Forgotten, ForgottenAnswer, followed_by, note_of, reason_of, receipt, unreadable_of
from ops.queries.quotes import Quotes, iso_time
from ops.store import Found, Reading
from schemas.records import SpanRecorded

KINDS = ("decided", "rejected", "reason")


class _Dropped:
    """A sentence that was dropped, in the span that held it."""

    def __init__(self, span: SpanRow, record: SpanRecorded, sentence: SeedSentence) -> None:
        self.span = span
        self.record = record
        self.sentence = sentence


async def forgotten_by_seed(
    reading: Reading, found: Found, *, round_: int | None, classes: frozenset[str], limit: int
) -> ForgottenAnswer:
    """D1 and D2 by the seed's rule. Of `classes` the kinds decided, rejected and reason select, and `decision` selects all."""
    quotes = Quotes(reading, found.scope)
    rounds = [row for _, row in found.rows.walk(ROUND, ordinal_key(found.session.ordinal))]
    spans = _assistant_spans(found)
    dropped_total = unknown = 0
    lost: list[_Dropped] = []
    for row in rounds:
        dropped = [one for span in spans.get(row.ordinal, ()) for one in await _sentences(quotes, span)]
        dropped_total += len(dropped)
        if row.summary_state != "text":
            unknown += len(dropped)
            continue
        lost.extend(await _lost(quotes, row, dropped))
    totals = Counts(
        dropped=dropped_total - unknown,
        survived=dropped_total - unknown - len(lost),
        forgotten=len(lost),
        unknown=unknown,
        tombstoned=0,
    )
    shown = [one for one in reversed(lost) if _passes(one, round_, classes)]
    return ForgottenAnswer(
        session_id=found.session.id,
        rounds=found.session.rounds,
        dropped_total=totals.dropped,
        survived_in_summary=totals.survived,
        forgotten_total=totals.forgotten,
        tombstoned_total=0,
        unknown_total=unknown,
        note=note_of(reading, found, totals),
        reason=reason_of(reading, found, totals),
        matching=len(shown),
        forgotten=[await _entry(found, one, quotes) for one in (shown[:limit] if limit else shown)],
        receipt=await receipt(found, quotes, "seed"),
        open_total=totals.forgotten,
        open_matching=len(shown),
        unreadable=unreadable_of(found),
    )


def _assistant_spans(found: Found) -> dict[int, list[SpanRow]]:
    """Assistant spans by the round in which they left, in recording order."""
    spans: dict[int, list[SpanRow]] = {}
    for _, place in found.rows.walk(PLACE, ordinal_key(found.session.ordinal)):
        span = span_row(found.rows, place.span)
        if span is not None and span.role == "assistant" and span.left_round:
            spans.setdefault(span.left_round, []).append(span)
    return spans


async def _sentences(quotes: Quotes, span: SpanRow) -> list[_Dropped]:
    record = await quotes.span(span.id)
    if record is None:
        return []
    return [_Dropped(span, record, sentence) for sentence in seed_sentences(record.text.text)]


async def _lost(quotes: Quotes, row: RoundRow, dropped: list[_Dropped]) -> list[_Dropped]:
    summary = seed_sentences(await quotes.text(row.summary))
    return [one for one in dropped if not seed_survives(one.sentence, summary)]


def _passes(one: _Dropped, round_: int | None, classes: frozenset[str]) -> bool:
    if round_ is not None and one.span.left_round != round_:
        return False
    return not classes or "decision" in classes or any(kind in classes for kind in one.sentence.kinds)


async def _entry(found: Found, one: _Dropped, quotes: Quotes) -> Forgotten:
    source = one.record.source
    actions = await followed_by(found, one.span, quotes)
    return Forgotten(
        fact="",
        cls="decision",
        kind=one.sentence.kinds[0],
        round=one.span.left_round,
        role="assistant",
        text=one.sentence.text,
        span=one.span.id,
        start=one.sentence.start,
        end=one.sentence.end,
        sequence=one.span.turns[0],
        path=source.path if source is not None else "",
        line=source.line if source is not None else None,
        byte_start=source.byte_start if source is not None else None,
        byte_end=source.byte_end if source is not None else None,
        sha256=source.sha256 if source is not None else one.span.text_sha256,
        timestamp=iso_time(one.record.time_ms),
        model=one.record.model,
        followed_by=actions,
        acted=bool(actions),
        outcome="missing",
        rule="D3",
        summary_says="",
        reversed_at=None,
    )
