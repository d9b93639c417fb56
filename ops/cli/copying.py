"""`log copy`: a whole log into another one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.options import Json, log_url
from ops.cli.progress import bar
from ops.cli.screen import one_line, put, say
from ops.cli.words import count

if TYPE_CHECKING:
    from ops.log_copy import CopyAnswer

log_app = typer.Typer(help="Work on whole logs.", no_args_is_help=True)
LISTED = 10
"""Misrouted entries that people are shown."""

Address = "lmdb:DIR or kafka://HOST:PORT[,…]."


@log_app.command("copy")
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help=f"The log to copy: {Address}")],
    target: Annotated[str, typer.Argument(metavar="TO", help=f"Where to: {Address} On Kafka make it first: topics create.")],
    leave_out_misrouted: Annotated[
        bool,
        typer.Option("--leave-out-misrouted", help="Leave out entries that were published past the ledger, and list them."),
    ] = False,
    json: Json = False,
) -> None:
    """Copy all three topics byte for byte. Goes on where an earlier copy stopped, refuses any other target that is not
    empty.
    """
    put(asyncio.run(_copy(log_url(source), log_url(target), leave_out_misrouted)), json, _show)


async def _copy(source: str, target: str, leave_out_misrouted: bool) -> CopyAnswer:
    from ops.log_copy import copy_log
    from ops.wiring import open_log

    here = await open_log(source, create=False)
    try:
        there = await open_log(target, create=True)
        try:
            with bar("copying") as advance:
                return await copy_log(here, there, advance, leave_out_misrouted=leave_out_misrouted)
        finally:
            await there.close()
    finally:
        await here.close()


def _show(answer: CopyAnswer) -> None:
    say(f"log {answer.source} to {answer.target}")
    for topic in answer.topics:
        known = f", {topic.present:,} there already" if topic.present else ""
        say(f"{topic.topic}: {count(topic.copied, 'entry', 'entries')} copied{known}", indent=2)
    if answer.left_out:
        say(f"{count(len(answer.left_out), 'misrouted entry', 'misrouted entries')} left out, which the source keeps", indent=2)
    for entry in answer.left_out[:LISTED]:
        say(f"{entry.position}  key {one_line(entry.key, 60)!r}, {entry.value_bytes:,} bytes, sha256 {entry.sha256}", indent=4)
    if len(answer.left_out) > LISTED:
        say(f"… and {len(answer.left_out) - LISTED:,} more: --json lists all", indent=4)
