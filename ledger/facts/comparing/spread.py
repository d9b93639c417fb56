"""A statement with a list, told in several sentences or bullet points (rule F2): *use port 8443 and TLS 1.3* in two lines."""

from __future__ import annotations

from ledger.facts.comparing.alignment import LIGHT_KEYS, Word, act_of
from ledger.facts.comparing.summary import LONG_SUMMARY_PARTS, SummaryText
from ledger.facts.findings import Finding
from ledger.facts.language import lexicon as lx
from schemas.facts import Fact

_BOUND_TO = ("%exc", "%ask", "%if", "%maybe", "%may", "%soft", "%it", "%todo")
"""Statements that say more than their words do are not looked for in pieces."""

_FREED = lx.MAY | lx.PERMIT | lx.SOFT | lx.REVOKE | lx.HEDGE | lx.EXC | lx.EXCEPT | lx.INSTEAD | lx.REJECTED


def spread(fact: Fact, words: list[Word], marks: list[str], summary: SummaryText) -> Finding | None:
    """The finding where each member of the statement's list stands whole in one of neighbouring sentences of the same sign."""
    members = sorted({word.segment for word in words if word.weight})
    if len(members) < 2 or len(summary.parts) > LONG_SUMMARY_PARTS or len(summary.sentence_parts) < 2 or fact.hedge:
        return None
    if fact.cls not in {"instruction", "prohibition", "narrative"} or any(mark.startswith(_BOUND_TO) for mark in marks):
        return None
    light = LIGHT_KEYS.union(act_of(marks), *(word.keys for word in words if "%verb=" + "/".join(word.keys) in marks))
    needed = [[word for word in words if word.weight and word.segment == member and _needed(word, light)] for member in members]
    if not all(needed):
        return None
    homes = [_home(member, fact, summary) for member in needed]
    found = [home for home in homes if home is not None]
    if len(found) < len(members) or max(found) - min(found) > len(members) or len(set(found)) < 2:
        return None
    start, end = summary.sentence_spans[min(found)][0], summary.sentence_spans[max(found)][1]
    return Finding("equivalent", start, end, "kept" if fact.cls == "prohibition" else "n/a")


def _needed(word: Word, light: frozenset[str]) -> bool:
    return word.hard or light.isdisjoint(word.keys)


def _home(member: list[Word], fact: Fact, summary: SummaryText) -> int | None:
    """The first sentence with a clause of the statement's sign and quantifier that holds every word of a member."""
    sign = -1 if fact.polarity == "negated" else 1
    for part in summary.parts:
        if part.sign != sign or part.flags & _FREED or part.question or part.hedge or part.quantifier != fact.quantifier:
            continue
        if all(not part.keys.isdisjoint(word.keys) for word in member):
            return part.sentence
    return None
