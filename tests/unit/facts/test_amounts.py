"""F2: an amount told by set words is the same value as in digits, in every language with a table."""

from __future__ import annotations

import pytest

from ledger.facts.language.fold import fold
from ledger.facts.language.lexicon import LANGUAGES
from ledger.facts.values.quantities import find_numbers


def values(text: str, language: str = "en") -> list[str]:
    return [n.canonical for n in find_numbers(text, fold(text), 0, len(text), LANGUAGES[language], [])]


@pytest.mark.parametrize(
    ("language", "told", "digits"),
    [
        ("en", "half of the budget", "50 % of the budget"),
        ("en", "two thirds of the votes", "2/3 of the votes"),
        ("en", "three of the five nodes", "3 of 5 nodes"),
        ("en", "three out of five nodes", "3/5 nodes"),
        ("en", "a quarter of an hour", "15 minutes"),
        ("en", "one and a half hours", "90 minutes"),
        ("en", "at least half an hour", "at least 30 minutes"),
        ("en", "a fortnight", "14 days"),
        ("en", "severity-3 incidents", "severity 3 incidents"),
        ("de", "anderthalb Stunden", "90 Minuten"),
        ("de", "drei der fünf Knoten", "3 von 5 Knoten"),
        ("fr", "un quart d'heure", "15 minutes"),
        ("es", "la mitad del presupuesto", "50 % del presupuesto"),
        ("it", "un quarto d'ora", "15 minuti"),
        ("pt", "metade do orçamento", "50 % do orçamento"),
        ("nl", "een kwartier", "15 minuten"),
        ("sv", "en halvtimme", "30 minuter"),
        ("pl", "pół godziny", "30 minut"),
        ("ru", "полчаса", "30 минут"),
        ("tr", "yarım saat", "30 dakika"),
        ("zh", "半小时", "30分钟"),
        ("ja", "再試行は3回まで", "再試行は最大3回"),
        ("ko", "재시도는 3회까지", "재시도는 최대 3회"),
    ],
)
def test_amount_in_set_words_equals_its_digits_f2(language: str, told: str, digits: str) -> None:
    assert values(told, language) == values(digits, language) != []


@pytest.mark.parametrize(
    "text", ["the first half of the match", "half-open interval", "in the third row", "call half-heartedly"]
)
def test_word_of_a_share_that_shares_nothing_is_no_amount_f2(text: str) -> None:
    assert values(text) == []


def test_two_parts_of_one_whole_differ_f2() -> None:
    assert values("two of the five nodes") != values("three of the five nodes")
    assert values("5/3 nodes") != values("3/5 nodes")


@pytest.mark.parametrize("name", ["node-3", "ticket-12", "gemini-2"])
def test_name_with_a_number_is_no_amount_f2(name: str) -> None:
    assert values(f"restart {name} now") == []
