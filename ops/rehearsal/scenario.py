"""Scenario files: one JSON object a line, `{"id", "events": [{"op", …}]}`, with `expected` for a policy test. Lines that begin
with `#` are for people.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from ledger.errors import UsageError
from ops.json_lines import NothingInFile, json_lines

OPERATIONS = frozenset(
    {
        "session",
        "span",
        "batch_index",
        "summary",
        "summary_failed",
        "tombstone",
        "evict",
        "expire",
        "cleanup",
        "rechunk",
        "index_put",
        "index_state",
        "retrieve",
        "check_keys",
        "check_summary",
        "check_index",
        "hit_rate",
        "audit",
        "action",
        "clock",
        "count_spans",
        "status",
        "transcript_window",
        "draft_summary",
        "compact",
        "entries_lost",
        "alerts",
    }
)


EXPECTED = 'Expected one object a line: {"id": …, "events": [{"op": …}]}; cledger rehearse --example shows a whole file.'


class Scenario(msgspec.Struct, frozen=True):
    """One scenario. `events` are operations with their fields; `expected` is what a policy test demands."""

    id: str
    events: list[dict[str, Any]]
    expected: dict[str, Any] | None = None
    title: str = ""
    where: str = ""


class _Line(msgspec.Struct):
    id: str
    events: list[dict[str, Any]]
    expected: dict[str, Any] | None = None
    title: str = ""


def scenarios(path: str, data: bytes) -> Iterator[Scenario]:
    """The scenarios of a file. Raises `UsageError` that names the line and what is wrong there."""
    for number, line in json_lines(data):
        if line.startswith(b"#"):
            continue
        try:
            found = msgspec.json.decode(line, type=_Line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(f"{path}:{number}: not a scenario: {error}", hint=EXPECTED) from None
        for at, event in enumerate(found.events):
            if str(event.get("op")) not in OPERATIONS:
                raise UsageError(
                    f"{path}:{number}: event {at} has no known operation: {event.get('op')!r}",
                    hint=f"Known are: {', '.join(sorted(OPERATIONS))}; cledger rehearse --example shows their fields.",
                )
        yield Scenario(found.id, found.events, found.expected, found.title, f"{path}:{number}")


def read_scenarios(path: str) -> list[Scenario]:
    """Every scenario of a file. Raises `UsageError`, and `NothingInFile`: a policy test that holds no case has not passed."""
    try:
        found = list(scenarios(path, Path(path).read_bytes()))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}", hint="Check the path.") from None
    if not found:
        raise NothingInFile(f"{path}: is empty", hint=EXPECTED)
    return found


FIELDS = frozenset(
    """
    advance_s apply as_of attempts backend batch budget_tokens by candidates claims claims_kind compaction
    compactions_since_audit covers delete depends_on error evict expect fact from_line horizon_s id ids into key
    keys lines live_spans manifest metric min_similarity missing mode name op orphans policy reason replaces
    resubmitted session side_effects similarity_to span spans store summary text tokens tokens_before top_k ttl_s
    valid value verdict want window
    """.split()
)
"""Fields that operations have. What a publisher only claims (`manifest`, `verdict`, `attempts`, `similarity_to`, `resubmitted`,
`error`) may stand there and decides nothing.
"""

NUMBER_MAX = 10**12
"""In seconds some 30,000 years; in milliseconds it still fits a record."""

NOTES = ("note", "comment")
"""Fields for people."""

KINDS = {str: "text", int: "whole number", list: "list", bool: "true or false"}


class Fields:
    """The fields of one event, taken with their types. Raises `UsageError` that names the event."""

    def __init__(self, scenario: Scenario, at: int) -> None:
        self._where = f"{scenario.where or scenario.id}: event {at}"
        self._event = scenario.events[at]
        self.op: str = self._event["op"]
        self._who = self.op
        unknown = [name for name in self._event if name not in FIELDS and name not in NOTES]
        if unknown:
            raise UsageError(
                f"{self._where}: {self.op} has an unknown field: {unknown[0]}",
                hint=f"Words for people stand in a field {NOTES[0]}; cledger rehearse --example shows the fields.",
            )

    def within(self, name: str, at: int) -> Fields:
        """The fields of one object of a list, taken in the same way."""
        inner = object.__new__(Fields)
        inner._where, inner._who, inner.op = self._where, f"{name}[{at}]", self.op
        inner._event = self.objects(name)[at]
        return inner

    def has(self, name: str) -> bool:
        """Is the field there and not null?"""
        return self._event.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """A string."""
        return str(self._take(name, str, default))

    def refuse(self, why: str) -> UsageError:
        """An error that names the event."""
        return UsageError(f"{self._where}: {why}")

    def number(self, name: str, default: int | None = None, *, least: int = 0) -> int:
        """A whole number that fits a record, not below `least`."""
        value = self._take(name, int, default)
        assert isinstance(value, int)
        if not least <= value <= NUMBER_MAX:
            raise self.refuse(f"{self._who} needs {name} from {least} to {NUMBER_MAX}, not {value}")
        return value

    def decimal(self, name: str, default: str | None = None) -> str:
        """A number as its JSON text would be, for exact arithmetic."""
        value = self._event.get(name, default)
        try:
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise ValueError
            return f"{Decimal(str(value)):f}"
        except (ValueError, ArithmeticError):
            raise UsageError(f"{self._where}: {self._who} needs {name} (number)") from None

    def names(self, name: str, default: list[str] | None = None) -> tuple[str, ...]:
        """A list of strings."""
        value = self._take(name, list, default)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise UsageError(f"{self._where}: {self._who} needs {name} (list of names)")
        return tuple(value)

    def objects(self, name: str) -> list[dict[str, Any]]:
        """A list of objects, empty where the field is missing."""
        value = self._take(name, list, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise UsageError(f"{self._where}: {self._who} needs {name} (list of objects)")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        return bool(self._take(name, bool, default))

    def pair(self, name: str) -> tuple[str, str]:
        """Two strings, each null for open."""
        value = self._event.get(name)
        if value is None:
            return "", ""
        if not isinstance(value, list) or len(value) != 2 or not all(isinstance(item, str | None) for item in value):
            raise UsageError(f"{self._where}: {self._who} needs {name} (two dates, null for open)")
        return str(value[0] or ""), str(value[1] or "")

    def _take(self, name: str, kind: type, default: Any) -> Any:
        value = self._event.get(name, default)
        if value is None or not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise UsageError(f"{self._where}: {self._who} needs {name} ({KINDS[kind]})")
        return value
