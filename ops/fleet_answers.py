"""Answers of the workers of a fleet: each of them for the partitions that it owns, put together in the order of a fold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from ledger.log import EVENTS, Log, partition_of
from ops.fleet import Fleet, merged
from ops.queries.alerts import AlertAnswer
from ops.queries.forgotten import ForgottenAnswer
from ops.queries.overview import SessionAnswer, StatusAnswer
from ops.queries.recall import ExplainAnswer, RecallAnswer
from ops.queries.wanted import Wanted
from ops.wiring import open_log
from ops.worker_client import Reply
from ops.worker_questions import Question


class Workers:
    """The workers of a fleet answer, each for its partitions, from an index that holds everything in the log by now, or with
    *unknown*.
    """

    def __init__(self, log: Log, fleet: Fleet) -> None:
        self.log, self.fleet = log, fleet
        self._gap = 0
        self._alerts: dict[int, int] = {}
        self._seen: dict[str, int] = {}

    def gap_told(self) -> str:
        """How many records the answers lack, in words; nothing if none."""
        return f"; they are {self._gap} records behind the log" if self._gap else ""

    def took(self, *replies: Reply) -> None:
        """Note what answers lack."""
        self._gap += sum(reply.gap for reply in replies)

    async def _about(self, session: str, what: str, **more: object) -> Reply:
        scope, name = await self.fleet.locate(session)
        number = partition_of(scope, self.log.identity.partitions)
        after = {number: await self.log.end(EVENTS, number)}
        question = msgspec.convert({"scope": scope, "session": name, "after": after, **more}, Question)
        reply = await self.fleet.ask(what, question)
        self.took(reply)
        return reply

    async def ends(self) -> dict[int, int]:
        """The end of every partition."""
        numbers = range(self.log.identity.partitions)
        return dict(zip(numbers, await asyncio.gather(*(self.log.end(EVENTS, number) for number in numbers)), strict=True))

    async def sessions(self, *, compacted: bool) -> list[SessionAnswer]:
        """See `Asked`."""
        replies = await self.fleet.ask_all("sessions", Question(compacted=compacted, after=await self.ends()))
        self.took(*replies)
        return merged(replies, SessionAnswer)

    async def status(self, session: str | None) -> list[StatusAnswer]:
        """See `Asked`."""
        if session is not None:
            return (await self._about(session, "status")).all(StatusAnswer)
        replies = await self.fleet.ask_all("status", Question(after=await self.ends()))
        self.took(*replies)
        return merged(replies, StatusAnswer)

    async def recall(self, session: str, fact: str, as_of: str) -> list[RecallAnswer]:
        """See `Asked`."""
        return (await self._about(session, "recall", fact=fact, as_of=as_of)).all(RecallAnswer)

    async def explain(self, session: str, fact: str) -> list[ExplainAnswer]:
        """See `Asked`."""
        return (await self._about(session, "explain", fact=fact)).all(ExplainAnswer)

    async def forgotten(self, session: str, wanted: Wanted) -> ForgottenAnswer:
        """See `Asked`."""
        more = {"round": wanted.round, "classes": sorted(wanted.classes), "limit": wanted.limit, "method": wanted.method}
        return (await self._about(session, "forgotten", **more)).one(ForgottenAnswer)

    async def alerts(self, since_ms: int | None, scope: str = "") -> list[AlertAnswer]:
        """Alerts that came since the last call, by partition and then as they stand there; repeats are left out. With a scope
        only those of its partition.
        """
        question = Question(scope=scope, since_ms=since_ms, cursor=self._alerts)
        replies = [await self.fleet.ask("alerts", question)] if scope else await self.fleet.ask_all("alerts", question)
        self.took(*replies)
        fresh = []
        for alert in sorted((each for reply in replies for each in reply.all(AlertAnswer)), key=_place):
            if alert.output_seq > self._seen.get(alert.scope, 0):
                self._seen[alert.scope] = alert.output_seq
                fresh.append(alert)
        for reply in replies:
            self._alerts.update(reply.cursor)
        return fresh


def _place(alert: AlertAnswer) -> tuple[int, int]:
    partition, _, offset = alert.position.rpartition("/")[2].partition("@")
    return int(partition), int(offset)


@asynccontextmanager
async def fleet_at(url: str, token_file: str | None = None) -> AsyncIterator[Workers]:
    """The workers of the ledger at this address. Raises as `open_log` does."""
    log = await open_log(url, create=False)
    try:
        fleet = Fleet.of(url, log.identity, token_file)
        try:
            yield Workers(log, fleet)
        finally:
            await fleet.close()
    finally:
        await log.close()
