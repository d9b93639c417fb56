"""Making the topics of a ledger on Kafka, and comparing a cluster with the table in `consumers.topics`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Self, TypeVar

import msgspec
from aiokafka import errors
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError

from consumers.topics import TABLE, Finding, Planned, Seen, findings, plan, warnings_for
from ledger.errors import LedgerError, LogMissing, LogUnavailable, UsageError
from ledger.kafka.connection import TIMEOUT_S, told
from ledger.kafka.identity import PARTITIONS
from ledger.log import DEAD_LETTERS
from ops.settings import KafkaSettings, parse_log_url
from ops.wiring import create_kafka_log, open_log

T = TypeVar("T")


class Created(msgspec.Struct, frozen=True, kw_only=True):
    """A log that was just made."""

    log_id: str
    partitions: int
    replication: int
    topics: list[str]
    warnings: list[Finding]


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """How a cluster compares with the table. `log_id` is null where the log itself could not be opened; `log` says why."""

    verdict: Literal["ok", "fault", "incident"]
    log_id: str | None
    log: str
    partitions: int
    brokers: int
    findings: list[Finding]

    @property
    def exit_code(self) -> int:
        """5 for an incident, 1 for a fault, 0 for warnings or nothing."""
        return {"ok": 0, "fault": 1, "incident": 5}[self.verdict]


def servers_of(url: str) -> str:
    """The brokers of a Kafka address. Raises `UsageError` for an embedded log, which has no topics to look after."""
    address = parse_log_url(url)
    if address.scheme != "kafka":
        raise UsageError(f"{url} is no log on Kafka", hint="Expected --log kafka://HOST:PORT[,HOST:PORT].")
    return address.target


async def create(url: str, partitions: int = PARTITIONS) -> Created:
    """Make a ledger: its topics, its dead letters and its identity. Raises `UsageError` if there is one, `LogUnavailable`."""
    servers, prefix = servers_of(url), KafkaSettings.from_environment().prefix
    async with _Cluster(servers) as cluster:
        brokers = await cluster.brokers()
        planned = {each.topic: each for each in plan(partitions, brokers)}
        configs = {each.topic: each.config for each in planned.values()}
        log = await create_kafka_log(url, partitions, configs)
        try:
            await cluster.make(prefix, planned[DEAD_LETTERS])
            return Created(
                log_id=log.identity.log_id,
                partitions=partitions,
                replication=planned[DEAD_LETTERS].replication,
                topics=[prefix + topic.name for topic in TABLE],
                warnings=warnings_for(brokers),
            )
        finally:
            await log.close()


async def verify(url: str) -> Verified:
    """Compare the cluster with the table, and the topics with the identity of the log.

    Raises `LogMissing` where there is no ledger at all, `LogUnavailable`.
    """
    servers, prefix = servers_of(url), KafkaSettings.from_environment().prefix
    log_id, said, partitions, damaged = None, "", 0, False
    try:
        log = await open_log(url, create=False)
        log_id, partitions = log.identity.log_id, log.identity.partitions
        await log.close()
    except LogMissing:
        raise
    except LedgerError as error:
        if error.exit_code != 5:
            raise
        said, damaged = error.message, True
    async with _Cluster(servers) as cluster:
        brokers = await cluster.brokers()
        seen = await cluster.seen(prefix)
    partitions = partitions or max(each.partitions for each in seen)
    found = findings(seen, partitions, brokers)
    weights = {finding.weight for finding in found}
    verdict: Literal["ok", "fault", "incident"] = (
        "incident" if damaged or "incident" in weights else "fault" if "fault" in weights else "ok"
    )
    return Verified(verdict=verdict, log_id=log_id, log=said, partitions=partitions, brokers=brokers, findings=found)


class _Cluster:
    """What an operator asks of a cluster, each call with a deadline and our errors."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._admin = AIOKafkaAdminClient(bootstrap_servers=servers, **KafkaSettings.from_environment().security())

    async def __aenter__(self) -> Self:
        try:
            await self._answer(self._admin.start)
        except BaseException:
            await self._admin.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._admin.close()

    async def _answer(self, call: Callable[..., Awaitable[T]], *args: Any) -> T:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await call(*args)
        except (KafkaError, OSError) as error:
            raise LogUnavailable(
                f"kafka://{self._servers}: {told(error) or 'no broker can be reached'}",
                hint="Check that a broker is up at this address and can be reached from here.",
            ) from error

    async def brokers(self) -> int:
        """How many there are."""
        return len((await self._answer(self._admin.describe_cluster))["brokers"])

    async def make(self, prefix: str, planned: Planned) -> None:
        """Make one topic, unless it is there."""
        topic = NewTopic(prefix + planned.topic, planned.partitions, planned.replication, topic_configs=planned.config)
        answer = await self._answer(self._admin.create_topics, [topic])
        for name, code, message in answer.topic_errors:
            error = errors.for_code(code)
            if code and error is not errors.TopicAlreadyExistsError:
                raise LogUnavailable(f"kafka://{self._servers}: {name} cannot be created: {message or error.__name__}")

    async def seen(self, prefix: str) -> list[Seen]:
        """Every topic of the table as the cluster has it."""
        described = await self._answer(self._admin.list_topics)
        present = [topic.name for topic in TABLE if prefix + topic.name in described]
        found = {name: Seen(topic=name, partitions=0, replication=0, config={}) for name in (topic.name for topic in TABLE)}
        if present:
            for row in await self._answer(self._admin.describe_topics, [prefix + name for name in present]):
                name = row["topic"].removeprefix(prefix)
                copies = min((len(each["replicas"]) for each in row["partitions"]), default=0)
                config = await self._config(row["topic"])
                found[name] = Seen(topic=name, partitions=len(row["partitions"]), replication=copies, config=config)
        return [found[topic.name] for topic in TABLE]

    async def _config(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        (answer,) = await self._answer(self._admin.describe_configs, [resource])
        return {row[0]: row[1] for resource_row in answer.resources for row in resource_row[4]}
