"""What stands in the directory of an LMDB store, and how it comes into being.

`data.mdb` and `lock.mdb` are LMDB's; `identity.json` says what the store is. The same identity stands inside the data file, so
that a data file put in another's place is noticed. A store is made under another name and renamed into place when it is
complete and synced, so a half-made one is never seen under its own name, whenever the process ends.

LMDB's settings: engine 0.9, synced commits, no writemap, and a map far larger than the data. The map is reserved and not
occupied, so it never has to grow while several processes have it open.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import lmdb
import msgspec

from ledger.errors import LedgerError, LogUnavailable, StoreUnavailable, UsageError
from ledger.faults import declare, fault_point

DATA, LOCK, IDENTITY = "data.mdb", "lock.mdb", "identity.json"
META_DATABASE = b"meta"
IDENTITY_KEY, COMMIT_KEY = b"identity", b"commit"

MAP_VARIABLE = "CLEDGER_LMDB_MAP_MIB"
MAP_BYTES = 64 << 30
"""Reserved address space, not disk: the file grows only as it is written. A log that outgrows it needs a larger map."""

MAP_BYTES_LEAST = 64 << 20
"""Where less address space is allowed the map is halved down to this; below it no useful store fits."""

READERS_MAX = 1022
LOCK_BYTES = 64 << 10
"""Slots for simultaneous read transactions over all processes, far more than short reads need, and the file that holds them."""

DISK_FULL_BYTES = 1 << 20
"""LMDB reports a full disk as an input/output error; with less than this free, that is what it was."""

INLINE_BYTES_MAX = 1900
"""Longest key and value together, in bytes, that lie within one page of 4 KiB or more (LMDB's limit there is 2030). The engine
checks the length of such a value against its page. That of a longer one, which has pages of its own, nobody checks: where it is
damaged, reading the value runs over the end of the file and kills the process. So long values are stored in pieces."""

FILE_WRITTEN = declare("file.create.written", "a new store is complete under its temporary name")
FILE_RENAMED = declare("file.create.renamed", "a new store has its name, the directory is not synced yet")


class Database(msgspec.Struct, frozen=True):
    """A named part (LMDB: sub-database) of a store."""

    name: str
    dupsort: bool = False
    dupfixed: bool = False


class FileKind(msgspec.Struct, frozen=True):
    """What sort of store it is: which parts it has, which format this release writes, and how its faults are called.

    `remedy` completes "what to do" of every damage message.
    """

    name: str
    format: int
    databases: tuple[Database, ...]
    damaged: type[LedgerError]
    missing: type[LedgerError]
    remedy: str


class FileIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What `identity.json` says. `partition` is set where a store belongs to one partition of the log, as an index does."""

    kind: str
    format: int
    log_id: str
    partitions: int
    partition: int | None = None


def create_file(directory: Path, kind: FileKind, identity: FileIdentity) -> bool:
    """Make a store; False if there is one already. Any number of processes may try at once, one of them makes it.

    Raises `LogUnavailable` where the place cannot be written.
    """
    if (directory / IDENTITY).exists():
        return False
    try:
        new_parent = not directory.parent.exists()
        directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if new_parent:
            sync_directory(directory.parent.parent)
        with _creation_lock(directory):
            if _is_occupied(directory):
                return False
            for leftover in directory.parent.glob(f".{directory.name}.new-*"):
                shutil.rmtree(leftover)
            draft = directory.parent / f".{directory.name}.new-{os.getpid()}"
            _write_draft(draft, kind, msgspec.json.encode(identity))
            fault_point(FILE_WRITTEN)
            draft.rename(directory)
            fault_point(FILE_RENAMED)
            sync_directory(directory.parent)
            return True
    except (OSError, lmdb.Error) as error:
        raise StoreUnavailable(f"{directory}: no store can be made here: {error}", hint=space_hint(directory, error)) from error


def _write_draft(draft: Path, kind: FileKind, identity: bytes) -> None:
    draft.mkdir(mode=0o700)
    env = map_store(draft, kind, 0)
    try:
        with env.begin(write=True) as txn:
            for part in kind.databases:
                env.open_db(part.name.encode(), txn=txn, dupsort=part.dupsort, dupfixed=part.dupfixed)
            meta = env.open_db(META_DATABASE, txn=txn)
            txn.put(IDENTITY_KEY, identity, db=meta)
            txn.put(COMMIT_KEY, commit_mark(txn.id()), db=meta)
    finally:
        env.close()
    (draft / LOCK).unlink()
    write_synced(draft / IDENTITY, identity + b"\n")
    sync_directory(draft)


def write_synced(path: Path, data: bytes) -> None:
    """Write a file so that it is durable with its content when this returns; its name is so once the directory is synced."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_directory(directory: Path) -> None:
    """Make the names in `directory` durable. Raises `OSError`."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def _creation_lock(directory: Path) -> Iterator[None]:
    """One maker at a time. The lock file stays: deleting it would let two makers lock two different files."""
    fd = os.open(directory.parent / f".{directory.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _is_occupied(directory: Path) -> bool:
    return directory.exists() and (not directory.is_dir() or any(directory.iterdir()))


def read_identity(directory: Path, kind: FileKind) -> FileIdentity:
    """The identity beside the data. Raises the kind's `missing` without a store, its `damaged` if it is not of this kind."""
    try:
        raw = (directory / IDENTITY).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        if not _is_occupied(directory):
            raise kind.missing(f"{directory}: there is no {kind.name} here") from None
        raise kind.damaged(
            f"{directory}: {IDENTITY} is missing, so nothing says what the store is", hint=f"To do: {kind.remedy}."
        ) from None
    except OSError as error:
        raise StoreUnavailable(f"{directory / IDENTITY}: {error.strerror}") from error
    try:
        identity = msgspec.json.decode(raw, type=FileIdentity)
    except msgspec.DecodeError as error:
        raise kind.damaged(f"{directory / IDENTITY}: not an identity: {error}", hint=f"To do: {kind.remedy}.") from None
    if identity.kind != kind.name:
        raise kind.damaged(f"{directory}: this is a store of kind {identity.kind!r}, expected {kind.name!r}")
    if identity.format != kind.format:
        newer = identity.format > kind.format
        raise kind.damaged(
            f"{directory}: the {kind.name} has format {identity.format}, this release reads format {kind.format}",
            hint="It was written by a newer release: update this one." if newer else f"To do: {kind.remedy}.",
        )
    return identity


def commit_mark(txn_id: int) -> bytes:
    """What a transaction leaves in the store to say that it was the last to commit."""
    return txn_id.to_bytes(8, "big")


def map_store(directory: Path, kind: FileKind, file_bytes: int) -> lmdb.Environment:
    """Map a store, with less address space where the system refuses much. Raises `lmdb.Error`, `OSError`, `UsageError`."""
    size = _map_bytes()
    _reserve_lock_file(directory / LOCK)
    while True:
        try:
            env = lmdb.open(
                str(directory),
                map_size=size,
                max_dbs=len(kind.databases) + 1,
                max_readers=READERS_MAX,
                mode=0o600,
                readahead=False,
                lib_version=0,
            )
            break
        except lmdb.Error as error:
            if error.code not in ADDRESS_SPACE_REFUSED or size // 2 < max(MAP_BYTES_LEAST, file_bytes):
                raise
            size //= 2
    if env.lib_version()[:2] != (0, 9):
        env.close()
        raise LogUnavailable(f"{directory}: LMDB engine {env.lib_version()} was chosen, expected 0.9")
    return env


def _reserve_lock_file(path: Path) -> None:
    """Give the lock file its disk space before it is mapped: writing into a hole of a mapped file kills on a full disk.

    Only before LMDB opens the file: closing any descriptor of it afterwards would drop this process's locks on it.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if hasattr(os, "posix_fallocate") and os.fstat(fd).st_blocks * 512 < LOCK_BYTES:
            os.posix_fallocate(fd, 0, LOCK_BYTES)
    finally:
        os.close(fd)


ADDRESS_SPACE_REFUSED = (errno.ENOMEM, errno.EINVAL, errno.EFBIG, errno.EOVERFLOW)


def _map_bytes() -> int:
    text = os.environ.get(MAP_VARIABLE, "")
    if not text:
        return MAP_BYTES
    if not (text.isascii() and text.isdecimal()) or not 0 < int(text) < 1 << 27:
        raise UsageError(f"{MAP_VARIABLE}={text!r}: expected a number of MiB")
    return int(text) << 20


def restamp(directory: Path, kind: FileKind) -> None:
    """A compacted copy counts its transactions from 1 again: write the mark of a commit of its own."""
    env = map_store(directory, kind, 0)
    try:
        with env.begin(write=True) as txn:
            meta = env.open_db(META_DATABASE, txn=txn, create=False)
            txn.put(COMMIT_KEY, commit_mark(txn.id()), db=meta)
    finally:
        env.close()
    (directory / LOCK).unlink(missing_ok=True)


def space_hint(directory: Path, error: Exception | None = None) -> str:
    """LMDB calls a full disk an input/output error, so look at the space to say what it was."""
    if getattr(error, "code", getattr(error, "errno", 0)) == errno.ENOMEM:
        return f"The system refuses the address space: raise the limit (ulimit -v), or set {MAP_VARIABLE} to fewer MiB."
    place = next(place for place in (directory, *directory.parents) if place.exists())
    with suppress(OSError):
        disk = shutil.disk_usage(place)
        if not disk.total:
            return f"{place} is no place for files: choose another one. Nothing of this write is kept."
        if disk.free < DISK_FULL_BYTES:
            full = f"The disk is full ({disk.free} bytes free at {place})."
            return f"{full} Nothing of this write is kept: make room and repeat it."
    return "Nothing of this write is kept."
