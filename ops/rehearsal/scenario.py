"""Scenario files: one JSON object a line, `{"id", "events": [{"op", …}]}`, with `expected` for a policy test."""

from __future__ import annotations

from collections.abc import Iterator
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
        try:
            found = msgspec.json.decode(line, type=_Line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise UsageError(
                f"{path}:{number}: not a scenario: {error}", hint='Expected one object a line: {"id": …, "events": [{"op": …}]}'
            ) from None
        for at, event in enumerate(found.events):
            if event.get("op") not in OPERATIONS:
                raise UsageError(
                    f"{path}:{number}: event {at} has no known operation: {event.get('op')!r}",
                    hint=f"Known are: {', '.join(sorted(OPERATIONS))}.",
                )
        yield Scenario(found.id, found.events, found.expected, found.title, f"{path}:{number}")


def read_scenarios(path: str) -> list[Scenario]:
    """Every scenario of a file. Raises `UsageError`, and `NothingInFile`: a policy test that holds no case has not passed."""
    try:
        found = list(scenarios(path, Path(path).read_bytes()))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}", hint="Check the path.") from None
    if not found:
        raise NothingInFile(f"{path}: is empty", hint='Expected one object a line: {"id": …, "events": [{"op": …}]}')
    return found


class Fields:
    """The fields of one event, taken with their types. Raises `UsageError` that names the event."""

    def __init__(self, scenario: Scenario, at: int) -> None:
        self._where = f"{scenario.where or scenario.id}: event {at}"
        self._event = scenario.events[at]
        self.op: str = self._event["op"]

    def has(self, name: str) -> bool:
        """Is the field there and not null?"""
        return self._event.get(name) is not None

    def text(self, name: str, default: str | None = None) -> str:
        """A string."""
        return str(self._take(name, str, default))

    def number(self, name: str, default: int | None = None) -> int:
        """A whole number."""
        value = self._take(name, int, default)
        assert isinstance(value, int)
        return value

    def decimal(self, name: str, default: str | None = None) -> str:
        """A number as its JSON text would be, for exact arithmetic."""
        value = self._event.get(name, default)
        if value is None or isinstance(value, bool) or not isinstance(value, int | float | str):
            raise UsageError(f"{self._where}: {name} must be a number")
        return str(value)

    def names(self, name: str, default: list[str] | None = None) -> tuple[str, ...]:
        """A list of strings."""
        value = self._take(name, list, default)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise UsageError(f"{self._where}: {name} must be a list of names")
        return tuple(value)

    def objects(self, name: str) -> list[dict[str, Any]]:
        """A list of objects, empty where the field is missing."""
        value = self._take(name, list, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise UsageError(f"{self._where}: {name} must be a list of objects")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false."""
        return bool(self._take(name, bool, default))

    def pair(self, name: str) -> tuple[str, str]:
        """Two strings, each null for open."""
        value = self._event.get(name)
        if value is None:
            return "", ""
        if not isinstance(value, list) or len(value) != 2:
            raise UsageError(f"{self._where}: {name} must be two dates")
        return str(value[0] or ""), str(value[1] or "")

    def _take(self, name: str, kind: type, default: Any) -> Any:
        value = self._event.get(name, default)
        if value is None or not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise UsageError(f"{self._where}: {self._event['op']} needs {name} ({kind.__name__})")
        return value
