"""What a summary is worth for each class, over all spans that it replaces (rule F3's tags)."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.lookup import span_facts
from ledger.measurement import Ruler
from ledger.rows import SpanRow
from ledger.rules.floors import measure
from ledger.state import Rows
from schemas.decisions import Ratio, Tag
from schemas.facts import FACT_CLASSES, FactClass


def tags_of(view: Rows, ruler: Ruler, spans: Iterable[SpanRow]) -> tuple[Tag, ...]:
    """F3: (class, measured fidelity, floor), one for each class and floor, in class order."""
    sums: dict[tuple[FactClass, Ratio], tuple[int, int]] = {}
    for span in spans:
        for result in measure(ruler.measured(span, span_facts(view, span.id).refs)):
            kept, whole = sums.get((result.cls, result.floor), (0, 0))
            sums[(result.cls, result.floor)] = (kept + result.fidelity[0], whole + result.fidelity[1])
    return tuple(Tag(cls=cls, fidelity=sums[key], floor=key[1]) for cls in FACT_CLASSES for key in sums if key[0] == cls)
