"""The Python API's connection: one log, one reader of decisions for any number of scopes, and who decides and reads.

It knows neither adapter nor index.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import msgspec

from ledger.answers import Answer, Answers, Waiting
from ledger.errors import LedgerError, LogClosed, LogUnavailable, UsageError
from ledger.evolve.requests import WITHDRAWN
from ledger.log import EVENTS, Log, NewEntry, partition_of
from ledger.recorder import made
from ledger.refusals import AnswerUnknown, QuotedEvidence
from ledger.retrieval import Fetched, Retrieval
from ledger.scope import Scope
from schemas.codec import NotARecord, decode_record, encode
from schemas.decisions import (
    AnyDecision,
    Evidence,
)
from schemas.ids import Position
from schemas.records import (
    AnyRecord,
    Claim,
    RequestWithdrawn,
)
from schemas.validity import fault_of

Place = tuple[str, int | None, int | None]
"""A span or summary, and a stretch of its text in code points, end exclusive; without bounds it stands for no words."""

CLOSE_S = 10.0
"""How long the end of a client waits for the withdrawals of those who still wait."""

REASON_S = 3.0
"""How long it is looked for why nobody decided; the request is withdrawn before."""

NUDGE_S = 0.05
"""How long a client waits for the process that folds just now before it offers to fold itself."""


def _withdrawal(record: AnyRecord, request: str, reason: str) -> RequestWithdrawn:
    return made(RequestWithdrawn, record.scope, record.session, request=request, reason=reason)


def _readable(record: AnyRecord) -> bytes:
    """A record as bytes that every reader can decode. Types are not checked when a record is made; here they are."""
    try:
        data = encode(record)
        decode_record(data)
    except UnicodeEncodeError:
        field = _field_with_half(msgspec.to_builtins(record))
        raise UsageError(
            f"{field} holds half of a surrogate pair, which no UTF-8 text can hold",
            hint="Nothing was appended; write U+FFFD in its place, or decode the text as UTF-16 first.",
        ) from None
    except (NotARecord, OverflowError) as error:
        raise UsageError(
            f"the record holds what no record may hold: {error}", hint="Nothing was appended; mend the field."
        ) from None
    fault = fault_of(record)
    if fault is not None:
        raise UsageError(f"{record.__struct_config__.tag}: {fault.told}", hint="Nothing was appended; mend the field.")
    return data


def _field_with_half(value: object, name: str = "") -> str:
    """The path of the first text with half of a surrogate pair, as `spans[2].text`; empty if there is none."""
    if isinstance(value, str):
        return name if any("\ud800" <= char <= "\udfff" for char in value) else ""
    if isinstance(value, dict):
        parts = [(f"{name}.{key}" if name else str(key), item) for key, item in value.items()]
    else:
        parts = [(f"{name}[{at}]", item) for at, item in enumerate(value)] if isinstance(value, list | tuple) else []
    return next((found for path, item in parts if (found := _field_with_half(item, path))), "")


class Backend(Protocol):
    """Who decides and who reads: the fold of this process on an embedded log, workers on a fleet's."""

    @property
    def decides(self) -> bool:
        """Whether this process folds, so that what it appended is decided once `nudge` has returned true."""
        ...

    async def nudge(self) -> bool:
        """Something was appended; decide it if that is this process's job. False if another process was at it just now, which
        may end before it comes to what was appended: then `nudge` again.
        """
        ...

    async def recall(self, scope: str, session: str, fact: str, as_of: str, after: int) -> list[Any]:
        """Answers about the facts that a text or id names, from a view that holds every record below the offset `after` of the
        scope's partition, or that says what it lacks.
        """
        ...

    async def quote(self, scope: str, places: Sequence[Place]) -> list[str]:
        """The words at each place, empty where none are on record. Raises `LogUnavailable` where that cannot be told."""
        ...

    async def rehydrate(self, scope: str, session: str, claim: Claim, retrieval: Retrieval | None, after: int) -> Fetched:
        """What backs a claim, by the given path or by the ledger's own store; `after` as for `recall`."""
        ...

    async def outcome(self, scope: str, session: str, request: str, after: int) -> Any:
        """What became of a request; `after` as for `recall`."""
        ...

    async def rewrites(self, scope: str, span: str, role: str, text: str) -> bool:
        """Is another role or text on record under this span id, as far as an index at hand knows? Asks nobody else."""
        ...

    async def undecided(self, scope: str) -> str:
        """Why a request of this scope may have got no decision, and what to do, as a sentence; empty where nothing is amiss."""
        ...


