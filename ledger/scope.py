"""One session of a scope, as its agent's program sees it: requests and their answers, beside what is recorded (`Recorder`)."""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from typing import Any, Literal, TypeVar

import msgspec

from ledger.errors import LedgerError
from ledger.facts import extract
from ledger.masking import mask
from ledger.recorder import Recorder, sha256_of
from ledger.refusals import AnswerUnknown, QuotedClaim, RecordConflict, refusal
from ledger.retrieval import Retrieval
from schemas.decisions import (
    ActionAllowed,
    ActionDenied,
    AnyDecision,
    CompactionGranted,
    CompactionRefused,
    EvictionGranted,
    EvictionRefused,
    IndexGranted,
    RecordRejected,
)
from schemas.records import (
    ActionProposed,
    AnyRecord,
    Candidate,
    Claim,
    CompactionApplied,
    CompactionRequested,
    EvictionApplied,
    EvictionRequested,
    FetchedClaim,
    IndexWriteRequested,
    Mode,
    RequestWithdrawn,
)

ANSWER_TIMEOUT_S = 30.0
"""How long a request waits for its decision. Longer hangs an agent at its context limit; shorter withdraws while a worker that
was killed is being replaced, which takes its session timeout, 10 s, and a rebalance.
"""

D = TypeVar("D")


