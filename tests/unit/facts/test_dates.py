"""F2: commitments by date or deadline, whatever the notation."""

from __future__ import annotations

import pytest

from ledger.facts.check import check
from ledger.facts.comparing.dated import more_exact
from ledger.facts.language.fold import fold
from ledger.facts.language.lexicon import LANGUAGES
from ledger.facts.values.dates import find_dates


def values(text: str, language: str = "en") -> list[str]:
    folded = fold(text)
    return [d.value for d in find_dates(folded, 0, len(folded), LANGUAGES[language])]


@pytest.mark.parametrize(
    ("language", "text", "value"),
    [
        ("en", "14 November 2026 at 17:00 UTC", "2026-11-14T17:00Z"),
        ("en", "November 14, 2026, 17:00 UTC", "2026-11-14T17:00Z"),
        ("en", "2026-11-14T17:00Z", "2026-11-14T17:00Z"),
        ("en", "5 March 2027, 18:00 CET", "2027-03-05T18:00CET"),
        ("en", "2027-03-05 18:00 CET", "2027-03-05T18:00CET"),
        ("en", "4 December 2026 at noon", "2026-12-04T12:00"),
        ("en", "by 5 pm on Dec 9", "--12-09T17:00"),
        ("en", "March 2027", "2027-03"),
        ("en", "12:00~13:00", "T12:00..T13:00"),
        ("en", "03/04/2027", "?03/04/2027"),
        ("en", "03/04/2027 (day/month)", "2027-04-03"),
        ("en", "25/04/2027", "2027-04-25"),
        ("es", "1 de diciembre de 2026 a las 09:00", "2026-12-01T09:00"),
        ("es", "01/12/2026, 9:00", "2026-12-01T09:00"),
        ("pl", "28 lutego 2027", "2027-02-28"),
        ("pl", "28.02.2027", "2027-02-28"),
        ("it", "03/04/2027 (giorno/mese)", "2027-04-03"),
        ("ru", "5 мая 2027", "2027-05-05"),
        ("ko", "12시부터 13시까지", "T12:00..T13:00"),
        ("ko", "2027년 3월 5일", "2027-03-05"),
        ("ar", "9 أكتوبر 2027", "2027-10-09"),
        ("hi", "9 अक्टूबर 2027", "2027-10-09"),
        ("tr", "9 Ekim 2027", "2027-10-09"),
        ("ja", "2027年10月9日", "2027-10-09"),
        ("ja", "14時30分", "T14:30"),
        ("ja", "明日", "+1d"),
        ("zh", "下午两点半", "T14:30"),
        ("zh", "五月", "--05"),
        ("zh", "后天", "+2d"),
        ("ko", "오후 2시 반", "T14:30"),
        ("fr", "à 14 h 30", "T14:30"),
        ("fr", "à 14h30", "T14:30"),
        ("sv", "klockan 14.30", "T14:30"),
        ("nl", "om 14.30 uur", "T14:30"),
        ("pt", "anteontem", "-2d"),
    ],
)
def test_date_in_any_notation_has_one_value_f2(language: str, text: str, value: str) -> None:
    assert values(text, language) == [value]


def test_hours_and_points_are_no_times_of_day() -> None:
    assert values("3時間以内", "ja") == values("有两点需要注意", "zh") == values("kostar 14.30 kr", "sv") == []


@pytest.mark.parametrize("text", ["version 2.1.7", "1:50 for plasma", "the years may pass", "192.168.1.10", "ratio 3/4"])
def test_date_is_not_read_into_other_notations(text: str) -> None:
    assert values(text) == []


