"""A small language in which a test says exactly which facts a text holds and how each fares in a summary.

The fold must hold whatever the extractor is good at, so its tests do not depend on English. A text is words between spaces:

    n:40  i:host  p:billing  c:friday  s:style  d:lmdb  r:fast  t:story     numeric, identifier, prohibition, commitment,
                                                                              instruction, decision, reason, narrative

A summary states a fact by its word, verbatim, or by its word with a sign in front: `=` equivalent, `~` verbatim without its
hedge, `-` inverted, `*` changed, `%` changed in its quantifier, `<` weakened. What it does not name is missing. Other words say
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ledger.facts import EXTRACTOR, Finding
from schemas.facts import Fact, FactClass, FactKind, Manifest
from schemas.ids import fact_id
from schemas.records import Role

KINDS: dict[str, tuple[FactClass, FactKind]] = {
    "n": ("numeric", ""),
    "i": ("identifier", ""),
    "p": ("prohibition", ""),
    "c": ("commitment", ""),
    "s": ("instruction", ""),
    "d": ("decision", "decided"),
    "r": ("decision", "reason"),
    "t": ("narrative", ""),
}
SIGNS: dict[str, Finding] = {
    "": Finding("verbatim"),
    "=": Finding("equivalent"),
    "~": Finding("verbatim", hedge="stripped"),
    "-": Finding("inverted", polarity="inverted"),
    "*": Finding("changed"),
    "%": Finding("changed", quantifier="changed"),
    "<": Finding("weakened"),
}
_WORD = re.compile(r"(?<!\S)([=~*%<-]?)(([nipcsdrt]):[a-z0-9]+)(?!\S)", re.ASCII)


def toy_id(word: str, scope: str) -> str:
    """The fact id of a word in a scope."""
    cls, kind = KINDS[word[0]]
    return fact_id(scope, cls, word, kind, "affirmed", "", "", "")


def extract(text: str, role: Role, *, scope_key: str, valid: tuple[str, str] = ("", "")) -> Manifest:
    """The words without a sign, each as a fact."""
    facts = []
    for found in _WORD.finditer(text):
        if not found[1]:
            cls, kind = KINDS[found[3]]
            facts.append(
                Fact(id=toy_id(found[2], scope_key), cls=cls, kind=kind, start=found.start(), end=found.end(), value=found[2])
            )
    return Manifest(extractor=EXTRACTOR, facts=tuple(facts))


def grounded(fact: Fact, text: str, *, scope_key: str) -> bool:
    """Does the word stand at its offsets?"""
    return 0 <= fact.start < fact.end <= len(text) and text[fact.start : fact.end] == fact.value


class SummaryText:
    """Words of a summary with their signs; the last statement of a word counts."""

    def __init__(self, text: str) -> None:
        self.words = {found[2]: (found[1], found.start(), found.end()) for found in _WORD.finditer(text)}


def survival(fact: Fact, summary: SummaryText) -> Finding:
    """How the fact's word is signed."""
    if fact.value not in summary.words:
        return Finding("missing")
    sign, start, end = summary.words[fact.value]
    known = SIGNS[sign]
    return Finding(known.outcome, start, end, known.polarity, known.quantifier, known.hedge)


@contextmanager
def toy_facts() -> Iterator[None]:
    """The fold and the builders of `tests.support.given` speak the toy language inside the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ledger.measurement.survival", survival)
        patch.setattr("ledger.measurement.SummaryText", SummaryText)
        patch.setattr("ledger.measurement.restated", lambda _fact, finding, *_: finding)
        patch.setattr("ledger.evolve.spans.grounded", grounded)
        patch.setattr("ledger.grounding.grounded", grounded)
        patch.setattr("tests.support.given.extract", extract)
        yield
