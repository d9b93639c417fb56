"""A worker whose indexes another process has is a mistake of whoever started it (contracts sections 3 and 4)."""

from __future__ import annotations

from pathlib import Path

from consumers.fold_lock import folding
from ops.wiring import index_directory, open_log
from tests.support.cli import SAMPLE, has_no_traceback, in_subprocess


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
