"""The topics of a ledger on Kafka, as data: names, keys, sizes and settings, and what is wrong with a cluster that differs.

The three ledger topics have one key (the scope), one partition count and no end: they are the truth, and compacting, expiring
or repartitioning them erases or misplaces history. Beside them stand the record that says which log this is, and the dead
letters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from ledger.kafka.connection import REPLICATION
from ledger.kafka.identity import IDENTITY, PARTITIONS, TOPIC_CONFIG
from ledger.log import ALERTS, DEAD_LETTERS, DECISIONS, EVENTS, TOPICS

DEAD_LETTERS_RETENTION_MS = 90 * 86_400_000
"""Longer than anybody takes to look, and finite: the decision that rejects them stays, and so do their bytes in the events
topic.
"""

Weight = Literal["incident", "fault", "warning"]


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    """One topic as it should be. `co_partitioned` topics share the ledger's partition count, others have `partitions`."""

    name: str
    meaning: str
    key: str
    written_by: str
    read_by: str
    co_partitioned: bool
    config: Mapping[str, str]
    partitions: int = 1

    def count(self, partitions: int) -> int:
        """Its partition count in a ledger of this many partitions."""
        return partitions if self.co_partitioned else self.partitions


TABLE: tuple[Topic, ...] = (
    Topic(
        name=EVENTS,
        meaning="every record: what was said, summarised, requested, observed and audited",
        key="scope",
        written_by="publishers: readers, hooks, clients, auditors",
        read_by="workers, and whoever folds",
        co_partitioned=True,
        config=TOPIC_CONFIG,
    ),
    Topic(
        name=DECISIONS,
        meaning="what was granted, refused, judged and rejected, each with its whole effect",
        key="scope",
        written_by="the owner of the partition",
        read_by="clients that wait for an answer, auditors",
        co_partitioned=True,
        config=TOPIC_CONFIG,
    ),
    Topic(
        name=ALERTS,
        meaning="what was lost, turned around or not verified, raised and resolved",
        key="scope",
        written_by="the owner of the partition",
        read_by="sinks, people on call",
        co_partitioned=True,
        config=TOPIC_CONFIG,
    ),
    Topic(
        name=IDENTITY,
        meaning="one record that says which log these topics are",
        key="`identity`",
        written_by="cledger topics create",
        read_by="everybody who opens the log",
        co_partitioned=False,
        config=TOPIC_CONFIG,
    ),
    Topic(
        name=DEAD_LETTERS,
        meaning="bytes from the events topic that are no record, as they came",
        key="the original key",
        written_by="the owner of the partition",
        read_by="people who look into a rejected record",
        co_partitioned=True,
        config={**TOPIC_CONFIG, "retention.ms": str(DEAD_LETTERS_RETENTION_MS)},
    ),
)


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """One topic as it is to be made on a cluster of a known size."""

    topic: str
    key: str
    partitions: int
    replication: int
    config: dict[str, str]
    bytes_per_day: int
    """Stored on all replicas together, compressed."""


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """What a fleet publishes. The defaults for sizes were measured on 8,201 records of real coding sessions."""

    messages_per_day: int = 100_000
    message_bytes: int = 3_400
    """Mean bytes of one record as JSON, key included: one message of a transcript is one record."""

    stored_percent: int = 20
    """What zstd leaves of a batch, envelope included, in per cent of the records' JSON."""

    decision_percent: int = 6
    alert_percent: int = 25
    """JSON bytes of decisions and alerts, in per cent of the records' bytes: mostly evidence of what was lost."""


_OUTPUT_STORED_PERCENT = {DECISIONS: 16, ALERTS: 10}
"""What zstd leaves of decisions and alerts, which repeat themselves more than transcripts do."""


def plan(partitions: int = PARTITIONS, brokers: int = REPLICATION, fleet: Fleet | None = None) -> list[Planned]:
    """Every topic as it is to be made, with what a fleet adds to it each day."""
    fleet = fleet or Fleet()
    replication = min(REPLICATION, brokers)
    return [
        Planned(
            topic=topic.name,
            key=topic.key,
            partitions=topic.count(partitions),
            replication=replication,
            config=config_of(topic, replication),
            bytes_per_day=_bytes_per_day(topic.name, fleet) * replication,
        )
        for topic in TABLE
    ]


def config_of(topic: Topic, replication: int) -> dict[str, str]:
    """The settings of a topic with so many copies: an append waits for two of them where there are three."""
    return {**topic.config, "min.insync.replicas": str(min_in_sync(replication))}


