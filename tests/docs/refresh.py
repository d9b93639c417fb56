"""Write into the README what changes by itself: the output of the demo, and with `--measured` the stored figures instead.

`python -m tests.docs.refresh`, `python -m tests.docs.refresh --measured`
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ops.evidence.stored import stored as stored_evidence
from tests.bench.stored import stored as stored_bench
from tests.docs.measured import section, with_measured
from tests.docs.readme import README, with_demo_output, with_loss
from tests.support.cli import SAMPLE, in_subprocess


def demo(text: str) -> str:
    """The page with what the demo prints now, and one loss of its session."""
    with tempfile.TemporaryDirectory() as folder:
        ran = in_subprocess("demo", data=Path(folder))
        lost = in_subprocess("forgotten", SAMPLE, "--json", "--limit", 1, data=Path(folder))
    if ran.code or lost.err:
        raise SystemExit(ran.err + lost.err)
    return with_loss(with_demo_output(text, ran.out), lost.object)


def main(arguments: list[str]) -> None:
    """Replace the blocks."""
    text = README.read_text("utf-8")
    text = with_measured(text, section(stored_bench(), stored_evidence())) if "--measured" in arguments else demo(text)
    README.write_text(text, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
