"""A look at an LMDB data file before it is mapped.

A mapped file that is shorter than its own root says kills the process with SIGBUS when the missing part is touched, and an
emptied one opens as a new, empty store without an error. Both would turn damage into a crash or, worse, into plausible silence.
So the two meta pages are read here with plain reads and compared with the size of the file, and only a file that passes is
given to LMDB. Layout: LMDB 0.9 (data version 1), 64-bit, native byte order:

    page header     16 bytes: page number u64, pad u16, flags u16, lower u16, upper u16
    meta            magic u32, version u32, address u64, map size u64, two 48-byte database records, last page u64, txn id u64
    database record pad u32 (of the first: the page size), flags u16, depth u16, four counters u64, root u64
"""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path
from typing import NamedTuple

from lmdb.verify import VerifyError, verify

MAGIC = 0xBEEFC0DE
DATA_VERSION = 1
P_META = 0x08
PAGE_HEADER = struct.Struct("=QHHHH")
META = struct.Struct("=IIQQ 48s 48s QQ")
DATABASE = struct.Struct("=IHHQQQQQ")
NO_ROOT = (1 << 64) - 1
PAGE_BYTES_MIN, PAGE_BYTES_MAX = 512, 32768
"""Page sizes LMDB 0.9 can make: the system's, up to 32 KiB."""

READS_MAX, READ_PAUSE_S = 10, 0.002
"""A meta page may be caught while another process writes it; a write of 160 bytes is over long before the second look."""


class Unsound(Exception):
    """The data file is not what LMDB would have left; the text says what was found and what was expected."""


class MetaPage(NamedTuple):
    """What one of the two meta pages says. The one with the higher `txn_id` is in force."""

    txn_id: int
    last_page: int
    page_bytes: int
    roots: tuple[int, int]


def check_data_file(path: Path) -> MetaPage:
    """The meta page in force of the data file at `path`. Raises `Unsound`, or `OSError` if the file cannot be read."""
    for attempt in range(READS_MAX):
        try:
            return _check_once(path)
        except Unsound:
            if attempt == READS_MAX - 1:
                raise
            time.sleep(READ_PAUSE_S)
    raise AssertionError("unreachable")


def _check_once(path: Path) -> MetaPage:
    with path.open("rb", buffering=0) as file:
        first = _meta_page(file.fileno(), 0, 0)
        second = _meta_page(file.fileno(), 1, first.page_bytes)
        # The size is taken after the metas: a commit extends the file first and writes its meta page last.
        size = os.fstat(file.fileno()).st_size
    if second.page_bytes != first.page_bytes:
        raise Unsound(f"its meta pages disagree on the page size ({first.page_bytes} and {second.page_bytes} bytes)")
    # Transaction n writes meta page n mod 2, so the two differ by one; both are 0 in a store that was never written.
    if (first.txn_id, second.txn_id) != (0, 0) and (
        first.txn_id % 2 or not second.txn_id % 2 or abs(first.txn_id - second.txn_id) != 1
    ):
        raise Unsound(f"its meta pages name transactions {first.txn_id} and {second.txn_id}, which cannot stand together")
    newest = max(first, second)
    # Of the page in force only: after a failed write of a meta page LMDB leaves the other one with roots that are not valid.
    if newest.last_page < 1 or any(root != NO_ROOT and not 2 <= root <= newest.last_page for root in newest.roots):
        raise Unsound(f"its meta page points outside the store (roots {newest.roots}, last page {newest.last_page})")
    expected = (newest.last_page + 1) * newest.page_bytes
    if size < expected:
        _check_short_file(path, size, expected)
    return newest


def _meta_page(fd: int, number: int, page_bytes: int) -> MetaPage:
    raw = os.pread(fd, PAGE_HEADER.size + META.size, number * page_bytes)
    if not raw and number == 0:
        raise Unsound("it is empty")
    if len(raw) < PAGE_HEADER.size + META.size:
        raise Unsound(f"it ends within meta page {number}")
    page, _, flags, _, _ = PAGE_HEADER.unpack_from(raw)
    magic, version, _, _, free, main, last_page, txn_id = META.unpack_from(raw, PAGE_HEADER.size)
    if magic != MAGIC or not flags & P_META:
        raise Unsound(f"meta page {number} is no LMDB meta page (magic {magic:#010x}, expected {MAGIC:#010x})")
    if version != DATA_VERSION:
        raise Unsound(f"it has LMDB data version {version}, expected {DATA_VERSION} (LMDB 0.9)")
    if page != number:
        raise Unsound(f"meta page {number} says that it is page {page}")
    size, roots = DATABASE.unpack(free)[0], (DATABASE.unpack(free)[-1], DATABASE.unpack(main)[-1])
    if not PAGE_BYTES_MIN <= size <= PAGE_BYTES_MAX or size & (size - 1):
        raise Unsound(f"meta page {number} names a page size of {size} bytes")
    return MetaPage(txn_id, last_page, size, roots)


def _check_short_file(path: Path, size: int, expected: int) -> None:
    """A file may lack pages at its end if they were freed before they were ever written, and in no other case.

    Rare, so the price of a walk over the whole file is paid only here.
    """
    if walk(path):
        raise Unsound(f"it is {size} bytes long and its meta page speaks of {expected}: it was truncated")


def walk(path: Path) -> list[str]:
    """Look at every page of a data file with plain reads and name what is wrong; empty if nothing is.

    The file must not be written meanwhile: hold the write lock, or accept a false alarm.
    """
    try:
        return list(verify(str(path), subdir=False))  # type: ignore[no-untyped-call]
    except (VerifyError, RecursionError, MemoryError, struct.error, IndexError) as error:
        return [str(error) or type(error).__name__]
