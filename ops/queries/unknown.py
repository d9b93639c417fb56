"""*Unknown* in the shape of each answer, for a question that cannot be answered now: an index that lags is no finding (P4)."""

from __future__ import annotations

from ledger.facts import RULES_VERSION
from ops.queries.forgotten import ForgottenAnswer, Receipt
from ops.queries.overview import StatusAnswer
from ops.queries.quotes import Words
from ops.queries.recall import UNKNOWN_SAYS, ExplainAnswer, RecallAnswer
from ops.queries.requests import RequestAnswer


def lacking(gap: int) -> str:
    """Why nothing can be said: the index lacks this many records, at least."""
    return f"catching up: {gap} records behind the log"


def marks(gap: int) -> list[str]:
    """The same as a reason of trust."""
    return [f"index_behind_log:{gap}"]


def unknown_recall(fact: str, gap: int) -> RecallAnswer:
    """See `ops.queries.recall.recall`."""
    return RecallAnswer(
        fact=fact,
        answer="unknown",
        trusted=False,
        reasons=marks(gap),
        source=None,
        carriers=[],
        evidence=None,
        reason=lacking(gap),
        cls="",
        value="",
        say=UNKNOWN_SAYS,
    )


def unknown_life(fact: str, gap: int) -> ExplainAnswer:
    """See `ops.queries.recall.explain`."""
    return ExplainAnswer(fact=fact, cls="", value="", answer="unknown", reason=lacking(gap), evidence=None, steps=[])


def unknown_status(scope: str, session: str, gap: int) -> StatusAnswer:
    """See `ops.queries.overview.status`."""
    return StatusAnswer(
        session=session,
        trust="unknown",
        reasons=marks(gap),
        compactions=0,
        compactions_since_audit=0,
        hit_rate=None,
        hit_rate_change=None,
        floor_violation_rate={},
        context_retained_raw=0,
        window_tokens=None,
        window_budget=None,
        gap=gap,
        rounds=[],
        scope=scope,
    )


def unknown_forgotten(session: str, method: str, gap: int) -> ForgottenAnswer:
    """See `ops.queries.forgotten.forgotten`."""
    return ForgottenAnswer(
        session_id=session,
        rounds=0,
        dropped_total=0,
        survived_in_summary=0,
        forgotten_total=0,
        tombstoned_total=0,
        unknown_total=0,
        note="unknown",
        reason=lacking(gap),
        matching=0,
        forgotten=[],
        receipt=Receipt(source_path="", extracted_at=None, method=method, rules_version=RULES_VERSION),
    )


def unknown_request(scope: str, session: str, request: str, gap: int) -> RequestAnswer:
    """See `ops.queries.requests.outcome`."""
    return RequestAnswer(
        scope=scope, session=session, request=request, status="unknown", decision=None, reason=lacking(gap), gap=gap
    )


def unknown_words(gap: int) -> Words:
    """See `ops.queries.quotes.words_at`."""
    return Words(status="unknown", text="", reason=lacking(gap))
