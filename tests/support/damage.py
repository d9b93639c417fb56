"""Looks at a damaged log from a process of its own, so that a crash of the reader is an outcome and not the end of the test.

`python -m tests.support.damage flips DIR COUNT SEED` flips one random bit of the data file at a time, each on a fresh copy,
opens and reads the log in a fork, and prints one JSON line a trial: where the bit was and the outcome. With `read DIR` it reads
once. Outcomes: `same` (every entry as before), `detected` (a `LedgerError`), `other` (entries differ: silent
damage), `error` (an exception that is none of ours), `killed` (by a signal).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from ledger.adapters.lmdb_log import LmdbLog
from ledger.errors import LedgerError
from ledger.following import all_entries
from ledger.log import TOPICS, NewEntry
from ledger.storage.layout import DATA
from ledger.storage.pages import check_data_file


async def digest_of(directory: Path) -> str:
    """A hash over every entry of a log, with its place."""
    log = LmdbLog.open(directory)
    state = hashlib.sha256()
    try:
        for topic in TOPICS:
            for number in range(log.identity.partitions):
                async for entry in all_entries(log, topic, number):
                    state.update(repr((entry.position, entry.key, entry.value, entry.headers)).encode())
        # A log that can be read must also take an append, and still be whole behind it.
        await log.append(TOPICS[0], [NewEntry("after", b"damage")])
    finally:
        await log.close()
    return state.hexdigest()


def outcome_of(directory: Path, expected: str) -> dict[str, Any]:
    """Open and read the log; what came of it."""
    try:
        found = asyncio.run(digest_of(directory))
    except LedgerError as error:
        return {"outcome": "detected", "error": type(error).__name__, "message": str(error)}
    except Exception as error:  # noqa: BLE001  whatever it is, it is the result of the trial
        return {"outcome": "error", "error": type(error).__name__, "message": str(error)}
    return {"outcome": "same" if found == expected else "other", "digest": found}


def in_fork(directory: Path, expected: str) -> dict[str, Any]:
    """`outcome_of` in a child process of this one, which must have no store open."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        os.write(writing, json.dumps(outcome_of(directory, expected)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        raw = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return {"outcome": "killed", "signal": os.WTERMSIG(status)}
    return dict(json.loads(raw))


def used_bytes(data: Path) -> int:
    """Where the last page of a data file ends."""
    newest = check_data_file(data)
    return (newest.last_page + 1) * newest.page_bytes


def flips(directory: Path, count: int, seed: str) -> None:
    """Run the trials, each on a fresh copy."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "copy"
        shutil.copytree(directory, copy)
        before = in_fork(copy, "")["digest"]
        for _ in range(count):
            shutil.rmtree(copy)
            shutil.copytree(directory, copy)
            data = copy / "log" / DATA
            at, bit = chance.randrange(used_bytes(data)), chance.randrange(8)
            with data.open("r+b") as file:
                file.seek(at)
                byte = file.read(1)[0]
                file.seek(at)
                file.write(bytes([byte ^ (1 << bit)]))
            print(json.dumps({"at": at, "bit": bit, **in_fork(copy, before)}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "flips":
        flips(Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        print(json.dumps(in_fork(Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "")))
