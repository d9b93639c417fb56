"""Questions to a worker over HTTP: the objects of the command, from its own partitions only, *unknown* while it lags (P4)."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

import ops.worker_answers
from consumers.carrier_index import CarrierIndex
from consumers.membership import OwnsAll, _reachable
from consumers.worker import Worker
from ledger.adapters.memory_log import MemoryLog
from ledger.client import LedgerClient
from ledger.log import EVENTS, partition_of
from ledger.refusals import Refused
from ops.cli.screen import json_line
from ops.embedded import FoldingBackend
from ops.queries.alerts import stream
from ops.queries.forgotten import ForgottenAnswer, forgotten
from ops.queries.overview import StatusAnswer, sessions, status, with_last
from ops.queries.recall import ExplainAnswer, RecallAnswer, carriers_answer, explain, recall
from ops.queries.requests import RequestAnswer, outcome
from ops.store import Store, scratch_store
from ops.worker_answers import WorkerAnswers
from ops.worker_questions import GAP_HEADER, LOG_HEADER, Question
from ops.worker_web import problem

LIMIT = "The gateway accepts 40 req/s at most."
PARTITIONS = 3
SCOPE, OTHER = "agent-1", "agent-0"
"""Two scopes in two partitions."""


class OwnsSome(OwnsAll):
    """A membership that was given all partitions but one."""

    def __init__(self, partitions: int, without: int) -> None:
        super().__init__(partitions)
        self._all = self._all - {without}


class Site:
    """A worker and what it answers."""

    def __init__(self, worker: Worker, http: TestClient[Any, Any], store: Store) -> None:
        self.worker, self.http, self.store = worker, http, store

    async def ask(self, what: str, question: Question | bytes) -> tuple[int, Any, str]:
        """Status, headers and text."""
        body = question if isinstance(question, bytes) else msgspec.json.encode(question)
        async with self.http.post(f"/v1/{what}", data=io.BytesIO(body)) as answer:
            return answer.status, answer.headers, await answer.text()

    async def lines(self, what: str, **question: Any) -> list[str]:
        """The lines of an answer."""
        found, _, text = await self.ask(what, Question(**question))
        assert found == 200, text
        return text.splitlines()

    def reading(self) -> Any:
        """The same ledger as a fold of one's own sees it."""
        return self.store.reading()


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    log = MemoryLog(partitions=PARTITIONS)
    assert partition_of(SCOPE, PARTITIONS) != partition_of(OTHER, PARTITIONS)
    async with scratch_store(log) as store:
        client = LedgerClient(log, FoldingBackend(store))
        scope = client.scope(SCOPE)
        span = await scope.record_span("m1", LIMIT)
        await scope.record_summary("sum-1", "Limits were discussed.", covers=[span])
        with pytest.raises(Refused):
            await scope.request_compaction("sum-1", [span], request="r1")
        await scope.record_summary("sum-2", LIMIT, covers=[span])
        await scope.applied(await scope.request_compaction("sum-2", [span], request="r2"))
        other = client.scope(OTHER)
        await other.record_span("m1", LIMIT)
        await store.fold()
        await client.close()
        worker = Worker(
            log,
            OwnsSome(PARTITIONS, partition_of(OTHER, PARTITIONS)),
            lambda number: _index(log, tmp_path / f"p{number}", number),
        )
        answers = WorkerAnswers(json_line, problem)
        app = web.Application()
        for path, answer in answers.routes():
            app.router.add_post(path, answer)
        running = asyncio.create_task(worker.run())
        async with TestClient(TestServer(app)) as http:
            async with asyncio.timeout(20):
                while worker.status().readiness != "ready":  # noqa: ASYNC110  told by nothing else
                    await asyncio.sleep(0.01)
            answers.worker = worker
            yield Site(worker, http, store)
        worker.end()
        await running
        await answers.close()


async def _index(log: MemoryLog, place: Path, number: int) -> CarrierIndex:
    return CarrierIndex.create(place, log.identity, number)


def encoded(*answers: object) -> list[str]:
    return [json_line(answer) for answer in answers]


