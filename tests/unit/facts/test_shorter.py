"""Is a statement held in a shorter form? A name by its last part, a sentence by names, figures and most words."""

from __future__ import annotations

import pytest

from ledger.facts.language.lexicon import LANGUAGES
from ledger.facts.settled.shorter import Shorter
from schemas.facts import FactClass

ENGLISH = LANGUAGES["en"]
SUMMARY = """Files: `pool.c` and openPool, commit 4be91c0, issue #296.
The retry budget of the worker is 3 attempts.
Attempts are kept in payment_attempts, a second approval for charges above 500 EUR.
"""
KEPT = Shorter([SUMMARY])


@pytest.mark.parametrize(
    ("name", "held"),
    [
        ("/home/ann/code/src/pool.c", True),
        ("open_pool()", True),
        ("4be91c07aa31", True),
        ("https://forge.example/x/y/issues/296", True),
        ("https://forge.example/x/y/issues/29", False),
        ("src/spool.c", False),
        ("closePool", False),
        ("worktree.Add()", False),
        ("9b6bd9e2", False),
    ],
)
def test_shorter_name_is_held_by_its_last_part(name: str, held: bool) -> None:
    assert KEPT.holds(name, "identifier", ENGLISH) is held


@pytest.mark.parametrize(
    ("passage", "cls", "held"),
    [
        ("the worker has a retry budget of 3 attempts", "narrative", True),
        ("the worker has a retry budget of 5 attempts", "narrative", False),
        ("the retry budget of `closePool` is 3 attempts", "narrative", False),
        ("the queue is drained before a restart", "narrative", False),
        ("budget", "narrative", False),
    ],
)
def test_shorter_statement_is_held_by_names_figures_and_most_words(passage: str, cls: FactClass, held: bool) -> None:
    assert KEPT.holds(passage, cls, ENGLISH) is held


def test_shorter_standing_order_wants_a_name_or_figure_and_half_of_its_words() -> None:
    order = "Charges above 500 EUR need a second pair of eyes"
    assert KEPT.holds(order, "instruction", ENGLISH, named=True)
    assert not KEPT.holds("Keep the retry budget of the worker", "instruction", ENGLISH, named=True)


@pytest.mark.parametrize(("code", "text"), [("ja", "再試行の予算は三回です"), ("zh", "重试预算是三次")])
def test_shorter_without_spaces_pairs_of_signs_stand_for_words(code: str, text: str) -> None:
    kept = Shorter([text])
    assert kept.holds(text, "narrative", LANGUAGES[code])
    assert not kept.holds(
        "キューは再起動の前に空になります" if code == "ja" else "队列在重启之前清空", "narrative", LANGUAGES[code]
    )
