"""Rows of tables, `key: value` and check boxes as facts, and what is said where no fact is recognised (P4, F2)."""

from __future__ import annotations

import pytest

from ledger.facts import check
from ledger.facts.extraction.entry_facts import is_entry
from ledger.facts.extraction.extract import extract
from ledger.facts.grounded import grounded
from ledger.facts.structure.entries import entries
from ledger.facts.structure.toolout import LONG_CHARS
from ledger.facts.unrecognised import unrecognised
from schemas.records import Role


def told(text: str) -> list[tuple[str, str, str]]:
    return [(text[slice(*e.label)], text[slice(*e.head)], text[slice(*e.value)]) for e in entries(text)]


TABLES = {
    "markdown": "| port | cable |\n|---|---|\n| north | 3 |\n| south | 8 |",
    "box": "+-------+-------+\n| port | cable |\n+-------+-------+\n| north | 3 |\n| south | 8 |\n+-------+-------+",
    "bare": "port | cable\n---- | ----\nnorth | 3\nsouth | 8",
    "columns": "port    cable\nnorth   3\nsouth   8",
    "tabs": "port\tcable\nnorth\t3\nsouth\t8",
    "commas": "port,cable\nnorth,3\nsouth,8",
}


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES.keys())
def test_cell_of_a_table_stands_under_its_row_and_its_column_f2(text: str) -> None:
    assert told(text) == [("north", "cable", "3"), ("south", "cable", "8")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Keeper: Ruth", [("Keeper", "", "Ruth")]),
        ("- **Keeper**: Ruth", [("Keeper", "", "Ruth")]),
        ("mode = quiet", [("mode", "", "quiet")]),
        ("north -> Ruth", [("north", "", "Ruth")]),
        ("Keeper: Ruth; deputy: Alois", [("Keeper", "", "Ruth"), ("deputy", "", "Alois")]),
        ("[x] roof", [("roof", "", "[x] roof")]),
        ("Note that the roof is new and that nobody may walk on it: it is wet and it will stay wet for a while", []),
        ("https://roof.example/a", []),
        ("12: 13", []),
        ("Note: the roof", []),
        ("Wichtig: das Dach", []),
        ("```\nkey: value\n```", []),
        ("# Part: one", []),
    ],
)
def test_value_under_its_key_is_an_entry_and_a_sentence_is_none_f2(text: str, wanted: list[tuple[str, str, str]]) -> None:
    assert told(text) == wanted


