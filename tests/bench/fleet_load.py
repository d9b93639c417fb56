"""Many agents ask a fleet: `python -m tests.bench.fleet_load --agents 1000 --requests 100 --workers 2`. Not part of any gate.

Starts a broker (or uses `--kafka HOST:PORT`), workers of its own, and client processes that share the agents. Each agent
records spans and summaries and asks for a compaction again and again; every other summary drops a limit and has to be refused
by name. Checked: every request is answered, refusals name facts, grants come for what holds. Printed: throughput, time to an
answer, bytes that a client read, as one JSON object.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from ledger.refusals import AnswerUnknown, Refused
from ops import open_ledger
from ops.kafka.broker import Cluster
from ops.settings import KafkaSettings
from ops.wiring import create_kafka_log

ROOT = Path(__file__).parents[2]
SPAN_TURNS = 2
"""Spans that each request would evict."""

TOLD_EVERY_S = 30.0
"""How often a client says on stderr how far it is."""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--requests", type=int, default=100, help="of each agent")
    parser.add_argument("--clients", type=int, default=1, help="processes that share the agents")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--think-s", type=float, default=0.0, help="an agent's pause before each request, at most")
    parser.add_argument("--timeout-s", type=float, default=60.0)
    parser.add_argument("--kafka", default="", metavar="HOST:PORT")
    parser.add_argument("--share", default="", help=argparse.SUPPRESS)
    parser.add_argument("--profile", default="", metavar="FILE", help="profile the first client")
    return parser.parse_args()


class Share:
    """The agents of one client process, and what they saw."""

    def __init__(self, args: argparse.Namespace, number: int) -> None:
        self.args, self.number = args, number
        self.answers: Counter[str] = Counter()
        self.waited_s: list[float] = []
        self.unnamed = 0
        self.by_minute: list[int] = []

    async def tell(self, began_s: float) -> None:
        """Say how far the agents are, and keep how many answers each minute brought."""
        before = told = 0
        for count in itertools.count(1):
            await asyncio.sleep(max(0.0, began_s + count * TOLD_EVERY_S - time.perf_counter()))
            now = len(self.waited_s)
            print(f"client {self.number}: {now} answers, {(now - told) / TOLD_EVERY_S:.0f}/s", file=sys.stderr, flush=True)
            told = now
            if count % 2 == 0:
                self.by_minute.append(now - before)
                before = now

    async def run(self, url: str) -> dict[str, Any]:
        agents = range(self.number, self.args.agents, self.args.clients)
        async with open_ledger(url) as ledger:
            began_s = time.perf_counter()
            telling = asyncio.create_task(self.tell(began_s))
            await asyncio.gather(*(self.agent(ledger, number) for number in agents))
            telling.cancel()
            took_s = time.perf_counter() - began_s
            log: Any = ledger._log
            return {
                "took_s": took_s,
                "answers": dict(self.answers),
                "waited_s": self.waited_s,
                "by_minute": self.by_minute,
                "unnamed": self.unnamed,
                "cpu_s": round(time.process_time(), 1),
                "bytes": dict(log.bytes_read),
            }

    async def agent(self, ledger: Any, number: int) -> None:
        scope = ledger.scope(f"agent-{number}", store="none", runtime="load")
        for turn in range(self.args.requests):
            if self.args.think_s:
                await asyncio.sleep(self.args.think_s * ((number * 31 + turn * 17) % 100) / 100)
            limit = f"Service {number} takes {turn + 2} req/s at most."
            spans = [await scope.record_span(f"t{turn}-0", limit), await scope.record_span(f"t{turn}-1", "Thanks, go on.")]
            keeps = turn % 2 == 0
            text = f"{limit} Thanks, go on." if keeps else "The limits of the service were discussed."
            await scope.record_summary(f"s{turn}", text, covers=spans)
            began_s = time.perf_counter()
            try:
                grant = await scope.request_compaction(f"s{turn}", spans, timeout_s=self.args.timeout_s)
            except Refused as refused:
                self.unnamed += not refused.decision.evidence
                self.answers["refused" if not keeps else "refused wrongly"] += 1
            except AnswerUnknown:
                self.answers["unknown"] += 1
            else:
                self.answers["granted" if keeps else "granted wrongly"] += 1
                await scope.applied(grant)
            self.waited_s.append(time.perf_counter() - began_s)


def client(args: argparse.Namespace) -> None:
    """One client process; its result is the last line of its output."""
    share = Share(args, int(args.share))
    run = lambda: asyncio.run(share.run(f"kafka://{args.kafka}"))  # noqa: E731
    if args.profile and args.share == "0":
        import cProfile

        profile = cProfile.Profile()
        result = profile.runcall(run)
        profile.dump_stats(args.profile)
    else:
        result = run()
    print(json.dumps(result))


def main() -> None:
    args = options()
    if args.share:
        client(args)
        return
    with tempfile.TemporaryDirectory(prefix="fleet-load-") as name:
        folder = Path(name)
        cluster = None
        if not args.kafka:
            cluster = Cluster.make(folder / "kafka", bound=True)
            cluster.start()
            args.kafka = cluster.servers
        try:
            print(json.dumps(measure(args, folder)))
        finally:
            if cluster is not None:
                cluster.stop()


def measure(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    os.environ["CLEDGER_KAFKA_PREFIX"] = f"load{uuid.uuid4().hex[:8]}."
    url = f"kafka://{args.kafka}"
    asyncio.run(_made(url, args.partitions))
    workers = [_worker(url, folder / f"worker-{number}") for number in range(args.workers)]
    try:
        asyncio.run(_owned(url, args))
        results = _clients(args)
    finally:
        cpu = [_cpu_s(worker.pid) for worker in workers]
        for worker in workers:
            worker.terminate()
        codes = [worker.wait(60) for worker in workers]
    waited = sorted(wait for result in results for wait in result["waited_s"])
    answers: Counter[str] = Counter()
    for result in results:
        answers.update(result["answers"])
    took_s = max(result["took_s"] for result in results)
    return {
        "agents": args.agents,
        "requests": len(waited),
        "answers": dict(answers),
        "refusals_without_facts": sum(result["unnamed"] for result in results),
        "took_s": round(took_s, 1),
        "requests_per_s": round(len(waited) / took_s),
        "records_per_s": round(len(waited) * 4.5 / took_s),
        "answers_by_minute": [sum(of) for of in itertools.zip_longest(*(each["by_minute"] for each in results), fillvalue=0)],
        "answer_p50_s": round(statistics.median(waited), 3),
        "answer_p99_s": round(waited[int(len(waited) * 0.99)], 3),
        "bytes_read_per_client": [sum(result["bytes"].values()) for result in results],
        "bytes_read_per_request": round(sum(sum(result["bytes"].values()) for result in results) / len(waited)),
        "client_cpu_s": [result["cpu_s"] for result in results],
        "worker_cpu_s": cpu,
        "worker_exit_codes": codes,
    }


def _cpu_s(pid: int) -> float:
    """Seconds of CPU that a process used so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return round((int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), 1)


