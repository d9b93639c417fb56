"""Starts workers in forks of a process that has imported everything already, for an interpreter takes longer than a kill.

`python -m tests.support.worker_nursery` reads a request a line and answers with a line: `{"pid": 123}` for one started,
`{"status": null}` for one that still runs, `{"status": -9}` for one that ended (negative for a signal). A worker started so is
`cledger` with these arguments in a process of its own; nothing in it is a double, but for what the request names.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import ExitStack

import msgspec

import consumers.keeper
import consumers.partition
import consumers.shell  # imported here so that no fork has to
import consumers.snapshots
import consumers.worker
import ops.working
from ledger import faults
from ledger.adapters import kafka_log
from ops.cli.main import main
from tests.support.toy_facts import toy_facts

_PR_SET_PDEATHSIG = 1
LOADED = (consumers.shell, consumers.snapshots, ops.working, kafka_log)


class Start(msgspec.Struct, kw_only=True):
    """A worker to start. `toy` makes it measure in the toy language; `rules` is the rules version that its build carries;
    `batch` is how many records it commits at once. Its waits are shorter than those of one that lives for months.
    """

    arguments: list[str]
    environment: dict[str, str]
    said: str
    """The file that its stdout and stderr are appended to."""

    fault: str = ""
    toy: bool = False
    rules: str = ""
    batch: int = 0


class Poll(msgspec.Struct, kw_only=True):
    """Has this worker ended?"""

    pid: int


class Request(msgspec.Struct, kw_only=True):
    """One of the two."""

    start: Start | None = None
    poll: Poll | None = None


def live(start: Start) -> int:
    """The whole life of a worker, in a child."""
    os.environ.clear()
    os.environ.update(start.environment)
    faults.arm(start.fault)
    if start.batch:
        consumers.partition.BATCH_ENTRIES = start.batch
    consumers.keeper.IDLE_S = consumers.worker.COMMIT_S = 0.2
    consumers.worker.BEAT_S = 0.1
    if start.rules:
        import ledger.fold

        ledger.fold.RULES_VERSION = start.rules
    with ExitStack() as stack:
        if start.toy:
            stack.enter_context(toy_facts())
        return main(start.arguments)


def fork(start: Start) -> int:
    """Start a worker and return its process id."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        said = os.open(start.said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, at in ((0, nothing), (1, said), (2, said)):
            os.dup2(at, number)
        code = live(start)
    except BaseException:  # noqa: BLE001  whatever ends a worker, this copy of the nursery must not go on
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def serve() -> None:
    """Answer until stdin ends."""
    for line in sys.stdin:
        request = msgspec.json.decode(line, type=Request)
        if request.start is not None:
            answer: dict[str, int | None] = {"pid": fork(request.start)}
        else:
            assert request.poll is not None
            pid, status = os.waitpid(request.poll.pid, os.WNOHANG)
            answer = {"status": os.waitstatus_to_exitcode(status) if pid else None}
        os.write(1, msgspec.json.encode(answer) + b"\n")


if __name__ == "__main__":
    serve()
