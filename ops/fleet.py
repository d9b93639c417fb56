"""A ledger on Kafka, as those see it who neither fold nor publish: its workers are asked, and found through Kafka itself."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, TypeVar

import msgspec

from ledger.client import LedgerClient, Place
from ledger.errors import LogClosed, LogUnavailable
from ledger.log import EVENTS, Log, LogIdentity, partition_of
from ledger.retrieval import Fetched, Retrieval
from ops.queries.overview import SessionAnswer
from ops.queries.quotes import Quotes, Words
from ops.queries.recall import RecallAnswer, recall
from ops.queries.requests import RequestAnswer
from ops.retrieval.backing import Backing, fetch_first, rehydrate
from ops.retrieval.own_store import OwnStore
from ops.session_names import guesses, the_one
from ops.settings import KafkaSettings, Settings, parse_log_url
from ops.store import Reading, Store, in_order, open_store
from ops.wiring import open_log
from ops.worker_client import NobodyAnswers, Reply, SharedFault, WorkerClient
from ops.worker_questions import Question
from ops.worker_web import read_token
from schemas.records import Claim

OWNERS_S = 5.0
"""How long it is believed who owns what without asking beside that. A worker that does not own a partition any more says so,
and then it is asked anew.
"""

REACH_S = 5.0
"""How long a log may be silent before a partition that no worker answers for is folded here."""

ANEW_S = 0.2
"""What was learnt less than this ago is not asked for again, so that a fleet without workers costs its clients little."""

REPLACED_S, ASK_AGAIN_S = 20.0, 0.5
"""How long an owner may be away before nobody answers: a worker that was killed is replaced after its session timeout, 10 s
unless set otherwise.
"""

START_ONE = "Start one with: cledger worker --log kafka://HOST:PORT"
A = TypeVar("A")
_log = logging.getLogger("cledger.client")


ALIKE_CHARS = 3
"""First characters that an id must share with an unknown name to be offered in its place: a fleet's other ids stay where they
are.
"""


class Fleet:
    """Asks the workers of one ledger. Use from one event loop, and close it."""

    def __init__(self, servers: str, kafka: KafkaSettings, identity: LogIdentity, token: str = "") -> None:
        """`token` is what the workers ask for, where they ask for one."""
        self.identity = identity
        self._servers, self._kafka = servers, kafka
        self._client = WorkerClient(identity.log_id, token)
        self._silent = SharedFault()
        self._owners: dict[int, str] = {}
        self._asked_s = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    @classmethod
    def of(cls, url: str, identity: LogIdentity, token_file: str | None = None) -> Fleet:
        """The workers of the ledger at this address, as the environment says how to reach them. Raises `UsageError`."""
        name = token_file or Settings.from_environment().token_file
        token = read_token(name) if name else ""
        return cls(parse_log_url(url).target, KafkaSettings.from_environment(), identity, token)

    async def owners(self, *, anew: bool = False) -> dict[int, str]:
        """By partition the address at which its owner answers. What was learnt a while ago is given all the same, and asked for
        beside that: an owner that is none any more says so. Raises `LogUnavailable`, at once where it was just not to be had.
        """
        age_s = time.monotonic() - self._asked_s
        if self._owners and not anew:
            if age_s > OWNERS_S and (self._asking is None or self._asking.done()):
                self._asking = asyncio.create_task(self._ask_beside())
        elif age_s > ANEW_S:
            await self._learn(time.monotonic())
        return self._owners

    async def _ask_beside(self) -> None:
        with suppress(LogUnavailable):  # whoever has to know asks again
            await self._learn(time.monotonic())

    async def _learn(self, began_s: float) -> None:
        """Ask who owns what, unless somebody did since `began_s`."""
        from consumers.membership import members

        async with self._silent.trial():
            if began_s > self._asked_s:
                found = await members(self._servers, self._kafka.prefix, self._kafka.security())
                self._owners = {number: each.answers_at for each in found if each.answers_at for number in each.partitions}
                self._asked_s = time.monotonic()
                self._client.keep(set(self._owners.values()))

    async def ask(self, what: str, question: Question) -> Reply:
        """Ask the owner of the question's scope. Raises `NobodyAnswers`, and `UsageError` for what the worker will not have."""
        number = partition_of(question.scope, self.identity.partitions)
        why, owners = "nobody owns it", await self.owners()
        for last in (False, True):
            address = owners.get(number)
            if address is not None:
                try:
                    return await self._post(address, what, question)
                except NobodyAnswers as error:
                    why = error.message
            if not last:
                owners = await self._instead_of(owners)
        raise NobodyAnswers(f"no worker answers for partition {number}: {why}", hint=START_ONE)

    async def ask_all(self, what: str, question: Question) -> list[Reply]:
        """Ask every owner about all partitions it owns, in order of their first ones. Raises `NobodyAnswers` unless there is an
        answer for every partition.
        """
        owners = await self.owners()
        try:
            return await self._ask_all(what, question, owners)
        except NobodyAnswers:
            return await self._ask_all(what, question, await self._instead_of(owners))

    async def _instead_of(self, believed: dict[int, str]) -> dict[int, str]:
        """Who owns what, now that some of these did not answer: what was learnt just before that is asked for again."""
        found = await self.owners(anew=True)
        if found and found is believed:
            await asyncio.sleep(ANEW_S)
            found = await self.owners(anew=True)
        return found

    async def _ask_all(self, what: str, question: Question, owners: dict[int, str]) -> list[Reply]:
        missing = [number for number in range(self.identity.partitions) if number not in owners]
        if missing:
            raise NobodyAnswers(
                f"no worker answers for {len(missing)} of {self.identity.partitions} partitions", hint=START_ONE
            )
        by_address: dict[str, list[int]] = {}
        for number in range(self.identity.partitions):
            by_address.setdefault(owners[number], []).append(number)
        asked = [msgspec.structs.replace(question, partitions=numbers) for numbers in by_address.values()]
        return await asyncio.gather(*map(self._post, by_address, [what] * len(asked), asked))

    async def locate(self, name: str) -> tuple[str, str]:
        """Scope and whole id of the session of this id or beginning of one. Raises `UsageError` unless there is just one."""
        for guess in dict.fromkeys(guesses(name)):
            if (await self.ask("sessions", Question(scope=guess, session=name))).lines:
                return guess, name
        near = await self._begin_with(name) if name else []
        alike = await self._begin_with(name[:ALIKE_CHARS]) if name and not near else []
        chosen = near[the_one(name, [(each.scope, each.session) for each in near], lambda: [each.session for each in alike])]
        return chosen.scope, chosen.session

    async def _begin_with(self, prefix: str) -> list[SessionAnswer]:
        replies = await self.ask_all("sessions", Question(prefix=prefix))
        return sorted((each for reply in replies for each in reply.all(SessionAnswer)), key=lambda each: in_order(each.scope))

    async def _post(self, address: str, what: str, question: Question) -> Reply:
        return await self._client.ask(address, what, question)

    async def close(self) -> None:
        """Close connections."""
        if self._asking is not None:
            self._asking.cancel()
        await self._client.close()