async def _made(url: str, partitions: int) -> None:
    log = await create_kafka_log(url, partitions, {})
    await log.close()


async def _owned(url: str, args: argparse.Namespace) -> None:
    """Wait until the workers share the partitions."""
    from consumers.membership import members

    deadline_s = time.monotonic() + 60
    while time.monotonic() < deadline_s:
        found = [each for each in await members(args.kafka, KafkaSettings.from_environment().prefix) if each.partitions]
        if len(found) == args.workers and sum(len(each.partitions) for each in found) == args.partitions:
            return
        await asyncio.sleep(0.5)
    raise SystemExit("the workers did not come up")


def _worker(url: str, data: Path) -> subprocess.Popen[bytes]:
    data.mkdir()
    command = [sys.executable, "-m", "ops.cli.main", "worker", "--log", url, "--web", "127.0.0.1:0"]
    env = {**os.environ, "CLEDGER_DATA": str(data)}
    return subprocess.Popen(command, env=env, cwd=ROOT, stderr=(data / "worker.log").open("wb"))


def _clients(args: argparse.Namespace) -> list[dict[str, Any]]:
    given = [f"--{name.replace('_', '-')}={value}" for name, value in vars(args).items() if name != "share"]
    command = [sys.executable, "-m", "tests.bench.fleet_load", *given]
    running = [
        subprocess.Popen([*command, f"--share={number}"], stdout=subprocess.PIPE, cwd=ROOT) for number in range(args.clients)
    ]
    outputs = [process.communicate()[0] for process in running]
    return [json.loads(output.splitlines()[-1]) for output in outputs]


if __name__ == "__main__":
    main()
