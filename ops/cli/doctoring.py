"""`doctor`: is the place the ledger runs in fit for it?"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ops.cli.exit import FINE, settle
from ops.cli.options import Json, LogUrl, log_url
from ops.cli.screen import put, say

if TYPE_CHECKING:
    from ops.doctor import Check

_STYLES = {"ok": "green", "warning": "yellow", "fault": "bold red"}


def doctor(log: LogUrl = None, json: Json = False) -> None:
    """Check versions, disk space, log and index."""
    asyncio.run(_doctor(log, json))


async def _doctor(log: str | None, json: bool) -> None:
    from ops.doctor import doctor as examine
    from ops.settings import Settings

    for check in await examine(log_url(log), Settings.from_environment()):
        settle(check.exit_code if check.verdict == "fault" else FINE)
        put(check, json, _show)


def _show(check: Check) -> None:
    say((f"{check.verdict:<8}", _STYLES[check.verdict]), f"{check.name}: {check.found}", hang=8)
    if check.hint:
        say(check.hint, indent=8)
