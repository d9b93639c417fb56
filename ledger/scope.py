"""One session of a scope, as its agent's program sees it. Everything it does is a record of the log.

Records are made here: secrets are masked and facts extracted before anything is appended, so the log never sees what the
publisher should not have sent.
"""

from __future__ import annotations

import hashlib
import math
import re
import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from ledger.errors import LedgerError, UsageError
from ledger.facts import RULES_VERSION, extract
from ledger.masking import mask
from ledger.refusals import AnswerUnknown, QuotedClaim, QuotedEvidence, RecordConflict, refusal
from ledger.retrieval import Fetched, Retrieval
from schemas.decisions import (
    ActionAllowed,
    ActionDenied,
    AnyDecision,
    CompactionGranted,
    CompactionRefused,
    EvictionGranted,
    EvictionRefused,
    Evidence,
    IndexGranted,
    RecordRejected,
)
from schemas.ids import digest, span_id
from schemas.objects import with_own_id
from schemas.records import (
    ActionProposed,
    AnyRecord,
    Candidate,
    Claim,
    CompactionApplied,
    CompactionRequested,
    EvictionApplied,
    EvictionRequested,
    FactTombstoned,
    FetchedClaim,
    IndexEntryRecorded,
    IndexWriteRequested,
    Mode,
    PlainText,
    Record,
    RequestWithdrawn,
    RetrievalObserved,
    Role,
    SessionOpened,
    SpanRange,
    SpanRecorded,
    SummaryRecorded,
)

ANSWER_TIMEOUT_S = 30.0
"""How long a request waits for its decision. Longer hangs an agent at its context limit; shorter withdraws while a worker that
was killed is being replaced, which takes its session timeout, 10 s, and a rebalance.
"""

R = TypeVar("R", bound=Record)
D = TypeVar("D")
_FACT_ID = re.compile("f[0-9a-f]{24}")


class Connection(Protocol):
    """What a scope needs of the client that made it."""

    async def append(self, records: Sequence[AnyRecord]) -> None:
        """Append records; durable when it returns."""
        ...

    async def ask(self, record: AnyRecord, request: str, timeout_s: float) -> AnyDecision:
        """Append a request and wait for its decision."""
        ...

    async def nudge(self) -> None:
        """Let what was appended be decided."""
        ...

    async def outcome(self, scope: str, session: str, request: str) -> Any:
        """What became of a request, with `status` and `gap`."""
        ...

    async def rewrites(self, scope: str, span: str, role: str, text: str) -> bool:
        """Is the span known here with another text?"""
        ...

    async def quoted(self, scope: str, summary: str, evidence: Iterable[Evidence]) -> tuple[QuotedEvidence, ...]:
        """Evidence with the words it points at."""
        ...

    async def recall(self, scope: str, session: str, fact: str, as_of: str) -> list[Any]:
        """Answers about the facts that a text or id names."""
        ...

    async def rehydrate(self, scope: str, session: str, claim: Claim, retrieval: Retrieval | None) -> Fetched:
        """What backs a claim."""
        ...


def made(shape: type[R], scope: str, session: str, **fields: Any) -> R:
    """A record with the id that its type, session and object give it."""
    return with_own_id(shape(id="", scope=scope, session=session, **fields))


