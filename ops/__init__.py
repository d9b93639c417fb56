"""For people: the command line, the Python API, queries, audit. `from ops import open_ledger` is where a program begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ops.embedded import open_ledger, open_ledger_sync

__all__ = ["open_ledger", "open_ledger_sync"]


def __getattr__(name: str) -> Any:
    """Loads the API on first use, so that commands which do not need it start fast."""
    if name in __all__:
        from ops import embedded

        return getattr(embedded, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
