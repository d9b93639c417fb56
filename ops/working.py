"""A worker put together: log, membership, indexes, snapshots, web. The only place that knows all of them."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from consumers.carrier_index import CarrierIndex, IndexCondemned
from consumers.crew import Crew
from consumers.fold_lock import folding
from consumers.membership import KafkaMembership, Membership, OwnsAll
from consumers.worker import WATCHDOG_S, Worker
from ledger.errors import IndexBusy, IndexDamaged, UsageError
from ledger.log import EVENTS, Log
from ledger.storage.memory import hold
from ops.diagnosis import diagnose
from ops.settings import KafkaSettings, Settings, parse_log_url
from ops.wiring import index_directory, is_shared, open_log
from ops.worker_web import Listen, Views, guard, listening

_log = logging.getLogger("cledger.worker")


_OF_ITS_OWN = "Each worker on a machine needs a CLEDGER_DATA of its own: CLEDGER_DATA=./second cledger worker"

INDEX_PAGES_BYTES = 256 << 20
"""Resident bytes of its indexes that a worker keeps: somebody waits for each of its transactions."""

LOOK_EVERY = 64
"""Transactions after which it looks how many they are."""


class WorkerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What `cledger worker` was asked for."""

    log_url: str
    exit_when_idle_s: float | None = None
    web: str | None = None
    token_file: str | None = None
    snapshots: str | None = None
    session_timeout_ms: int = 10_000
    watchdog_s: float = WATCHDOG_S
    fold_only: bool = False
    """Leave measuring, audits, snapshots and the watch over publishers to others."""


class _Work:
    """One run of a worker: everything it uses is opened in its event loop, and closed in reverse order at its end."""

    def __init__(self, options: WorkerOptions, listen: Listen, views: Views) -> None:
        self._options, self._listen, self._views = options, listen, views
        self._worker: Worker | None = None
        self._ended = False

    async def run(self) -> int:
        """Open everything and work. Raises as `open_log` does, and `UsageError` where another worker has these indexes."""
        options = self._options
        async with AsyncExitStack() as stack:
            log = await open_log(options.log_url, create=False)
            stack.push_async_callback(log.close)
            stack.push_async_callback(self._views.close)
            directory = index_directory(options.log_url, log.identity)
            try:
                stack.enter_context(folding(directory, wait=False))
            except IndexBusy:
                raise UsageError(
                    f"{directory}: another process of this machine folds into these indexes",
                    hint=_OF_ITS_OWN if is_shared(options.log_url) else "An embedded log has one worker, or none.",
                ) from None
            self._worker = self._views.worker = Worker(
                log,
                self._membership(log),
                lambda number: self._index(log, directory, number),
                exit_when_idle_s=options.exit_when_idle_s,
                watchdog_s=options.watchdog_s,
                crew=None if options.fold_only else self._crew(log),
                where=options.log_url,
            )
            if self._ended:
                return 0
            _log.info("working on %s, answering at %s", options.log_url, self._listen.url)
            return await self._worker.run()

    def end(self) -> None:
        """Finish what has begun."""
        self._ended = True
        if self._worker is not None:
            self._worker.end()

    def _crew(self, log: Log) -> Crew:
        snapshots = Path(self._options.snapshots) if self._options.snapshots else None
        return Crew(log, now_ms=lambda: time.time_ns() // 1_000_000, snapshots=snapshots)

    def _membership(self, log: Log) -> Membership:
        if not is_shared(self._options.log_url):
            return OwnsAll(log.identity.partitions)
        kafka = KafkaSettings.from_environment()
        return KafkaMembership(
            parse_log_url(self._options.log_url).target,
            kafka.prefix,
            log.identity.partitions,
            answers_at=self._listen.url,
            session_timeout_ms=self._options.session_timeout_ms,
            security=kafka.security(),
        )

    async def _index(self, log: Log, directory: Path, number: int) -> CarrierIndex:
        """The index as it stands, else a snapshot that fits the log, else an empty one, as also in the place of one whose
        snapshots may be as wrong as itself.
        """
        place, copies = directory / f"p{number:03}", self._options.snapshots
        try:
            if place.exists():
                return CarrierIndex(place, log.identity, number)
        except IndexDamaged as error:
            _log.warning("partition %s: %s; building it anew", number, error.message)
            CarrierIndex.discard(place)
            copies = None if isinstance(error, IndexCondemned) else copies
        if copies:
            from consumers.snapshots import latest, restore

            end = await log.end(EVENTS, number)
            choice = await asyncio.to_thread(latest, Path(copies), log.identity, number, offset_end=end)
            for refused in choice.refused:
                _log.warning("partition %s: snapshot %s is passed over: %s", number, refused.path, refused.reason)
            if choice.found is not None:
                await asyncio.to_thread(restore, choice.found.path, place)
                _log.info("partition %s: restored from %s", number, choice.found.path)
        return CarrierIndex.create(place, log.identity, number)


def run_worker(options: WorkerOptions) -> int:
    """Run a worker until it is told to stop, or is idle. Returns its exit code; raises what kept it from working."""
    from consumers.shell import Site, run  # Faust takes a while to load

    parse_log_url(options.log_url)
    listen, notice = listening(options.web, options.token_file)
    diagnose()
    hold(INDEX_PAGES_BYTES, every=LOOK_EVERY)
    if notice:
        _log.info("%s", notice)
    views = Views()
    site = Site(listen.socket, routes=tuple(views.routes()), middlewares=(guard(listen, views.log_id),))
    return run(_Work(options, listen, views), folder=Settings.from_environment().data / "worker", site=site)
