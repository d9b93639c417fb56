"""Who else carries a fact that a decision shows as evidence (contracts section 2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice

import msgspec

from ledger.lookup import span_row, summary_row
from ledger.measurement import ranked
from ledger.rows import SessionRow, SpanRow, SummaryRow
from ledger.state import CARRIED, CARRIER_OF, Rows, fact_key, name_key
from schemas.decisions import Evidence

CARRIERS_MAX = 8
"""Carriers that one piece of evidence names: enough to look at, and the decision has to fit a log entry."""

LOOKED_AT_MAX = 64
"""Carriers of a fact that are looked at for it: what everybody repeats costs no more than that."""


class Others:
    """Names carriers that one session can reach besides what a decision takes away: spans from its window or from the store,
    and summaries that are superseded. What stands in a store as well is a carrier still.
    """

    def __init__(
        self,
        view: Rows,
        session: SessionRow,
        *,
        from_window: Collection[str] = frozenset(),
        from_store: Collection[str] = frozenset(),
        retired: Collection[str] = frozenset(),
    ) -> None:
        self._view = view
        self._session = session
        self._from_window = from_window
        self._from_store = from_store
        self._retired = retired
        self._carried: dict[str, frozenset[bytes]] = {}

    def ranked(self, evidence: Iterable[Evidence]) -> tuple[tuple[Evidence, ...], int]:
        """Evidence by rank, cut, each piece with its other carriers; see `ledger.measurement.ranked`."""
        return ranked(evidence, self._complete)

    def _complete(self, item: Evidence) -> Evidence:
        return msgspec.structs.replace(item, carriers=tuple(self._of(fact_key(item.fact), item.span)))

    def _of(self, fact: bytes, own: str) -> Iterable[str]:
        places = islice(self._view.walk(CARRIER_OF, fact), LOOKED_AT_MAX)
        return islice((place.span for _, place in places if self._carries(place.span, fact, own)), CARRIERS_MAX)

    def _carries(self, name: str, fact: bytes, own: str) -> bool:
        span = span_row(self._view, name)
        if span is not None:
            return self._has_span(span, own)
        summary = summary_row(self._view, name)
        return summary is not None and self._has_summary(summary) and fact in self._facts_of(name)

    def _has_span(self, span: SpanRow, own: str) -> bool:
        here = span.in_window and span.session == self._session.ordinal and not self._session.closed and not span.leaving
        stored = span.in_store and not span.leaving_store and span.id not in self._from_store
        return (here and span.id not in self._from_window and span.id != own) or stored or span.external

    def _has_summary(self, summary: SummaryRow) -> bool:
        live = summary.live and summary.session == self._session.ordinal and not self._session.closed
        return summary.in_store or (live and summary.id not in self._retired)

    def _facts_of(self, name: str) -> frozenset[bytes]:
        known = self._carried.get(name)
        if known is None:
            row = self._view.get(CARRIED, name_key(name))
            known = self._carried[name] = frozenset(fact for fact, _ in row.facts) if row is not None else frozenset()
        return known
