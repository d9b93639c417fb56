"""Questions about a ledger, asked of whoever can answer: the workers of a fleet, else a fold in this process.

Both give the same objects; only who folded differs, and that is told.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol, TypeVar

from ledger.errors import LogUnavailable
from ops.queries import recall as facts
from ops.queries.alerts import AlertAnswer, stream
from ops.queries.forgotten import ForgottenAnswer, forgotten
from ops.queries.overview import SessionAnswer, StatusAnswer, sessions, status, with_last
from ops.queries.recall import ExplainAnswer, RecallAnswer
from ops.queries.seed_method import forgotten_by_seed
from ops.queries.wanted import Wanted
from ops.session_names import guesses
from ops.store import Found, Notice, Reading, Store, open_store
from ops.wiring import is_shared

Opened = Callable[[Store], Awaitable[int]]
"""Brings a store up to date; returns the records that it still lacks."""

T = TypeVar("T")


class Asked(Protocol):
    """Somebody who answers. Each call raises `UsageError` where the session is unknown or several have the name."""

    async def sessions(self, *, compacted: bool) -> list[SessionAnswer]:
        """All sessions, or those that were compacted."""
        ...

    async def status(self, session: str | None) -> list[StatusAnswer]:
        """Of one session, or of all."""
        ...

    async def recall(self, session: str, fact: str, as_of: str) -> list[RecallAnswer]:
        """One answer for each fact that the text names."""
        ...

    async def explain(self, session: str, fact: str) -> list[ExplainAnswer]:
        """The life of each fact that the text names."""
        ...

    async def forgotten(self, session: str, wanted: Wanted) -> ForgottenAnswer:
        """What the session no longer holds."""
        ...

    async def alerts(self, since_ms: int | None) -> list[AlertAnswer]:
        """The stream as it stands, without those whose cause is known to be older."""
        ...


async def asked(
    url: str,
    question: Callable[[Asked], Awaitable[T]],
    *,
    local: bool,
    fold: Opened,
    notice: Notice,
    token_file: str | None = None,
) -> T:
    """The answer of the ledger at this address. `local` asks no worker; `notice` is told who answered where that is open, and
    `fold` brings a store of this process up to date. Raises as `open_log` does.
    """
    if is_shared(url) and not local:
        from ops.fleet_answers import fleet_at  # an embedded log needs no HTTP client

        async with fleet_at(url, token_file) as fleet:
            try:
                answer = await question(fleet)
                notice(f"answered by the workers{fleet.gap_told()}")
                return answer
            except LogUnavailable as error:
                notice(f"{error.message}; folding here instead, which publishes nothing")
    return await question(Here(url, fold, notice))


async def ask_of(reading: Reading, found: Found, wanted: Wanted) -> ForgottenAnswer:
    """What a session of this view forgot, by the method wanted."""
    ask = forgotten if wanted.method == "ours" else forgotten_by_seed
    return await ask(reading, found, round_=wanted.round, classes=wanted.classes, limit=wanted.limit)


class Here:
    """A fold in this process answers. Of a fleet's log only the partitions concerned are folded."""

    def __init__(self, url: str, fold: Opened, notice: Notice) -> None:
        self._url, self._fold, self._notice = url, fold, notice

    @asynccontextmanager
    async def _all(self) -> AsyncIterator[Reading]:
        async with open_store(self._url, notice=self._notice) as store:
            gap = await self._fold(store)
            with store.reading(gap) as reading:
                yield reading

    @asynccontextmanager
    async def _session(self, name: str) -> AsyncIterator[tuple[Reading, Found]]:
        """The session, looked for where its id says it is before everything is folded."""
        if is_shared(self._url):
            async with open_store(self._url, notice=self._notice, scopes=guesses(name)) as store:
                gap = await self._fold(store)
                with store.reading(gap) as reading:
                    for guess in guesses(name):
                        found = reading.session_in(guess, name)
                        if found is not None:
                            yield reading, found
                            return
        async with self._all() as reading:
            yield reading, reading.session(name)

    async def sessions(self, *, compacted: bool) -> list[SessionAnswer]:
        """See `Asked`."""
        async with self._all() as reading:
            return await with_last(reading, sessions(reading, compacted=compacted))

    async def status(self, session: str | None) -> list[StatusAnswer]:
        """See `Asked`."""
        if session is None:
            async with self._all() as reading:
                return [status(reading, found) for found in reading.sessions()]
        async with self._session(session) as (reading, found):
            return [status(reading, found)]

    async def recall(self, session: str, fact: str, as_of: str) -> list[RecallAnswer]:
        """See `Asked`."""
        async with self._session(session) as (reading, found):
            return await facts.recall(reading, found, fact, as_of)

    async def explain(self, session: str, fact: str) -> list[ExplainAnswer]:
        """See `Asked`."""
        async with self._session(session) as (reading, found):
            return await facts.explain(reading, found, fact)

    async def forgotten(self, session: str, wanted: Wanted) -> ForgottenAnswer:
        """See `Asked`."""
        async with self._session(session) as (reading, found):
            return await ask_of(reading, found, wanted)

    async def alerts(self, since_ms: int | None) -> list[AlertAnswer]:
        """See `Asked`."""
        async with self._all() as reading:
            return [alert async for alert in stream(reading, since_ms=since_ms)]
