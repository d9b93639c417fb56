"""Checks of the place the ledger runs in: what is no function of events goes here and never into the alerts."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
from pathlib import Path
from typing import Literal

import msgspec

from ledger.errors import IndexDamaged, LedgerError
from ledger.facts import EXTRACTOR, RULES_VERSION
from ledger.log import Log
from ops.queries.rejections import rejected_kinds
from ops.settings import Settings, parse_log_url
from ops.store import open_store

Verdict = Literal["ok", "warning", "fault"]

SPACE_BYTES_LOW = 256 << 20
"""Free space below which a long session may fill the disk before anybody looks."""

UNKNOWN = 3
"""What a log that holds unreadable records means to a script: nothing was altered, and not everything is known."""

LIBRARIES = ("msgspec", "lmdb", "typer", "rich")


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One check, with what would help where it did not go well. `exit_code` is what a fault means to a script."""

    name: str
    verdict: Verdict
    found: str
    hint: str = ""
    exit_code: int = 0


async def doctor(url: str, settings: Settings) -> list[Check]:
    """Every check, each by itself: one that fails does not hide the others."""
    checks = [_versions(), _place(url, settings)]
    try:
        checks.extend(await _log(url))
    except LedgerError as error:
        checks.append(Check(name="log", verdict="fault", found=error.message, hint=error.hint, exit_code=error.exit_code))
    return checks


def _versions() -> Check:
    libraries = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    found = f"Python {platform.python_version()}, rules {RULES_VERSION}, extractor {EXTRACTOR}, {libraries}"
    return Check(name="versions", verdict="ok", found=found)


def _place(url: str, settings: Settings) -> Check:
    """Free space where the log is, or will be."""
    address = parse_log_url(url)
    place = address.directory if address.scheme == "lmdb" else settings.data
    while not place.exists() and place != place.parent:
        place = place.parent
    free = shutil.disk_usage(place).free
    found = f"{free >> 20} MiB free below {place}"
    if free < SPACE_BYTES_LOW:
        return Check(name="space", verdict="warning", found=found, hint="Free some, or move the log with --log lmdb:DIR.")
    return Check(name="space", verdict="ok", found=found)


async def _log(url: str) -> list[Check]:
    notices: list[str] = []
    async with open_store(url, notice=notices.append) as store:
        gap = await store.fold("try")
        address = parse_log_url(url)
        size = f", {_size_of(address.directory) >> 20} MiB on disk" if address.scheme == "lmdb" else ""
        checks = [
            Check(
                name="log",
                verdict="ok",
                found=f"id {store.log.identity.log_id}, {store.log.identity.partitions} partition(s){size}",
            ),
            Check(
                name="index",
                verdict="warning" if notices or gap else "ok",
                found=notices[0] if notices else f"{gap} records behind the log" if gap else "up to date",
                hint="Another process folds right now." if gap else "",
            ),
        ]
        for partition in store.partitions:
            problems = partition.index.file.check_structure()
            if problems:
                checks.append(
                    Check(
                        name="index pages",
                        verdict="fault",
                        found=problems[0],
                        hint=f"Delete {partition.index.directory}; any command rebuilds it from the log.",
                        exit_code=IndexDamaged.exit_code,
                    )
                )
        with store.reading(gap) as reading:
            sessions = list(reading.sessions())
        compacted = sum(1 for found in sessions if found.session.rounds)
        checks.append(Check(name="sessions", verdict="ok", found=f"{len(sessions)} on record, {compacted} compacted"))
        checks.append(await _records(store.log))
    return checks


async def _records(log: Log) -> Check:
    """Records that changed nothing. Of some nobody knows what they said, so their scope is unknown; the others were refused."""
    try:
        kinds = await rejected_kinds(log)
    except LedgerError as error:
        return Check(name="records", verdict="fault", found=error.message, hint=error.hint, exit_code=error.exit_code)
    if not kinds:
        return Check(name="records", verdict="ok", found="none was rejected")
    told = ", ".join(f"{kind.count:,} {kind.reason} (first: {kind.first})" for kind in kinds)
    lost = any(kind.quarantined for kind in kinds)
    look = "Each has a record.rejected with reason and subject: cledger replay --emit decisions"
    return Check(
        name="records",
        verdict="fault" if lost else "warning",
        found=f"{sum(kind.count for kind in kinds):,} rejected: {told}",
        hint=f"{look}{'. Their scopes answer unknown: see record_unreadable in ops/runbook.md' if lost else ''}",
        exit_code=UNKNOWN if lost else 0,
    )


def _size_of(directory: Path) -> int:
    return sum(file.stat().st_blocks * 512 for file in directory.rglob("*") if file.is_file())
