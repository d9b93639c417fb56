"""Numbers, paths and commands as people read them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from ops.cli.visible import unbroken
from ops.session_names import first_shared

ID_CHARS = 8
"""So much of an id tells people which one is meant; `--json` has all of it."""

_UUID = re.compile(r"\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.ASCII | re.IGNORECASE)
_DIGEST = re.compile(r"\b([0-9a-f]{24,64})\b", re.ASCII)
_FOLDERS = re.compile(r"(?<![\w.~/-])(?:~|\.{1,2})?/?(?:[^\s/'\"=:]+/){2,}(?=[^\s/'\"])")

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
    """A path relative to the working directory where that is shorter, else with `~` for the home directory; on one line."""
    if not path:
        return ""
    home = str(Path.home())
    choices = [path]
    here = str(Path.cwd())
    if path.startswith(here + os.sep):
        choices.append(path[len(here) + 1 :])
    if home not in ("", os.sep) and path.startswith(home + os.sep):
        choices.append("~" + path[len(home) :])
    return unbroken(min(choices, key=len))


def place(path: str, line: int | None) -> str:
    """`path:line`, as editors take it."""
    return f"{short_path(path)}:{line}" if line is not None else short_path(path)


def left_cut(text: str, width: int) -> str:
    """The end of a text that fits into `width` characters; what tells a path apart stands there."""
    return text if len(text) <= width else "…" + text[len(text) - max(width, 2) + 1 :]


def short_ids(text: str) -> str:
    """A name, or a sentence of ours, with every UUID and every hash in it cut to its first characters."""
    return _DIGEST.sub(lambda found: found[1][:ID_CHARS], _UUID.sub(lambda found: found[1], text))


def short_sessions(sessions: Iterable[str]) -> dict[str, str]:
    """For each session id a beginning that names no other of them: eight characters where that is enough."""
    known = list(sessions)
    roots = sorted({session.partition("/")[0] for session in known})
    alike = [first_shared(one, other) for one, other in pairwise(["", *roots, ""])]
    sizes = (max(ID_CHARS, before + 1, after + 1) for before, after in pairwise(alike))
    short = {root: root[:size] for root, size in zip(roots, sizes, strict=True)}
    return {session: short[root] + slash + agent for session in known for root, slash, agent in [session.partition("/")]}


def short_action(action: str) -> str:
    """What was done, with each path in it cut from the left down to its file."""
    return _FOLDERS.sub("…/", action)


def day_time(moment: str | None) -> str:
    """An ISO time to the minute, `2026-01-23 16:17`, or the empty string."""
    return (moment or "")[:16].replace("T", " ")


def command(*words: str) -> str:
    """A command line that can be pasted into a shell."""
    return " ".join(shlex.quote(word) for word in words)
