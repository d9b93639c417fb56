"""One worker asked over HTTP: what counts as its answer, and how long one that gave none is left alone.

A worker may be gone, stand still with its port open, or answer so slowly that it helps nobody; at its address another program
may listen by now. None of that may cost every caller the time that it cost the first one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import TypeVar

import aiohttp
import msgspec

from ledger.errors import LedgerError, LogClosed, LogUnavailable, UsageError
from ops.worker_questions import CURSOR_HEADER, GAP_HEADER, LOG_HEADER, Question

CONNECT_S = 2.0
ANSWER_S = 30.0
"""How long a worker may take to be reached, and to answer. A large session's `forgotten` takes some seconds."""

CONNECTIONS = 4
"""To each worker. It answers two questions at a time, so more connections would only wait elsewhere."""

SILENT_S, ALIVE_S = 3.0, 3.0
"""A worker that says nothing for so long is asked whether it lives, and has so long to say so: its event loop answers that even
while both its threads work on questions.
"""

AWAY_S = 5.0
"""How long a failure is believed. An address that failed is then tried by one caller, and by the others once that went well."""

A = TypeVar("A")


class NobodyAnswers(LogUnavailable):
    """No worker that owns the partitions concerned can be reached."""


class Unreached(NobodyAnswers):
    """Nothing came from this address, or not in time."""


class Reply(msgspec.Struct):
    """What a worker answered: a JSON line for each object, how many records its index lacked, where alerts go on."""

    lines: list[bytes]
    gap: int
    cursor: dict[int, int] = {}

    def all(self, shape: type[A]) -> list[A]:
        """The objects. Raises `NobodyAnswers` where a worker of another release says it otherwise."""
        try:
            return [msgspec.json.decode(line, type=shape) for line in self.lines]
        except msgspec.DecodeError as error:
            raise NobodyAnswers(f"a worker's answer cannot be read: {error}", hint="Upgrade workers and clients.") from None

    def one(self, shape: type[A]) -> A:
        """The only object."""
        answers = self.all(shape)
        if len(answers) != 1:
            raise NobodyAnswers(f"a worker gave {len(answers)} answers to a question that has one")
        return answers[0]


class SharedFault:
    """A failure of something that one caller tries at a time. Who waited behind the one who met it gets it as well; who comes
    later gets it at once for `AWAY_S`, and from then on for as long as somebody tries anew.
    """

    def __init__(self) -> None:
        self._trying = asyncio.Lock()
        self._error: LogUnavailable | None = None
        self._at_s = float("-inf")

    @asynccontextmanager
    async def trial(self) -> AsyncIterator[None]:
        """The caller's turn to try; what it raises is shared. Raises `LogUnavailable` where it need not try."""
        began_s = time.monotonic()
        if self._trying.locked():
            self._tell()
        async with self._trying:
            if began_s <= self._at_s or time.monotonic() - self._at_s < AWAY_S:
                self._tell()
            try:
                yield
            except LogUnavailable as error:
                self._error, self._at_s = error, time.monotonic()
                raise
            self._error = None

    def _tell(self) -> None:
        if self._error is not None:
            raise LogUnavailable(self._error.message, hint=self._error.hint)


class _Away(msgspec.Struct):
    """An address that failed: until when it is left alone, why, and whether somebody tries it just now."""

    until_s: float
    why: str
    tried: bool = False


