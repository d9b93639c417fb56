"""Answers to requests that stand behind long work of other scopes in the same partition.

A decision reads the state of its own scope only. So while the fold is busy with others, a request is decided on the side, on
what its own scope's records give: those that are folded, and those that wait before it. The bytes are the ones that the fold
says when it gets there, where it finds them on record. Nothing is stored here; where anything is out of the ordinary the
request waits its turn: behind an offset that is missing or a record of an unknown type, which the fold stops before, and in the
scope that speaks of what does not belong here, for records of any key change that.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from consumers.carrier_index import CarrierIndex, Output
from consumers.enforcement import decisions_of, is_light, is_request, is_round
from consumers.folding import record_of, stray_scope
from consumers.publishing import Publisher
from consumers.work import work_ms
from ledger.errors import LedgerError
from ledger.fold import RulesVersionNotCarried, step
from ledger.log import Entry
from ledger.state import Draft, R, Rows, Table
from schemas.codec import is_known_type

WAIT_MS_WORTH = 3.0
"""A request that will be reached within this estimate is left to the fold: deciding it twice costs about as much."""

OWN_ENTRIES_MAX, OWN_BYTES_MAX = 64, 256 << 10
"""What may wait of the request's own scope before it. More of it is folded in less time than it is folded twice."""

OVERHEAD_BATCHES = 8
"""Over how many batches it is learnt how long they take beside the work in them: a disk may need as long for a commit."""

LIGHT_ENTRIES = 4
"""So few entries, with a light request behind them, are folded where they are: a change of thread takes longer while the fold
is busy.
"""

SCOPES_KEPT = 256
"""Scopes whose state ahead of the fold is remembered, so that a second request folds only what came since."""


class AnswersAhead:
    """Decides requests of one partition ahead of its fold. Use from one event loop."""

    def __init__(self, index: CarrierIndex, publisher: Publisher, waiting: Iterable[Entry]) -> None:
        """`waiting` are the entries behind the batch under way, oldest first."""
        self._publisher, self._waiting = publisher, waiting
        self._side = SideFold(index)
        identity = index.file.identity
        self._stray = stray_scope(identity.partition or 0, identity.partitions)
        self._batch: list[Entry] = []
        self._sure_until = 0
        self._begins = 0
        self._within: dict[str, list[Entry]] | None = None
        self._long = False
        self._began_s, self._estimate_ms, self._overhead_ms = 0.0, 0.0, 0.0
        self._queue: deque[Entry] = deque()
        self._said: set[int] = set()
        self._task: asyncio.Task[None] | None = None
        self._thread: ThreadPoolExecutor | None = None
        self.answered = 0
        """Requests that were answered ahead of the fold."""

    def begin(self, batch: list[Entry]) -> None:
        """A batch is being folded from now on; what waits behind it may be answered."""
        self._begins, self._within = batch[0].position.offset, {}
        self._batch, self._sure_until = batch, self._begins
        for entry in batch:
            self._within.setdefault(entry.key, []).append(entry)
        self._began_s, self._estimate_ms = time.monotonic(), work_ms(batch)
        self._long = self._estimate_ms + self._overhead_ms >= WAIT_MS_WORTH
        self._said = {offset for offset in self._said if offset >= self._begins}
        self.arrived(self._waiting)

    def arrived(self, entries: Iterable[Entry]) -> None:
        """More entries wait."""
        if self._within is None:
            return
        self._queue.extend(entry for entry in entries if is_request(entry.value) and entry.position.offset not in self._said)
        if self._queue and self._task is None:
            self._task = asyncio.create_task(self._answer_all())

    async def end(self) -> None:
        """The batch is folded. Returns once nothing is on its way: what is answered now, the next batch finds on record."""
        took_ms = (time.monotonic() - self._began_s) * 1000
        self._overhead_ms += (max(0.0, took_ms - self._estimate_ms) - self._overhead_ms) / OVERHEAD_BATCHES
        self._within = None
        self._queue.clear()
        if self._task is not None:
            await self._task

    def close(self) -> None:
        """Stop the thread, if there is one."""
        if self._thread is not None:
            self._thread.shutdown(wait=True)

    async def _answer_all(self) -> None:
        try:
            while self._queue and self._publisher.allowed:
                request = self._queue.popleft()
                before = self._own(request)
                if before is not None:
                    await self._answer(*before)
        finally:
            self._task = None

    def _own(self, request: Entry) -> tuple[list[Entry], list[Entry]] | None:
        """Entries of the request's scope that the side has not seen, in the batch, and behind it up to the request. None where
        it had better wait.
        """
        if self._within is None or request.key == self._stray:
            return None
        first = self._side.offset_next(request.key)
        within = [entry for entry in self._within.get(request.key, ()) if entry.position.offset >= first]
        before = list(itertools.takewhile(lambda entry: entry.position.offset < request.position.offset, self._waiting))
        behind = [entry for entry in before if entry.key == request.key and entry.position.offset >= first]
        own = [*within, *behind]
        if not self._is_reached(before, request):
            return None
        if len(own) > OWN_ENTRIES_MAX or any(is_round(entry.value) for entry in own):
            return None
        if sum(len(entry.value) for entry in own) > OWN_BYTES_MAX or not (self._long or work_ms(before) >= WAIT_MS_WORTH):
            return None
        return within, [*behind, request]

    def _is_reached(self, before: list[Entry], request: Entry) -> bool:
        """Will the fold come to the request? It stops before an offset that is missing, and before a type that it does not
        know. `before` are the entries between the batch and the request. What was looked at is not looked at again.
        """
        batch = self._batch if self._sure_until <= self._batch[-1].position.offset else ()
        for entry in itertools.chain(batch, before, (request,)):
            offset = entry.position.offset
            if offset < self._sure_until:
                continue
            if offset > self._sure_until or not is_known_type(entry.value):
                return False
            self._sure_until = offset + 1
        return True

    async def _answer(self, within: list[Entry], behind: list[Entry]) -> None:
        work = partial(self._side.decisions, self._begins, within, behind, self._publisher.sent)
        if is_light(behind[-1].value) and len(within) + len(behind) <= LIGHT_ENTRIES:
            found = work()
        else:
            if self._thread is None:
                self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ahead")
            found = await asyncio.get_running_loop().run_in_executor(self._thread, work)
        if found and await self._publisher.send_ahead(found):
            self.answered += 1
            self._said.add(behind[-1].position.offset)
        else:
            self._side.forget(behind[-1].key)


