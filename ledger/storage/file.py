"""Opening an LMDB store so that damage is an error with a name, never a crash and never a plausible emptiness (P7, L10).

What is checked, and when:

- before mapping: identity present, of the right kind, of a format this release knows; meta pages sound, file as long as they
  say;
- when opening: the identity inside equals the one beside;
- at each transaction: this process is the one that opened the store, the file at the path is still the one that was opened and
  has not shrunk, and the snapshot is the one that the last commit left: each commit writes its own transaction id into the
  store, so a root that points at an older state is noticed.

What is not caught: the length of a value that has pages of its own (see `INLINE_BYTES_MAX`; keep values shorter), and a page
whose type is damaged in a way that the engine answers with an abort. `ledger.storage.pages.walk` finds both with plain reads.

What a store consists of and how it is made is in `ledger.storage.layout`, whose public names are importable from here too.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import lmdb
import msgspec

from ledger.errors import LedgerError, LogUnavailable, StoreUnavailable, UsageError
from ledger.storage.layout import (
    COMMIT_KEY,
    DATA,
    IDENTITY,
    IDENTITY_KEY,
    MAP_VARIABLE,
    META_DATABASE,
    Database,
    FileIdentity,
    FileKind,
    commit_mark,
    create_file,
    map_store,
    read_identity,
    restamp,
    space_hint,
    sync_directory,
    write_synced,
)
from ledger.storage.memory import TOUCHES, UNMAPPING, give_back
from ledger.storage.pages import Unsound, check_data_file, walk

__all__ = ["DAMAGE", "Database", "FileIdentity", "FileKind", "LmdbFile", "create_file", "read_identity"]


DAMAGE = (
    lmdb.CorruptedError,
    lmdb.InvalidError,
    lmdb.PageNotFoundError,
    lmdb.VersionMismatchError,
    lmdb.IncompatibleError,
    lmdb.NotFoundError,
    lmdb.BadDbiError,
    lmdb.BadTxnError,
    lmdb.CursorFullError,
    lmdb.PageFullError,
    lmdb.BadValsizeError,
)
"""Errors that a sound store cannot give, whatever is asked of it."""


class _Shared:
    """One mapped environment. LMDB forbids opening a file twice in one process, so handles of one process share it."""

    def __init__(self, path: Path, env: lmdb.Environment, databases: dict[str, lmdb._Database], meta: lmdb._Database) -> None:
        self.path, self.env, self.databases, self.meta = path, env, databases, meta
        self.handles = 0


_mapped: dict[tuple[int, int, int], _Shared] = {}
"""What this process has mapped, by (process id, device, inode); entries of another process id came here by a fork."""

_mapping = threading.Lock()


def _give_back_pages() -> None:
    """What one store holds too much is as well given back by another."""
    give_back([shared.path for shared in list(_mapped.values())])


class LmdbFile:
    """An open store. Transactions are short; a write transaction begins and commits in one thread."""

    def __init__(self, directory: Path, kind: FileKind) -> None:
        """Open the store in `directory`. Raises `kind.missing`, `kind.damaged` or `LogUnavailable`."""
        self.directory, self.kind = directory, kind
        self.identity = read_identity(directory, kind)
        self._path = (directory / DATA).absolute()
        self._pid = os.getpid()
        self._closed = False
        self._touches = 0
        with _mapping:
            self._shared = self._share()
            self._shared.handles += 1
        try:
            self._check_inner_identity()
        except BaseException:
            self.close()
            raise

    def _share(self) -> _Shared:
        """The environment of this file in this process, mapped now if need be."""
        if any(pid != self._pid for pid, _, _ in _mapped):
            raise LogUnavailable(
                f"{self.directory}: this process was forked from one that has a store open",
                hint="Start workers with spawn, or open stores only after the fork.",
            )
        try:
            check_data_file(self._path)
            status = self._path.stat()
        except Unsound as error:
            raise self._damage(f"{DATA} is damaged: {error}") from None
        except FileNotFoundError:
            raise self._damage(f"{DATA} is missing, while {IDENTITY} is there") from None
        except OSError as error:
            raise StoreUnavailable(f"{self._path}: {error.strerror}") from error
        self._inode, self._size = (self._pid, status.st_dev, status.st_ino), status.st_size
        found = _mapped.get(self._inode)
        return found or self._map()

    def _map(self) -> _Shared:
        env: lmdb.Environment | None = None
        try:
            env = map_store(self.directory, self.kind, self._size)
            env.reader_check()
            # A write transaction that writes nothing: only its end makes the handles of the parts last.
            with env.begin(write=True) as txn:
                meta = env.open_db(META_DATABASE, txn=txn, create=False)
                databases = {part.name: env.open_db(part.name.encode(), txn=txn, create=False) for part in self.kind.databases}
        except lmdb.Error as error:
            if env is not None:
                env.close()
            if isinstance(error, lmdb.NotFoundError):
                raise self._damage("a part of the store is missing") from error
            raise self.explain(error) from error
        except OSError as error:
            raise StoreUnavailable(f"{self.directory}: {error}", hint=space_hint(self.directory)) from error
        shared = _mapped[self._inode] = _Shared(self._path, env, databases, meta)
        return shared

    def _check_inner_identity(self) -> None:
        with self.read() as txn:
            raw = txn.get(IDENTITY_KEY, db=self._shared.meta)
        try:
            inner = msgspec.json.decode(raw or b"", type=FileIdentity)
        except msgspec.DecodeError:
            raise self._damage(f"{DATA} holds no identity") from None
        if inner != self.identity:
            raise self._damage(f"{DATA} belongs to another store: it says {inner}, {IDENTITY} says {self.identity}")

    @property
    def usable_here(self) -> bool:
        """Whether this process is the one that opened the store, and not one forked from it."""
        return self._pid == os.getpid()

    def refuse_foreign_process(self) -> None:
        """Raises `LogUnavailable` in a process forked from the one that opened the store: locks do not survive a fork."""
        if not self.usable_here:
            raise LogUnavailable(
                f"{self.directory}: opened by process {self._pid}, used in process {os.getpid()} forked from it",
                hint="Start workers with spawn, or open stores only after the fork.",
            )

    @property
    def env(self) -> lmdb.Environment:
        """The environment itself, for its figures. Transactions go through `read`, `views` and `write`."""
        return self._shared.env

    def database(self, name: str) -> lmdb._Database:
        """The part `name`, as the kind declares it."""
        return self._shared.databases[name]

    @contextmanager
    def read(self) -> Iterator[lmdb.Transaction[bytes]]:
        """A read transaction. Raises the kind's `damaged`, or `LogUnavailable`."""
        with self._access(), self._shared.env.begin() as txn:
            self._check_commit(txn.get(COMMIT_KEY, db=self._shared.meta), txn.id())
            yield txn

    @contextmanager
    def views(self) -> Iterator[lmdb.Transaction[memoryview]]:
        """A read transaction whose keys and values are views into the map, valid only inside it."""
        with self._access(), self._shared.env.begin(buffers=True) as txn:
            self._check_commit(txn.get(COMMIT_KEY, db=self._shared.meta), txn.id())
            yield txn

    @contextmanager
    def write(self) -> Iterator[lmdb.Transaction[memoryview]]:
        """A write transaction, committed and synced when the block ends, undone when it raises.

        Waits for writers of other processes. Must end in the thread that began it, and must not be nested. Values read in it
        are views, valid until the next write in it. Raises the kind's `damaged`, or `LogUnavailable` (full disk or map).
        """
        with self._access(), self._shared.env.begin(write=True, buffers=True) as txn:
            self._check_commit(txn.get(COMMIT_KEY, db=self._shared.meta), txn.id() - 1)
            yield txn
            txn.put(COMMIT_KEY, commit_mark(txn.id()), db=self._shared.meta)

    def touched(self) -> None:
        """One more value was read or written within a transaction that goes through many: now and then the file's pages are
        given back, so that it does not all count as memory at once.
        """
        self._touches += 1
        if not self._touches % TOUCHES:
            _give_back_pages()

    @contextmanager
    def _access(self) -> Iterator[None]:
        """Around every transaction: refuse a store that must not be touched, and translate LMDB's errors."""
        self._guard()
        try:
            yield
        except lmdb.Error as error:
            raise self.explain(error) from error
        finally:
            _give_back_pages()

    def _guard(self) -> None:
        """Refuse before the map is touched: touching a page that is no longer in the file would kill the process."""
        self.refuse_foreign_process()
        if self._closed:
            raise LogUnavailable(f"{self.directory}: the {self.kind.name} was closed")
        try:
            status = self._path.stat()
        except FileNotFoundError:
            raise self._damage(f"{DATA} was removed while the store was open") from None
        except OSError as error:
            raise StoreUnavailable(f"{self._path}: {error.strerror}") from error
        if (status.st_dev, status.st_ino) != self._inode[1:]:
            raise self._damage(f"{DATA} was replaced by another file while the store was open")
        if status.st_size < self._size:
            raise self._damage(f"{DATA} shrank from {self._size} to {status.st_size} bytes while the store was open")
        self._size = status.st_size

    def _check_commit(self, mark: bytes | memoryview | None, txn_id: int) -> None:
        if mark is None or bytes(mark) != commit_mark(txn_id):
            found = "none" if mark is None else str(int.from_bytes(mark, "big"))
            raise self._damage(f"{DATA} shows another state than the last commit left (mark {found}, transaction {txn_id})")

    def _damage(self, found: str) -> LedgerError:
        return self.kind.damaged(f"{self.directory}: {found}", hint=f"To do: {self.kind.remedy}.")

    def explain(self, error: lmdb.Error) -> LedgerError:
        """What an error of LMDB means here: the kind's `damaged`, or `StoreUnavailable`."""
        where = f"{self.directory}: {error}"
        if isinstance(error, DAMAGE):
            return self._damage(f"{DATA} is damaged: {error}")
        if isinstance(error, lmdb.MapFullError):
            size = self._shared.env.info()["map_size"] >> 20
            return StoreUnavailable(
                f"{self.directory}: the store has filled its map of {size} MiB",
                hint=f"Nothing of this write is kept. Set {MAP_VARIABLE} to more in every process that opens it.",
            )
        if isinstance(error, lmdb.MapResizedError):
            return StoreUnavailable(
                where, hint=f"Another process maps more of it: allow more address space or set {MAP_VARIABLE}."
            )
        if isinstance(error, lmdb.PanicError):
            return StoreUnavailable(where, hint="A write to the disk failed earlier. Repair the disk, then start again.")
        return StoreUnavailable(where, hint=space_hint(self.directory, error))

    def copy_to(self, target: Path) -> None:
        """A compacted, consistent copy as a store of its own in the new directory `target`, complete when it has its name.

        Raises `UsageError` if `target` exists, `LogUnavailable` if it cannot be written.
        """
        self._guard()
        if target.exists():
            raise UsageError(f"{target}: already exists")
        draft = target.parent / f".{target.name}.new-{os.getpid()}"
        try:
            draft.mkdir(mode=0o700)
            self._shared.env.copy(str(draft), compact=True)
            restamp(draft, self.kind)
            write_synced(draft / IDENTITY, msgspec.json.encode(self.identity) + b"\n")
            sync_directory(draft)
            draft.rename(target)
            sync_directory(target.parent)
        except (OSError, lmdb.Error) as error:
            shutil.rmtree(draft, ignore_errors=True)
            raise LogUnavailable(f"{target}: cannot be written: {error}", hint=space_hint(target)) from error

    def check_structure(self) -> list[str]:
        """Walk every page of the file and name what is wrong with it; empty if nothing is. Writers wait meanwhile."""
        with self._access(), self._shared.env.begin(write=True):
            return walk(self._path)

    def close(self) -> None:
        """Release the handle; the last one of the process unmaps the file. Harmless when repeated, or after a fork."""
        if self._closed:
            return
        self._closed = True
        if self._pid != os.getpid():
            return
        with _mapping:
            self._shared.handles -= 1
            if not self._shared.handles:
                _mapped.pop(self._inode, None)
                with UNMAPPING:
                    self._shared.env.close()
