"""The broker for development, as a command: started, used, stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from ledger.adapters.kafka_log import KafkaLog
from ledger.errors import UsageError
from ledger.log import EVENTS, NewEntry
from ops.kafka import broker as command
from ops.kafka.broker import Cluster
from ops.kafka.jars import missing_tools
from tests.support.cli import ROOT

pytestmark = pytest.mark.integration


async def test_broker_run_in_the_foreground_ends_when_told_and_leaves_nothing_running(tmp_path: Path) -> None:
    if missing := missing_tools():
        pytest.skip(missing)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "ops.kafka.broker",
        "run",
        "--folder",
        str(tmp_path),
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        address = (await process.stdout.readline()).decode().strip()
        servers = address.removeprefix("kafka://")
        assert servers != address
        log = await KafkaLog.create(servers, 1)
        await log.append(EVENTS, [NewEntry("scope", b"v")])
        assert await log.end(EVENTS, 0) == 1
        await log.close()
    finally:
        process.send_signal(signal.SIGTERM)
        await process.communicate()
    assert process.returncode == 0
    assert not any(node.pid for node in Cluster.load(tmp_path).state.nodes)


def test_broker_of_another_port_is_not_passed_off_as_the_one_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Cluster.make(tmp_path / "here", 1, port=19_092)
    assert command.main(["start", "--folder", str(tmp_path / "here"), "--port", "19093"]) == 2
    assert "--folder NEW" in capsys.readouterr().err


def test_broker_stop_without_a_cluster_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["stop", "--folder", str(tmp_path)]) == 2
    assert "there is no cluster here" in capsys.readouterr().err
    with pytest.raises(UsageError, match=r"1 to 3 nodes"):
        Cluster.make(tmp_path / "new", 4)
