"""The bundled transcripts tell the story that the demonstration relies on."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger.transcripts.model import Message, Round, Summary
from ledger.transcripts.reading import Transcript
from ledger.transcripts.report import inspect

SAMPLES = Path(__file__).resolve().parents[3] / "ops" / "samples"


def test_claude_code_sample_has_two_whole_rounds_and_a_kept_tail() -> None:
    report = inspect(SAMPLES / "claude-code-retry-budget.jsonl")
    assert (report.format, report.reading, report.messages) == ("claude-code", "complete", 28)
    assert [(one.trigger, one.summary, one.summarised, one.kept, one.unseen) for one in report.rounds] == [
        ("auto", "text", 12, 2, 0),
        ("manual", "text", 13, 0, 0),
    ]


def test_codex_sample_has_a_readable_round() -> None:
    report = inspect(SAMPLES / "codex-tide-cache.jsonl")
    assert (report.format, report.reading, report.messages) == ("codex", "complete", 7)
    assert [(one.summary, one.summarised, one.kept) for one in report.rounds] == [("text", 4, 1)]


def _texts(name: str) -> tuple[dict[str, str], list[Summary], list[Round]]:
    with Transcript(SAMPLES / name) as transcript:
        items = list(transcript.items())
    said = {item.key: item.text for item in items if isinstance(item, Message)}
    return said, [one for one in items if isinstance(one, Summary)], [one for one in items if isinstance(one, Round)]


@pytest.mark.parametrize(
    ("number", "said", "kept", "lost"),
    [
        (0, "Do not contact the billing endpoint", "may be contacted", "written approval"),
        (0, "3 attempts per 15-minute window", "bounded retry budget", "15-minute"),
        (0, "I rejected exponential backoff", "token bucket in Redis", "rejected"),
        (0, "staging-old.harbor.example:8443", "2026-12-04", "staging-old"),
        (1, "a supervisor can reset it", "admins cannot override", "supervisor"),
    ],
)
def test_claude_code_sample_loses_what_it_is_meant_to_lose(number: int, said: str, kept: str, lost: str) -> None:
    texts, told, done = _texts("claude-code-retry-budget.jsonl")
    assert any(said in texts[key] for key in done[number].summarised.keys)
    assert kept in told[number].text
    assert lost not in told[number].text


def test_claude_code_sample_loses_a_service_name_in_the_summary_of_the_summary() -> None:
    _, told, _ = _texts("claude-code-retry-budget.jsonl")
    assert "ledger-reconciler" in told[0].text
    assert "ledger-reconciler" not in told[1].text
    assert (told[1].generation, told[1].replaces) == (2, told[0].key)
