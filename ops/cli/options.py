"""Options that several commands share, and what they stand for."""

from __future__ import annotations

import re
import time
from typing import Annotated

import typer

from ledger.errors import UsageError

Json = Annotated[bool, typer.Option("--json", help="Print JSON lines.")]
LogUrl = Annotated[
    str | None,
    typer.Option(
        "--log", metavar="URL", help="The log: lmdb:DIR or kafka://HOST:PORT[,…]. Default: CLEDGER_LOG, else the user's data."
    ),
]
Local = Annotated[bool, typer.Option("--local", help="Fold here, and ask no worker of a log on Kafka.")]
TokenFile = Annotated[
    str | None,
    typer.Option("--token-file", metavar="FILE", help="The token that workers ask for. Default: CLEDGER_TOKEN_FILE."),
]
SessionName = Annotated[str, typer.Option("--session", metavar="S", help="Session id, or the beginning of one.")]
FactText = Annotated[str, typer.Argument(metavar="FACT", help="A fact id, or words that state the fact.")]
Paths = Annotated[list[str], typer.Argument(metavar="PATH...", help="Transcript files, or folders with some.")]

SINCE_HELP = "Leave out older ones, by event time: 7d, 24h or 30m ago, or ISO 8601."

_UNIT_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_AGO = re.compile(r"(\d{1,6})([mhdw])", re.ASCII)


def log_url(option: str | None) -> str:
    """The log that was asked for, by option or environment. Raises `UsageError` for a bad address."""
    from ops.settings import Settings, parse_log_url

    url = option if option is not None else Settings.from_environment().log_url
    parse_log_url(url)
    return url


def since_ms(text: str | None) -> int | None:
    """A point in time given on the command line: ISO 8601, or how long ago. Raises `UsageError`."""
    from ops.replay import parse_time_ms

    if text is None:
        return None
    ago = _AGO.fullmatch(text.strip())
    if ago is not None:
        return int(time.time() * 1000) - int(ago[1]) * _UNIT_MS[ago[2]]
    try:
        return parse_time_ms(text)
    except UsageError:
        raise UsageError(f"--since {text!r} is no time", hint="Expected 7d, 24h, 30m, or 2026-11-30T12:00") from None


def one_of(value: str, allowed: tuple[str, ...], option: str) -> str:
    """`value`, if it is allowed. Raises `UsageError` that lists what is."""
    if value not in allowed:
        raise UsageError(f"{option} {value!r} is not known", hint=f"Choose from: {', '.join(allowed)}.")
    return value
