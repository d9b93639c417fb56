"""What is measured on: transcripts and records from a fixed seed, made once a run in a folder that goes away with it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from ledger.facts import EXTRACTOR, RULES_VERSION
from ops.evidence.generator import TranscriptShape, write_transcript
from schemas.facts import Fact, Manifest
from schemas.ids import event_id, fact_id
from schemas.records import (
    AnyRecord,
    CompactionObserved,
    PlainText,
    SessionOpened,
    SpanRange,
    SpanRecorded,
    SummaryRecorded,
)

SEED = 7
READER_BYTES = 20 << 20
AUDIT_LINES = 20_000
LARGE_BYTES, LARGE_ROUNDS = 200_000_000, 80
"""A very long session: a compaction after every 2.5 MB, as in real ones."""

SESSION = "generated-session"
ROUND_SPANS = 500
"""Spans between two compactions of the made records: a window full of ordinary messages."""

NAMES_KNOWN = 4
"""Each made span names one new thing and one that was named some spans before."""


class Inputs:
    """Files under `folder`, made when they are first asked for. `records` is how many records a growing run has."""

    def __init__(self, folder: Path, records: int) -> None:
        self.folder = folder
        self.records = records

    @cached_property
    def reader_file(self) -> Path:
        """20 MB in lines of the size that real sessions have."""
        path = self.folder / "reader.jsonl"
        write_transcript(path, SEED, TranscriptShape(size_bytes=READER_BYTES, rounds=4))
        return path

    @cached_property
    def fold_file(self) -> Path:
        """A transcript that folds in some seconds."""
        path = self.folder / "fold.jsonl"
        write_transcript(path, SEED, TranscriptShape(size_bytes=6 << 20, rounds=3))
        return path

    @cached_property
    def audit_folder(self) -> Path:
        """A folder of projects with one session of 20,000 lines, 8 rounds, and little tool output."""
        folder = self.folder / "projects" / "project"
        folder.mkdir(parents=True)
        write_transcript(folder / "generated-session.jsonl", SEED, TranscriptShape(lines=AUDIT_LINES, bulk_bytes=0))
        return folder.parent

    @cached_property
    def large_file(self) -> Path:
        """200 MB in one session."""
        path = self.folder / "large.jsonl"
        write_transcript(path, SEED, TranscriptShape(size_bytes=LARGE_BYTES, rounds=LARGE_ROUNDS))
        return path

    @property
    def audit_file(self) -> Path:
        """The session in `audit_folder`."""
        return self.audit_folder / "project" / "generated-session.jsonl"


def opening(scope: str, session: str) -> SessionOpened:
    """The first record of a session."""
    return SessionOpened(
        id=event_id("session.opened", session, session), scope=scope, session=session, runtime="bench", store="none",
        rules_version=RULES_VERSION,
    )  # fmt: skip


def span(scope: str, session: str, number: int) -> SpanRecorded:
    """A message that names one new file and one named before; its facts are listed as the extractor lists them."""
    fresh, known = f"src/part_{number:08}/core.py", f"src/part_{max(0, number - 7):08}/core.py"
    text = f"Step {number}: {fresh} now calls {known} and nothing else."
    facts = tuple(_name(scope, text, name) for name in dict.fromkeys((fresh, known)))
    name = f"{session}:m{number}"
    return SpanRecorded(
        id=event_id("span.recorded", session, name), scope=scope, session=session, span=name,
        role="assistant" if number % 3 else "user", turns=(number, number), text=PlainText(text),
        manifest=Manifest(extractor=EXTRACTOR, facts=facts), tokens=30,
    )  # fmt: skip


def _name(scope: str, text: str, name: str) -> Fact:
    at = text.index(name)
    identity = fact_id(scope, "identifier", name, "", "affirmed", "", "", "")
    return Fact(id=identity, cls="identifier", start=at, end=at + len(name), value=name, context="|")


def growing(scope: str, count: int) -> Iterator[AnyRecord]:
    """Records of one scope that goes on and on: spans, and a compaction after every `ROUND_SPANS` of them."""
    yield opening(scope, scope)
    made, number, round_, last = 1, 0, 0, ""
    while made < count:
        number += 1
        yield span(scope, scope, number)
        made += 1
        if number % ROUND_SPANS == 0 and made + 2 <= count:
            round_ += 1
            first = f"{scope}:m{number - ROUND_SPANS + 1}"
            yield from _round(scope, round_, number, first, last)
            last = f"{scope}:s{round_}"
            made += 2


def _round(scope: str, round_: int, turn: int, first: str, last: str) -> tuple[AnyRecord, AnyRecord]:
    """Every fourth file is named by the summary, which replaces the one before."""
    names = [f"src/part_{number:08}/core.py" for number in range(turn - ROUND_SPANS + 1, turn + 1, NAMES_KNOWN)]
    text = "Worked on " + ", ".join(names) + "."
    covered = (SpanRange(first, f"{scope}:m{turn}"),)
    summary = f"{scope}:s{round_}"
    return (
        SummaryRecorded(
            id=event_id("summary.recorded", scope, summary), scope=scope, session=scope, summary=summary, round=f"r{round_}",
            generation=round_, covers=covered, covers_summaries=(last,) if last else (), text=PlainText(text),
        ),
        CompactionObserved(
            id=event_id("compaction.observed", scope, f"r{round_}"), scope=scope, session=scope, round=f"r{round_}",
            ordinal=round_, turn=turn, trigger="auto", summary=summary, summary_state="text", summarised=covered,
        ),
    )  # fmt: skip


def lines_of(path: Path) -> list[bytes]:
    """The lines of a file without their breaks."""
    return path.read_bytes().split(b"\n")[:-1]