class FleetBackend:
    """Workers decide and answer; where none does, the one partition concerned is folded here, which publishes nothing."""

    decides = False

    def __init__(self, url: str, log: Log, fleet: Fleet) -> None:
        self._url, self._log, self._fleet = url, log, fleet
        self._local: dict[int, Store] = {}
        self._unfolded = SharedFault()
        self._stack = AsyncExitStack()
        self._answering = True
        self.answered: Counter[str] = Counter()
        """How many questions were answered by a `worker`, and how many from a fold `here`."""

    async def nudge(self) -> bool:
        """Workers need no nudge."""
        return True

    async def _ask(self, what: str, question: Question) -> Reply | None:
        """A worker's answer, or None where none can be had."""
        try:
            reply = await self._fleet.ask(what, question)
        except LogClosed:
            raise
        except LogUnavailable as error:
            self.answered["here"] += 1
            if self._answering:
                _log.warning("%s: %s; folding the partition here instead, which publishes nothing", what, error.message)
            self._answering = False
            return None
        self.answered["worker"] += 1
        self._answering = True
        return reply

    @asynccontextmanager
    async def _reading(self, scope: str) -> AsyncIterator[Reading]:
        """A view over the partition of a scope, folded here up to the log's end. A log that did not answer is not asked anew
        by each caller. Raises `LogUnavailable`.
        """
        async with self._unfolded.trial():
            await self._reach(scope)
            store = await self._store(scope)
            gap = await store.fold("try")
        with store.reading(gap) as reading:
            yield reading

    async def _reach(self, scope: str) -> None:
        """Raises `LogUnavailable` where the log is silent: a fold may take its time, a sign of life may not."""
        try:
            async with asyncio.timeout(REACH_S):
                await self._log.end(EVENTS, partition_of(scope, self._fleet.identity.partitions))
        except TimeoutError:
            hint = "Check that its brokers are up and can be reached from here."
            raise LogUnavailable(f"{self._url} said nothing for {REACH_S:g} s", hint=hint) from None

    async def _store(self, scope: str) -> Store:
        number = partition_of(scope, self._fleet.identity.partitions)
        store = self._local.get(number)
        if store is None:
            notice = _log.warning
            opened = open_store(self._url, notice=lambda words: notice("%s", words), scopes=[scope])
            store = self._local[number] = await self._stack.enter_async_context(opened)
        return store

    def _question(self, scope: str, session: str, after: int, **more: Any) -> Question:
        number = partition_of(scope, self._fleet.identity.partitions)
        return Question(scope=scope, session=session, after={number: after} if after else {}, **more)

    async def recall(self, scope: str, session: str, fact: str, as_of: str, after: int) -> list[RecallAnswer]:
        """See `ledger.client.Backend`."""
        reply = await self._ask("recall", self._question(scope, session, after, fact=fact, as_of=as_of))
        if reply is not None:
            return reply.all(RecallAnswer)
        async with self._reading(scope) as reading:
            return await recall(reading, reading.session(session, scope), fact, as_of)

    async def quote(self, scope: str, places: Sequence[Place]) -> list[str]:
        """See `ledger.client.Backend`. An owner that is still catching up is asked again for `REPLACED_S`."""
        question = Question(scope=scope, places=list(places))
        until_s = time.monotonic() + REPLACED_S
        while (reply := await self._ask("quote", question)) is not None:
            words = reply.all(Words)
            if all(one.status != "unknown" for one in words):
                return [one.text for one in words]
            if time.monotonic() > until_s:
                break
            await asyncio.sleep(ASK_AGAIN_S)
        async with self._reading(scope) as reading:
            quotes = Quotes(reading, scope)
            return [await quotes.cut(*place) for place in places]

    async def rehydrate(self, scope: str, session: str, claim: Claim, retrieval: Retrieval | None, after: int) -> Fetched:
        """See `ledger.client.Backend`."""
        what = "backing" if retrieval is not None else "rehydrate"
        reply = await self._ask(what, self._question(scope, session, after, claim=claim))
        if reply is not None:
            return await fetch_first(reply.one(Backing), retrieval) if retrieval is not None else reply.one(Fetched)
        async with self._reading(scope) as reading:
            found = reading.session(session, scope)
            return await rehydrate(found.rows, claim, retrieval or OwnStore(reading, found))

    async def outcome(self, scope: str, session: str, request: str, after: int) -> RequestAnswer:
        """See `ledger.client.Backend`. An owner that is gone is being replaced, so it is asked again for `REPLACED_S`.

        Raises `NobodyAnswers` after that: no partition is folded here just for this.
        """
        question = self._question(scope, session, after, request=request)
        until_s = time.monotonic() + REPLACED_S
        while True:
            try:
                return (await self._fleet.ask("request", question)).one(RequestAnswer)
            except LogUnavailable as error:
                if time.monotonic() > until_s:
                    raise NobodyAnswers(error.message, hint=error.hint) from error
                await asyncio.sleep(ASK_AGAIN_S)

    async def rewrites(self, scope: str, span: str, role: str, text: str) -> bool:
        """See `ledger.client.Backend`: there is no index at hand, and no record waits for a worker's."""
        del scope, span, role, text
        return False

    async def undecided(self, scope: str) -> str:
        """See `ledger.client.Backend`."""
        number = partition_of(scope, self._fleet.identity.partitions)
        address = (await self._fleet.owners(anew=True)).get(number)
        if address is None:
            start = f"cledger worker --log {self._url}"
            return f"No worker owns partition {number}, where this scope is decided; start one: {start}"
        return f"The worker at {address} owns partition {number} and gave no decision; {address}/readyz says what it does."

    async def close(self) -> None:
        """Release what was folded here."""
        await self._stack.aclose()


@asynccontextmanager
async def open_fleet_ledger(url: str) -> AsyncIterator[LedgerClient]:
    """The Python API over a log on Kafka. Raises as `open_log` does."""
    log: Log = await open_log(url, create=False)
    try:
        fleet = Fleet.of(url, log.identity)
        backend = FleetBackend(url, log, fleet)
        client = LedgerClient(log, backend)
        try:
            yield client
        finally:
            await client.close()
            await backend.close()
            await fleet.close()
    finally:
        await log.close()


def merged(replies: Iterable[Reply], shape: type[A]) -> list[A]:
    """Objects of several workers that name a scope, in order of their scopes, and within one as its worker gave them."""
    answers = [answer for reply in replies for answer in reply.all(shape)]
    return sorted(answers, key=lambda answer: in_order(getattr(answer, "scope", "")))
