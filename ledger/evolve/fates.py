"""What becomes of a fact whose span leaves the window: carried, turned, lost or unknown, and what is alerted (C3, C5, C6, F2).

Everything here follows from letters that a decision holds and from the rows; nothing is measured again.
"""

from __future__ import annotations

import msgspec

from ledger.evolve.effects import Effects
from ledger.evolve.facts import add_life, in_session_key, lost_key, subject_of
from ledger.lookup import carrier_count, fact_row, is_referred, span_row
from ledger.rows import FactInSessionRow, FactRow, LifeRow, LostRow, SessionRow
from ledger.rules.carriers import life_step
from ledger.state import FACT_IN_SESSION, LOST, fact_key
from schemas.alerts import Severity
from schemas.decisions import LETTERS, Evidence, Outcomes, Tag
from schemas.facts import Outcome

replace = msgspec.structs.replace


class Departure(msgspec.Struct, frozen=True, kw_only=True):
    """What a compaction did, whether granted and applied or observed."""

    round: str
    event: str
    decision: str
    observed: bool
    verdict: str
    turn: int
    trigger: str
    summary: str
    summary_state: str
    outcomes: tuple[Outcomes, ...]
    retires: tuple[str, ...]
    tags: tuple[Tag, ...]
    unseen: frozenset[str] = frozenset()
    kept: int = 0
    tokens_before: int | None = None
    tokens_after: int | None = None
    evidence: tuple[Evidence, ...] = ()


class Touched(msgspec.Struct):
    """A fact that left with a span or a superseded summary in this round."""

    letter: str
    span: str
    start: int
    end: int
    needed: bool = False
    from_summary: bool = False


UNMEASURED = "u"
"""The letter of a fact that became known after its decision: a manifest that came while a grant was pending."""


class Tally(msgspec.Struct):
    """Facts of a round by fate; they add up (rule D1)."""

    dropped: int = 0
    survived: int = 0
    lost: int = 0
    unknown: int = 0
    fresh: int = 0
    """Facts that no earlier round of the session had dropped."""


def group_of(session: SessionRow, what: Departure) -> str:
    """The group of a round's alerts."""
    return f"{session.id}/{what.round}"


def settle(fx: Effects, session: SessionRow, what: Departure, touched: dict[bytes, Touched]) -> Tally:
    """C5: the fate of every fact that left in this round."""
    tally = Tally()
    places = {item.fact: (item.summary_start, item.summary_end) for item in what.evidence}
    for fact, hit in touched.items():
        row = fact_row(fx.draft, fact)
        assert row is not None, "a touched fact has a row"
        _settle_fact(fx, session, what, tally, row, hit, places.get(row.id, (None, None)))
    return tally


def _settle_fact(
    fx: Effects,
    session: SessionRow,
    what: Departure,
    tally: Tally,
    row: FactRow,
    hit: Touched,
    place: tuple[int | None, int | None],
) -> None:
    """C5: the fate of one fact in one round, with its place in the record of losses and its alerts."""
    fact = fact_key(row.id)
    outcome, quantifier_changed, hedge_stripped = LETTERS[hit.letter]
    left = carrier_count(fx.draft, fact, row, session).total
    step = LifeRow(
        step=life_step(outcome, was_carried_by_summary=hit.from_summary, carriers_left=left),
        session=session.id,
        round=session.rounds,
        carrier=what.summary,
        outcome=outcome,
        start=place[0],
        end=place[1],
    )
    add_life(fx, fact, step)
    mine = fx.draft.get(FACT_IN_SESSION, in_session_key(fact, session)) or FactInSessionRow()
    tally.dropped += 1
    tally.fresh += not mine.dropped
    mine = replace(mine, dropped=True)
    if not left and outcome == "unknown":
        tally.unknown += 1
        mine = replace(mine, unknown_round=session.rounds)
    elif not left:
        tally.lost += 1
        mine = replace(mine, lost_round=session.rounds)
        fx.draft.put(LOST, lost_key(session, session.rounds, fact), _loss(hit, outcome, what.summary, place))
    else:
        tally.survived += 1
    if outcome == "inverted" or quantifier_changed:
        mine = replace(mine, turned_round=session.rounds)
    if hedge_stripped:
        mine = replace(mine, stripped_round=session.rounds)
    fx.draft.put(FACT_IN_SESSION, in_session_key(fact, session), mine)
    if is_referred(row):
        alert_fact(fx, session, what, fact, row, hit, gone=not left, hedge=hedge_stripped)


def _loss(hit: Touched, outcome: Outcome, summary: str, place: tuple[int | None, int | None]) -> LostRow:
    return LostRow(
        span=hit.span,
        start=hit.start,
        end=hit.end,
        outcome=outcome,
        summary=summary,
        summary_start=place[0],
        summary_end=place[1],
    )


def alert_fact(
    fx: Effects, session: SessionRow, what: Departure, fact: bytes, row: FactRow, hit: Touched, *, gone: bool, hedge: bool
) -> None:
    """Which boundary one fact crossed, if any: turned (F2), lost (C3), surer than its source (C6)."""
    outcome, quantifier_changed, _ = LETTERS[hit.letter]
    kind, rule, severity = _alert_kind(row, outcome, quantifier_changed, gone, hit.needed, hedge)
    if kind == "prohibition_lost" and not binds(fx, row, hit.span):
        severity = "ticket"
    if not kind:
        return
    evidence = Evidence(
        fact=row.id,
        cls=row.cls,  # type: ignore[arg-type]
        span=hit.span,
        start=hit.start,
        end=hit.end,
        outcome=outcome,
        rule=rule,
    )
    fx.raise_alert(
        kind=kind,
        rule=rule,
        severity=severity,
        subject=subject_of(fact, session.id),
        group=group_of(session, what),
        evidence=(evidence,),
    )


def binds(fx: Effects, row: FactRow, span: str) -> bool:
    """Whether a prohibition binds the agent: the user or the system said it, here or first. What an agent or a tool says does
    not hold is a negated statement too, whose loss wakes nobody.
    """
    said = [span_row(fx.draft, name) for name in dict.fromkeys((row.span, span))]
    return any(one is None or one.role in BINDING for one in said)


BINDING = ("user", "system")


def _alert_kind(
    row: FactRow, outcome: Outcome, quantifier_changed: bool, gone: bool, needed: bool, hedge: bool
) -> tuple[str, str, Severity]:
    if outcome == "inverted":
        return "fact_inverted", "F2", "page"
    if quantifier_changed:
        return "quantifier_changed", "F2", "ticket"
    if gone and needed and outcome != "unknown":
        if row.cls == "prohibition":
            return "prohibition_lost", "C3", "page"
        return "fact_lost", "C3", "ticket"
    if hedge:
        return "hedge_stripped", "C6", "ticket"
    return "", "", "info"
