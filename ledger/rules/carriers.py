"""Carriers (rules C1 to C5, seed 2): a fact that the scope refers to keeps a carrier, or its loss is on record."""

from __future__ import annotations

from typing import Literal

import msgspec

from schemas.facts import SURVIVING

Answer = Literal["anchored", "tombstoned", "unanchored", "absent", "empty", "unknown"]
LAST_CARRIER = "last_carrier"
UNMANIFESTED = "unmanifested"
BELOW_FLOOR = "below_floor"


class CarrierCount(msgspec.Struct, frozen=True):
    """Carriers of one fact that one session can reach, what is pending left out.

    `raw_window` counts raw spans in its window, `raw_stored` raw entries of the scope's store, `external` verified
    externalisations, `verbatim` and `equivalent` live summaries of the session that state it so, and `summaries_stored` those
    with an entry in the scope's store, superseded ones too.
    """

    raw_window: int = 0
    raw_stored: int = 0
    external: int = 0
    verbatim: int = 0
    equivalent: int = 0
    summaries_stored: int = 0

    @property
    def total(self) -> int:
        """All carriers, of which none is more than none."""
        return self.raw_window + self.raw_stored + self.external + self.verbatim + self.equivalent + self.summaries_stored

    @property
    def without_window(self) -> CarrierCount:
        """What a closed session leaves: its window and its summaries carry nothing any more."""
        return CarrierCount(raw_stored=self.raw_stored, external=self.external, summaries_stored=self.summaries_stored)


def is_released_from_store(left: CarrierCount, *, tombstoned: bool, referred: bool) -> bool:
    """C1: may the store drop a raw entry of this fact, `left` being what would remain?

    Another raw carrier, a *verbatim* re-assertion in a live summary or a tombstone releases it, and so does a fact that the
    scope refers to no longer. An *equivalent* re-assertion satisfies floors and does not release the last raw carrier: liveness
    decides, whatever TTL, LRU or size policy asks.
    """
    if tombstoned or not referred:
        return True
    return left.raw_window + left.raw_stored + left.external + left.verbatim > 0


def must_stay_raw(*, manifested: bool, external: bool) -> bool:
    """C2: a span whose facts are not known leaves the window only after a verified externalisation."""
    return not manifested and not external


def is_covered(outcome: str, elsewhere: CarrierCount, *, tombstoned: bool) -> bool:
    """C3: is a fact that the summary does not keep provided for?

    Another carrier or a tombstone will do, except for a fact that the summary turns into its opposite: a false statement in the
    window is not mended by a true one in the store, only dropping the fact on purpose releases it.
    """
    if tombstoned or outcome in SURVIVING:
        return True
    return outcome != "inverted" and elsewhere.total > 0


def reconstitute(
    *, seen: bool, tombstoned: bool, carriers: CarrierCount, unreadable_round: int, linked_missing: bool
) -> tuple[Answer, str]:
    """C4 and P4: the answer about a fact, with a reason. It fails closed and is never an empty success.

    A tombstone answers before a carrier does. A fact that went with a summary that cannot be read is unknown, not lost.
    """
    if tombstoned:
        return "tombstoned", "dropped on purpose"
    if not seen:
        return ("unknown", "linked scope not imported") if linked_missing else ("absent", "never seen in this scope")
    if carriers.total:
        return "anchored", ""
    if unreadable_round:
        return "unknown", f"the summary of round {unreadable_round} cannot be read"
    return "unanchored", "was carried once, no carrier is left"


def life_step(outcome: str, *, was_carried_by_summary: bool, carriers_left: int) -> str:
    """C5: what a round did to a fact: `carried`, `turned` (the summary states something else), `lost`, `unknown`, or `kept`
    (another carrier holds it).
    """
    if outcome == "unknown":
        return "unknown"
    if outcome in SURVIVING:
        return "carried"
    if outcome in ("inverted", "changed", "weakened"):
        return "turned"
    if carriers_left:
        return "kept"
    return "lost_from_summary" if was_carried_by_summary else "lost"
