"""The last figures of each goal, in a file beside this one: what the README shows, until somebody measures again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tests.bench.harness import Outcome

RESULTS = Path(__file__).with_name("results.json")


class Taken(msgspec.Struct, frozen=True):
    """One outcome, and when and on what it was measured."""

    date: str
    machine: str
    outcome: Outcome


def stored(path: Path = RESULTS) -> list[Taken]:
    """What the file holds, in the order of the goals' numbers; nothing where there is no file."""
    if not path.exists():
        return []
    return msgspec.json.decode(path.read_bytes(), type=list[Taken])


def store(outcomes: list[Outcome], machine: str, path: Path = RESULTS) -> None:
    """Put the figures of these outcomes in the place of older ones of the same goals; the others stay as they are. What failed
    or was skipped has no figures, and leaves the older ones too: the exit code of the bench tells of it.
    """
    outcomes = [one for one in outcomes if one.cpu is not None or one.figure]
    date = datetime.now(UTC).date().isoformat()
    found = {one.outcome.code: one for one in stored(path)} | {one.code: Taken(date, machine, one) for one in outcomes}
    ordered = sorted(found.values(), key=lambda one: _place(one.outcome.code))
    path.write_bytes(msgspec.json.format(msgspec.json.encode(ordered), indent=1) + b"\n")


def _place(code: str) -> tuple[int, str]:
    number, _, rest = code.removeprefix("G").replace(",", "").partition(" ")
    return int(number), rest
