"""How the C library keeps what was freed. Its defaults suit servers that never shrink: an arena for each thread, and a
threshold that rises with the largest block ever freed, so that a store's pages and a long line's bytes are kept for more.
"""

from __future__ import annotations

import ctypes
import sys

_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1
"""Parameters of `mallopt`, as glibc numbers them."""

LARGE_BYTES = 128 << 10
"""Blocks from this size on are mapped for themselves, and as much at the top of the heap is kept: where the defaults begin."""


def keep_little() -> None:
    """Tell the C library, where it is glibc, to give back what is freed. It costs no time that can be measured."""
    if not sys.platform.startswith("linux"):
        return
    try:
        set_parameter = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    for parameter, value in ((_ARENA_MAX, 1), (_MMAP_THRESHOLD, LARGE_BYTES), (_TRIM_THRESHOLD, LARGE_BYTES)):
        set_parameter(parameter, value)
