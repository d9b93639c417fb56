"""Numbers, paths and commands as people read them."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

_CLASS_NOUNS = {
    "prohibition": ("prohibition", "prohibitions"),
    "numeric": ("number", "numbers"),
    "identifier": ("identifier", "identifiers"),
    "commitment": ("commitment", "commitments"),
    "instruction": ("instruction", "instructions"),
    "decision": ("decision", "decisions"),
    "narrative": ("narrative sentence", "narrative sentences"),
}


WAITS = "session {}: a compaction with which the file ends is not counted before its summary is there, or the session goes on"


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 round`, `2 rounds`, `14,100 spans`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def of_class(number: int, cls: str) -> str:
    """`3 prohibitions`."""
    return count(number, *_CLASS_NOUNS.get(cls, (cls, cls)))


def listed(parts: list[str], none: str = "none") -> str:
    """Parts with commas between them."""
    return ", ".join(parts) or none


def short_path(path: str) -> str:
    """A path relative to the working directory where that is shorter, else with `~` for the home directory."""
    if not path:
        return ""
    home = str(Path.home())
    choices = [path]
    here = str(Path.cwd())
    if path.startswith(here + os.sep):
        choices.append(path[len(here) + 1 :])
    if home not in ("", os.sep) and path.startswith(home + os.sep):
        choices.append("~" + path[len(home) :])
    return min(choices, key=len)


def place(path: str, line: int | None) -> str:
    """`path:line`, as editors take it."""
    return f"{short_path(path)}:{line}" if line is not None else short_path(path)


def short_session(session: str) -> str:
    """The beginning of a session id that is long enough to be typed instead of the whole."""
    root, slash, agent = session.partition("/")
    short = root if len(root) <= 16 else root[:13]
    return f"{short}/{agent}" if slash else short


def command(*words: str) -> str:
    """A command line that can be pasted into a shell."""
    return " ".join(shlex.quote(word) for word in words)
