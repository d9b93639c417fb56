"""F2: numbers by exact value in any notation; nothing rounded."""

from __future__ import annotations

import pytest

from ledger.facts.check import check
from ledger.facts.language.fold import fold
from ledger.facts.language.lexicon import LANGUAGES
from ledger.facts.values.quantities import find_numbers


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
    from ledger.facts.extraction.analysis import analyse

    def ops(text: str) -> list[str]:
        return [n.canonical for n in analyse(text, fold(text), 0, len(text), LANGUAGES["en"]).numbers]

    assert ops("Never load sheets above 2,000 rows") == [">2000"]
    assert ops("No sample may be thawed more than twice") == ["<=2"]
    assert ops("It must not exceed 5 GB") == ["<=5000000000 B"]


@pytest.mark.parametrize(
    ("language", "text", "value"),
    [
        ("de", "einundzwanzig Sekunden", "21 s"),
        ("de", "zweihundertfünfundzwanzigtausend Euro", "225000 EUR"),
        ("de", "höchstens eintausendzweihundert Meter", "<=1200 m"),
        ("nl", "drieëntwintig minuten", "1380 s"),
        ("nl", "achthonderdvijftig euro", "850 EUR"),
        ("sv", "femhundratjugotre kronor", "523 SEK"),
        ("it", "ventuno giorni", "1814400 s"),
        ("it", "centottanta euro", "180 EUR"),
        ("fr", "quatre-vingt-dix-sept euros", "97 EUR"),
        ("fr", "soixante et onze minutes", "4260 s"),
        ("fr", "deux cent vingt et un mille euros", "221000 EUR"),
        ("es", "treinta y dos horas", "115200 s"),
        ("pt", "mil e duzentos reais", "1200 BRL"),
        ("pl", "dwadzieścia jeden minut", "1260 s"),
        ("ru", "две тысячи пятьсот рублей", "2500 RUB"),
        ("ru", "30 с.", "30 s"),
        ("tr", "yüzde yirmi bir", "21 %"),
        ("tr", "%12 arttı", "12 %"),
        ("ar", "خمسة وأربعون دقيقة", "2700 s"),
        ("ar", "١٬٢٣٤٫٥٦ يورو", "1234.56 EUR"),
        ("hi", "बारह लाख चौंतीस हज़ार रुपये", "1234000 INR"),
        ("hi", "₹12,34,567", "1234567 INR"),
        ("hi", "४५ मिनट", "2700 s"),
        ("zh", "三百二十元", "320 CNY"),
        ("zh", "两万五千元", "25000 CNY"),
        ("zh", "百分之十二", "12 %"),
        ("zh", "最多保存 3万元", "<=30000 CNY"),
        ("ja", "二十一秒間", "21 s"),
        ("ja", "１，２５０円", "1250 JPY"),
        ("ja", "2.5 GBです", "2500000000 B"),
        ("ja", "90秒以内", "<=90 s"),
        ("ko", "삼백이십 초", "320 s"),
        ("ko", "3만 원", "30000 KRW"),
        ("fr", "1\u202f234,56 euros", "1234.56 EUR"),
        ("de", "1'234.56 CHF", "1234.56 CHF"),
    ],
)
def test_number_in_words_and_digits_of_a_language_has_its_value_f2(language: str, text: str, value: str) -> None:
    assert values(text, language) == [value]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "ein Hund und eine Katze"),
        ("de", "zwei drei Tage"),
        ("en", "five four"),
        ("fr", "un chat et une souris"),
        ("it", "un gatto e una casa"),
        ("zh", "千万不要删除"),
        ("zh", "三四天"),
        ("ko", "이상 이하"),
    ],
)
def test_words_that_make_no_number_are_none_f2(language: str, text: str) -> None:
    """F2: articles, idioms (`千万`, by all means) and numbers side by side (`三四`, three or four) have no exact value."""
    assert [n for n in values(text, language) if n not in {"2", "3", "4", "4 month"}] == []


@pytest.mark.parametrize(
    ("source", "same", "other"),
    [
        ("Las ventas suman 84 000 € en total.", "Las ventas suman 84.000 € en total.", "Las ventas suman 84.500 € en total."),
        ("Les ventes atteignent 84 000 €.", "Les ventes atteignent 84000 €.", "Les ventes atteignent 84 €."),
        ("Naprawa kosztuje 4 000 €.", "Naprawa kosztuje 4.000 €.", "Naprawa kosztuje 400 €."),
        ("Ремонт стоит 84 000 €.", "Ремонт стоит 84000 €.", "Ремонт стоит 48000 €."),
        ("Reparationen kostar 4 000 €.", "Reparationen kostar 4.000 €.", "Reparationen kostar 4.100 €."),
        ("Die Reparatur kostet 84 000 €.", "Die Reparatur kostet 84.000 €.", "Die Reparatur kostet 84 €."),
        ("The repair costs 1 084 000 €.", "The repair costs 1,084,000 €.", "The repair costs 84,000 €."),
    ],
)
def test_thousands_grouped_by_spaces_are_one_number_f2(source: str, same: str, other: str) -> None:
    assert check(source, same, "user").verdict == "evict_ok"
    assert check(source, other, "user").verdict == "below_floor"
