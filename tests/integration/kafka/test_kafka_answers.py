"""The reading commands against a fleet: workers answer, each for its partitions, as a fold on the spot does (P2, P4, P12)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from ledger.log import EVENTS, partition_of
from ops.examples import fleet as example
from ops.fleet import Fleet as Workers
from ops.settings import KafkaSettings
from ops.worker_questions import Question
from tests.support.cli import CODEX_SAMPLE, SAMPLE, SESSION, Ran, in_process
from tests.support.fleet import Fleet, fleet

pytestmark = pytest.mark.integration
PARTITIONS = 4
TOKEN = "0123456789abcdef0123456789abcdef"


class Desk:
    """The command on somebody's machine, against a fleet."""

    def __init__(self, ledger: Fleet, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.ledger, self.data, self._capsys = ledger, data, capsys

    async def run(self, *arguments: object) -> Ran:
        """In a thread, where it has an event loop of its own."""
        return await asyncio.to_thread(in_process, self._capsys, *arguments)

    async def example(self, *arguments: object) -> Ran:
        """The example fleet."""
        self._capsys.readouterr()
        code = await asyncio.to_thread(example.main, list(map(str, arguments)))
        captured = self._capsys.readouterr()
        return Ran(code, captured.out, captured.err)


@pytest.fixture
async def desk(
    broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> AsyncIterator[Desk]:
    async with fleet(broker, tmp_path / "fleet", PARTITIONS, toy=False) as ledger:
        monkeypatch.setenv("CLEDGER_KAFKA_PREFIX", ledger.log.prefix)
        monkeypatch.setenv("CLEDGER_DATA", str(tmp_path / "data"))
        monkeypatch.setenv("CLEDGER_LOG", ledger.url)
        monkeypatch.delenv("CLEDGER_TOKEN_FILE", raising=False)
        yield Desk(ledger, tmp_path / "data", capsys)


async def owners(ledger: Fleet, count: int) -> dict[int, str]:
    """Wait until so many workers own all partitions; who owns what."""
    workers = Workers(ledger.log.servers, KafkaSettings(prefix=ledger.log.prefix), ledger.log.identity)
    found: dict[int, str] = {}

    for _ in range(300):
        found = await workers.owners(anew=True)
        if len(found) == PARTITIONS and len(set(found.values())) == count:
            break
        await asyncio.sleep(0.25)
    await workers.close()
    assert len(set(found.values())) == count, ledger.told()
    return found


QUESTIONS: tuple[tuple[object, ...], ...] = (
    ("sessions",),
    ("status",),
    ("status", SESSION[:8]),
    ("recall", "40 req/s", "--session", SESSION),
    ("carriers", "40 req/s", "--session", SESSION),
    ("explain", "40 req/s", "--session", SESSION[:8]),
    ("forgotten", SESSION, "--limit", 0),
    ("forgotten", SESSION, "--method", "seed"),
    ("alerts",),
    ("alerts", "--session", SESSION),
    ("status", "no-such-session"),
)


async def test_workers_answer_what_a_fold_on_the_spot_answers(desk: Desk) -> None:
    """P2: same objects, same order, same exit codes, whoever folded; which of the two it was is said on stderr."""
    ledger = desk.ledger
    ledger.start("w1")
    ledger.start("w2")
    assert (await desk.run("ingest", SAMPLE, CODEX_SAMPLE)).code == 0
    await owners(ledger, 2)
    await ledger.settled()
    for question in QUESTIONS:
        asked = await desk.run(*question, "--json")
        here = await desk.run(*question, "--json", "--local")
        assert (asked.code, asked.out) == (here.code, here.out), (question, asked.err, here.err)
        if asked.out:
            assert "answered by the workers" in asked.err
        assert "answered by the workers" not in here.err
    listed = (await desk.run("sessions", "--json")).objects
    assert all(each["last"] and each["path"] for each in listed), "when and where, as on an embedded log"
    times = [line[:16] for line in (await desk.run("sessions")).out.splitlines()[1:]]
    assert times == sorted(times, reverse=True)
    people = await desk.run("status", SESSION)
    assert people.out == (await desk.run("status", SESSION, "--local")).out


async def test_without_workers_the_command_folds_itself_and_says_so(desk: Desk) -> None:
    await desk.run("ingest", SAMPLE)
    ran = await desk.run("status", SESSION, "--json")
    assert ran.object["compactions"] > 0
    assert "folding here instead" in ran.err
    folded = {path.parent.name for path in desk.data.rglob("data.mdb") if "index" in str(path)}
    assert f"p{partition_of(SESSION, PARTITIONS):03}" in folded


async def test_commands_and_a_worker_share_a_data_folder(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker keeps its indexes to itself for as long as it runs, and owns some partitions only: nobody waits for that."""
    ledger = desk.ledger
    first = ledger.start("w1")
    ledger.start("w2")
    await owners(ledger, 2)
    monkeypatch.setenv("CLEDGER_DATA", str(first.data))
    assert (await asyncio.wait_for(desk.run("ingest", SAMPLE, CODEX_SAMPLE), 60)).code == 0
    again = await asyncio.wait_for(desk.run("ingest", SAMPLE, CODEX_SAMPLE, "--json"), 60)
    assert (again.code, again.object["added"]) == (0, 0)
    await ledger.settled()
    for question in (("status", SESSION), ("forgotten", SESSION, "--limit", 0)):
        asked = await desk.run(*question, "--json")
        here = await asyncio.wait_for(desk.run(*question, "--json", "--local"), 60)
        assert (asked.code, asked.out) == (here.code, here.out), (asked.err, here.err)
    verified = await asyncio.wait_for(desk.run("verify", "--json"), 60)
    assert verified.code == 0, (verified.out, verified.err)


async def test_owner_is_found_after_another_took_over(desk: Desk) -> None:
    """Ownership is asked of Kafka itself, so nothing has to be configured, and nothing goes stale for long."""
    ledger = desk.ledger
    ledger.start("w1")
    ledger.start("w2")
    await desk.run("ingest", SAMPLE)
    before = await owners(ledger, 2)
    await ledger.settled()
    number = partition_of(SESSION, PARTITIONS)
    workers = Workers(ledger.log.servers, KafkaSettings(prefix=ledger.log.prefix), ledger.log.identity)
    try:
        assert (await workers.ask("status", Question(scope=SESSION, session=SESSION))).gap == 0
        other = next(address for address in before.values() if address != before[number])
        asked = {"scope": SESSION, "session": SESSION}
        async with aiohttp.ClientSession() as http, http.post(f"{other}/v1/status", json=asked) as answer:
            assert answer.status == 421
            assert answer.content_type == "application/problem+json"
        for running in ledger.workers:
            if await running.url() == before[number]:
                await running.stop()
        await owners(ledger, 1)
        after = {number: await ledger.log.end(EVENTS, number)}
        reply = await workers.ask("status", Question(scope=SESSION, session=SESSION, after=after))
        assert json.loads(reply.lines[0])["session"] == SESSION
    finally:
        await workers.close()


async def test_workers_with_a_token_answer_who_knows_it(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P12: a wrong or missing token is told with what to do, and is no reason to answer from elsewhere."""
    good, bad = tmp_path / "token", tmp_path / "other"
    for path, token in ((good, TOKEN), (bad, TOKEN[::-1])):
        path.write_text(token)
        path.chmod(0o600)
    desk.ledger.start("w1", "--token-file", good)
    await desk.run("ingest", SAMPLE)
    await owners(desk.ledger, 1)
    assert "answered by the workers" in (await desk.run("status", SESSION, "--token-file", good)).err
    monkeypatch.setenv("CLEDGER_TOKEN_FILE", str(good))
    assert "answered by the workers" in (await desk.run("sessions")).err
    refused = await desk.run("status", SESSION, "--token-file", bad)
    assert refused.code == 2
    assert "token" in refused.err


async def test_example_fleet_decides_alike_on_both_logs(desk: Desk, tmp_path: Path) -> None:
    """P2: one seed, the same records; workers over Kafka publish the bytes that the embedded log holds."""
    size = ("--agents", "5", "--rounds", "2", "--seed", "11", "--run", "both")
    nobody = await desk.example(*size)
    assert (nobody.code, "cledger worker" in nobody.err) == (4, True)
    desk.ledger.start("w1")
    desk.ledger.start("w2")
    await owners(desk.ledger, 2)
    embedded = f"lmdb:{tmp_path / 'log'}"
    tables = []
    for url in (desk.ledger.url, embedded):
        ran = await desk.example("--log", url, *size)
        assert ran.code == 0, ran.err
        tables.append(ran.out)
    assert tables[0] == tables[1]
    assert "evicted anyway 2 times" in tables[0]
    assert "fact_inverted" in tables[0]
    for what in ("decisions", "alerts"):
        fleet_says = _by_scope((await desk.run("replay", "--emit", what, "--log", desk.ledger.url)).out)
        assert fleet_says == _by_scope((await desk.run("replay", "--emit", what, "--log", embedded)).out)
        assert len(fleet_says) >= (5 if what == "decisions" else 1)
    verified = await desk.run("replay", "--verify", "--json", "--log", desk.ledger.url)
    assert verified.object["differences"] == []


def _by_scope(lines: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in lines.splitlines():
        found.setdefault(json.loads(line)["scope"], []).append(line)
    return found
