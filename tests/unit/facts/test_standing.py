"""Words of standing: every language has its own, and what only looks like one is none."""

from __future__ import annotations

import pytest

from ledger.facts.language.lexicon import LANGUAGES, UNREAD
from ledger.facts.settled import standing
from ledger.facts.settled.standing import (
    KINDS,
    asks,
    language_of,
    pasted,
    puts_a_choice,
    refused,
    says,
    sentence_at,
    tells_of_past,
    users_words,
)

ENGLISH = LANGUAGES["en"]
NEEDED = [kind for kind in KINDS if kind != "only"]
"""Words of `only` have a list of their own in English alone; elsewhere they are among the lasting ones."""


@pytest.mark.parametrize("kind", NEEDED)
@pytest.mark.parametrize("code", [code for code, language in LANGUAGES.items() if language is not UNREAD])
def test_standing_every_language_that_is_read_has_words_of_every_kind(code: str, kind: str) -> None:
    language = LANGUAGES[code]
    assert not says(kind, "pool", language)
    first = standing.WORDS[code][kind].split()[0].removesuffix("*").replace("_", " ")
    assert says(kind, f"pool {first} pool", language)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("ever", "From now on, answer in German"),
        ("ever", "Schreib künftig auf Deutsch"),
        ("ever", "今後は英語で"),
        ("lasting", "please keep the name"),
        ("later", "we do that later"),
        ("off", "nobody needs it any more"),
        ("off", "wird nicht mehr gebraucht"),
    ],
)
def test_standing_word_is_found_in_its_sentence(kind: str, text: str) -> None:
    assert says(kind, text, language_of(text))


@pytest.mark.parametrize(
    ("kind", "text"),
    [("lasting", "keep in mind that the pool is shared"), ("ever", "the nevermore pool"), ("lasting", "messages to keep")],
)
def test_standing_word_inside_a_phrase_or_another_word_is_none(kind: str, text: str) -> None:
    assert not says(kind, text, ENGLISH)


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("only the firewall saved us", True),
        ("only admins may approve", False),
        ("deploy only signed builds", False),
        ("only approved requests must pass", False),
    ],
)
def test_standing_only_of_the_past_is_told_from_a_limit(text: str, past: bool) -> None:
    assert tells_of_past(text, ENGLISH) is past


def test_standing_sentence_holds_its_code_points() -> None:
    text = "First one. Use tabs, not spaces, in src/pool.c! Then\nthe rest"
    at = text.index("not")
    assert text[slice(*sentence_at(text, at, at + 3))].strip() == "Use tabs, not spaces, in src/pool.c!"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Is it so?", True),
        ("consider whether the pool is shared", True),
        ("just the pool for now (can we open a ticket for the rest?)", False),
        ("It is so.", False),
    ],
)
def test_standing_question_ends_a_sentence_or_weighs_something(text: str, question: bool) -> None:
    assert asks(text, ENGLISH) is question


def test_standing_message_that_asks_in_its_last_paragraph_puts_a_choice() -> None:
    assert puts_a_choice("Two ways.\n\nShall I take the first? It is short.")
    assert not puts_a_choice("Why? Because.\n\nSo I take the first.")


def test_standing_long_text_with_code_is_pasted_and_words_of_the_user_are_not() -> None:
    assert pasted("Do this:\n```\n" + "x = 1\n" * 80 + "```")
    assert not pasted("Never push to main. " * 30)


def test_standing_words_with_which_a_user_stops_a_call_are_the_users() -> None:
    answer = "The tool use was rejected. To tell you how to proceed, the user said:\nuse the helper"
    at = users_words(answer)
    assert refused(answer)
    assert at is not None
    assert answer[at:] == "use the helper"
    assert users_words("the pool is empty") is None
    assert not refused("the pool is empty")
