"""Summaries and the spans that back them: what decays, what crosses the boundary, what a gate's decision leaves behind."""

from __future__ import annotations

import msgspec

from ledger.evolve.effects import Effects
from ledger.evolve.requests import remember_request
from ledger.lookup import span_row, spans_in, summary_row
from ledger.rows import PlaceRow, SessionRow, SpanRow, SummaryRow
from ledger.rules.rehydration import crosses_boundary, underivable
from ledger.state import DEPENDS, SUMMARY, name_key, ordinal_key
from schemas.decisions import ActionAllowed, ActionDenied
from schemas.records import ActionProposed, SummaryRecorded

replace = msgspec.structs.replace
DEPENDENCIES_CHANGED_MAX = 100
"""Changed dependencies that a summary lists by name; more than one is enough to say that it decayed."""


def keys_of(record: SummaryRecorded) -> tuple[str, ...]:
    """Keys under which a summary says its backing can be found: its own and those of its claims."""
    claimed = tuple(claim.key for claim in record.claims if claim.key is not None)
    return tuple(dict.fromkeys((*record.keys, *claimed)))


def register_backing(fx: Effects, session: SessionRow, record: SummaryRecorded, summary: SummaryRow) -> SummaryRow:
    """R1, R4: note the keys that the text does not yield, and every span that the summary depends on."""
    text = record.text.text if record.text is not None else ""
    keys = keys_of(record)
    summary = replace(
        summary,
        covers=tuple((item.first, item.last) for item in record.covers),
        depends_on=record.depends_on,
        keys=keys,
        underivable=underivable(keys, text),
    )
    covered = (span.id for span in spans_in(fx.draft, session, record.covers))
    for name in dict.fromkeys((*record.depends_on, *covered)):
        fx.draft.put(DEPENDS, name_key(name) + ordinal_key(summary.ordinal), PlaceRow(span=summary.id))
    if summary.underivable:
        fx.raise_alert(
            kind="key_not_derivable",
            rule="R1",
            severity="ticket",
            subject=f"keys:{summary.id}",
            reason=", ".join(summary.underivable),
        )
    return summary


def resolves(span: SpanRow | None) -> bool:
    """Can the raw span still be reached anywhere?"""
    return span is not None and (span.in_window or span.in_store or span.external)


def dependency_changed(fx: Effects, span: str) -> None:
    """R4, R6: a span's entry went, or a fact of it was dropped on purpose: summaries that depend on it decay, those that say
    what they depend on only by that, and one whose key nobody could derive has crossed the boundary once the span resolves
    nowhere.
    """
    for _, place in list(fx.draft.walk(DEPENDS, name_key(span))):
        summary = summary_row(fx.draft, place.span)
        if summary is None:
            continue
        depends = not summary.depends_on or span in summary.depends_on
        if depends and span not in summary.changed and len(summary.changed) < DEPENDENCIES_CHANGED_MAX:
            summary = replace(summary, changed=(*summary.changed, span), verified=False)
            fx.draft.put(SUMMARY, name_key(summary.id), summary)
        check_boundary(fx, summary, span)


def check_boundary(fx: Effects, summary: SummaryRow, span: str) -> None:
    """R6: page for a live, confident summary whose key cannot be derived and whose span is gone."""
    gone = not resolves(span_row(fx.draft, span))
    if crosses_boundary(key_derivable=not summary.underivable, resolves=not gone, live=summary.live):
        fx.raise_alert(
            kind="boundary_crossed",
            rule="R6",
            severity="page",
            subject=f"summary:{summary.id}",
            reason=f"span {span} resolves nowhere, and {', '.join(summary.underivable)} cannot be derived from the summary",
        )


def check_boundary_of(fx: Effects, session: SessionRow, summary: SummaryRow) -> None:
    """R6 for every span that a summary names, at the moment it goes live."""
    if not summary.underivable:
        return
    names = dict.fromkeys(summary.depends_on)
    for first, last in summary.covers:
        names[first] = names[last] = None
    for name in names:
        check_boundary(fx, summary, name)


def on_action_allowed(fx: Effects, decision: ActionAllowed, record: ActionProposed) -> None:
    """R4: a summary whose claim was just verified has that authority until its dependencies change."""
    remember_request(fx, decision, "allowed")
    for fetched, result in zip(record.claims, decision.claims, strict=False):
        summary = summary_row(fx.draft, fetched.claim.summary) if fetched.claim.summary else None
        if summary is not None and result.status == "holds":
            fx.draft.put(SUMMARY, name_key(summary.id), replace(summary, verified=True))
    fx.resolve_alert("R5", f"action:{decision.session}:{record.name}", f"allowed: {decision.request_id}")


def on_action_denied(fx: Effects, decision: ActionDenied, record: ActionProposed) -> None:
    """R5, R6: a denied action is a ticket; a claim without derivable key whose span does not resolve is a page."""
    remember_request(fx, decision, "denied")
    fx.raise_alert(
        kind="action_denied",
        rule="R5",
        severity="ticket",
        subject=f"action:{decision.session}:{record.name}",
        reason=decision.reason,
    )
    for fetched, result in zip(record.claims, decision.claims, strict=False):
        summary = summary_row(fx.draft, fetched.claim.summary) if fetched.claim.summary else None
        if summary is not None and result.status == "key_not_derivable" and fetched.status != "ok":
            fx.raise_alert(
                kind="boundary_crossed",
                rule="R6",
                severity="page",
                subject=f"summary:{summary.id}",
                reason=f"an action rests on it, its key cannot be derived, the fetch answered {fetched.status or 'nothing'}",
            )
