"""Snapshots of one partition's index: copied, described, verified, restored.

A snapshot is a cache of a cache: it saves folding the log from its beginning and holds nothing that the log does not. So every
doubt about one ends the same way: it is refused with its reason, and the next older one is tried, or the log is folded.

    ROOT/p007/00000000000000012345/   data.mdb, identity.json, manifest.json

Life of a snapshot: copied and synced under a name with a dot; its rows read once, so that damage of the index is not kept;
described by a manifest with a checksum of its own; renamed into place. A process that ends on the way leaves the older
snapshots as they were, and something with a dot in its name that the next one removes.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from consumers.carrier_index import KIND, CarrierIndex, outbox_of
from consumers.snapshot_manifest import (
    MANIFEST,
    PIECE_BYTES,
    SnapshotManifest,
    SnapshotUnfit,
    check_fits,
    compare_file,
    compare_progress,
    describe,
    identity_of,
    read_manifest,
    verify,
)
from consumers.stored_rows import rows_of
from ledger.errors import IndexBusy, IndexDamaged, LogUnavailable, UsageError
from ledger.faults import declare, fault_point
from ledger.log import LogIdentity
from ledger.storage.file import FileIdentity
from ledger.storage.layout import DATA, IDENTITY, LOCK, space_hint, sync_directory, write_synced
from ledger.storage.pages import walk

__all__ = [
    "Choice",
    "RefusedSnapshot",
    "SnapshotManifest",
    "SnapshotUnfit",
    "StoredSnapshot",
    "latest",
    "prune",
    "restore",
    "take",
    "verify",
]

OFFSET_DIGITS = 20
"""Enough for every offset there is (2^63), so that the order of names is the order of offsets."""

COPIED = declare("snapshot.copied", "a snapshot is copied and synced under a name with a dot, nothing describes it yet")
WRITTEN = declare("snapshot.written", "a snapshot is complete and synced under a name with a dot")
RENAMED = declare("snapshot.renamed", "a snapshot has its name, the directory is not synced yet")
RESTORE_WRITTEN = declare("snapshot.restore.written", "a restored index is verified and synced beside the place of the index")
RESTORE_RENAMED = declare("snapshot.restore.renamed", "a restored index is in its place, the directory is not synced yet")
PRUNE_RENAMED = declare("snapshot.prune.renamed", "an old snapshot has lost its name and is not removed yet")


class StoredSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot and where it lies."""

    path: Path
    manifest: SnapshotManifest


class RefusedSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot that was passed over, and why."""

    path: Path
    reason: str


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The newest snapshot that may be restored, or None, and the newer ones that may not."""

    found: StoredSnapshot | None
    refused: tuple[RefusedSnapshot, ...]


def take(index: CarrierIndex, root: Path, *, created_ms: int) -> StoredSnapshot:
    """Copy the index, as its last commit left it, to a place below `root`. The fold goes on meanwhile.

    Where a sound snapshot at this offset is there already, it is the answer. Raises `IndexDamaged` if the index has damaged
    pages or rows, `IndexBusy` if another process takes one, `SnapshotUnfit` if one of another log stands at the place,
    `LogUnavailable` if it cannot be written.
    """
    folder = _folder(root, index.file.identity.partition or 0)
    draft = folder / ".taking"
    with _sole(folder):
        try:
            with index.snapshot() as view:
                offset = view.offset_next
            standing = _standing(folder / _name(offset), index.file.identity)
            if standing is not None:
                return standing
            index.file.copy_to(draft)
            _sync(draft / DATA)
            fault_point(COPIED)
            _check_copy(draft, index.file.identity)
            manifest = describe(draft, index.file.identity, created_ms)
            write_synced(draft / MANIFEST, msgspec.json.encode(manifest) + b"\n")
            sync_directory(draft)
            fault_point(WRITTEN)
            path = folder / _name(manifest.offset_next)
            if _standing(path, index.file.identity) is None:
                _drop(path)
                draft.rename(path)
                fault_point(RENAMED)
                sync_directory(folder)
        except OSError as error:
            raise LogUnavailable(f"{folder}: no snapshot can be made here: {error}", hint=space_hint(folder, error)) from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return StoredSnapshot(path=path, manifest=manifest)


def latest(root: Path, log: LogIdentity, partition: int, *, offset_end: int) -> Choice:
    """The newest snapshot of this partition of this log that is not ahead of the log and verifies.

    `offset_end` is the offset that the next record of the partition will take. Newer ones that do not fit are listed with the
    reason; they stay where they are.
    """
    refused: list[RefusedSnapshot] = []
    for path in _newest_first(_folder(root, partition)):
        try:
            manifest = verify(path)
            check_fits(path, manifest, log, partition, offset_end)
        except SnapshotUnfit as error:
            refused.append(RefusedSnapshot(path=path, reason=error.message))
        else:
            return Choice(found=StoredSnapshot(path=path, manifest=manifest), refused=tuple(refused))
    return Choice(found=None, refused=tuple(refused))


