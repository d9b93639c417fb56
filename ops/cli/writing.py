"""`tombstone`: what only a person can say."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from ops.cli.exit import VIOLATION, complain, settle
from ops.cli.options import FactText, Json, LogUrl, SessionName
from ops.cli.screen import one_line, put, say, talk
from ops.cli.words import short_ids

if TYPE_CHECKING:
    from ops.requests import TombstoneAnswer


def tombstone(
    fact: FactText,
    session: SessionName,
    reason: Annotated[str, typer.Option("--reason", metavar="R", help="Why it was dropped.")],
    authority: Annotated[str, typer.Option("--authority", metavar="WHO", help="Who decided that.")],
    log: LogUrl = None,
    json: Json = False,
) -> None:
    """Say that a fact was dropped on purpose.

    It holds for exactly the facts that FACT names, and is put on record with its reason and with who decided it.
    """
    asyncio.run(_tombstone(fact, session, reason, authority, log, json))


async def _tombstone(fact: str, session: str, reason: str, authority: str, log: str | None, json: bool) -> None:
    from ops.cli.alerting import AlertPrinter
    from ops.cli.reading import caught_up, opened
    from ops.queries.alerts import end_of, stream
    from ops.requests import tombstone as request

    async with opened(log) as store:
        await caught_up(store)
        cursor = await end_of(store.log)
        answers = await request(store, session, fact, reason, authority)
        for answer in answers:
            put(answer, json, _show)
            if not answer.in_force:
                settle(VIOLATION)
                complain(
                    f"{short_ids(answer.fact)} was stated again after this tombstone, which is on record since then",
                    "To drop it once more, give another reason.",
                )
        if json:
            return
        with store.reading() as reading:
            changed = [alert async for alert in stream(reading, cursor=cursor)]
    if changed:
        say("alerts that this raised or resolved:")
        AlertPrinter(json=False).print(changed)


def _show(answer: TombstoneAnswer) -> None:
    lead = "tombstoned" if answer.added else "already on record"
    say((lead, "bold"), f": {answer.cls} “{one_line(answer.value, 160)}” (fact {short_ids(answer.fact)})")
    say(f"because: {one_line(answer.reason)}, says {one_line(answer.authority)}", indent=2)
    if answer.added:
        talk("asked about it, recall now answers: tombstoned")
