"""`python -m ops.evidence`: the tables on standard output, talk on standard error."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from ops.evidence.corpora import GUARD, Unreachable, fetched, judged, kit_counts
from ops.evidence.generator import HOURS, TURNS, turns
from ops.evidence.labelled import guard_figures, guard_tables, kit_table
from ops.evidence.longrun import Spoken, Tally, spoken
from ops.evidence.pairs import by_class, by_language, judged_pairs, pair_tables
from ops.evidence.report import because, long_session, seed_figures, seed_table, session_figures
from ops.evidence.rounds import judge
from ops.evidence.sides import WithoutRules, WithRules
from ops.evidence.stored import RESULTS, Evidence, Part, part, store
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
    parser.add_argument(
        "--only", choices=("session", "rounds", "pairs", "corpora"), default=None, help="one part of the evidence"
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the figures are kept for the README")
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


def published(kept: dict[str, Part]) -> list[str]:
    """Tables over corpora that others published, or why there are none."""
    parts: list[str] = []
    for made in (_guard, _kit):
        try:
            parts.append(made(kept))
        except Unreachable as error:
            parts.append(f"Not measured: {error}")
    return parts


def _guard(kept: dict[str, Part]) -> str:
    found = judged(fetched())
    kept["guard"] = part(f"{GUARD}, {len(found)} pairs", guard_figures(found))
    return guard_tables(found)


def _kit(_: dict[str, Part]) -> str:
    return kit_table(kit_counts())


def main(arguments: Sequence[str]) -> int:
    """Print the evidence."""
    options = parsed(arguments)
    parts = ["# Evidence"]
    kept: dict[str, Part] = {}
    if options.only in {None, "session"}:
        print(f"measuring a session of {options.turns:,} turns", file=sys.stderr)
        session = spoken(options.seed, turns(options.seed, count=options.turns, hours=options.hours))
        print("the same session without the rules, then with them", file=sys.stderr)
        without, with_ = (asyncio.run(played(kind, options.seed, session)) for kind in (WithoutRules, WithRules))
        parts.append(long_session(without, with_))
        kept["session"] = part(f"{options.turns:,} turns", session_figures(without, with_))
    if options.only in {None, "rounds"}:
        files = transcripts(options.transcripts)
        print(f"reading {len(files)} transcripts", file=sys.stderr)
        found = judge(files)
        parts += [seed_table(found), because(found.rounds)]
        kept["rounds"] = part(f"{found.files} transcripts, {len(found.rounds)} rounds", seed_figures(found))
    if options.only in {None, "pairs"}:
        print("judging the pairs of a checkout", file=sys.stderr)
        pairs = judged_pairs()
        parts.append(pair_tables(pairs))
        if pairs:
            kept["languages"] = part(f"{len(pairs)} pairs", by_language(pairs))
            kept["classes"] = part(f"{sum(bool(one.row.cls) for one in pairs)} pairs", by_class(pairs))
    if options.only in {None, "corpora"}:
        print("fetching published corpora", file=sys.stderr)
        parts += published(kept)
    if kept:
        store(Evidence(**kept), options.results)
    print("\n\n".join(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
