"""Write the output of the demo into the README: `python -m tests.docs.refresh`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.docs.readme import README, with_demo_output
from tests.support.cli import in_subprocess


def main() -> None:
    """Run the demo and replace the block that shows it."""
    with tempfile.TemporaryDirectory() as folder:
        ran = in_subprocess("demo", data=Path(folder))
    if ran.code:
        raise SystemExit(ran.err)
    README.write_text(with_demo_output(README.read_text("utf-8"), ran.out), "utf-8")


if __name__ == "__main__":
    main()
