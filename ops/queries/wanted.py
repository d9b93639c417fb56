"""What a question about losses asks for."""

from __future__ import annotations

import msgspec


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What `forgotten` is asked for: see `ops.queries.forgotten.forgotten`."""

    round: int | None = None
    classes: frozenset[str] = frozenset()
    limit: int = 20
    method: str = "ours"
