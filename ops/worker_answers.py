"""Questions about the partitions that a worker owns, answered over HTTP from its own indexes: the paths below /v1.

Each takes a POST with one JSON object, a `Question`, and answers with JSON lines, the objects that `cledger … --json` prints.
Which partitions are concerned follows from the scope, or from a list; without either it is all that the worker owns. One that
it does not own is answered 421. A partition that is not at the log's end, or not as far as the asker's own records, answers
*unknown*, with how many records it lacks (P4).

A question is answered in a thread with an index handle and a snapshot of its own, so that the fold never waits for a reader.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from consumers.carrier_index import CarrierIndex, Snapshot
from consumers.worker import Worker
from ledger.errors import IndexDamaged, LedgerError, LogUnavailable, UsageError
from ledger.log import Entry, Log, LogIdentity, NewEntry, partition_of
from ops.store import Reading
from ops.worker_questions import CURSOR_HEADER, GAP_HEADER, LOG_HEADER, QUESTIONS, Ask, NoSession, Question, Said
from schemas.ids import Position

FRESH_S = 2.0
"""How long a question waits for records of the asker's own that are not folded yet."""

LOOK_S = 0.005
THREADS = 2
"""Questions that are answered at the same time. More would only take turns, and the fold has to have its own."""

READ_S = 8.0
"""How long one read of the log may take for a question."""

QUESTION_S = 10.0
"""How long a question may take to arrive: who sends half of one must not hold a connection for good."""

JSON_LINES = "application/jsonl"
T = TypeVar("T")


class NotOwned(LedgerError):
    """Another worker owns this partition, or nobody does."""


class View(msgspec.Struct, frozen=True):
    """What the event loop knows of the partitions concerned: their index folders and how many records they lack."""

    folders: dict[int, Path]
    gap: int


