"""What the owner of a partition finds across its scopes, without going through all of them."""

from __future__ import annotations

from typing import NamedTuple


class Timer(NamedTuple):
    """A scope has something due: facts whose validity ends then, in milliseconds since the epoch. `session` is its first one,
    which need not have the name of the scope.
    """

    scope: str
    session: str
    due_ms: int


class PendingGrant(NamedTuple):
    """A grant that was neither carried out nor withdrawn."""

    scope: str
    session: str
    request: str