def min_in_sync(replication: int) -> int:
    """Copies that must have a record before it counts as appended. One less than there are, so that one may be down."""
    return max(1, replication - 1)


def _bytes_per_day(topic: str, fleet: Fleet) -> int:
    records = fleet.messages_per_day * fleet.message_bytes
    if topic == EVENTS:
        return records * fleet.stored_percent // 100
    share = {DECISIONS: fleet.decision_percent, ALERTS: fleet.alert_percent}.get(topic, 0)
    return records * share * _OUTPUT_STORED_PERCENT.get(topic, 0) // 10_000


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One topic as a cluster has it; `partitions` 0 means that there is none. `replication` is that of its weakest
    partition.
    """

    topic: str
    partitions: int
    replication: int
    config: Mapping[str, str]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One difference. An incident has lost history or is about to; a fault breaks a promise; a warning is a known weakness."""

    weight: Weight
    topic: str
    setting: str
    expected: str
    found: str
    advice: str


def warnings_for(brokers: int) -> list[Finding]:
    """What a cluster of this size cannot promise."""
    if brokers >= REPLICATION:
        return []
    return [
        Finding(
            weight="warning",
            topic="",
            setting="brokers",
            expected=f"{REPLICATION} or more",
            found=str(brokers),
            advice="Kafka does not sync each record to disk: with fewer brokers a power loss can take acknowledged records.",
        )
    ]


def findings(seen: Sequence[Seen], partitions: int, brokers: int) -> list[Finding]:
    """Everything in which a cluster differs from the table, worst first."""
    by_name = {each.topic: each for each in seen}
    found = warnings_for(brokers)
    for topic in TABLE:
        found += _differences(topic, by_name[topic.name], topic.count(partitions), min(REPLICATION, brokers))
    order: dict[Weight, int] = {"incident": 0, "fault": 1, "warning": 2}
    return sorted(found, key=lambda finding: order[finding.weight])


def _differences(topic: Topic, seen: Seen, partitions: int, replication: int) -> list[Finding]:
    truth = topic.name != DEAD_LETTERS
    if not seen.partitions:
        return [
            _finding("incident" if truth else "fault", topic, "topic", "there", "missing", "Make it: cledger topics create")
        ]
    found = []
    if seen.partitions != partitions:
        weight: Weight = "incident" if topic.name in TOPICS else "fault"
        advice = "Scopes now go to other partitions than their history. Copy the ledger into topics of the right size."
        found.append(_finding(weight, topic, "partitions", str(partitions), str(seen.partitions), advice))
    if seen.replication < replication:
        advice = "Add replicas with kafka-reassign-partitions: a broker that fails takes records with it."
        found.append(_finding("fault", topic, "replication", str(replication), str(seen.replication), advice))
    for setting, expected in config_of(topic, seen.replication).items():
        value = seen.config.get(setting, "")
        if value != expected and (judged := _judged(topic, setting, expected, value)) is not None:
            found.append(judged)
    return found


def _judged(topic: Topic, setting: str, expected: str, value: str) -> Finding | None:
    """What a setting that differs means; None where it does no harm."""
    change = f"Set {setting}={expected} on {topic.name}."
    if setting == "cleanup.policy":
        advice = f"Compaction removes all but the newest record of a scope. {change} Then run: cledger verify"
        return _finding("incident" if "compact" in value else "fault", topic, setting, expected, value, advice)
    if setting in ("retention.ms", "retention.bytes") and topic.name != DEAD_LETTERS:
        advice = f"Records will be removed while facts still rest on them. {change}"
        return _finding("incident", topic, setting, expected, value, advice)
    if setting in ("retention.ms", "retention.bytes", "compression.type"):
        return _finding("warning", topic, setting, expected, value, change)
    if setting == "max.message.bytes" and value.isdecimal() and int(value) > int(expected):
        return None
    if setting == "min.insync.replicas" and value.isdecimal() and int(value) > int(expected):
        return _finding("warning", topic, setting, expected, value, f"Appends stop as soon as one broker is down. {change}")
    return _finding("fault", topic, setting, expected, value, change)


def _finding(weight: Weight, topic: Topic, setting: str, expected: str, found: str, advice: str) -> Finding:
    return Finding(weight=weight, topic=topic.name, setting=setting, expected=expected, found=found or "not set", advice=advice)