class LoopLog:
    """A log that belongs to one event loop, for reading from another, as long as it answers: threads that wait for one that is
    away would answer nobody.
    """

    def __init__(self, log: Log, loop: asyncio.AbstractEventLoop, away: Callable[[], str]) -> None:
        """`away` says that the log is known not to answer, the empty string if it is not."""
        self._log, self._loop, self._away = log, loop, away

    @property
    def identity(self) -> LogIdentity:
        """See `ledger.log.Log`."""
        return self._log.identity

    async def append(self, topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        """Raises `UsageError`: a question appends nothing."""
        raise UsageError("a question appends nothing")

    async def read(
        self, topic: str, partition: int, offset: int, *, max_entries: int = 1000, max_bytes: int = 8 << 20
    ) -> list[Entry]:
        """See `ledger.log.Log`."""
        return await self._there(lambda: self._log.read(topic, partition, offset, max_entries=max_entries, max_bytes=max_bytes))

    async def end(self, topic: str, partition: int) -> int:
        """See `ledger.log.Log`."""
        return await self._there(lambda: self._log.end(topic, partition))

    async def _there(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if away := self._away():
            raise LogUnavailable(away)
        try:
            async with asyncio.timeout(READ_S):
                return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), self._loop))
        except TimeoutError:
            raise LogUnavailable(f"the worker's log said nothing for {READ_S:g} s") from None

    async def close(self) -> None:
        """The log is its owner's."""


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WorkerAnswers:
    """The paths below /v1; nothing is answered before it is given the worker."""

    def __init__(self, encode: Callable[[object], str], problem: Callable[[int, str, str], web.Response]) -> None:
        """`encode` makes the line of an answer, `problem` the answer where there is none."""
        self.worker: Worker | None = None
        self._encode, self._problem = encode, problem
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="answer")
        self._loops: list[asyncio.AbstractEventLoop] = []

    def routes(self) -> list[tuple[str, Handler]]:
        """Paths and what answers them."""
        return [(f"/v1/{name}", self._handler(ask)) for name, ask in QUESTIONS.items()]

    def _handler(self, ask: Ask) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            if self.worker is None:
                return self._problem(503, "starting", "The worker has not begun.")
            try:
                async with asyncio.timeout(QUESTION_S):
                    body = await request.read()
            except web.HTTPRequestEntityTooLarge as error:
                return self._problem(413, "the question is too long", error.text or "")
            except TimeoutError:
                late = self._problem(408, "the question did not come to its end", f"Send it within {QUESTION_S:g} s.")
                late.force_close()
                return late
            try:
                return await self._answer(self.worker, ask, msgspec.json.decode(body or b"{}", type=Question))
            except (msgspec.DecodeError, RecursionError) as error:
                return self._problem(400, "the question cannot be read", str(error))
            except NoSession as error:
                return self._problem(404, error.message, error.hint)
            except UsageError as error:
                return self._problem(400, error.message, error.hint)
            except NotOwned as error:
                return self._problem(421, error.message, error.hint)
            except LedgerError as error:
                return self._problem(503, error.message, error.hint)

        return handle

    async def _answer(self, worker: Worker, ask: Ask, question: Question) -> web.Response:
        view = await self._view(worker, question)
        log = LoopLog(worker.log, asyncio.get_running_loop(), lambda: worker.away)
        said = await asyncio.get_running_loop().run_in_executor(self._threads, self._answered, log, view, ask, question)
        headers = {LOG_HEADER: worker.log.identity.log_id, GAP_HEADER: str(view.gap)}
        if said.cursor is not None:
            headers[CURSOR_HEADER] = msgspec.json.encode(said.cursor).decode()
        text = "".join(f"{self._encode(answer)}\n" for answer in said.answers)
        return web.Response(body=text.encode(), content_type=JSON_LINES, headers=headers)

    def _answered(self, log: Log, view: View, ask: Ask, question: Question) -> Said:
        """In a thread: the question asked of a snapshot, in an event loop of the thread's own. Making a loop costs more than
        most answers, so they are kept.
        """
        loop = self._loops.pop() if self._loops else asyncio.new_event_loop()
        try:
            with _reading(log, view) as reading:
                return loop.run_until_complete(ask(reading, question))
        finally:
            self._loops.append(loop)

    async def close(self) -> None:
        """Answer no more questions, finish those under way, and release the threads."""
        self.worker = None
        await asyncio.to_thread(self._threads.shutdown)
        while self._loops:
            self._loops.pop().close()

    async def _view(self, worker: Worker, question: Question) -> View:
        """The partitions concerned, as far as they got. Raises `NotOwned`."""
        numbers = question.partitions
        if question.scope:
            numbers = [partition_of(question.scope, worker.log.identity.partitions)]
        elif numbers is None:
            numbers = [number for number, keeper in worker.keepers.items() if keeper.status.owned]
        folders, gap = {}, 0
        for number in numbers:
            gap += await _lacks(worker, number, question.after.get(number, 0))
            keeper = worker.keepers.get(number)
            if keeper is not None and keeper.partition is not None:
                folders[number] = keeper.partition.index.directory
        return View(folders, gap)


async def _lacks(worker: Worker, number: int, after: int) -> int:
    """How many records a partition lacks, having waited a little for what the asker put there. Raises `NotOwned`."""
    deadline_s = asyncio.get_running_loop().time() + FRESH_S
    while True:
        keeper = worker.keepers.get(number)
        if keeper is None or not keeper.status.owned:
            raise NotOwned(f"partition {number} is not this worker's", hint="Ask the group of workers who owns it.")
        status = keeper.status
        if status.state == "live" and status.offset >= after and keeper.partition is not None:
            return 0
        if status.state in ("halted", "waiting") or asyncio.get_running_loop().time() >= deadline_s:
            return max(1, max(status.end, after) - status.offset)
        await asyncio.sleep(LOOK_S)


@contextmanager
def _reading(log: Log, view: View) -> Iterator[Reading]:
    """A view over the indexes by handles of its own, so that a keeper that ends meanwhile closes nothing under it. An index
    that is just being recovered is left out.
    """
    with ExitStack() as stack:
        snapshots: dict[int, Snapshot] = {}
        gap = view.gap
        for number, folder in view.folders.items():
            try:
                index = CarrierIndex(folder, log.identity, number)
                stack.callback(index.close)
                snapshots[number] = stack.enter_context(index.snapshot())
            except (IndexDamaged, LogUnavailable):
                gap = max(1, gap)
        yield Reading(log, snapshots, gap)
