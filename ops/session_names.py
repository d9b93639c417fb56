"""From what a person types to the one session that is meant, or to those that may have been."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from difflib import SequenceMatcher

from ledger.errors import UsageError

NAMED_MAX = 3
"""Ids that an error names: enough to recognise one's own, few enough to read."""

COMPARED_MAX = 500
"""Ids that are compared letter by letter, about 30 ms. Of more, those that begin most like the name are taken."""

LIKE_MIN = 0.6
"""Share of equal letters from which on an id may have been meant; below it nobody would see the likeness."""

ID_CHARS_MAX = 80


def guesses(session: str) -> tuple[str, str]:
    """Scopes in which a session of this id lies most often: its own, and that of the root session of a sub-agent."""
    return session, session.partition("/")[0]


def begins(session: str, name: str) -> bool:
    """Is this the beginning of the id, or, of a sub-agent, the beginnings of its session's and its own?"""
    if session.startswith(name):
        return True
    root, slash, agent = name.partition("/")
    mine, _, own = session.partition("/")
    return bool(root and slash) and mine.startswith(root) and bool(own) and own.startswith(agent)


def the_one(name: str, near: Sequence[tuple[str, str]], known: Callable[[], Iterable[str]] = tuple) -> int:
    """Which of these sessions, given as (scope, session), is meant by an id or the beginning of one: the only one of just this
    id, else the only one, else the only root session. Raises `UsageError` if that is none, which names those of the `known`
    ids that are nearest.
    """
    exact = [at for at, (_, session) in enumerate(near) if session == name]
    roots = [at for at, (scope, session) in enumerate(near) if scope == session]
    for choice in (exact, range(len(near)), roots):
        if len(choice) == 1:
            return choice[0]
    if near:
        some = _listed([session for _, session in near])
        raise UsageError(f"{name!r} names {len(near)} sessions", hint=f"Give more of the id: {some}")
    raise UsageError(f"no session {name!r} in this log", hint=_instead(name, known()))


def _instead(name: str, known: Iterable[str]) -> str:
    like = nearest(name, known)
    return f"{f'Nearest: {_listed(like)}. ' if like else ''}List them with: cledger sessions"


def _listed(ids: Sequence[str]) -> str:
    shown = [one if len(one) <= ID_CHARS_MAX else f"{one[: ID_CHARS_MAX - 1]}…" for one in ids[:NAMED_MAX]]
    return ", ".join(shown) + (", …" if len(ids) > NAMED_MAX else "")


def nearest(name: str, ids: Iterable[str]) -> list[str]:
    """The ids that are most like the name, or begin most like it, best first; none that is not like it."""
    if not name:
        return []
    near = heapq.nlargest(COMPARED_MAX, dict.fromkeys(ids), key=lambda one: first_shared(name, one))
    liked = [(_likeness(name, one), one) for one in near]
    chosen = sorted((each for each in liked if each[0] >= LIKE_MIN), key=lambda each: (-each[0], each[1]))
    return [one for _, one in chosen[:NAMED_MAX]]


def first_shared(name: str, one: str) -> int:
    """How many first letters both have."""
    return next(
        (at for at, (mine, other) in enumerate(zip(name, one, strict=False)) if mine != other), min(len(name), len(one))
    )


def _likeness(name: str, one: str) -> float:
    """The share of letters that both have, of the whole id or of as much of it as was typed."""
    cut = one[: max(len(name), ID_CHARS_MAX)]
    return max(SequenceMatcher(None, name[:ID_CHARS_MAX], part).ratio() for part in (cut, cut[: len(name)]))
