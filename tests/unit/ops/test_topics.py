"""The topics as data: what is planned, and what a cluster that differs is told."""

from __future__ import annotations

import json

import pytest

from consumers.topics import TABLE, Fleet, Seen, config_of, findings, plan
from ledger.errors import UsageError
from ledger.kafka.envelope import wrap
from ledger.kafka.identity import IDENTITY
from ledger.kafka.writing import MESSAGE_BYTES_MAX
from ledger.log import DEAD_LETTERS, DECISIONS, EVENTS, HEADERS_BYTES_MAX, HEADERS_MAX, KEY_BYTES_MAX, TOPICS, VALUE_BYTES_MAX
from ops.topics import servers_of
from tests.support.cli import Cli

PARTITIONS = 64


def as_planned(brokers: int = 3, **changes: dict[str, str]) -> list[Seen]:
    """A cluster made by the plan, some settings of some topics changed."""
    return [
        Seen(
            topic=each.topic,
            partitions=each.partitions,
            replication=each.replication,
            config={**each.config, **changes.get(each.topic.replace(".", "_"), {})},
        )
        for each in plan(PARTITIONS, brokers)
    ]


def test_plan_ledger_topics_share_key_and_partitions_and_never_expire() -> None:
    planned = {each.topic: each for each in plan(PARTITIONS, 3)}
    for topic in TOPICS:
        assert (planned[topic].key, planned[topic].partitions, planned[topic].replication) == ("scope", PARTITIONS, 3)
        assert planned[topic].config["cleanup.policy"] == "delete"
        assert planned[topic].config["retention.ms"] == planned[topic].config["retention.bytes"] == "-1"
        assert planned[topic].config["min.insync.replicas"] == "2"
    assert planned[IDENTITY].partitions == 1
    assert planned[DEAD_LETTERS].config["retention.ms"] != "-1"


@pytest.mark.parametrize(("brokers", "replication", "in_sync"), [(1, 1, "1"), (2, 2, "1"), (3, 3, "2"), (9, 3, "2")])
def test_plan_replication_follows_the_brokers_up_to_three(brokers: int, replication: int, in_sync: str) -> None:
    for each in plan(PARTITIONS, brokers):
        assert (each.replication, each.config["min.insync.replicas"]) == (replication, in_sync)


def test_plan_bytes_a_day_grow_with_fleet_and_copies() -> None:
    one = sum(each.bytes_per_day for each in plan(PARTITIONS, 1, Fleet(messages_per_day=1000)))
    assert sum(each.bytes_per_day for each in plan(PARTITIONS, 3, Fleet(messages_per_day=1000))) == 3 * one
    assert sum(each.bytes_per_day for each in plan(PARTITIONS, 1, Fleet(messages_per_day=0))) == 0
    assert 700_000 < one < 1_000_000


def test_largest_entry_fits_into_a_batch_that_topics_take() -> None:
    """L11: what the port takes, the broker takes. Framing is at most 21 bytes a record and 10 a header, 61 a batch."""
    value = b'{"type":"' + b"t" * 200 + b'","id":"' + b"i" * 64 + b'"}'
    envelope = sum(len(name) + len(content) + 10 for name, content in wrap(DECISIONS, value, ()))
    assert VALUE_BYTES_MAX + HEADERS_BYTES_MAX + KEY_BYTES_MAX + envelope + 10 * HEADERS_MAX + 61 + 21 <= MESSAGE_BYTES_MAX
    assert all(topic.config["max.message.bytes"] == str(MESSAGE_BYTES_MAX) for topic in TABLE)


def test_cluster_made_by_the_plan_has_no_findings() -> None:
    assert findings(as_planned(3), PARTITIONS, 3) == []


def test_cluster_of_one_broker_is_a_warning_only() -> None:
    (found,) = findings(as_planned(1), PARTITIONS, 1)
    assert (found.weight, found.setting) == ("warning", "brokers")


@pytest.mark.parametrize(
    ("setting", "value", "weight"),
    [
        ("cleanup.policy", "compact", "incident"),
        ("cleanup.policy", "compact,delete", "incident"),
        ("retention.ms", "604800000", "incident"),
        ("retention.bytes", "1073741824", "incident"),
        ("max.message.bytes", "1048588", "fault"),
        ("message.timestamp.type", "CreateTime", "fault"),
        ("unclean.leader.election.enable", "true", "fault"),
        ("min.insync.replicas", "1", "fault"),
        ("min.insync.replicas", "3", "warning"),
        ("compression.type", "gzip", "warning"),
    ],
)
def test_setting_that_differs_is_weighed_by_what_it_does(setting: str, value: str, weight: str) -> None:
    (found,) = findings(as_planned(3, compaction_events={setting: value}), PARTITIONS, 3)
    assert (found.weight, found.topic, found.setting, found.found) == (weight, EVENTS, setting, value)
    assert setting in found.advice or weight == "incident"


def test_larger_message_limit_does_no_harm() -> None:
    assert findings(as_planned(3, compaction_events={"max.message.bytes": "9000000"}), PARTITIONS, 3) == []


def test_dead_letters_may_expire_and_are_no_incident_when_missing() -> None:
    seen = as_planned(3, compaction_events_dlq={"retention.ms": "86400000"})
    assert [found.weight for found in findings(seen, PARTITIONS, 3)] == ["warning"]
    missing = [
        each if each.topic != DEAD_LETTERS else Seen(topic=each.topic, partitions=0, replication=0, config={}) for each in seen
    ]
    assert [found.weight for found in findings(missing, PARTITIONS, 3)] == ["fault"]


def test_partitions_and_replicas_that_differ_are_told_worst_first() -> None:
    seen = as_planned(3)
    events = seen[0]
    seen[0] = Seen(topic=EVENTS, partitions=65, replication=1, config=config_of(TABLE[0], 1) | {"compression.type": "none"})
    found = findings(seen, PARTITIONS, 3)
    assert [(each.weight, each.setting) for each in found] == [
        ("incident", "partitions"),
        ("fault", "replication"),
        ("warning", "compression.type"),
    ]
    assert events.partitions == PARTITIONS


def test_topics_of_an_embedded_log_are_refused() -> None:
    with pytest.raises(UsageError, match=r"no log on Kafka"):
        servers_of("lmdb:somewhere")


def test_topics_plan_prints_every_topic_and_asks_no_cluster(cli: Cli) -> None:
    ran = cli("topics", "plan", "--partitions", 8, "--brokers", 1, "--json")
    assert ran.code == 0
    assert [row["topic"] for row in ran.objects] == [topic.name for topic in TABLE]
    shown = cli("topics", "plan", "--messages", 5000)
    assert shown.code == 0
    assert "5,000 messages a day" in shown.out
    assert json.dumps(ran.objects)
