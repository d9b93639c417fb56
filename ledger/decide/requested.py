"""Requested compactions: granted or refused before anything leaves (rules I4, C2, C3, F1 to F3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ledger.decide.envelope import Envelope, envelope
from ledger.decide.others import Others
from ledger.decide.tally import tags_of
from ledger.decide.walk import Attempt, Shortfall, Walk
from ledger.lookup import session_row, span_row, summary_row
from ledger.measurement import Ruler
from ledger.rows import FactRef, SessionRow, SpanRow, SummaryRow
from ledger.rules.carriers import BELOW_FLOOR
from ledger.rules.floors import WHOLE
from ledger.rules.identity import NOT_RECORDED, unrecorded
from ledger.state import CARRIED, Rows, fact_key, name_key
from schemas.decisions import CompactionGranted, CompactionRefused, Evidence, Outcomes, Skipped, WouldPass
from schemas.records import CompactionRequested

BUDGET_EXHAUSTED, WITHIN_BUDGET = "budget_exhausted", "within_budget"
WAY_MAX = 2000
"""Names that one way out may list, about 150 KB: beyond that nobody follows it, and the decision has to fit a log entry."""

SKIPPED_MAX, SKIPPED_FACTS_MAX = 500, 20
"""Skipped spans, and facts of each, that a decision lists, for the same reason."""


def decide_compaction(view: Rows, record: CompactionRequested) -> CompactionGranted | CompactionRefused:
    """I4, C2, C3, F1-F3: grant or refuse the whole request.

    Mode `all` is all or nothing. Mode `prefer` walks the candidates in the order given, skips those that do not hold, and stops
    once the budget is met. A refusal says what would pass.
    """
    head = envelope(view, record)
    session, summary = session_row(view, record.session), summary_row(view, record.summary)
    assert session is not None, "the fold rejects records of sessions that were not opened"
    early = _refused_early(view, record, session, summary, head)
    if early is not None or summary is None:
        assert early is not None
        return early
    ruler = Ruler(view, summary)
    walk = Walk(view, session, ruler, frozenset(fact_key(fact) for fact in record.tombstones))
    retires = tuple(name for name in dict.fromkeys(summary.covers_summaries) if name in session.live)
    rows = [view.get(CARRIED, name_key(name)) for name in retires]
    carried = [row.facts if row is not None else () for row in rows]
    for facts in carried:
        walk.retire(facts)
    dropped = _dropped_from_summaries(walk, ruler, carried)
    spans = [row for row in (span_row(view, candidate.span) for candidate in record.evictions) if row is not None]
    attempt = Attempt(record, summary, ruler, walk, spans, dropped, retires)
    if record.mode == "all":
        granted = spans if not dropped and not attempt.short_of_all() else None
        skipped: list[Shortfall] = []
    else:
        taken, skipped, enough = attempt.preferred()
        granted = taken if enough and not dropped else None
    if granted is not None:
        return _grant(view, record, head, summary, ruler, granted, _all_skipped(skipped, ruler), retires)
    return _refuse(view, record, head, ruler, attempt)


def _refused_early(
    view: Rows, record: CompactionRequested, session: SessionRow, summary: SummaryRow | None, head: Envelope
) -> CompactionRefused | None:
    """What can be said before any fact is looked at."""

    def refused(rule: str, reason: str, would_pass: WouldPass) -> CompactionRefused:
        return CompactionRefused(**head, request_id=record.request, rule=rule, reason=reason, would_pass=would_pass)

    if session.pending:
        return refused("C3", f"pending:{session.pending}", WouldPass(wait_for=session.pending))
    if summary is None or summary.session != session.ordinal:
        return refused("I4", f"summary_not_recorded:{record.summary}", WouldPass(record_first=(record.summary,)))
    if summary.live or summary.retired:
        return refused("I3", f"summary_already_used:{record.summary}", WouldPass())
    if summary.state != "text":
        return refused("F2", f"summary_{summary.state}", WouldPass())

    def is_here(name: str) -> bool:
        row = span_row(view, name)
        return row is not None and row.session == session.ordinal and row.in_window

    missing = unrecorded((candidate.span for candidate in record.evictions), lambda name: span_row(view, name) is not None)
    if missing:
        return refused("I4", NOT_RECORDED, WouldPass(record_first=missing, skip_spans=missing))
    outside = unrecorded((candidate.span for candidate in record.evictions), is_here)
    if outside:
        return refused("I4", "not_in_window", WouldPass(skip_spans=outside))
    names = [candidate.span for candidate in record.evictions]
    if len(set(names)) != len(names):
        return refused("I4", "span_named_twice", WouldPass())
    return None


def _dropped_from_summaries(walk: Walk, ruler: Ruler, carried: Iterable[tuple[tuple[bytes, str], ...]]) -> tuple[bytes, ...]:
    """Facts with floor 1.0 that live on in a superseded summary only and that the new one does not keep (rule C3), and those
    for whose sake a pending eviction was granted (C1).
    """
    dropped: dict[bytes, None] = {}
    for facts in carried:
        for key, _ in facts:
            if not walk.releases(key):
                dropped[key] = None
            if ruler.floor(key, ruler.fact(key).role) != WHOLE or ruler.measure(key).survives:
                continue
            if not walk.covered(key):
                dropped[key] = None
            elif not walk.is_tombstoned(key):
                walk.owe(key)
    walk.settle_summaries()
    return tuple(dropped)


def _skipped(found: Shortfall, ruler: Ruler) -> Skipped:
    rows = [ruler.fact(ref.fact) for ref, _, _ in found.uncovered]
    cls = ruler.evidence(found.uncovered[0][0], found.span.id, found.rule).cls if rows else None
    return Skipped(
        span=found.span.id,
        rule=found.rule,
        cls=cls,
        facts=tuple(dict.fromkeys(row.id for row in rows))[:SKIPPED_FACTS_MAX],
        reason=found.reason,
    )


def _all_skipped(short: list[Shortfall], ruler: Ruler) -> tuple[Skipped, ...]:
    return tuple(_skipped(found, ruler) for found in short[:SKIPPED_MAX])


def _refuse(view: Rows, record: CompactionRequested, head: Envelope, ruler: Ruler, attempt: Attempt) -> CompactionRefused:
    """C2, C3, F2, F3: nothing changes; evidence, and the ways out."""
    taken, skipped, enough = attempt.preferred()
    everything = attempt.short_of_all()
    short = everything if record.mode == "all" else skipped
    rows = [ruler.fact(key) for key in attempt.dropped]
    evidence: list[Evidence] = [
        ruler.evidence(FactRef(key, row.start, row.end), row.span, "C3", WHOLE)
        for key, row in zip(attempt.dropped, rows, strict=True)
    ]
    evidence += [
        ruler.evidence(ref, found.span.id, found.rule, floor, fidelity)
        for found in short
        for ref, fidelity, floor in found.uncovered
    ]
    leaving = attempt.spans if record.mode == "all" else taken
    session = session_row(view, record.session)
    assert session is not None, "it was there to decide for"
    others = Others(view, session, from_window={span.id for span in leaving}, retired=attempt.retires)
    shown, total = others.ranked(evidence)
    rule, reason = _why(record, attempt, short)
    facts_lacking = _facts_lacking(attempt, everything, ruler)
    if record.mode == "all":
        ways = _ways_for_all(attempt, short, facts_lacking, tuple(span.id for span in taken) if enough else ())
    else:
        ways = _ways_for_prefer(attempt, everything, facts_lacking, enough=enough)
    return CompactionRefused(
        **head,
        request_id=record.request,
        rule=rule,
        reason=reason,
        evidence=shown,
        evidence_total=total,
        would_pass=ways,
        skipped=_all_skipped(short, ruler),
    )


def _why(record: CompactionRequested, attempt: Attempt, short: list[Shortfall]) -> tuple[str, str]:
    """The first rule that stands against the request."""
    if attempt.dropped:
        return "C3", BELOW_FLOOR
    if record.mode == "all":
        return short[0].rule, short[0].reason
    return "F3", WITHIN_BUDGET if attempt.within_budget() else BUDGET_EXHAUSTED


def _facts_lacking(attempt: Attempt, short: list[Shortfall], ruler: Ruler) -> tuple[str, ...]:
    """Facts that would need a carrier if all candidates left together."""
    keys = dict.fromkeys((*attempt.dropped, *(ref.fact for found in short for ref, _, _ in found.uncovered)))
    return tuple(ruler.fact(key).id for key in keys)


def _ways_for_all(attempt: Attempt, short: list[Shortfall], facts: tuple[str, ...], prefer: tuple[str, ...]) -> WouldPass:
    """Ways that let the whole request pass. Facts that a superseded summary alone carries bind whatever span is left out."""
    spans = tuple(found.span.id for found in short)
    by_facts = _listed(facts) if not any(found.rule == "C2" for found in short) else ()
    if attempt.dropped:
        return WouldPass(carry_facts=by_facts, tombstone_facts=by_facts)
    return WouldPass(
        skip_spans=_listed(spans) if len(spans) < len(attempt.spans) else (),
        carry_facts=by_facts,
        tombstone_facts=by_facts,
        externalise_spans=_listed(spans),
        prefer_would_evict=_listed(prefer),
    )


def _ways_for_prefer(attempt: Attempt, short: list[Shortfall], facts: tuple[str, ...], *, enough: bool) -> WouldPass:
    """Ways that let the request pass: skipping helps nobody here, so only facts kept and spans saved elsewhere count, enough of
    them for all candidates to leave: two spans may have been skipped that carry each other's facts.
    """
    if attempt.dropped and enough:  # the spans would do, were it not for the superseded summary
        facts = facts[: len(attempt.dropped)]
        return WouldPass(carry_facts=_listed(facts), tombstone_facts=_listed(facts))
    if attempt.within_budget() or not attempt.could_meet_budget():
        return WouldPass()
    by_facts = _listed(facts) if not any(found.rule == "C2" for found in short) else ()
    by_spans = _listed(tuple(found.span.id for found in short)) if not attempt.dropped else ()
    return WouldPass(carry_facts=by_facts, tombstone_facts=by_facts, externalise_spans=by_spans)


def _listed(names: tuple[str, ...]) -> tuple[str, ...]:
    """A way out is named in full or not at all."""
    return names if len(names) <= WAY_MAX else ()


def _grant(
    view: Rows,
    record: CompactionRequested,
    head: Envelope,
    summary: SummaryRow,
    ruler: Ruler,
    spans: list[SpanRow],
    skipped: tuple[Skipped, ...],
    retires: tuple[str, ...],
) -> CompactionGranted:
    outcomes = list(ruler.outcomes_in_order(spans))
    for name in retires:
        row = view.get(CARRIED, name_key(name))
        if row is not None and row.facts:
            outcomes.append(Outcomes(name, ruler.letters(key for key, _ in row.facts)))
    tokens_after = None
    if record.tokens_before is not None:
        freed: Mapping[str, int] = {candidate.span: candidate.tokens for candidate in record.evictions}
        tokens_after = record.tokens_before - sum(freed[span.id] for span in spans) + (summary.tokens or 0)
    return CompactionGranted(
        **head,
        request_id=record.request,
        rule="C3" if record.mode == "all" else "F3",
        summary=summary.id,
        summary_sha256=summary.text_sha256,
        evict=tuple(span.id for span in spans),
        retires=retires,
        skipped=skipped,
        outcomes=tuple(outcomes),
        tags=tags_of(view, ruler, spans),
        tombstones=record.tombstones,
        tokens_after=tokens_after,
    )
