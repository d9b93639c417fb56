"""Every record of the input topic `compaction.events`, one struct a shape, tags explicit and versioned.

Shapes only grow: a new field has a default, a changed meaning is a new version with an upcast (`upcasts.py`). Fields at their
default are left out of the bytes, so a default never changes; a default is empty, null, a small number or one of a closed
list of words, because the codec recognises a default by identity. Times are milliseconds since the Unix epoch and are the
publisher's claim: they are shown and never compared by a rule. Token counts are the publisher's too.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from schemas.facts import Manifest, Tokens, Whole

Role = Literal["user", "assistant", "tool", "system"]
SummaryState = Literal["text", "empty", "opaque", "error_text", "missing"]
Mode = Literal["all", "prefer"]


class Source(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a publisher read an object: an attribute, part of no id. Lines count from 1, bytes `[byte_start, byte_end)`."""

    publisher: str = ""
    path: str = ""
    line: Whole | None = None
    byte_start: Whole | None = None
    byte_end: Whole | None = None
    sha256: str = ""


class PlainText(msgspec.Struct, frozen=True, tag_field="kind", tag="plain"):
    """Text as it is, secrets masked. A second kind, sealed text, can follow without a new record version."""

    text: str


class SpanRange(msgspec.Struct, frozen=True):
    """Spans from `first` to `last`, both included, in the order in which the session recorded them."""

    first: str
    last: str


class Setting(msgspec.Struct, frozen=True):
    """One policy key with its value, for instance `floor.narrative` = `2/5`."""

    key: str
    value: str


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A statement that somebody means to act on; `key` or `summary` says where its backing is to be found."""

    text: str
    key: str | None = None
    summary: str | None = None
    self_sufficient: bool = False


class Candidate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A span offered for eviction, with the tokens that its leaving would free."""

    span: str
    tokens: Tokens = 0


class UnreadLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of a transcript that could not be read."""

    line: Whole
    reason: str
    sha256: str = ""


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Envelope of every record. The scope is the key: everything in it is ordered, nothing outside it is looked at."""

    id: str
    scope: str
    session: str
    agent: str = ""
    source: Source | None = None
    sequence: Whole | None = None
    time_ms: Whole | None = None


class SessionOpened(Record, frozen=True, kw_only=True, tag="session.opened.v1"):
    """A session begins. The first one of a scope pins its rules version and policy; a later one changes neither."""

    parent: str | None = None
    runtime: str = ""
    horizon_s: Whole | None = None
    window_budget: Whole | None = None
    store: str
    rules_version: str = ""
    policy: tuple[Setting, ...] = ()


class SessionClosed(Record, frozen=True, kw_only=True, tag="session.closed.v1"):
    """A session has ended; its window is no carrier any more."""

    reason: str = ""


class ScopeClosed(Record, frozen=True, kw_only=True, tag="scope.closed.v1"):
    """A scope has ended and may be shrunk to its evidence."""

    reason: str = ""


class ScopeLinked(Record, frozen=True, kw_only=True, tag="scope.linked.v1"):
    """A parent became known late; nothing moves, the link is on record."""

    parent_scope: str
    parent_session: str = ""


class SpanRecorded(Record, frozen=True, kw_only=True, tag="span.recorded.v1"):
    """A contiguous piece of raw transcript, immutable (rule I1). `turns` are the first and last message ordinal it covers; a
    publisher that does not count messages leaves them out, and the span stands behind all that its session has on record.

    `actions` names what the message did (`Edit src/app.py`), for the question whether a statement was acted on.
    `valid_from` and `valid_to` bound the validity of its facts, ISO 8601, empty for open.
    """

    span: str
    role: Role
    turns: tuple[Whole, Whole] | None = None
    text: PlainText
    manifest: Manifest | None = None
    in_window: bool = True
    valid_from: str = ""
    valid_to: str = ""
    ttl_s: Whole | None = None
    tokens: Tokens | None = None
    model: str = ""
    actions: tuple[str, ...] = ()


class SummaryRecorded(Record, frozen=True, kw_only=True, tag="summary.recorded.v1"):
    """A lossy text that took, or is to take, the place of spans. `generation` n summarises generation n-1; raw is 0."""

    summary: str
    round: str = ""
    generation: Whole = 1
    covers: tuple[SpanRange, ...] = ()
    covers_summaries: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    keys: tuple[str, ...] = ()
    state: SummaryState = "text"
    text: PlainText | None = None
    manifest: Manifest | None = None
    tokens: Tokens | None = None


