"""Lives of a folding or an appending process, each in a fork of a server that has imported everything already.

`python -m tests.support.fold_worker LOG_DIR INDEX_ROOT` reads a request a line and answers with a line when that life is over:

    {"work": "fold", "fault": "publish.after:2", "until": PATH}         folds and publishes until PATH exists and all is folded
    {"work": "append", "fault": "", "seed": 1, "start": 40, "count": 20}   appends records of a mixed history, one call each
    {..., "kill_after": 3}                                                 is killed from outside once it wrote 3 lines

    {"status": -9, "lines": [...], "stderr": "fault-point publish.after 2\n"}

A life says a line for what it knows to be durable: `folded N` for a committed batch, `ack N` for an appended record. Starting
an interpreter for each of a hundred kills would take longer than the kills.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

import msgspec

import consumers.partition
from consumers.carrier_index import CarrierIndex
from consumers.partition import Partition
from ledger import faults
from ledger.adapters.lmdb_log import LmdbLog
from ledger.following import wait_for
from ledger.log import EVENTS, partition_of
from schemas.records import AnyRecord
from tests.support.folding import entries, index_directory
from tests.support.histories import history
from tests.support.toy_facts import toy_facts

SCOPES = ("alpha", "beta", "gamma")
HISTORY_RECORDS = 400
BATCH_ENTRIES = 8
"""Small, so that a short history has many commits to be killed in."""


class Life(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What one process is to do, and how it is to end."""

    work: str
    fault: str = ""
    kill_after: int | None = None
    until: str = ""
    seed: int = 0
    start: int = 0
    count: int = 0


class End(msgspec.Struct, kw_only=True):
    """How it ended: exit status, negative for a signal, and what it wrote."""

    status: int
    lines: list[str]
    stderr: str


def records_of(seed: int) -> list[AnyRecord]:
    """Histories of several scopes, mixed: what the appender appends, in this order."""
    chance = random.Random(seed)
    queues = [history((seed, scope), HISTORY_RECORDS, scope) for scope in SCOPES]
    mixed: list[AnyRecord] = []
    while any(queues):
        mixed.append(chance.choice([queue for queue in queues if queue]).pop(0))
    return mixed


def say(text: str) -> None:
    """One write, past every buffer."""
    os.write(1, f"{text}\n".encode())


async def append(log_dir: Path, life: Life) -> None:
    """Append records from `start` on, one call each."""
    log = LmdbLog.open(log_dir)
    for number, record in enumerate(records_of(life.seed)[life.start : life.start + life.count], life.start):
        await log.append(EVENTS, entries([record]))
        say(f"ack {number}")
    await log.close()


async def fold(log_dir: Path, root: Path, life: Life) -> None:
    """Fold every partition that the scopes fall into until told that no more will come."""
    consumers.partition.BATCH_ENTRIES = BATCH_ENTRIES
    log = LmdbLog.open(log_dir)
    numbers = sorted({partition_of(scope, log.identity.partitions) for scope in SCOPES})
    indexes = [CarrierIndex.create(index_directory(root, number), log.identity, number) for number in numbers]
    partitions = [Partition(log, index, index_number) for index, index_number in zip(indexes, numbers, strict=True)]
    while True:
        last = Path(life.until).exists()  # noqa: ASYNC240  a stat, in a process that does nothing else
        for partition in partitions:
            await partition.catch_up(lambda done, _: say(f"folded {done}"))
        if last:
            break
        await wait_for(log, EVENTS, numbers[0], await log.end(EVENTS, numbers[0]), timeout_s=0.02)
    for partition, index in zip(partitions, indexes, strict=True):
        partition.close()
        index.close()
    await log.close()


def live(life: Life, log_dir: Path, root: Path) -> None:
    """The whole life, in a child."""
    faults.arm(life.fault)
    with toy_facts():
        asyncio.run(append(log_dir, life) if life.work == "append" else fold(log_dir, root, life))


def run(life: Life, log_dir: Path, root: Path) -> End:
    """Fork a life, kill it where that is asked for, and wait for its end."""
    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(out_write, 1)
        os.dup2(err_write, 2)
        status = 1
        try:
            live(life, log_dir, root)
            status = 0
        finally:
            if status:
                sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
            os._exit(status)
    os.close(out_write)
    os.close(err_write)
    lines = []
    with ExitStack() as stack:
        out = stack.enter_context(os.fdopen(out_read))
        err = stack.enter_context(os.fdopen(err_read))
        for line in out:
            lines.append(line.rstrip("\n"))
            if len(lines) == life.kill_after:
                os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        return End(status=os.waitstatus_to_exitcode(status), lines=lines, stderr=err.read())


def main(log_dir: Path, root: Path) -> None:
    """Serve lives until stdin ends."""
    say("ready")
    for line in sys.stdin:
        say(msgspec.json.encode(run(msgspec.json.decode(line, type=Life), log_dir, root)).decode())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
