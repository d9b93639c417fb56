"""What an agent's program says of one session: each thing is a record of the log.

Records are made here: secrets are masked and facts extracted before anything is appended, so the log never sees what the
publisher should not have sent.
"""

from __future__ import annotations

import hashlib
import re
import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol, TypeVar

from ledger.errors import UsageError
from ledger.facts import RULES_VERSION, extract
from ledger.masking import mask
from ledger.refusals import QuotedEvidence, RecordConflict
from ledger.retrieval import Fetched, Retrieval
from schemas.decisions import AnyDecision, Evidence
from schemas.ids import digest, span_id
from schemas.objects import with_own_id
from schemas.records import (
    AnyRecord,
    Claim,
    FactTombstoned,
    IndexEntryRecorded,
    PlainText,
    Record,
    RetrievalObserved,
    Role,
    SessionOpened,
    SpanRange,
    SpanRecorded,
    SummaryRecorded,
)

R = TypeVar("R", bound=Record)
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


class Recorder:
    """Says what happens in one session of a scope."""

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
                text_sha256=sha256_of(mask(text)) if text else "",
                occurrence=occurrence,
            )
        )
        await self._client.nudge()


def sha256_of(text: str) -> str:
    """The hash by which a text is named in records that do not hold it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
