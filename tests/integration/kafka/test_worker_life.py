"""A worker as it is run: start, signals, end, addresses; and the same ledger on other logs (P2, P9, P12; F27, F29)."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from ledger.adapters.kafka_log import KafkaLog
from ledger.adapters.memory_log import MemoryLog
from ledger.log import ALERTS, DECISIONS, EVENTS, NewEntry
from ledger.storage.layout import DATA
from ops.rehearsal.rehearse import records_of
from ops.rehearsal.scenario import scenarios
from schemas.codec import decode_record
from tests.support.broker import new_prefix
from tests.support.cli import ROOT, Ran, command_line, environment, in_subprocess
from tests.support.fleet import Fleet, Publisher, fleet
from tests.support.history_check import Verdict, first_copies, outputs_of, undisturbed

pytestmark = pytest.mark.integration
SCENARIOS = ROOT / "ops" / "scenarios" / "seeds.jsonl"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
async def test_signal_ends_the_worker_in_order_and_soon(broker: str, tmp_path: Path, number: signal.Signals, code: int) -> None:
    """F27: what is folded is published and committed, under load and with a backlog; nothing more is folded."""
    async with fleet(broker, tmp_path, 2, batch=50) as ledger:
        publisher = Publisher(ledger.log, seed=27, chunk=200)
        await publisher.publish(600)
        publisher.go_on()
        worker = ledger.start("a")
        await worker.says("catching up")
        await asyncio.sleep(0.3)
        worker.signal(number)
        assert await worker.ended(20) == code
        await publisher.stop()
        assert "Traceback" not in worker.said
        folded = {n: offset for n, offset in ledger.positions("a").items() if offset}
        assert folded
        assert {n: offset for n, offset in (await ledger.committed()).items() if offset} == folded
        await ledger.judge()


def worker(data: Path, *arguments: object, prefix: str) -> Ran:
    """A worker in an interpreter of its own, to its end."""
    return in_subprocess("worker", *arguments, data=data, env={"CLEDGER_KAFKA_PREFIX": prefix})


async def test_command_serves_on_loopback_next_to_another_and_ends_on_a_signal(broker: str, tmp_path: Path) -> None:
    """P12, F27: the default port may be taken; the address is told; the command itself is what runs here."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 6066))
            taken.listen()
        except OSError:
            pass  # somebody has it, which is what the test wants
        log = await KafkaLog.create(broker, 1, prefix=new_prefix())
        process = subprocess.Popen(  # noqa: ASYNC220  it is read in a thread
            command_line("worker", "--log", f"kafka://{broker}"),
            cwd=ROOT,
            env=environment(tmp_path / "data", CLEDGER_KAFKA_PREFIX=log.prefix),
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        said = ""
        while "partition 0: live" not in said:
            line = await asyncio.to_thread(process.stderr.readline)
            assert line, said
            said += line
        assert "INFO port 6066 is taken, answering on " in said  # nothing is amiss with that
        assert "answering at http://127.0.0.1:" in said
        process.send_signal(signal.SIGTERM)
        _, rest = await asyncio.to_thread(process.communicate, timeout=30)
        assert process.returncode == 0, said + rest
        await log.close()


async def test_what_a_worker_cannot_do_is_refused_before_it_starts(broker: str, tmp_path: Path) -> None:
    """P12, F29, contracts section 3: exit code and the way out."""
    async with fleet(broker, tmp_path, 1) as ledger:
        first = ledger.start("a")
        await first.says("live")
        refusals = {
            ("--web", "0.0.0.0:0"): (2, "--token-file"),
            ("--web", "nowhere"): (2, "no address"),
            ("--web", (await first.url()).removeprefix("http://")): (4, "is taken"),
            ("--web", "127.0.0.1:0"): (2, "CLEDGER_DATA of its own: CLEDGER_DATA="),  # the indexes of the first
        }
        for arguments, (code, said) in refusals.items():
            ran = ledger.start("a", *arguments)
            assert await ran.ended() == code, ran.said
            assert said in ran.said
            assert "Traceback" not in ran.said
        assert first.running()
    for address, code in (
        ("kafka://127.0.0.1:1", 4),
        (f"kafka://{broker}", 4),
        ("http://x", 2),
    ):  # no broker, no log, no log URL
        ran = worker(tmp_path / "none", "--log", address, prefix=new_prefix())
        assert ran.code == code, ran.err
        assert "Traceback" not in ran.err


async def test_index_that_was_damaged_or_lost_between_two_lives_is_rebuilt_and_nothing_is_said_again(
    broker: str, tmp_path: Path
) -> None:
    """P7, F16: noticed at the start, told, folded anew from the log; what is on record stays the only copy."""
    async with fleet(broker, tmp_path, 1) as ledger:
        await Publisher(ledger.log, seed=16, chunk=60).publish(300)
        place = tmp_path / "a" / "kafka" / ledger.log.identity.log_id / "index" / "p000"
        for damage in ("none", "cut", "emptied", "removed"):
            size = (place / DATA).stat().st_size if damage != "none" else 0
            if damage in ("cut", "emptied"):
                os.truncate(place / DATA, size // 2 if damage == "cut" else 0)
            elif damage == "removed":
                shutil.rmtree(place)
            worker = ledger.start("a", "--exit-when-idle", 0)
            assert await worker.ended() == 0
            assert ("building it anew" in worker.said) == (damage not in ("none", "removed"))
        assert (await ledger.judge()).repeats <= await repeats_of(ledger)


async def repeats_of(ledger: Fleet) -> int:
    """How often a request that came again was answered again, in an undisturbed fold."""
    folded, _ = await undisturbed(ledger.log, toy=True)
    verdict = Verdict()
    for topic in (DECISIONS, ALERTS):
        for found in (await outputs_of(folded, topic)).values():
            first_copies(found, verdict)
    return verdict.repeats


async def shipped() -> list[NewEntry]:
    """The records of the shipped scenarios, one after the other."""
    found = []
    for scenario in scenarios(str(SCENARIOS), SCENARIOS.read_bytes()):
        found += [NewEntry(decode_record(value).scope, value) for value in await records_of(scenario)]
    return found


async def played(ledger: Fleet, records: list[NewEntry], workers: int) -> Verdict:
    """The records through so many workers at once."""
    for name in range(workers):
        ledger.start(f"w{name}")
    for at in range(0, len(records), 20):
        await ledger.log.append(EVENTS, records[at : at + 20])
    await ledger.settled()
    assert await ledger.stop() == [0] * workers
    return await ledger.judge()


async def test_shipped_scenarios_give_the_same_bytes_under_any_partition_count_and_on_the_other_log(
    broker: str, tmp_path: Path
) -> None:
    """P2: decisions, alerts and digest, by two workers on 4 partitions, by one on 1 and on 64, and folded by nobody else from a
    copy on the embedded log.
    """
    records = await shipped()
    alone = MemoryLog()
    await alone.append(EVENTS, records)
    folded, digests = await undisturbed(alone, toy=False)
    expected = {
        f"{topic} {scope}": first_copies(found, Verdict())
        for topic in (DECISIONS, ALERTS)
        for scope, found in (await outputs_of(folded, topic)).items()
    }
    assert expected
    for partitions, workers in ((4, 2), (1, 1), (64, 1)):
        place = tmp_path / f"p{partitions}"
        place.mkdir()
        async with fleet(broker, place, partitions, toy=False, batch=16) as ledger:
            await played(ledger, records, workers)
            assert await ledger.said() == expected
            assert ledger.digests() == digests
            if partitions == 4:
                await copied(ledger, tmp_path)
    assert len(digests) >= 5


async def copied(ledger: Fleet, tmp_path: Path) -> None:
    """What a fleet recorded, on the embedded log: nothing differs and nothing is due, and the digest is the same."""
    env = {"CLEDGER_KAFKA_PREFIX": ledger.log.prefix}
    here = f"lmdb:{tmp_path}/copy"
    done = in_subprocess("log", "copy", ledger.url, here, "--json", data=tmp_path / "d", env=env)
    assert done.code == 0, done.err
    answers = []
    for url in (ledger.url, here):
        ran = in_subprocess("replay", "--verify", "--log", url, "--json", data=tmp_path / "d", env=env)
        assert ran.code == 0, ran.err
        assert ran.object["differences"] == []
        answers.append(ran.object)
    assert answers[0]["decisions"] > 0
    assert {key: answers[0][key] for key in ("digest", "records", "decisions", "alerts")} == {
        key: answers[1][key] for key in ("digest", "records", "decisions", "alerts")
    }


async def test_embedded_log_has_a_worker_too(tmp_path: Path) -> None:
    """One machine, no broker: the same command, and it owns everything."""
    made = in_subprocess("ingest", ROOT / "ops" / "samples" / "codex-tide-cache.jsonl", data=tmp_path)
    assert made.code == 0, made.err
    ran = in_subprocess("worker", "--exit-when-idle", 0, "--web", "127.0.0.1:0", data=tmp_path)
    assert ran.code == 0, ran.err
    assert "everything is folded and published" in ran.err
