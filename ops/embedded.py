"""The Python API over an embedded log: this process decides what it appends, unless another one is folding already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from ledger.client import LedgerClient
from ledger.retrieval import Fetched, Retrieval
from ledger.scope import Scope
from ops.queries.quotes import Quotes
from ops.queries.recall import recall
from ops.retrieval.backing import rehydrate
from ops.retrieval.own_store import OwnStore
from ops.settings import Settings
from ops.store import Store, open_store
from schemas.records import Claim

T = TypeVar("T")


class FoldingBackend:
    """Decides by folding, reads from the index folded so far. Appends of many scopes share one fold."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._folding = asyncio.Lock()

    async def nudge(self) -> None:
        """Fold what was appended; if another process is folding, it does so."""
        async with self._folding:
            await self._store.fold("try")

    async def recall(self, scope: str, session: str, fact: str, as_of: str) -> list[Any]:
        """Answers from a view that includes everything appended before the call."""
        async with self._folding:
            gap = await self._store.fold("try")
        with self._store.reading(gap) as reading:
            return list(await recall(reading, reading.session(session, scope), fact, as_of))

    async def quote(self, scope: str, carrier: str, start: int | None, end: int | None) -> str:
        """Words of a span or summary."""
        with self._store.reading() as reading:
            return await Quotes(reading, scope).cut(carrier, start, end)

    async def rehydrate(self, scope: str, session: str, claim: Claim, retrieval: Retrieval | None) -> Fetched:
        """What backs a claim, from a view that includes everything appended before the call."""
        async with self._folding:
            gap = await self._store.fold("try")
        with self._store.reading(gap) as reading:
            found = reading.session(session, scope)
            return await rehydrate(found.rows, claim, retrieval or OwnStore(reading, found))


@asynccontextmanager
async def open_ledger(url: str | None = None) -> AsyncIterator[LedgerClient]:
    """Open the ledger at `url` (default: `CLEDGER_LOG`, else the user's data directory), making the log if there is none.

    Raises `UsageError` for a bad address, `LogUnavailable`, `LogDamaged`.
    """
    async with open_store(url or Settings.from_environment().log_url, create=True) as store:
        yield LedgerClient(store.log, FoldingBackend(store))


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
