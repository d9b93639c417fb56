"""The composition root: the only place that names an adapter. Everything else is given a log."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from ledger.adapters.lmdb_log import LmdbLog
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import LogMissing
from ledger.log import Log, LogIdentity, NewEntry
from ops.settings import KafkaSettings, LogAddress, Settings, parse_log_url

EMBEDDED_PARTITIONS = 1
"""One machine folds an embedded log alone, so a second partition would only split its commits."""


async def open_log(url: str, *, create: bool) -> Log:
    """The log at this address. Reading commands pass `create=False`: they never make a log.

    A log on Kafka is never made on the way: its partition count is for ever, so somebody has to choose it (`topics create`).
    Raises `UsageError` for a bad address, `LogMissing` where there is none, `LogUnavailable`, `LogDamaged`.
    """
    address = parse_log_url(url)
    if address.scheme == "kafka":
        from ledger.adapters.kafka_log import KafkaLog  # the client library takes a while to load

        kafka = KafkaSettings.from_environment()
        return await KafkaLog.open(address.target, prefix=kafka.prefix, security=kafka.security())
    if create:
        return LmdbLog.open_or_create(address.directory, partitions=EMBEDDED_PARTITIONS)
    return _existing(address)


async def create_kafka_log(url: str, partitions: int, configs: Mapping[str, Mapping[str, str]]) -> Log:
    """Make a log on Kafka, its topics with these settings. Raises `UsageError` if there is one, `LogUnavailable`."""
    from ledger.adapters.kafka_log import KafkaLog

    kafka = KafkaSettings.from_environment()
    servers = parse_log_url(url).target
    return await KafkaLog.create(servers, partitions, prefix=kafka.prefix, configs=configs, security=kafka.security())


def _existing(address: LogAddress) -> Log:
    try:
        return LmdbLog.open(address.directory)
    except LogMissing as error:
        raise LogMissing(
            f"there is no log at lmdb:{address.directory}",
            hint="Make one with: cledger ingest PATH --log lmdb:DIRECTORY",
        ) from error


def is_shared(url: str) -> bool:
    """Is this a log that workers fold and publish for? Others fold it for themselves and publish nothing."""
    return parse_log_url(url).scheme == "kafka"


def backfill_of(url: str, log: Log) -> Callable[[list[NewEntry]], Awaitable[None]] | None:
    """How a backfill appends: at the pace of the workers on a fleet's log; an embedded one has nobody to wait for."""
    if not is_shared(url):
        return None
    from consumers.membership import committed_offsets
    from ops.pacing import Pacer

    kafka, servers, partitions = KafkaSettings.from_environment(), parse_log_url(url).target, log.identity.partitions
    return Pacer(log, lambda: committed_offsets(servers, kafka.prefix, partitions, kafka.security())).append


def index_directory(url: str, identity: LogIdentity) -> Path:
    """Where the carrier indexes of a log stand.

    Those of an embedded log stand beside its topics, so that the directory is self-contained. Those of a log on Kafka stand
    under `CLEDGER_DATA`, by the id of the log: another log at the same address gets other indexes.
    """
    address = parse_log_url(url)
    if address.scheme == "kafka":
        return Settings.from_environment().data / "kafka" / identity.log_id / "index"
    return address.directory / "index"


def desk_directory(url: str, identity: LogIdentity) -> Path:
    """Where the carrier indexes stand that commands fold for themselves. Of a log on Kafka they are their own: a worker on this
    machine keeps its indexes to itself for as long as it runs, and owns some partitions only.
    """
    shared = index_directory(url, identity)
    return shared.with_name("desk-index") if parse_log_url(url).scheme == "kafka" else shared


def standing_directory(url: str, identity: LogIdentity) -> Path:
    """Where the indexes stand that an audit looks at: a worker's, where it has all of them, else those of commands."""
    shared = index_directory(url, identity)
    return shared if len(list(shared.glob("p*"))) == identity.partitions else desk_directory(url, identity)


def scratch_log() -> Log:
    """A log in memory, for questions about a file that need no log."""
    return MemoryLog(partitions=EMBEDDED_PARTITIONS)