class WorkerClient:
    """Asks workers of one log by their addresses. Use from one event loop, and close it."""

    def __init__(self, log_id: str, token: str = "") -> None:
        """`token` is what the workers ask for, where they ask for one."""
        self._log_id, self._token = log_id, token
        self._http: aiohttp.ClientSession | None = None
        self._probes: dict[str, asyncio.Task[bool]] = {}
        self._away: dict[str, _Away] = {}
        self._closed = False

    async def ask(self, address: str, what: str, question: Question) -> Reply:
        """Ask the worker at this address. Raises `NobodyAnswers`, also at once where it did not answer just before, and
        `UsageError` for what the worker will not have.
        """
        away = self._left_alone(address)
        try:
            if away is not None and not await self._lives(address):
                raise Unreached(away.why)
            response, body = await self._exchange(address, what, question)
        except Unreached as error:
            self._away[address] = _Away(time.monotonic() + AWAY_S, error.message)
            raise
        finally:
            if away is not None:
                away.tried = False
        self._away.pop(address, None)
        return self._reply(address, response, body)

    def keep(self, addresses: Collection[str]) -> None:
        """Forget what is known of other addresses."""
        self._away = {address: away for address, away in self._away.items() if address in addresses}

    async def close(self) -> None:
        """Close connections; questions under way end with `LogClosed`."""
        self._closed = True
        for probe in self._probes.values():
            probe.cancel()
        if self._http is not None:
            await self._http.close()

    def _left_alone(self, address: str) -> _Away | None:
        """The failure of this address that this caller may see the end of; None if there is none. Raises `Unreached`."""
        away = self._away.get(address)
        if away is None:
            return None
        if away.tried or time.monotonic() < away.until_s:
            raise NobodyAnswers(away.why)
        away.tried = True
        return away

    async def _exchange(self, address: str, what: str, question: Question) -> tuple[aiohttp.ClientResponse, bytes]:
        """Send a question and take what comes. Raises `Unreached`."""
        asking = asyncio.ensure_future(self._post(address, what, question))
        asking.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        try:
            done, _ = await asyncio.wait([asking], timeout=SILENT_S)
            if not done and not await self._lives(address) and not asking.done():
                raise Unreached(f"{address} stands still: it said nothing for {SILENT_S + ALIVE_S:g} s")
            return await asking
        finally:
            asking.cancel()

    async def _post(self, address: str, what: str, question: Question) -> tuple[aiohttp.ClientResponse, bytes]:
        http = self._session()
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            async with (
                asyncio.timeout(CONNECT_S + ANSWER_S),
                http.post(
                    f"{address}/v1/{what}", data=msgspec.json.encode(question), headers=headers, allow_redirects=False
                ) as response,
            ):
                return response, await response.read()
        except TimeoutError as error:
            raise Unreached(f"{address} did not answer within {CONNECT_S + ANSWER_S:g} s") from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            if self._closed:
                raise self._was_closed() from error
            raise Unreached(f"{address} cannot be reached: {_told(error)}") from error

    async def _lives(self, address: str) -> bool:
        """Does anything answer there? Callers who ask at the same time share one question."""
        probe = self._probes.get(address)
        if probe is None:
            probe = self._probes[address] = asyncio.create_task(self._probe(address))
            probe.add_done_callback(lambda _: self._probes.pop(address, None))
        return await asyncio.shield(probe)

    async def _probe(self, address: str) -> bool:
        try:
            async with (
                asyncio.timeout(ALIVE_S),
                # Connections for questions may all be waiting.
                aiohttp.ClientSession() as http,
                http.get(f"{address}/healthz", allow_redirects=False),
            ):
                return True
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError):
            return False

    def _session(self) -> aiohttp.ClientSession:
        if self._closed:
            raise self._was_closed()
        if self._http is None:
            self._http = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=ANSWER_S),
                connector=aiohttp.TCPConnector(limit_per_host=CONNECTIONS),
            )
        return self._http

    @staticmethod
    def _was_closed() -> LogClosed:
        return LogClosed("the connection to the workers was closed")

    def _reply(self, address: str, response: aiohttp.ClientResponse, body: bytes) -> Reply:
        """What a worker of this log said. Whatever another program says there, it is no answer. Raises as `ask` does."""
        said = response.headers.get(LOG_HEADER)
        if said is None:
            raise NobodyAnswers(f"{address}: what answers there is no worker of this log")
        if said != self._log_id:
            raise NobodyAnswers(f"{address} answers for another log")
        if response.status != 200:
            raise _refused(address, response.status, body)
        try:
            cursor = msgspec.json.decode(response.headers.get(CURSOR_HEADER, "{}"), type=dict[int, int])
            return Reply(body.splitlines(), int(response.headers.get(GAP_HEADER, "0")), cursor)
        except (msgspec.DecodeError, ValueError):
            raise NobodyAnswers(f"{address}: its answer cannot be read", hint="Upgrade workers and clients.") from None


def _told(error: Exception) -> str:
    """A failed connection in words: the system's own, without what the library puts around them."""
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror.lower()
    return str(cause) or type(cause).__name__


class _Problem(msgspec.Struct):
    title: str = ""
    detail: str = ""


def _refused(address: str, status: int, body: bytes) -> LedgerError:
    try:
        problem = msgspec.json.decode(body, type=_Problem)
    except msgspec.DecodeError:
        problem = _Problem(title=f"status {status}")
    if status in (400, 404, 413):
        return UsageError(problem.title, hint=problem.detail)
    if status in (401, 403):
        hint = "Name the file with the workers' token: CLEDGER_TOKEN_FILE=FILE, or --token-file FILE."
        return UsageError(f"{address}: {problem.title}", hint=hint)
    return NobodyAnswers(f"{address}: {problem.title}", hint=problem.detail)
