"""Opening a log by its address, for processes that a test starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ledger.adapters.kafka_log import KafkaLog
from ledger.adapters.lmdb_log import LmdbLog
from ledger.log import Log


async def _open_lmdb(rest: str) -> Log:
    return LmdbLog.open(rest)


def kafka_address(servers: str, prefix: str) -> str:
    """The address of a ledger that shares a cluster with others."""
    return f"kafka:{servers}/{prefix}"


async def _open_kafka(rest: str) -> Log:
    servers, _, prefix = rest.partition("/")
    return await KafkaLog.open(servers, prefix=prefix)


OPENERS: dict[str, Callable[[str], Awaitable[Log]]] = {"kafka": _open_kafka, "lmdb": _open_lmdb}
"""Scheme -> how to open what stands after the colon."""


async def open_address(address: str) -> Log:
    """The existing log at `scheme:rest`."""
    scheme, _, rest = address.partition(":")
    return await OPENERS[scheme](rest)
