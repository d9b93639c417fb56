"""`ingest`: transcripts into the log, and what that brought to light."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.errors import UsageError
from ledger.transcripts.formats import UnsupportedTranscript
from ops.cli.exit import NothingToJudge, report
from ops.cli.options import Json, LogUrl, Paths, log_url
from ops.cli.progress import Advance, bar
from ops.cli.screen import print_json, rule_off, say, say_command, talk
from ops.cli.words import WAITS, command, count, listed, short_path

if TYPE_CHECKING:
    from ledger.transcripts.files import Found as FoundFile
    from ledger.transcripts.reading import Transcript
    from ops.ingest import Ingest, IngestAnswer
    from ops.queries.alerts import AlertCount, Cursor
    from ops.store import Found, Reading, Store
    from ops.transcripts import Plan

SESSIONS_SHOWN = 5
"""Sessions told in detail; the others are a command away."""

LOSSES_SHOWN = 5

OPEN_COUNTED = 100
"""Sessions, those with the most losses, whose open ones are counted: each is read once for that."""


def ingest(
    paths: Paths,
    follow: Annotated[bool, typer.Option("--follow", help="Go on as the files grow, until interrupted.")] = False,
    log: LogUrl = None,
    json: Json = False,
) -> None:
    """Read transcripts into the log and say what was lost. A second run adds nothing."""
    if follow:
        from ops.cli.following import follow as follow_files

        asyncio.run(follow_files(paths, log, json))
    else:
        asyncio.run(_ingest(paths, log, json))


async def _ingest(paths: list[str], log: str | None, json: bool) -> None:
    from ops.ingest import IngestAnswer
    from ops.transcripts import plan

    log_url(log)
    todo = plan(paths)
    for fault in todo.faults:
        report(fault)
    _tell_refused(todo)
    async with AsyncExitStack() as stack:
        work = _Work(stack, log)
        with bar("reading") as advance:
            await work.read(todo.files, advance)
        if work.job is None or work.store is None:
            _tell_nothing_found(todo, work.skipped)
            if json:
                print_json(IngestAnswer(skipped=work.skipped + len(todo.refused)))
            return
        with bar("folding") as advance:
            await work.job.fold(advance)
        total = work.job.total
        total.skipped = work.skipped + len(todo.refused)
        if json:
            print_json(total)
        else:
            await show_findings(work.store, work.job, total, work.cursor, log)


class _Work:
    """Reads files one after the other; the log is opened, and made if need be, for the first one that is a transcript."""

    def __init__(self, stack: AsyncExitStack, log: str | None) -> None:
        self._stack = stack
        self._log = log
        self.store: Store | None = None
        self.job: Ingest | None = None
        self.cursor: Cursor | None = None
        self.skipped = 0

    async def read(self, files: list[FoundFile], advance: Advance) -> None:
        """Append what is new in these files. A file that cannot be read is reported, and the rest goes on."""
        from ledger.transcripts.reading import Transcript
        from ops.transcripts import size_of

        sizes = [size_of(found.path) for found in files]
        done = 0
        for found, size in zip(files, sizes, strict=True):
            try:
                with Transcript(found.path) as transcript:
                    told = await self._append(transcript, _from(advance, done, sum(sizes)))
                if found.named and not told:
                    hint = f"cledger inspect {found.path} says of each line why it was skipped."
                    report(NothingToJudge(f"{found.path}: no line of it could be read as part of a session", hint=hint))
            except UnsupportedTranscript as error:
                self.skipped += 1
                if found.named:
                    report(error)
            except UsageError as error:
                self.skipped += 1
                if found.named:
                    report(error)
                else:
                    talk(f"skipped: {error.message}")
            done += size

    async def _append(self, transcript: Transcript, progress: Callable[[int], None]) -> int:
        """How many records the file told, new or not."""
        from ops.transcripts import read_records

        job = self.job or await self._open()
        before = job.total.records
        records = read_records(transcript, progress, may_grow=True, known=job.knows_span, waits=_tell_waiting)
        await job.file(transcript.path, records)
        return job.total.records - before

    async def _open(self) -> Ingest:
        from ops.cli.reading import caught_up, opened
        from ops.ingest import Ingest
        from ops.queries.alerts import end_of
        from ops.wiring import backfill_of

        self.store = await self._stack.enter_async_context(opened(self._log, create=True))
        await caught_up(self.store)
        self.cursor = await end_of(self.store.log)
        self.job = Ingest(self.store, backfill_of(log_url(self._log), self.store.log))
        return self.job


def _tell_waiting(session: str) -> None:
    talk(WAITS.format(session))


def _from(advance: Advance, done: int, total: int) -> Callable[[int], None]:
    """Progress within one file as progress over all of them."""
    return lambda at: advance(done + at, total)


def _tell_refused(todo: Plan) -> None:
    for refused in todo.refused:
        if refused.reason == "unreadable":
            talk(f"skipped: {refused.path} cannot be read; check its permissions")


def _tell_nothing_found(todo: Plan, skipped: int) -> None:
    if not todo.faults:
        others = f" ({count(skipped, 'other file')})" if skipped else ""
        talk(f"no transcript found{others}. Claude Code keeps them under ~/.claude/projects, Codex under ~/.codex/sessions.")


async def show_findings(store: Store, job: Ingest, total: IngestAnswer, cursor: Cursor | None, log: str | None) -> None:
    """What the files brought: totals, the sessions with the most open losses, alerts by kind, what to ask next."""
    from ops.queries.alerts import tally

    counted = await tally(store.log, cursor) if cursor is not None else []
    say(
        (f"{count(total.files, 'file')}, {count(total.sessions, 'session')}, {count(total.rounds, 'round')}", "bold"),
        f": {count(total.added, 'new record')}, {count(total.duplicates, 'record')} known already"
        + (f", {count(total.skipped, 'file')} skipped" if total.skipped else ""),
    )
    if not total.added:
        say("Nothing new. What these sessions lost:")
        say_command("cledger sessions --compacted" + _log_words(log), indent=2)
        return
    with store.reading() as reading:
        compacted = await _most_open_first(reading, job.sessions)
        for one in compacted[:SESSIONS_SHOWN]:
            await _show_session(reading, one, [item for item in counted if item.session == one.session.id], log)
    more = len(compacted) - SESSIONS_SHOWN
    if more > 0:
        say("")
        say(f"… and {count(more, 'more session')} with compactions:")
        say_command("cledger sessions --compacted" + _log_words(log), indent=2)
    if not compacted:
        say("No session of these was compacted: nothing has left a window.")
    _show_next(compacted[0] if compacted else None, log)


async def _most_open_first(reading: Reading, names: Iterable[str]) -> list[Found]:
    """The sessions that were compacted, by their open losses, and then by all."""
    from ops.queries.forgotten import open_losses, totals_of

    found = [reading.session(name) for name in names]
    lost = [(totals_of(one).forgotten, one) for one in found if one.session.rounds]
    lost.sort(key=lambda item: -item[0])
    some, rest = lost[:OPEN_COUNTED], lost[OPEN_COUNTED:]
    ranked = [(await open_losses(reading, one), one) for _, one in some]
    return [one for _, one in sorted(ranked, key=lambda item: -item[0])] + [one for _, one in rest]


async def _show_session(reading: Reading, found: Found, counted: Iterable[AlertCount], log: str | None) -> None:
    from ops.cli.findings import show_round
    from ops.cli.losses import settled_told, show_losses
    from ops.queries.forgotten import forgotten, lost_by_class
    from ops.queries.overview import rounds_of

    answer = await forgotten(reading, found, round_=None, classes=frozenset(), limit=LOSSES_SHOWN)
    runtime = f" ({found.session.runtime})" if found.session.runtime else ""
    rule_off(f"session {found.session.id}{runtime}")
    if answer.receipt.source_path:
        say(short_path(answer.receipt.source_path), indent=2)
    classes = lost_by_class(found)
    for row in rounds_of(found):
        show_round(row, classes.get(row.round, {}))
    shown = [entry for entry in answer.forgotten if entry.settled is None]
    if shown:
        say((f"{answer.open_total:,} open of {answer.forgotten_total:,} lost", "bold"), ", worst first:", indent=2)
        show_losses(shown, answer.receipt.source_path)
    elif answer.forgotten_total:
        say(("none open", "bold"), f": {settled_told(answer.settled_matching, more=False)}", indent=2)
    more = answer.open_total - len(shown)
    if more > 0:
        say(f"… and {more:,} more open:", indent=2)
        say_command(command("cledger", "forgotten", found.session.id) + _log_words(log), indent=4)
    show_alert_counts(counted)


def show_alert_counts(counted: Iterable[AlertCount]) -> None:
    """New alerts by severity and kind."""
    for severity in ("page", "ticket", "info"):
        kinds = [f"{item.count} {item.kind}" for item in counted if item.severity == severity and item.state == "raised"]
        if kinds:
            say(f"new {severity}s: {listed(kinds)}", indent=2)
    resolved = sum(item.count for item in counted if item.state == "resolved")
    if resolved:
        say(f"resolved: {resolved}", indent=2)


def _log_words(log: str | None) -> str:
    return f" {command('--log', log)}" if log is not None else ""


def _show_next(found: Found | None, log: str | None) -> None:
    rule_off("next")
    name = found.session.id if found is not None else "SESSION"
    words = [
        command("cledger", "status", name),
        command("cledger", "forgotten", name),
        command("cledger", "alerts", "--session", name),
    ]
    for line in words:
        say_command(line + _log_words(log), indent=2)
