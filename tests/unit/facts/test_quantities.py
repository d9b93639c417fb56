"""F2: numbers by exact value in any notation; nothing rounded."""

from __future__ import annotations

import pytest

from ledger.facts.fold import fold
from ledger.facts.lexicon import LANGUAGES
from ledger.facts.quantities import find_numbers


def values(text: str, language: str = "en") -> list[str]:
    return [n.canonical for n in find_numbers(text, fold(text), 0, len(text), LANGUAGES[language], [])]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,240 ms", "1.24 s"),
        ("500 ms", "0.5 s"),
        ("two thousand rows", "2,000 rows"),
        ("two thousand rows", "2000 rows"),
        ("at most 250", "no more than 250"),
        ("at most 14 days", "no more than two weeks"),
        (">= 2.3, < 3.0", ">=2.3,<3.0"),
        ("5 starts per 20-minute window", "5 starts per 20 minutes"),
        ("3–5 working days", "three to five working days"),
        ("40 req/s", "2400 requests per minute"),
        ("180 mm", "18 cm"),
        ("$1,249.50", "1249.50 USD"),
        ("12.5k EUR", "€12,500"),
        ("85%", "85 percent"),
        ("1024 MiB", "1 GiB"),
        ("5k", "5000"),
        ("twenty-five days", "25 days"),
        ("at least 3", "3 or more"),
        ("2 tablets every 8 hours", "two tablets every eight hours"),
    ],
)
def test_number_in_another_notation_is_the_same_value_f2(one: str, other: str) -> None:
    assert values(one) == values(other) != []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("512 MiB", "512 MB"),
        ("30 s", "30 ms"),
        ("1.24 s", "1.42 s"),
        ("8100-8104", "8100-8140"),
        (">= 2.3", "> 2.3"),
        ("at most two", "at least two"),
        ("1:200", "1:20"),
        ("57 of 60", "60 of 57"),
        ("3 months", "3 minutes"),
        ("€40", "$40"),
        ("5 per 20 minutes", "5 per 2 minutes"),
        ("-80 °C", "80 °C"),
        ("1,249.50 USD", "1,250 USD"),
    ],
)
def test_number_of_another_value_is_not_the_same_f2(one: str, other: str) -> None:
    assert values(one) != values(other)


@pytest.mark.parametrize(
    ("language", "text", "value"),
    [
        ("it", "1.150,00 €", "1150 EUR"),
        ("de", "2.000 Zeilen", "2000"),
        ("de", "höchstens 2,5 bar", "<=250000 Pa"),
        ("fr", "30 secondes", "30 s"),
        ("es", "al menos tres días", ">=259200 s"),
        ("ru", "не более 50 запросов в минуту", "<=5/6 /s"),
        ("sv", "minst två veckor", ">=1209600 s"),
        ("ko", "최대 30초", "<=30 s"),
    ],
)
def test_number_in_another_language_is_read_by_its_convention_f2(language: str, text: str, value: str) -> None:
    assert values(text, language) == [value]


@pytest.mark.parametrize("text", ["09bd59e2ae01", "sha256", "gemini-2.5-flash", "x86_64", "1" * 5000])
def test_number_inside_a_name_is_none(text: str) -> None:
    assert values(text) == []


def test_number_restricting_a_noun_keeps_its_bound_f2() -> None:
    """A ban on large sheets says nothing against the bound; a ban on exceeding turns it."""
    from ledger.facts.clauses import analyse

    def ops(text: str) -> list[str]:
        return [n.canonical for n in analyse(text, fold(text), 0, len(text), LANGUAGES["en"]).numbers]

    assert ops("Never load sheets above 2,000 rows") == [">2000"]
    assert ops("No sample may be thawed more than twice") == ["<=2"]
    assert ops("It must not exceed 5 GB") == ["<=5000000000 B"]
