"""A process that folds, takes snapshots, prunes and restores, until it is killed or has done its rounds.

`python -m tests.support.snapshot_worker LOG_DIR PLACE ROUNDS` works on the embedded log in LOG_DIR, the index and the snapshots
in PLACE. It writes a line for what it knows to be durable: `taken OFFSET`, `pruned`, `restored OFFSET`.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from consumers.carrier_index import CarrierIndex
from consumers.fold_lock import folding
from consumers.partition import Partition
from consumers.snapshots import prune, restore, take
from ledger.adapters.lmdb_log import LmdbLog
from ledger.log import EVENTS
from tests.support.folding import entries
from tests.support.histories import history
from tests.support.toy_facts import toy_facts

ROUND_RECORDS = 15
KEEP = 2


def say(text: str) -> None:
    """One write, past every buffer."""
    os.write(1, f"{text}\n".encode())


async def one_round(log: LmdbLog, place: Path) -> None:
    """Append, fold, take, prune, and put the snapshot in a place of its own, over the one that was there."""
    end = await log.end(EVENTS, 0)
    await log.append(EVENTS, entries(history(end, ROUND_RECORDS, f"scope-{end}")))
    index = CarrierIndex.create(place / "index", log.identity, 0)
    partition = Partition(log, index, 0)
    await partition.catch_up()
    taken = take(index, place / "snapshots", created_ms=end)
    partition.close()
    index.close()
    say(f"taken {taken.manifest.offset_next}")
    prune(place / "snapshots", log.identity, 0, offset_end=await log.end(EVENTS, 0), keep=KEEP)
    say("pruned")
    with folding(place, wait=False):
        restore(taken.path, place / "restored", replace=True)
    say(f"restored {taken.manifest.offset_next}")


async def main(log_dir: Path, place: Path, rounds: int) -> None:
    """All rounds."""
    log = LmdbLog.open(log_dir)
    for _ in range(rounds):
        await one_round(log, place)
    await log.close()


if __name__ == "__main__":
    with toy_facts():
        asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
