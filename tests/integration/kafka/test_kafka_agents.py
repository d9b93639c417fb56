"""The agents as a Faust app on a real broker: told once for each cause, live at /feed, and ended in order."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest
from aiokafka.errors import GroupCoordinatorNotAvailableError

from consumers.agents import GROUP
from ledger.log import ALERTS, NewEntry
from schemas.codec import encode
from tests.support.broker import admin_of, new_log
from tests.support.cli import ROOT, environment
from tests.unit.consumers.test_agents import alert

PATIENCE_S = 90.0


async def reading(servers: str, group: str) -> None:
    """Wait until a member of the group owns something: only then is what comes now read."""
    async with admin_of(servers) as admin:
        for _ in range(round(PATIENCE_S / 0.2)):
            with suppress(GroupCoordinatorNotAvailableError):  # the first group of a broker takes a while
                named = [name for name, *_ in await admin.list_consumer_groups() if name.startswith(group)]
                (answer,) = await admin.describe_consumer_groups(named[:1] or [group])
                if any(found[2] == "Stable" and found[5] and found[5][0][4] for found in answer.groups):
                    return
            await asyncio.sleep(0.2)


async def test_p9_alerts_are_told_by_cause_and_shown_live(broker: str, tmp_path: Path) -> None:
    """P9: what is new is told, what stood there before nobody is told again."""
    log = await new_log(broker, 2)
    await log.append(ALERTS, [NewEntry("s0", encode(alert(1, group="old", scope="s0")))])
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ops.cli.main", "worker", "--agents", "--log", f"kafka://{broker}", "--web", "127.0.0.1:0",
        cwd=ROOT, env=environment(tmp_path, CLEDGER_KAFKA_PREFIX=log.prefix),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        async with asyncio.timeout(PATIENCE_S):
            feed = (await process.stderr.readline()).decode().rpartition(" ")[2].strip()
            await reading(broker, log.prefix + GROUP)
            async with aiohttp.ClientSession() as session, session.get(feed) as live:
                assert await live.content.readline() == b": the alerts of this ledger from now on\n"
                new = [alert(1), alert(2, severity="page"), alert(2, severity="page")]
                await log.append(ALERTS, [NewEntry("s1", encode(each)) for each in new])
                told = json.loads(await process.stdout.readline())
                assert (told["group"], told["severity"]) == ("g1", "page")
                assert told["time"].startswith("20")
                look = f"cledger alerts --session s1 --log kafka://{broker}"
                assert told["look"] == f"CLEDGER_KAFKA_PREFIX={log.prefix} {look}"
                assert told["raised"] == {"fact_lost": 1, "prohibition_lost": 1}
                lines = [line async for line in _data_of(live, 2)]
                assert [json.loads(line)["output_seq"] for line in lines] == [1, 2]
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_S):
            assert await process.wait() == 0, (await process.stderr.read()).decode()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        await log.close()


async def _data_of(live: aiohttp.ClientResponse, count: int):  # type: ignore[no-untyped-def]
    while count:
        line = await live.content.readline()
        if line.startswith(b"data: "):
            count -= 1
            yield line.removeprefix(b"data: ")


@pytest.mark.parametrize("arguments", [["--notify", "-"], ["--agents", "--web", "0.0.0.0:0"]])
async def test_p12_what_agents_may_not_do_is_a_usage_error(arguments: list[str], tmp_path: Path) -> None:
    """P12: beyond loopback only with a token; and notifications are the agents' work."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ops.cli.main", "worker", "--log", "kafka://127.0.0.1:1", *arguments, cwd=ROOT,
        env=environment(tmp_path), stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, told = await process.communicate()
    assert process.returncode == 2
    assert b"Traceback" not in told
