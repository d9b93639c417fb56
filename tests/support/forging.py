"""An editor with write access: the log rewritten so that every hash in it is right again, under the same identity."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from ledger.adapters.lmdb_log import LmdbLog
from ledger.following import all_entries
from ledger.log import TOPICS, Entry, NewEntry
from ledger.storage.file import create_file, read_identity
from ledger.storage.partitions import KIND

Edit = Callable[[list[Entry]], list[Entry]]


async def forge(directory: Path, topic: str, edit: Edit) -> None:
    """Replace the entries of one topic by what `edit` makes of them; the log under `directory` must not be open."""
    identity = read_identity(directory / "log", KIND)
    log = LmdbLog.open(directory)
    entries = {name: [entry async for entry in all_entries(log, name, 0)] for name in TOPICS}
    await log.close()
    entries[topic] = edit(entries[topic])
    shutil.rmtree(directory / "log")
    create_file(directory / "log", KIND, identity)
    log = LmdbLog.open(directory)
    for name, found in entries.items():
        await log.append(name, [NewEntry(entry.key, entry.value, entry.headers) for entry in found])
    await log.close()