class Scope(Recorder):
    """One session of a scope, as its agent's program sees it: it records, and it asks. Everything is a record of the log."""

    async def request_compaction(
        self,
        summary: str,
        evict: Sequence[str | Candidate],
        *,
        mode: Mode = "all",
        budget_tokens: int | None = None,
        tokens_before: int | None = None,
        tombstones: Sequence[str] = (),
        request: str | None = None,
        timeout_s: float | None = ANSWER_TIMEOUT_S,
    ) -> CompactionGranted:
        """Ask whether these spans may leave for this summary (C3, F1 to F3). `evict` stands in order of preference.

        A grant is pending until `applied` or `withdraw`. Raises a `Refused` with evidence and ways out, or `AnswerUnknown`
        after `timeout_s` seconds, by default and for None `ANSWER_TIMEOUT_S`; `ValueError` for one that is no span of time.
        """
        name = request or f"compaction-{uuid.uuid4().hex}"
        candidates = tuple(item if isinstance(item, Candidate) else Candidate(span=item) for item in evict)
        record = self._make(
            CompactionRequested,
            request=name,
            summary=summary,
            evictions=candidates,
            mode=mode,
            budget_tokens=budget_tokens,
            tokens_before=tokens_before,
            tombstones=tuple(tombstones),
        )
        return await self._granted(record, name, summary, timeout_s, CompactionGranted)

    async def request_eviction(
        self,
        spans: Sequence[str],
        *,
        reason: str = "",
        summary: str | None = None,
        request: str | None = None,
        timeout_s: float | None = ANSWER_TIMEOUT_S,
    ) -> EvictionGranted:
        """Ask whether these raw entries may leave the retrieval store (C1). Raises as `request_compaction` does."""
        name = request or f"eviction-{uuid.uuid4().hex}"
        record = self._make(EvictionRequested, request=name, spans=tuple(spans), reason=reason, summary=summary)
        return await self._granted(record, name, summary or "", timeout_s, EvictionGranted)

    async def request_index_write(
        self,
        operation: Literal["put", "rechunk"],
        *,
        key: str = "",
        text: str = "",
        claims_kind: Literal["raw", "summary"] = "raw",
        replaces: Sequence[str] = (),
        into: Sequence[str] = (),
        request: str | None = None,
        timeout_s: float | None = ANSWER_TIMEOUT_S,
    ) -> IndexGranted:
        """Ask whether the store may write this (I1, I3). Raises as `request_compaction` does."""
        name = request or f"write-{uuid.uuid4().hex}"
        record = self._make(
            IndexWriteRequested,
            request=name,
            operation=operation,
            key=key,
            claims_kind=claims_kind,
            text_sha256=sha256_of(mask(text)) if text else "",
            replaces=tuple(replaces),
            into=tuple(into),
        )
        return await self._granted(record, name, "", timeout_s, IndexGranted)

    async def _granted(self, record: AnyRecord, request: str, summary: str, timeout_s: float | None, kind: type[D]) -> D:
        wait_s = seconds_of(timeout_s)
        if not self._opened:
            await self._append()
        decision = await self._client.ask(record, request, wait_s)
        if isinstance(decision, kind):
            return decision
        evidence = await self._client.quoted(self.scope, summary, decision.evidence[:20])
        if isinstance(decision, CompactionRefused | EvictionRefused | RecordRejected) or decision.reason:
            raise refusal(decision, evidence, _quoted_claims(record, decision))
        raise AnswerUnknown(f"request {request} was answered by {type(decision).__name__}")

    async def gate(
        self,
        claims: Sequence[Claim],
        *,
        action: str = "",
        side_effects: bool = True,
        retrieval: Retrieval | None = None,
        request: str | None = None,
        timeout_s: float | None = ANSWER_TIMEOUT_S,
    ) -> ActionAllowed:
        """R5: may an action rest on these claims? Each is fetched raw first, by `retrieval` or from the ledger's own store.

        Raises `RehydrationBoundaryError`, or `LosslessRetrievalBoundaryError` where the scope cannot be trusted, or
        `AnswerUnknown`; none of them means yes.
        """
        name = request or f"action-{uuid.uuid4().hex}"
        fetched = [await self._fetched(claim, retrieval) for claim in claims]
        record = self._make(ActionProposed, request=name, name=action, side_effects=side_effects, claims=tuple(fetched))
        return await self._granted(record, name, "", timeout_s, ActionAllowed)

    async def _fetched(self, claim: Claim, retrieval: Retrieval | None) -> FetchedClaim:
        masked = msgspec.structs.replace(claim, text=mask(claim.text))
        answer = await self._client.rehydrate(self.scope, self.session, masked, retrieval)
        return FetchedClaim(
            claim=masked,
            manifest=extract(masked.text, "assistant", scope_key=self.scope),
            status=answer.status,
            span=answer.carrier,
            text=mask(answer.text),
            raw=answer.raw is True,
        )

    async def applied(self, grant: CompactionGranted | EvictionGranted, summary_text: str = "") -> None:
        """Say that a grant was carried out. For a compaction, `summary_text` is the text now in the window: its hash must be
        the granted one, else the record is rejected, the grant stays pending, and `RecordConflict` is raised; as it is where
        the grant is found to be withdrawn.
        """
        record: AnyRecord
        if isinstance(grant, CompactionGranted):
            sha256 = sha256_of(mask(summary_text)) if summary_text else grant.summary_sha256
            record = self._make(CompactionApplied, request=grant.request_id, summary_sha256=sha256)
        else:
            sha256 = ""
            record = self._make(EvictionApplied, request=grant.request_id)
        await self._append(record)
        await self._client.nudge()
        if sha256 and isinstance(grant, CompactionGranted) and sha256 != grant.summary_sha256:
            raise RecordConflict(
                f"request {grant.request_id} was granted for another text than the one now in use; the grant stays pending",
                subject=grant.request_id,
                rule="C3",
                hint="Use the text that was granted and say so again; or withdraw, record this text and ask anew.",
            )
        await self._not_if(
            "withdrawn", grant.request_id, "nothing was applied", hint="Ask anew, and act only on the new grant."
        )

    async def withdraw(self, grant: CompactionGranted | EvictionGranted, reason: str = "") -> None:
        """Give a grant back: its spans are carriers for other requests again. Raises `RecordConflict` where the grant is found
        to be applied.
        """
        await self._append(self._make(RequestWithdrawn, request=grant.request_id, reason=reason))
        await self._client.nudge()
        await self._not_if(
            "applied",
            grant.request_id,
            "nothing was withdrawn",
            hint="Its spans have left. Record again, under ids of their own, what is back in the window.",
        )

    async def _not_if(self, status: str, request: str, so: str, *, hint: str) -> None:
        """Raise if the request has come to the other end. What was said is on record; that nobody can be asked about it now is
        no reason to call it a failure.
        """
        try:
            found = await self._client.outcome(self.scope, self.session, request)
        except LedgerError:
            return
        if not found.gap and found.status == status:
            raise RecordConflict(f"request {request} is not pending: {status}; {so}", subject=request, rule="C3", hint=hint)

    async def recall(self, fact: str, *, as_of: str = "") -> list[Any]:
        """C4: one of six answers for each fact that the text or id names; see `ops.queries.recall.RecallAnswer`."""
        return await self._client.recall(self.scope, self.session, fact, as_of)


def seconds_of(timeout_s: object) -> float:
    """How long to wait; None means `ANSWER_TIMEOUT_S`. Raises `ValueError` for what is no span of time."""
    if timeout_s is None:
        return ANSWER_TIMEOUT_S
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not 0 <= timeout_s < math.inf:
        raise ValueError(f"timeout_s is {timeout_s!r}; expected seconds, a finite number that is not negative, or None")
    return timeout_s


def _quoted_claims(record: AnyRecord, decision: AnyDecision) -> tuple[QuotedClaim, ...]:
    """The claims of a denied action with the words that went into its record."""
    if not (isinstance(record, ActionProposed) and isinstance(decision, ActionDenied)):
        return ()
    if len(record.claims) != len(decision.claims):
        return ()
    return tuple(
        QuotedClaim(result, fetched.claim.text, fetched.text)
        for fetched, result in zip(record.claims, decision.claims, strict=True)
    )
