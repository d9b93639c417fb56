"""`gate`, `audit`, `acknowledge`, `policy` and `record`: what is asked or said beside reading."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.errors import LedgerError, UsageError
from ops.cli.exit import FINE, UNKNOWN, USAGE, VIOLATION, complain, report, settle
from ops.cli.options import Json, LogUrl, SessionName
from ops.cli.screen import print_json, put, say, talk
from ops.cli.words import count, short_ids
from ops.json_lines import NothingInFile

if TYPE_CHECKING:
    from ops.desk import SaidAnswer
    from ops.queries.policy import PolicyAnswer
    from ops.record_file import RecordAnswer

Retrieval = Annotated[
    str | None,
    typer.Option(
        "--retrieval",
        metavar="COMMAND",
        help="The agent's own store: a command that answers JSON lines. Default: the ledger's store.",
    ),
]
Authority = Annotated[str, typer.Option("--authority", metavar="WHO", help="Who says so.")]
SCOPES_NAMED = 3
"""Scopes under one policy that people are shown; `--session` asks about one."""

_TRUST_CODES = {"lossless": FINE, "degraded": VIOLATION, "unknown": UNKNOWN}


def gate(
    session: SessionName,
    claims: Annotated[str, typer.Option("--claims", metavar="FILE", help="Claims, one JSON object a line; - for stdin.")],
    action: Annotated[str, typer.Option("--action", metavar="NAME", help="What the action is called.")] = "",
    read_only: Annotated[bool, typer.Option("--read-only", help="The action changes nothing anywhere.")] = False,
    retrieval: Retrieval = None,
    log: LogUrl = None,
    json: Json = False,
) -> None:
    """May this action rest on these claims?

    Each is fetched raw and compared before the answer.

    A line of --claims is {"text": …, "key": …}, where the key of a store entry backs the claim, or {"text": …, "summary": …},
    where a summary on record makes it.
    """
    asyncio.run(_gate(session, claims, action, read_only, retrieval, log, json))


async def _gate(
    session: str, claims: str, action: str, read_only: bool, retrieval: str | None, log: str | None, json: bool
) -> None:
    from ops.cli.reading import caught_up, opened
    from ops.cli.verdicts import show_gate
    from ops.desk import gate as ask
    from ops.desk import read_claims

    found = read_claims(claims, _bytes_of(claims))
    async with opened(log) as store:
        await caught_up(store)
        answer = await ask(store, session, found, action=action, side_effects=not read_only, command=retrieval)
    settle(FINE if answer.decision == "allowed" else VIOLATION)
    put(answer, json, lambda shown: show_gate(shown, session))


def audit(
    session: Annotated[
        str | None, typer.Argument(metavar="[SESSION]", help="Session id; default: all that were compacted.")
    ] = None,
    retrieval: Retrieval = None,
    log: LogUrl = None,
    json: Json = False,
) -> None:
    """Ask the agent's own store for an evicted span.

    A span that has left the window has to come back word for word; the result is put on record.
    """
    asyncio.run(_audit(session, retrieval, log, json))


async def _audit(session: str | None, retrieval: str | None, log: str | None, json: bool) -> None:
    from ops.cli.reading import caught_up, opened
    from ops.cli.verdicts import show_audit
    from ops.desk import audit as ask

    async with opened(log) as store:
        await caught_up(store)
        with store.reading() as reading:
            names = [reading.session(session).session.id] if session is not None else _compacted(reading.sessions())
        if not names:
            talk("no session was compacted yet, so nothing is there to audit")
            settle(UNKNOWN)
        for name in names:
            try:
                answer = await ask(store, name, command=retrieval)
            except LedgerError as error:
                report(error)
                continue
            settle(FINE if answer.passed else VIOLATION)
            put(answer, json, lambda shown: show_audit(shown, retrieval))


def _compacted(sessions: object) -> list[str]:
    from collections.abc import Iterable
    from typing import cast

    from ops.store import Found

    return [found.session.id for found in cast(Iterable[Found], sessions) if found.session.rounds]


def acknowledge(
    session: Annotated[str, typer.Argument(metavar="SESSION", help="Session id.")],
    evidence: Annotated[str, typer.Option("--evidence", metavar="EVENT", help="Id of a passed audit or a clean index check.")],
    authority: Authority = "",
    log: LogUrl = None,
    json: Json = False,
) -> None:
    """Say that a degraded scope was repaired.

    It takes the event that shows it.
    """
    asyncio.run(_acknowledge(session, evidence, authority, log, json))


async def _acknowledge(session: str, evidence: str, authority: str, log: str | None, json: bool) -> None:
    from ops.cli.reading import caught_up, opened
    from ops.desk import acknowledge as request

    async with opened(log) as store:
        await caught_up(store)
        answer = await request(store, session, evidence, authority)
    settle(FINE if answer.accepted else VIOLATION)
    put(answer, json, _show_said)


policy_app = typer.Typer(help="The policy of a scope.", no_args_is_help=True, rich_markup_mode=None)


@policy_app.command("show")
def policy_show(
    session: Annotated[str | None, typer.Option("--session", metavar="S", help="Only this session's scope.")] = None,
    log: LogUrl = None,
    json: Json = False,
) -> None:
    """Print the policy in force: every floor, and what was set."""
    asyncio.run(_policy_show(session, log, json))


async def _policy_show(session: str | None, log: str | None, json: bool) -> None:
    from ops.cli.reading import reading_of
    from ops.queries.policy import alike, policy_of

    async with reading_of(log) as reading:
        found = [reading.session(session)] if session is not None else reading.sessions()
        answers = policy_of(found)
    if json:
        for answer in answers:
            print_json(answer)
        return
    groups = alike(answers)
    if len(answers) > 1:
        say(
            "A policy belongs to a scope, which is a session with its sub-agents; "
            f"{'all have the same one:' if len(groups) == 1 else 'scopes under the same one stand together:'}"
        )
    for scopes, answer in groups:
        _show_policy(scopes, answer)


def _show_policy(scopes: list[str], answer: PolicyAnswer) -> None:
    some = ", ".join(map(short_ids, scopes[:SCOPES_NAMED]))
    name = some if len(scopes) == 1 else f"{len(scopes):,} scopes: {some}{', …' if len(scopes) > SCOPES_NAMED else ''}"
    say((name or "no session yet; a new one begins with", "bold"), f"  rules {answer.rules_version}")
    floors = ", ".join(f"{cls} {floor}" for cls, floor in answer.floors.items())
    say(f"floors: {floors}", indent=2)
    say(f"audit window {answer.audit_window} compactions, interval {answer.audit_interval}", indent=2)
    if answer.set:
        say(f"set here: {', '.join(f'{key} = {value}' for key, value in answer.set.items())}", indent=2)


@policy_app.command("set")
def policy_set(
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="floor.CLASS, audit.window, audit.interval, context.reinject_tokens")
    ],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="A ratio such as 2/5, or a count.")],
    session: Annotated[
        str | None, typer.Option("--session", metavar="S", help="Only this session's scope; default: all.")
    ] = None,
    authority: Authority = "",
    log: LogUrl = None,
    json: Json = False,
) -> None:
    """Set one key, from here on."""
    asyncio.run(_policy_set(key, value, session, authority, log, json))


async def _policy_set(key: str, value: str, session: str | None, authority: str, log: str | None, json: bool) -> None:
    from ops.cli.reading import caught_up, opened
    from ops.desk import set_policy

    async with opened(log) as store:
        await caught_up(store)
        answers = await set_policy(store, key, value, session, authority)
    for answer in answers:
        settle(FINE if answer.accepted else VIOLATION)
        put(answer, json, _show_said)


def _show_said(answer: SaidAnswer) -> None:
    if answer.accepted:
        say(("on record" if answer.added else "already on record", "bold"), f"  {answer.session}  trust {answer.trust}")
    else:
        say(("refused", "bold red"), f"  {answer.session}  {answer.reason}  trust {answer.trust}")


def record(
    file: Annotated[str, typer.Option("--file", metavar="RECORDS.jsonl", help="Records, one JSON object a line; - for stdin.")],
    log: LogUrl = None,
    json: Json = False,
) -> None:
    """Append records that were made elsewhere, each validated."""
    asyncio.run(_record(file, log, json))


async def _record(file: str, log: str | None, json: bool) -> None:
    from ops.cli.reading import opened
    from ops.record_file import append_records, read_records

    batch, answer = read_records(_bytes_of(file))
    if batch:  # a file without a single record makes no log
        async with opened(log, create=True) as store:
            await append_records(store, batch, answer)
    if not answer.records:
        report(NothingInFile(f"{file}: is empty", hint="Expected records, one JSON object a line. Nothing was appended."))
    if answer.invalid:
        settle(USAGE)
        shown = [f"{file}:{item['line']}: {item['reason']}" for item in answer.invalid[:10]]
        for message in shown[:-1]:
            complain(message)
        complain(shown[-1], _rest_of(answer))
    put(answer, json, _show_record)


def _rest_of(answer: RecordAnswer) -> str:
    """What became of the records beside those that are none."""
    if answer.added:
        return f"Of the rest: {answer.added} appended, {answer.duplicates} on record already."
    return f"Nothing was appended{'; the rest was on record already' if answer.duplicates else ''}."


def _show_record(answer: RecordAnswer) -> None:
    rest = f"{answer.added} added, {answer.duplicates} on record already, {len(answer.invalid)} invalid"
    say(f"{count(answer.records, 'record')}, {rest}")


def _bytes_of(path: str) -> bytes:
    """A named file, or standard input for `-`. Raises `UsageError`."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}", hint="Check the path.") from None
