"""What backs a claim, asked for through the agent's own path before the claim is used (rules R1, R2)."""

from __future__ import annotations

from ledger.lookup import span_row, summary_row
from ledger.retrieval import Fetched, Retrieval
from ledger.rows import SummaryRow
from ledger.rules.rehydration import is_derivable
from ledger.state import Rows
from schemas.records import Claim

COVERED_SPANS_MAX = 50
"""Covered spans that are tried for one claim: a summary of more is looked up by key or not at all."""


async def rehydrate(rows: Rows, claim: Claim, retrieval: Retrieval) -> Fetched:
    """The raw span behind a claim. A claim by key is fetched by it. A claim by summary is fetched by the summary's keys, as far
    as they can be derived from its text, and those stand for the spans it covers; one without keys by what it covers.
    """
    if claim.summary is None:
        if claim.key is None:
            return Fetched(status="absent", key="", detail="the claim names neither a key nor a summary")
        return await retrieval.fetch(claim.key)
    summary = summary_row(rows, claim.summary)
    if summary is None:
        return Fetched(status="absent", key=claim.summary, detail="no such summary on record")
    if summary.keys and len(summary.underivable) == len(summary.keys):
        return Fetched(status="absent", key=summary.keys[0], detail="no key can be derived from the summary")
    best = Fetched(status="absent", key=claim.summary, detail="nothing that the summary covers is in the store")
    for key in _keys(rows, summary, claim.text):
        found = await retrieval.fetch(key)
        if found.status == "ok" and found.raw:
            return found
        best = found if best.status == "absent" else best
    return best


def _keys(rows: Rows, summary: SummaryRow, text: str) -> list[str]:
    """Keys to try, in order: those that the claim itself yields, the summary's derivable ones, then the spans it covers."""
    derivable = [key for key in summary.keys if key not in summary.underivable]
    derivable.sort(key=lambda key: not is_derivable(key, text))
    covered = [name for first, last in summary.covers for name in dict.fromkeys((first, last))]
    spans = [name for name in (*summary.depends_on, *covered) if span_row(rows, name) is not None]
    return list(dict.fromkeys((*derivable, *spans)))[:COVERED_SPANS_MAX]
