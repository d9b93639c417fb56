"""`ingest --follow`: live transcripts, folded as they grow, new findings printed as they are made.

What was appended is durable at once. At an interruption a last line that is whole is taken without its line break; one that is
half-written is named and left for the next run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ledger.transcripts.follow import POLL_SECONDS, FileChanged, FollowedLines, LastLine
from ledger.transcripts.follow import follow as followed
from ledger.transcripts.formats import SAMPLE_BYTES, Reader
from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.reading import format_of, reader_of
from ops.cli.alerting import AlertPrinter
from ops.cli.exit import report
from ops.cli.options import log_url
from ops.cli.screen import print_json, talk
from ops.cli.words import count, short_path

if TYPE_CHECKING:
    from ledger.transcripts.to_records import RecordMaker
    from ops.ingest import FileAnswer, Ingest
    from ops.queries.alerts import Cursor
    from ops.store import Store
    from schemas.records import AnyRecord

RESCAN_SECONDS = 2.0
"""How often the named folders are looked through for new files: a session begins with a new one."""

STOP_SECONDS = 2.0
"""How long files may take to come to a quiet moment when following ends. What is unread then is read by the next run."""

BATCH_RECORDS = 500


async def follow(paths: list[str], log: str | None, json: bool) -> None:
    """Read the files and go on as they grow, until interrupted. Raises `UsageError` where none of the paths is there."""
    from ops.cli.reading import caught_up, opened
    from ops.ingest import Ingest
    from ops.queries.alerts import end_of
    from ops.transcripts import plan

    log_url(log)
    todo = plan(paths)
    for fault in todo.faults:
        report(fault)
    if not todo.good:
        return
    async with opened(log, create=True) as store:
        await caught_up(store)
        job = Ingest(store)
        watch = _Watch(store, job, await end_of(store.log), json)
        try:
            await watch.run(todo.good)
        finally:
            await watch.stop()


class _Watch:
    """All files that are followed. Appending and folding happen one at a time."""

    def __init__(self, store: Store, job: Ingest, cursor: Cursor, json: bool) -> None:
        self._store = store
        self._job = job
        self._cursor = cursor
        self._json = json
        self._printer = AlertPrinter(json)
        self._tasks: dict[Path, asyncio.Task[None]] = {}
        self._one_at_a_time = asyncio.Lock()
        self._stopped = asyncio.Event()

    async def run(self, paths: list[str]) -> None:
        """Follow what is there, and look for new files now and then."""
        from ops.transcripts import plan

        talk("following; Ctrl-C ends it, and nothing that was read is lost")
        while True:
            for found in plan(paths).files:
                if found.path not in self._tasks:
                    self._tasks[found.path] = asyncio.create_task(self._file(found.path, named=found.named))
            await asyncio.sleep(RESCAN_SECONDS)
            for task in self._tasks.values():
                if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                    raise error

    async def stop(self) -> None:
        """End following at the next quiet moment of each file; fold and print what is left, then the totals."""
        self._stopped.set()
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=STOP_SECONDS)
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        await self._fold()
        if self._json:
            print_json(self._job.total)
        else:
            total = self._job.total
            talk(f"{count(total.files, 'file')}, {count(total.added, 'new record')}, {count(total.rounds, 'round')}")

    async def _nap(self, seconds: float) -> None:
        """Wait, but not beyond the end of following."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), seconds)

    async def _file(self, path: Path, *, named: bool) -> None:
        one = _FollowedFile(path)
        answer: FileAnswer | None = None
        async for found in followed(path, poll_seconds=POLL_SECONDS, stop=self._stopped.is_set, sleep=self._nap):
            if isinstance(found, FileChanged):
                lost = f", {found.lost} bytes of a half-written line with it" if found.lost else ""
                talk(f"{short_path(str(path))} was {found.change}{lost}; reading it from its beginning")
                one = _FollowedFile(path)
                continue
            if isinstance(found, LastLine):
                if not _is_whole(found.line):
                    talk(f"{short_path(str(path))}: {found.line.length} bytes of a half-written last line were left for later")
                    return
                found = FollowedLines((found.line,))  # noqa: PLW2901
            records = list(one.feed(found))
            if one.is_unsupported:
                if named:
                    talk(f"not followed: {short_path(str(path))} is in no format that a reader knows")
                return
            if records:
                async with self._one_at_a_time:
                    answer = answer or self._job.begin(str(path))
                    for at in range(0, len(records), BATCH_RECORDS):
                        await self._job.take(answer, records[at : at + BATCH_RECORDS])
                await self._fold()

    async def _fold(self) -> None:
        async with self._one_at_a_time:
            await self._job.fold()
            await self._printer.print_new(self._store, self._cursor)


def _is_whole(line: PhysicalLine) -> bool:
    """Does a line without LF hold all of its object?"""
    try:
        msgspec.json.decode(line.data, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


class _FollowedFile:
    """Lines to records, once enough of them came to tell the format."""

    def __init__(self, path: Path) -> None:
        from ops.transcripts import record_maker

        self._waiting: list[PhysicalLine] = []
        self._reader: Reader | None = None
        self._maker: RecordMaker = record_maker(path)
        self.is_unsupported = False

    def feed(self, found: FollowedLines) -> Iterable[AnyRecord]:
        """The records that these lines complete."""
        self._waiting.extend(found.lines)
        if self._reader is None:
            self._reader = self._recognised()
        if self._reader is None:
            return
        lines, self._waiting = self._waiting, []
        for line in lines:
            for item in self._reader.feed(line):
                yield from self._maker.feed(item)
        yield from self._maker.reading()

    def _recognised(self) -> Reader | None:
        raw = b"".join(line.data + b"\n" for line in self._waiting)
        known = format_of(raw)
        if known is not None:
            return reader_of(known)
        self.is_unsupported = len(raw) >= SAMPLE_BYTES
        return None
