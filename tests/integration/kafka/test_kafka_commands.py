"""The command on a log in Kafka: topics made and checked, transcripts in, logs copied to and fro, questions answered."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from ledger.log import EVENTS
from tests.support.broker import admin_of, new_prefix
from tests.support.cli import SAMPLE, SESSION, Ran, in_process

pytestmark = pytest.mark.integration


class Ledger:
    """A ledger on Kafka as the command sees it."""

    def __init__(self, broker: str, prefix: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.broker, self.prefix, self._capsys = broker, prefix, capsys
        self.url = f"kafka://{broker}"

    def cli(self, *arguments: object) -> Ran:
        return in_process(self._capsys, *arguments)


@pytest.fixture
def kafka(broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ledger:
    prefix = new_prefix()
    monkeypatch.setenv("CLEDGER_KAFKA_PREFIX", prefix)
    monkeypatch.setenv("CLEDGER_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("CLEDGER_LOG", raising=False)
    return Ledger(broker, prefix, capsys)


async def configured(kafka: Ledger, setting: str, value: str) -> None:
    """Set one setting of the events topic, the others left at the broker's defaults: an operator's one-line change."""
    async with admin_of(kafka.broker) as admin:
        resource = ConfigResource(ConfigResourceType.TOPIC, kafka.prefix + EVENTS, configs={setting: value})
        await admin.alter_configs([resource])


def test_topics_are_missing_then_made_then_as_planned(kafka: Ledger) -> None:
    assert kafka.cli("topics", "verify", "--log", kafka.url).code == 4
    assert kafka.cli("sessions", "--log", kafka.url).code == 4
    made = kafka.cli("topics", "create", "--partitions", 3, "--log", kafka.url, "--json")
    assert made.code == 0, made.err
    verified = kafka.cli("topics", "verify", "--log", kafka.url, "--json")
    assert verified.code == 0
    assert verified.object["log_id"] == made.object["log_id"]
    assert {found["weight"] for found in verified.object["findings"]} <= {"warning"}
    again = kafka.cli("topics", "create", "--partitions", 3, "--log", kafka.url)
    assert again.code == 2
    assert "there is a log already" in again.err


def test_compacted_ledger_topic_is_an_incident(kafka: Ledger) -> None:
    assert kafka.cli("topics", "create", "--partitions", 1, "--log", kafka.url).code == 0
    asyncio.run(configured(kafka, "cleanup.policy", "compact"))
    verified = kafka.cli("topics", "verify", "--log", kafka.url, "--json")
    assert verified.code == 5
    assert verified.object["verdict"] == "incident"
    (first, *_) = verified.object["findings"]
    assert (first["setting"], first["found"], first["topic"]) == ("cleanup.policy", "compact", EVENTS)


def test_topic_made_anew_is_an_incident(kafka: Ledger) -> None:
    assert kafka.cli("topics", "create", "--partitions", 1, "--log", kafka.url).code == 0

    async def deleted() -> None:
        async with admin_of(kafka.broker) as admin:
            await admin.delete_topics([kafka.prefix + EVENTS])

    asyncio.run(deleted())
    verified = kafka.cli("topics", "verify", "--log", kafka.url, "--json")
    assert verified.code == 5
    assert "was deleted" in verified.object["log"]
    again = kafka.cli("topics", "create", "--partitions", 1, "--log", kafka.url)
    assert again.code == 5
    assert f"{kafka.prefix + EVENTS} was deleted" in again.err
    assert "CLEDGER_KAFKA_PREFIX" in again.err


def test_log_copied_to_kafka_and_back_is_the_same_ledger(kafka: Ledger, tmp_path: Path) -> None:
    """P2: same digest, decisions and alerts on the embedded log, on Kafka with more partitions, and back."""
    here, back = f"lmdb:{tmp_path}/here", f"lmdb:{tmp_path}/back"
    assert kafka.cli("ingest", SAMPLE, "--log", here).code == 0
    assert kafka.cli("topics", "create", "--partitions", 3, "--log", kafka.url).code == 0
    for source, target in ((here, kafka.url), (kafka.url, back)):
        copied = kafka.cli("log", "copy", source, target, "--json")
        assert copied.code == 0, copied.err
        assert all(topic["copied"] for topic in copied.object["topics"])
    assert not any(topic["copied"] for topic in kafka.cli("log", "copy", here, kafka.url, "--json").object["topics"])
    replays = [kafka.cli("replay", "--verify", "--log", url, "--json").object for url in (here, kafka.url, back)]
    assert replays[0]["differences"] == []
    assert replays[0]["decisions"] > 0
    assert replays == [replays[0]] * 3
    for emitted in ("decisions", "alerts"):
        assert len({kafka.cli("replay", "--emit", emitted, "--log", url).out for url in (here, kafka.url, back)}) == 1


def test_transcript_ingested_into_kafka_is_folded_for_questions_and_published_by_nobody(kafka: Ledger) -> None:
    """Reading commands fold for themselves; decisions and alerts are the workers' to publish."""
    assert kafka.cli("topics", "create", "--partitions", 3, "--log", kafka.url).code == 0
    first = kafka.cli("ingest", SAMPLE, "--log", kafka.url, "--json")
    assert first.code == 0, first.err
    total = first.objects[-1]
    assert total["added"] == total["records"] > 0
    assert total["alerts"] is None
    assert kafka.cli("ingest", SAMPLE, "--log", kafka.url, "--json").objects[-1]["added"] == 0
    assert SESSION in [row["session"] for row in kafka.cli("sessions", "--log", kafka.url, "--json").objects]
    assert kafka.cli("forgotten", SESSION, "--log", kafka.url).code == 1
    assert kafka.cli("alerts", "--log", kafka.url, "--json").out == ""
    assert kafka.cli("doctor", "--log", kafka.url).code == 0
    verified = kafka.cli("replay", "--verify", "--log", kafka.url, "--json")
    assert verified.code == 0, verified.err
    assert verified.object["due"] > 0


READING = (("sessions",), ("ingest", SAMPLE), ("topics", "verify"), ("worker", "--agents", "--web", "127.0.0.1:0"))


def test_broker_that_is_not_there_is_exit_4_with_its_address_and_what_to_do(kafka: Ledger) -> None:
    """In words: what the client library puts around them helps nobody."""
    for arguments in (*READING, ("topics", "create")):
        ran = kafka.cli(*arguments, "--log", "kafka://127.0.0.1:1")
        assert ran.code == 4
        assert "kafka://127.0.0.1:1: no broker can be reached" in ran.err
        assert "Check that a broker is up" in ran.err
        assert "Error" not in ran.err
        assert "AddressFamily" not in ran.err


def test_wrong_prefix_names_what_was_looked_for_and_the_logs_that_are_there(
    kafka: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nearest name first, with the line that chooses it; whoever follows nothing is told so at once."""
    assert kafka.cli("topics", "create", "--partitions", 1, "--log", kafka.url).code == 0
    wrong = f"{kafka.prefix[:-1]}x."
    monkeypatch.setenv("CLEDGER_KAFKA_PREFIX", wrong)
    for arguments in READING:
        ran = kafka.cli(*arguments, "--log", kafka.url)
        assert ran.code == 4
        assert f"under the prefix {wrong!r} (CLEDGER_KAFKA_PREFIX)" in ran.err
        assert wrong + EVENTS in ran.err
        assert f"export CLEDGER_KAFKA_PREFIX={kafka.prefix}\n" in ran.err
        assert "cledger topics create" in ran.err
