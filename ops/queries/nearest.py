"""Statements that a scope has and that come nearest to words which are none of them: a piece of one, or a question."""

from __future__ import annotations

from ledger.facts.findings import is_date
from ledger.facts.language.fold import normalise
from ledger.facts.settled.shorter import content
from ledger.facts.settled.standing import asks, language_of, sentence_at
from ledger.lookup import carrier_count, fact_in_session
from ledger.rows import FactRow
from ledger.rules.carriers import Answer, reconstitute
from ledger.state import FACT, fact_key
from ops.queries.quotes import Quotes, excerpt
from ops.store import Found
from schemas.facts import Fact

_STATEMENTS = frozenset({"prohibition", "commitment", "instruction", "decision", "narrative"})
NEAR_MAX = 3

SHARED_WORDS_MIN = 2
"""One word in common is chance."""


def says_what(text: str, fact: Fact) -> bool:
    """Is this fact of a text told there? A question states nothing; a value in it (a number, a name, a date) is named all the
    same.
    """
    if fact.cls not in _STATEMENTS or is_date(fact.value):
        return True
    return not asks(text[slice(*sentence_at(text, fact.start, fact.end))], language_of(text))


def is_question(text: str) -> bool:
    """Does it end as a question?"""
    return asks(text.strip(), language_of(text))


def holding(found: Found, words: str) -> list[FactRow]:
    """Statements that contain these very words, in canonical form: what was asked for is none of them, yet not unheard of."""
    if not words:
        return []
    near: list[FactRow] = []
    for _, row in found.rows.walk(FACT, b""):
        if row.cls in _STATEMENTS and f" {words} " in f" {row.value} ":
            near.append(row)
            if len(near) == NEAR_MAX:
                break
    return near


def nearest(found: Found, text: str) -> list[FactRow]:
    """The ban, and the other statement, that share most words with a text, two words at least. Whoever asks whether something
    may be done is to read the ban first.
    """
    language = language_of(text)
    wanted = content(text, language)
    if len(wanted) < SHARED_WORDS_MIN:
        return []
    best: dict[bool, tuple[tuple[int, int, str], FactRow]] = {}
    for _, row in found.rows.walk(FACT, b""):
        if row.cls not in _STATEMENTS or is_date(row.value):
            continue
        words = content(row.value, language)
        shared = len(wanted & words)
        rank, told = (-shared, len(words), row.id), row.cls != "prohibition"
        if shared >= SHARED_WORDS_MIN and (told not in best or rank < best[told][0]):
            best[told] = rank, row
    return [best[told][1] for told in sorted(best)]


async def _told(found: Found, near: list[FactRow], quotes: Quotes) -> str:
    """The statements in their own words, each with its answer."""
    return "; ".join([f"“{excerpt(await _words(row, quotes))}” ({row.id}), which is {_answer(found, row)}" for row in near])


async def _words(row: FactRow, quotes: Quotes) -> str:
    return await quotes.cut(row.span, row.start, row.end) or row.value


def _answer(found: Found, row: FactRow) -> Answer:
    key = fact_key(row.id)
    answer, _ = reconstitute(
        seen=True,
        tombstoned=bool(row.tombstone),
        carriers=carrier_count(found.rows, key, row, found.session),
        unreadable_round=fact_in_session(found.rows, key, found.session).unknown_round,
        linked_missing=False,
    )
    return answer


async def near_to(found: Found, text: str, quotes: Quotes, fact: Fact | None = None) -> str:
    """Why a text, or one fact of it that the scope never saw, is answered *unknown*: what it is a part of, or that it is a
    question, and what comes nearest. The empty string where none of that is so.
    """
    if fact is None or fact.cls in _STATEMENTS:
        part_of = holding(found, fact.value if fact is not None else normalise(text))
        if part_of:
            return f"part of: {await _told(found, part_of, quotes)}"
    asked = is_question(text) if fact is None else not says_what(text, fact)
    near = nearest(found, text) if asked else []
    if near:
        return f"a question states no fact; nearest: {await _told(found, near, quotes)}"
    return "a question states no fact" if asked and fact is not None else ""
