"""Rows: what is known of one scope, as the index keeps it. A cache of the log, so their shape may change with its format."""

from __future__ import annotations

import msgspec

from schemas.records import SummaryState


class Row(msgspec.Struct, frozen=True, array_like=True, kw_only=True):
    """Base of all rows. Rows are a cache of the log, so their shape may change with the index format version."""


class ScopeRow(Row, frozen=True, kw_only=True):
    """The scope as a whole: its pins, trust, counters and clock."""

    opened: bool = False
    root: str = ""
    rules_version: str = ""
    policy: tuple[tuple[str, str], ...] = ()
    store: str = "none"
    horizon_s: int | None = None
    sessions: int = 0
    carriers: int = 0
    output_seq: int = 0
    clock_ms: int = 0
    degraded: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()
    audits_passed: int = 0
    compactions: int = 0
    compactions_since_audit: int = 0
    hit_rate: str = ""
    hit_rate_change: str = ""
    evicted: tuple[tuple[str, int, int], ...] = ()
    trust: str = "unknown"
    records: int = 0
    degraded_at: int = 0
    closed: bool = False
    missing_at: int = 0
    """Records when the last check of the store found entries missing; 0 if it found none."""


class SessionRow(Row, frozen=True, kw_only=True):
    """One session: its ordinal in the scope, its window and its summaries that are live now."""

    id: str
    ordinal: int
    event: str
    parent: str = ""
    runtime: str = ""
    horizon_s: int | None = None
    window_budget: int | None = None
    window_tokens: int | None = None
    rounds: int = 0
    boundary_turn: int = -1
    last_turn: int = 0
    """The highest message ordinal of its spans."""

    live: tuple[str, ...] = ()
    pending: str = ""
    spans: int = 0
    dropped: int = 0
    closed: bool = False


class SpanRow(Row, frozen=True, kw_only=True):
    """A raw span. `text_digest` is of role and text; the text itself stays in the log."""

    id: str
    ordinal: int
    session: int
    role: str
    turns: tuple[int, int]
    text_digest: bytes
    text_sha256: str
    length: int
    extractor: str = ""
    manifested: bool
    in_window: bool = False
    in_store: bool = False
    external: bool = False
    leaving: str = ""
    """Request id of its session's pending grant that names the span."""
    leaving_store: str = ""
    """Key, in hex, of the pending eviction request that names the span: sessions of a scope may use one request id each."""
    left_round: int = 0
    tokens: int | None = None
    tombstoned: bool = False
    missing_at: int = 0
    """Records when a check last found its entry missing: it is missing still if no later check says otherwise."""


class FactRef(msgspec.Struct, frozen=True, array_like=True):
    """A fact of a span, at code points `[start, end)` of its text."""

    fact: bytes
    start: int
    end: int


class SpanFactsRow(Row, frozen=True, kw_only=True):
    """The facts of a span in the order of its manifests; only ever appended to."""

    refs: tuple[FactRef, ...] = ()


class PlaceRow(Row, frozen=True, kw_only=True):
    """The name that stands at a place: a span in its session, a carrier of a fact, a session in its scope."""

    span: str


class FactRow(Row, frozen=True, kw_only=True):
    """What a fact says, where it was first said, and how many carriers the whole scope can reach."""

    id: str
    cls: str
    kind: str
    value: str
    subject: str
    context: str
    polarity: str
    quantifier: str
    hedge: str
    valid_from: str
    valid_to: str
    span: str
    start: int
    end: int
    role: str
    stored: int = 0
    external: int = 0
    leaving_store: int = 0
    stored_summaries: int = 0
    """Summaries with a store entry that were measured to state it, live or superseded."""
    tombstone: str = ""
    expired: bool = False
    tombstoned_at: int = 0
    """Carrier ordinal at which the tombstone came: only a later span states the fact again."""


class FactInSessionRow(Row, frozen=True, kw_only=True):
    """How many carriers of a fact one session has in its window, which quality its live summaries give it, and its fate.

    What `leaving…` counts is part of the count beside it, and goes once the pending grant is applied.
    """

    window: int = 0
    leaving: int = 0
    verbatim: int = 0
    equivalent: int = 0
    dropped: bool = False
    lost_round: int = 0
    turned_round: int = 0
    unknown_round: int = 0
    stripped_round: int = 0
    leaving_verbatim: int = 0
    leaving_equivalent: int = 0


class FactValueRow(Row, frozen=True, kw_only=True):
    """Marks that a fact has this class and value: how a text is looked up whose subject is not given."""

    fact: bytes


class SummaryRow(Row, frozen=True, kw_only=True):
    """A summary: recorded, then perhaps live, then perhaps superseded."""

    id: str
    ordinal: int
    session: int
    event: str
    round: str
    generation: int
    state: SummaryState
    text_sha256: str
    live: bool = False
    retired: bool = False
    in_store: bool = False
    tokens: int | None = None
    covers: tuple[tuple[str, str], ...] = ()
    covers_summaries: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    underivable: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    verified: bool = False
    tags: tuple[tuple[str, int, int, int, int], ...] = ()


class SummaryTextRow(Row, frozen=True, kw_only=True):
    """A summary's text, kept until the summary is superseded, because facts are measured against it."""

    text: str


class CarriedRow(Row, frozen=True, kw_only=True):
    """Facts that a summary was measured to carry, each with the letter of its outcome."""

    facts: tuple[tuple[bytes, str], ...] = ()


class RequestRow(Row, frozen=True, kw_only=True):
    """A request and the bytes of its decision, for repeats and for the moment it is applied."""

    event: str
    request: str
    session: str
    status: str
    decision: bytes
    summary_sha256: str = ""


class SeenRow(Row, frozen=True, kw_only=True):
    """An event id that was folded, with a digest of its content; or the mark of a refusal, by its own id."""

    content: bytes
    refused: bool = False
    early: bool = False
    """Refused for want of what may still come, and therefore looked at again when it is sent again."""


class RoundRow(Row, frozen=True, kw_only=True):
    """One compaction of one session, with what it cost."""

    round: str
    ordinal: int
    event: str
    decision: str
    trigger: str
    summary: str
    summary_state: str
    observed: bool
    verdict: str
    turn: int
    left: int
    kept: int
    unseen: int
    dropped: int
    survived: int
    lost: int
    unknown: int
    tokens_before: int | None = None
    tokens_after: int | None = None


class LostRow(Row, frozen=True, kw_only=True):
    """A fact that a round left without a carrier, where it stood, and what the summary says instead."""

    span: str
    start: int
    end: int
    outcome: str
    summary: str
    summary_start: int | None = None
    summary_end: int | None = None
    regained: str = ""


class LifeRow(Row, frozen=True, kw_only=True):
    """One step in the life of a fact: carried, turned, lost, regained or tombstoned at a round (rule C5)."""

    step: str
    session: str
    round: int
    carrier: str
    outcome: str = ""
    start: int | None = None
    end: int | None = None


class AlertRow(Row, frozen=True, kw_only=True):
    """An alert by fingerprint, with what is needed to resolve it."""

    kind: str
    rule: str
    severity: str
    subject: str
    session: str
    group: str
    open: bool
    raised_seq: int


class RepairRow(Row, frozen=True, kw_only=True):
    """When, in records of the scope, something showed that retrieval works again."""

    at: int
    what: str
