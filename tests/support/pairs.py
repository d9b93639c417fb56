"""Labelled pairs of a source and a summary, and what `check` says of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ledger.facts import check

FOLDER = Path(__file__).parents[1] / "pairs"

Pair = dict[str, Any]
"""`id`, `source_role`, `source`, `summary`, `verdict` as a reader gives it, and what its suite says besides."""


def pairs_of(name: str) -> list[Pair]:
    """The pairs of a file of `tests/pairs`, in its order."""
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]


def verdict_of(pair: Pair) -> str:
    """The verdict of `check` on a pair."""
    return check(pair["source"], pair["summary"], pair["source_role"]).verdict
