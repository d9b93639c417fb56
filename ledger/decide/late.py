"""Facts that become known after their span has left the window: judged as its compaction would have been (C2, C3, F2)."""

from __future__ import annotations

from ledger.decide.envelope import envelope
from ledger.decide.others import Others
from ledger.grounding import facts_to_add
from ledger.lookup import carrier_count, fact_row, floors_in_force, round_row, scope_row, session_at, span_row, summary_row
from ledger.measurement import Measured, Ruler, prevailing
from ledger.rows import SessionRow, SpanRow
from ledger.rules.carriers import CarrierCount, is_covered
from ledger.rules.floors import MeasuredFact, below_floor, floor_of, measure
from ledger.state import SUMMARY_TEXT, Rows, fact_key, name_key
from schemas.decisions import CompactionJudged, Evidence, Outcomes
from schemas.facts import Fact
from schemas.records import ManifestRecorded

LATE_MANIFEST = "late_manifest"


def judge_late(view: Rows, record: ManifestRecorded) -> CompactionJudged | None:
    """C2, C3, F2: what the session's live summaries say of facts that a manifest adds to a span which has left the window.

    Letters stand by summary, one a fact in the order of the manifest. None for a span that is in the window still, or that
    never was there, and for a manifest that adds nothing.
    """
    span, session, facts = _added(view, record)
    if span is None or session is None or not facts:
        return None
    rulers = {name: Ruler(view, summary_row(view, name)) for name in session.live}
    letters = {name: [ruler.of(fact) for fact in facts] for name, ruler in rulers.items() if ruler.can_judge}
    measured = [prevailing([found[at] for found in letters.values()]) for at in range(len(facts))]
    evidence = _evidence(view, session, span, facts, measured)
    shown, total = Others(view, session).ranked(evidence)
    left = round_row(view, session, span.left_round)
    name = next(reversed(letters), "")
    head = envelope(view, record)
    head["session"] = session.id  # whoever measured it
    return CompactionJudged(
        **head,
        rule="C3",
        reason=LATE_MANIFEST,
        evidence=shown,
        evidence_total=total,
        round=left.round if left is not None else "",
        ordinal=span.left_round,
        turn=left.turn if left is not None else -1,
        verdict="unknown" if not letters else "violated" if evidence else "held",
        summary=name or None,
        summary_state="text" if name else "missing",
        outcomes=tuple(Outcomes(name, "".join(item.letter for item in found)) for name, found in letters.items()),
    )


def adds_late(view: Rows, record: ManifestRecorded) -> bool:
    """Does the manifest add facts to a span that has left the window, so that it is judged?"""
    _, session, facts = _added(view, record)
    return session is not None and bool(facts)


def _added(view: Rows, record: ManifestRecorded) -> tuple[SpanRow | None, SessionRow | None, list[Fact]]:
    span = span_row(view, record.span)
    if span is None or span.in_window or not span.left_round:
        return None, None, []
    kept = view.get(SUMMARY_TEXT, name_key(span.id))
    facts, _ = facts_to_add(view, span, record.manifest, kept.text if kept is not None else None, record.scope)
    return span, session_at(view, span.session), facts


def _evidence(view: Rows, session: SessionRow, span: SpanRow, facts: list[Fact], measured: list[Measured]) -> list[Evidence]:
    """Facts below their floor that nothing else carries."""
    floors = floors_in_force(scope_row(view))
    results = [
        MeasuredFact(fact.cls, floor_of(fact.cls, fact.kind, span.role, floors), found.outcome, found.quantifier_changed)
        for fact, found in zip(facts, measured, strict=True)
    ]
    ratios = {index: (result.fidelity, result.floor) for result in measure(results) for index in result.dropped}
    found = []
    for index in below_floor(results):
        fact, here = facts[index], measured[index]
        if here.outcome == "unknown" or _covered(view, session, span, fact, here):
            continue
        fidelity, floor = ratios.get(index, (None, None))
        found.append(
            Evidence(
                fact=fact.id,
                cls=fact.cls,
                span=span.id,
                start=fact.start,
                end=fact.end,
                outcome=here.outcome,
                rule="F2",
                floor=floor,
                fidelity=fidelity,
                summary_start=here.start,
                summary_end=here.end,
            )
        )
    return found


def _covered(view: Rows, session: SessionRow, span: SpanRow, fact: Fact, found: Measured) -> bool:
    """C3: another carrier, the span's own store entry among them, or a tombstone."""
    row = fact_row(view, fact_key(fact.id))
    count = carrier_count(view, fact_key(fact.id), row, session) if row is not None else CarrierCount()
    elsewhere = CarrierCount(raw_stored=count.total + span.in_store + span.external)
    dropped = row is not None and (row.expired or (bool(row.tombstone) and span.ordinal <= row.tombstoned_at))
    return is_covered(found.outcome, elsewhere, tombstoned=dropped)
