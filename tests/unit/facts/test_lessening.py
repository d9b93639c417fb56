"""Restatements that hold all words of a statement and say less: confined, taken back, shortened, of any or of all (rule F2)."""

from __future__ import annotations

import pytest

from ledger.facts import check
from ledger.facts.comparing.conditions import other_number, range_told_as_two
from ledger.facts.comparing.listing import members
from ledger.facts.comparing.reading import ADDITIONS, items, spoken
from ledger.facts.comparing.retraction import TABLES, retractions_of, taken_back
from ledger.facts.language.lexicon import ENGLISH, LANGUAGES, NEG, UNREAD

BAN = "Never wipe the disk."
BANS = {
    "de": "Lösche niemals die Datenbank.",
    "es": "No borres nunca la base de datos.",
    "fr": "Ne supprimez jamais la base de données.",
    "it": "Non cancellare mai la banca dati.",
    "nl": "Verwijder nooit de database.",
    "pl": "Nigdy nie usuwaj bazy danych.",
    "pt": "Nunca apague a base de dados.",
    "ru": "Никогда не удаляй базу данных.",
    "sv": "Radera aldrig databasen.",
    "ar": "لا تحذف قاعدة البيانات أبدا.",
}
READ = sorted(code for code, language in LANGUAGES.items() if language is not UNREAD)


def certified(source: str, summary: str) -> bool:
    return check(source, summary, "user").verdict == "evict_ok"


@pytest.mark.parametrize(
    "head", sorted(word for word in ADDITIONS["en"].heads if "_" not in word and word not in {"under", "upon"})
)
def test_ban_with_a_case_before_or_behind_it_is_confined_f2(head: str) -> None:
    assert not certified(BAN, f"{head.capitalize()} winter, never wipe the disk.")
    assert not certified(BAN, f"Never wipe the disk {head} winter.")


@pytest.mark.parametrize("head", sorted(word for word in ADDITIONS["en"].conditions if "_" not in word))
def test_order_with_a_condition_before_or_behind_it_is_confined_f2(head: str) -> None:
    assert not certified("Rotate the keys.", f"{head.capitalize()} Marta nods, rotate the keys.")
    assert not certified("Rotate the keys.", f"Rotate the keys {head} Marta nods.")


@pytest.mark.parametrize("code", sorted(BANS))
def test_ban_with_a_case_of_its_language_before_it_is_confined_f2(code: str) -> None:
    head = max(sorted(ADDITIONS[code].heads), key=len).replace("_", " ")
    assert not certified(BANS[code], f"{head.capitalize()} Zanzibar, {BANS[code][0].lower()}{BANS[code][1:]}")


@pytest.mark.parametrize("code", sorted(BANS))
def test_label_that_says_what_kind_of_statement_follows_confines_nothing_f2(code: str) -> None:
    denying = LANGUAGES[code].cues(NEG)
    for label in sorted(ADDITIONS[code].labels - denying)[:5]:
        assert certified(BANS[code], f"{label.capitalize()}: {BANS[code]}"), label


@pytest.mark.parametrize(
    "told",
    [
        "Never, ever wipe the disk.",
        "The disk must never be wiped at any time.",
        "Never wipe the disk, because the audit needs it.",
        "Never wipe the disk, and keep the receipts in the cellar.",
        "The user says: never wipe the disk.",
        "In this project, never wipe the disk.",
        "Keep the receipts in the cellar. Never wipe the disk.",
    ],
)
def test_reason_attribution_and_further_clauses_confine_nothing_f2(told: str) -> None:
    assert certified(BAN, told)


def test_case_that_the_source_tells_elsewhere_confines_nothing_f2() -> None:
    source = "Never wipe the disk. The cellar is flooded."
    assert certified(source, "In the cellar, never wipe the disk. The cellar is flooded.")
    assert not certified(source, "In the attic, never wipe the disk. The cellar is flooded.")


@pytest.mark.parametrize(
    ("source", "told", "kept"),
    [
        ("All keys must be signed.", "All spare keys must be signed.", False),
        ("All keys must be signed.", "Each key must be signed.", True),
        ("All spare keys must be signed.", "Each spare key must be signed.", True),
        ("Never lend keys.", "Never lend spare keys.", False),
        ("Never lend keys.", "Never lend any keys.", True),
        ("Never lend keys.", "Never lend keys to guests.", False),
        ("Never lend keys.", "Never secretly lend keys.", False),
        ("Keys may be lent. Guests are welcome.", "Keys may be lent. Guests are welcome.", True),
        ("Alle Schlüssel müssen gezählt werden.", "Alle Ersatzschlüssel müssen gezählt werden.", False),
        ("Alle Schlüssel müssen gezählt werden.", "Jeder Schlüssel muss gezählt werden.", True),
    ],
)
def test_word_put_before_what_is_forbidden_or_said_of_all_confines_it_f2(source: str, told: str, kept: bool) -> None:
    assert certified(source, told) is kept


