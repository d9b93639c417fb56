"""The last evidence, in a file beside this one: what the README shows, until somebody gathers it again."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ledger.facts import RULES_VERSION
from ops.evidence.report import Table

RESULTS = Path(__file__).with_name("results.json")


class Part(msgspec.Struct, frozen=True):
    """One part of the evidence: when, by which rules, on what, and the figures."""

    date: str
    made_with: str
    of: str
    figures: Table


class Evidence(msgspec.Struct, frozen=True):
    """All parts; one that was never gathered is missing."""

    session: Part | None = None
    rounds: Part | None = None
    languages: Part | None = None
    classes: Part | None = None
    guard: Part | None = None


def part(of: str, figures: Table) -> Part:
    """Figures of today. They are counts: the machine changes none of them."""
    made_with = f"{RULES_VERSION}, Python {platform.python_version()}, msgspec {msgspec.__version__}"
    return Part(datetime.now(UTC).date().isoformat(), made_with, of, figures)


def stored(path: Path = RESULTS) -> Evidence:
    """What the file holds."""
    return msgspec.json.decode(path.read_bytes(), type=Evidence) if path.exists() else Evidence()


def store(fresh: Evidence, path: Path = RESULTS) -> None:
    """Keep what was gathered; a part that was not stays as it is."""
    known = stored(path)
    kept = Evidence(*(getattr(fresh, name) or getattr(known, name) for name in Evidence.__struct_fields__))
    path.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
