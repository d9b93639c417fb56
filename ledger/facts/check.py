"""May this summary replace this text? The answer of `check` (contracts section 4), and what no source holds."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

import msgspec

from ledger.facts.comparing.comparison import compared
from ledger.facts.comparing.summary import SummaryText
from ledger.facts.comparing.survival import survival
from ledger.facts.extraction.entry_facts import is_entry
from ledger.facts.extraction.extract import extract
from ledger.facts.extraction.unread import is_unread
from ledger.facts.findings import Finding
from ledger.facts.language.detection import detect, detect_beside
from ledger.facts.language.fold import SPACE, fold, normalise
from ledger.facts.language.lexicon import UNREAD
from ledger.facts.model import RULES_VERSION
from ledger.facts.structure.blocks import blocks, sentences
from ledger.facts.unrecognised import holds_words, unrecognised
from ledger.rules.floors import at_least, floor_of
from schemas.facts import SURVIVING, Fact, FactClass, FactKind, Survival
from schemas.records import Role

Verdict = Literal["evict_ok", "below_floor", "unknown"]
Reason = Literal["language_not_read", "no_fact_recognised"]
_SCOPE = "check"
_HALF = re.compile("[\ud800-\udfff]", re.ASCII)


class Passage(msgspec.Struct, frozen=True):
    """A sentence at code points `[start, end)`."""

    text: str
    start: int
    end: int


class FactResult(msgspec.Struct, frozen=True):
    """One fact of the source. `fidelity` is that of its class in this source, `floor` what the class has to reach.

    `summary_says` is what the summary says of it, or instead, if it was asked for and the summary does.
    """

    text: str
    cls: FactClass = msgspec.field(name="class")
    start: int
    end: int
    survival: Survival
    survives: bool
    fidelity: float
    floor: float
    summary_says: str | msgspec.UnsetType = msgspec.UNSET


class CheckResult(msgspec.Struct, frozen=True):
    """The object that `check` prints; `id` is null unless a batch line gave one."""

    id: str | None
    verdict: Verdict
    polarity: Literal["kept", "inverted", "n/a"]
    quantifier: Literal["kept", "changed", "n/a"]
    hedge: Literal["kept", "stripped", "n/a"]
    facts: tuple[FactResult, ...]
    unsupported: tuple[Passage, ...]
    rules_version: str
    reason: Reason | msgspec.UnsetType = msgspec.UNSET
    """Why the verdict is `unknown`, where it is."""


def check(source: str, summary: str, role: Role, *, id: str | None = None, quoted: bool = False) -> CheckResult:  # noqa: A002  the JSON field
    """Measure every fact of `source` in `summary` and compare with the floors (F1, F2). Deterministic, never raises.

    `unknown` is answered where nothing of what could be read was lost, but a sentence of the source is in a language without a
    table, or no fact is recognised in it, and the summary does not hold its words. An entry (`ledger.facts.structure.entries`)
    that is lost is below the floor whoever told it.

    `quoted` adds the words of the summary to each fact. Halves of surrogate pairs are read as U+FFFD, as in transcripts.
    """
    source, summary = _HALF.sub("\ufffd", source), _HALF.sub("\ufffd", summary)
    said_in = detect_beside(fold(source), detect(fold(summary), original=summary), source)
    facts = extract(source, role, scope_key=_SCOPE, by_hand=True, language=said_in).facts
    prepared = SummaryText(summary, detect_beside(fold(summary), said_in, summary))
    findings = _compared(source, facts, [survival(fact, prepared) for fact in facts], prepared)
    fidelity = _fidelity(facts, findings)
    said = summary if quoted else ""
    rows = tuple(_row(source, said, fact, finding, fidelity, role) for fact, finding in zip(facts, findings, strict=True))
    polarity = _merge([f.polarity for f in findings], "inverted")
    quantifier = _merge([f.quantifier for f in findings], "changed")
    hedge = _merge([f.hedge for f in findings], "stripped")
    verdict: Verdict = "evict_ok"
    read = [at for at, fact in enumerate(facts) if not is_unread(fact)]
    held = _fidelity([facts[at] for at in read], [findings[at] for at in read])
    entered = all(finding.outcome in SURVIVING for fact, finding in zip(facts, findings, strict=True) if is_entry(fact))
    reason: Reason | msgspec.UnsetType = msgspec.UNSET
    if polarity == "inverted" or quantifier == "changed" or not entered or not _floors_hold(held, role):
        verdict = "below_floor"
    elif len(read) < len(facts) or (not facts and source.strip(SPACE) and said_in is UNREAD):
        verdict, reason = "unknown", "language_not_read"
    elif not all(holds_words(prepared, source[start:end]) for start, end in unrecognised(source, facts, role)):
        verdict, reason = "unknown", "no_fact_recognised"
    unsaid = tuple(unsupported(source, summary))
    return CheckResult(id, verdict, polarity, quantifier, hedge, rows, unsaid, RULES_VERSION, reason)  # type: ignore[arg-type]


def _compared(source: str, facts: Sequence[Fact], findings: list[Finding], summary: SummaryText) -> list[Finding]:
    """Each finding with the whole sentence of its fact compared; as it is, where the summary is the source."""
    if summary.normal == normalise(source):
        return findings
    spans = [span for block in blocks(source) for span in sentences(source, block.start, block.end)]
    found, whole = [], fold(source)
    for fact, finding in zip(facts, findings, strict=True):
        at = bisect_right(spans, (fact.start, len(source))) - 1
        start, end = spans[at] if at >= 0 else (fact.start, fact.end)
        found.append(compared(fact, finding, source[start:end], summary, whole))
    return found


def _group(fact: Fact) -> tuple[FactClass, FactKind]:
    return fact.cls, fact.kind if fact.cls == "decision" else ""


def _fidelity(facts: Sequence[Fact], findings: Sequence[Finding]) -> dict[tuple[FactClass, FactKind], tuple[int, int]]:
    found: dict[tuple[FactClass, FactKind], tuple[int, int]] = {}
    for fact, finding in zip(facts, findings, strict=True):
        kept, whole = found.get(_group(fact), (0, 0))
        found[_group(fact)] = (kept + (finding.outcome in SURVIVING), whole + 1)
    return found


def _floors_hold(fidelity: dict[tuple[FactClass, FactKind], tuple[int, int]], role: Role) -> bool:
    return all(at_least(share, floor_of(cls, kind, role)) for (cls, kind), share in fidelity.items())


def _row(
    source: str,
    summary: str,
    fact: Fact,
    finding: Finding,
    fidelity: dict[tuple[FactClass, FactKind], tuple[int, int]],
    role: Role,
) -> FactResult:
    kept, whole = fidelity[_group(fact)]
    floor = floor_of(fact.cls, fact.kind, role)
    return FactResult(
        source[fact.start : fact.end],
        fact.cls,
        fact.start,
        fact.end,
        finding.outcome,
        finding.outcome in SURVIVING,
        round(kept / whole, 4),
        round(floor[0] / floor[1], 4),
        summary[finding.start : finding.end] if summary and finding.start is not None else msgspec.UNSET,
    )


def _merge(values: list[str], worst: str) -> str:
    return worst if worst in values else "kept" if "kept" in values else "n/a"


def unsupported(source: str, summary: str) -> list[Passage]:
    """Sentences of the summary with a number, date or identifier that the source holds nowhere; each once, in order."""
    held = SummaryText(source)
    missing = [
        fact
        for fact in extract(summary, "assistant", scope_key=_SCOPE).facts
        if fact.cls in {"numeric", "identifier", "commitment"} and not _held(fact, held)
    ]
    if not missing:
        return []
    found: list[Passage] = []
    starts = sorted(fact.start for fact in missing)
    at = 0
    for block in blocks(summary):
        for start, end in sentences(summary, block.start, block.end):
            while at < len(starts) and starts[at] < start:
                at += 1
            if at < len(starts) and starts[at] < end:
                found.append(Passage(summary[start:end], start, end))
    return found


def _held(fact: Fact, source: SummaryText) -> bool:
    """Does the value stand anywhere in the source, whatever it speaks of there?"""
    if fact.cls == "identifier":
        return source.find(fact.value) is not None or fold(fact.value) in source.folded
    bare = msgspec.structs.replace(fact, context="", subject="" if not fact.subject.startswith("@") else fact.subject)
    if fact.cls == "commitment" and " " in fact.value:
        return True
    outcome = survival(bare, source)
    return outcome.outcome in SURVIVING or (
        fact.cls == "numeric" and outcome.outcome == "changed" and outcome.quantifier == "changed"
    )
