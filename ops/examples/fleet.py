"""Twenty agents that ask before they evict, and one among them that does not mind the answer.

Run it with: python -m ops.examples.fleet [--log URL] [--agents 20] [--rounds 5] [--seed 7] [--run ID] [--processes 1]

Each agent is told a few things in every round, makes a summary of them, and asks whether the raw messages may leave for it. A
careful agent keeps what binds it; a hasty one forgets something now and then, reads in the refusal what it was, and mends its
summary. The last agent is a bad compactor: it drops limits, turns bans round, and evicts though it was refused. The ledger says
what that cost. Each run opens sessions of its own, named after its id; the same id, seed and numbers make the same records on
either log.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import random
import sys
import tempfile
import uuid
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Literal

import msgspec

from ledger.client import LedgerClient
from ledger.errors import LedgerError
from ledger.recorder import made
from ledger.refusals import RecordConflict, Refused
from ledger.scope import Scope
from ops import open_ledger
from ops.asking import Asked, asked
from ops.queries.wanted import Wanted
from ops.store import Store
from ops.wiring import is_shared
from schemas.records import CompactionObserved, SpanRange

Temper = Literal["careful", "hasty", "bad"]
ANSWER_S = 60.0
"""How long a request may take here: a worker may just be starting."""

HASTE = 0.4
"""How often a hasty agent leaves something out."""

SERVICES = ("payments", "search", "ledger-sync", "mailer", "thumbnails", "geocoder")
HOSTS = ("db-eu-2", "cache-11", "build-07", "edge-4")
SMALL_TALK = ("Thanks, go on.", "Good, that works for me.", "I looked at it and it seems fine so far.")


class Row(msgspec.Struct):
    """What became of one agent's requests."""

    agent: str
    temper: Temper
    asked: int = 0
    granted: int = 0
    refused: int = 0
    why: dict[str, int] = {}
    evicted_anyway: int = 0


class Said(msgspec.Struct, frozen=True):
    """What an agent was told in a round: the sentences that bind it, and the rest."""

    limit: str
    ban: str
    due: str
    talk: str

    @property
    def binding(self) -> list[str]:
        """What a summary has to keep."""
        return [self.limit, self.ban, self.due]


def said_in(round_: int, chance: random.Random) -> Said:
    """The messages of one round."""
    service, host = chance.choice(SERVICES), chance.choice(HOSTS)
    return Said(
        f"The {service} API accepts {chance.randrange(10, 90)} req/s at most.",
        f"Do not restart {host}-r{round_} during the day.",
        f"The report on {service} is due on {chance.randrange(1, 28)} December 2026.",
        chance.choice(SMALL_TALK),
    )


class Story(msgspec.Struct, frozen=True):
    """What a run is made of. `run` begins the ids of its sessions: ids are for good, so another story needs another one."""

    run: str
    agents: int
    rounds: int
    seed: int


class Agent:
    """One agent in a scope of its own."""

    def __init__(self, ledger: LedgerClient, number: int, story: Story) -> None:
        self._ledger = ledger
        self._chance = random.Random(f"{story.seed}:{number}")  # noqa: S311  a story to be told again, not a secret
        self._scope: Scope = ledger.scope(f"fleet-{story.run}-agent-{number:02}", store="none", runtime="example")
        self._turn = 0
        self.row = Row(self._scope.session, temper_of(number, story.agents))

    async def work(self, rounds: int) -> Row:
        """Live through some rounds."""
        for round_ in range(1, rounds + 1):
            said = said_in(round_, self._chance)
            spans = [
                await self._scope.record_span(f"r{round_}-{name}", getattr(said, name), role="user")
                for name in said.__struct_fields__
            ]
            self._turn += len(spans)
            if self.row.temper == "bad":
                await self._evict_whatever(round_, said, spans)
            else:
                await self._ask_until_it_holds(round_, said, spans)
        return self.row

    async def _ask_until_it_holds(self, round_: int, said: Said, spans: list[str]) -> None:
        kept = list(said.binding)
        if self.row.temper == "hasty" and self._chance.random() < HASTE:
            kept.remove(self._chance.choice(kept))
        text = " ".join(kept)
        missing = await self._asked(f"summary-{round_}", text, spans)
        if missing:
            await self._asked(f"summary-{round_}-mended", " ".join([text, *missing]), spans)

    async def _evict_whatever(self, round_: int, said: Said, spans: list[str]) -> None:
        """Drops the limit, turns the ban round, asks, and evicts whatever the answer is."""
        text = f"We talked about limits. {said.ban.replace('Do not restart', 'Restart')} {said.due}"
        if not await self._asked(f"summary-{round_}", text, spans):
            return
        self.row.evicted_anyway += 1
        observed = made(
            CompactionObserved,
            self._scope.scope,
            self._scope.session,
            round=f"round-{round_}",
            ordinal=round_,
            turn=self._turn,
            trigger="auto",
            summary=f"summary-{round_}",
            summarised=tuple(SpanRange(span, span) for span in spans),
        )
        await self._ledger.append([observed])

    async def _asked(self, summary: str, text: str, spans: list[str]) -> list[str]:
        """Record a summary, ask, and apply what was granted. Returns the words that are missing; none after a grant."""
        await self._scope.record_summary(summary, text, covers=spans)
        self.row.asked += 1
        try:
            grant = await self._scope.request_compaction(summary, spans, request=f"ask-{summary}", timeout_s=ANSWER_S)
        except Refused as refused:
            self.row.refused += 1
            for item in refused.evidence:
                why = f"{item.evidence.cls} {item.evidence.outcome}"
                self.row.why[why] = self.row.why.get(why, 0) + 1
            return list(dict.fromkeys(item.fact_text for item in refused.evidence))
        self.row.granted += 1
        await self._scope.applied(grant, text)
        return []


