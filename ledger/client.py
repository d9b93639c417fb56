"""The Python API's connection: one log, one reader of decisions for any number of scopes, and a backend that decides and reads.

It knows neither adapter nor index.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import msgspec

from ledger.errors import UsageError
from ledger.log import DECISIONS, EVENTS, Log, NewEntry, partition_of
from ledger.refusals import AnswerUnknown, QuotedEvidence
from ledger.retrieval import Fetched, Retrieval
from ledger.scope import Scope, made
from schemas.codec import NotARecord, decode_decision, decode_record, encode
from schemas.decisions import (
    AnyDecision,
    Evidence,
)
from schemas.records import (
    AnyRecord,
    Claim,
    RequestWithdrawn,
)

POLL_S = 0.01


def _readable(record: AnyRecord) -> bytes:
    """A record as bytes that every reader can decode. Types are not checked when a record is made; here they are."""
    try:
        data = encode(record)
        decode_record(data)
    except (NotARecord, UnicodeEncodeError, OverflowError) as error:
        raise UsageError(
            f"the record holds what no record may hold: {error}", hint="Nothing was appended; mend the field."
        ) from None
    return data


class Backend(Protocol):
    """Who decides and who reads: the fold of this process on an embedded log, workers on a fleet's."""

    async def nudge(self) -> None:
        """Something was appended; decide it if that is this process's job."""
        ...

    async def recall(self, scope: str, session: str, fact: str, as_of: str) -> list[Any]:
        """Answers about the facts that a text or id names."""
        ...

    async def quote(self, scope: str, carrier: str, start: int | None, end: int | None) -> str:
        """Words of a span or summary."""
        ...

    async def rehydrate(self, scope: str, session: str, claim: Claim, retrieval: Retrieval | None) -> Fetched:
        """What backs a claim, by the given path or by the ledger's own store."""
        ...


class LedgerClient:
    """One connection to a ledger. Handles of any number of scopes share one reader of decisions."""

    def __init__(self, log: Log, backend: Backend) -> None:
        self._log = log
        self._backend = backend
        self._offsets: dict[int, int] = {}
        self._answers: dict[tuple[str, str], AnyDecision] = {}
        self._reading = asyncio.Lock()

    def scope(self, scope: str, *, session: str | None = None, **opening: Any) -> Scope:
        """A handle for one session of a scope. `opening` are fields of `session.opened`, which count only if this opens the
        session: `store` (`none`, `ledger` or a name), `runtime`, `horizon_s` (seconds), `window_budget` (tokens), `parent`,
        `policy`.
        """
        return Scope(self, scope, session or scope, opening)

    async def append(self, records: Sequence[AnyRecord]) -> None:
        """Append records; durable when it returns (L1). Raises `UsageError` for a field that no record may hold; then
        nothing is appended; `EntryTooLarge`, `LogUnavailable`.
        """
        await self._log.append(EVENTS, [NewEntry(record.scope, _readable(record)) for record in records])

    async def ask(self, record: AnyRecord, request: str, timeout_s: float) -> AnyDecision:
        """Append a request and wait for its decision, found by the request id among decisions published from now on.

        Raises `AnswerUnknown` after `timeout_s` seconds, having withdrawn the request first.
        """
        partition = partition_of(record.scope, self._log.identity.partitions)
        if partition not in self._offsets:
            self._offsets[partition] = await self._log.end(DECISIONS, partition)
        withdrawn = made(RequestWithdrawn, record.scope, record.session, request, request=request, reason="timeout")
        await self.append([record])
        try:
            found = await self._answer(record, request, partition, timeout_s)
        except asyncio.CancelledError:
            await asyncio.shield(self.append([msgspec.structs.replace(withdrawn, reason="cancelled")]))
            raise
        if found is not None:
            return found
        await self.append([withdrawn])
        raise AnswerUnknown(
            f"no decision on request {request} within {timeout_s:g} s; it was withdrawn",
            hint="Keep the spans, and ask again under a new request id.",
        )

    async def _answer(self, record: AnyRecord, request: str, partition: int, timeout_s: float) -> AnyDecision | None:
        deadline = asyncio.get_running_loop().time() + timeout_s
        while True:
            await self._backend.nudge()
            await self._read_decisions(partition)
            found = self._answers.pop((record.scope + "\0" + record.session, request), None)
            if found is not None:
                return found
            if asyncio.get_running_loop().time() >= deadline:
                return None
            await asyncio.sleep(POLL_S)

    async def _read_decisions(self, partition: int) -> None:
        async with self._reading:
            while entries := await self._log.read(DECISIONS, partition, self._offsets[partition]):
                for entry in entries:
                    if any(name == "request_id" for name, _ in entry.headers):
                        decision = decode_decision(entry.value)
                        self._answers[(decision.scope + "\0" + decision.session, decision.request_id)] = decision
                self._offsets[partition] = entries[-1].position.offset + 1

    async def nudge(self) -> None:
        """Let what was appended be decided."""
        await self._backend.nudge()

    async def quoted(self, scope: str, summary: str, evidence: Iterable[Evidence]) -> tuple[QuotedEvidence, ...]:
        """Evidence with the words it points at."""
        quoted = []
        for item in evidence:
            said = await self._backend.quote(scope, item.span, item.start, item.end)
            instead = await self._backend.quote(scope, summary, item.summary_start, item.summary_end)
            quoted.append(QuotedEvidence(item, said, instead))
        return tuple(quoted)

    async def recall(self, scope: str, session: str, fact: str, as_of: str) -> list[Any]:
        """See `Scope.recall`."""
        return await self._backend.recall(scope, session, fact, as_of)

    async def rehydrate(self, scope: str, session: str, claim: Claim, retrieval: Retrieval | None) -> Fetched:
        """See `Scope.gate`."""
        return await self._backend.rehydrate(scope, session, claim, retrieval)
