"""Tables of further words, one file for all languages: read at import, and made into patterns for a language that is met."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class ByLanguage(Mapping[str, T], Generic[T]):
    """What a table of `ledger/facts/data` says, by the code of the language; most programs meet one or two."""

    def __init__(self, table: str, make: Callable[[str, dict[str, Any]], T]) -> None:
        """`table` is the name of the file without its ending, `make` is given a language's code and its part of the file."""
        self._told = tomllib.loads((files("ledger.facts") / "data" / f"{table}.toml").read_text("utf-8"))
        self._make = make
        self._made: dict[str, T] = {}

    def __getitem__(self, code: str) -> T:
        known = self._made.get(code)
        if known is None:
            known = self._made[code] = self._make(code, self._told[code])
        return known

    def __contains__(self, code: object) -> bool:
        return code in self._told

    def __iter__(self) -> Iterator[str]:
        return iter(self._told)

    def __len__(self) -> int:
        return len(self._told)