@pytest.mark.parametrize("text", TABLES.values(), ids=TABLES.keys())
@pytest.mark.parametrize(
    ("summary", "verdict"),
    [
        ("North has cable 3, south has cable 8.", "evict_ok"),
        ("cable: north 3, south 8", "evict_ok"),
        ("North has cable 8, south has cable 3.", "below_floor"),
        ("- north: 3\n- south: 9", "below_floor"),
        ("North has cable 3.", "below_floor"),
        ("", "below_floor"),
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_table_survives_only_with_every_value_in_its_row_f2(text: str, summary: str, verdict: str, role: Role) -> None:
    """Whoever tells it: an entry that is lost is below the floor."""
    assert check(text, summary, role).verdict == verdict


@pytest.mark.parametrize(
    ("source", "faithful", "turned"),
    [
        (
            "- [x] roof\n- [ ] cellar",
            "The roof is done, the cellar is still open.",
            "The cellar is done, the roof is still open.",
        ),
        ("lamp: on\nfan: off", "The lamp is on and the fan is off.", "The lamp is off and the fan is on."),
        ("| room | heated |\n|---|---|\n| attic | no |", "The attic is not heated.", "The attic is heated."),
        ("| room | ready |\n|---|---|\n| attic | ✓ |", "attic: yes", "attic: no"),
    ],
)
def test_tick_survives_as_a_word_and_turned_it_does_not_f2(source: str, faithful: str, turned: str) -> None:
    assert check(source, faithful, "user").verdict == "evict_ok"
    assert check(source, turned, "user").verdict == "below_floor"


def test_entry_turned_in_a_list_is_inverted_f2() -> None:
    assert check("[x] roof", "[ ] roof", "user").polarity == "inverted"


def test_entry_taken_back_behind_it_is_lost_f2() -> None:
    assert check("Keeper: Ruth", "Keeper: Ruth", "user").verdict == "evict_ok"
    assert check("Keeper: Ruth", "Keeper: Ruth. Forget that.", "user").verdict == "below_floor"
    assert check("Keeper: Ruth", "The keeper is not Ruth.", "user").verdict == "below_floor"


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
@pytest.mark.parametrize("text", ["Lisbon", "7", "oak, elm, ash", "1. oak\n2. elm", "yes", "The old mill."])
def test_text_in_which_no_fact_is_recognised_is_never_certified_unseen_p4(text: str, role: Role) -> None:
    """Fail closed: nothing can be said of it, unless the summary holds its words."""
    found = check(text, "", role)
    assert (found.verdict, found.reason) == ("unknown", "no_fact_recognised")
    assert check(text, "A new day.", role).verdict == "unknown"
    assert check(text, text, role).verdict == "evict_ok"


@pytest.mark.parametrize(
    ("summary", "verdict"),
    [
        ("Trees: oak, elm, ash", "evict_ok"),
        ("Trees: ash, oak and elm", "evict_ok"),
        ("Trees: oak, elm", "unknown"),
        ("Not oak, elm, ash", "unknown"),
        ("Oak, elm, ash?", "unknown"),
    ],
)
def test_words_of_a_bare_list_are_held_in_any_order_and_undenied_f2(summary: str, verdict: str) -> None:
    assert check("oak, elm, ash", summary, "user").verdict == verdict


@pytest.mark.parametrize(
    "text", ["ok", "Thanks a lot!", "Danke schön!", "Merci beaucoup", "Hola, gracias", "好的，谢谢", "Спасибо!", "  "]
)
def test_greeting_and_thanks_state_nothing_f2(text: str) -> None:
    assert check(text, "", "user").verdict == "evict_ok"


def test_sentence_without_a_fact_beside_others_has_to_be_held_too_p4() -> None:
    source = "Never open the sluice. Lisbon."
    assert check(source, "Never open the sluice.", "user").verdict == "unknown"
    assert check(source, "Never open the sluice. Lisbon.", "user").verdict == "evict_ok"
    assert check("Never open the sluice. Thanks!", "Never open the sluice.", "user").verdict == "evict_ok"


def test_chatter_of_an_agent_and_long_texts_need_no_fact_in_each_sentence_f2() -> None:
    source = "Never open the sluice. Lisbon."
    facts = extract(source, "assistant", scope_key="s").facts
    assert facts
    assert unrecognised(source, facts, "assistant") == []
    assert unrecognised(source + " " * LONG_CHARS, facts, "user") == []


def test_entries_of_a_transcript_are_read_in_short_texts_only_f2() -> None:
    """A pasted page must not drown what was said; the same text given by hand is read to its end."""
    text = "Keeper: Ruth\n" + "It rained.\n" * (LONG_CHARS // 10)
    assert not any(is_entry(fact) for fact in extract(text, "user", scope_key="s").facts)
    assert any(is_entry(fact) for fact in extract(text, "user", scope_key="s", by_hand=True).facts)
    assert any(is_entry(fact) for fact in extract("Warden: Ruth", "user", scope_key="s").facts)


def test_text_is_its_own_summary_f2() -> None:
    for text in (*TABLES.values(), "- [x] roof\n- [ ] cellar", "lamp: on, fan: off", "| a | ok |\n|---|---|\n| b | not ok |"):
        assert check(text, text, "user").verdict == "evict_ok"


def test_entry_is_grounded_in_its_text_p4() -> None:
    for text in (*TABLES.values(), "- [x] roof\n- [ ] cellar", "lamp: on, fan: off"):
        facts = extract(text, "user", scope_key="s").facts
        assert facts
        assert all(grounded(fact, text, scope_key="s") for fact in facts)


@pytest.mark.parametrize(
    "summary",
    [
        "Perhaps the warden is Ruth.",
        "If it rains, the warden is Ruth.",
        "Is the warden Ruth?",
        "Warden: Ruth?",
        "The warden is Ruth or Alois.",
        "The warden used to be Ruth.",
        "The warden was formerly Ruth.",
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_entry_told_in_doubt_is_not_kept_f2(summary: str, role: Role) -> None:
    assert check("Warden: Ruth", "The warden is Ruth.", role).verdict == "evict_ok"
    assert check("Warden: Ruth", summary, role).verdict == "below_floor"


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ("言語：日本語\n倉庫：東京", "言語：日本語、倉庫：大阪"),
        ("语言：中文\n仓库：上海", "语言：中文，仓库：北京"),
        ("Sprache: Deutsch\nLager: Kiel", "Sprache: Deutsch. Lager: Bonn."),
        ("Langue : français\nVille : Lyon", "Langue : français. Ville : Nice."),
        ("Язык: русский\nСклад: Тула", "Язык: русский. Склад: Орёл."),
        ("اللغة: العربية", "اللغة: الفرنسية"),
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_other_value_under_the_same_name_is_refused_in_any_language_f2(source: str, summary: str, role: Role) -> None:
    assert check(source, source, role).verdict == "evict_ok"
    assert check(source, summary, role).verdict == "below_floor"


@pytest.mark.parametrize(
    "source", ["Note: the roof leaks.", "Rule: no ladders.", "Please: close the hatch.", "Important: the hatch is open."]
)
def test_word_that_announces_a_statement_is_no_name_of_a_value_f2(source: str) -> None:
    assert check(source, source.partition(": ")[2].capitalize(), "user").verdict == "evict_ok"
