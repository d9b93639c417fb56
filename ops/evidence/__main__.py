"""`python -m ops.evidence`: the tables on standard output, talk on standard error."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from ops.evidence.generator import HOURS, TURNS, turns
from ops.evidence.longrun import Spoken, Tally, spoken
from ops.evidence.report import because, long_session, seed_table
from ops.evidence.rounds import judge
from ops.evidence.sides import WithoutRules, WithRules
from ops.store import scratch_store

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared" / "transcripts"
BUNDLED = ROOT / "ops" / "samples"
SUFFIXES = (".jsonl", ".json")


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(prog="ops.evidence", description="Figures beside those that the rules' sources state.")
    parser.add_argument("--turns", type=int, default=TURNS, help="turns of the long session")
    parser.add_argument("--hours", type=int, default=HOURS, help="hours of the long session")
    parser.add_argument("--seed", type=int, default=7, help="seed of the long session")
    parser.add_argument("--transcripts", type=Path, default=None, help="folder of real transcripts")
    parser.add_argument("--only", choices=("session", "rounds"), default=None, help="one half of the evidence")
    options = parser.parse_args(arguments)
    if options.turns < 1 or options.hours < 1:
        parser.error("a session has at least one turn and lasts at least an hour")
    if options.transcripts is not None and not options.transcripts.is_dir():
        parser.error(f"{options.transcripts} is no folder")
    return options


def transcripts(folder: Path | None) -> list[Path]:
    """Files of the folder, or those at hand beside the project, or else the bundled ones."""
    chosen = folder or (REAL if REAL.is_dir() else BUNDLED)
    return sorted(path for path in chosen.iterdir() if path.suffix in SUFFIXES)


async def played(kind: type[WithoutRules | WithRules], seed: int, session: Sequence[Spoken]) -> Tally:
    """One run over a log in memory."""
    async with scratch_store() as store:
        return await kind(seed, store).play(session)


def main(arguments: Sequence[str]) -> int:
    """Print the evidence."""
    options = parsed(arguments)
    parts = ["# Evidence"]
    if options.only != "rounds":
        print(f"measuring a session of {options.turns:,} turns", file=sys.stderr)
        session = spoken(options.seed, turns(options.seed, count=options.turns, hours=options.hours))
        print("the same session without the rules, then with them", file=sys.stderr)
        without, with_ = (asyncio.run(played(kind, options.seed, session)) for kind in (WithoutRules, WithRules))
        parts.append(long_session(without, with_))
    if options.only != "session":
        files = transcripts(options.transcripts)
        print(f"reading {len(files)} transcripts", file=sys.stderr)
        found = judge(files)
        parts += [seed_table(found), because(found.rounds)]
    print("\n\n".join(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
