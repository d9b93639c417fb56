"""Finding transcripts. A path is data: only regular files are opened, nothing is followed out of the folder that was named."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from ledger.errors import UsageError

READ_BYTES = 256 << 10
"""Buffer of an open file: memory is this plus the longest line, whatever the file's size."""


class Found(msgspec.Struct, frozen=True):
    """A regular file. `named` says that it was asked for by name, so that an unknown format is an answer and not a skip."""

    path: Path
    named: bool


class Refused(msgspec.Struct, frozen=True):
    """Something in a folder that is not opened, and why: `not_regular`, `outside`, `unreadable`."""

    path: Path
    reason: str


def open_regular(path: Path, *, hint: str = "Name a transcript file, or a folder with transcripts.") -> BinaryIO:
    """Open a regular file for reading, without blocking on a pipe that took its place. `hint` says what to name instead.

    Raises `UsageError`, with what to do, for a path that is missing, unreadable, or anything but a regular file.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise UsageError(f"{path}: there is no such file", hint="Check the path.") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read ({_why(error)})", hint="Check the path and its permissions.") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise UsageError(f"{path}: is no regular file", hint=hint)
    return os.fdopen(handle, "rb", buffering=READ_BYTES)


def discover(paths: Sequence[str | os.PathLike[str]]) -> Iterator[Found | Refused]:
    """Named files as given, folders walked; each list in byte order of the paths, each file once.

    Raises `UsageError` for a named path that is missing or neither file nor folder.
    """
    seen: set[tuple[int, int]] = set()
    for given in sorted({os.fspath(path) for path in paths}, key=os.fsencode):
        path = Path(given)
        try:
            status = path.stat()
        except FileNotFoundError:
            raise UsageError(f"{path}: there is no such file or folder", hint="Check the path.") from None
        except (OSError, ValueError) as error:
            raise UsageError(f"{path!r}: cannot be read ({_why(error)})", hint="Check the path.") from None
        if stat.S_ISDIR(status.st_mode):
            for found in _walk(path):
                if isinstance(found, Refused) or _first_time(found.path, seen):
                    yield found
        elif stat.S_ISREG(status.st_mode):
            if _first_time(path, seen):
                yield Found(path, named=True)
        else:
            raise UsageError(f"{path}: is no regular file", hint="Name a transcript file, or a folder with transcripts.")


def _first_time(path: Path, seen: set[tuple[int, int]]) -> bool:
    try:
        status = path.stat()
    except OSError:
        return True
    key = (status.st_dev, status.st_ino)
    if key in seen:
        return False
    seen.add(key)
    return True


def _walk(root: Path) -> list[Found | Refused]:
    """Every file below `root`. A link is followed to a file inside `root` only; links to folders are not followed at all."""
    base = os.path.realpath(root)
    found: list[Found | Refused] = []
    folders = [os.fspath(root)]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            found.append(Refused(Path(folder), "unreadable"))
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            else:
                found.append(_judge(entry, base))
    return sorted(found, key=lambda one: os.fsencode(one.path))


def _judge(entry: os.DirEntry[str], base: str) -> Found | Refused:
    path = Path(entry.path)
    if entry.is_symlink():
        target = os.path.realpath(entry.path)
        if os.path.commonpath([base, target]) != base:
            return Refused(path, "outside")
        return Found(path, named=False) if Path(target).is_file() else Refused(path, "not_regular")
    return Found(path, named=False) if entry.is_file(follow_symlinks=False) else Refused(path, "not_regular")


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
