"""The Faust app around a process: lifecycle, signals, web server. No topic, table, producer or consumer of Faust is used.

A Faust agent commits records whose handler raised and its consumer can stop without a word, so nothing of the ledger hangs on
one (see `consumers.agents` for what may).
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

import faust
import mode
import msgspec
from aiohttp import web
from faust.app.base import BootStrategy

UNAVAILABLE, INTERRUPTED = 4, 130
"""Exit codes where Faust itself ended otherwise than in order, and after an interrupt."""

Route = tuple[str, Callable[[web.Request], Awaitable[web.StreamResponse]]]
"""A path that answers GET requests, or POST if it is a question, and what answers."""

QUESTIONS = "/v1/"


class _Boot(BootStrategy):
    """Faust starts its web server and our service, and no client of its own to the brokers."""

    enable_kafka = False
    enable_kafka_consumer = False
    enable_kafka_producer = False
    enable_sensors = False


class _App(faust.App):
    BootStrategy = _Boot


class _Process(faust.Worker):
    """Faust's process runner, without its banner, its process title and its word on an interrupt."""

    interrupted = False
    fault: BaseException | None = None

    async def start(self) -> None:
        """Start everything; what fails is kept for whoever asked for the worker."""
        try:
            await super().start()
        except Exception as error:
            self.fault = error
            raise

    async def on_execute(self) -> None:
        """Nothing is printed before the service speaks."""

    def on_worker_shutdown(self) -> None:
        """Nothing is printed at the end either."""

    def _on_sigint(self) -> None:
        self.interrupted = True
        self._schedule_shutdown(signal.SIGINT)

    async def _sentinel_task(self) -> None:
        """A last turn of the event loop. Everything was gathered before; there is nothing to wait a whole second for."""
        await asyncio.sleep(0)


class Site(msgspec.Struct, frozen=True):
    """Where and what the web server of a process answers: `socket` is bound and listens."""

    socket: Any
    routes: tuple[Route, ...] = ()
    middlewares: tuple[Any, ...] = ()
    closing: Callable[[], None] = lambda: None
    """Called when the server stops, so that answers without an end come to one."""


class Job(Protocol):
    """What a process is there for, in its event loop from beginning to end."""

    async def run(self) -> int:
        """Work until done or told to end; returns the exit code. Raises what keeps it from working."""
        ...

    def end(self) -> None:
        """Finish what has begun, and let `run` return."""
        ...


def run(job: Job, *, folder: Path, site: Site) -> int:
    """Run a job inside a Faust app until it ends, or a signal asks for it. Returns its exit code, 130 after an interrupt.

    Raises what kept the job or the shell from working.
    """
    loop = new_loop()
    app = _App("cledger", **settings_of(folder, site), loop=loop)
    return execute(app, job, site)


def new_loop() -> asyncio.AbstractEventLoop:
    """The event loop of a process that Faust runs."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    return loop


def settings_of(folder: Path, site: Site) -> dict[str, Any]:
    """Settings of Faust that all our processes share. `folder` is for its own files, of which there are none."""
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "autodiscover": False,
        "datadir": str(folder),
        "web_application_options": {"middlewares": list(site.middlewares)},
        "topic_disable_leader": True,
        "cache": "memory://",
        "store": "memory://",
    }


def execute(app: faust.App, job: Job | None, site: Site) -> int:
    """Run an app in the event loop it was made with; without a job it runs until a signal comes."""
    loop = asyncio.get_event_loop_policy().get_event_loop()
    web_server: Any = app.web
    web_server._transport_handlers["tcp"] = lambda: web.SockSite(web_server._runner, site.socket)
    for path, answer in site.routes:
        router = web_server.web_app.router
        (router.add_post if path.startswith(QUESTIONS) else router.add_get)(path, answer)

    async def on_shutdown(_: web.Application) -> None:
        site.closing()

    web_server.web_app.on_shutdown.append(on_shutdown)
    process = _Process(app, loop=loop, override_logging=False, redirect_stdouts=False, quiet=True, loglevel="WARN")
    process.spinner = None
    outcome = _Outcome()
    if job is not None:
        app.service(_service_of(job, outcome, lambda: loop.call_soon(process._schedule_shutdown, signal.SIGTERM)))
    try:
        process.execute_from_commandline()
    except SystemExit as end:
        outcome.code = outcome.code or (UNAVAILABLE if end.code else 0)
    error = outcome.error or process.fault
    if error is not None:
        raise error
    return INTERRUPTED if process.interrupted and not outcome.code else outcome.code


class _Outcome:
    code = 0
    error: Exception | None = None


def _service_of(job: Job, outcome: _Outcome, ended: Callable[[], object]) -> type[mode.Service]:
    class Service(mode.Service):
        """A job as Faust sees it."""

        def __post_init__(self) -> None:
            self.over = asyncio.Event()

        @mode.Service.task
        async def work(self) -> None:
            """The job's whole life."""
            try:
                outcome.code = await job.run()
            except Exception as error:  # noqa: BLE001  raised by `execute`, once the shell is shut down in order
                outcome.error = error
            finally:
                self.over.set()
                ended()

        async def on_stop(self) -> None:
            """A signal came: let the job finish what it has begun."""
            job.end()
            await self.over.wait()

    return Service
