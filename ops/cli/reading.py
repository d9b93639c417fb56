"""A log opened for reading: never created, its index brought up to date if no other process is doing that."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from ops.cli.options import log_url
from ops.cli.progress import bar
from ops.cli.screen import talk
from ops.store import Reading, Store, open_store

if TYPE_CHECKING:
    from ops.asking import Asked

T = TypeVar("T")


async def answer_of(
    option: str | None, question: Callable[[Asked], Awaitable[T]], *, local: bool = False, token_file: str | None = None
) -> T:
    """The answer of the ledger at the address of `--log`: of the workers where there are some, else of a fold here. Who
    answered is said. Raises `LogMissing` where there is no log (exit 4).
    """
    from ops.asking import asked

    url = log_url(option)
    return await asked(url, question, local=local, fold=caught_up, notice=talk, token_file=token_file)


@asynccontextmanager
async def reading_of(option: str | None) -> AsyncIterator[Reading]:
    """One consistent view, folded here. Raises `LogMissing` where there is no log (exit 4)."""
    async with opened(option) as store:
        gap = await caught_up(store)
        with store.reading(gap) as reading:
            yield reading


@asynccontextmanager
async def opened(option: str | None, *, create: bool = False) -> AsyncIterator[Store]:
    """The ledger at the address of `--log`. A damaged index is rebuilt, and that is said."""
    async with open_store(log_url(option), create=create, notice=talk) as store:
        yield store


async def caught_up(store: Store) -> int:
    """Fold what the index lacks, unless another process does. Returns the records still lacking, and says so."""
    with bar("folding") as advance:
        gap = await store.fold("try", advance)
    if gap:
        talk(f"the index is {gap} records behind the log: another process folds right now")
    return gap
