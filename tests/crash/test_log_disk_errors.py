"""The disk refuses the n-th write or sync: what was not durable is not acknowledged, and what was stays.

Promises P1, L1 and L8; fault F14.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ledger.adapters.lmdb_log import LmdbLog
from ledger.following import all_entries
from ledger.log import EVENTS
from tests.support.crash import PROJECT

pytestmark = pytest.mark.crash
APPENDS = 6
WORKER = f"""
import asyncio, sys
from ledger.adapters.lmdb_log import LmdbLog
from ledger.errors import LogUnavailable
from ledger.log import EVENTS, NewEntry

async def main():
    log = LmdbLog.open(sys.argv[1])
    for number in range({APPENDS}):
        try:
            values = [b"%d/%d" % (number, part) + b"." * 5000 for part in range(2)]
            positions = await log.append(EVENTS, [NewEntry("scope", value) for value in values])
            print("ack", number, positions[0].offset, flush=True)
        except LogUnavailable:
            print("refused", number, flush=True)
    await log.close()

asyncio.run(main())
"""


def under_strace(call: str, nth: int, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the worker with the `nth` such system call on the data file failing with EIO."""
    tracing = ["-f", "-qq", "-o", "/dev/null", "-P", str(directory / "log" / "data.mdb")]
    injecting = ["-e", f"trace={call}", "-e", f"inject={call}:error=EIO:when={nth}"]
    command = ["strace", *tracing, *injecting, sys.executable, "-c", WORKER, str(directory)]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture(scope="module", autouse=True)
def strace_works() -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    tried = subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip(f"strace may not trace here: {tried.stderr.decode().strip()}")


@pytest.mark.parametrize("call", ["fdatasync", "pwrite64", "writev"])
async def test_log_on_a_disk_that_fails_once_acknowledges_only_what_is_durable(tmp_path: Path, call: str) -> None:
    """LMDB writes pages with `writev`, syncs them with `fdatasync`, and writes its meta page, synced, with `pwrite64`."""
    failed = 0
    for nth in range(1, 5 * APPENDS):
        directory = tmp_path / str(nth)
        await LmdbLog.create(directory).close()
        done = under_strace(call, nth, directory)
        assert done.returncode == 0, done.stderr
        said = [line.split() for line in done.stdout.splitlines()]
        assert len(said) == APPENDS
        refused = [int(number) for word, number, *_ in said if word == "refused"]
        failed += bool(refused)
        log = LmdbLog.open(directory)
        assert log.file.check_structure() == []
        assert await log.verify(EVENTS, 0) is None
        found = [entry.value for entry in [each async for each in all_entries(log, EVENTS, 0)]]
        for word, number, *offset in said:
            pair = [f"{number}/{part}".encode() + b"." * 5000 for part in range(2)]
            if word == "ack":
                assert found[int(offset[0]) : int(offset[0]) + 2] == pair
            else:  # not acknowledged: there whole, or not at all
                assert [value for value in found if value in pair] in ([], pair)
        assert len(found) == len(set(found))
        await log.append(EVENTS, [])
        await log.close()
        if not refused:
            break
    else:
        pytest.fail(f"{call} failed in every run: the loop never came past the last one")
    print(f"\n{call}: {failed} runs with a failure, run {failed + 1} without")
    assert failed