def restore(path: Path, directory: Path, *, replace: bool = False) -> SnapshotManifest:
    """Make the index at `directory` from a snapshot, verified while it is copied. Call it under `folding`, with no index open
    there.

    What is there is left alone unless `replace`. Raises `UsageError` if something is there, `SnapshotUnfit`, `LogUnavailable`.
    """
    manifest = read_manifest(path)
    if not replace and directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory}: there is an index already", hint="Remove it, or restore over it on purpose.")
    draft = directory.parent / f".{directory.name}.restoring-{os.getpid()}"
    try:
        directory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for leftover in directory.parent.glob(f".{directory.name}.restoring-*"):
            shutil.rmtree(leftover)
        draft.mkdir(mode=0o700)
        size, sha256 = _copy(path / DATA, draft / DATA)
        compare_file(path, manifest, size, sha256)
        write_synced(draft / IDENTITY, msgspec.json.encode(identity_of(manifest)) + b"\n")
        sync_directory(draft)
        compare_progress(draft, manifest)
        fault_point(RESTORE_WRITTEN)
        if replace:
            CarrierIndex.discard(directory)
        draft.rename(directory)
        fault_point(RESTORE_RENAMED)
        sync_directory(directory.parent)
    except OSError as error:
        raise LogUnavailable(f"{directory}: cannot be restored: {error}", hint=space_hint(directory, error)) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return manifest


def prune(root: Path, log: LogIdentity, partition: int, *, offset_end: int, keep: int) -> list[Path]:
    """Remove the snapshots that `keep` newer ones make needless, and say which. Only those count that could be restored now; as
    long as there are fewer, nothing is removed.

    What is of another log, format or release stays: it is not ours to judge. Raises `UsageError` for a `keep` below 1,
    `IndexBusy`, `LogUnavailable`.
    """
    if keep < 1:
        raise UsageError(f"keep={keep}: at least one snapshot is kept", hint="Delete the folder to have none.")
    folder = _folder(root, partition)
    if not folder.is_dir():
        return []
    with _sole(folder):
        needless = _needless(folder, log, partition, offset_end, keep)
        for path in needless:
            try:
                _drop(path)
            except OSError as error:
                raise LogUnavailable(f"{path}: cannot be removed: {error}") from error
    return needless


def _needless(folder: Path, log: LogIdentity, partition: int, offset_end: int, keep: int) -> list[Path]:
    """Snapshots of this log that are damaged, or older than enough sound ones."""
    kept, needless = 0, []
    for path in _newest_first(folder):
        try:
            check_fits(path, read_manifest(path), log, partition, offset_end)
        except SnapshotUnfit:
            continue
        if kept < keep and _is_sound(path):
            kept += 1
        else:
            needless.append(path)
    return needless if kept == keep else []


def _is_sound(path: Path) -> bool:
    try:
        verify(path)
    except SnapshotUnfit:
        return False
    return True


def _folder(root: Path, partition: int) -> Path:
    return root / f"p{partition:03}"


def _name(offset: int) -> str:
    return f"{offset:0{OFFSET_DIGITS}}"


def _newest_first(folder: Path) -> list[Path]:
    """Everything that has the name of a snapshot."""
    try:
        names = [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [folder / name for name in sorted(names, reverse=True) if len(name) == OFFSET_DIGITS and name.isdecimal()]


@contextmanager
def _sole(folder: Path) -> Iterator[None]:
    """One process at a time changes the snapshots of a partition; what a killed one left behind goes first."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise LogUnavailable(f"{folder}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise IndexBusy(f"{folder}: another process changes the snapshots", hint="Try again when it is done.") from None
        for leftover in folder.glob(".*"):
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
        yield
    finally:
        os.close(handle)


def _drop(path: Path) -> None:
    """Remove a snapshot so that no half of one ever stands under its name."""
    doomed = path.with_name(f".{path.name}.doomed")
    try:
        path.rename(doomed)
    except FileNotFoundError:
        return
    fault_point(PRUNE_RENAMED)
    shutil.rmtree(doomed, ignore_errors=True)


def _standing(path: Path, identity: FileIdentity) -> StoredSnapshot | None:
    """The sound snapshot of this index at `path`; None where there is none, or a damaged one that may be replaced."""
    if not path.exists():
        return None
    try:
        manifest = verify(path)
    except SnapshotUnfit:
        return None
    if identity_of(manifest) != identity:
        raise SnapshotUnfit(f"{path}: a snapshot of another log stands here", hint="Give each log a folder of its own.")
    return StoredSnapshot(path=path, manifest=manifest)


def _check_copy(draft: Path, identity: FileIdentity) -> None:
    """Pages and rows of the copy are sound, so the index was. Raises `IndexDamaged`: what was copied is to be rebuilt."""
    faults = walk(draft / DATA)
    if faults:
        raise IndexDamaged(f"the index has damaged pages: {faults[0]}", hint=f"To do: {KIND.remedy}.")
    copy = CarrierIndex(draft, LogIdentity(identity.log_id, identity.partitions), identity.partition or 0)
    try:
        with copy.file.read() as txn:
            for values in (rows_of(copy.file), outbox_of(copy.file)):
                with txn.cursor(db=values.part) as cursor:
                    for key, raw in cursor:
                        values.read(txn, bytes(key), raw)
                        copy.file.touched()
    finally:
        copy.close()
        (draft / LOCK).unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Make a file's content durable."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _copy(source: Path, target: Path) -> tuple[int, str]:
    """Copy a file, durable when this returns. Size and SHA-256 of what was written."""
    state, size = hashlib.sha256(), 0
    with source.open("rb", buffering=0) as reading, target.open("xb") as writing:
        while piece := reading.read(PIECE_BYTES):
            state.update(piece)
            size += len(piece)
            writing.write(piece)
        writing.flush()
        os.fsync(writing.fileno())
    return size, state.hexdigest()
