"""What `inspect` says of one file: what was read, what was not, and how each round partitions the messages that were live."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Literal

import msgspec

from ledger.transcripts.model import Conflict, Duplicate, Item, Message, Opened, Round, Summary, TokensAfter, Unread, Version
from ledger.transcripts.reading import Transcript
from schemas.ids import span_id
from schemas.records import SummaryState

Reading = Literal["complete", "degraded", "unknown"]


class SkippedLine(msgspec.Struct, frozen=True):
    """A line that could not be read, or only by mending it."""

    line: int
    reason: str


class ConflictingLine(msgspec.Struct, frozen=True):
    """A line whose entry has the id of an earlier one and other words; the earlier one holds."""

    line: int
    id: str


class RoundReport(msgspec.Struct, frozen=True, kw_only=True):
    """One round. The three counts are user and assistant messages, and add up to those that were live at the boundary."""

    round: int
    trigger: str | None
    boundary_line: int | None
    summary_line: int | None
    summary: SummaryState
    summarised: int
    kept: int
    unseen: int
    tokens_before: int | None
    tokens_after: int | None


class InspectReport(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of `inspect` for one file.

    Messages and rounds are those of the main chain; a sub-agent's own file has no other than its own.

    `reading` is `degraded` where something could not be read, ids conflict, or a round has no readable summary; else `unknown`
    where a summary is opaque; else `complete`.
    """

    path: str
    format: str
    version: str | None
    messages: int
    duplicates: int
    conflicts: int
    skipped: tuple[SkippedLine, ...]
    rounds: tuple[RoundReport, ...]
    reading: Reading
    conflicting: tuple[ConflictingLine, ...] = ()
    """The lines behind `conflicts`, of each id the first."""


class _Tally:
    """What one session of the file amounts to."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.messages = 0
        self.duplicates = 0


class Report:
    """Collects items into an `InspectReport`; holds counts and rounds, no texts."""

    def __init__(self, path: str, format_name: str) -> None:
        self._path = path
        self._format = format_name
        self._sessions: dict[str, _Tally] = {}
        self._versions: dict[str, None] = {}
        self._conflicts: dict[tuple[str, str], int] = {}
        self._skipped: dict[int, str] = {}
        self._rounds: dict[tuple[str, str], Round] = {}

    def add(self, item: Item) -> None:
        """Count one item."""
        if isinstance(item, Message):
            self._sessions[item.session].messages += item.counted
        elif isinstance(item, Opened):
            self._sessions[item.session] = _Tally(item)
            if item.version:
                self._versions.setdefault(item.version)
        elif isinstance(item, Duplicate):
            self._sessions[item.session].duplicates += item.counted
        elif isinstance(item, Conflict):
            self._conflicts.setdefault((item.session, item.key), item.line)
        elif isinstance(item, Unread):
            self._skipped.setdefault(item.line, item.reason)
        elif isinstance(item, Round):
            self._rounds[item.session, item.id] = item
        elif isinstance(item, Summary):
            self._late(item)
        elif isinstance(item, Version):
            self._versions.setdefault(item.version)
        elif isinstance(item, TokensAfter):
            done = self._rounds[item.session, item.round]
            self._rounds[item.session, item.round] = msgspec.structs.replace(done, tokens_after=item.tokens)

    def _late(self, item: Summary) -> None:
        done = self._rounds.get((item.session, item.round))
        if item.late and done is not None:
            line = item.where.number if item.where else None
            self._rounds[item.session, item.round] = msgspec.structs.replace(done, state=item.state, summary_line=line)

    def result(self) -> InspectReport:
        """The report so far."""
        tallies = list(self._sessions.values())
        # A sub-agent's own file has no main chain: there, its own messages are what the file is about.
        main = [tally for tally in tallies if tally.opened.runtime != "claude-code" or not tally.opened.agent]
        if not any(tally.messages for tally in main):
            main = tallies
        sessions = {tally.opened.session for tally in main}
        shown = (one for one in self._rounds.values() if one.session in sessions)
        rounds = sorted(shown, key=lambda one: one.boundary_line or one.summary_line or 0)
        states = {one.state for one in rounds}
        degraded = self._skipped or self._conflicts or states & {"missing", "empty", "error_text"}
        return InspectReport(
            path=self._path,
            format=self._format,
            version=", ".join(self._versions) or None,
            messages=sum(tally.messages for tally in main),
            duplicates=sum(tally.duplicates for tally in main),
            conflicts=len(self._conflicts),
            skipped=tuple(SkippedLine(line, reason) for line, reason in sorted(self._skipped.items())),
            rounds=tuple(_round_report(number, one) for number, one in enumerate(rounds, 1)),
            reading="degraded" if degraded else "unknown" if "opaque" in states else "complete",
            conflicting=tuple(ConflictingLine(line, span_id(*entry)) for entry, line in self._conflicts.items()),
        )


def _round_report(number: int, done: Round) -> RoundReport:
    return RoundReport(
        round=number,
        trigger=done.trigger,
        boundary_line=done.boundary_line,
        summary_line=done.summary_line,
        summary=done.state,
        summarised=done.summarised.messages,
        kept=done.kept.messages,
        unseen=done.unseen.messages,
        tokens_before=done.tokens_before,
        tokens_after=done.tokens_after,
    )


def report_of(path: str, format_name: str, items: Iterable[Item]) -> InspectReport:
    """The report of a sequence of items."""
    report = Report(path, format_name)
    for item in items:
        report.add(item)
    return report.result()


def inspect(path: str | os.PathLike[str]) -> InspectReport:
    """Read one file and say what it holds.

    Raises `UsageError` (exit 2) for a path that cannot be read, `UnsupportedTranscript` (exit 3) for an empty file or one that
    no reader knows.
    """
    with Transcript(path) as transcript:
        return report_of(_shown(transcript.path), transcript.format.name, transcript.items())


def unsupported(path: str | os.PathLike[str]) -> InspectReport:
    """What is said of an empty file or one that no reader knows: nothing was read, and what it holds is unknown."""
    return InspectReport(
        path=_shown(path), format="unsupported", version=None, messages=0, duplicates=0, conflicts=0, skipped=(), rounds=(),
        reading="unknown",
    )  # fmt: skip


def _shown(path: str | os.PathLike[str]) -> str:
    """A path is bytes on most systems, and not always text."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
