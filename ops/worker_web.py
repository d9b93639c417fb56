"""What a worker answers over HTTP: health, readiness, metrics, and questions. Loopback unless told otherwise, then with a token
(P12).
"""

from __future__ import annotations

import errno
import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
from aiohttp import web

from consumers.worker import Worker
from ledger.errors import LogUnavailable, UsageError
from ops.cli.screen import json_line
from ops.telemetry import exposition
from ops.worker_answers import WorkerAnswers
from ops.worker_questions import LOG_HEADER

DEFAULT_PORT = 6066
OPEN_PATHS = ("/healthz", "/readyz")
"""Answered without a token: they say that the process lives, and nothing about anybody's data."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Listen:
    """A bound socket on which a worker answers, and the token that it asks for; the empty string on loopback, where none is
    needed.
    """

    def __init__(self, host: str, port: int, token: str = "") -> None:
        """Raises `LogUnavailable` where the port is taken, `UsageError` where the host is no address of this machine."""
        self.host, self.token = host, token
        self.socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind((host, port))
            self.socket.listen(128)
        except OSError as error:
            self.socket.close()
            if error.errno == errno.EADDRINUSE:
                hint = "Choose another port with --web, or 0 for any free one."
                raise LogUnavailable(f"{host}:{port} is taken", hint=hint) from None
            raise UsageError(f"{host}:{port} cannot be listened on: {error}") from error
        self.port = int(self.socket.getsockname()[1])

    @property
    def url(self) -> str:
        """The address as others may use it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def listening(address: str | None, token_file: str | None) -> tuple[Listen, str]:
    """Where to listen, and a word about it if that is not what was expected. A default port that is taken gives a free one.

    Raises `UsageError` for a bad address, a token file that cannot be read or that others may read, and for an address that is
    not loopback without a token (P12); `LogUnavailable` where a named port is taken.
    """
    host, port = _parsed(address)
    token = read_token(token_file) if token_file else ""
    if not is_loopback(host) and not token:
        raise UsageError(
            f"{host} can be reached from other machines, so whoever asks there must know a token",
            hint="Write one into a file that only you can read and name it: --token-file FILE. Or listen on 127.0.0.1.",
        )
    try:
        return Listen(host, port, token), ""
    except LogUnavailable:
        if address is not None:
            raise
    free = Listen(host, 0, token)
    return free, f"port {port} is taken, answering on {free.port}"


