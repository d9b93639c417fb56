"""Transcripts with the kinds of fault that the field reports, in the formats in which they occur.

Each line of `kinds.jsonl` holds the physical lines of one file, or its bytes, and what `inspect` has to say of it. Where a
message on a damaged line may be saved or given up, both counts are named; the line is reported either way.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ledger.transcripts.report import inspect

KINDS: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "kinds.jsonl").read_text("utf-8").splitlines()
]


def bytes_of(case: dict[str, Any]) -> bytes:
    """The file of a case; `expand` puts a long run of one character in the place of a token."""
    if "base64" in case:
        return base64.b64decode(case["base64"])
    text = "".join(f"{line}\n" for line in case["lines"])
    run = case.get("expand")
    return (text.replace(run["token"], run["char"] * run["times"]) if run else text).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("case", KINDS, ids=lambda case: case["id"])
def test_transcript_of_a_kind_is_read_as_a_reader_would(case: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_bytes(bytes_of(case))
    found, wanted = inspect(file), case["expected"]
    assert found.messages in wanted["messages"]
    assert (found.duplicates, found.conflicts) == (wanted["duplicates"], wanted["conflicts"])
    states = ["missing" if done.summary == "error_text" else done.summary for done in found.rounds]
    assert states == wanted["summaries"]
    lines = {skipped.line for skipped in found.skipped}
    assert wanted["skipped"] is None or (lines >= set(wanted["skipped"]) and bool(lines) == bool(wanted["skipped"]))
    assert [done.summarised for done in found.rounds] == wanted.get("summarised", [done.summarised for done in found.rounds])
    assert found.reading == wanted.get("reading", found.reading)


def test_kinds_hold_every_reading() -> None:
    counted = Counter(case["expected"].get("reading") for case in KINDS)
    assert min(counted[reading] for reading in ("complete", "degraded", "unknown")) >= 3