def test_statement_told_as_a_condition_of_something_else_is_lost_f2() -> None:
    assert not certified("The valve must be closed at 04:00.", "If the valve must be closed at 04:00, wake Olga.")
    assert certified("If the valve leaks, wake Olga.", "Wake Olga if the valve leaks.")


@pytest.mark.parametrize("code", READ)
def test_every_language_that_is_read_has_words_for_what_is_added_and_taken_back_f2(code: str) -> None:
    known = ADDITIONS[code]
    assert known.heads or known.tails or known.fronted
    assert all((known.all_of, known.any_of, known.vague))
    assert known.labels or known.passed_over
    assert retractions_of(code) is not None


def _first_of(code: str, kind: str) -> str:
    return TABLES[code][kind].split()[0].replace("*", "").replace("_", "" if LANGUAGES[code].no_spaces else " ")


@pytest.mark.parametrize("code", READ)
def test_remark_behind_a_statement_takes_it_back_in_every_language_f2(code: str) -> None:
    gap = "" if LANGUAGES[code].no_spaces else " "
    for kind in ("void", "gone"):
        remark = f"{_first_of(code, 'pointers')}{gap}{_first_of(code, kind)}."
        assert taken_back("zq.", remark, "zq.", LANGUAGES[code], ban=False), remark
        assert not taken_back("zq.", remark, f"zq. {remark}", LANGUAGES[code], ban=False)
    assert not taken_back("zq.", "zq.", "zq.", LANGUAGES[code], ban=True)


def test_leave_takes_back_a_ban_and_nothing_else_f2() -> None:
    assert taken_back("never lend keys.", "it is allowed again.", "never lend keys.", ENGLISH, ban=True)
    assert not taken_back("lend keys.", "it is allowed again.", "lend keys.", ENGLISH, ban=False)


@pytest.mark.parametrize(
    "told", ["Forget that.", "This was a mistake.", "(No longer needed.)", "Correction: 7 keys.", "It is not."]
)
def test_value_that_is_taken_back_is_changed_f2(told: str) -> None:
    assert not certified("The box holds 4 keys.", f"The box holds 4 keys. {told}")


@pytest.mark.parametrize("told", ["It stands in the hall.", "This was checked twice.", "Forget-me-nots grow there."])
def test_remark_that_takes_nothing_back_keeps_the_value_f2(told: str) -> None:
    assert certified("The box holds 4 keys.", f"The box holds 4 keys. {told}")


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("Somebody claimed the box holds 4 keys.", False),
        ("It is false that the box holds 4 keys.", False),
        ("The claim that the box holds 4 keys is wrong.", False),
        ("Does the box hold 4 keys?", False),
        ("The user said that the box holds 4 keys.", True),
        ("According to Olga, the box holds 4 keys.", True),
    ],
)
def test_claim_that_nobody_stands_for_is_no_statement_f2(told: str, kept: bool) -> None:
    assert certified("The box holds 4 keys.", told) is kept


def _words(text: str) -> list[list[str]]:
    return [[item.word for item in member] for member in members(items(text, ENGLISH), ENGLISH)]


def test_members_of_a_list_are_told_from_clauses_f2() -> None:
    assert _words("pack cups, forks and tin plates") == [["cups"], ["forks"], ["tin", "plates"]]
    assert _words("invite ada or grace before noon") == [["ada"], ["grace"]]
    assert _words("pack the cups and check the forks") == []
    assert _words("it took 42 minutes and 3 seconds") == []


@pytest.mark.parametrize(
    ("source", "told", "kept"),
    [
        ("Do not lend keys or badges.", "Do not lend keys.", False),
        ("Do not lend keys or badges.", "Do not lend badges.", False),
        ("Do not lend keys or badges.", "Do not lend badges or keys.", True),
        ("Do not lend keys, badges or maps.", "Do not lend keys etc.", False),
        ("Neither guests nor clerks may enter.", "Guests may not enter.", False),
        ("Neither guests nor clerks may enter.", "Guests and clerks may not enter.", True),
    ],
)
def test_member_of_a_list_that_is_told_nowhere_is_lost_f2(source: str, told: str, kept: bool) -> None:
    assert certified(source, told) is kept


@pytest.mark.parametrize(
    ("source", "told", "other"),
    [
        ("stop if any lamp fails", "stop if all lamps fail", True),
        ("stop if all lamps fail", "stop if any lamp fails", True),
        ("stop if a lamp fails", "stop if every lamp fails", True),
        ("stop if any lamp fails", "if a lamp fails, stop", False),
        ("stop if any lamp fails", "stop if any lamp fails, all guests are gone", False),
        ("wait until both doors shut", "wait until either door shuts", True),
    ],
)
def test_condition_of_any_told_of_all_is_another_f2(source: str, told: str, other: bool) -> None:
    assert other_number(items(source, ENGLISH), items(told, ENGLISH), ENGLISH) is other


