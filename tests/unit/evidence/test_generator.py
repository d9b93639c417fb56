"""The generated session: the same for the same seed, and a transcript that our own reader finds nothing wrong with."""

from __future__ import annotations

from pathlib import Path

from ledger.transcripts.report import inspect
from ops.evidence.generator import TURNS_PER_TOPIC, TranscriptShape, turns, write_transcript
from ops.evidence.world import ATTRIBUTES, topic


def test_turns_of_one_seed_are_the_same_and_of_another_are_not() -> None:
    first = list(turns(7, count=120))
    assert first == list(turns(7, count=120))
    assert first != list(turns(8, count=120))


def test_turns_span_the_hours_asked_for() -> None:
    session = list(turns(7, count=300, hours=200))
    assert session[-1].minute == 200 * 60
    assert [turn.number for turn in session] == list(range(1, 301))
    assert {turn.role for turn in session} == {"user", "assistant", "tool"}


def test_topics_state_each_value_once_and_in_words() -> None:
    """An answer is right or wrong: no value of one topic stands in a statement of another."""
    topics = [topic(7, number) for number in range(40)]
    for one in topics:
        assert [planted.attribute for planted in one.planted] == list(ATTRIBUTES)
        assert all(planted.value in planted.sentence for planted in one.planted)
    services = [one.planted[0].value for one in topics]
    assert len(set(services)) == len(services)


def test_turns_state_what_their_topic_has_to_say() -> None:
    session = list(turns(7, count=4 * TURNS_PER_TOPIC))
    stated = {planted.topic for turn in session for planted in turn.planted}
    assert stated >= {0, 1, 2}
    assert all(planted.sentence in turn.text for turn in session for planted in turn.planted)


def test_transcript_of_one_seed_has_the_same_bytes(tmp_path: Path) -> None:
    shape = TranscriptShape(lines=200, rounds=2)
    assert write_transcript(tmp_path / "one.jsonl", 7, shape) == write_transcript(tmp_path / "two.jsonl", 7, shape)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_transcript_is_read_completely_with_its_rounds(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    lines, size = write_transcript(path, 7, TranscriptShape(lines=600, rounds=3))
    assert (lines, size) == (600, path.stat().st_size)
    report = inspect(path)
    assert (report.reading, report.duplicates, report.conflicts, report.skipped) == ("complete", 0, 0, ())
    assert [one.summary for one in report.rounds] == ["text"] * 3
    assert all(one.summarised for one in report.rounds)


def test_transcript_stops_at_its_size(tmp_path: Path) -> None:
    _, size = write_transcript(tmp_path / "session.jsonl", 7, TranscriptShape(size_bytes=300_000, rounds=1))
    assert 300_000 <= size < 400_000
