"""What real rounds keep and drop, by the fourth source's rule and by ours, over every transcript at hand.

The source counts decision-shaped sentences of the assistant in the span that a round dropped, and the same kind of sentences in
the summary that replaced it, and divides the two counts. It pairs nothing. Beside that stand two figures that do pair: how many
of the dropped sentences have a look-alike in the summary (its own rule for *survived*), and how many facts survive by our rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from ledger.errors import LedgerError
from ledger.facts import SummaryText, extract, seed_sentences, seed_survives, survival
from ledger.masking import mask
from ledger.transcripts.model import Message, Round, Summary
from ledger.transcripts.reading import Transcript
from schemas.facts import FACT_CLASSES, SURVIVING
from schemas.records import Role

KINDS = ("decided", "rejected", "reason")
UNBOUNDED = 1 << 30
SAMPLE = 50
"""Sentences with *because* that are drawn to be read and judged, as many as the source means to judge."""


class Counted(msgspec.Struct):
    """Facts or sentences of one class: how many went in, how many of those survived, how many the summary states."""

    dropped: int = 0
    survived: int = 0
    stated: int = 0

    def add(self, other: Counted) -> None:
        """Sum up."""
        self.dropped += other.dropped
        self.survived += other.survived
        self.stated += other.stated


class RoundCount(msgspec.Struct):
    """One round of one file. `seed` is by kind, `ours` by class, and by kind for decisions."""

    file: str
    number: int
    seed: dict[str, Counted]
    sentences: Counted
    ours: dict[str, Counted]
    long_sentences: int = 0
    because: list[str] = []


class Judged(msgspec.Struct):
    """All rounds that have a summary with text, and how many had none."""

    rounds: list[RoundCount] = []
    unread: int = 0
    files: int = 0
    unsupported: list[str] = []


def judge(paths: Sequence[Path]) -> Judged:
    """Every round of every file that a reader knows. A fork's replayed lines and copies of a session count once."""
    result = Judged()
    seen: set[str] = set()
    for path in paths:
        try:
            with Transcript(path) as transcript:
                found = list(_rounds(path.name, transcript, seen, result))
        except LedgerError:
            result.unsupported.append(path.name)
            continue
        result.files += 1
        result.rounds += found
    return result


def _rounds(name: str, transcript: Transcript, seen: set[str], result: Judged) -> Iterator[RoundCount]:
    held: dict[str, Message] = {}
    summaries: dict[str, Summary] = {}
    number = 0
    for item in transcript.items():
        if isinstance(item, Message):
            held[item.key] = item
        elif isinstance(item, Summary):
            summaries[item.key] = item
        elif isinstance(item, Round):
            number += 1
            keys = (*item.summarised.keys, *item.unseen.keys)
            spans = [held.pop(key) for key in keys if key in held]
            summary = summaries.get(item.summary or "")
            if summary is None or item.state != "text":
                result.unread += 1
            elif f"{item.session}:{item.id}" not in seen:
                seen.add(f"{item.session}:{item.id}")
                yield _count(name, number, spans, summary.text)


def _count(name: str, number: int, spans: Sequence[Message], summary: str) -> RoundCount:
    text = mask(summary)
    said = [(one.role, mask(one.text)) for one in spans]
    spoken = [sentence for role, words in said if role == "assistant" for sentence in seed_sentences(words)]
    stated = seed_sentences(text)
    survived = [sentence for sentence in spoken if seed_survives(sentence, stated)]
    seed = {kind: Counted(*(sum(kind in one.kinds for one in group) for group in (spoken, survived, stated))) for kind in KINDS}
    return RoundCount(
        file=name, number=number, seed=seed, sentences=Counted(len(spoken), len(survived), len(stated)), ours=_ours(said, text),
        long_sentences=_too_long(said), because=[one.text for one in spoken if "reason" in one.kinds],
    )  # fmt: skip


def _ours(said: Iterable[tuple[Role, str]], summary: str) -> dict[str, Counted]:
    """Facts of all roles, each once, with how they fare; and how many of a class the summary states at all."""
    prepared = SummaryText(summary)
    totals = {name: Counted() for name in (*FACT_CLASSES, *KINDS)}
    known: set[str] = set()
    for role, text in said:
        for fact in extract(text, role, scope_key="evidence").facts:
            if fact.id in known:
                continue
            known.add(fact.id)
            kept = survival(fact, prepared).outcome in SURVIVING
            for name in (fact.cls, *((fact.kind,) if fact.kind else ())):
                totals[name].add(Counted(1, int(kept)))
    for fact in extract(summary, "assistant", scope_key="evidence").facts:
        for name in (fact.cls, *((fact.kind,) if fact.kind else ())):
            totals[name].stated += 1
    return totals


def _too_long(said: Iterable[tuple[Role, str]]) -> int:
    """Sentences of the assistant that match a pattern and are longer than the source lets a sentence be."""
    spoken = [text for role, text in said if role == "assistant"]
    return sum(len(seed_sentences(text, units_max=UNBOUNDED)) - len(seed_sentences(text)) for text in spoken)


def sample(rounds: Iterable[RoundCount], size: int = SAMPLE) -> list[str]:
    """Sentences with *because* that were dropped, drawn evenly over all rounds: the same ones for the same files."""
    found = list(dict.fromkeys(text for one in rounds for text in one.because))
    if len(found) <= size:
        return found
    return [found[at * len(found) // size] for at in range(size)]
