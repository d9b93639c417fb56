"""A large file is folded in pieces while it is read, and nothing that is said of it depends on where they end (P2, P3)."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops import ingest
from tests.support.cli import SAMPLE, Cli


def test_p2_p3_file_folded_in_pieces_gives_the_same_totals_and_state(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "BATCH_ENTRIES", 10)
    told = []
    for pieces, log in ((1 << 14, "whole"), (1, "cut")):
        monkeypatch.setattr(ingest, "APPENDED_MAX", pieces)
        at = ("--log", f"lmdb:{tmp_path / log}")
        told.append((cli("ingest", SAMPLE, *at, "--json").object, cli("replay", *at, "--json").object))
        assert cli("ingest", SAMPLE, *at, "--json").object["added"] == 0
    assert told[0] == told[1]
    assert told[0][0]["alerts"] > 0
