"""Quick looks settle what may be passed over; the facts are those of the plain way all the same (P2)."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.facts import extract
from ledger.facts.extraction.analysis import analyse
from ledger.facts.language.fold import fold
from ledger.facts.language.known import KNOWN_MAX
from ledger.facts.language.lexicon import ENGLISH, LANGUAGES, Language
from ledger.facts.language.tokens import Token, read_words
from ledger.facts.values.identifiers import may_name
from schemas.records import Role
from tests.bench.plain_facts import plainly

PAIRS = Path(__file__).parents[2] / "pairs"


def sayings() -> list[str]:
    rows = [json.loads(line) for path in sorted(PAIRS.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()]
    return [row[side] for row in rows for side in ("source", "summary")]


def explained() -> list[str]:
    """Long texts with lists and code in backticks, as those that explain are."""
    some = [saying.replace("\n", " ") for saying in sayings()]
    forms = ("- `{0}`: {1}", "- `{0}`: {1}", "**Then** {1}", "- `{0}`: '{1}'")
    marked = [forms[number % 4].format(number, saying) for number, saying in enumerate(some)]
    return ["\n".join(marked[at : at + 14]) for at in range(0, len(marked), 14)]


@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_quick_looks_pass_over_no_fact_of_a_text_that_explains(role: Role) -> None:
    texts = [*explained(), *(f"{text}\nLet me look at that now:" for text in explained())]
    quick = [extract(text, role, scope_key="s").facts for text in texts]
    with plainly():
        plain = [extract(text, role, scope_key="s").facts for text in texts]
    assert quick == plain
    assert any(quick)


SIGNS = re.compile(r"[0-9`_/@#\\$=\-]|[^\s][.:(>]+[^\s]|[a-z][A-Z]|[A-Z]{2}[a-z]|(?<!\S)\W*\.[a-z]", re.ASCII)
"""The signs of identifiers in one pattern, as they would be written down first."""


@given(st.text("aA.:(>-1 \n\u00e9'", max_size=12), st.integers(0, 12), st.integers(0, 12))
def test_signs_of_identifiers_are_those_of_the_plain_pattern(text: str, start: int, end: int) -> None:
    start, end = min(start, len(text)), min(max(start, end), len(text))
    assert may_name(text, start, end) == bool(SIGNS.search(text, start, end))


def test_sentence_turns_its_bounds_whether_or_not_its_tokens_are_asked_for() -> None:
    """F2: `not more than` is `at most` in the numbers themselves."""
    text = "The lift may not carry more than 300 kg."
    assert [number.op for number in analyse(text, fold(text), 0, len(text), ENGLISH).numbers] == ["<="]


def read(language: Language) -> list[tuple[str, int, tuple[str, ...]]]:
    found: list[Token] = []
    read_words("restart", 0, 7, language, found)
    return [(token.word, token.tags, token.keys) for token in found]


@pytest.mark.parametrize("code", ["en", "de", "ko", "zh"])
def test_words_that_are_remembered_have_a_bound(code: str) -> None:
    """Memory stays bounded over any number of words, and what is read of them is the same afterwards."""
    language = LANGUAGES[code]
    before = read(language)
    text = " ".join(f"w{number:x}" for number in range(KNOWN_MAX + 10))
    read_words(text, 0, len(text), language, [])
    assert len(language.known) <= KNOWN_MAX
    assert read(language) == before