def _parsed(address: str | None) -> tuple[str, int]:
    if address is None:
        return "127.0.0.1", DEFAULT_PORT
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not (port.isascii() and port.isdecimal()) or int(port) > 65_535:
        raise UsageError(f"--web {address!r} is no address", hint="Expected HOST:PORT, for instance 127.0.0.1:6066.")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Can only this machine reach it?"""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(name: str) -> str:
    """The token in a file. Raises `UsageError` where it cannot be read, others may read it, or it is short."""
    path = Path(name)
    try:
        if path.stat().st_mode & 0o077:
            raise UsageError(f"{name} can be read by others", hint=f"chmod 600 {name}")
        token = path.read_text("utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the token file {name} cannot be read: {error}") from error
    if len(token) < 16:
        raise UsageError(f"the token in {name} is shorter than 16 characters", hint="openssl rand -hex 32 gives a good one.")
    return token


def _nothing_known() -> str:
    return ""


def guard(
    listen: Listen, log_id: Callable[[], str] = _nothing_known
) -> Callable[[web.Request, Handler], Awaitable[web.StreamResponse]]:
    """Refuses whoever does not know the token, and on loopback whoever asks under a foreign name (DNS rebinding). Every answer,
    refusals too, says whose it is by `log_id`, so that nobody takes another program's for a worker's.
    """

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = _refusal(request, listen)
        response = await handler(request) if refusal is None else refusal
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Cache-Control"] = "no-store"
        if log_id():
            response.headers[LOG_HEADER] = log_id()
        return response

    return check


def _refusal(request: web.Request, listen: Listen) -> web.Response | None:
    """Why a request is not answered."""
    if listen.token and request.path not in OPEN_PATHS:
        given = request.headers.get("Authorization", "")
        if not hmac.compare_digest(given.encode("utf-8", "surrogateescape"), f"Bearer {listen.token}".encode()):
            return problem(401, "a token is needed", "Send it as: Authorization: Bearer TOKEN")
    elif is_loopback(listen.host) and not _is_own_name(request.host, listen):
        return problem(403, "asked under a foreign name", f"Ask {listen.url}")
    if request.headers.get("Origin") not in (None, listen.url):
        return problem(403, "asked by a foreign page", f"Ask {listen.url}")
    return None


def _is_own_name(host: str, listen: Listen) -> bool:
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
    return is_loopback(name.removeprefix("[").removesuffix("]"))


HOW = 'POST takes one JSON object, for instance {"session": "…"}, and answers in JSON lines, as cledger COMMAND --json does'


def index_of(paths: Sequence[str], questions: Sequence[str] = ()) -> Handler:
    """What answers `/`: which paths there are and how they are asked, and nothing of anybody's data."""
    endpoints = [{"method": "GET", "path": path} for path in paths]
    endpoints += [{"method": "POST", "path": path} for path in questions]
    body = msgspec.json.encode({"endpoints": endpoints, **({"how": HOW} if questions else {})})

    async def index(request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(body=body, content_type="application/json")

    return index


def problem(status: int, title: str, detail: str) -> web.Response:
    """An error as `application/problem+json`."""
    body = msgspec.json.encode({"status": status, "title": title, "detail": detail})
    return web.Response(status=status, body=body, content_type="application/problem+json")


class Views:
    """The paths of a worker; nothing is answered before it is given the worker."""

    def __init__(self) -> None:
        self._answers = WorkerAnswers(json_line, problem)

    @property
    def worker(self) -> Worker | None:
        """The worker that answers."""
        return self._answers.worker

    @worker.setter
    def worker(self, worker: Worker | None) -> None:
        self._answers.worker = worker

    def log_id(self) -> str:
        """The log that is worked on; the empty string before there is a worker."""
        return self.worker.log.identity.log_id if self.worker is not None else ""

    async def close(self) -> None:
        """Answer no more questions."""
        await self._answers.close()

    def routes(self) -> list[tuple[str, Handler]]:
        """Paths and what answers them; those below /v1 are questions and take POST (see `ops.worker_answers`)."""
        own = [("/healthz", self.healthz), ("/readyz", self.readyz), ("/metrics", self.metrics)]
        questions = self._answers.routes()
        index = index_of([path for path, _ in own], [path for path, _ in questions])
        return [("/", index), *own, *questions]

    async def healthz(self, request: web.Request) -> web.Response:
        """200 while nothing stands still for good, 503 with the reason where a partition halted. What is waited for that a
        restart would not help is said with either.
        """
        del request
        status = self.worker.status() if self.worker is not None else None
        halted = [each for each in status.partitions if each.state == "halted"] if status is not None else []
        body = {
            "healthy": not halted,
            "halted": [{"partition": each.partition, "offset": each.offset, "reason": each.reason} for each in halted],
            "waits": status.waits if status is not None else [],
        }
        return web.json_response(body, status=503 if halted else 200)

    async def readyz(self, request: web.Request) -> web.Response:
        """200 once every owned partition is live, else 503 with the reasons in sentences; each partition's state and lag."""
        del request
        if self.worker is None:
            starting = {"readiness": "not ready", "reasons": ["the worker has not begun"], "partitions": []}
            return web.json_response(starting, status=503)
        status = self.worker.status()
        body = {
            "readiness": status.readiness,
            "reasons": status.reasons,
            "partitions": [
                {
                    "partition": each.partition,
                    "state": each.state,
                    "reason": each.reason,
                    "offset": each.offset,
                    "lag": each.lag,
                }
                for each in status.partitions
            ],
        }
        return web.json_response(body, status=200 if status.readiness == "ready" else 503)

    async def metrics(self, request: web.Request) -> web.Response:
        """Metrics in the text format of Prometheus."""
        del request
        if self.worker is None:
            return problem(503, "starting", "The worker has not begun.")
        return web.Response(body=exposition(self.worker), headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})
