"""What is asked in a question, or is a piece of a statement, is neither known nor unheard of (P4, C4)."""

from __future__ import annotations

import pytest

from ledger.log import EVENTS, NewEntry
from ops.queries.recall import RecallAnswer, recall
from ops.store import scratch_store
from schemas.codec import encode
from tests.support.given import observed, opened, span, summary

RULES = (
    "Do not contact the billing endpoint. Use British spelling in all replies. The limit is 40 req/s. Ship it by 2026-12-04."
)
WISH = "The billing endpoint could be contacted by the old tests."


async def asked(text: str) -> list[RecallAnswer]:
    """The answers of a session whose rules, and what was said after them, left with a summary that holds nothing."""
    records = [
        opened(),
        span(1, RULES),
        span(2, WISH),
        summary("m1", "Work went on."),
        observed("r1", "m1", turn=2),
    ]
    async with scratch_store() as store:
        await store.log.append(EVENTS, [NewEntry(item.scope, encode(item)) for item in records])
        await store.fold()
        with store.reading() as reading:
            return await recall(reading, reading.session("s1"), text)


@pytest.mark.parametrize(
    "question",
    [
        "May I contact the billing endpoint for tests?",
        "Should I contact the billing endpoint?",
        "Was the billing endpoint contacted by anybody?",
        "Darf ich den billing endpoint contact?",
    ],
)
async def test_c4_question_is_unknown_and_names_the_nearest_ban_first(question: str) -> None:
    (answer,) = await asked(question)
    assert answer.answer == "unknown"
    kind, _, near = answer.reason.partition("; nearest: ")
    assert kind == "a question states no fact"
    assert near.startswith("“Do not contact the billing endpoint” (f")
    assert "which is unanchored" in near


async def test_c4_question_with_which_no_statement_has_to_do_is_unknown_all_the_same() -> None:
    (answer,) = await asked("Was the queue drained by the worker?")
    assert (answer.answer, answer.reason) == ("unknown", "a question states no fact")


@pytest.mark.parametrize(
    ("question", "cls", "answer"),
    [
        ("Is the limit 40 req/s?", "numeric", "unanchored"),
        ("Is the limit 50 req/s?", "numeric", "absent"),
        ("Is it due on 2026-12-04?", "commitment", "unanchored"),
        ("Is it due on 2026-12-09?", "commitment", "absent"),
    ],
)
async def test_c4_value_in_a_question_is_asked_for_as_such(question: str, cls: str, answer: str) -> None:
    assert [one.answer for one in await asked(question) if one.cls == cls] == [answer]


@pytest.mark.parametrize("piece", ["british spelling", "British spelling", "contact the billing endpoint", "billing endpoint"])
async def test_c4_piece_of_a_statement_is_unknown_and_names_the_statement_with_its_answer(piece: str) -> None:
    (answer,) = await asked(piece)
    assert answer.answer == "unknown"
    assert answer.reason.startswith("part of: “")
    assert piece.lower() in answer.reason.lower()
    assert answer.reason.endswith("which is unanchored")


@pytest.mark.parametrize("words", ["The queue was drained.", "The spelling of names is free."])
async def test_c4_statement_that_nobody_made_is_absent(words: str) -> None:
    (answer,) = await asked(words)
    assert answer.answer == "absent"
