"""One base error; each kind has fields, an exit code, and says what to do next."""

from __future__ import annotations


class LedgerError(Exception):
    """Base of every error that the project raises on purpose. `hint` says what would help; `exit_code` is the CLI's."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class UsageError(LedgerError):
    """What was asked cannot be asked: a missing or unreadable path, a bad URL, an unknown name."""

    exit_code = 2


class LogUnavailable(LedgerError):
    """The log, broker or store is not there, cannot be reached, or its disk is full. Nothing was acknowledged."""

    exit_code = 4


class StoreUnavailable(LogUnavailable):
    """A store on this machine, of a log or an index, cannot be read or written: a full disk or map, a failed write."""


class LogMissing(LogUnavailable):
    """There is no log at this address, and reading commands never create one."""


class LogClosed(LogUnavailable):
    """The log was closed before the call."""


class AppendUnfinished(LogUnavailable):
    """An append over a network ended before all of its entries were acknowledged (L8).

    `positions` has for each entry where it stands, or None; `unknown` are the numbers of entries that were sent and not
    answered: they may come to stand in the log.
    """

    def __init__(self, message: str, *, positions: tuple[object, ...], unknown: tuple[int, ...], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.positions = positions
        self.unknown = unknown


class LogDamaged(LedgerError):
    """What stands in the log is not what was written there: damage, truncation, replacement, or an edit (P1, P8)."""

    exit_code = 5


class EntryTooLarge(UsageError):
    """An entry is larger than the log takes; nothing was written."""


class IntegrityError(LedgerError):
    """Log, index and recorded outputs do not agree."""

    exit_code = 5


class IndexDamaged(IntegrityError):
    """The carrier index is damaged, emptied, truncated or foreign; it can be rebuilt from the log (P7)."""


class IndexBusy(LedgerError):
    """Another process folds this index right now."""

    exit_code = 3


class UnknownRecordType(LedgerError):
    """A record of a type or version that this build does not know; the fold stops before it."""

    exit_code = 5
