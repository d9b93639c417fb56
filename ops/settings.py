"""Typed configuration, read once from the environment; no option is looked up anywhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
import platformdirs

from ledger.errors import UsageError


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Where things live. `data` holds the default log, indexes, cursors and the hooks' spool."""

    data: Path
    log_url: str

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """`CLEDGER_DATA` and `CLEDGER_LOG`, else the user's data directory and the embedded log below it."""
        env = os.environ if environment is None else environment
        data = Path(env.get("CLEDGER_DATA") or platformdirs.user_data_dir("cledger", appauthor=False))
        return cls(data=data, log_url=env.get("CLEDGER_LOG") or f"lmdb:{data / 'log'}")


class LogAddress(msgspec.Struct, frozen=True):
    """A parsed log URL: scheme `lmdb` with a directory, or `kafka` with host:port pairs."""

    scheme: str
    target: str

    @property
    def directory(self) -> Path:
        """The directory of an embedded log."""
        return Path(self.target)


def parse_log_url(url: str) -> LogAddress:
    """`lmdb:DIR` or `kafka://HOST:PORT[,HOST:PORT]`. Raises `UsageError` for anything else."""
    if url.startswith("lmdb:") and len(url) > len("lmdb:") and "\0" not in url:
        return LogAddress("lmdb", str(Path(url.removeprefix("lmdb:")).expanduser()))
    if url.startswith("kafka://") and _are_hosts(url.removeprefix("kafka://")):
        return LogAddress("kafka", url.removeprefix("kafka://"))
    raise UsageError(f"{url!r} is no log address", hint="Expected lmdb:DIRECTORY or kafka://HOST:PORT[,HOST:PORT].")


def _are_hosts(text: str) -> bool:
    for pair in text.split(","):
        host, colon, port = pair.rpartition(":")
        if not host or not colon or not (port.isascii() and port.isdecimal()) or not 0 < int(port) < 65536:
            return False
    return True
