"""Requested compactions: granted or refused before anything leaves (rules I4, C2, C3, F1 to F3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ledger.decide.envelope import Envelope, envelope
from ledger.decide.tally import tags_of
from ledger.lookup import (
    assured_count,
    session_row,
    span_facts,
    span_row,
    summary_row,
)
from ledger.measurement import Ruler, ranked
from ledger.rules.carriers import BELOW_FLOOR, UNMANIFESTED, CarrierCount, is_covered, must_stay_raw
from ledger.rules.floors import WHOLE, below_floor, budget_met, measure
from ledger.rules.identity import NOT_RECORDED, unrecorded
from ledger.state import CARRIED, FactRef, Rows, SessionRow, SpanRow, SummaryRow, fact_key, name_key
from schemas.decisions import LETTERS, CompactionGranted, CompactionRefused, Evidence, Outcomes, Ratio, Skipped, WouldPass
from schemas.records import CompactionRequested

BUDGET_EXHAUSTED, WITHIN_BUDGET = "budget_exhausted", "within_budget"
WAY_MAX = 2000
"""Names that one way out may list, about 150 KB: beyond that nobody follows it, and the decision has to fit a log entry."""

SKIPPED_MAX, SKIPPED_FACTS_MAX = 500, 20
"""Skipped spans, and facts of each, that a decision lists, for the same reason."""


class Shortfall:
    """What keeps one span from leaving: facts without cover, or the rule that retains it raw."""

    def __init__(self, span: SpanRow, rule: str, reason: str, uncovered: list[tuple[FactRef, Ratio, Ratio]]) -> None:
        self.span = span
        self.rule = rule
        self.reason = reason
        self.uncovered = uncovered


class Walk:
    """Takes candidates one by one and keeps count of what the spans taken so far carry away.

    `owed` are facts whose cover another span provides: that span may not go either, unless something else carries them.
    """

    def __init__(self, view: Rows, session: SessionRow, ruler: Ruler, tombstones: frozenset[bytes]) -> None:
        self._view = view
        self._session = session
        self._ruler = ruler
        self._tombstones = tombstones
        self._gone: dict[bytes, int] = {}
        self._gone_summaries: dict[bytes, tuple[int, int]] = {}
        self._owed: set[bytes] = set()
        self._owed_to_summaries: frozenset[bytes] = frozenset()

    def retire(self, facts: Iterable[tuple[bytes, str]]) -> None:
        """Summaries that the new one supersedes stop being carriers."""
        for key, letter in facts:
            verbatim, equivalent = self._gone_summaries.get(key, (0, 0))
            is_verbatim = LETTERS[letter][0] == "verbatim"
            self._gone_summaries[key] = (verbatim + is_verbatim, equivalent + (not is_verbatim))

    def elsewhere(self, key: bytes) -> CarrierCount:
        """Carriers of the fact that stay, the new summary left out."""
        count = assured_count(self._view, key, self._ruler.fact(key), self._session)
        verbatim, equivalent = self._gone_summaries.get(key, (0, 0))
        return CarrierCount(
            raw_window=count.raw_window - self._gone.get(key, 0),
            raw_stored=count.raw_stored,
            external=count.external,
            verbatim=count.verbatim - verbatim,
            equivalent=count.equivalent - equivalent,
        )

    def is_tombstoned(self, key: bytes) -> bool:
        """Dropped on purpose, on record or by this very request."""
        row = self._ruler.fact(key)
        return bool(row.tombstone) or row.expired or key in self._tombstones

    def covered(self, key: bytes) -> bool:
        """C3: does the summary keep the fact, or does something else provide for it?"""
        return is_covered(self._ruler.measure(key).outcome, self.elsewhere(key), tombstoned=self.is_tombstoned(key))

    def owe(self, key: bytes) -> None:
        """From here on the fact's cover must stay."""
        self._owed.add(key)

    def forget(self) -> None:
        """Nothing is taken and nothing owed any more but what the superseded summaries leave behind."""
        self._gone.clear()
        self._owed = set(self._owed_to_summaries)

    def settle_summaries(self) -> None:
        """What is owed so far is owed whatever spans are taken."""
        self._owed_to_summaries = frozenset(self._owed)

    def take(self, refs: Iterable[FactRef]) -> None:
        """The span with these facts goes."""
        for ref in refs:
            self._gone[ref.fact] = self._gone.get(ref.fact, 0) + 1

    def put_back(self, refs: Iterable[FactRef]) -> None:
        """The span stays after all."""
        for ref in refs:
            self._gone[ref.fact] -= 1

    def shortfall(self, span: SpanRow) -> Shortfall | None:
        """F2, C2, C3: why the span, already taken, may not go; None where it may."""
        if must_stay_raw(manifested=span.manifested, external=span.external):
            return Shortfall(span, "C2", UNMANIFESTED, [])
        if span.external:
            return None
        refs = span_facts(self._view, span.id).refs
        facts = self._ruler.measured(span, refs)
        needed = set(below_floor(facts))
        needed.update(
            index for index, ref in enumerate(refs) if ref.fact in self._owed and not self._ruler.measure(ref.fact).survives
        )
        if not needed:
            return None
        ratios = {index: (r.fidelity, r.floor) for r in measure(facts) for index in r.dropped}
        uncovered = [(refs[at], *ratios.get(at, ((0, 1), WHOLE))) for at in sorted(needed) if not self.covered(refs[at].fact)]
        if uncovered:
            return Shortfall(span, "F2", BELOW_FLOOR, uncovered)
        self._owed.update(refs[at].fact for at in needed if not self.is_tombstoned(refs[at].fact))
        return None


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
    attempt = Attempt(view, record, summary, ruler, walk, spans, dropped)
    if record.mode == "all":
        granted = spans if not dropped and not attempt.short_of_all() else None
        skipped: list[Shortfall] = []
    else:
        taken, skipped, enough = attempt.preferred()
        granted = taken if enough and not dropped else None
    if granted is not None:
        return _grant(view, record, head, summary, ruler, granted, _all_skipped(skipped, ruler), retires)
    return _refuse(record, head, ruler, attempt)


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
    """Facts with floor 1.0 that live on in a superseded summary only and that the new one does not keep (rule C3)."""
    dropped: dict[bytes, None] = {}
    for facts in carried:
        for key, _ in facts:
            if ruler.floor(key, ruler.fact(key).role) != WHOLE or ruler.measure(key).survives:
                continue
            if not walk.covered(key):
                dropped[key] = None
            elif not walk.is_tombstoned(key):
                walk.owe(key)
    walk.settle_summaries()
    return tuple(dropped)


