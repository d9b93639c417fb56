"""Measures how the facts of spans fare in a summary: the one place where the fold compares texts (design section 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from ledger.facts import SummaryText, restated, survival
from ledger.lookup import as_fact, fact_row, floors_in_force, scope_row, span_facts
from ledger.rows import FactRef, FactRow, SpanRow, SummaryRow
from ledger.rules.floors import MeasuredFact, floor_of
from ledger.state import SUMMARY_TEXT, Rows, name_key
from schemas.decisions import LETTER_OF, LETTERS, Evidence, Outcomes, Ratio
from schemas.facts import FACT_CLASSES, SURVIVING, Fact, FactClass, FactKind, Outcome

EVIDENCE_BYTES_MAX = 64 * 1024
"""Evidence beyond this is cut by rank, and the total says so: a decision must fit a log entry whatever a round dropped."""

_SEVERITY: Mapping[Outcome, int] = {
    "inverted": 0,
    "changed": 1,
    "weakened": 2,
    "missing": 3,
    "unknown": 4,
    "equivalent": 5,
    "verbatim": 6,
}
_encode = msgspec.json.Encoder().encode


class Measured(msgspec.Struct, frozen=True):
    """How one fact fares: its letter (see `schemas.decisions.LETTERS`) and where the summary speaks of it."""

    letter: str
    start: int | None = None
    end: int | None = None

    @property
    def outcome(self) -> Outcome:
        """The outcome without its marks."""
        return LETTERS[self.letter][0]

    @property
    def survives(self) -> bool:
        """Verbatim or equivalent (rule F2)."""
        return self.outcome in SURVIVING

    @property
    def quantifier_changed(self) -> bool:
        """An all, some, only or at least was altered."""
        return LETTERS[self.letter][1]


UNKNOWN = Measured("u")


def prevailing(found: Sequence[Measured]) -> Measured:
    """How a fact fares in several texts that the agent reads at once: one that says the opposite is a false statement whatever
    the others say, else the best of them counts.
    """
    ranked_ = sorted(found, key=lambda item: _SEVERITY[item.outcome])
    if not ranked_:
        return UNKNOWN
    return ranked_[0] if ranked_[0].outcome == "inverted" else ranked_[-1]


class Ruler:
    """Measures facts against one summary, each fact once. A summary that has no text gives *unknown* for every fact."""

    def __init__(self, view: Rows, summary: SummaryRow | None) -> None:
        self._view = view
        self._floors = floors_in_force(scope_row(view))
        self._known: dict[bytes, Measured] = {}
        self._rows: dict[bytes, FactRow] = {}
        self._said: dict[str, str] = {}
        self._text: SummaryText | None = None
        if summary is not None and summary.state == "text":
            row = view.get(SUMMARY_TEXT, name_key(summary.id))
            self._text = SummaryText(row.text) if row is not None else None

    @property
    def can_judge(self) -> bool:
        """Is there a text to compare with?"""
        return self._text is not None

    def fact(self, key: bytes) -> FactRow:
        """The row of a fact that a span lists."""
        row = self._rows.get(key)
        if row is None:
            row = fact_row(self._view, key)
            assert row is not None, "a listed fact has a row"
            self._rows[key] = row
        return row

    def measure(self, key: bytes) -> Measured:
        """How this fact fares."""
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._measure(key)
        return known

    def _measure(self, key: bytes) -> Measured:
        row = self.fact(key)
        return self.of(as_fact(row), lambda: self._said_in(row.span))

    def _said_in(self, span: str) -> str:
        """What the facts of a span say, as a text: what a summary has beyond it, it does not have from there."""
        said = self._said.get(span)
        if said is None:
            said = self._said[span] = "\n".join(self.fact(ref.fact).value for ref in span_facts(self._view, span).refs)
        return said

    def of(self, fact: Fact, source: Callable[[], str] = str) -> Measured:
        """How a fact fares, among what its `source` says."""
        if self._text is None:
            return UNKNOWN
        finding = restated(fact, survival(fact, self._text), source, self._text)
        quantifier = finding.quantifier == "changed" and finding.outcome in ("changed", "weakened")
        hedge = finding.hedge == "stripped" and finding.outcome in SURVIVING
        return Measured(LETTER_OF[(finding.outcome, quantifier, hedge)], finding.start, finding.end)

    def floor(self, key: bytes, role: str) -> Ratio:
        """F1: the floor of a fact said by this role."""
        row = self.fact(key)
        return floor_of(_class(row.cls), _kind(row.kind), role, self._floors)

    def letters(self, keys: Iterable[bytes]) -> str:
        """One letter a fact."""
        return "".join(self.measure(key).letter for key in keys)

    def outcomes(self, spans: Iterable[SpanRow]) -> tuple[Outcomes, ...]:
        """Letters of every span that has facts."""
        found = []
        for span in spans:
            refs = span_facts(self._view, span.id).refs
            if refs:
                found.append(Outcomes(span.id, self.letters(ref.fact for ref in refs)))
        return tuple(found)

    def outcomes_in_order(self, spans: Iterable[SpanRow]) -> tuple[Outcomes, ...]:
        """Letters of spans that the decision lists elsewhere, in the same order: the first by name, the rest behind it."""
        listed = list(spans)
        letters = ",".join(self.letters(ref.fact for ref in span_facts(self._view, span.id).refs) for span in listed)
        return (Outcomes(listed[0].id, letters),) if letters.strip(",") else ()

    def measured(self, span: SpanRow, refs: Iterable[FactRef]) -> list[MeasuredFact]:
        """The facts of a span as rule F2 wants them."""
        facts = []
        for ref in refs:
            found = self.measure(ref.fact)
            row = self.fact(ref.fact)
            facts.append(
                MeasuredFact(_class(row.cls), self.floor(ref.fact, span.role), found.outcome, found.quantifier_changed)
            )
        return facts

    def evidence(
        self, ref: FactRef, span: str, rule: str, floor: Ratio | None = None, fidelity: Ratio | None = None
    ) -> Evidence:
        """A fact as it stands in a decision: by id and offsets, without a quote."""
        found = self.measure(ref.fact)
        row = self.fact(ref.fact)
        return Evidence(
            fact=row.id,
            cls=_class(row.cls),
            span=span,
            start=ref.start,
            end=ref.end,
            outcome=found.outcome,
            rule=rule,
            floor=floor,
            fidelity=fidelity,
            summary_start=found.start,
            summary_end=found.end,
        )


def ranked(
    evidence: Iterable[Evidence], complete: Callable[[Evidence], Evidence] = lambda item: item
) -> tuple[tuple[Evidence, ...], int]:
    """Evidence by rank, worst first, cut at `EVIDENCE_BYTES_MAX`, with the number before the cut. `complete` adds to each piece
    that is shown what is not worth finding out for the others.
    """
    order = sorted(evidence, key=lambda item: (_SEVERITY[item.outcome], FACT_CLASSES.index(item.cls)))
    kept, size = [], 0
    for bare in order:
        item = complete(bare)
        size += len(_encode(item))
        if size > EVIDENCE_BYTES_MAX:
            break
        kept.append(item)
    return tuple(kept), len(order)


def _class(value: str) -> FactClass:
    for cls in FACT_CLASSES:
        if cls == value:
            return cls
    return "narrative"


def _kind(value: str) -> FactKind:
    return value if value in ("decided", "rejected", "reason") else ""  # type: ignore[return-value]
