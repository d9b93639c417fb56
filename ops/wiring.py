"""The composition root: the only place that names an adapter. Everything else is given a log."""

from __future__ import annotations

from pathlib import Path

from ledger.adapters.lmdb_log import LmdbLog
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import LogMissing, LogUnavailable
from ledger.log import Log
from ops.settings import LogAddress, parse_log_url

EMBEDDED_PARTITIONS = 1
"""One machine folds an embedded log alone, so a second partition would only split its commits."""


def open_log(url: str, *, create: bool) -> Log:
    """The log at this address. Reading commands pass `create=False`: they never make a log.

    Raises `UsageError` for a bad address, `LogMissing` where there is none, `LogUnavailable`, `LogDamaged`.
    """
    address = parse_log_url(url)
    if address.scheme == "kafka":
        raise LogUnavailable(f"{url}: this release has no Kafka adapter yet", hint="Use an embedded log: --log lmdb:DIRECTORY")
    if create:
        return LmdbLog.open_or_create(address.directory, partitions=EMBEDDED_PARTITIONS)
    return _existing(address)


def _existing(address: LogAddress) -> Log:
    try:
        return LmdbLog.open(address.directory)
    except LogMissing as error:
        raise LogMissing(
            f"there is no log at lmdb:{address.directory}",
            hint="Make one with: cledger ingest PATH --log lmdb:DIRECTORY",
        ) from error


def index_directory(url: str) -> Path:
    """Where the carrier indexes of an embedded log stand: beside its topics, so that the directory is self-contained."""
    return parse_log_url(url).directory / "index"


def scratch_log() -> Log:
    """A log in memory, for questions about a file that need no log."""
    return MemoryLog(partitions=EMBEDDED_PARTITIONS)
