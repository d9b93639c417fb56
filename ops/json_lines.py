"""Files of JSON lines that people and programs hand in."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator

from ledger.errors import LedgerError


class NothingInFile(LedgerError):
    """A named file without a single line, so nothing can be concluded from it."""

    exit_code = 3


def json_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that hold anything, each with its number from 1. A byte order mark at the beginning is no part of the first."""
    for number, line in enumerate(data.removeprefix(BOM_UTF8).split(b"\n"), start=1):
        if line.strip():
            yield number, line
