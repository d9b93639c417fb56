"""Where notifications go: lines on stdout, a web hook, a command. And the process that sends them, put together."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import msgspec
from aiohttp import web

from consumers.agents import GROUP, LOOK_S, Agents, Feed, Following, Notification, Sink, run_agents
from consumers.readiness import Reach
from consumers.shell import Site
from ledger.errors import LedgerError, UsageError
from ledger.log import ALERTS, Log
from ops.cli.screen import json_line
from ops.diagnosis import diagnose
from ops.queries.quotes import iso_time
from ops.settings import KafkaSettings, Settings, parse_log_url
from ops.wiring import open_log
from ops.worker_web import guard, index_of, listening
from schemas.ids import digest

SEND_TIMEOUT_S = 10.0
ATTEMPTS = 4
PAUSE_S = 0.5
"""Before the second attempt; doubled before each further one."""


def line_of(notification: Notification, log: str = "") -> str:
    """The notification on one line of JSON, with the time and the command that shows the words: those do not leave the log
    unasked (P11). Characters that steer terminals are escaped, and the session stands quoted as a shell takes it (P10).
    """
    fields = msgspec.structs.asdict(notification)
    time = iso_time(fields.pop("published_ms"))
    prefix = KafkaSettings.from_environment().prefix if log else ""
    look = f"CLEDGER_KAFKA_PREFIX={shlex.quote(prefix)} " if prefix else ""
    look += f"cledger alerts --session {shlex.quote(notification.session)}" + (f" --log {shlex.quote(log)}" if log else "")
    return json_line({"time": time, **fields, "look": look})


class Lines:
    """JSON lines on stdout."""

    def __init__(self, log: str = "") -> None:
        self._log = log

    def __str__(self) -> str:
        return "stdout"

    async def send(self, notification: Notification) -> None:
        """Print one line."""
        print(line_of(notification, self._log), flush=True)


class WebHook:
    """A POST of the notification as JSON. Told again after a server fault, a full queue or a broken connection."""

    def __init__(self, url: str, log: str = "") -> None:
        self._url, self._log = url, log

    def __str__(self) -> str:
        return self._url

    async def send(self, notification: Notification) -> None:
        """Raises `OSError` after the last attempt, or at once for an answer that says: never."""
        body, pause_s = line_of(notification, self._log).encode(), PAUSE_S
        timeout = aiohttp.ClientTimeout(total=SEND_TIMEOUT_S)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                async with (
                    aiohttp.ClientSession(timeout=timeout) as session,
                    session.post(self._url, data=body, headers={"Content-Type": "application/json"}) as answer,
                ):
                    if answer.status < 300:
                        return
                    if answer.status < 500 and answer.status != 429:
                        raise ConnectionRefusedError(f"{self._url} answered {answer.status}")
                    why = f"{self._url} answered {answer.status}"
            except (aiohttp.ClientError, TimeoutError) as error:
                why = f"{self._url}: {str(error) or type(error).__name__}"
            if attempt < ATTEMPTS:
                await asyncio.sleep(pause_s)
                pause_s *= 2
        raise ConnectionError(f"{why}, {ATTEMPTS} times")


class Command:
    """A command that gets the notification as a JSON line on stdin. It is run without a shell."""

    def __init__(self, arguments: list[str], log: str = "") -> None:
        self._arguments, self._log = arguments, log

    def __str__(self) -> str:
        return self._arguments[0]

    async def send(self, notification: Notification) -> None:
        """Raises `OSError` where the command cannot be run, fails, or takes too long."""
        process = await asyncio.create_subprocess_exec(*self._arguments, stdin=asyncio.subprocess.PIPE)
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await process.communicate(line_of(notification, self._log).encode() + b"\n")
        except TimeoutError:
            process.kill()
            raise TimeoutError(f"{self._arguments[0]} took longer than {SEND_TIMEOUT_S:g} s") from None
        if process.returncode:
            raise ChildProcessError(f"{self._arguments[0]} ended with {process.returncode}")


def sink_of(text: str, log: str = "") -> Sink:
    """`-` for lines on stdout, an http(s) address for a web hook, anything else a command. Raises `UsageError`."""
    if text == "-":
        return Lines(log)
    if text.startswith(("http://", "https://")):
        if not urlsplit(text).hostname:
            raise UsageError(f"--notify {text!r} names no host")
        return WebHook(text, log)
    try:
        arguments = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--notify {text!r} is no command: {error}") from None
    if not arguments:
        raise UsageError("--notify names nothing", hint="Give -, an http address, or a command.")
    if shutil.which(arguments[0]) is None:
        raise UsageError(
            f"--notify {text!r}: there is no command {arguments[0]!r}", hint="Give -, an http address, or a command."
        )
    return Command(arguments, log)


def run_notifier(log_url: str, notify: list[str], web_address: str | None, token_file: str | None) -> int:
    """Send notifications, and serve the live feed at /feed, until a signal comes. Returns the exit code.

    Raises as `open_log` does: whoever followed topics that are not there would wait for ever, and silently.
    """
    address = parse_log_url(log_url)
    if address.scheme != "kafka":
        raise UsageError("agents follow a log on Kafka", hint="For an embedded log: cledger alerts --follow")
    kafka = KafkaSettings.from_environment()
    if kafka.sasl_mechanism.startswith("SCRAM"):
        raise UsageError("the agents' client does not log in by SCRAM", hint="Use TLS certificates or PLAIN for them.")
    sinks = [sink_of(text, log_url) for text in notify]
    listen, notice = listening(web_address, token_file)
    diagnose()
    try:
        asyncio.run(_find(log_url))
    except BaseException:
        listen.socket.close()
        raise
    agents = Agents(sinks, Reach(log_url, "nobody is told of anything meanwhile"))
    site = Site(
        listen.socket,
        routes=(
            ("/", index_of(["/feed", "/healthz", "/readyz"])),
            ("/feed", _feed_of(agents.feed)),
            ("/healthz", _state_of(agents, 200)),
            ("/readyz", _state_of(agents, 503)),
        ),
        middlewares=(guard(listen),),
        closing=agents.feed.end,
    )
    because = f" ({notice})" if notice else ""
    print(f"following the alerts of {log_url}, feed at {listen.url}/feed{because}", file=sys.stderr, flush=True)
    folder = Settings.from_environment().data / "agents"
    following = Following(
        broker="kafka://" + address.target.replace(",", ";kafka://"),
        credentials=_credentials(kafka),
        prefix=kafka.prefix,
        group=group_of(folder, sorted(notify) or [listen.url]),
        look=LogLook(log_url).fault,
    )
    return run_agents(agents, following, folder=folder, site=site)


def group_of(folder: Path, targets: Sequence[str]) -> str:
    """The name under which one machine's agents with this folder read for these targets; others read for themselves."""
    return f"{GROUP}-{digest('agents', socket.gethostname(), str(folder), *targets).hex()[:12]}"


