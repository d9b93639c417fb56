"""The one place where faults become exit codes and messages.

A command calls `settle` with its verdict *before* it prints, so that a reader who closes the pipe early does not change it.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ledger.errors import LedgerError

FINE = 0
VIOLATION = 1
USAGE = 2
UNKNOWN = 3
UNAVAILABLE = 4
INTEGRITY = 5
INTERRUPTED = 130

PRECEDENCE = (INTEGRITY, UNAVAILABLE, USAGE, VIOLATION, UNKNOWN)
"""Where several apply, the first of these is the exit code."""

DEBUG_VARIABLE = "CLEDGER_DEBUG"
"""Set to 1, an internal error prints its traceback."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})

_settled: list[int] = []


class ReaderGone(Exception):
    """Whoever read stdout has closed it. Not an `OSError`, which the option parser would turn into an exit code of its own."""


class NothingToJudge(LedgerError):
    """A named file from which nothing can be concluded: empty, opaque, or no text."""

    exit_code = UNKNOWN


def worst(*codes: int) -> int:
    """The exit code of several outcomes."""
    return next((code for code in PRECEDENCE if code in codes), FINE)


def settle(code: int) -> None:
    """Add an outcome of the command that is running. May be called several times."""
    _settled.append(code)


def settled() -> int:
    """The exit code of what was settled so far."""
    return worst(*_settled)


def begin() -> None:
    """A command starts: nothing is settled yet."""
    _settled.clear()


def complain(message: str, hint: str = "") -> None:
    """One error or warning to people: `error: …`, and below it what would help."""
    from ops.cli.visible import visible

    lines = [f"error: {visible(message)}", *(f"  {line}" for line in visible(hint).splitlines() if line.strip())]
    _to_stderr("\n".join(lines))


def report(error: LedgerError) -> None:
    """Say what went wrong and settle its exit code; the command goes on with the rest of its work."""
    from ops.cli.visible import unbroken

    complain(unbroken(error.message), error.hint)
    settle(error.exit_code)


@contextmanager
def faults_handled() -> Iterator[None]:
    """Around a whole command: whatever is raised inside becomes a message and a settled exit code, never a traceback."""
    try:
        yield
        sys.stdout.flush()
    except LedgerError as error:
        report(error)
    except KeyboardInterrupt:
        _to_stderr("interrupted; everything that was acknowledged is stored")
        raise
    except (ReaderGone, BrokenPipeError):
        # The reader has seen enough. Keep the interpreter from flushing into the closed pipe once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (MemoryError, RecursionError) as error:
        complain(f"out of memory ({type(error).__name__})", "Give fewer or smaller files at once.")
        settle(UNAVAILABLE)
    except OSError as error:
        _on_os_error(error)
    except RuntimeError as error:
        if "start new thread" in str(error):
            complain(f"out of memory or threads: {error}", "Raise the limit (ulimit -v, ulimit -u) and repeat it.")
            settle(UNAVAILABLE)
        else:
            _on_internal_error(error)
    except Exception as error:  # noqa: BLE001 - the last resort of the whole command: a message instead of a traceback
        _on_internal_error(error)


def _on_os_error(error: OSError) -> None:
    from ops.cli.visible import unbroken

    where = f"{unbroken(os.fsdecode(error.filename))}: " if isinstance(error.filename, str | bytes) else ""
    full = error.errno in _FULL
    hint = (
        "Free space or choose another place with --log; nothing that was acknowledged is lost." if full else "Check the path."
    )
    complain(f"{where}{error.strerror or error}", hint)
    settle(UNAVAILABLE if full else USAGE)
    _trace_if_asked()


def _on_internal_error(error: Exception) -> None:
    complain(
        f"internal error: {type(error).__name__}: {error}",
        f"This is a fault of cledger, not of your data. Please report it with the output of: {DEBUG_VARIABLE}=1 cledger …",
    )
    settle(INTEGRITY)
    _trace_if_asked()


def is_debugging() -> bool:
    """Did the user ask for tracebacks and diagnostics?"""
    return os.environ.get(DEBUG_VARIABLE) == "1"


def _trace_if_asked() -> None:
    if is_debugging():
        import traceback

        traceback.print_exc()


def _to_stderr(text: str) -> None:
    with suppress(OSError):  # where nobody listens, the exit code still tells
        print(text, file=sys.stderr, flush=True)
