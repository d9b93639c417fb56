"""Candidates of a requested compaction taken one by one, with a count of what they carry away (rules C2, C3, F2, F3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from ledger.lookup import assured_count, span_facts
from ledger.measurement import Ruler
from ledger.rows import FactRef, SessionRow, SpanRow, SummaryRow
from ledger.rules.carriers import (
    BELOW_FLOOR,
    LAST_CARRIER,
    UNMANIFESTED,
    CarrierCount,
    is_covered,
    is_released_from_store,
    must_stay_raw,
)
from ledger.rules.floors import WHOLE, below_floor, budget_met, measure
from ledger.state import Rows
from schemas.decisions import LETTERS, Ratio
from schemas.records import CompactionRequested


class _Measured(msgspec.Struct, frozen=True):
    """The facts of one span as the summary leaves them, whatever other spans do: worked out once for all attempts."""

    refs: tuple[FactRef, ...]
    below: tuple[int, ...]
    ratios: Mapping[int, tuple[Ratio, Ratio]]


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
        self._spans: dict[str, _Measured] = {}
        self._assured: dict[bytes, CarrierCount] = {}
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
        count = self._assured.get(key)
        if count is None:
            count = self._assured[key] = assured_count(self._view, key, self._ruler.fact(key), self._session)
        verbatim, equivalent = self._gone_summaries.get(key, (0, 0))
        return CarrierCount(
            raw_window=count.raw_window - self._gone.get(key, 0),
            raw_stored=count.raw_stored,
            external=count.external,
            verbatim=count.verbatim - verbatim,
            equivalent=count.equivalent - equivalent,
            summaries_stored=count.summaries_stored,
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

    def releases(self, key: bytes) -> bool:
        """C1, P5: may the fact's store entries still go by the evictions that are pending? They were granted because of
        carriers that this compaction may take away, and then an equivalent statement is not enough.
        """
        row = self._ruler.fact(key)
        if not row.leaving_store or self._ruler.measure(key).outcome == "verbatim":
            return True
        return is_released_from_store(self.elsewhere(key), tombstoned=self.is_tombstoned(key), referred=not row.expired)

    def take(self, span: SpanRow) -> None:
        """The span goes, with its facts."""
        for ref in self._measured(span).refs:
            self._gone[ref.fact] = self._gone.get(ref.fact, 0) + 1

    def put_back(self, span: SpanRow) -> None:
        """The span stays after all."""
        for ref in self._measured(span).refs:
            self._gone[ref.fact] -= 1

    def _measured(self, span: SpanRow) -> _Measured:
        known = self._spans.get(span.id)
        if known is None:
            refs = span_facts(self._view, span.id).refs
            facts = self._ruler.measured(span, refs)
            results = measure(facts)
            ratios = {index: (result.fidelity, result.floor) for result in results for index in result.dropped}
            known = self._spans[span.id] = _Measured(refs, below_floor(facts, results), ratios)
        return known

    def shortfall(self, span: SpanRow) -> Shortfall | None:
        """F2, C2, C3: why the span, already taken, may not go; None where it may."""
        if must_stay_raw(manifested=span.manifested, external=span.external):
            return Shortfall(span, "C2", UNMANIFESTED, [])
        if span.external:
            return None
        known = self._measured(span)
        refs, ratios, needed = known.refs, known.ratios, set(known.below)
        if self._owed:
            needed.update(
                index for index, ref in enumerate(refs) if ref.fact in self._owed and not self._ruler.measure(ref.fact).survives
            )
        bound = {index for index, ref in enumerate(refs) if not self.releases(ref.fact)}
        if not needed and not bound:
            return None
        lacking = {at for at in needed if not self.covered(refs[at].fact)}
        uncovered = [(refs[at], *ratios.get(at, ((0, 1), WHOLE))) for at in sorted(lacking | bound)]
        if uncovered:
            return Shortfall(span, *(("F2", BELOW_FLOOR) if lacking else ("C1", LAST_CARRIER)), uncovered)
        self._owed.update(refs[at].fact for at in needed if not self.is_tombstoned(refs[at].fact))
        return None


class Budget:
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
        record: CompactionRequested,
        summary: SummaryRow,
        ruler: Ruler,
        walk: Walk,
        spans: list[SpanRow],
        dropped: tuple[bytes, ...],
        retires: tuple[str, ...],
    ) -> None:
        self._record = record
        self._summary = summary
        self._ruler = ruler
        self._walk = walk
        self.spans = spans
        self.dropped = dropped
        self.retires = retires
        self._short_of_all: list[Shortfall] | None = None

    def _budget(self) -> Budget:
        return Budget(self._record, self._summary.tokens or 0)

    def short_of_all(self) -> list[Shortfall]:
        """C3: what falls short when all candidates leave together."""
        if self._short_of_all is None:
            self._walk.forget()
            for span in self.spans:
                self._walk.take(span)
            self._short_of_all = [found for found in map(self._walk.shortfall, self.spans) if found is not None]
        return self._short_of_all

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
            self._walk.take(span)
            found = self._walk.shortfall(span)
            if found is None:
                taken.append(span)
                budget.free(span)
            else:
                self._walk.put_back(span)
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
