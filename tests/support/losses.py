"""What `forgotten` says of a session told in a few turns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.cli import Cli
from tests.support.talk import Turn, agent, ran, summary, transcript, user

BARE = summary("Summary: the work on the pool goes on in the repository.")
"""A summary that holds nothing of what was said."""


def forgotten(cli: Cli, path: Path, *turns: Turn | tuple[Turn, ...], options: tuple[str, ...] = ()) -> dict[str, Any]:
    """The answer about a session that goes on after its last turn."""
    file = transcript(path / "talk.jsonl", [*turns, user("Go on."), agent("I go on.")])
    return cli("forgotten", file, "--json", "--limit", 0, *options).object


def reasons(answer: dict[str, Any], part: str, role: str = "user") -> set[str | None]:
    """Why the losses that hold these words are settled; None for an open one."""
    return {one["settled"] for one in answer["forgotten"] if part in one["text"] and one["role"] == role}


def asked(text: str) -> list[Turn | tuple[Turn, ...]]:
    """Words of the user, on which something is done and reported; the user then goes on to something else."""
    return [
        user(text),
        agent("I look at it."),
        *ran("grep -rn pool src"),
        agent("The pool is bounded now."),
        user("Thanks. Now the docs."),
        agent("Written."),
    ]
