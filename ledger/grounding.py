"""Which facts of a manifest are taken: those that stand in their span's text, and that the span does not list yet."""

from __future__ import annotations

from ledger.facts import grounded
from ledger.lookup import span_facts
from ledger.rows import SpanRow
from ledger.state import Rows, fact_key
from schemas.facts import Fact, Manifest


def facts_to_add(view: Rows, span: SpanRow, manifest: Manifest, text: str | None, scope: str) -> tuple[list[Fact], int]:
    """C2: listed facts that are new to the span, each once, and how many do not stand at their offsets. Without the text, which
    is kept only until a span has a good manifest, the offsets alone are checked.
    """
    seen = {ref.fact for ref in span_facts(view, span.id).refs}
    fresh: list[Fact] = []
    ungrounded = 0
    for fact in manifest.facts:
        if not 0 <= fact.start < fact.end <= span.length or (text is not None and not grounded(fact, text, scope_key=scope)):
            ungrounded += 1
        elif fact_key(fact.id) not in seen:
            seen.add(fact_key(fact.id))
            fresh.append(fact)
    return fresh, ungrounded
