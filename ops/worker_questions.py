"""The questions that a worker answers, each from a view over partitions: what is asked, and what is said to it.

Every answer is the object that `cledger … --json` prints. One that a view cannot give because its index lags is *unknown* in
the shape of the answer, with how many records are lacking (P4).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from ledger.errors import LogUnavailable, UsageError
from ledger.retrieval import Fetched
from ops.queries.alerts import Cursor, stream
from ops.queries.forgotten import forgotten
from ops.queries.overview import sessions, status, with_last
from ops.queries.quotes import Quotes, Words, words_at
from ops.queries.recall import carriers_answer, explain, recall
from ops.queries.requests import outcome
from ops.queries.seed_method import forgotten_by_seed
from ops.queries.unknown import (
    lacking,
    unknown_forgotten,
    unknown_life,
    unknown_recall,
    unknown_request,
    unknown_status,
    unknown_words,
)
from ops.retrieval.backing import backing_of, rehydrate
from ops.retrieval.own_store import OwnStore
from ops.session_names import begins
from ops.store import Found, Reading
from schemas.records import Claim

LOG_HEADER, GAP_HEADER, CURSOR_HEADER = "Cledger-Log", "Cledger-Gap", "Cledger-Cursor"
"""Which log the worker folds, how many records the answer lacks, and for alerts where the next question goes on, as JSON."""


class Question(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What is asked. A session is looked for by its whole id in `scope`, else by id or beginning in all that is concerned."""

    scope: str = ""
    session: str = ""
    partitions: list[int] | None = None
    after: dict[int, int] = {}
    """By partition: the answer has to hold every record below this offset."""

    compacted: bool = False
    """`sessions`: only those that were compacted."""

    prefix: str | None = None
    """`sessions`: only those whose id begins so, and without when and where they were last seen."""

    fact: str = ""
    as_of: str = ""
    round: int | None = None
    classes: list[str] = []
    limit: int = 20
    method: Literal["ours", "seed"] = "ours"
    since_ms: int | None = None
    cursor: dict[int, int] = {}
    """`alerts`: the next offset, by partition."""

    request: str = ""
    places: list[tuple[str, int | None, int | None]] = []
    claim: Claim | None = None


class NoSession(UsageError):
    """There is no such session in the partitions that were asked."""


class Said(msgspec.Struct):
    """Answers, and what stands beside them."""

    answers: Sequence[object]
    cursor: dict[int, int] | None = None


Ask = Callable[[Reading, Question], Awaitable[Said]]


def _found(reading: Reading, question: Question) -> Found | None:
    """The session asked for; None if it may be among the records that are not folded yet. Raises `NoSession`."""
    if not question.session:
        raise UsageError("a session is needed")
    if question.scope:
        found = reading.session_in(question.scope, question.session)
        if found is not None or reading.gap:
            return found
        raise NoSession(f"no session {question.session!r} in this log", hint="List them with: cledger sessions")
    try:
        return reading.session(question.session)
    except UsageError as error:
        if reading.gap:
            return None
        raise NoSession(error.message, hint=f"{error.hint} Other workers may have it.") from None


def _needs(value: str, name: str) -> None:
    if not value:
        raise UsageError(f"a {name} is needed")


async def _sessions(reading: Reading, question: Question) -> Said:
    if question.scope and question.session:
        found = reading.session_in(question.scope, question.session)
        return Said(sessions(reading, compacted=question.compacted, among=[found] if found is not None else []))
    answers = sessions(reading, compacted=question.compacted)
    if question.prefix is None:
        return Said(await with_last(reading, answers))
    return Said([each for each in answers if begins(each.session, question.prefix)])


async def _status(reading: Reading, question: Question) -> Said:
    if not question.session:
        return Said([status(reading, found) for found in reading.sessions()])
    found = _found(reading, question)
    if found is None:
        return Said([unknown_status(question.scope, question.session, reading.gap)])
    return Said([status(reading, found)])


async def _recall(reading: Reading, question: Question) -> Said:
    _needs(question.fact, "fact")
    found = _found(reading, question)
    if found is None or reading.gap:
        return Said([unknown_recall(question.fact, reading.gap)])
    return Said(await recall(reading, found, question.fact, question.as_of))


async def _carriers(reading: Reading, question: Question) -> Said:
    return Said([carriers_answer(answer) for answer in (await _recall(reading, question)).answers])  # type: ignore[arg-type]


async def _explain(reading: Reading, question: Question) -> Said:
    _needs(question.fact, "fact")
    found = _found(reading, question)
    if found is None or reading.gap:
        return Said([unknown_life(question.fact, reading.gap)])
    return Said(await explain(reading, found, question.fact))


async def _forgotten(reading: Reading, question: Question) -> Said:
    found = _found(reading, question)
    if found is None:
        return Said([unknown_forgotten(question.session, question.method, reading.gap)])
    ask = forgotten if question.method == "ours" else forgotten_by_seed
    chosen = frozenset(question.classes)
    return Said([await ask(reading, found, round_=question.round, classes=chosen, limit=question.limit)])


async def _alerts(reading: Reading, question: Question) -> Said:
    cursor = Cursor(offsets=dict(question.cursor))
    answers = [alert async for alert in stream(reading, cursor=cursor, since_ms=question.since_ms)]
    return Said(answers, cursor.offsets)


async def _request(reading: Reading, question: Question) -> Said:
    _needs(question.request, "request")
    found = _found(reading, question)
    if found is None:
        return Said([unknown_request(question.scope, question.session, question.request, reading.gap)])
    return Said([outcome(found, question.request, reading.gap)])


async def _quote(reading: Reading, question: Question) -> Said:
    """Words for each place. A record that was read once never changes (I1), so a lagging index answers too if it has it."""
    _needs(question.scope, "scope")
    if not reading.holds(question.scope):
        return Said([unknown_words(reading.gap) for _ in question.places])
    quotes = Quotes(reading, question.scope)
    return Said([await _words(quotes, place, reading.gap) for place in question.places])


async def _words(quotes: Quotes, place: tuple[str, int | None, int | None], gap: int) -> Words:
    """The words at a place; unknown where its record may be among those that are not folded yet."""
    words = await words_at(quotes, *place)
    return unknown_words(gap) if gap and words.status == "absent" and place[1] is not None else words


async def _rehydrate(reading: Reading, question: Question) -> Said:
    """What backs a claim in the ledger's own store. A catching-up index answers as a store that failed (V1)."""
    if question.claim is None:
        raise UsageError("a claim is needed")
    found = _found(reading, question)
    if found is None or reading.gap:
        return Said([Fetched(status="error", key=question.claim.key or "", detail=lacking(reading.gap))])
    return Said([await rehydrate(found.rows, question.claim, OwnStore(reading, found))])


async def _backing(reading: Reading, question: Question) -> Said:
    """Where to look for what backs a claim, for an agent with a store of its own."""
    if question.claim is None:
        raise UsageError("a claim is needed")
    found = _found(reading, question)
    if found is None or reading.gap:
        raise LogUnavailable(lacking(reading.gap), hint="Ask again in a moment.")
    return Said([backing_of(found.rows, question.claim)])


QUESTIONS: dict[str, Ask] = {
    "sessions": _sessions,
    "status": _status,
    "recall": _recall,
    "carriers": _carriers,
    "explain": _explain,
    "forgotten": _forgotten,
    "alerts": _alerts,
    "request": _request,
    "quote": _quote,
    "rehydrate": _rehydrate,
    "backing": _backing,
}
"""What stands behind /v1/ in a path, and who answers it."""
