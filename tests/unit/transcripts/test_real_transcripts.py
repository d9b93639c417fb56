"""Real sessions: the rounds that the table beside them lists, and shares that add up."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from ledger.transcripts.model import Message, Round
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
        if cells and cells[0].startswith(("claude-code-", "codex-")):
            pairs = [
                (int(start), None if end == "none" else int(end)) for start, end in re.findall(r"(\d+)→(\d+|none)", cells[6])
            ]
            tokens = [int(number) for number in re.findall(r"\d+", cells[8].split("(")[0])]
            rows.append(Row(cells[0], cells[2], pairs, [one.strip() for one in cells[7].split(",")], tokens))
    return rows


ROWS = _rows()
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