async def test_answers_are_the_objects_of_the_command(site: Site) -> None:
    """One query, two surfaces: every question gives the bytes that `--json` prints."""
    who = {"scope": SCOPE, "session": SCOPE}
    with site.reading() as reading:
        found = reading.session(SCOPE)
        facts = await recall(reading, found, "40 req/s")
        wanted = {
            "status": encoded(status(reading, found)),
            "recall": encoded(*facts),
            "carriers": encoded(*map(carriers_answer, facts)),
            "explain": encoded(*await explain(reading, found, "40 req/s")),
            "forgotten": encoded(await forgotten(reading, found, round_=None, classes=frozenset(), limit=20)),
            "request": encoded(outcome(found, "r2")),
        }
        alerts = encoded(*[alert async for alert in stream(reading)])
        every = await with_last(reading, sessions(reading, compacted=False))
        listed = encoded(*[each for each in every if each.session == SCOPE])
    asked = {
        name: await site.lines(name, **who, **({"fact": "40 req/s"} if name in ("recall", "carriers", "explain") else {}))
        for name in ("status", "recall", "carriers", "explain", "forgotten")
    }
    asked["request"] = await site.lines("request", **who, request="r2")
    assert asked == wanted
    assert await site.lines("alerts") == alerts
    assert await site.lines("sessions") == listed


async def test_session_is_found_by_its_beginning_among_what_is_owned(site: Site) -> None:
    assert json.loads((await site.lines("status", session="agent-"))[0])["session"] == SCOPE
    assert (await site.ask("status", Question(session="nobody")))[0] == 404
    assert (await site.ask("status", Question(scope=SCOPE, session="agent")))[0] == 404


async def test_partition_of_another_worker_is_answered_421(site: Site) -> None:
    """Ownership is the right to answer."""
    code, headers, text = await site.ask("status", Question(scope=OTHER, session=OTHER))
    assert code == 421
    assert headers["Content-Type"].startswith("application/problem+json")
    assert str(partition_of(OTHER, PARTITIONS)) in json.loads(text)["title"]
    assert (await site.ask("sessions", Question(partitions=[partition_of(OTHER, PARTITIONS)])))[0] == 421


