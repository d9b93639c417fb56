"""Integrity: is what stands in log and index what was written there, and does it follow from the events? (P1, P7, P8)

The order matters. The index is looked at as it stands, before anything is rebuilt: it remembers what was folded and published,
so a rebuilt one could no longer say that an alert is missing, and the fold would quietly publish it again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import msgspec

from ledger.errors import IndexDamaged, IntegrityError, LogDamaged, UnknownRecordType
from ledger.log import TOPICS, Log
from ops.replay import ReplayAnswer, refolded, verify_replay
from ops.store import Notice, Store, open_standing, open_store
from ops.wiring import open_log, standing_directory
from schemas.ids import Position

IndexState = Literal["sound", "absent", "rebuilt", "damaged"]


class _Flaw(Protocol):
    """What an adapter says of an entry that is not what was written."""

    @property
    def position(self) -> Position:
        """Where."""
        ...

    @property
    def reason(self) -> str:
        """In what way."""
        ...


@runtime_checkable
class _SelfChecking(Protocol):
    """A log that can check its own entries, without knowing what they mean."""

    async def verify(self, topic: str, partition: int, start: int = 0) -> _Flaw | None:
        """The first entry from `start` on that is not what was written, or None."""
        ...


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it was written: in the log, or in the outputs that follow from it."""

    where: str
    kind: str
    detail: str


class VerifyAnswer(msgspec.Struct, kw_only=True):
    """What was checked, and every problem found. A rebuilt index is no problem: it is a cache of the log."""

    entries: int
    records: int
    decisions: int
    alerts: int
    digest: str
    index: IndexState
    index_faults: list[str]
    problems: list[Problem]
    due: int
    duplicates: int
    """Entries that repeat another one, which is normal: what was sent again, and answers that were said again. Records,
    decisions and alerts, without those that are due, and these are all entries, unless something is wrong.
    """


class _Audit(msgspec.Struct, kw_only=True):
    """The comparison of a log with its recomputation, and what became of the index."""

    replay: ReplayAnswer
    index: IndexState
    faults: list[str] = []
    halted: str = ""


async def audit(url: str, notice: Notice = lambda _: None) -> tuple[ReplayAnswer, IndexState]:
    """`replay --verify`: recompute and compare. A damaged index is rebuilt if the log itself is sound.

    Raises as `open_log` does, and `LogDamaged` or `IntegrityError` where the fold cannot go on and nothing else says why.
    """
    result = await _audit(url, notice, thorough=False)
    if result.halted and not result.replay.differences:
        raise IntegrityError(result.halted)
    return result.replay, result.index


async def verify(url: str, notice: Notice = lambda _: None) -> VerifyAnswer:
    """Check every entry of every topic, the structure of the index, and that all of it follows from the events.

    Raises as `open_log` does.
    """
    log = await open_log(url, create=False)
    try:
        entries, problems = await _check_entries(log)
    finally:
        await log.close()
    result = await _audit(url, notice, thorough=True, may_rebuild=not problems)
    known = {problem.where for problem in problems}
    for found in result.replay.differences:
        if found.event not in known:
            detail = found.detail or f"recorded {found.recorded}, recomputed {found.recomputed}"
            where = f"{found.position} {found.event}" if found.position != found.event else found.event
            problems.append(Problem(where=where, kind=found.kind, detail=detail))
    if result.halted and not problems:
        problems.append(Problem(where="fold", kind="halted", detail=result.halted))
    return VerifyAnswer(
        entries=entries,
        records=result.replay.records,
        decisions=result.replay.decisions,
        alerts=result.replay.alerts,
        digest=result.replay.digest,
        index=result.index,
        index_faults=result.faults,
        problems=problems,
        due=result.replay.due,
        duplicates=_duplicates(entries, result.replay),
    )


def _duplicates(entries: int, replay: ReplayAnswer) -> int:
    return max(0, entries - (replay.records + replay.decisions + replay.alerts - replay.due))


async def _check_entries(log: Log) -> tuple[int, list[Problem]]:
    entries, problems = 0, []
    for topic in TOPICS:
        for partition in range(log.identity.partitions):
            flaw = await log.verify(topic, partition) if isinstance(log, _SelfChecking) else None
            if flaw is not None:
                problems.append(Problem(where=str(flaw.position), kind="other_bytes", detail=flaw.reason))
            try:
                entries += await log.end(topic, partition)
            except LogDamaged as error:
                if flaw is None:
                    problems.append(Problem(where=f"{topic}/{partition}", kind="other_bytes", detail=error.message))
    return entries, problems


async def _audit(url: str, notice: Notice, *, thorough: bool, may_rebuild: bool = True) -> _Audit:
    async with _standing(url) as (log, standing, fault):
        faults = [fault] if fault else []
        if standing is not None and thorough:
            faults += _structure(standing)
        store = None if faults else standing
        halted = await _fold_first(store)
        result = _Audit(replay=await verify_replay(log, store), index="sound", faults=faults, halted=halted)
        if store is not None and thorough and not halted and not result.replay.differences:
            result.faults += await _rows_differ(log, store, result.replay.digest)
        if store is None and not faults:
            result.index = "absent"
    if result.faults:
        result.index = "damaged"
        if may_rebuild and not result.replay.differences:
            await _rebuild(url, result.faults, notice)
            result.index = "rebuilt"
    return result


@asynccontextmanager
async def _standing(url: str) -> AsyncIterator[tuple[Log, Store | None, str]]:
    """The log, and its index as it stands or what is wrong with it. An index that was never made is no fault."""
    try:
        async with open_standing(url) as store:
            yield store.log, store, ""
        return
    except IndexDamaged as error:
        said = error.message
    log = await open_log(url, create=False)
    directory = standing_directory(url, log.identity)
    fault = said if directory.is_dir() and any(directory.glob("p*")) else ""
    try:
        yield log, None, fault
    finally:
        await log.close()


def _structure(store: Store) -> list[str]:
    faults = []
    for partition in store.partitions:
        try:
            faults += partition.index.file.check_structure()
        except IndexDamaged as error:
            faults.append(error.message)
    return faults


async def _fold_first(store: Store | None) -> str:
    """Bring the index up to date, so that outputs which are merely due get published. Returns what stopped it."""
    if store is None:
        return ""
    try:
        await store.fold("try")
    except (LogDamaged, IntegrityError, UnknownRecordType) as error:
        return error.message
    return ""


async def _rows_differ(log: Log, store: Store, digest: str) -> list[str]:
    """Do the index's rows differ from a fold of the same prefix? `digest` is of the whole log and settles most cases."""
    with store.reading() as reading:
        mine, ends = reading.digest(), reading.offsets()
    if mine == digest:
        return []
    async with refolded(log, ends) as again:
        with again.reading() as reading:
            same = reading.digest() == mine
    return [] if same else ["its rows are not what folding the log gives"]


async def _directory(url: str) -> Path:
    """Where the indexes of the log at this address stand."""
    log = await open_log(url, create=False)
    await log.close()
    return standing_directory(url, log.identity)


async def _rebuild(url: str, faults: list[str], notice: Notice) -> None:
    from consumers.carrier_index import CarrierIndex
    from consumers.fold_lock import folding

    directory = await _directory(url)
    notice(f"the index is damaged ({'; '.join(faults[:3])}); rebuilding it from the log")
    with folding(directory, wait=True):
        for part in sorted(directory.glob("p*")):
            CarrierIndex.discard(part)
    async with open_store(url, directory=directory) as store:
        await store.fold("wait")
