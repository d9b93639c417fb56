"""Trust (rules T1 to T4, seed 1): what may be said of a scope's retrieval. Exact ratios and counts, no float."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Literal

from schemas.ids import digest

TrustState = Literal["lossless", "degraded", "unknown"]

AUDIT_WINDOW = 50
"""T2: compactions that one passed audit vouches for (seed 1's text). A larger window trusts older evidence."""

HIT_RATE_RISE_MAX = Fraction(15, 100)
"""T1: largest relative rise over one pass that is not suspicious (seed 1). A collapsed index matches more, not less."""


def trust(
    *, degraded: tuple[str, ...], unclear: tuple[str, ...], store: str, audits_passed: int, since_audit: int, window: int
) -> tuple[TrustState, tuple[str, ...]]:
    """T1: the state with all its reasons. Degraded outranks unknown, is sticky, and reasons list both.

    *Lossless* needs a declared store and an audit that passed in the window (P6).
    """
    reasons = list(unclear)
    if store == "none":
        reasons.append("no_declared_store")
    if not audits_passed:
        reasons.append("no_audit_passed")
    elif since_audit >= window:
        reasons.append("no_audit_in_window")
    if degraded:
        return "degraded", (*degraded, *reasons)
    return ("unknown", tuple(reasons)) if reasons else ("lossless", ())


def rate_of(text: str) -> Fraction | None:
    """T1: a hit rate as publishers write it, a decimal between 0 and 1; None for anything else."""
    if not re.fullmatch(r"[01](\.[0-9]{1,18})?", text, re.ASCII):
        return None
    rate = Fraction(text)
    return rate if rate <= 1 else None


def hit_rate_change(before: str, after: str) -> Fraction | None:
    """T1: relative change of the hit rate over one pass, exact, or None without two rates that compare."""
    old, new = rate_of(before), rate_of(after)
    return (new - old) / old if old and new is not None else None


def as_decimal(change: Fraction) -> str:
    """A change for people, rounded to four places, half to even."""
    whole = round(change * 10_000)
    return f"{'-' if whole < 0 else ''}{abs(whole) // 10_000}.{abs(whole) % 10_000:04}"


def is_jump(change: Fraction | None) -> bool:
    """T1: a hit rate that rises by more than 15 % over one pass is a red flag, not a green one."""
    return change is not None and change > HIT_RATE_RISE_MAX


def retrieval_fault(*, status: str, has_provenance: bool, raw: bool | None, expected_raw: bool) -> str:
    """T1: why one retrieval degrades its scope, or the empty string.

    An empty value for a live key is an error and never context; a hit without provenance, or on a summary where raw was
    expected, cannot be relied on.
    """
    if status == "empty":
        return "empty_value_for_live_key"
    if status == "ok" and not has_provenance:
        return "result_without_provenance"
    if status == "ok" and expected_raw and raw is False:
        return "summary_where_raw_was_expected"
    return ""


def reading_fault(unread: int, conflicts: int) -> tuple[str, ...]:
    """T1: unread or conflicting transcript lines degrade what rests on the reading."""
    return (("unread_transcript_lines",) if unread else ()) + (("conflicting_transcript_lines",) if conflicts else ())


AUDIT_INTERVAL = 500
"""T2: compactions after which an audit is due however large the window is (seed 1's code)."""


def audit_due(*, since_audit: int, window: int, interval: int) -> bool:
    """T2: at least one audit per window, and one per interval, counted from the scope's first record."""
    return since_audit >= min(window, interval)


def pinned(candidates: Iterable[tuple[bytes, bytes]], salt: bytes) -> bytes | None:
    """T2: the fact to audit, chosen from (fact, span) keys by a rule that nobody can steer and every replay repeats: the one
    with the smallest keyed hash.
    """
    best = min(candidates, key=lambda pair: digest("pinned", salt, *pair), default=None)
    return best[0] if best is not None else None


def may_leave_degraded(*, repaired_after: bool, audit_passed_after: bool) -> bool:
    """T3: leaving *degraded* takes evidence recorded after the last reason was: a repaired store or a passed audit."""
    return repaired_after or audit_passed_after


def is_trusted(state: str) -> bool:
    """T4: may an answer be relied on as it is? While a scope is degraded or unknown no class with floor 1.0 may; one with a
    lower floor is held to the same, for nobody can say how much of it came back.
    """
    return state == "lossless"


def gate_reason(state: TrustState, *, all_fetched_and_held: bool) -> str:
    """T4: the gate denies with the trust as reason unless every claim's raw span was fetched by id and compared just now."""
    return "" if state == "lossless" or all_fetched_and_held else state
