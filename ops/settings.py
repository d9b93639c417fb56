"""Typed configuration, read once from the environment; no option is looked up anywhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import platformdirs

from ledger.errors import UsageError


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Where things live. `data` holds the default log, indexes, cursors and the hooks' spool."""

    data: Path
    log_url: str
    token_file: str = ""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """`CLEDGER_DATA` and `CLEDGER_LOG`, else the user's data directory and the embedded log below it; `CLEDGER_TOKEN_FILE`
        names the file with the token of the fleet's workers.
        """
        env = os.environ if environment is None else environment
        data = Path(env.get("CLEDGER_DATA") or platformdirs.user_data_dir("cledger", appauthor=False))
        return cls(
            data=data, log_url=env.get("CLEDGER_LOG") or f"lmdb:{data / 'log'}", token_file=env.get("CLEDGER_TOKEN_FILE", "")
        )


SASL_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
PREFIX_ALLOWED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


class KafkaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach a Kafka cluster, beside its address. A password comes from a file and never from a command line."""

    prefix: str = ""
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""
    sasl_mechanism: str = ""
    user: str = ""
    password_file: str = ""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> KafkaSettings:
        """`CLEDGER_KAFKA_PREFIX`, `_CA`, `_CERT`, `_KEY`, `_SASL`, `_USER` and `_PASSWORD_FILE`. Raises `UsageError`."""
        env = os.environ if environment is None else environment
        names = {
            "prefix": "PREFIX",
            "ca_file": "CA",
            "cert_file": "CERT",
            "key_file": "KEY",
            "sasl_mechanism": "SASL",
            "user": "USER",
            "password_file": "PASSWORD_FILE",
        }
        found = cls(**{field: env.get(f"CLEDGER_KAFKA_{name}", "") for field, name in names.items()})
        if not set(found.prefix) <= PREFIX_ALLOWED:
            raise UsageError(
                f"CLEDGER_KAFKA_PREFIX={found.prefix!r} cannot begin a topic name", hint="Use letters, digits, dot, _ and -."
            )
        if found.sasl_mechanism and found.sasl_mechanism not in SASL_MECHANISMS:
            raise UsageError(
                f"CLEDGER_KAFKA_SASL={found.sasl_mechanism!r} is not known", hint=f"Choose from: {', '.join(SASL_MECHANISMS)}."
            )
        return found

    def security(self) -> dict[str, Any]:
        """What the client library takes: plain text on a trusted network unless a CA or a user is named.

        A CA file turns TLS on, certificate and key files add the client's own, user and password file log in by SASL.
        Raises `UsageError` for a file that cannot be read.
        """
        if not (self.ca_file or self.sasl_mechanism):
            return {}
        import ssl  # a part of OpenSSL that an embedded log does without

        options: dict[str, Any] = {}
        try:
            if self.ca_file:
                options["ssl_context"] = ssl.create_default_context(cafile=self.ca_file)
                if self.cert_file:
                    options["ssl_context"].load_cert_chain(self.cert_file, self.key_file or None)
            if self.sasl_mechanism:
                options["sasl_mechanism"] = self.sasl_mechanism
                options["sasl_plain_username"] = self.user
                options["sasl_plain_password"] = Path(self.password_file).read_text("utf-8-sig").rstrip("\r\n")
        except (OSError, ValueError) as error:
            raise UsageError(f"the settings CLEDGER_KAFKA_… name a file that cannot be used: {error}") from error
        options["security_protocol"] = ("SASL_" if self.sasl_mechanism else "") + ("SSL" if self.ca_file else "PLAINTEXT")
        return options


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
