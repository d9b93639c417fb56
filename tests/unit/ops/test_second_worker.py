"""A worker whose indexes another process has is a mistake of whoever started it (contracts sections 3 and 4)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from consumers.fold_lock import folding
from ledger.log import EVENTS, NewEntry
from ops.store import LOCK_POLL_SECONDS, open_store
from ops.wiring import index_directory, open_log
from schemas.codec import encode
from tests.support.cli import SAMPLE, has_no_traceback, in_subprocess
from tests.support.given import opened


async def test_second_worker_on_the_same_indexes_is_a_usage_error_and_is_told_the_way_out(tmp_path: Path) -> None:
    url = f"lmdb:{tmp_path / 'log'}"
    assert in_subprocess("ingest", SAMPLE, "--log", url, data=tmp_path).code == 0
    log = await open_log(url, create=False)
    directory = index_directory(url, log.identity)
    await log.close()
    with folding(directory, wait=False):
        second = in_subprocess("worker", "--log", url, "--web", "127.0.0.1:0", "--exit-when-idle", "0", data=tmp_path)
    assert second.code == 2
    assert f"{directory}: another process of this machine folds" in second.err
    assert "has one worker" in second.err
    assert has_no_traceback(second)
    alone = in_subprocess("worker", "--log", url, "--web", "127.0.0.1:0", "--exit-when-idle", "0", data=tmp_path)
    assert alone.code == 0, alone.err


async def test_who_waits_for_a_worker_waits_until_it_is_done_and_not_until_it_ends(tmp_path: Path) -> None:
    """A worker folds for as long as it runs: what it has folded and published needs nobody else's fold."""
    url = f"lmdb:{tmp_path / 'log'}"
    async with open_store(url, create=True) as waiting, open_store(url) as working:
        record = opened()
        await working.log.append(EVENTS, [NewEntry(record.scope, encode(record))])
        with folding(tmp_path / "log" / "index", wait=False):
            fold = asyncio.create_task(waiting.fold("wait"))
            done, _ = await asyncio.wait([fold], timeout=4 * LOCK_POLL_SECONDS)
            assert not done
            await working._fold(None)
            assert await asyncio.wait_for(fold, 10) == 0
