"""A worker that is gone, stands still or trickles costs one caller its time and not all of them; what another program says at
its address is no answer (P4, P12).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from ledger.errors import LogClosed, LogUnavailable, UsageError
from ops import worker_client
from ops.worker_client import NobodyAnswers, SharedFault, Unreached, WorkerClient
from ops.worker_questions import GAP_HEADER, LOG_HEADER, Question

LOG = "log-of-this-test"
QUESTION = Question(scope="s")
PATIENCE_S = 20.0


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_client, "SILENT_S", 0.1)
    monkeypatch.setattr(worker_client, "ALIVE_S", 0.2)


@pytest.fixture
async def client() -> AsyncIterator[WorkerClient]:
    made = WorkerClient(LOG)
    yield made
    await made.close()


class Site:
    """What listens at an address, and how often it was asked a question."""

    def __init__(self, respond: Callable[[web.Request], Any], *, lives: bool = True) -> None:
        self._respond, self._lives = respond, lives
        self.asked = 0
        self.probed = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/healthz":
            self.probed += 1
            if not self._lives:
                await asyncio.sleep(PATIENCE_S)
            return web.Response()
        self.asked += 1
        response: web.StreamResponse = await self._respond(request)
        return response


@asynccontextmanager
async def at(site: Site) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", site.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    place = web.TCPSite(runner, "127.0.0.1", 0)
    await place.start()
    assert place._server is not None
    try:
        yield f"http://127.0.0.1:{place._server.sockets[0].getsockname()[1]}"  # type: ignore[attr-defined]
    finally:
        await runner.cleanup()


async def silence(request: web.Request) -> web.StreamResponse:
    del request
    await asyncio.sleep(PATIENCE_S)
    return web.Response()


async def answer(request: web.Request) -> web.StreamResponse:
    del request
    return web.Response(body=b'{"a":1}\n', headers={LOG_HEADER: LOG, GAP_HEADER: "0"})


async def took_s(work: Any, error: type[Exception]) -> float:
    began_s = time.monotonic()
    with pytest.raises(error):
        await work
    return time.monotonic() - began_s


async def test_owner_that_stands_still_is_found_out_soon_and_the_next_callers_go_straight_on(client: WorkerClient) -> None:
    site = Site(silence, lives=False)
    async with at(site) as address:
        together = [took_s(client.ask(address, "status", QUESTION), Unreached) for _ in range(8)]
        assert max(await asyncio.gather(*together)) < 5
        asked, probed = site.asked, site.probed
        assert probed == 1, "those who wait at the same time share one sign of life"
        for _ in range(8):
            assert await took_s(client.ask(address, "status", QUESTION), NobodyAnswers) < 0.1
        assert (site.asked, site.probed) == (asked, probed)


async def test_address_that_failed_is_tried_by_one_caller_and_then_by_all(
    client: WorkerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_client, "AWAY_S", 0.0)
    monkeypatch.setattr(worker_client, "ALIVE_S", 0.6)
    site = Site(silence, lives=False)
    async with at(site) as address:
        await took_s(client.ask(address, "status", QUESTION), Unreached)
        first = asyncio.create_task(took_s(client.ask(address, "status", QUESTION), Unreached))
        await asyncio.sleep(0.05)
        for _ in range(8):
            assert await took_s(client.ask(address, "status", QUESTION), NobodyAnswers) < 0.1
        assert await first > 0.3, "one caller tried"
        site._lives, site._respond = True, answer
        replies = [await client.ask(address, "status", QUESTION) for _ in range(3)]
    assert [reply.lines for reply in replies] == [[b'{"a":1}']] * 3


async def test_worker_that_takes_its_time_and_lives_is_waited_for(client: WorkerClient) -> None:
    async def slowly(request: web.Request) -> web.StreamResponse:
        await asyncio.sleep(1.0)
        return await answer(request)

    async with at(Site(slowly)) as address:
        assert (await client.ask(address, "forgotten", QUESTION)).lines == [b'{"a":1}']


async def test_worker_whose_answer_trickles_is_given_up_and_left_alone(
    client: WorkerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_client, "CONNECT_S", 0.3)
    monkeypatch.setattr(worker_client, "ANSWER_S", 0.5)

    async def trickle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={LOG_HEADER: LOG, GAP_HEADER: "0"})
        await response.prepare(request)
        for _ in range(200):
            await response.write(b" ")
            await asyncio.sleep(0.1)
        return response

    async with at(Site(trickle)) as address:
        assert await took_s(client.ask(address, "status", QUESTION), Unreached) < 5
        assert await took_s(client.ask(address, "status", QUESTION), NobodyAnswers) < 0.1


async def test_address_at_which_nobody_listens_is_told_in_plain_words(client: WorkerClient) -> None:
    with pytest.raises(Unreached, match=r"http://127\.0\.0\.1:9 cannot be reached: connect") as gone:
        await client.ask("http://127.0.0.1:9", "status", QUESTION)
    assert "Errno" not in str(gone.value)


PAGES: dict[str, Callable[[], web.StreamResponse]] = {
    "a page": lambda: web.Response(text="<html>welcome</html>", content_type="text/html"),
    "not found": lambda: web.Response(status=404, text="<html>not found</html>", content_type="text/html"),
    "a problem of its own": lambda: web.json_response({"title": "bad", "detail": "no"}, status=400),
    "a login": lambda: web.Response(status=401, text="who are you"),
    "forbidden": lambda: web.Response(status=403),
    "elsewhere": lambda: web.Response(status=302, headers={"Location": "http://127.0.0.1:9/"}),
    "a fault": lambda: web.Response(status=500),
    "another log": lambda: web.Response(body=b"{}\n", headers={LOG_HEADER: "other", GAP_HEADER: "0"}),
    "another log's refusal": lambda: web.json_response({"title": "x"}, status=404, headers={LOG_HEADER: "other"}),
    "a gap that is no number": lambda: web.Response(body=b"{}\n", headers={LOG_HEADER: LOG, GAP_HEADER: "many"}),
}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES.keys())
async def test_what_another_program_says_at_the_address_is_no_answer(
    page: Callable[[], web.StreamResponse], client: WorkerClient
) -> None:
    """P12: whatever status it has, it is no owner, and nobody is told that the question was wrong."""

    async def respond(request: web.Request) -> web.StreamResponse:
        del request
        return page()

    async with at(Site(respond)) as address:
        with pytest.raises(NobodyAnswers, match=address):
            await client.ask(address, "status", QUESTION)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
async def test_refusal_of_a_worker_of_this_log_is_told_as_one(status: int, client: WorkerClient) -> None:
    async def respond(request: web.Request) -> web.StreamResponse:
        del request
        return web.json_response({"title": "not so", "detail": "do this"}, status=status, headers={LOG_HEADER: LOG})

    async with at(Site(respond)) as address:
        with pytest.raises(UsageError, match="not so"):
            await client.ask(address, "status", QUESTION)


async def test_client_that_was_closed_says_so(client: WorkerClient) -> None:
    async with at(Site(silence)) as address:
        asking = asyncio.create_task(client.ask(address, "status", QUESTION))
        await asyncio.sleep(0.05)
        await client.close()
        with pytest.raises(LogClosed):
            await asking
        with pytest.raises(LogClosed):
            await client.ask(address, "status", QUESTION)


async def test_failure_that_callers_share_is_met_by_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent broker is not asked anew by each caller: neither by those who wait, nor by those who come after."""
    fault, tried = SharedFault(), 0

    async def attempt() -> None:
        nonlocal tried
        async with fault.trial():
            tried += 1
            await asyncio.sleep(0.2)
            raise LogUnavailable("silent", hint="look")

    assert max(await asyncio.gather(*(took_s(attempt(), LogUnavailable) for _ in range(9)))) < 1.0
    await took_s(attempt(), LogUnavailable)
    assert tried == 1
    monkeypatch.setattr(worker_client, "AWAY_S", 0.0)
    again = asyncio.create_task(took_s(attempt(), LogUnavailable))
    await asyncio.sleep(0.05)
    assert await took_s(attempt(), LogUnavailable) < 0.1
    await again
    assert tried == 2
    async with fault.trial():
        pass
    async with fault.trial():
        pass