@pytest.mark.parametrize(
    ("source", "same", "other"),
    [
        (
            "Der Server wurde am 3. Dezember umgezogen.",
            "Der Server wurde am 03.12. umgezogen.",
            "Der Server wurde am 12.03. umgezogen.",
        ),
        (
            "Il faut renvoyer les flacons avant le 15 décembre.",
            "Il faut renvoyer les flacons avant le 15/12.",
            "Il faut renvoyer les flacons avant le 16/12.",
        ),
        (
            "Hay que pagar la factura antes del 15 de diciembre.",
            "Hay que pagar la factura antes del 15/12.",
            "Hay que pagar la factura antes del 15/11.",
        ),
        (
            "La fattura va pagata entro il 5 dicembre.",
            "La fattura va pagata entro il 5/12.",
            "La fattura va pagata entro il 12/05.",
        ),
        (
            "A fatura deve ser paga até 5 de dezembro.",
            "A fatura deve ser paga até 05/12.",
            "A fatura deve ser paga até 06/12.",
        ),
        (
            "De factuur moet voor 15 december betaald zijn.",
            "De factuur moet voor 15-12 betaald zijn.",
            "De factuur moet voor 16-12 betaald zijn.",
        ),
        (
            "Faktura musi być zapłacona do 15 grudnia.",
            "Faktura musi być zapłacona do 15.12.",
            "Faktura musi być zapłacona do 15.11.",
        ),
        ("Счёт нужно оплатить до 15 декабря.", "Счёт нужно оплатить до 15.12.", "Счёт нужно оплатить до 25.12."),
        (
            "会議は12月8日の午後3時に変更になりました。",
            "会議は12月8日15時に変更になりました。",
            "会議は12月8日16時に変更になりました。",
        ),
    ],
)
def test_day_without_year_is_the_same_in_short_notation_f2(source: str, same: str, other: str) -> None:
    assert check(source, same, "user").verdict == check(same, source, "user").verdict == "evict_ok"
    assert check(source, other, "user").verdict == "below_floor"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "by the 15/12 split"),
        ("es", "el 1/3 de los usuarios"),
        ("fr", "le 15/12 des voix"),
        ("nl", "voor 10-12 personen"),
        ("de", "bis 15.12 GB"),
        ("de", "version 03.12"),
        ("ja", "15/12"),
    ],
)
def test_fraction_range_or_decimal_number_is_no_day_f2(language: str, text: str) -> None:
    assert values(text, language) == []


@pytest.mark.parametrize(
    ("value", "held", "not_held"),
    [
        ("--12-09", "2026-12-09", "2026-12-10"),
        ("--12-09", "--12-09T17:00", "--12-10T17:00"),
        ("2026-12-09", "2026-12-09T17:00", "--12-09T17:00"),
        ("T17:00", "--12-09T17:00", "--12-09T18:00"),
        ("T17:00", "2026-12-09T17:00", "2026-12-09"),
        ("--12-09T17:00", "2026-12-09T17:00", "--12-09"),
    ],
)
def test_date_is_held_by_one_that_says_more_f2(value: str, held: str, not_held: str) -> None:
    assert more_exact(value, held)
    assert not more_exact(value, not_held)
    assert not more_exact(held, value)


@pytest.mark.parametrize(
    ("source", "summary", "held"),
    [
        ("On 8 December the meeting starts at 15:00.", "The meeting starts on 8 December at 15:00.", True),
        ("The meeting starts on 8 December at 15:00.", "On 8 December the meeting starts at 15:00.", True),
        ("The meeting starts on 8 December at 15:00.", "On 8 December the meeting starts at 16:00.", False),
        ("The meeting starts on 8 December at 15:00.", "On 9 December the meeting starts at 15:00.", False),
        ("The meeting starts on 8 December at 15:00.", "On 8 December the meeting moves from 15:00 to 16:00.", False),
    ],
)
def test_time_told_apart_from_its_day_is_the_same_f2(source: str, summary: str, held: bool) -> None:
    """F2: a date with a time is held by its day and its time in one clause that has no other time."""
    dates = [fact for fact in check(source, summary, "user").facts if fact.cls == "commitment"]
    assert dates
    assert all(fact.survives for fact in dates) is held