class _Budget:
    """F3: counts freed tokens until the window fits."""

    def __init__(self, record: CompactionRequested, summary_tokens: int) -> None:
        self._tokens = {candidate.span: candidate.tokens for candidate in record.evictions}
        self._before, self._limit, self._summary = record.tokens_before, record.budget_tokens, summary_tokens
        self._freed = 0

    @property
    def is_set(self) -> bool:
        """Did the request name a budget and the tokens now in the window?"""
        return self._before is not None and self._limit is not None

    @property
    def met(self) -> bool:
        """Does the window fit?"""
        if self._before is None or self._limit is None:
            return False
        return budget_met(self._before, self._freed, self._summary, self._limit)

    def free(self, span: SpanRow) -> None:
        """The span's tokens are freed."""
        self._freed += self._tokens.get(span.id, 0)


class Attempt:
    """One request tried in both modes: what falls short, and what would have to be done about it."""

    def __init__(
        self,
        view: Rows,
        record: CompactionRequested,
        summary: SummaryRow,
        ruler: Ruler,
        walk: Walk,
        spans: list[SpanRow],
        dropped: tuple[bytes, ...],
    ) -> None:
        self._view = view
        self._record = record
        self._summary = summary
        self._ruler = ruler
        self._walk = walk
        self.spans = spans
        self.dropped = dropped

    def _budget(self) -> _Budget:
        return _Budget(self._record, self._summary.tokens or 0)

    def short_of_all(self) -> list[Shortfall]:
        """C3: what falls short when all candidates leave together."""
        self._walk.forget()
        for span in self.spans:
            self._walk.take(span_facts(self._view, span.id).refs)
        return [found for found in map(self._walk.shortfall, self.spans) if found is not None]

    def preferred(self) -> tuple[list[SpanRow], list[Shortfall], bool]:
        """F3: the order is a preference and not a mandate: what does not hold is skipped and the next candidate is tried, until
        the budget is met. Returns what leaves, what was skipped, and whether that is enough.
        """
        self._walk.forget()
        budget = self._budget()
        taken: list[SpanRow] = []
        short: list[Shortfall] = []
        for span in self.spans:
            if budget.met:
                break
            refs = span_facts(self._view, span.id).refs
            self._walk.take(refs)
            found = self._walk.shortfall(span)
            if found is None:
                taken.append(span)
                budget.free(span)
            else:
                self._walk.put_back(refs)
                short.append(found)
        return taken, short, bool(taken) and (budget.met or not budget.is_set)

    def within_budget(self) -> bool:
        """Does the window hold the summary without any span leaving?"""
        return self._budget().met

    def could_meet_budget(self) -> bool:
        """Would it be enough if every candidate left?"""
        budget = self._budget()
        for span in self.spans:
            budget.free(span)
        return bool(self.spans) and (budget.met or not budget.is_set)


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


def _refuse(record: CompactionRequested, head: Envelope, ruler: Ruler, attempt: Attempt) -> CompactionRefused:
    """C2, C3, F2, F3: nothing changes; evidence, and the ways out."""
    taken, skipped, enough = attempt.preferred()
    short = attempt.short_of_all() if record.mode == "all" else skipped
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
    shown, total = ranked(evidence)
    rule, reason = _why(record, attempt, short)
    if record.mode == "all":
        ways = _ways_for_all(attempt, short, evidence, tuple(span.id for span in taken) if enough else ())
    else:
        ways = _ways_for_prefer(attempt, short, evidence, enough=enough)
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


def _ways_for_all(
    attempt: Attempt, short: list[Shortfall], evidence: list[Evidence], prefer: tuple[str, ...]
) -> WouldPass:
    """Ways that let the whole request pass. Facts that a superseded summary alone carries bind whatever span is left out."""
    facts = tuple(dict.fromkeys(item.fact for item in evidence))
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


def _ways_for_prefer(attempt: Attempt, short: list[Shortfall], evidence: list[Evidence], *, enough: bool) -> WouldPass:
    """Ways that let the request pass: what was skipped already helps nobody, so only facts kept or spans saved elsewhere count."""
    if attempt.dropped and enough:  # the spans would do, were it not for the superseded summary
        facts = tuple(dict.fromkeys(item.fact for item in evidence if item.rule == "C3"))
        return WouldPass(carry_facts=_listed(facts), tombstone_facts=_listed(facts))
    if attempt.within_budget() or not attempt.could_meet_budget():
        return WouldPass()
    facts = tuple(dict.fromkeys(item.fact for item in evidence))
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
    outcomes = list(ruler.outcomes(spans))
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
