"""`rehearse`: scenario files, and policy tests for a user's CI."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from ledger.errors import UsageError
from ops.cli.exit import FINE, VIOLATION, complain, report, settle
from ops.cli.options import Json
from ops.cli.screen import one_line, put, say, write_line

SCENARIOS = Path(__file__).parents[1] / "scenarios"
SHIPPED = SCENARIOS / "seeds.jsonl"
"""Five incidents that the rules come from."""

EXAMPLE = SCENARIOS / "example.jsonl"
"""Every operation with its fields, explained, in scenarios that can be played."""


def rehearse(
    files: Annotated[
        list[str] | None, typer.Argument(metavar="[FILE.jsonl...]", help="Scenario files; default: those that come with it.")
    ] = None,
    example: Annotated[
        bool, typer.Option("--example", help="Print a scenario file that shows every operation and its fields, and end.")
    ] = False,
    json: Json = False,
) -> None:
    """What would the ledger decide, step by step?

    With `expected` in a file it is a policy test.
    """
    if example:
        for line in EXAMPLE.read_bytes().splitlines():
            write_line(line)
        return
    asyncio.run(_rehearse(files or [str(SHIPPED)], json))


async def _rehearse(files: list[str], json: bool) -> None:
    from ops.rehearsal.compare import compared
    from ops.rehearsal.rehearse import rehearse as play
    from ops.rehearsal.scenario import read_scenarios

    for file in files:
        for scenario in read_scenarios(file):
            try:
                answer = await play(scenario)
            except UsageError as error:  # the others of the file are answered all the same
                report(error)
                continue
            differences = compared(scenario, answer)
            settle(VIOLATION if differences else FINE)
            if json:
                put(answer, True, lambda _: None)
            else:
                _show_rehearsed(
                    scenario.id, scenario.title, answer.steps, answer.trust, scenario.expected is not None, differences
                )
            for difference in differences:
                complain(f"{scenario.where}: {difference}")


def _show_rehearsed(
    name: str, title: str, steps: list[dict[str, object]], trust: str, tested: bool, differences: list[str]
) -> None:
    verdict = (
        ("as expected", "bold green") if tested and not differences else ("differs", "bold red") if differences else ("", "")
    )
    say((name, "bold"), "  ", verdict)
    if title:
        say(one_line(title), indent=2)
    for step in steps:
        rest = ", ".join(f"{key} {value}" for key, value in step.items() if key not in ("at", "result"))
        say(f"{step['at']:>3}  {step['result']}{f'  {rest}' if rest else ''}", indent=2, hang=5)
    say(f"trust {trust}", indent=2)