class ManifestRecorded(Record, frozen=True, kw_only=True, tag="manifest.recorded.v1"):
    """Facts of a span that was recorded without them, or that a newer extractor adds. It removes none.

    One span may have several: `occurrence` tells them apart.
    """

    span: str
    manifest: Manifest
    occurrence: str = ""


class CompactionRequested(Record, frozen=True, kw_only=True, tag="compaction.requested.v1"):
    """May these spans leave the window for this summary? Candidates stand in the scorer's order of preference (rule F3).

    `budget_tokens` is what the window may hold afterwards; `tokens_before` what it holds now.
    """

    request: str
    summary: str
    evictions: tuple[Candidate, ...]
    mode: Mode = "all"
    budget_tokens: Tokens | None = None
    tokens_before: Tokens | None = None
    tombstones: tuple[str, ...] = ()
    last_sequence: Whole | None = None


class CompactionApplied(Record, frozen=True, kw_only=True, tag="compaction.applied.v1"):
    """The granted compaction was carried out, with this summary text."""

    request: str
    summary_sha256: str


class RequestWithdrawn(Record, frozen=True, kw_only=True, tag="request.withdrawn.v1"):
    """The publisher gave up: a grant, if there is one, will not be used."""

    request: str
    reason: str = ""


class CompactionObserved(Record, frozen=True, kw_only=True, tag="compaction.observed.v1"):
    """What a transcript or hook says already happened. `turn` is the ordinal of the last message before the boundary.

    Window spans that are not listed as kept or unseen count as summarised. A live summary that is listed as kept stays live,
    every other one is superseded.
    """

    round: str
    ordinal: Whole
    turn: Whole
    trigger: str = ""
    summary: str | None = None
    summary_state: SummaryState = "text"
    summarised: tuple[SpanRange, ...] = ()
    kept: tuple[SpanRange, ...] = ()
    unseen: tuple[SpanRange, ...] = ()
    tokens_before: Tokens | None = None
    tokens_after: Tokens | None = None


class IndexDeclared(Record, frozen=True, kw_only=True, tag="index.declared.v1"):
    """What the agent's retrieval store promises (rule I2)."""

    store: str
    key_scheme: Literal["span_id", "content_hash", "other"] = "span_id"
    ttl_s: Whole | None = None
    mutable: bool = False
    occurrence: str = ""


class IndexEntryRecorded(Record, frozen=True, kw_only=True, tag="index.entry_recorded.v1"):
    """The store now holds this raw span or summary under this key."""

    span: str
    key: str = ""
    store: str = ""
    occurrence: str = ""


class IndexWriteRequested(Record, frozen=True, kw_only=True, tag="index.write_requested.v1"):
    """May the store write this? `put` adds an entry, `rechunk` replaces entries by others (rule I3)."""

    request: str
    operation: Literal["put", "rechunk"]
    key: str = ""
    claims_kind: Literal["raw", "summary"] = "raw"
    text_sha256: str = ""
    replaces: tuple[str, ...] = ()
    into: tuple[str, ...] = ()


class IndexRechunked(Record, frozen=True, kw_only=True, tag="index.rechunked.v1"):
    """A pass has replaced raw entries; observed, not asked."""

    replaces: tuple[str, ...]
    into: tuple[str, ...] = ()
    occurrence: str = ""


class IndexChecked(Record, frozen=True, kw_only=True, tag="index.checked.v1"):
    """Entries that a check of the store found missing, or present without a span."""

    missing: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()
    occurrence: str = ""


class TranscriptRead(Record, frozen=True, kw_only=True, tag="transcript.read.v1"):
    """Lines of a transcript that could not be read, and ids that stand there twice with different text (rule T1)."""

    unread: tuple[UnreadLine, ...] = ()
    conflicts: tuple[str, ...] = ()
    occurrence: str = ""


class RetrievalMeasured(Record, frozen=True, kw_only=True, tag="retrieval.measured.v1"):
    """Hit rate of the retrieval path after a compaction pass, a decimal between 0 and 1 as text."""

    pass_: Whole = msgspec.field(name="pass")
    hit_rate: str
    occurrence: str = ""


