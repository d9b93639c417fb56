"""`forgotten`: what a session no longer holds, from a transcript or from the log."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.errors import LedgerError, LogMissing, UsageError
from ops.cli.exit import FINE, UNKNOWN, VIOLATION, NothingToJudge, settle
from ops.cli.options import Json, Local, LogUrl, TokenFile, one_of
from ops.cli.screen import print_json, say, talk
from ops.cli.words import WAITS, command
from schemas.facts import FACT_CLASSES

if TYPE_CHECKING:
    from ops.queries.forgotten import ForgottenAnswer
    from ops.queries.wanted import Wanted
    from ops.store import Found, Reading

METHODS = ("ours", "seed")
CLASSES = (*FACT_CLASSES, "decided", "rejected", "reason")
_HELD = ("no_compactions_in_this_session", "every_dropped_decision_survived_in_a_summary")
LARGE_BYTES = 8 << 20
"""A transcript above this is not held in memory while it is asked about."""

_SUFFIXES = (".jsonl", ".json", ".ndjson")


def forgotten(
    target: Annotated[list[str], typer.Argument(metavar="PATH|SESSION", help="A transcript, or a session of the log.")],
    round_: Annotated[int | None, typer.Option("--round", min=1, metavar="N", help="Only losses of round N.")] = None,
    classes: Annotated[list[str] | None, typer.Option("--class", metavar="C", help="Only this class; may be repeated.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="List at most this many; 0 lists all.")] = 20,
    all_: Annotated[bool, typer.Option("--all", help="List what seems settled too; --json always has it.")] = False,
    method: Annotated[str, typer.Option(help="ours, or seed: assistant text and word overlap, for comparison.")] = "ours",
    reveal: Annotated[bool, typer.Option("--reveal", help="Show masked secrets, read from the file on this machine.")] = False,
    log: LogUrl = None,
    *,
    local: Local = False,
    token_file: TokenFile = None,
    json: Json = False,
) -> None:
    """What did this session forget? Needs no log for a file.

    Listed are open losses, worst first: nothing in the session settles them. Settled ones are counted by reason, and listed
    with --all: acted on (a request on which calls followed and the work went on), answered (a question or remark to which the
    other side replied), kept in a shorter form (the summary or the kept text has its telling parts), passing remarks and
    one-off figures (the agent's or a tool's words of the moment), taken back or replaced later.
    """
    if len(target) != 1:
        raise UsageError(
            f"one transcript or session at a time, {len(target)} were given",
            hint="For many: cledger ingest PATH..., then cledger sessions --compacted",
        )
    if not target[0].strip():
        raise UsageError("the name of the transcript or session is empty", hint="List sessions with: cledger sessions")
    one_of(method, METHODS, "--method")
    for cls in classes or ():
        one_of(cls, CLASSES, "--class")
    if Path(target[0]).is_dir():
        raise UsageError(f"{target[0]}: is a folder", hint="Name one transcript, or: cledger ingest FOLDER")
    from ops.queries.wanted import Wanted

    wanted = Wanted(round=round_, classes=frozenset(classes or ()), limit=limit, method=method)
    if _is_path(target[0]):
        try:
            answers = asyncio.run(_of_file(target[0], wanted))
        except LedgerError as error:
            if json and error.exit_code == UNKNOWN:
                print_json(_unknown(target[0], wanted, error.message))
            raise
    else:
        answers = [asyncio.run(_of_session(target[0], wanted, log, local, token_file))]
    for answer in answers:
        if round_ is not None and answer.rounds and round_ > answer.rounds:
            raise UsageError(f"--round {round_}: the session has {answer.rounds} rounds")
        settle(_code(answer))
        if reveal:
            _reveal(answer)
        if json:
            print_json(answer)
        else:
            _show(answer, limit, settled=all_, filtered=bool(classes) or round_ is not None)


def _unknown(path: str, wanted: Wanted, reason: str) -> ForgottenAnswer:
    """D2: of a file that no reader knows, or that holds nothing, the answer is *unknown* with the reason."""
    from msgspec.structs import replace

    from ops.queries.unknown import unknown_forgotten

    answer = unknown_forgotten("", wanted.method, 0)
    return replace(answer, reason=reason, receipt=replace(answer.receipt, source_path=path))


def _reveal(answer: ForgottenAnswer) -> None:
    from ops.queries.reveal import reveal

    for entry in answer.forgotten:
        why = reveal(entry)
        if why:
            talk(f"not revealed, line {entry.line}: {why}")


def _code(answer: ForgottenAnswer) -> int:
    if answer.note is None:
        return VIOLATION
    return FINE if answer.note in _HELD else UNKNOWN


async def _of_file(path: str, wanted: Wanted) -> list[ForgottenAnswer]:
    """What the sessions of a transcript forgot."""
    from ops.asking import ask_of

    async with _scratch(path) as (reading, sessions):
        return [await ask_of(reading, found, wanted) for found in sessions]


async def _of_session(target: str, wanted: Wanted, log: str | None, local: bool, token_file: str | None) -> ForgottenAnswer:
    """What a session of the log forgot."""
    from ops.cli.reading import answer_of

    try:
        return await answer_of(log, lambda ask: ask.forgotten(target, wanted), local=local, token_file=token_file)
    except LogMissing as error:
        if os.sep not in target:
            raise
        raise _neither(target, error.message) from None


def _neither(target: str, why: str) -> UsageError:
    return UsageError(f"{target}: there is no such file, and no such session", hint=why)


def _is_path(target: str) -> bool:
    """A file that exists, or what can only be meant as a path. A sub-agent's session has a slash in its id too."""
    if Path(target).exists() or target.endswith(_SUFFIXES):
        return True
    return target.startswith((".", "~", os.sep))


