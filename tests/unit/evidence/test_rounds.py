"""The fourth source's table: counted by its rule and by ours, each round once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ops.evidence.because import VERDICTS, counted, key_of
from ops.evidence.generator import TranscriptShape, write_transcript
from ops.evidence.report import because, seed_table
from ops.evidence.rounds import judge, sample
from schemas.facts import FACT_CLASSES

ROOT = Path(__file__).parents[3]
REAL = ROOT.parent / "shared" / "transcripts"


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rounds") / "session.jsonl"
    write_transcript(path, 7, TranscriptShape(lines=300, rounds=2, bulk_bytes=100))
    return path


def test_rounds_are_counted_by_both_rules(generated: Path) -> None:
    """D3: of the decisions that went in, the summary holds about every second one, word for word."""
    found = judge([generated])
    assert (found.files, len(found.rounds), found.unread) == (1, 2, 0)
    for one in found.rounds:
        decided = one.seed["decided"]
        assert 0 < decided.survived <= decided.dropped
        assert decided.stated
        assert one.sentences.dropped >= decided.dropped
        assert all(one.ours[cls].survived <= one.ours[cls].dropped for cls in FACT_CLASSES)
        assert one.ours["prohibition"].survived
        assert one.ours["numeric"].dropped


def test_copy_of_a_session_adds_no_round(generated: Path, tmp_path: Path) -> None:
    """A stored prefix of a session is read as a file and its rounds are counted once."""
    copy = tmp_path / "copy.jsonl"
    shutil.copy(generated, copy)
    assert len(judge([generated, copy]).rounds) == 2


def test_file_that_no_reader_knows_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.json").write_text('{"just": "notes"}\n', "utf-8")
    found = judge([tmp_path / "notes.json"])
    assert (found.files, found.unsupported) == (0, ["notes.json"])


def test_sample_is_drawn_evenly_and_repeatably(generated: Path) -> None:
    rounds = judge([generated]).rounds
    drawn = sample(rounds, 2)
    assert drawn == sample(rounds, 2)
    assert len(drawn) == 2
    assert all("because" in text for text in drawn)


def test_verdicts_count_what_nobody_judged() -> None:
    assert counted(["Never read because of that."])["not judged"] == 1
    assert all(len(key) == 12 for key in VERDICTS)
    assert key_of("a") != key_of("b")


def test_tables_hold_the_source_s_own_figures(generated: Path) -> None:
    first, second = judge([generated]), judge([generated])
    text = seed_table(first) + because(first.rounds)
    assert all(figure in text for figure in ("15.4 %", "9.3 %", "1.7 %", "402 in and 28 out"))
    assert text == seed_table(second) + because(second.rounds)


def test_real_rounds_sample_was_judged() -> None:
    """The figure for *because* rests on sentences that were read; new transcripts need reading again."""
    if not REAL.is_dir():
        pytest.skip("the real transcripts are not at hand")
    drawn = sample(judge([REAL / "claude-code-05-two-rounds-v2.1.1.jsonl"]).rounds)
    assert drawn
    assert counted(drawn)["not judged"] == 0