class Scope:
    """One session of a scope, as its agent's program sees it. Everything it does is a record of the log."""

    def __init__(self, client: Connection, scope: str, session: str, opening: dict[str, Any]) -> None:
        if not scope or not session:
            raise UsageError("a scope and a session need names")
        self._client = client
        self.scope = scope
        self.session = session
        self._opening = opening
        self._opened = False
        self._said: dict[str, bytes] = {}
        """Role and text, as a digest, of every span that this handle recorded."""

    def _make(self, shape: type[R], **fields: Any) -> R:
        """A record of this program, with the time at which it was made: shown to people, compared by nobody."""
        return made(shape, self.scope, self.session, time_ms=time.time_ns() // 1_000_000, **fields)

    async def _append(self, *records: AnyRecord) -> None:
        first: list[AnyRecord] = []
        if not self._opened:
            fields = {"store": "none", "rules_version": RULES_VERSION, **self._opening}
            first.append(self._make(SessionOpened, **fields))
        await self._client.append([*first, *records])
        self._opened = True

    async def record_span(
        self,
        native: str,
        text: str,
        *,
        role: Role = "user",
        turn: int | None = None,
        tokens: int | None = None,
        in_window: bool = True,
        valid: tuple[str, str] = ("", ""),
        ttl_s: int | None = None,
        actions: tuple[str, ...] = (),
    ) -> str:
        """Record a raw span under the program's own entry id `native`, and return its span id (I1).

        The text is masked and its facts are listed here. `turn` is the ordinal of the message, by default the one behind all
        that the session has on record, whoever recorded it;
        `valid` bounds the validity of its facts, ISO 8601.

        The same text once more changes nothing. Another text under a used id is rejected and pages (I1), and raises
        `RecordConflict` where this handle, or the index of this process, knows the span already; what another process recorded
        and nobody folded yet is found by the fold alone, for no call waits for it.
        """
        if not native:
            raise UsageError(
                "the entry id of the span is empty", hint="Nothing was appended; give each entry an id of its own."
            )
        masked = mask(text)
        name = span_id(self.session, native)
        record = self._make(
            SpanRecorded,
            span=name,
            role=role,
            turns=(turn, turn) if turn is not None else None,
            text=PlainText(masked),
            manifest=extract(masked, role, scope_key=self.scope, valid=valid),
            in_window=in_window,
            valid_from=valid[0],
            valid_to=valid[1],
            ttl_s=ttl_s,
            tokens=tokens,
            actions=actions,
        )
        await self._append(record)
        await self._no_rewrite(name, role, masked)
        return name

    async def _no_rewrite(self, span: str, role: str, text: str) -> None:
        """I1: raise if the span was on record with another text; the attempt is in the log, for on-call to see."""
        mark = digest("said", role, text)
        known = self._said.get(span)
        if known is None and not await self._client.rewrites(self.scope, span, role, text):
            self._said[span] = mark
            return
        if known is None or known != mark:
            await self._client.nudge()
            raise RecordConflict(
                f"span {span} is on record with another role or text, which stays (I1)",
                subject=span,
                rule="I1",
                hint="A raw span never changes. Record the new text under an id of its own.",
            )

    async def record_summary(
        self,
        summary: str,
        text: str,
        *,
        covers: Sequence[str] = (),
        covers_summaries: Sequence[str] = (),
        depends_on: Sequence[str] = (),
        generation: int | None = None,
        tokens: int | None = None,
    ) -> str:
        """Record a summary before it is used. `covers` are the spans and `covers_summaries` the summaries it is to replace;
        the latter stop being live once its compaction is applied (I3).
        """
        masked = mask(text)
        await self._append(
            self._make(
                SummaryRecorded,
                summary=summary,
                generation=generation if generation is not None else 1 + bool(covers_summaries),
                covers=tuple(SpanRange(name, name) for name in covers),
                covers_summaries=tuple(covers_summaries),
                depends_on=tuple(depends_on),
                text=PlainText(masked),
                manifest=extract(masked, "assistant", scope_key=self.scope),
                tokens=tokens,
            )
        )
        return summary

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
            text_sha256=_sha256(mask(text)) if text else "",
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
            sha256 = _sha256(mask(summary_text)) if summary_text else grant.summary_sha256
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

    async def record_entry(self, span: str, *, key: str = "", store: str = "", occurrence: str = "") -> None:
        """Say that the declared retrieval store now holds this span or summary."""
        await self._append(self._make(IndexEntryRecorded, span=span, key=key or span, store=store, occurrence=occurrence))

    async def tombstone(self, fact: str, *, reason: str, authority: str) -> None:
        """Drop exactly this fact on purpose, by fact id. Raises `UsageError` for anything that is no fact id, and without a
        reason or an authority.
        """
        if not _FACT_ID.fullmatch(fact):
            raise UsageError(f"{fact!r} is no fact id", hint="Ask recall or a refusal for the id.")
        if not reason.strip() or not authority.strip():
            raise UsageError("a tombstone needs a reason and an authority", hint="Say why it may go, and who says so.")
        occurrence = digest("tombstone", fact, reason, authority).hex()
        await self._append(self._make(FactTombstoned, fact=fact, reason=reason, authority=authority, occurrence=occurrence))
        await self._client.nudge()

    async def observe_retrieval(
        self,
        *,
        query: str = "",
        key: str = "",
        status: Literal["ok", "absent", "empty", "tombstone", "error"] = "ok",
        carrier: str = "",
        raw: bool | None = None,
        generation: int | None = None,
        turns: tuple[int, int] | None = None,
        expected_raw: bool = False,
        text: str = "",
    ) -> None:
        """Say what the agent's own retrieval returned, with provenance (I5, T1)."""
        occurrence = uuid.uuid4().hex
        await self._append(
            self._make(
                RetrievalObserved,
                query=mask(query),
                key=key,
                status=status,
                carrier=carrier,
                raw=raw,
                generation=generation,
                turns=turns,
                expected_raw=expected_raw,
                text_sha256=_sha256(mask(text)) if text else "",
                occurrence=occurrence,
            )
        )
        await self._client.nudge()

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


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
