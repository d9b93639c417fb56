"""A number that changed, and a number that is another one (F2)."""

from __future__ import annotations

from ledger.facts import check


def outcome(source: str, summary: str, text: str) -> str:
    answer = check(source, summary, "user")
    return next(fact.survival for fact in answer.facts if fact.text == text)


def test_f2_plain_count_of_something_else_is_no_changed_rate() -> None:
    source = "The retry budget is 3 attempts per 15-minute window and booking."
    other = "Put a retry budget in front of the worker after eleven guests were charged twice."
    assert outcome(source, other, "3 attempts per 15-minute") == "missing"
    assert outcome(source, "The retry budget is 5 attempts per 15-minute window.", "3 attempts per 15-minute") == "changed"
    assert outcome(source, "The retry budget is 5 attempts for each window.", "3 attempts per 15-minute") == "changed"


def test_f2_count_of_another_noun_is_no_changed_limit() -> None:
    source = "The worker tries up to 10 times with exponential backoff."
    for other in ("Eleven guests of the worker were charged twice.", "The worker has 12 tests."):
        assert outcome(source, other, "up to 10") == "missing"
    for changed in ("The worker tries up to 8 times.", "The worker tries up to 8 times with linear backoff."):
        assert outcome(source, changed, "up to 10") == "changed"
    queue = "The upload queue holds at most 40 jobs."
    assert outcome(queue, "The upload page lists 12 regions.", "at most 40 jobs") == "missing"
    assert outcome(queue, "The upload queue holds at most 50 jobs.", "at most 40 jobs") == "changed"
    assert outcome(queue, "Uploads are held to 50 jobs.", "at most 40 jobs") == "changed"
