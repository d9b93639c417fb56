"""Every decision of the topic `compaction.decisions`.

A decision lists its whole effect, so that state changes only through its bytes; it names records by id with offsets into their
text, and holds no quote, no partition and no log offset (design section 5).
"""

from __future__ import annotations

from typing import Literal

import msgspec

from schemas.facts import FactClass, Outcome
from schemas.records import SpanRange, SummaryState

Ratio = tuple[int, int]
"""An exact ratio: parts, whole."""

LETTERS: dict[str, tuple[Outcome, bool, bool]] = {
    "v": ("verbatim", False, False),
    "V": ("verbatim", False, True),
    "e": ("equivalent", False, False),
    "E": ("equivalent", False, True),
    "c": ("changed", False, False),
    "q": ("changed", True, False),
    "i": ("inverted", False, False),
    "w": ("weakened", False, False),
    "W": ("weakened", True, False),
    "m": ("missing", False, False),
    "u": ("unknown", False, False),
}
"""A letter of `Outcomes`: the outcome, whether a quantifier was changed, whether a hedge was stripped."""

LETTER_OF: dict[tuple[Outcome, bool, bool], str] = {meaning: letter for letter, meaning in LETTERS.items()}


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One fact that bears on the decision: where it stands, how it fared, who else carries it."""

    fact: str
    cls: FactClass = msgspec.field(name="class")
    span: str
    start: int
    end: int
    outcome: Outcome
    rule: str = ""
    floor: Ratio | None = None
    fidelity: Ratio | None = None
    summary_start: int | None = None
    summary_end: int | None = None
    carriers: tuple[str, ...] = ()


class Outcomes(msgspec.Struct, frozen=True):
    """How the facts of one carrier fared, one letter a fact in the order of its manifest (see `LETTERS`).

    Letters of the carriers that follow it in the decision's own order of what leaves stand behind it, a comma before each: a
    round of ten thousand spans names one of them here, and fits a log entry.
    """

    carrier: str
    letters: str


class Tag(msgspec.Struct, frozen=True, kw_only=True):
    """What a summary is worth for one class: facts kept of facts summarised, against the floor (rule F3)."""

    cls: FactClass = msgspec.field(name="class")
    fidelity: Ratio
    floor: Ratio


class Skipped(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A candidate that was passed over in mode `prefer`, and what its summary lacks."""

    span: str
    rule: str
    cls: FactClass | None = msgspec.field(name="class", default=None)
    facts: tuple[str, ...] = ()
    reason: str = ""


class WouldPass(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The ways out of a refusal: any of these lists, done in full, lets the same request pass. A refusal for I4 looked no
    further: its lists are what has to be done first. A list that would be too long to follow is left empty.
    """

    skip_spans: tuple[str, ...] = ()
    carry_facts: tuple[str, ...] = ()
    tombstone_facts: tuple[str, ...] = ()
    externalise_spans: tuple[str, ...] = ()
    prefer_would_evict: tuple[str, ...] = ()
    record_first: tuple[str, ...] = ()
    wait_for: str = ""


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Envelope of every decision. `request` is the event id of what was decided; `rule` the first rule that settled it."""

    id: str
    scope: str
    session: str
    request: str
    request_id: str = ""
    rule: str = ""
    rules_version: str
    output_seq: int
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    evidence_total: int = 0


class CompactionGranted(Decision, frozen=True, kw_only=True, tag="compaction.granted.v1"):
    """The spans of `evict` may leave for this summary; pending until applied, withdrawn or observed."""

    summary: str
    summary_sha256: str
    evict: tuple[str, ...]
    retires: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    outcomes: tuple[Outcomes, ...] = ()
    tags: tuple[Tag, ...] = ()
    tombstones: tuple[str, ...] = ()
    tokens_after: int | None = None


class CompactionRefused(Decision, frozen=True, kw_only=True, tag="compaction.refused.v1"):
    """Nothing changes; `would_pass` says what would."""

    would_pass: WouldPass
    skipped: tuple[Skipped, ...] = ()


class CompactionJudged(Decision, frozen=True, kw_only=True, tag="compaction.judged.v1"):
    """The same rules on a compaction that already happened: the effect is taken as it is, the verdict says what it cost."""

    round: str
    ordinal: int
    turn: int
    verdict: Literal["held", "violated", "unknown"]
    summary: str | None = None
    summary_state: SummaryState
    left: tuple[SpanRange, ...] = ()
    unseen: tuple[SpanRange, ...] = ()
    kept: int = 0
    retires: tuple[str, ...] = ()
    ends_pending: str = ""
    pending_applied: bool = False
    outcomes: tuple[Outcomes, ...] = ()
    tags: tuple[Tag, ...] = ()
    tokens_after: int | None = None


class EvictionGranted(Decision, frozen=True, kw_only=True, tag="eviction.granted.v1"):
    """These spans may leave the store; pending until applied, withdrawn or observed."""

    spans: tuple[str, ...]


class EvictionRefused(Decision, frozen=True, kw_only=True, tag="eviction.refused.v1"):
    """No span leaves the store."""

    spans: tuple[str, ...]
    would_pass: WouldPass


class EvictionJudged(Decision, frozen=True, kw_only=True, tag="eviction.judged.v1"):
    """Spans that have already left the store, with what went with them."""

    spans: tuple[str, ...]
    verdict: Literal["held", "violated"]


class IndexGranted(Decision, frozen=True, kw_only=True, tag="index.granted.v1"):
    """The store may write this."""


class IndexRefused(Decision, frozen=True, kw_only=True, tag="index.refused.v1"):
    """The write would replace, re-key or counterfeit a raw entry (rule I3)."""

    would_pass: WouldPass


class ClaimResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one claim: `holds`, or the fault that keeps it from holding, with the authority it has (rule R4)."""

    text_sha256: str
    key: str = ""
    status: Literal["holds", "contradicted", "key_not_derivable", "not_found", "not_raw", "not_recorded", "does_not_hold"]
    authority: str = ""
    contradicted_by: str = ""
    substantiated_by: str = ""


class ActionAllowed(Decision, frozen=True, kw_only=True, tag="action.allowed.v1"):
    """Every claim holds against its span."""

    substantiated_by: tuple[str, ...] = ()
    claims: tuple[ClaimResult, ...] = ()
    side_effects: bool = True


class ActionDenied(Decision, frozen=True, kw_only=True, tag="action.denied.v1"):
    """At least one claim does not hold, or cannot be shown to."""

    claims: tuple[ClaimResult, ...] = ()
    would_pass: WouldPass


class RecordRejected(Decision, frozen=True, kw_only=True, tag="record.rejected.v1"):
    """The record changes nothing: it contradicts one already on the log, or cannot be understood."""

    content_sha256: str
    subject: str = ""


AnyDecision = (
    CompactionGranted
    | CompactionRefused
    | CompactionJudged
    | EvictionGranted
    | EvictionRefused
    | EvictionJudged
    | IndexGranted
    | IndexRefused
    | ActionAllowed
    | ActionDenied
    | RecordRejected
)
