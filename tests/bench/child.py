"""Runs the command line in this process and then writes the most memory it had resident, in KiB, to the file named first."""

from __future__ import annotations

import sys
from pathlib import Path


def peak_kib() -> int:
    """The high-water mark of this process's resident memory. From the system's own count: a child's usage as its parent sees it
    starts at the parent's size.
    """
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def run(report: str, arguments: list[str]) -> int:
    """The exit code of the command."""
    from ops.cli.main import main

    sys.argv = ["cledger", *arguments]
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    Path(report).write_text(str(peak_kib()), "ascii")
    return code or 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2:]))
