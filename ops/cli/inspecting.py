"""`inspect`: a question about files, no log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ledger.errors import UsageError
from ops.cli.exit import report
from ops.cli.options import Json, Paths
from ops.cli.screen import listing, one_line, print_json, put, say, talk
from ops.cli.words import count, short_ids

if TYPE_CHECKING:
    from ledger.transcripts.report import InspectReport


ID_CHARACTERS = 120
"""An id is cut here; it is what the transcript says it is."""

LINES_SHOWN = 10
"""Lines that were skipped, or conflict, of each kind."""


def inspect(paths: Paths, json: Json = False) -> None:
    """Parse transcripts and say what they hold. Nothing is stored."""
    from ledger.transcripts.formats import UnsupportedTranscript
    from ledger.transcripts.report import inspect as inspect_file
    from ledger.transcripts.report import unsupported
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
                    if json:
                        print_json(unsupported(found.path))
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
    from ops.cli.findings import tokens_told, unreadable_told

    say((answer.path, "bold"), f"  {answer.format} {answer.version or ''}")
    unread = unreadable_told((row.round, row.summary) for row in answer.rounds)
    if unread:
        say(("cannot be judged", "yellow"), f": {unread}", indent=2)
    say(
        f"{count(answer.messages, 'message')}, {count(answer.duplicates, 'duplicate')}, {count(answer.conflicts, 'conflict')}, "
        f"{count(len(answer.skipped), 'line')} skipped; reading: ",
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
                tokens_told(row.tokens_before, row.tokens_after).replace(" tokens", "") or "-",
            )
            for row in answer.rounds
        ],
        header=("round", "trigger", "lines", "summary", "summarised", "kept", "unseen", "tokens"),
        right=frozenset({0, 4, 5, 6}),
        indent=2,
    )
    _show_lines([(line.line, f"skipped: {line.reason}") for line in answer.skipped])
    _show_lines(
        [
            (
                one.line,
                f"conflict: says something else under the id of an earlier line ({short_ids(one_line(one.id, ID_CHARACTERS))})",
            )
            for one in answer.conflicting
        ]
    )


def _show_lines(lines: list[tuple[int, str]]) -> None:
    for number, what in lines[:LINES_SHOWN]:
        say(f"line {number}: {what.replace('_', ' ')}", indent=2)
    if len(lines) > LINES_SHOWN:
        say(f"… and {len(lines) - LINES_SHOWN} more: --json lists all", indent=2)
