"""Where notifications go: lines on stdout, a web hook, a command. And the process that sends them, put together."""

from __future__ import annotations

import asyncio
import shlex
import sys
from urllib.parse import urlsplit

import aiohttp
import msgspec
from aiohttp import web

from consumers.agents import Agents, Feed, Notification, Sink, run_agents
from consumers.shell import Site
from ledger.errors import UsageError
from ops.cli.screen import json_line
from ops.queries.quotes import iso_time
from ops.settings import KafkaSettings, Settings, parse_log_url
from ops.wiring import open_log
from ops.worker_web import guard, index_of, listening

SEND_TIMEOUT_S = 10.0
ATTEMPTS = 4
PAUSE_S = 0.5
"""Before the second attempt; doubled before each further one."""


def line_of(notification: Notification) -> str:
    """The notification on one line of JSON, with the time and the command that shows the words: those do not leave the log
    unasked (P11). Characters that steer terminals are escaped, and the session stands quoted as a shell takes it (P10).
    """
    fields = msgspec.structs.asdict(notification)
    time = iso_time(fields.pop("published_ms"))
    look = f"cledger alerts --session {shlex.quote(notification.session)}"
    return json_line({"time": time, **fields, "look": look})


class Lines:
    """JSON lines on stdout."""

    async def send(self, notification: Notification) -> None:
        """Print one line."""
        print(line_of(notification), flush=True)


class WebHook:
    """A POST of the notification as JSON. Told again after a server fault, a full queue or a broken connection."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def send(self, notification: Notification) -> None:
        """Raises `OSError` after the last attempt, or at once for an answer that says: never."""
        body, pause_s = line_of(notification).encode(), PAUSE_S
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

    def __init__(self, arguments: list[str]) -> None:
        self._arguments = arguments

    async def send(self, notification: Notification) -> None:
        """Raises `OSError` where the command cannot be run, fails, or takes too long."""
        process = await asyncio.create_subprocess_exec(*self._arguments, stdin=asyncio.subprocess.PIPE)
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                await process.communicate(line_of(notification).encode() + b"\n")
        except TimeoutError:
            process.kill()
            raise TimeoutError(f"{self._arguments[0]} took longer than {SEND_TIMEOUT_S:g} s") from None
        if process.returncode:
            raise ChildProcessError(f"{self._arguments[0]} ended with {process.returncode}")


def sink_of(text: str) -> Sink:
    """`-` for lines on stdout, an http(s) address for a web hook, anything else a command. Raises `UsageError`."""
    if text == "-":
        return Lines()
    if text.startswith(("http://", "https://")):
        if not urlsplit(text).hostname:
            raise UsageError(f"--notify {text!r} names no host")
        return WebHook(text)
    try:
        arguments = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--notify {text!r} is no command: {error}") from None
    if not arguments:
        raise UsageError("--notify names nothing", hint="Give -, an http address, or a command.")
    return Command(arguments)


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
    listen, notice = listening(web_address, token_file)
    try:
        asyncio.run(_find(log_url))
    except BaseException:
        listen.socket.close()
        raise
    agents = Agents([sink_of(text) for text in notify])
    site = Site(
        listen.socket,
        routes=(("/", index_of(["/feed", "/healthz"])), ("/feed", _feed_of(agents.feed)), ("/healthz", _alive)),
        middlewares=(guard(listen),),
        closing=agents.feed.end,
    )
    because = f" ({notice})" if notice else ""
    print(f"following the alerts of {log_url}, feed at {listen.url}/feed{because}", file=sys.stderr, flush=True)
    return run_agents(
        agents,
        broker="kafka://" + address.target.replace(",", ";kafka://"),
        credentials=_credentials(kafka),
        prefix=kafka.prefix,
        folder=Settings.from_environment().data / "agents",
        site=site,
    )


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


async def _alive(request: web.Request) -> web.Response:
    del request
    return web.json_response({"healthy": True})


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
