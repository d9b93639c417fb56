"""What a snapshot says of itself, and whether that is so: its manifest, and the comparison of every byte with it.

Nothing here writes. A snapshot is looked at without a lock and without leaving a trace, so it may lie where nothing can be
written.
"""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import lmdb
import msgspec

from consumers.carrier_index import FORMAT as INDEX_FORMAT
from consumers.carrier_index import KIND, PROGRESS, read_progress
from ledger.errors import IntegrityError, LedgerError
from ledger.facts import RULES_VERSION
from ledger.log import LogIdentity
from ledger.storage.file import FileIdentity, read_identity
from ledger.storage.layout import DATA, IDENTITY
from ledger.storage.pages import Unsound, check_data_file
from schemas.ids import digest

FORMAT = 1
"""Version of the manifest and of what lies beside it."""

MANIFEST = "manifest.json"
MANIFEST_BYTES_MAX = 1 << 16
PIECE_BYTES = 1 << 20
"""How much of a file is read at a time: more takes memory and saves nothing."""

_opening = threading.Lock()
"""LMDB refuses to open one file twice in one process, and looks at a snapshot are short."""


class SnapshotUnfit(IntegrityError):
    """A snapshot that is damaged, of another log, of another format, or ahead of its log. Nothing was changed."""


class SnapshotManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a snapshot is of. `offset_next` is the first offset that it does not hold, `chain` the chained hash up to there in
    hex, `lib_version` the LMDB engine that wrote it, `created_ms` what its maker called now, in milliseconds since the epoch.
    """

    format: int
    log_id: str
    partitions: int
    partition: int
    offset_next: int
    chain: str
    index_format: int
    rules_version: str
    lib_version: str
    file_bytes: int
    file_sha256: str
    created_ms: int
    check: str = ""


class _Format(msgspec.Struct):
    format: int


def describe(draft: Path, identity: FileIdentity, created_ms: int) -> SnapshotManifest:
    """The manifest of a copy that is complete. Raises `SnapshotUnfit` if it cannot be opened, `OSError`."""
    offset_next, chain, lib_version = _progress(draft)
    size, sha256 = _hash(draft / DATA)
    manifest = SnapshotManifest(
        format=FORMAT,
        log_id=identity.log_id,
        partitions=identity.partitions,
        partition=identity.partition or 0,
        offset_next=offset_next,
        chain=chain,
        index_format=identity.format,
        rules_version=RULES_VERSION,
        lib_version=lib_version,
        file_bytes=size,
        file_sha256=sha256,
        created_ms=created_ms,
    )
    return msgspec.structs.replace(manifest, check=_check_of(manifest))


def read_manifest(path: Path) -> SnapshotManifest:
    """The manifest, if this release can use what it describes. Raises `SnapshotUnfit`."""
    try:
        with (path / MANIFEST).open("rb") as file:
            raw = file.read(MANIFEST_BYTES_MAX)
        found = msgspec.json.decode(raw, type=_Format).format
        if found != FORMAT:
            advice = "It was written by a newer release: update this one." if found > FORMAT else "Take a new one."
            raise SnapshotUnfit(f"{path}: the snapshot has format {found}, this release reads format {FORMAT}", hint=advice)
        manifest = msgspec.json.decode(raw, type=SnapshotManifest)
    except OSError as error:
        raise SnapshotUnfit(f"{path}: {MANIFEST} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotUnfit(f"{path}: {MANIFEST} is damaged: {error}") from None
    if manifest.check != _check_of(manifest):
        raise SnapshotUnfit(f"{path}: {MANIFEST} is not what was written")
    for what, theirs, ours in (
        ("index format", manifest.index_format, INDEX_FORMAT),
        ("rules version", manifest.rules_version, RULES_VERSION),
    ):
        if theirs != ours:
            raise SnapshotUnfit(
                f"{path}: it was folded under {what} {theirs}, this release has {ours}", hint="Fold the log from its beginning."
            )
    return manifest


def verify(path: Path) -> SnapshotManifest:
    """Read every byte of a snapshot and compare it with its manifest. Raises `SnapshotUnfit` with what was found."""
    try:
        manifest = read_manifest(path)
        size, sha256 = _hash(path / DATA)
        compare_file(path, manifest, size, sha256)
        if read_identity(path, KIND) != identity_of(manifest):
            raise SnapshotUnfit(f"{path}: {IDENTITY} and {MANIFEST} speak of two stores")
        compare_progress(path, manifest)
    except SnapshotUnfit:
        raise
    except (OSError, LedgerError) as error:
        found = error.message if isinstance(error, LedgerError) else str(error)
        raise SnapshotUnfit(f"{path}: cannot be read: {found}") from error
    return manifest


def check_fits(path: Path, manifest: SnapshotManifest, log: LogIdentity, partition: int, offset_end: int) -> None:
    """Raises `SnapshotUnfit` unless it is of this partition of this log, and not ahead of `offset_end`, where the log ends."""
    if manifest.log_id != log.log_id:
        raise SnapshotUnfit(f"{path}: it is of log {manifest.log_id}, not of {log.log_id}")
    if manifest.partitions != log.partitions:
        raise SnapshotUnfit(f"{path}: it is of a log with {manifest.partitions} partitions, not {log.partitions}")
    if manifest.partition != partition:
        raise SnapshotUnfit(f"{path}: it is of partition {manifest.partition}, not {partition}")
    if manifest.offset_next > offset_end:
        raise SnapshotUnfit(
            f"{path}: it holds records up to offset {manifest.offset_next - 1}, and the log ends at {offset_end}",
            hint="Records were lost from the log, or it was replaced. Run: cledger verify",
        )


def compare_file(path: Path, manifest: SnapshotManifest, size: int, sha256: str) -> None:
    """Raises `SnapshotUnfit` unless size and SHA-256 of the data file are those that the manifest names."""
    if size != manifest.file_bytes:
        raise SnapshotUnfit(f"{path}: {DATA} has {size} bytes, {MANIFEST} says {manifest.file_bytes}")
    if sha256 != manifest.file_sha256:
        raise SnapshotUnfit(f"{path}: {DATA} is not what was written: SHA-256 {sha256}, expected {manifest.file_sha256}")


def compare_progress(directory: Path, manifest: SnapshotManifest) -> None:
    """Raises `SnapshotUnfit` unless the data file stands where the manifest says, offset and chained hash."""
    offset_next, chain, _ = _progress(directory)
    if (offset_next, chain) != (manifest.offset_next, manifest.chain):
        raise SnapshotUnfit(
            f"{directory}: {DATA} stands at offset {offset_next} with chain {chain}, "
            f"{MANIFEST} says {manifest.offset_next} with {manifest.chain}"
        )


def identity_of(manifest: SnapshotManifest) -> FileIdentity:
    """Which index it is a copy of."""
    return FileIdentity(
        kind=KIND.name,
        format=manifest.index_format,
        log_id=manifest.log_id,
        partitions=manifest.partitions,
        partition=manifest.partition,
    )


def _check_of(manifest: SnapshotManifest) -> str:
    return digest("snapshot", msgspec.json.encode(msgspec.structs.replace(manifest, check=""))).hex()


def _progress(directory: Path) -> tuple[int, str, str]:
    """Next offset and chain in hex of an index that nobody writes, and the engine's version."""
    try:
        check_data_file(directory / DATA)
        with _opening:
            env = lmdb.open(
                str(directory),
                max_dbs=len(KIND.databases) + 1,
                readonly=True,
                lock=False,
                create=False,
                readahead=False,
                lib_version=0,
            )
            try:
                part = env.open_db(PROGRESS.encode(), create=False)
                with env.begin() as txn:
                    offset_next, chain = read_progress(txn, part)
                version = ".".join(str(number) for number in env.lib_version()[:3])
            finally:
                env.close()
    except (Unsound, lmdb.Error) as error:
        raise SnapshotUnfit(f"{directory}: {DATA} is damaged: {error}") from error
    return offset_next, chain.hex(), version


def _hash(path: Path) -> tuple[int, str]:
    """Size and SHA-256 of a file."""
    state, size = hashlib.sha256(), 0
    with path.open("rb", buffering=0) as file:
        while piece := file.read(PIECE_BYTES):
            state.update(piece)
            size += len(piece)
    return size, state.hexdigest()
