"""Where a worker listens, and whom it answers (P12, A1 to A3)."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from consumers.carrier_index import CarrierIndex
from consumers.membership import OwnsAll
from consumers.worker import Worker
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import LogUnavailable, UsageError
from ops.worker_web import DEFAULT_PORT, Listen, Views, guard, listening

TOKEN = "0123456789abcdef0123456789abcdef"


def token_file(tmp_path: Path, text: str = TOKEN, mode: int = 0o600) -> str:
    path = tmp_path / "token"
    path.write_text(text + "\n")
    path.chmod(mode)
    return str(path)


def test_without_an_address_it_is_loopback_and_a_taken_default_port_gives_a_free_one() -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", DEFAULT_PORT))
            taken.listen()
        except OSError:
            pass  # somebody else has it, which is what the test wants
        found, notice = listening(None, None)
        assert found.host == "127.0.0.1"
        assert found.port not in (0, DEFAULT_PORT)
        assert f"port {DEFAULT_PORT} is taken" in notice
        assert str(found.port) in notice
        found.socket.close()


def test_named_port_that_is_taken_is_refused_with_the_way_out() -> None:
    first = Listen("127.0.0.1", 0)
    with pytest.raises(LogUnavailable, match="is taken") as raised:
        listening(f"127.0.0.1:{first.port}", None)
    assert raised.value.exit_code == 4
    assert "--web" in raised.value.hint
    first.socket.close()


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.org:0"])
def test_address_that_others_can_reach_needs_a_token(address: str) -> None:
    with pytest.raises(UsageError, match="know a token") as raised:
        listening(address, None)
    assert raised.value.exit_code == 2
    assert "--token-file" in raised.value.hint


@pytest.mark.parametrize("address", ["127.0.0.1", ":80", "127.0.0.1:x", "127.0.0.1:-1", "127.0.0.1:65536", "127.0.0.1:²", ""])
def test_what_is_no_address_is_a_usage_error(address: str) -> None:
    with pytest.raises(UsageError, match="no address"):
        listening(address, None)


@pytest.mark.parametrize(
    ("text", "mode", "said"), [(TOKEN, 0o644, "read by others"), ("short", 0o600, "shorter than"), ("", 0o600, "shorter than")]
)
def test_token_file_that_protects_nothing_is_refused(tmp_path: Path, text: str, mode: int, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        listening("127.0.0.1:0", token_file(tmp_path, text, mode))


def test_token_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    found, _ = listening("127.0.0.1:0", token_file(tmp_path, "\ufeff" + TOKEN))
    assert found.token == TOKEN
    found.socket.close()


def test_token_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        listening("127.0.0.1:0", str(tmp_path / "missing"))


class Server:
    """A worker's web server on an address."""

    def __init__(self, listen: Listen) -> None:
        self.listen = listen
        self.views = Views()
        app = web.Application(middlewares=[guard(listen)])
        for path, answer in self.views.routes():
            app.router.add_get(path, answer)
        self.runner = web.AppRunner(app)

    async def get(self, path: str, **headers: str) -> tuple[int, str, dict[str, str]]:
        url = f"http://127.0.0.1:{self.listen.port}{path}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with aiohttp.ClientSession() as session, session.get(url, headers=named) as answer:
            return answer.status, await answer.text(), dict(answer.headers)


async def serving(listen: Listen, root: Path) -> AsyncIterator[Server]:
    server = Server(listen)
    log = MemoryLog()

    async def open_index(number: int) -> CarrierIndex:
        return CarrierIndex.create(root / "index", log.identity, number)

    server.views.worker = Worker(log, OwnsAll(1), open_index)
    await server.runner.setup()
    await web.SockSite(server.runner, listen.socket).start()
    yield server
    await server.runner.cleanup()


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Server]:
    """On loopback, no token needed."""
    async for server in serving(Listen("127.0.0.1", 0), tmp_path):
        yield server


@pytest.fixture
async def public(tmp_path: Path) -> AsyncIterator[Server]:
    """Reachable from elsewhere, with a token."""
    found, _ = listening("0.0.0.0:0", token_file(tmp_path))
    async for server in serving(found, tmp_path):
        yield server


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "192.0.2.1", "localhost.evil"])
async def test_loopback_asked_under_a_foreign_name_refuses(local: Server, host: str) -> None:
    """A3: a page whose name was made to point here (DNS rebinding)."""
    status, body, _ = await local.get("/metrics", Host=host)
    assert status == 403
    assert "foreign name" in body


async def test_foreign_page_is_refused_and_own_names_are_answered(local: Server) -> None:
    assert (await local.get("/metrics", Origin="http://evil.example"))[0] == 403
    assert (await local.get("/metrics", Origin="null"))[0] == 403
    for host in (f"127.0.0.1:{local.listen.port}", f"localhost:{local.listen.port}", "localhost", "[::1]"):
        status, _, headers = await local.get("/metrics", Host=host)
        assert status == 200
        assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("given", [None, "", "Bearer", "Bearer wrong", f"Bearer {TOKEN[:-1]}", f"bearer {TOKEN}", TOKEN])
async def test_who_does_not_know_the_token_learns_nothing(public: Server, given: str | None) -> None:
    """A2: 401 as problem+json; the token is not in the answer."""
    headers = {} if given is None else {"Authorization": given}
    status, body, answered = await public.get("/metrics", **headers)
    assert status == 401
    assert answered["Content-Type"].startswith("application/problem+json")
    assert TOKEN not in body


async def test_token_in_the_address_is_not_taken(public: Server) -> None:
    assert (await public.get(f"/metrics?token={TOKEN}"))[0] == 401


async def test_who_knows_the_token_is_answered_and_health_needs_none(public: Server) -> None:
    assert (await public.get("/metrics", Authorization=f"Bearer {TOKEN}"))[0] == 200
    for path in ("/healthz", "/readyz"):
        assert (await public.get(path))[0] in (200, 503)
    assert (await public.get("/metrics", Authorization=f"Bearer {TOKEN}", Origin="http://evil.example"))[0] == 403


async def test_root_tells_which_paths_there_are(local: Server, public: Server) -> None:
    """Whoever asks the address that a worker prints learns what can be asked; where a token is needed, only who has it."""
    status, body, headers = await local.get("/")
    told = {(each["method"], each["path"]) for each in json.loads(body)["endpoints"]}
    paths = [path for path, _ in local.views.routes() if path != "/"]
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert told == {("POST" if path.startswith("/v1/") else "GET", path) for path in paths}
    assert (await public.get("/"))[0] == 401


async def test_before_the_worker_has_begun_nothing_is_ready(local: Server) -> None:
    local.views.worker = None
    assert (await local.get("/readyz"))[0] == 503
    assert (await local.get("/metrics"))[0] == 503
    assert (await local.get("/healthz"))[0] == 200


async def test_token_that_is_no_text_is_a_wrong_one(public: Server) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", public.listen.port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \xff\xfe\r\n\r\n")
    assert b" 401 " in await reader.readline()
    writer.close()
    await writer.wait_closed()