class _Base:
    """The folded rows of a scope, which are others in each transaction."""

    rows: Rows

    def get(self, table: Table[R], key: bytes) -> R | None:
        """See `Rows`."""
        return self.rows.get(table, key)

    def walk(self, table: Table[R], group: bytes, start: bytes = b"") -> Iterator[tuple[bytes, R]]:
        """See `Rows`."""
        return self.rows.walk(table, group, start)


class _Scope:
    """What a scope will be once the fold has come to `offset_next`."""

    def __init__(self) -> None:
        self.base = _Base()
        self.draft = Draft(self.base)
        self.offset_next = 0


class SideFold:
    """Folds single scopes beyond what is committed, in memory. Use from one thread at a time."""

    def __init__(self, index: CarrierIndex) -> None:
        self._index = index
        self._scopes: dict[str, _Scope] = {}

    def offset_next(self, scope: str) -> int:
        """Entries of a scope below this are taken."""
        known = self._scopes.get(scope)
        return known.offset_next if known is not None else 0

    def forget(self, scope: str) -> None:
        """Begin with this scope anew: what was decided for it was not said."""
        self._scopes.pop(scope, None)

    def decisions(self, offset_next: int, within: list[Entry], behind: list[Entry], sent: frozenset[str]) -> list[Output]:
        """The decisions that the fold will say for the entries `behind`, the last of which is a request, without those `sent`
        before by id. None where the batch under way says something in the same scope that was not sent, or where anything is
        out of the ordinary. `within` are entries of that batch, which begins at `offset_next`.
        """
        name = behind[-1].key
        known = self._scopes.pop(name, None)
        if known is None or known.offset_next <= offset_next:  # the fold has come as far
            known = _Scope()
        if len(self._scopes) >= SCOPES_KEPT:
            self._scopes.clear()
        try:
            with self._index.snapshot() as snapshot:
                rows = snapshot.scope(name) if snapshot.offset_next == offset_next else None
                if rows is None:
                    return []
                known.base.rows = rows
                found = _decided(known.draft, within, behind, sent)
        except (LedgerError, RulesVersionNotCarried):
            return []  # the fold says what is wrong
        if found:
            known.offset_next = behind[-1].position.offset + 1
            self._scopes[name] = known
        return found


def _decided(draft: Draft, within: list[Entry], behind: list[Entry], sent: frozenset[str]) -> list[Output]:
    found: list[Output] = []
    for number, entry in enumerate((*within, *behind)):
        record, _ = record_of(entry)
        if record is None:
            return []
        result = step(draft, record)
        result.changes.apply_to(draft)
        if result.error is not None or result.repeated or (result.duplicate and entry is behind[-1]):
            return []
        said = [output for output, _ in decisions_of(entry, result) if output.id not in sent]
        if said and number < len(within):
            return []
        found += said
    return found