@asynccontextmanager
async def _scratch(path: str) -> AsyncIterator[tuple[Reading, list[Found]]]:
    """The transcript folded into a ledger that goes away again: same records, same fold, same query as over a log."""
    from ledger.transcripts.reading import Transcript
    from ops.cli.progress import bar
    from ops.ingest import Ingest
    from ops.store import scratch_store
    from ops.transcripts import read_records, size_of

    with Transcript(path) as transcript:
        size = size_of(path)
        async with scratch_store(large=size > LARGE_BYTES) as store:
            job = Ingest(store)
            with bar("reading") as advance:
                records = read_records(transcript, lambda at: advance(at, size), may_grow=True, waits=_waits)
                answer = await job.file(path, records)
            with bar("folding") as advance:
                await job.fold(advance)
            if not answer.sessions:
                raise NothingToJudge(f"{path}: holds no session", hint=f"Look at: {command('cledger', 'inspect', path)}")
            with store.reading() as reading:
                found = [reading.session(name) for name in answer.sessions]
                yield reading, [one for one in found if one.session.rounds] or found[:1]


def _waits(session: str) -> None:
    """As in a log, a round with which the file ends is not counted yet; what is not known of it is no assurance."""
    settle(UNKNOWN)
    talk(WAITS.format(session))


def _show(answer: ForgottenAnswer, limit: int, *, settled: bool, filtered: bool) -> None:
    from ops.cli.findings import show_totals
    from ops.cli.losses import settled_told, show_losses

    show_totals(answer)
    shown = [entry for entry in answer.forgotten if settled or entry.settled is None]
    show_losses(shown, answer.receipt.source_path, whole=not limit)
    more = (answer.matching if settled else answer.open_matching) - len(shown)
    matching = " that match" if filtered else ""
    if more > 0 and limit:
        what = "" if settled or not answer.settled_matching else " open"
        say(f"… and {more:,} more{what}{matching}: add --limit 0", indent=2)
    if not settled and answer.settled_matching:
        lead = "" if answer.open_matching else f"Nothing open{matching}: "
        told = settled_told(answer.settled_matching, more=bool(answer.open_matching))
        say(f"{lead}{told} (--all shows them)", indent=2)
