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
