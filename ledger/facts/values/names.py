"""Which of many names stand in a text as a whole, byte for byte (rule F2: identifiers).

A name that stands as a whole brings each of its runs of ASCII word characters whole with it. So the runs of a text, read once,
tell at once that most names are not there (`NamedText`: one text, many names); and names listed under one of their runs are
found by what a text says, whatever their number (`LiveNames`: many names kept, texts come and go).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from ledger.facts.language.fold import DIGITS, WORD

_RUN = re.compile("[0-9A-Za-z_]+", re.ASCII)

SPOTS_MAX = 16
"""A run that stands in more places is no help: then the text itself is searched."""

NEAR_CHARS = 2048
"""Runs are met in the order of the text, so most names stand a little behind the last one; the rest are searched for."""

TRIES_MAX = 64
"""Places inside longer names that are looked at before a name counts as not there; a text of nothing else takes no longer."""


class NamedText:
    """A text in which many names are looked up."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._runs: dict[str, list[int]] | None = None

    def find(self, name: str) -> tuple[int, int] | None:
        """Where exactly these characters stand as a whole: not inside a longer name. A longer path that ends in them counts."""
        if not name:
            return None
        runs = self._spots()
        fewest: list[int] | None = None
        offset = 0
        for m in _RUN.finditer(name):
            spots = runs.get(m[0])
            if spots is None:
                return None
            if fewest is None or len(spots) < len(fewest):
                fewest, offset = spots, m.start()
        if fewest is None or len(fewest) > SPOTS_MAX:
            return _search(self.text, name)
        for spot in fewest:
            at = spot - offset
            if at >= 0 and self.text.startswith(name, at) and _whole(self.text, at, name):
                return at, at + len(name)
        return None

    def _spots(self) -> dict[str, list[int]]:
        if self._runs is None:
            runs: dict[str, list[int]] = {}
            for m in _RUN.finditer(self.text):
                runs.setdefault(m[0], []).append(m.start())
            self._runs = runs
        return self._runs


class LiveNames:
    """Names that something still refers to. `held_by` costs by the length of the text and by what it holds; `add` and `discard`
    cost by the name.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._listed: dict[str, str | dict[str, None]] = {}
        self._under: dict[str, str] = {}
        self.update(names)

    def __len__(self) -> int:
        return len(self._under)

    def add(self, name: str) -> None:
        """Lists the name under the first of its runs that is its own, or else under the run that fewest share; nothing happens
        where it is there already.
        """
        if name not in self._under and name:
            self._list(name, _RUN.findall(bare(name) or name))

    def update(self, names: Iterable[str]) -> None:
        """`add` for each of the names, in less time where there are many."""
        new = [name for name in names if name not in self._under and name]
        cut = "\n".join([bare(name) or name for name in new])
        lines = cut.translate(_BREAKS_IN_LINE).split("\n") if cut.isascii() else ()
        if len(lines) != len(new):
            for name in new:
                self.add(name)
            return
        listed, under = self._listed, self._under
        for name, line in zip(new, lines, strict=True):
            for run in line.split(" "):
                if run and run not in listed and name not in under:
                    listed[run] = name
                    under[name] = run
                    break
            else:
                self.add(name)

    def _list(self, name: str, runs: list[str]) -> None:
        listed = self._listed
        run = next((run for run in runs if run not in listed), None)
        if run is None:
            run = min(runs, key=self._shared, default=_RUNLESS)
        names = listed.get(run)
        if isinstance(names, dict):
            names[name] = None
        else:
            listed[run] = name if names is None else {names: None, name: None}
        self._under[name] = run

    def _shared(self, run: str) -> int:
        names = self._listed.get(run)
        return 0 if names is None else 1 if isinstance(names, str) else len(names)

    def discard(self, name: str) -> None:
        """Takes a name away; one that is not there changes nothing."""
        run = self._under.pop(name, None)
        if run is None:
            return
        names = self._listed[run]
        if isinstance(names, dict) and len(names) > 1:
            del names[name]
        else:
            del self._listed[run]

    def held_by(self, text: str) -> list[str]:
        """The names that survive in the text (as rule F2 says it of identifiers), by where they may begin."""
        runs = dict.fromkeys((_RUNLESS, *_runs_of(text)))
        found: list[str] = []
        listed, at = self._listed, 0
        for run in runs:
            names = listed.get(run)
            if names is None:
                continue
            for name in (names,) if isinstance(names, str) else tuple(names):
                there = text.find(name, at, at + NEAR_CHARS)
                if there >= 0 and _whole(text, there, name):
                    at = there
                    found.append(name)
                elif runs.keys() >= set(_RUN.findall(bare(name))) and held(text, name):
                    found.append(name)
        return found


_BREAKS = {code: " " for code in range(128) if not _RUN.match(chr(code))}
_BREAKS_IN_LINE = {code: blank for code, blank in _BREAKS.items() if chr(code) != "\n"}


def _runs_of(text: str) -> list[str]:
    """The runs of a text in order. Plain text, by far the commonest, is cut in half the time that the pattern takes."""
    return text.translate(_BREAKS).split(" ") if text.isascii() else _RUN.findall(text)


_RUNLESS = ""
"""What a name without any run is listed under; every text has it."""


def bare(name: str) -> str:
    """The name without what is no part of it: `./` before, `()` behind."""
    return name.removeprefix("./").removesuffix("()")


def held(text: str, name: str) -> bool:
    """Does the name survive in the text: as it is, bare, or called on something (`store.read()`)?"""
    if _search(text, name) is not None:
        return True
    plain = bare(name)
    if plain == name or not plain:
        return False
    return _search(text, plain) is not None or (name.endswith("()") and f".{plain}(" in text)


def _search(text: str, name: str) -> tuple[int, int] | None:
    at = text.find(name)
    tries = 0
    while at >= 0 and tries < TRIES_MAX:
        if _whole(text, at, name):
            return at, at + len(name)
        at = text.find(name, at + 1)
        tries += 1
    return None


_NAME_CHAR = re.compile(f"[{WORD}]", re.ASCII)


@lru_cache(maxsize=4096)
def _is_name_char(char: str) -> bool:
    return bool(_NAME_CHAR.match(char))


_APART = frozenset(" \n\t`'\"(),;")
"""Signs that part names from what stands beside them, the usual case."""


def _whole(text: str, at: int, name: str) -> bool:
    if text[at - 1 : at] in _APART and text[at + len(name) : at + len(name) + 1] in _APART:
        return True
    return _edge_before(text, at, name) and _edge_after(text, at + len(name), name)


def _edge_before(text: str, at: int, value: str) -> bool:
    if at == 0:
        return True
    before = text[at - 1]
    if before == "/":
        return value[0] not in "/~." and text[at - 2 : at - 1] != "." and text[max(0, at - 3) : at] != "../"
    if before in "-.@#$\\":
        return (before == "." and text[at - 2 : at - 1] in {".", " ", ""}) or (
            before == "-" and text[at - 2 : at - 1] in {" ", "\n", "\u2014"}
        )
    return not _is_name_char(before) or not _is_name_char(value[0]) or (ord(before) > 0x2FF and value[0].isascii())


def _edge_after(text: str, end: int, value: str) -> bool:
    if end >= len(text):
        return True
    after = text[end]
    if value[-1] == "/":
        return True
    if after in "/\\":
        return False
    if after in ".-@:":
        following = text[end + 1 : end + 2]
        if after == ":" and following in DIGITS:
            return "." in value
        return not (following and _is_name_char(following))
    return not _is_name_char(after) or (ord(after) > 0x2FF and value[-1].isascii())
