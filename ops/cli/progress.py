"""Progress bars: on stderr, and only when a person is looking."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Advance = Callable[[int, int], None]
"""Called with how much is done and how much there is."""


def _nothing(done: int, total: int) -> None:
    del done, total


@contextmanager
def bar(label: str) -> Iterator[Advance]:
    """A bar for long work. Off a terminal nothing is shown; nothing stays behind when the work is done."""
    if not sys.stderr.isatty():
        yield _nothing
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    from ops.cli.screen import console
    from ops.cli.visible import visible

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task(visible(label), total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total or None)
