"""A fleet under test: workers started, stopped, killed and paused while somebody publishes, and the check of what they said.

`Fleet` starts workers on one ledger in Kafka, `Publisher` appends histories of ever new scopes.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from aiokafka import AIOKafkaProducer

from consumers.carrier_index import CarrierIndex
from consumers.membership import committed_offsets
from ledger.adapters.kafka_log import KafkaLog
from ledger.errors import AppendUnfinished, LogUnavailable
from ledger.log import ALERTS, DECISIONS, EVENTS, Log, NewEntry
from schemas.codec import encode
from schemas.records import AnyRecord
from tests.support.broker import new_log
from tests.support.cli import ROOT, environment
from tests.support.folding import entries
from tests.support.given import opened, request, span, summary
from tests.support.histories import history
from tests.support.history_check import Verdict, check_history, first_copies, outputs_of
from tests.support.toy_facts import toy_facts
from tests.support.worker_nursery import Poll, Request, Start

PATIENCE_S = 90.0
"""How long a test waits for what has to come; a loaded machine takes many times what an idle one does."""

POLL_S = 0.05
LONG = bool(os.environ.get("CLEDGER_TEST_LONG"))
"""`CLEDGER_TEST_LONG=1` runs the long forms, many minutes together."""

SESSION_TIMEOUT_S = 1.0
_ANSWERS_AT = re.compile(r"answering at (http://\S+)")


class Nursery:
    """The process that workers are forked from. One for a test run, started when first needed."""

    _one: Nursery | None = None

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.worker_nursery"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        atexit.register(self.close)

    @classmethod
    def get(cls) -> Nursery:
        """The nursery of this test run."""
        if cls._one is None:
            cls._one = cls()
        return cls._one

    def ask(self, request: Request) -> dict[str, Any]:
        """One request, one answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(request) + b"\n")
        self._process.stdin.flush()
        return dict(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End it, and every worker that still runs with it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


class Running:
    """A worker of the test's own: a process that is `cledger worker`."""

    def __init__(self, data: Path, start: Start) -> None:
        self.data = data
        self._said = Path(start.said)
        self._skipped = self._said.stat().st_size if self._said.exists() else 0
        self.pid = int(Nursery.get().ask(Request(start=start))["pid"])
        self.status: int | None = None
        """Exit code, negative for a signal; None while it runs."""

    @property
    def said(self) -> str:
        """What this life wrote to stdout and stderr."""
        return self._said.read_bytes()[self._skipped :].decode("utf-8", "replace") if self._said.exists() else ""

    def running(self) -> bool:
        """Does the process live?"""
        if self.status is None:
            self.status = Nursery.get().ask(Request(poll=Poll(pid=self.pid)))["status"]
        return self.status is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, unless it has ended."""
        if self.running():
            os.kill(self.pid, number)

    async def ended(self, patience_s: float = PATIENCE_S) -> int:
        """Wait for its end; the exit code, negative for a signal."""
        await until(lambda: not self.running(), "the worker to end", patience_s)
        assert self.status is not None
        return self.status

    async def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.signal(signal.SIGKILL)
        await self.ended()

    async def stop(self, patience_s: float = PATIENCE_S) -> int:
        """SIGTERM; the exit code."""
        self.signal(signal.SIGTERM)
        return await self.ended(patience_s)

    async def says(self, words: str, patience_s: float = PATIENCE_S) -> str:
        """Wait until it has written something; all that it wrote."""
        await until(lambda: words in self.said or not self.running(), f"{words!r}", patience_s)
        assert words in self.said, f"the worker ended with {self.status} and said:\n{self.said[-3000:]}"
        return self.said

    async def url(self) -> str:
        """Where it answers."""
        found = _ANSWERS_AT.search(await self.says("answering at"))
        assert found is not None
        return found[1]

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        """Ask over HTTP: status and body."""
        return await asyncio.to_thread(http_get, await self.url() + path, headers)

    async def answers(self, path: str, status: int, patience_s: float = PATIENCE_S) -> dict[str, Any]:
        """Wait until a path answers with this status; the body."""
        deadline_s = time.monotonic() + patience_s
        while True:
            found, body = await self.get(path)
            if found == status:
                return dict(json.loads(body))
            assert time.monotonic() < deadline_s, f"{path} answers {found}: {body}; the worker said:\n{self.said[-3000:]}"
            await asyncio.sleep(POLL_S)


def http_get(url: str, headers: dict[str, str]) -> tuple[int, str]:
    """Status and body of a GET request."""
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


async def until(holds: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
    """Wait for a condition. Raises `AssertionError` with `what` was waited for."""
    deadline_s = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < deadline_s, f"waited {patience_s:g} s for {what}"
        await asyncio.sleep(POLL_S)


class Fleet:
    """Workers on one ledger, each with a data directory of its own, which it finds again when it is started again."""

    def __init__(self, log: KafkaLog, folder: Path, *, toy: bool = True, batch: int = 8) -> None:
        self.log, self.folder = log, folder
        self.url = f"kafka://{log.servers}"
        self._toy, self._batch = toy, batch
        self.workers: list[Running] = []

    def start(self, name: str, *arguments: object, data: Path | None = None, **more: Any) -> Running:
        """Start the worker of this name; `more` are fields of `Start`, and `env` for its environment."""
        data = data or self.folder / name
        data.mkdir(parents=True, exist_ok=True)
        options = ["worker", "--log", self.url, "--session-timeout", str(SESSION_TIMEOUT_S), *map(str, arguments)]
        if "--web" not in options:
            options += ["--web", "127.0.0.1:0"]
        env = environment(data, CLEDGER_KAFKA_PREFIX=self.log.prefix, PYTHONUTF8="1", **more.pop("env", {}))
        fields = {"toy": self._toy, "batch": self._batch, **more}
        start = Start(arguments=options, environment=env, said=str(self.folder / f"{name}.txt"), **fields)
        worker = Running(data, start)
        self.workers.append(worker)
        return worker

    async def settled(self, patience_s: float = PATIENCE_S) -> None:
        """Wait until everything in the log is folded and published, as the workers' committed offsets say."""
        await self.settled_up_to(await self.ends(), patience_s)

    async def settled_up_to(self, ends: dict[int, int], patience_s: float = PATIENCE_S) -> None:
        """The same for a part of the log."""
        deadline_s = time.monotonic() + patience_s
        while True:
            said = await self.committed()
            if all(said.get(number, 0) >= end for number, end in ends.items()):
                return
            assert time.monotonic() < deadline_s, f"committed {said} of {ends}; {self.told()}"
            await asyncio.sleep(0.2)

    async def _behind(self) -> bool:
        said = await self.committed()
        return any(said.get(number, 0) < end for number, end in (await self.ends()).items())

    async def committed(self) -> dict[int, int]:
        """How far the workers said that they are; nothing as long as nobody can be asked."""
        try:
            return await committed_offsets(self.log.servers, self.log.prefix, self.log.identity.partitions)
        except LogUnavailable:
            return {}

    async def said(self) -> dict[str, list[bytes]]:
        """Decisions and alerts by topic and scope, without repeats."""
        return {
            f"{topic} {scope}": first_copies(entries, Verdict())
            for topic in (DECISIONS, ALERTS)
            for scope, entries in (await outputs_of(self.log, topic)).items()
        }

    async def ends(self) -> dict[int, int]:
        """The end of each partition of the events."""
        return {number: await self.log.end(EVENTS, number) for number in range(self.log.identity.partitions)}

    def digests(self) -> dict[str, bytes]:
        """The digest of each scope in the indexes of the workers, which must have ended."""
        found: dict[str, bytes] = {}
        for place in self.places():
            for directory in sorted(place.glob("p*")):
                index = CarrierIndex(directory, self.log.identity, int(directory.name[1:]))
                with index.snapshot() as snapshot:
                    found |= {scope: snapshot.scope_digest(scope) for scope in snapshot.scopes()}
                index.close()
        return found

    def positions(self, name: str) -> dict[int, int]:
        """The next offset of each index of a worker that has ended."""
        found = {}
        for directory in sorted((self.folder / name / "kafka" / self.log.identity.log_id / "index").glob("p*")):
            index = CarrierIndex(directory, self.log.identity, int(directory.name[1:]))
            with index.snapshot() as snapshot:
                found[int(directory.name[1:])] = snapshot.offset_next
            index.close()
        return found

    def places(self) -> list[Path]:
        """Where the workers' indexes are."""
        return sorted({worker.data / "kafka" / self.log.identity.log_id / "index" for worker in self.workers})

    def told(self) -> str:
        """The last words of each worker."""
        return "\n".join(f"{worker.data.name} ({worker.status}): {worker.said[-3000:]}" for worker in self.workers[-4:])

    async def stop(self) -> list[int]:
        """End every worker that runs in an orderly way; their exit codes."""
        left = [worker for worker in self.workers if worker.running()]
        return list(await asyncio.gather(*(worker.stop() for worker in left)))

    async def judge(self, *, all_folded: bool = True) -> Verdict:
        """`check_history` over the ledger and the indexes of all workers, which must have ended. What they appended themselves
        at the very end, and left to others, is folded by one more first.
        """
        while await self._behind():
            assert await self.start("last", "--exit-when-idle", 0).ended() == 0
        verdict = await check_history(self.log, self.places(), toy=self._toy, all_folded=all_folded)
        print(verdict)
        return verdict


@asynccontextmanager
async def fleet(
    servers: str, folder: Path, partitions: int = 4, *, toy: bool = True, batch: int = 8, **options: Any
) -> AsyncIterator[Fleet]:
    """A new ledger and its fleet; whatever still runs at the end is killed."""
    log = await new_log(servers, partitions, **options)
    made = Fleet(log, folder, toy=toy, batch=batch)
    try:
        yield made
    except BaseException:
        print(made.told())
        raise
    finally:
        for worker in made.workers:
            worker.signal(signal.SIGKILL)
        for worker in made.workers:
            await worker.ended()
        await log.close()


def load(seed: int, records: int = 60) -> Iterator[AnyRecord]:
    """An endless mix of histories: eight scopes at a time, a new one for each that is at its end."""
    chance = random.Random(seed)
    running: list[tuple[str, list[AnyRecord]]] = []
    number = 0
    while True:
        while len(running) < 8:
            scope = f"scope-{seed}-{number}"
            running.append((scope, history((seed, scope), records, scope)))
            number += 1
        at = chance.randrange(len(running))
        yield running[at][1].pop(0)
        if not running[at][1]:
            running.pop(at)


class Publisher:
    """Publishes a load in small appends. An append whose outcome is not known is made again, as publishers do (P3)."""

    def __init__(self, log: Log, seed: int, *, copies: int = 1, chunk: int = 6, pause_s: float = 0.05) -> None:
        self._log = log
        with toy_facts():
            self._load = load(seed)
        self._copies, self._chunk, self._pause_s = copies, chunk, pause_s
        self.acknowledged = 0
        """Records that the log said are durable."""

        self.repeated = 0
        """Appends that were made again after an unknown outcome."""

        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def publish(self, count: int) -> None:
        """Append so many records."""
        with toy_facts():
            records = [next(self._load) for _ in range(count)]
        for at in range(0, count, self._chunk):
            piece = [NewEntry(record.scope, encode(record)) for record in records[at : at + self._chunk]]
            for _ in range(self._copies):
                await self._append(piece)
            self.acknowledged += len(piece)

    async def _append(self, piece: Sequence[NewEntry]) -> None:
        while True:
            try:
                await self._log.append(EVENTS, piece)
                return
            except AppendUnfinished:
                self.repeated += 1

    def go_on(self) -> None:
        """Publish without an end, until `stop`."""

        async def work() -> None:
            while not self._stop.is_set():
                await self.publish(self._chunk)
                await asyncio.sleep(self._pause_s)

        self._task = asyncio.create_task(work())

    async def stop(self) -> None:
        """Finish the append under way; raises what went wrong."""
        self._stop.set()
        if self._task is not None:
            await self._task


def answered(scope: str) -> list[NewEntry]:
    """A short history of four records, with one decision."""
    mine: dict[str, Any] = {"session": scope, "scope": scope}
    with toy_facts():
        facts = [span(1, "n:40", **mine), summary("m", "n:40", **mine)]
    return entries([opened(scope, scope=scope), *facts, request("q", "m", 1, **mine)])


async def written_by_others(
    log: KafkaLog, values: list[tuple[bytes | None, bytes | None]], partition: int = 0, **options: int
) -> list[int]:
    """Write records to the events as somebody who knows nothing of the ledger; their offsets."""
    producer = AIOKafkaProducer(bootstrap_servers=log.servers, **options)
    await producer.start()
    try:
        found = [await producer.send_and_wait(log.prefix + EVENTS, value, key, partition=partition) for key, value in values]
    finally:
        await producer.stop()
    return [each.offset for each in found]