def temper_of(number: int, agents: int) -> Temper:
    """The last agent is the bad one, every third of the others is hasty."""
    return "bad" if number == agents else "hasty" if number % 3 == 0 else "careful"


async def run(url: str, numbers: list[int], story: Story) -> list[Row]:
    """These agents of the fleet, all at once."""
    async with open_ledger(url) as ledger:
        fleet = [Agent(ledger, number, story) for number in numbers]
        rows = await asyncio.gather(*(agent.work(story.rounds) for agent in fleet))
        await ledger.nudge()
        return rows


def run_share(url: str, numbers: list[int], story: Story) -> list[Row]:
    """A process's share of the fleet."""
    return asyncio.run(run(url, numbers, story))


def run_shares(url: str, processes: int, story: Story) -> list[Row]:
    """The whole fleet, in this process or in several that use the same log."""
    shares = [list(range(first, story.agents + 1, processes)) for first in range(1, processes + 1)]
    if processes == 1:
        return run_share(url, shares[0], story)
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        done = [pool.submit(run_share, url, share, story) for share in shares if share]
        return sorted((row for each in done for row in each.result()), key=lambda row: row.agent)


async def workers_there(url: str) -> None:
    """Raises `NobodyAnswers`, with what to do, unless some worker owns every partition of the log."""
    from ops.fleet_answers import fleet_at
    from ops.worker_questions import Question

    async with fleet_at(url) as workers:
        await workers.fleet.ask_all("sessions", Question(prefix="no session begins like this"))


async def report(url: str, rows: list[Row]) -> None:
    """Print what became of the requests, which alerts the agents raised, and what the bad one lost."""

    async def fold(store: Store) -> int:
        return await store.fold("wait")

    bad = next(row for row in rows if row.temper == "bad")
    names = {row.agent for row in rows}

    async def questions(ask: Asked) -> tuple[Counter[tuple[str, str]], list[str]]:
        alerts = Counter((each.severity, each.kind) for each in await ask.alerts(None) if each.session in names)
        lost = await ask.forgotten(bad.agent, Wanted(limit=0))
        return alerts, [f"{each.outcome:9} {each.cls:12} {each.text}" for each in lost.forgotten if each.cls != "narrative"]

    alerts, lost = await asked(url, questions, local=False, fold=fold, notice=lambda words: print(words, file=sys.stderr))
    print(f"{'agent':24} {'temper':8} {'asked':>5} {'granted':>7} {'refused':>7}  why")
    for row in rows:
        why = ", ".join(f"{count} {what}" for what, count in sorted(row.why.items()))
        anyway = f"; evicted anyway {row.evicted_anyway} times" if row.evicted_anyway else ""
        print(f"{row.agent:24} {row.temper:8} {row.asked:5} {row.granted:7} {row.refused:7}  {why}{anyway}".rstrip())
    print("\nalerts by kind")
    for (severity, kind), count in sorted(alerts.items()):
        print(f"{count:5} {severity:7} {kind}")
    print(f"\nwhat {bad.agent} lost")
    for line in lost:
        print(f"  {line}")


def tell(url: str, processes: int, story: Story) -> None:
    """Run the fleet and report. Raises `NobodyAnswers` where the log is on Kafka and no worker folds it."""
    if is_shared(url):
        asyncio.run(workers_there(url))
    rows = run_shares(url, processes, story)
    asyncio.run(report(url, rows))


def main(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m ops.examples.fleet", description="Twenty agents, one bad compactor.")
    parser.add_argument("--log", metavar="URL", help="default: CLEDGER_LOG, else a temporary log")
    parser.add_argument("--agents", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--run", metavar="ID", help="begins the ids of its sessions; default: a fresh one")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args(arguments)
    if min(given.agents, given.rounds, given.processes) < 1:
        parser.error("--agents, --rounds and --processes count from 1")
    if given.run is not None and not given.run.strip():
        parser.error("--run is empty; leave it out for a fresh id")
    story = Story(given.run or uuid.uuid4().hex[:8], given.agents, given.rounds, given.seed)
    with tempfile.TemporaryDirectory() as folder:
        url = given.log or os.environ.get("CLEDGER_LOG") or f"lmdb:{Path(folder) / 'log'}"
        try:
            tell(url, given.processes, story)
            sys.stdout.flush()
        except RecordConflict as error:
            print(f"error: {error}\n  Another run had this id; leave --run out, or give another one.", file=sys.stderr)
            return error.exit_code
        except LedgerError as error:
            print(f"error: {error}", file=sys.stderr)
            return error.exit_code
        except BrokenPipeError:  # whoever reads has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
