"""`alerts`: the stream, as it stands and as it grows."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.options import SINCE_HELP, Json, Local, LogUrl, TokenFile, log_url, since_ms
from ops.cli.screen import one_line, print_json, say, talk
from ops.cli.words import day_time, listed, short_ids, short_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ops.fleet_answers import Workers
    from ops.queries.alerts import AlertAnswer, Cursor
    from ops.store import Store

POLL_SECONDS = 1.0
"""How often the log is looked at while following. An alert is read by people; a second is soon enough."""

QUOTED_PER_KIND = 3
"""Alerts of one kind and group that are quoted. One bad compaction is one page, and nobody reads 374 quotes at night."""

_STYLES = {"page": "bold red", "ticket": "yellow", "info": "dim"}


def alerts(
    follow: Annotated[bool, typer.Option("--follow", help="Go on with new ones until interrupted.")] = False,
    since: Annotated[str | None, typer.Option("--since", metavar="T", help=SINCE_HELP)] = None,
    session: Annotated[str | None, typer.Option("--session", metavar="S", help="Only this session's.")] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=0, help="Only the last so many of those there are; 0 for all.")
    ] = 0,
    log: LogUrl = None,
    local: Local = False,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """Print the alert stream.

    For people there is one entry a group, and of a kind the first few; with --since those with a page come first. With --json
    every alert, in the order of the stream.
    """
    asyncio.run(_alerts(AlertPrinter(json, since_ms(since), session, limit), follow, log_url(log), local, token_file))


async def _alerts(printer: AlertPrinter, follow: bool, url: str, local: bool, token_file: str | None) -> None:
    from ledger.errors import LogUnavailable
    from ops.wiring import is_shared

    if is_shared(url) and not local:
        from ops.fleet_answers import fleet_at

        async with fleet_at(url, token_file) as workers:
            try:
                await _of_workers(printer, workers, follow)
            except LogUnavailable as error:
                talk(f"{error.message}; folding here instead, which publishes nothing")
            else:
                return
    await _here(printer, url, follow)


async def _of_workers(printer: AlertPrinter, workers: Workers, follow: bool) -> None:
    """The stream as the workers tell it. While it is followed, workers that are away for a moment are waited for."""
    from ledger.errors import LogUnavailable

    scope = ""
    if printer.session is not None:
        scope, printer.session = await workers.fleet.locate(printer.session)
    printer.print(await workers.alerts(printer.since_ms, scope))
    talk(f"answered by the workers{workers.gap_told()}")
    if not printer.printed:
        talk("no alerts")
    while follow:
        await asyncio.sleep(POLL_SECONDS)
        try:
            printer.print(await workers.alerts(printer.since_ms, scope))
        except LogUnavailable as error:
            talk(error.message)


async def _here(printer: AlertPrinter, url: str, follow: bool) -> None:
    """The stream as a fold in this process tells it."""
    from ops.cli.reading import caught_up, opened
    from ops.queries.alerts import Cursor

    async with opened(url) as store:
        await caught_up(store)
        if printer.session is not None:
            with store.reading() as reading:
                printer.session = reading.session(printer.session).session.id
        cursor = Cursor()
        await printer.print_new(store, cursor)
        if not printer.printed:
            talk("no alerts")
        while follow:
            await asyncio.sleep(POLL_SECONDS)
            await store.fold("try")
            await printer.print_new(store, cursor)


class AlertPrinter:
    """Prints alerts behind a cursor, one heading for each group; at first, with a limit, only the last ones."""

    def __init__(self, json: bool, since_ms: int | None = None, session: str | None = None, limit: int = 0) -> None:
        self._json = json
        self.since_ms = since_ms
        self.session = session
        self._group = ""
        self._shown: dict[tuple[str, str, str], int] = {}
        self.printed = 0
        keeps = limit or (since_ms is not None and not json)
        self._last: deque[AlertAnswer] | None = deque(maxlen=min(limit, sys.maxsize) if limit else None) if keeps else None

    async def print_new(self, store: Store, cursor: Cursor) -> None:
        """Print what came since the last call."""
        from ops.queries.alerts import stream

        with store.reading() as reading:
            async for alert in stream(reading, cursor=cursor, since_ms=self.since_ms):
                self._take(alert)
        self._finish()

    def print(self, alerts: Iterable[AlertAnswer]) -> None:
        """Print these alerts."""
        for alert in alerts:
            self._take(alert)
        self._finish()

    def _take(self, alert: AlertAnswer) -> None:
        if self.session is not None and alert.session != self.session:
            return
        self.printed += 1
        if self._last is not None:
            self._last.append(alert)
        else:
            self._put(alert)

    def _put(self, alert: AlertAnswer) -> None:
        if self._json:
            print_json(alert)
        else:
            self.show(alert)

    def _finish(self) -> None:
        """What there was is at its end; what comes from now on is not limited."""
        if self._last is not None:
            earlier, last, self._last = self.printed - len(self._last), self._last, None
            if earlier:
                talk(f"{earlier:,} earlier left out; without --limit all are printed")
            for alert in last if self._json or self.since_ms is None else worst_first(last):
                self._put(alert)
        self._finish_group()

    def _finish_group(self) -> None:
        """Say how many of each kind were left out of the group that ends here."""
        for (state, severity, kind), number in self._shown.items():
            if number > QUOTED_PER_KIND:
                say((f"{state}{severity}", _STYLES[severity]), f" {kind}: {number - QUOTED_PER_KIND} more", indent=2)
        self._shown.clear()

    def show(self, alert: AlertAnswer) -> None:
        """One alert for people; of many of a kind in one group the first few are quoted and the rest counted."""
        if alert.group != self._group:
            self._finish_group()
            self._group = alert.group
            say((heading(alert), "bold"))
        kind = ("" if alert.state == "raised" else "resolved ", alert.severity, alert.kind)
        self._shown[kind] = self._shown.get(kind, 0) + 1
        if self._shown[kind] > QUOTED_PER_KIND:
            return
        state = "" if alert.state == "raised" else "resolved "
        say((f"{state}{alert.severity}", _STYLES[alert.severity]), f" {alert.kind} (rule {alert.rule})", indent=2)
        for quote in alert.quotes:
            say(f"“{one_line(quote, 200)}”", indent=6)
        if alert.reason:
            say(short_ids(alert.reason), indent=6)


def worst_first(alerts: Sequence[AlertAnswer]) -> list[AlertAnswer]:
    """Groups in which a page was raised before those with tickets and the rest, and so within each group; else in order."""
    worst: dict[str, int] = {}
    first: dict[str, int] = {}
    for at, alert in enumerate(alerts):
        worst[alert.group] = min(_weight(alert), worst.get(alert.group, _weight(alert)))
        first.setdefault(alert.group, at)
    return sorted(alerts, key=lambda alert: (worst[alert.group], first[alert.group], _weight(alert)))


def _weight(alert: AlertAnswer) -> int:
    """Pages first; what is resolved comes behind all that is not."""
    return list(_STYLES).index(alert.severity) + (len(_STYLES) if alert.state == "resolved" else 0)


def heading(alert: AlertAnswer) -> str:
    """What a group of alerts is about: `round 2, 2026-01-23 16:17, PATH`, or the session where no file is known."""
    round_ = f"round {alert.round}" if alert.round is not None else ""
    where = one_line(short_path(alert.path) or f"session {short_ids(alert.session)}")
    return listed([part for part in (round_, day_time(alert.time), where) if part])