class LogLook:
    """Looks whether a log answers."""

    def __init__(self, log_url: str) -> None:
        self._log_url = log_url
        self._log: Log | None = None

    async def fault(self) -> str:
        """What keeps it from answering within `LOOK_S`; the empty string if it answers."""
        try:
            async with asyncio.timeout(LOOK_S):
                if self._log is None:
                    self._log = await open_log(self._log_url, create=False)
                await self._log.end(ALERTS, 0)
        except TimeoutError:
            return f"no answer within {LOOK_S:g} s"
        except LedgerError as error:
            return error.message
        return ""


async def _find(log_url: str) -> None:
    """Is there a log? Raises as `open_log` does."""
    log = await open_log(log_url, create=False)
    await log.close()


def _credentials(kafka: KafkaSettings) -> object:
    """What Faust takes for TLS and SASL, None on a trusted network."""
    import faust

    options = kafka.security()
    if not options:
        return None
    context = options.get("ssl_context")
    if kafka.sasl_mechanism:
        return faust.SASLCredentials(
            username=options["sasl_plain_username"],
            password=options["sasl_plain_password"],
            mechanism=kafka.sasl_mechanism,
            ssl_context=context,
        )
    return faust.SSLCredentials(context)


def _state_of(agents: Agents, unready: int):  # type: ignore[no-untyped-def]
    async def state(request: web.Request) -> web.Response:
        """What was told and what was not; this status where people may miss alerts just now."""
        del request
        told = {"sent": agents.sent, "failed": agents.failed, "unreadable": agents.unreadable, "feed_lost": agents.feed.lost}
        ready = not agents.reasons
        body = {"healthy": True, "ready": ready, "reasons": agents.reasons, **told}
        return web.json_response(body, status=200 if ready else unready)

    return state


def _feed_of(feed: Feed):  # type: ignore[no-untyped-def]
    async def stream(request: web.Request) -> web.StreamResponse:
        """Alerts as server-sent events, one JSON object each, from now on."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        await response.write(b": the alerts of this ledger from now on\n\n")
        async for value in feed.read():
            await response.write(b"data: " + value + b"\n\n" if value else b": nothing new\n\n")
        return response

    return stream
