"""The log in memory passes the suite of the log port."""

from __future__ import annotations

from pathlib import Path

from ledger.adapters.memory_log import MemoryLog
from ledger.log import Log
from tests.conformance.log_suite import LogSuite


class TestMemoryLog(LogSuite):
    async def make_log(self, tmp_path: Path, partitions: int) -> Log:
        return MemoryLog(partitions)