class LedgerClient:
    """One connection to a ledger. Handles of any number of scopes share one reader of decisions for each partition."""

    def __init__(self, log: Log, backend: Backend) -> None:
        self._log = log
        self._backend = backend
        self._answers = Answers(log)
        self._appended: dict[int, int] = {}
        self._asks: set[asyncio.Future[None]] = set()
        self._closed = False

    def scope(self, scope: str, *, session: str | None = None, **opening: Any) -> Scope:
        """A handle for one session of a scope. `opening` are fields of `session.opened`, which count only if this opens the
        session: `store` (`none`, `ledger` or a name), `runtime`, `horizon_s` (seconds), `window_budget` (tokens), `parent`,
        `policy`.
        """
        return Scope(self, scope, session or scope, opening)

    async def append(self, records: Sequence[AnyRecord]) -> None:
        """Append records; durable when it returns (L1). Raises `UsageError` for a field that no record may hold; then
        nothing is appended; `EntryTooLarge`, `LogUnavailable`, `LogClosed`.
        """
        self._refuse_if_closed()
        await self._append(records)

    async def _append(self, records: Sequence[AnyRecord]) -> list[Position]:
        positions = await self._log.append(EVENTS, [NewEntry(record.scope, _readable(record)) for record in records])
        for at in positions:
            self._appended[at.partition] = max(self._appended.get(at.partition, 0), at.offset + 1)
        return positions

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise LogClosed("this ledger was closed", hint="Nothing was asked or appended; open it again: open_ledger().")

    def _after(self, scope: str) -> int:
        """What this client appended, as the offset behind it: an answer has to be from a view that holds all of it."""
        return self._appended.get(partition_of(scope, self._log.identity.partitions), 0)

    async def ask(self, record: AnyRecord, request: str, timeout_s: float) -> AnyDecision:
        """Append a request and wait for its decision, found by the request id among decisions published from now on.

        Raises `AnswerUnknown` after `timeout_s` seconds, having withdrawn the request first, and where the decision is that of
        a request that was withdrawn before; `LogUnavailable` where the request could not be appended; `LogClosed`.
        """
        self._refuse_if_closed()
        waiting = await self._answers.expect(record.scope, record.session, request)
        ended = asyncio.get_running_loop().create_future()
        self._asks.add(ended)
        try:
            (at,) = await self._append([record])
            waiting.asked_at(at.offset)
            answer = await self._answer(waiting, timeout_s)
        except asyncio.CancelledError:
            await asyncio.shield(self._append([_withdrawal(record, request, "cancelled")]))
            raise
        finally:
            self._answers.forget(waiting)
            self._asks.discard(ended)
            ended.set_result(None)
        if answer is None:
            raise await self._given_up(record, request, timeout_s)
        if answer.status == WITHDRAWN:
            raise AnswerUnknown(
                f"request {request} was withdrawn before, so what was decided on it counts no more",
                hint="Keep the spans, and ask again under a new request id.",
            )
        return answer.decision

    async def _answer(self, waiting: Waiting, timeout_s: float) -> Answer | None:
        try:
            async with asyncio.timeout(timeout_s):
                while not await self._nudged():
                    done, _ = await asyncio.wait([waiting.answer], timeout=NUDGE_S)
                    if done:
                        break
                if self._backend.decides and not waiting.answer.done():
                    await self._answers.look(waiting)
                return await waiting.answer
        except TimeoutError:
            return waiting.answer.result() if waiting.answer.done() and not waiting.answer.cancelled() else None

    async def _nudged(self) -> bool:
        """A nudge that goes on when nobody waits for it any more: a fold is not left in the middle of a batch."""
        folding = asyncio.ensure_future(self._backend.nudge())
        folding.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        return await asyncio.shield(folding)

    async def _given_up(self, record: AnyRecord, request: str, timeout_s: float) -> AnswerUnknown:
        """Withdraw the request; the error to raise."""
        late = f"no decision on request {request} within {timeout_s:g} s"
        try:
            await self._append([_withdrawal(record, request, "timeout")])
        except LogUnavailable as error:
            return AnswerUnknown(
                f"{late}, and it could not be withdrawn: {error.message}",
                hint="Keep the spans. Once the log answers, ask again under the same request id, or withdraw it.",
            )
        why = await self._why_undecided(record.scope)
        again = "Keep the spans, and ask again under a new request id."
        return AnswerUnknown(f"{late}; it was withdrawn", hint=f"{why}\n  {again}" if why else again)

    async def _why_undecided(self, scope: str) -> str:
        try:
            async with asyncio.timeout(REASON_S):
                return await self._backend.undecided(scope)
        except (LedgerError, TimeoutError):
            return ""

    async def outcome(self, scope: str, session: str, request: str) -> Any:
        """What became of a request, by its id: see `ops.queries.requests.RequestAnswer`."""
        self._refuse_if_closed()
        return await self._backend.outcome(scope, session, request, self._after(scope))

    async def rewrites(self, scope: str, span: str, role: str, text: str) -> bool:
        """Is the span known here with another role or text? (I1)"""
        self._refuse_if_closed()
        return await self._backend.rewrites(scope, span, role, text)

    async def nudge(self) -> None:
        """Let what was appended be decided."""
        self._refuse_if_closed()
        await self._backend.nudge()

    async def close(self) -> None:
        """Stop reading decisions; who still waits is cancelled, which withdraws its request before this returns, if the log
        takes it within `CLOSE_S`. Every call from now on raises `LogClosed`.
        """
        self._closed = True
        await self._answers.close()
        if self._asks:
            await asyncio.wait(set(self._asks), timeout=CLOSE_S)

    async def quoted(self, scope: str, summary: str, evidence: Iterable[Evidence]) -> tuple[QuotedEvidence, ...]:
        """Evidence with the words it points at."""
        self._refuse_if_closed()
        items = list(evidence)
        if not items:
            return ()
        said = [(item.span, item.start, item.end) for item in items]
        instead = [(summary, item.summary_start, item.summary_end) for item in items]
        words = await self._backend.quote(scope, [*said, *instead])
        return tuple(map(QuotedEvidence, items, words, words[len(items) :]))

    async def recall(self, scope: str, session: str, fact: str, as_of: str) -> list[Any]:
        """See `Scope.recall`."""
        self._refuse_if_closed()
        return await self._backend.recall(scope, session, fact, as_of, self._after(scope))

    async def rehydrate(self, scope: str, session: str, claim: Claim, retrieval: Retrieval | None) -> Fetched:
        """See `Scope.gate`."""
        self._refuse_if_closed()
        return await self._backend.rehydrate(scope, session, claim, retrieval, self._after(scope))
