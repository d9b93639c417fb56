"""The embedded log passes the suite of the log port, durability included."""

from __future__ import annotations

from pathlib import Path

from ledger.adapters.lmdb_log import LmdbLog
from ledger.log import Log
from tests.conformance.log_suite import DurableLogSuite


class TestLmdbLog(DurableLogSuite):
    async def make_log(self, tmp_path: Path, partitions: int) -> Log:
        return LmdbLog.create(tmp_path, partitions)

    async def reopen(self, log: Log) -> Log:
        return LmdbLog.open(self.directory(log))

    def address(self, log: Log) -> str:
        return f"lmdb:{self.directory(log)}"

    def directory(self, log: Log) -> Path:
        assert isinstance(log, LmdbLog)
        return log.file.directory.parent
