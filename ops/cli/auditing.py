"""`replay` and `verify`: the log audited. Both fold into a scratch index and publish nothing of their own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.errors import UsageError
from ops.cli.exit import INTEGRITY, settle
from ops.cli.options import Json, LogUrl, log_url, one_of
from ops.cli.screen import put, say, talk, write_line
from ops.cli.words import count

if TYPE_CHECKING:
    from ops.replay import ReplayAnswer
    from ops.verify import VerifyAnswer

EMITTED = ("decisions", "alerts")


def replay(
    until: Annotated[
        str | None,
        typer.Option(
            "--until", metavar="POSITION|TIME", help="Stop before this offset or PARTITION@OFFSET, or after this time."
        ),
    ] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Compare with what is on record.")] = False,
    emit: Annotated[
        str | None, typer.Option("--emit", metavar="decisions|alerts", help="Print them as they would be published.")
    ] = None,
    log: LogUrl = None,
    json: Json = False,
) -> None:
    """Fold the log again, from nothing. What is on record is not touched."""
    if verify and (until is not None or emit is not None):
        raise UsageError("--verify compares the whole log", hint="Leave out --until and --emit.")
    if emit is not None:
        one_of(emit, EMITTED, "--emit")
    asyncio.run(_replay(log_url(log), until, verify, emit, json))


async def _replay(url: str, until: str | None, verify: bool, emit: str | None, json: bool) -> None:
    from ops.replay import emit as emitted
    from ops.replay import ends_until
    from ops.replay import replay as refold
    from ops.verify import audit
    from ops.wiring import is_shared, open_log

    if is_shared(url):
        talk("folding the whole log here, apart from the workers; nothing is published")
    if verify:
        answer, index = await audit(url, talk)
        settle(INTEGRITY if answer.differences else 0)
        if index == "absent":
            talk("there is no index: what was published and is missing now cannot be told from what is due")
        put(answer, json, _show_verified)
        return
    log = await open_log(url, create=False)
    try:
        ends = await ends_until(log, until) if until is not None else {}
        if emit is not None:
            for line in await emitted(log, "decisions" if emit == "decisions" else "alerts", ends):
                write_line(line)
            return
        put(await refold(log, ends=ends), json, _show_replayed)
    finally:
        await log.close()


def _show_replayed(answer: ReplayAnswer) -> None:
    say(f"{count(answer.records, 'record')}, {count(answer.decisions, 'decision')}, {count(answer.alerts, 'alert')}")
    say(f"digest {answer.digest}")


def _show_verified(answer: ReplayAnswer) -> None:
    _show_replayed(answer)
    if answer.due:
        say(f"{count(answer.due, 'output')} not published yet: due, no difference")
    style = "bold red" if answer.differences else "green"
    say((count(len(answer.differences), "difference"), style))
    for one in answer.differences:
        say(f"{one.kind} {one.event}  {one.position if one.position != one.event else ''}", indent=2)
        if one.detail:
            say(one.detail, indent=6)


def verify(log: LogUrl = None, json: Json = False) -> None:
    """Check that log and index are what was written.

    Every entry, every decision and alert, the structure of the index.
    """
    asyncio.run(_verify(log_url(log), json))


async def _verify(url: str, json: bool) -> None:
    from ops.verify import verify as check

    answer = await check(url, talk)
    settle(INTEGRITY if answer.problems else 0)
    put(answer, json, _show_checked)


def _show_checked(answer: VerifyAnswer) -> None:
    say(
        f"{count(answer.entries, 'log entry', 'log entries')}: {count(answer.records, 'record')}, "
        f"{count(answer.decisions, 'decision')}, {count(answer.alerts, 'alert')}, {count(answer.duplicates, 'duplicate')}"
    )
    if answer.due:
        say(f"{count(answer.due, 'output')} not published yet: due, not among the entries")
    say(f"digest {answer.digest}")
    say(f"index: {answer.index}")
    for fault in answer.index_faults[:10]:
        say(f"- {fault}", indent=2)
    say((count(len(answer.problems), "problem"), "bold red" if answer.problems else "green"))
    for one in answer.problems:
        say(f"{one.kind} {one.where}", indent=2)
        say(one.detail, indent=6)
