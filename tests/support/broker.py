"""One real broker for a whole test run, and ledgers on it that do not see each other.

`CLEDGER_TEST_KAFKA=HOST:PORT` uses a broker that runs already. Otherwise one node is started from its published jars, with its
data in a temporary folder; where Java or Maven are missing, the tests are skipped and say so.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from ledger.adapters.kafka_log import KafkaLog
from ops.kafka.broker import Cluster
from ops.kafka.jars import BrokerUnavailable, missing_tools

GIVEN = "CLEDGER_TEST_KAFKA"


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the broker of this run."""
    if given := os.environ.get(GIVEN):
        yield given
        return
    cluster = started(tmp_path_factory.mktemp("kafka"))
    try:
        yield cluster.servers
    finally:
        cluster.stop()


def started(folder: Path, nodes: int = 1) -> Cluster:
    """A running cluster of the test's own; skips the test where none can be had."""
    if missing := missing_tools():
        pytest.skip(missing)
    try:
        cluster = Cluster.make(folder / "cluster", nodes, bound=True)
    except BrokerUnavailable as error:
        if "Maven" in error.message:
            pytest.skip(str(error))
        raise
    try:
        cluster.start()
    except BaseException:
        cluster.stop()
        raise
    return cluster


def new_prefix() -> str:
    """A prefix for the topics of one test."""
    return f"t{uuid.uuid4().hex[:10]}."


async def new_log(servers: str, partitions: int = 1, **options: object) -> KafkaLog:
    """An empty ledger of its own."""
    return await KafkaLog.create(servers, partitions, prefix=new_prefix(), **options)  # type: ignore[arg-type]


@asynccontextmanager
async def admin_of(servers: str) -> AsyncIterator[AIOKafkaAdminClient]:
    """What an operator can do to topics behind the ledger's back."""
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()
