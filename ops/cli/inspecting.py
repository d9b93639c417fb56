"""`inspect` and `check`: questions about files, no log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ledger.errors import UsageError
from ops.cli.exit import FINE, UNKNOWN, VIOLATION, NothingToJudge, report, settle
from ops.cli.options import Json, Paths, one_of
from ops.cli.screen import listing, one_line, put, say, talk

if TYPE_CHECKING:
    from ledger.facts import CheckResult
    from ledger.transcripts.report import InspectReport

ROLES = ("user", "assistant", "tool")
_CODES = {"evict_ok": FINE, "below_floor": VIOLATION, "unknown": UNKNOWN}


def inspect(paths: Paths, json: Json = False) -> None:
    """Parse transcripts and say what they hold. Nothing is stored."""
    from ledger.transcripts.formats import UnsupportedTranscript
    from ledger.transcripts.report import inspect as inspect_file
    from ops.cli.progress import bar
    from ops.transcripts import plan

    todo = plan(paths)
    for fault in todo.faults:
        report(fault)
    skipped = len(todo.refused)
    with bar("inspecting") as advance:
        for number, found in enumerate(todo.files):
            advance(number, len(todo.files))
            try:
                answer = inspect_file(found.path)
            except UnsupportedTranscript as error:
                skipped += 1
                if found.named:
                    report(error)
                continue
            except UsageError as error:
                skipped += not found.named
                if found.named:
                    report(error)
                else:
                    talk(error.message)
                continue
            put(answer, json, _show_inspected)
    if not json and skipped:
        talk(f"{skipped} skipped: in no format that a reader knows, or not a regular file")


def _show_inspected(answer: InspectReport) -> None:
    say((answer.path, "bold"), f"  {answer.format} {answer.version or ''}")
    say(
        f"{answer.messages:,} messages, {answer.duplicates} duplicates, {answer.conflicts} conflicts, "
        f"{len(answer.skipped)} lines skipped; reading: ",
        (answer.reading, "green" if answer.reading == "complete" else "yellow"),
        indent=2,
    )
    listing(
        [
            (
                str(row.round),
                row.trigger or "-",
                f"{row.boundary_line or '-'} -> {row.summary_line or '-'}",
                row.summary,
                str(row.summarised),
                str(row.kept),
                str(row.unseen),
                f"{row.tokens_before or '?'} -> {row.tokens_after or '?'}",
            )
            for row in answer.rounds
        ],
        header=("round", "trigger", "lines", "summary", "summarised", "kept", "unseen", "tokens"),
        right=frozenset({0, 4, 5, 6}),
        indent=2,
    )
    for line in answer.skipped[:10]:
        say(f"line {line.line}: {line.reason}", indent=2)
    if len(answer.skipped) > 10:
        say(f"… and {len(answer.skipped) - 10} more: --json lists all", indent=2)


class BatchLine(msgspec.Struct):
    """One line of a `--batch` file."""

    source: str
    summary: str
    id: str | None = None
    source_role: str = "user"


def check(
    source: Annotated[str | None, typer.Argument(metavar="SOURCE", help="File with the text, or - for stdin.")] = None,
    summary: Annotated[str | None, typer.Argument(metavar="SUMMARY", help="File with its summary, or - for stdin.")] = None,
    batch: Annotated[
        str | None, typer.Option("--batch", metavar="FILE", help="Many pairs, one JSON object a line; - for stdin.")
    ] = None,
    role: Annotated[str, typer.Option("--role", help="Who said it: user, assistant or tool.")] = "user",
    json: Json = False,
) -> None:
    """May this summary replace this text?

    A line of --batch is {"id": …, "source": …, "summary": …, "source_role": "user|assistant|tool|system"}: two texts, who said
    the first (user, if left out), and a name that comes back with the answer (may be left out).
    """
    one_of(role, ROLES, "--role")
    if batch is not None:
        if source is not None:
            raise UsageError("--batch takes the place of SOURCE and SUMMARY", hint="Give one or the other.")
        _check_batch(batch, json)
        return
    if source is None or summary is None:
        raise UsageError("SOURCE and SUMMARY are missing", hint="cledger check SOURCE SUMMARY, or cledger check --batch FILE")
    if source == summary == "-":
        raise UsageError("only one of SOURCE and SUMMARY can be stdin", hint="Give a file for the other.")
    _answer(_read(source), _read(summary, may_be_empty=True), role, None, json)


def _answer(source: str, summary: str, role: str, id_: str | None, json: bool) -> None:
    from ledger.facts import check as check_text

    answer = check_text(source, summary, role, id=id_, quoted=not json)  # type: ignore[arg-type]
    settle(_CODES[answer.verdict])
    put(answer, json, _show_checked)


def _bytes_of(path: str) -> bytes:
    from ledger.transcripts.files import open_regular

    if path == "-":
        return sys.stdin.buffer.read()
    with open_regular(Path(path)) as file:
        return file.read()


def _read(path: str, *, may_be_empty: bool = False) -> str:
    raw = _bytes_of(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NothingToJudge(f"{path}: is no UTF-8 text (byte {error.start})", hint="Give plain text.") from None
    if not text.strip():
        fault = NothingToJudge(f"{path}: is empty", hint="An empty text says nothing about what was lost.")
        if not may_be_empty:
            raise fault
        report(fault)
    return text


def _check_batch(path: str, json: bool) -> None:
    from ledger.transcripts.lines import LineSplitter

    decode = msgspec.json.Decoder(BatchLine).decode
    checked = 0
    raw = _bytes_of(path)
    splitter = LineSplitter()
    lines = splitter.feed(raw)
    last = splitter.finish()
    for line in [*lines, last] if last is not None else lines:
        if not line.data.strip():
            continue
        checked += 1
        try:
            entry = decode(line.data)
            one_of(entry.source_role, (*ROLES, "system"), "source_role")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            wanted = 'Expected an object with "id", "source", "summary" and "source_role".'
            report(UsageError(f"{path}:{line.number}: not a line to check: {error}", hint=wanted))
            continue
        except UsageError as error:
            report(UsageError(f"{path}:{line.number}: {error.message}", hint=error.hint))
            continue
        _answer(entry.source, entry.summary, entry.source_role, entry.id, json)
    if not checked:
        raise NothingToJudge(f"{path}: is empty", hint='Expected lines with "id", "source", "summary" and "source_role".')


def _show_checked(answer: CheckResult) -> None:
    style = {"evict_ok": "green", "below_floor": "bold red", "unknown": "yellow"}[answer.verdict]
    name = f"{answer.id}: " if answer.id is not None else ""
    say(name, (answer.verdict, style))
    say(
        f"polarity {answer.polarity}, quantifier {answer.quantifier}, hedge {answer.hedge}, rules {answer.rules_version}",
        indent=2,
    )
    lost = [fact for fact in answer.facts if not fact.survives]
    say(f"{len(answer.facts) - len(lost)} of {len(answer.facts)} facts survive", indent=2)
    for fact in lost:
        say(f"{fact.survival} {fact.cls}, {fact.fidelity:g} of the class kept, floor {fact.floor:g}", indent=2)
        say(f"“{one_line(fact.text, 200)}”", indent=4)
        if isinstance(fact.summary_says, str):
            say(f"the summary says: “{one_line(fact.summary_says, 200)}”", indent=4)
    for passage in answer.unsupported:
        say(f"the source does not say: “{one_line(passage.text, 200)}”", indent=2)
