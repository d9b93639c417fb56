"""`check`: may this summary replace this text? A question about two files, no log."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ledger.errors import UsageError
from ops.cli.exit import FINE, UNKNOWN, VIOLATION, NothingToJudge, report, settle
from ops.cli.options import Json, one_of
from ops.cli.pairing import beside
from ops.cli.screen import one_line, put, say
from ops.cli.words import count, listed

if TYPE_CHECKING:
    from ledger.facts import CheckResult

ROLES = ("user", "assistant", "tool")
_CODES = {"evict_ok": FINE, "below_floor": VIOLATION, "unknown": UNKNOWN}
_STYLES = {"evict_ok": "green", "below_floor": "bold red", "unknown": "yellow"}


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
    _answer(_read(source, "the text"), _read(summary, "its summary", may_be_empty=True), role, json, name=summary)


def _answer(source: str, summary: str, role: str, json: bool, *, id_: str | None = None, name: str = "") -> None:
    """One verdict. An empty summary in a file of that `name` of which nothing is lost is no verdict but an error."""
    from ledger.facts import check as check_text

    answer = check_text(source, summary, role, id=id_, quoted=not json)  # type: ignore[arg-type]
    if name and not summary.strip() and answer.verdict != "below_floor":
        raise _empty(name, "No fact is recognised in the text either, so nothing was compared.")
    settle(_CODES[answer.verdict])
    put(answer, json, _show_checked)


def _bytes_of(path: str, what: str) -> bytes:
    from ledger.transcripts.files import open_regular

    if path == "-":
        return sys.stdin.buffer.read()
    with open_regular(Path(path), hint=f"Give a file with {what}, or - for stdin.") as file:
        return file.read()


def _read(path: str, what: str, *, may_be_empty: bool = False) -> str:
    raw = _bytes_of(path, what)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NothingToJudge(f"{path}: is no UTF-8 text (byte {error.start})", hint="Give plain text.") from None
    if not may_be_empty and not text.strip():
        raise _empty(path, "An empty text says nothing about what was lost.")
    return text


def _empty(path: str, hint: str) -> NothingToJudge:
    return NothingToJudge(f"{path}: is empty", hint=hint)


def _check_batch(path: str, json: bool) -> None:
    from ledger.transcripts.lines import LineSplitter

    decode = msgspec.json.Decoder(BatchLine).decode
    checked = 0
    raw = _bytes_of(path, "one pair a line")
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
        _answer(entry.source, entry.summary, entry.source_role, json, id_=entry.id)
    if not checked:
        raise _empty(path, 'Expected lines with "id", "source", "summary" and "source_role".')


def _show_checked(answer: CheckResult) -> None:
    name = f"{answer.id}: " if answer.id is not None else ""
    say(name, *_verdict(answer))
    compared = (("polarity", answer.polarity), ("quantifier", answer.quantifier), ("hedge", answer.hedge))
    told = [f"{what} {became}" for what, became in compared if became != "n/a"]
    say(listed([*told, f"rules {answer.rules_version}"]), indent=2)
    for fact in answer.facts:
        if fact.survives:
            continue
        say(f"{fact.survival} {fact.cls}, {fact.fidelity:g} of the class kept, floor {fact.floor:g}", indent=2)
        say(f"“{one_line(fact.text, 200)}”", indent=4)
        if isinstance(fact.summary_says, str):
            lead = beside(fact.text, fact.cls, fact.survival, fact.summary_says)
            say(f"{lead}: “{one_line(fact.summary_says, 200)}”", indent=4)
    for passage in answer.unsupported:
        say(f"the source does not say: “{one_line(passage.text, 200)}”", indent=2)


_UNKNOWN: dict[str, str] = {
    "language_not_read": "the text, or a part of it, is in a language that is not read",
    "no_fact_recognised": "in the text, or a part of it, no fact is recognised that could be looked for",
}


def _verdict(answer: CheckResult) -> tuple[tuple[str, str], str]:
    """The answer to the question, and how many facts it rests on."""
    lost = sum(not fact.survives for fact in answer.facts)
    facts = count(len(answer.facts), "fact")
    if answer.verdict == "unknown":
        reason = answer.reason if isinstance(answer.reason, str) else "language_not_read"
        answered, why = "unknown", f"{_UNKNOWN[reason]}; only its very words would do"
    elif answer.verdict == "below_floor":
        answered, why = "no", f"{lost} of {facts} would be lost{_turned(answer)}" if lost else _but(answer, facts)
    elif lost:
        answered, why = "yes", f"{lost} of {facts} would be lost, no more than the floors allow"
    else:
        answered, why = "yes", f"{facts} kept, none lost" if answer.facts else "no fact is recognised in the text to be lost"
    return (answered, _STYLES[answer.verdict]), f": {why}"


def _turned(answer: CheckResult) -> str:
    turned = sum(fact.survival == "inverted" for fact in answer.facts)
    return f", {turned} of them turned into the opposite" if turned else ""


def _but(answer: CheckResult, facts: str) -> str:
    """Why a summary that loses no fact is refused."""
    what = "polarity is inverted" if answer.polarity == "inverted" else "a quantifier is changed"
    return f"{facts} kept, but {what}"
