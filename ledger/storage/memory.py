"""Gives pages of a mapped store back to the system, so that reading a large store does not make this process look large.

Pages of a mapped file that a process has touched count as its resident memory until the system wants them back. They are no
cost while memory is free, but a limit on resident memory, and whoever reads it off, cannot tell them from the process's own.
Telling the system that they are not needed drops them from this process only: they stay in the page cache, and touching one
again maps it again, whatever transactions are open. On a system other than Linux nothing is done.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

STORE_PAGES_BYTES = 4 << 20
"""Resident bytes of stores' pages above which they are given back. Less makes every transaction map its pages anew, more is
memory that a small machine may not have. Who serves for long and often allows itself more, by `hold`.
"""

TOUCHES = 32
"""Values read or written before a store's pages may be given back. Each may lie on a page of its own, and the system maps
sixteen pages at a time.
"""

UNMAPPING = threading.Lock()
"""Held by whoever unmaps a store, and while pages are given back: addresses of a mapping that ends in between would be somebody
else's memory, which would be dropped.
"""


class _Held:
    """What this process holds and may hold."""

    stores = STORE_PAGES_BYTES
    others = 0
    """Resident bytes of other files, which is the code that runs: learnt when pages are given back."""
    every = 1
    """Of so many calls one looks."""
    calls = 0


def hold(store_pages_bytes: int, *, every: int = 1) -> None:
    """From now on this process keeps so many resident bytes of stores' pages. How many they are is looked at once in `every`
    calls: a look is a system call, during which another thread may take its turn.
    """
    _Held.stores, _Held.every = store_pages_bytes, every


_DONT_NEED = 4
_SELF = Path("/proc/self")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@lru_cache(maxsize=1)
def _madvise() -> Any:
    """The system call, or None where pages cannot be given back."""
    if not sys.platform.startswith("linux") or not (_SELF / "statm").exists():
        return None
    try:
        call = ctypes.CDLL(None, use_errno=True).madvise
    except (OSError, AttributeError):
        return None
    call.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return call


def give_back(paths: Iterable[Path]) -> None:
    """Drop the mapped pages of these files from the process if it holds more of them than it may. Never raises."""
    _Held.calls += 1
    if _Held.calls % _Held.every:
        return
    call = _madvise()
    if call is None:
        return
    try:
        if _file_pages_bytes() <= _Held.others + _Held.stores:
            return
        names = {str(path.resolve()) for path in paths}
        with UNMAPPING:
            for start, size in _mappings(names):
                call(start, size, _DONT_NEED)
        _Held.others = max(_Held.others, _file_pages_bytes())
    except (OSError, RuntimeError, ValueError, IndexError):
        return


def _file_pages_bytes() -> int:
    with open("/proc/self/statm", "rb", buffering=0) as file:  # noqa: PTH123  once a transaction: no buffers, no layers
        return int(file.read(128).split()[2]) * _PAGE_BYTES


def _mappings(paths: set[str]) -> list[tuple[int, int]]:
    """Address and size of every shared mapping of the files in this process. By path, for a layered file system shows other
    device numbers here than elsewhere.
    """
    found = []
    with (_SELF / "maps").open("r", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            if line[line.find(" ") + 4] != "s":
                continue
            fields = line.rstrip("\n").split(maxsplit=5)
            if len(fields) == 6 and fields[5].replace(r"\012", "\n") in paths:
                start, _, end = fields[0].partition("-")
                found.append((int(start, 16), int(end, 16) - int(start, 16)))
    return found
