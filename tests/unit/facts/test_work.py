"""How much is compared, counted and not timed: the work for one fact has a bound, whatever the length of the summary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ledger.facts import SummaryText, check, extract, survival
from ledger.facts.comparing import comparison
from ledger.facts.comparing import restatement as search
from ledger.facts.comparing.places import PLACES_MAX, Place, Wanted
from ledger.facts.comparing.restatement import CANDIDATES, POSTINGS_MAX
from ledger.facts.language.lexicon import Language

WORDS = "server queue cache index batch worker record report table audit".split()


class Counted(list[int]):
    """A list of places that counts how many of them are looked at."""

    seen = 0

    def __iter__(self) -> Iterator[int]:
        for item in super().__iter__():
            Counted.seen += 1
            yield item

    def __getitem__(self, at: Any) -> Any:
        found = super().__getitem__(at)
        Counted.seen += len(found) if isinstance(found, list) else 1
        return found


def lines(count: int) -> str:
    """Statements that share their words, each with a number of its own."""
    return "\n".join(
        f"Do not stop the {WORDS[at % 10]} {WORDS[at // 10 % 10]} before step {at} has {at % 500} items,"
        f" by 3 May {2020 + at % 80}."
        for at in range(count)
    )


@pytest.fixture(scope="module")
def prepared() -> dict[int, SummaryText]:
    found = {count: SummaryText(lines(count)) for count in (1500, 3000)}
    for summary in found.values():
        for key in summary.by_key:
            summary.holders(key)  # read once a summary, whatever the number of facts
        summary.by_key = {key: Counted(at) for key, at in summary.by_key.items()}
    return found


FACTS = [fact for fact in extract(lines(400), "user", scope_key="s").facts if fact.cls == "prohibition"][:40]
VALUES = [fact for fact in extract(lines(400), "user", scope_key="s").facts if fact.cls in {"numeric", "commitment"}][:120]


def test_statement_looks_at_no_more_clauses_in_a_longer_summary(
    prepared: dict[int, SummaryText], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the summary, the same work: places of words looked at, and clauses compared."""
    compared = 0
    judge = search.Match

    def counted(*arguments: Any) -> Any:
        nonlocal compared
        compared += 1
        return judge(*arguments)

    monkeypatch.setattr(search, "Match", counted)
    work = []
    for summary in prepared.values():
        Counted.seen = compared = 0
        assert all(survival(fact, summary).outcome in {"verbatim", "equivalent"} for fact in FACTS)
        work.append((Counted.seen, compared))
    assert all(seen <= len(FACTS) * POSTINGS_MAX and tried <= len(FACTS) * CANDIDATES for seen, tried in work)
    assert work[1][0] <= work[0][0] * 5 // 4


def test_value_is_compared_with_no_more_places_in_a_longer_summary(
    prepared: dict[int, SummaryText], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same for numbers and dates, of which each line has one."""
    compared = 0
    closeness = Wanted.closeness

    def counted(wanted: Wanted, place: Place) -> int:
        nonlocal compared
        compared += 1
        return closeness(wanted, place)

    monkeypatch.setattr(Wanted, "closeness", counted)
    for summary in prepared.values():
        compared = 0
        for fact in VALUES:
            survival(fact, summary)
        assert compared <= len(VALUES) * 4 * PLACES_MAX


def test_value_told_word_for_word_is_found_without_a_look_at_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a summary that repeats what was said, each number is settled by the first place that has all its words."""
    compared = 0
    closeness = Wanted.closeness

    def counted(wanted: Wanted, place: Place) -> int:
        nonlocal compared
        compared += 1
        return closeness(wanted, place)

    monkeypatch.setattr(Wanted, "closeness", counted)
    text = "\n".join(f"The {WORDS[at % 10]} takes at most {1000 + at} kg of sand." for at in range(600))
    numbers = [fact for fact in extract(text, "user", scope_key="s").facts if fact.cls == "numeric"]
    summary = SummaryText(text)
    assert all(survival(fact, summary).outcome == "equivalent" for fact in numbers)
    assert compared == len(numbers) == 600


def test_check_of_a_long_text_against_itself_finds_all_of_it_f2() -> None:
    """F2: the bounds on the work lose nothing that is said word for word."""
    text = lines(1200)
    assert check(text, text, "user").verdict == "evict_ok"


def test_each_fact_looks_again_at_its_sentences_and_not_at_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is folded, and read for its language, while facts are compared grows as the text does and not as its square."""
    looked = 0
    folded, spoken = comparison.fold, comparison.spoken

    def counted_fold(text: str) -> str:
        nonlocal looked
        looked += len(text)
        return folded(text)

    def counted_spoken(source: str, summary: str, detected: Language) -> Language:
        nonlocal looked
        looked += len(source) + len(summary)
        return spoken(source, summary, detected)

    monkeypatch.setattr(comparison, "fold", counted_fold)
    monkeypatch.setattr(comparison, "spoken", counted_spoken)
    work = []
    for count in (40, 80):
        looked = 0
        check(lines(count), f"{lines(count)}\nThat is all.", "user")
        work.append(looked)
    assert 0 < work[1] < work[0] * 3
