"""Real sessions: the rounds that the table beside them lists, and shares that add up."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import pytest

from ledger.transcripts.model import Message, Round, Summary
from ledger.transcripts.reading import Transcript
from ledger.transcripts.report import inspect
from schemas.codec import RECORD_BYTES_MAX, encode
from schemas.records import CompactionObserved, SpanRecorded
from tests.unit.transcripts.builders import SHARED
from tests.unit.transcripts.recording import records_of_file

TRANSCRIPTS = SHARED / "transcripts"
TABLE = TRANSCRIPTS / "README.md"

pytestmark = pytest.mark.skipif(not TABLE.is_file(), reason="the real transcripts are not on this machine")


class Row(NamedTuple):
    file: str
    version: str
    lines: list[tuple[int, int | None]]
    triggers: list[str]
    tokens: list[int]


def _rows() -> list[Row]:
    rows = []
    for line in TABLE.read_text(encoding="utf-8").splitlines() if TABLE.is_file() else ():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if cells and cells[0].startswith(("claude-code-", "codex-", "pi-")):
            pairs = [
                (int(start), None if end == "none" else int(end)) for start, end in re.findall(r"(\d+)→(\d+|none)", cells[6])
            ]
            if cells[0].startswith("pi-"):
                # A compaction is one line.
                pairs = [(int(line), int(line)) for line in cells[6].split(",")]
            tokens = [int(number) for number in re.findall(r"\d+", cells[8].split("(")[0])]
            rows.append(Row(cells[0], cells[2], pairs, [one.strip() for one in cells[7].split(",")], tokens))
    return rows


ROWS = _rows()
OPENHANDS = TRANSCRIPTS / "openhands-01-two-condensations.json"
ALL = pytest.mark.parametrize("row", ROWS, ids=[row.file for row in ROWS])


@ALL
def test_real_transcript_has_the_rounds_of_the_table(row: Row) -> None:
    report = inspect(TRANSCRIPTS / row.file)
    assert [(one.boundary_line, one.summary_line) for one in report.rounds] == row.lines
    if row.file.startswith("claude-code") and "fixture" not in row.file:
        assert [one.trigger for one in report.rounds] == [one for one in row.triggers if one != "–"]
    if row.tokens:
        assert [one.tokens_before for one in report.rounds] == row.tokens


@ALL
def test_real_transcript_is_read_without_a_fault(row: Row) -> None:
    report = inspect(TRANSCRIPTS / row.file)
    assert report.skipped == ()
    assert report.conflicts == 0 or "fixture" in row.file
    states = {one.summary for one in report.rounds}
    expected = "complete" if states <= {"text"} else "unknown" if states == {"opaque"} else "degraded"
    assert report.reading == expected


@ALL
def test_real_transcript_shares_add_up_to_what_was_live(row: Row) -> None:
    """Design 7: summarised, kept and unseen partition the live entries exactly."""
    live: dict[str, list[str]] = {}
    with Transcript(TRANSCRIPTS / row.file) as transcript:
        for item in transcript.items():
            if isinstance(item, Message):
                live.setdefault(item.session, []).append(item.key)
            elif isinstance(item, Round):
                parts = [*item.summarised.keys, *item.kept.keys, *item.unseen.keys]
                assert sorted(parts) == sorted(live.get(item.session, []))
                live[item.session] = list(item.kept.keys)


@ALL
def test_real_transcript_gives_records_that_fit_and_do_not_repeat(row: Row) -> None:
    seen: set[str] = set()
    for record in records_of_file(TRANSCRIPTS / row.file):
        assert record.id not in seen
        seen.add(record.id)
        assert len(encode(record)) <= RECORD_BYTES_MAX


@ALL
def test_real_transcript_ranges_name_recorded_spans_in_order(row: Row) -> None:
    order: dict[str, dict[str, int]] = {}
    for record in records_of_file(TRANSCRIPTS / row.file):
        spans = order.setdefault(record.session, {})
        if isinstance(record, SpanRecorded):
            spans[record.span] = len(spans)
        elif isinstance(record, CompactionObserved):
            ends = [(spans[one.first], spans[one.last]) for one in (*record.summarised, *record.kept, *record.unseen)]
            taken = [number for first, last in ends for number in range(first, last + 1)]
            assert len(taken) == len(set(taken))


def test_same_lines_in_two_files_give_the_same_records() -> None:
    """P3, contracts 1: 378 lines are shared; source aside they make the same records."""
    longer, shorter = (
        {record.id: record for record in records_of_file(TRANSCRIPTS / f"claude-code-{name}.jsonl")}
        for name in ("03-auto-then-manual", "04-same-session-earlier")
    )
    assert shorter.keys() <= longer.keys()
    assert len(shorter) > 200
    for key, record in shorter.items():
        assert _bare(record) == _bare(longer[key])


def _bare(record: object) -> bytes:
    import msgspec

    return encode(msgspec.structs.replace(record, source=None))  # type: ignore[type-var]


def test_two_objects_on_one_line_are_both_read() -> None:
    report = inspect(TRANSCRIPTS / "claude-code-15-two-objects-one-line.jsonl")
    assert (report.duplicates, report.skipped, report.version) == (1, (), "2.1.5, 2.1.6")


def test_manual_rounds_keep_the_tail_that_the_boundary_names() -> None:
    report = inspect(TRANSCRIPTS / "claude-code-16-manual-twice-v2.1.232.jsonl")
    assert [(one.kept, one.unseen) for one in report.rounds] == [(1, 0), (1, 0)]


@pytest.mark.parametrize(
    ("file", "kept"),
    [("codex-01-two-rounds-v0.118.jsonl", [23, 78]), ("codex-03-two-rounds-v0.144.jsonl", [8, 12])],
)
def test_codex_keeps_what_its_replacement_history_repeats(file: str, kept: list[int]) -> None:
    """The table's counts of verbatim copies, less the one environment text among them, which is nobody's message."""
    assert [one.kept for one in inspect(TRANSCRIPTS / file).rounds] == kept


@pytest.mark.parametrize(
    ("file", "kept_from"), [("pi-01-two-rounds.jsonl", [294, 552]), ("pi-02-round-without-newline.jsonl", [574, None])]
)
def test_pi_keeps_the_lines_from_the_index_that_it_names(file: str, kept_from: list[int | None]) -> None:
    """The index counts entries from 0 with the header as 0: index 293 is line 294."""
    lines: dict[str, int] = {}
    found: list[int | None] = []
    with Transcript(TRANSCRIPTS / file) as transcript:
        for item in transcript.items():
            if isinstance(item, Message):
                lines[item.key] = item.where.number
            elif isinstance(item, Round):
                found.append(lines[item.kept.keys[0]] if item.kept.keys else None)
                assert item.ordinal == 1 or item.unseen.keys
    assert found == kept_from


def test_openhands_rounds_forget_the_ranges_that_they_name() -> None:
    """Events 9 to 74, then 75 to 160, among them the first condensation; the bytes of a round are those of its event."""
    data = OPENHANDS.read_bytes()
    with Transcript(OPENHANDS) as transcript:
        items = list(transcript.items())
    done = [item for item in items if isinstance(item, Round)]
    assert [one.id for one in done] == ["150", "234"]
    for one, (first, last) in zip(done, [(9, 74), (75, 160)], strict=True):
        assert {key for key in one.summarised.keys if first > int(key.split(".")[0]) or int(key.split(".")[0]) > last} == set()
        assert not one.unseen.keys
        assert one.where is not None
        assert json.loads(data[one.where.start : one.where.end])["id"] == int(one.id)
    first_told, second = [item for item in items if isinstance(item, Summary)]
    assert (second.generation, second.replaces) == (2, first_told.key)
    report = inspect(OPENHANDS)
    assert (report.messages, report.skipped, report.reading, report.version) == (47, (), "complete", "0.53.0")
