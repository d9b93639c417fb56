"""Who folds on this machine: one process for the indexes under one directory."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ledger.errors import IndexBusy, LogMissing


@contextmanager
def folding(directory: Path, *, wait: bool) -> Iterator[None]:
    """Sole right to fold the indexes under `directory`, held by one process of this machine at a time.

    Raises `IndexBusy` if another has it and `wait` is false.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle = os.open(directory / "fold.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise LogMissing(f"{directory}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise IndexBusy(
                f"{directory}: another process is folding this log", hint="The answer may lag; its gap is stated."
            ) from None
        yield
    finally:
        os.close(handle)
