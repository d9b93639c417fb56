"""A span as it is looked at: sentences, clauses and sections, each found once however long the text is."""

from __future__ import annotations

import time

import pytest

from ledger.facts.settled.standing import asks, language_of
from ledger.rules.look import SENTENCE_CHARS_MAX, Around, Look


def look(text: str, *facts: Around) -> Look:
    """A span of the agent or the user."""
    return Look(text, language_of(text), facts, tool=False)


def test_look_passages_are_sentence_clause_and_order() -> None:
    text = "First one. Use tabs, not spaces, in src/pool.c! Then\nthe rest"
    at = text.index("not")
    found = look(text, Around(at, at + 10, "%ban", ""), Around(0, 5, "%imp", ""))
    assert found.sentence(at, at + 3).text.strip() == "Use tabs, not spaces, in src/pool.c!"
    assert found.sentence(at, at + 3).marks == {"%ban"}
    assert found.clause(at, at + 3).strip() == "not spaces"
    assert found.order(at, at + 3) == found.sentence(at, at + 3).text


def test_look_section_ends_at_the_next_heading_or_empty_line() -> None:
    parts = "## One\na.py\n## Two\nb.py\n"
    assert look(parts).section(parts.index("b.py")).files == {"bpy"}
    plain = "a.py\n\nb.py\n\nc.py"
    assert look(plain).section(plain.index("b.py")).files == {"bpy"}


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("**Fix:** pass the guard", True),
        ("### Recommendation\npass the guard", True),
        ("**3. The lock is taken twice**\npass the guard\n**Fix:** once", True),
        ("Next steps:\n- drain the queue\n- pass the guard", True),
        ("**Empfehlung:** pass the guard durch die ganze Kette und nicht neu", True),
        ("1. Cause: pass the guard\n2. Recommendation: take the first", False),
        ("1. Recommendation: take the first\n2. Cause: pass the guard", False),
        ("I fix the pool and pass the guard", False),
        ("the fix was simple: pass the guard", False),
    ],
)
def test_look_proposal_stands_under_a_head(text: str, head: bool) -> None:
    at = text.index("pass")
    assert look(text).section(at).proposes(at) is head


def test_look_of_a_long_text_without_stops_takes_no_longer_than_its_length_d3() -> None:
    piece = "service api-7 must answer within 107 ms, "
    text = piece * 1300
    facts = [Around(at, at + 30, "%ban", "") for at in range(0, len(text) - 30, len(piece))]
    began = time.monotonic()
    seen = look(text, *facts)
    for one in facts:
        assert 0 < len(seen.sentence(one.start, one.end).text) <= 2 * SENTENCE_CHARS_MAX
        assert one in seen.sentence(one.start, one.end).around
        seen.clause(one.start, one.end), seen.order(one.start, one.end), seen.section(one.start)
    assert not asks("Never push" + " (" * 20000 + "a", language_of("push"))
    assert time.monotonic() - began < 2