@pytest.mark.parametrize(
    ("source", "told", "other"),
    [
        ("rooms 4 to 9", "rooms 4 and 9", True),
        ("rooms 4 and 9", "rooms 4-9", True),
        ("rooms 4 - 9", "rooms 4, 9", True),
        ("rooms 4 to 9", "rooms 4 through 9", False),
        ("between 4 and 9", "4 to 9", False),
        ("rooms 4 and 9", "rooms 4, 9", False),
    ],
)
def test_range_told_as_its_two_ends_is_another_f2(source: str, told: str, other: bool) -> None:
    assert range_told_as_two(items(source, ENGLISH), items(told, ENGLISH), ENGLISH) is other


def test_language_of_a_short_pair_is_the_one_whose_words_of_grammar_stand_there_f2() -> None:
    assert spoken("invitez ada et lise.", "invitez ada.", ENGLISH).code == "fr"
    assert spoken("invite ada and lise.", "invite ada.", ENGLISH) is ENGLISH
    assert spoken("", "", LANGUAGES["ja"]) is LANGUAGES["ja"]


@pytest.mark.parametrize(
    ("source", "summary", "verdict"),
    [
        ("Only Priya and Tomas may approve refunds.", "Refunds can be approved by Priya and Tomas only.", "evict_ok"),
        ("Only Priya and Tomas may approve refunds.", "Only Tomas and Priya may approve refunds.", "evict_ok"),
        ("Only Priya and Tomas may approve refunds.", "Only Priya, Tomas and Jo may approve refunds.", "below_floor"),
        ("Only Priya and Tomas may approve refunds.", "Priya and Tomas may approve refunds.", "below_floor"),
        (
            "Nur Anna und Ben dürfen Rechnungen freigeben.",
            "Rechnungen dürfen nur Anna, Ben und Carla freigeben.",
            "below_floor",
        ),
        ("Nur Anna und Ben dürfen zahlen.", "Zahlen dürfen nur Anna und Ben.", "evict_ok"),
    ],
)
def test_f2_list_of_those_who_alone_may_grows_by_nobody(source: str, summary: str, verdict: str) -> None:
    """F2: whom *only* names is named whole, and nobody else."""
    assert check(source, summary, "user").verdict == verdict


@pytest.mark.parametrize(
    ("source", "summary", "verdict"),
    [
        ("Never share the roadmap.", "Never share the roadmap. Update: sharing is fine now.", "below_floor"),
        ("Never share the roadmap.", "Never share the roadmap. Sharing of the calendar is set up now.", "evict_ok"),
        ("Never share the roadmap.", "Never, under any circumstances, share the roadmap.", "evict_ok"),
        ("Never share the roadmap.", "Never, in any case, ship it, share the roadmap.", "below_floor"),
        ("Lösche niemals Kundendaten.", "Nachts niemals Kundendaten löschen.", "below_floor"),
        ("Ne supprimez jamais les journaux.", "Le week-end, ne supprimez jamais les journaux.", "below_floor"),
        ("Ne supprimez jamais les journaux le week-end.", "Le week-end, ne supprimez jamais les journaux.", "evict_ok"),
        ("Crates heavier than 25 kg need two people.", "Crates over 25 kg need two people.", "evict_ok"),
        ("Crates heavier than 25 kg need two people.", "Crates lighter than 25 kg need two people.", "below_floor"),
        ("Never delete customer data.", "[block] e760b :: Never delete customer data.", "evict_ok"),
        ("Never delete customer data.", "Interns: never delete customer data.", "below_floor"),
    ],
)
def test_f2_words_beside_a_statement_are_weighed(source: str, summary: str, verdict: str) -> None:
    """F2: leave given behind a ban, stress between commas, a time by itself, a comparison as a bound, a label's number."""
    assert check(source, summary, "user").verdict == verdict


@pytest.mark.parametrize(
    ("source", "summary", "verdict"),
    [
        ("The limit is 40.", "In staging, the limit is 40.", "below_floor"),
        ("The limit is 40.", "The limit is 40 in staging.", "below_floor"),
        ("The limit is 40.", "Limit: 40.", "evict_ok"),
        ("Ticket volume: at most 40 per day.", "In staging, ticket volume is at most 40 per day.", "below_floor"),
        ("Ticket volume: at most 40 per day.", "Ticket volume must not exceed 40 per day.", "evict_ok"),
        ("The memory limit for staging is 2 GB.", "In staging, the memory limit is 2 GB.", "evict_ok"),
        ("The budget cap is $500 a month.", "Budget: capped at $500 per month.", "evict_ok"),
        ("升级期间不要运行批处理任务。", "周五晚上服务器升级；升级期间禁止运行批处理任务。", "evict_ok"),
        ("不要运行批处理任务。", "服务器升级；升级期间禁止运行批处理任务。", "below_floor"),
    ],
)
def test_f2_limit_is_confined_by_a_case_and_not_by_another_clause(source: str, summary: str, verdict: str) -> None:
    """F2: a case before a limit narrows it; what stands beyond a semicolon confines something else."""
    assert check(source, summary, "user").verdict == verdict
