"""The log on Kafka passes the suite of the log port, durability included, on a real broker."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger.adapters.kafka_log import KafkaLog
from ledger.log import Log
from tests.conformance.log_suite import DurableLogSuite
from tests.support.broker import new_log
from tests.support.logs import kafka_address, open_address


@pytest.mark.integration
class TestKafkaLog(DurableLogSuite):
    @pytest.fixture(autouse=True)
    def use(self, broker: str) -> None:
        self.servers = broker

    async def make_log(self, tmp_path: Path, partitions: int) -> Log:
        del tmp_path
        return await new_log(self.servers, partitions)

    async def reopen(self, log: Log) -> Log:
        return await open_address(self.address(log))

    def address(self, log: Log) -> str:
        assert isinstance(log, KafkaLog)
        return kafka_address(log.servers, log.prefix)
