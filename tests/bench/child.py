"""Runs the command line in this process and then writes the most memory it had resident, in KiB, to the file named first: all
of it, and what was its own, that is neither a file's pages nor shared.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

SAMPLE_SECONDS = 0.05


def status_kib(name: str) -> int:
    """A figure of this process as the system counts it: a child's usage as its parent sees it starts at the parent's size."""
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith(name):
            return int(line.split()[1])
    return 0


class OwnMemory(threading.Thread):
    """Looks at anonymous memory now and then, for which the system keeps no high-water mark."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak_kib = 0
        self.ended = threading.Event()

    def run(self) -> None:
        """Sample until told to end."""
        while not self.ended.wait(SAMPLE_SECONDS):
            self.peak_kib = max(self.peak_kib, status_kib("RssAnon:"))


def run(report: str, arguments: list[str]) -> int:
    """The exit code of the command."""
    own = OwnMemory()
    own.start()
    from ops.cli.main import main

    sys.argv = ["cledger", *arguments]
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    own.ended.set()
    Path(report).write_text(f"{status_kib('VmHWM:')} {max(own.peak_kib, status_kib('RssAnon:'))}", "ascii")
    return code or 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