@pytest.mark.parametrize("lags", ["catching up", "behind the asker", "halted"])
async def test_lagging_partition_answers_unknown_in_the_shape_of_each_answer(
    site: Site, lags: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P4: an index that lags is no finding, whatever is asked; the gap is told."""
    number = partition_of(SCOPE, PARTITIONS)
    who: dict[str, Any] = {"scope": SCOPE, "session": SCOPE}
    monkeypatch.setattr(ops.worker_answers, "FRESH_S", 0.05)
    keeper = site.worker.keepers[number]
    status_ = keeper.status
    assert keeper._task is not None
    keeper._task.cancel()
    await asyncio.wait([keeper._task])
    if lags == "behind the asker":
        who["after"] = {number: status_.offset + 3}
    else:
        status_.state, status_.end = ("halted", status_.offset + 3) if lags == "halted" else ("catching up", status_.offset + 3)
    recalled = msgspec.json.decode((await site.lines("recall", **who, fact="40 req/s"))[0], type=RecallAnswer)
    assert (recalled.answer, recalled.trusted, recalled.carriers) == ("unknown", False, [])
    assert "3 records behind" in recalled.reason
    life = msgspec.json.decode((await site.lines("explain", **who, fact="40 req/s"))[0], type=ExplainAnswer)
    assert (life.answer, life.steps) == ("unknown", [])
    assert json.loads((await site.lines("carriers", **who, fact="40 req/s"))[0])["answer"] == "unknown"
    told = msgspec.json.decode((await site.lines("status", **who))[0], type=StatusAnswer)
    assert (told.trust, told.gap) == ("unknown", 3)
    note = msgspec.json.decode((await site.lines("forgotten", **who))[0], type=ForgottenAnswer).note
    assert note == "unknown"
    asked = msgspec.json.decode((await site.lines("request", **who, request="r9"))[0], type=RequestAnswer)
    assert asked.status == "unknown"
    places = [(f"{SCOPE}:m1", 4, 11), (f"{SCOPE}:m1", None, None), ("not-folded-yet", 0, 4)]
    quotes = await site.lines("quote", **who, places=places)
    assert [json.loads(line)["status"] for line in quotes] == ["ok", "absent", "unknown"]
    nobody = {**who, "session": "not-folded-yet"}
    assert json.loads((await site.lines("status", **nobody))[0])["trust"] == "unknown"
    assert json.loads((await site.lines("rehydrate", **who, claim={"text": "x", "key": f"{SCOPE}:m1"}))[0])["status"] == "error"
    _, headers, _ = await site.ask("status", Question(**who))
    assert (headers[GAP_HEADER], headers[LOG_HEADER]) == ("3", site.worker.log.identity.log_id)


async def test_quotes_come_from_records_and_are_told_apart_from_none(site: Site) -> None:
    places = [(f"{SCOPE}:m1", 4, 11), (f"{SCOPE}:m1", None, None), ("no-such-span", 0, 4)]
    assert [json.loads(line) for line in await site.lines("quote", scope=SCOPE, places=places)] == [
        {"status": "ok", "text": LIMIT[4:11], "reason": ""},
        {"status": "absent", "text": "", "reason": ""},
        {"status": "absent", "text": "", "reason": ""},
    ]


@pytest.mark.parametrize(
    ("body", "status_"),
    [
        (b"{", 400),
        (b'{"sesion": "x"}', 400),
        (b'{"session": 3}', 400),
        (b"[" * 5000, 400),
        (b"{}", 400),
        (b'"' + b"x" * (1 << 20) + b'"', 413),
    ],
)
async def test_question_that_cannot_be_read_is_a_problem_and_harms_nothing(site: Site, body: bytes, status_: int) -> None:
    code, headers, _ = await site.ask("recall", body)
    assert code == status_
    assert headers["Content-Type"].startswith("application/problem+json")
    assert await site.lines("sessions")


async def test_question_waits_for_the_askers_own_records(site: Site) -> None:
    """What somebody appended just now is in the answer: a short wait, no stale view."""
    client = LedgerClient(site.worker.log, FoldingBackend(site.store))
    await client.scope(SCOPE, session="late").record_span("m1", LIMIT)
    number = partition_of(SCOPE, PARTITIONS)
    end = await site.worker.log.end(EVENTS, number)
    answer = json.loads((await site.lines("status", scope=SCOPE, session="late", after={number: end}))[0])
    assert (answer["session"], answer["gap"]) == ("late", 0)


async def test_many_questions_while_the_partition_is_folded_and_given_up(site: Site) -> None:
    """A keeper that ends closes no index under a question; what it can no longer answer it says so."""
    number = partition_of(SCOPE, PARTITIONS)
    asked = [asyncio.create_task(site.ask("status", Question(scope=SCOPE, session=SCOPE))) for _ in range(100)]
    await asyncio.sleep(0.05)
    await site.worker.assigned(frozenset(range(PARTITIONS)) - {number})
    codes = {code for code, _, _ in await asyncio.gather(*asked)}
    assert codes <= {200, 421}
    assert (await site.ask("status", Question(scope=SCOPE, session=SCOPE)))[0] == 421


async def test_partition_that_was_just_given_back_is_not_answered_for(site: Site) -> None:
    """While the group settles its fold goes on, but the right to answer is gone."""
    await site.worker.revoked()
    assert (await site.ask("status", Question(scope=SCOPE, session=SCOPE)))[0] == 421


@pytest.mark.parametrize(
    ("listens", "seen_from", "told"),
    [
        ("http://0.0.0.0:6066", "10.0.0.7", "http://10.0.0.7:6066"),
        ("http://[::]:6066", "fd00::7", "http://[fd00::7]:6066"),
        ("http://127.0.0.1:6066", "10.0.0.7", "http://127.0.0.1:6066"),
        ("", "10.0.0.7", ""),
    ],
)
def test_worker_on_every_address_is_told_by_the_one_that_brokers_see(listens: str, seen_from: str, told: str) -> None:
    assert _reachable(listens, seen_from) == told


async def test_half_a_question_holds_no_connection_for_good(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ops.worker_answers.QUESTION_S", 0.05)
    assert site.http.port is not None
    reader, writer = await asyncio.open_connection(site.http.host, site.http.port)
    writer.write(b"POST /v1/sessions HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\nhalf")
    async with asyncio.timeout(10):
        answer = await reader.readline()
    assert answer.startswith(b"HTTP/1.1 408")
    writer.close()
