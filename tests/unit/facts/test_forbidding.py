"""Words that forbid, set a day, ask for assent or lift it: every language has its own."""

from __future__ import annotations

import pytest

from ledger.facts.language.lexicon import LANGUAGES, UNREAD
from ledger.facts.settled.forbidding import KINDS, begins_denied, dated, denies_all, forbids, lifts, orders, permits, untagged
from ledger.facts.settled.standing import WORDS

ENGLISH = LANGUAGES["en"]
READ = [code for code, language in LANGUAGES.items() if language is not UNREAD]


@pytest.mark.parametrize("kind", ["barred", "tag", "lifts", "permits", "unless"])
@pytest.mark.parametrize("code", READ)
def test_forbidding_every_language_that_is_read_has_words_of_every_kind(code: str, kind: str) -> None:
    assert WORDS[code][kind].split()


@pytest.mark.parametrize("code", READ)
def test_forbidding_phrase_of_each_language_is_found_in_its_sentence(code: str) -> None:
    language = LANGUAGES[code]
    for phrase in WORDS[code]["barred"].split():
        assert forbids(f"pool {phrase.replace('_', ' ').replace('*', 'a')} pool", language), phrase
    first = WORDS[code]["lifts"].split()[0].replace("_", " ")
    assert lifts(f"pool {first} pool", language)
    assert permits(WORDS[code]["permits"].split()[0].replace("_", " "), language)
    assert not forbids("pool", language)
    assert not lifts("pool", language)
    assert set(WORDS[code]) & set(KINDS)


@pytest.mark.parametrize("text", ["No pushing to main", "pls no force pushes", "Nothing in gen may be edited", "no added logs"])
def test_forbidding_negation_at_the_head_forbids(text: str) -> None:
    assert begins_denied(text, ENGLISH)


@pytest.mark.parametrize("text", ["no model is defined", "No tests failed", "no need to push", "No, push", "The no-op pool"])
def test_forbidding_negation_that_tells_forbids_nothing(text: str) -> None:
    assert not begins_denied(text, ENGLISH)


def test_forbidding_without_counts_in_an_order_alone() -> None:
    assert denies_all("Do it without a restart", ENGLISH, order=True)
    assert not denies_all("It ran without a restart", ENGLISH, order=False)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("en", "live by Friday"),
        ("en", "finish it by 2026-12-04"),
        ("de", "fertig bis Freitag"),
        ("ja", "金曜日までに"),
        ("tr", "Cuma'ya kadar"),
    ],
)
def test_forbidding_day_beside_its_word_is_a_deadline(code: str, text: str) -> None:
    assert dated(text, LANGUAGES[code])
    assert not dated(text[:4], LANGUAGES[code])


def test_forbidding_question_for_assent_is_taken_off_and_others_are_not() -> None:
    assert untagged("Don't push, ok?", ENGLISH) == "Don't push"
    assert untagged("It pushes to main, right?", ENGLISH) == "It pushes to main, right?"
    assert untagged("Is it ok?", ENGLISH) == "Is it ok?"


def test_forbidding_figure_is_meant_to_hold_in_an_order_or_a_bound_alone() -> None:
    assert orders("Set the budget to 5", ENGLISH)
    assert orders("The pool takes at most 5", ENGLISH)
    assert not orders("I saw 5 in the pool", ENGLISH)
