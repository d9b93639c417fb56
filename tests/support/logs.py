"""Opening a log by its address, for processes that a test starts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ledger.adapters.lmdb_log import LmdbLog
from ledger.log import Log


async def _open_lmdb(rest: str) -> Log:
    return LmdbLog.open(rest)


OPENERS: dict[str, Callable[[str], Awaitable[Log]]] = {"lmdb": _open_lmdb}
"""Scheme -> how to open what stands after the colon."""


async def open_address(address: str) -> Log:
    """The existing log at `scheme:rest`."""
    scheme, _, rest = address.partition(":")
    return await OPENERS[scheme](rest)