class EvictionRequested(Record, frozen=True, kw_only=True, tag="eviction.requested.v1"):
    """May the store drop these raw spans (rule C1)? One request, decided as a whole; `summary` is what shall stand in."""

    request: str
    spans: tuple[str, ...]
    reason: str = ""
    summary: str | None = None


class EvictionApplied(Record, frozen=True, kw_only=True, tag="eviction.applied.v1"):
    """The granted index eviction was carried out."""

    request: str


class EvictionObserved(Record, frozen=True, kw_only=True, tag="eviction.observed.v1"):
    """Spans that a TTL, LRU, size cap, cleanup or rebuild has already removed from the store."""

    spans: tuple[str, ...]
    policy: str = ""
    occurrence: str = ""


class ExternalisationVerified(Record, frozen=True, kw_only=True, tag="externalisation.verified.v1"):
    """The span was written elsewhere and fetched back; `sha256` is of the bytes that came back."""

    span: str
    store: str
    key: str
    sha256: str
    occurrence: str = ""


class FactTombstoned(Record, frozen=True, kw_only=True, tag="fact.tombstoned.v1"):
    """This fact was dropped on purpose. It answers *unknown on purpose* and covers exactly the named fact."""

    fact: str
    reason: str
    authority: str
    occurrence: str = ""


class RetrievalObserved(Record, frozen=True, kw_only=True, tag="retrieval.observed.v1"):
    """One retrieval through the agent's own path, with what came back (rule I5)."""

    query: str = ""
    key: str = ""
    status: Literal["ok", "absent", "empty", "tombstone", "error"] = "ok"
    carrier: str = ""
    raw: bool | None = None
    generation: Whole | None = None
    turns: tuple[Whole, Whole] | None = None
    expected_raw: bool = False
    text_sha256: str = ""
    occurrence: str = ""


class AuditRecorded(Record, frozen=True, kw_only=True, tag="audit.recorded.v1"):
    """A pinned fact of an evicted span was asked for through the agent's own path (rule T2)."""

    span: str
    fact: str = ""
    status: Literal["ok", "absent", "empty", "tombstone", "error"] = "ok"
    text_sha256: str = ""
    occurrence: str = ""


class FetchedClaim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A claim with its facts, measured where the record is made, and with what the store answered for it."""

    claim: Claim
    manifest: Manifest | None = None
    status: str = ""
    span: str = ""
    text: str = ""
    raw: bool = False


class ActionProposed(Record, frozen=True, kw_only=True, tag="action.proposed.v1"):
    """May this action rest on these claims (rule R5)?"""

    request: str
    name: str = ""
    side_effects: bool = True
    claims: tuple[FetchedClaim, ...] = ()


class PolicySet(Record, frozen=True, kw_only=True, tag="policy.set.v1"):
    """Changes one policy key of the scope, or its rules version, from here on."""

    key: str
    value: str
    authority: str = ""
    occurrence: str = ""


class DegradationAcknowledged(Record, frozen=True, kw_only=True, tag="degradation.acknowledged.v1"):
    """Somebody names the evidence that a degraded scope was repaired (rule T3)."""

    evidence: str
    authority: str = ""
    occurrence: str = ""


class Tick(Record, frozen=True, kw_only=True, tag="tick.v1"):
    """The only thing that moves a scope's clock, and only forward."""

    timer: str
    due_ms: Whole


AnyRecord = (
    SessionOpened
    | SessionClosed
    | ScopeClosed
    | ScopeLinked
    | SpanRecorded
    | SummaryRecorded
    | ManifestRecorded
    | CompactionRequested
    | CompactionApplied
    | RequestWithdrawn
    | CompactionObserved
    | IndexDeclared
    | IndexEntryRecorded
    | IndexWriteRequested
    | IndexRechunked
    | IndexChecked
    | TranscriptRead
    | RetrievalMeasured
    | EvictionRequested
    | EvictionApplied
    | EvictionObserved
    | ExternalisationVerified
    | FactTombstoned
    | RetrievalObserved
    | AuditRecorded
    | ActionProposed
    | PolicySet
    | DegradationAcknowledged
    | Tick
)
