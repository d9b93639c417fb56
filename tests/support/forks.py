"""Doing something in a forked child, to see that what must not be inherited is refused there."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable


def said_in_fork(work: Callable[[], str]) -> str:
    """What `work` returns in a forked child of this process."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Forking a process that has threads is what is being tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        try:
            os.write(writing, work().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said
