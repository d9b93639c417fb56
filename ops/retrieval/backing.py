"""What backs a claim, asked for through the agent's own path before the claim is used (rules R1, R2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from ledger.facts import SummaryText, extract, survival
from ledger.lookup import session_at, span_row, spans_in, summary_row
from ledger.masking import mask
from ledger.retrieval import Fetched, Retrieval
from ledger.rows import SummaryRow
from ledger.rules.rehydration import is_derivable
from ledger.state import Rows
from schemas.facts import SURVIVING, Fact
from schemas.records import Claim, SpanRange

COVERED_SPANS_MAX = 50
"""Covered spans that are tried for one claim: a summary of more is looked up by key or not at all."""


class Backing(msgspec.Struct, frozen=True):
    """The keys to try for a claim, in order, the answer where none of them gives more, and the words of the claim."""

    keys: tuple[str, ...]
    otherwise: Fetched
    claim: str = ""


async def rehydrate(rows: Rows, claim: Claim, retrieval: Retrieval) -> Fetched:
    """The raw span behind a claim, as `backing_of` and `fetch_first` find it."""
    return await fetch_first(backing_of(rows, claim), retrieval)


def backing_of(rows: Rows, claim: Claim) -> Backing:
    """Where to look. A claim by key is fetched by it. A claim by summary is fetched by the summary's keys, as far as they can
    be derived from its text, and those stand for the spans it covers; one without keys by what it covers.
    """
    if claim.summary is None:
        if claim.key is None:
            return _nowhere("", "the claim names neither a key nor a summary")
        return Backing((claim.key,), Fetched(status="absent", key=claim.key))
    summary = summary_row(rows, claim.summary)
    if summary is None:
        return _nowhere(claim.summary, "no such summary on record")
    if summary.keys and len(summary.underivable) == len(summary.keys):
        return _nowhere(summary.keys[0], "no key can be derived from the summary")
    otherwise = Fetched(status="absent", key=claim.summary, detail="nothing that the summary covers is in the store")
    return Backing(tuple(_keys(rows, summary, claim.text)), otherwise, claim.text)


def _nowhere(key: str, why: str) -> Backing:
    return Backing((), Fetched(status="absent", key=key, detail=why))


async def fetch_first(backing: Backing, retrieval: Retrieval) -> Fetched:
    """The first raw span that comes back and states the claim, since a summary covers more than one; else the first raw span
    that comes back; else the first answer that says more than that a key is absent.
    """
    said = extract(backing.claim, "assistant", scope_key="").facts if len(backing.keys) > 1 else ()
    best = backing.otherwise
    for key in backing.keys:
        found = await retrieval.fetch(key)
        if found.status == "ok" and found.raw:
            if _states(found.text, said):
                return found
            best = best if best.status == "ok" and best.raw else found
        elif best.status == "absent":
            best = found
    return best


def _states(text: str, said: Sequence[Fact]) -> bool:
    """Does a span say all of it? The fold judges again, and more strictly (R3)."""
    words = SummaryText(mask(text))
    return all(survival(fact, words).outcome in SURVIVING for fact in said)


def _keys(rows: Rows, summary: SummaryRow, text: str) -> list[str]:
    """Keys to try, in order: those that the claim itself yields, the summary's derivable ones, then the spans it covers."""
    derivable = [key for key in summary.keys if key not in summary.underivable]
    derivable.sort(key=lambda key: not is_derivable(key, text))
    depends_on = [name for name in summary.depends_on if span_row(rows, name) is not None]
    return list(dict.fromkeys((*derivable, *depends_on, *_covered(rows, summary))))[:COVERED_SPANS_MAX]


def _covered(rows: Rows, summary: SummaryRow) -> Iterator[str]:
    session = session_at(rows, summary.session)
    if session is None:
        return
    ranges = (SpanRange(first, last) for first, last in summary.covers)
    yield from (span.id for span in islice(spans_in(rows, session, ranges), COVERED_SPANS_MAX))
