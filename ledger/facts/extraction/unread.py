"""Sentences in a language without a table: kept word for word or not kept (design section 5: fail closed)."""

from __future__ import annotations

import re

from ledger.facts.extraction.builder import Builder
from ledger.facts.language.fold import WORD, normalise
from schemas.facts import Fact, FactClass

MARK = "%unread"
"""Stands in the context of a fact whose sentence nobody could read; a context without words survives verbatim only."""

_LETTERS = re.compile(f"(?![0-9_])[{WORD}]{{2}}", re.ASCII)


def add_unread(builder: Builder, start: int, end: int) -> None:
    """A sentence that could not be read, as one fact: of a user it may be an order, of an assistant it tells something.

    A tool's output is no such sentence: what is in no known language there is mostly no language at all.
    """
    if builder.role != "tool" and _LETTERS.search(builder.text, start, end):
        cls: FactClass = "instruction" if builder.role == "user" else "narrative"
        builder.add(cls, start, end, normalise(builder.text[start:end]), context=MARK)


def is_unread(fact: Fact) -> bool:
    """Does the fact stand for a sentence that could not be read?"""
    return fact.context == MARK
