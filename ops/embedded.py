"""The Python API over an embedded log: this process decides what it appends, unless another one is folding already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from ledger.client import LedgerClient, Place
from ledger.errors import LogClosed
from ledger.fold import is_other_span
from ledger.retrieval import Fetched, Retrieval
from ledger.scope import Scope
from ops.queries.quotes import Quotes
from ops.queries.recall import RecallAnswer, recall
from ops.queries.requests import RequestAnswer, outcome
from ops.retrieval.backing import rehydrate
from ops.retrieval.own_store import OwnStore
from ops.settings import Settings
from ops.store import Reading, Store, open_store
from ops.wiring import is_shared
from schemas.records import Claim

T = TypeVar("T")


class FoldingBackend:
    """Decides by folding, reads from the index folded so far. Appends of many scopes share one fold."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._folding = asyncio.Lock()

    decides = True

    async def nudge(self) -> bool:
        """Fold what was appended; if another process is folding, it does so."""
        async with self._folding:
            return not await self._store.fold("try")

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[Reading]:
        """A view that includes everything appended before the call, or states the gap."""
        async with self._folding:
            gap = await self._store.fold("try")
        with self._store.reading(gap) as reading:
            yield reading

    async def recall(self, scope: str, session: str, fact: str, as_of: str, after: int) -> list[RecallAnswer]:
        """See `ledger.client.Backend`."""
        del after
        async with self._reading() as reading:
            return await recall(reading, reading.session(session, scope), fact, as_of)

    async def quote(self, scope: str, places: Sequence[Place]) -> list[str]:
        """See `ledger.client.Backend`."""
        with self._store.reading() as reading:
            quotes = Quotes(reading, scope)
            return [await quotes.cut(*place) for place in places]

    async def rehydrate(self, scope: str, session: str, claim: Claim, retrieval: Retrieval | None, after: int) -> Fetched:
        """See `ledger.client.Backend`."""
        del after
        async with self._reading() as reading:
            found = reading.session(session, scope)
            return await rehydrate(found.rows, claim, retrieval or OwnStore(reading, found))

    async def outcome(self, scope: str, session: str, request: str, after: int) -> RequestAnswer:
        """See `ledger.client.Backend`."""
        del after
        async with self._reading() as reading:
            return outcome(reading.session(session, scope), request, reading.gap)

    async def rewrites(self, scope: str, span: str, role: str, text: str) -> bool:
        """See `ledger.client.Backend`."""
        with self._store.reading() as reading:
            rows = reading.rows(scope)
            return rows is not None and is_other_span(rows, span, role, text)

    async def undecided(self, scope: str) -> str:
        """See `ledger.client.Backend`."""
        del scope
        gap = await self._store.gap()
        return f"Another process folds this log, and is {gap} records behind it." if gap else ""


@asynccontextmanager
async def open_ledger(url: str | None = None) -> AsyncIterator[LedgerClient]:
    """Open the ledger at `url` (default: `CLEDGER_LOG`, else the user's data directory). An embedded log that is not there is
    made, one on Kafka is not: somebody has to choose its partition count.

    On an embedded log this process decides what it appends. On Kafka workers decide, and whoever opens the log folds nothing
    for a decision: its requests wait for a worker, and fail closed without one.
    Raises `UsageError` for a bad address, `LogUnavailable`, `LogDamaged`.
    """
    address = url or Settings.from_environment().log_url
    if is_shared(address):
        from ops.fleet import open_fleet_ledger  # an embedded log needs neither Kafka's client nor an HTTP client

        async with open_fleet_ledger(address) as client:
            yield client
        return
    async with open_store(address, create=True) as store:
        await store.compare()  # a program may record for hours before it asks anything
        client = LedgerClient(store.log, FoldingBackend(store))
        try:
            yield client
        finally:
            await client.close()


class SyncScope:
    """A scope handle without `await`: every method of `ledger.client.Scope`, waiting for its result."""

    def __init__(self, scope: Scope, run: Any) -> None:
        self._scope = scope
        self._run = run

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._scope, name)
        if not asyncio.iscoroutinefunction(method):
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._run(method(*args, **kwargs))

        return call


class SyncLedger:
    """A ledger without `await`. Made by `open_ledger_sync`."""

    def __init__(self, client: LedgerClient, run: Any) -> None:
        self._client = client
        self._run = run

    def scope(self, scope: str, *, session: str | None = None, **opening: Any) -> SyncScope:
        """As `LedgerClient.scope`."""
        return SyncScope(self._client.scope(scope, session=session, **opening), self._run)


@contextmanager
def open_ledger_sync(url: str | None = None) -> Iterator[SyncLedger]:
    """As `open_ledger`, for programs without an event loop: one runs in a thread of its own as long as the block lasts."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="cledger", daemon=True)
    thread.start()

    def run(work: Coroutine[Any, Any, T]) -> T:
        if loop.is_closed():
            work.close()
            raise LogClosed("this ledger was closed", hint="Nothing was asked or appended; open it again: open_ledger_sync().")
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    context = open_ledger(url)
    try:
        client = run(context.__aenter__())
        try:
            yield SyncLedger(client, run)
        finally:
            run(context.__aexit__(None, None, None))
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
