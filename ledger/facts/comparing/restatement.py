"""Where in a summary a statement is restated, if it is: the clauses that share most of its words, each compared (rule F2)."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest

from ledger.facts.comparing.alignment import Match, Word, words_in
from ledger.facts.comparing.contraries import permitted
from ledger.facts.comparing.outcomes import outcome
from ledger.facts.comparing.places import first
from ledger.facts.comparing.spread import spread
from ledger.facts.comparing.summary import LONG_SUMMARY_PARTS, Part, SummaryText
from ledger.facts.findings import MISSING, Finding
from ledger.facts.model import alternatives
from schemas.facts import SURVIVING, Fact


def statement(fact: Fact, summary: SummaryText) -> Finding:
    """The outcome of a statement: its clause is found in the summary by its words, then compared."""
    marks = [word for word in fact.context.split(" ") if word[:1] == "%"]
    words = words_in(fact.context)
    if not words:
        return Finding("verbatim") if fact.value and fact.value in summary.normal else MISSING
    hits = _hits(words, summary)
    said = summary.said(fact.value)
    if said is not None and said not in hits:
        hits[said] = sum(word.weight for word in words)
    if not hits:
        return MISSING
    return _judge(fact, words, marks, summary, hits)


POSTINGS_MAX = 1024
"""Places of the statement's words in the summary that are looked at, the rarest word's first; of what lies beyond only the
clauses already found are asked. So one statement costs no more in a long summary than in a short one; a clause that shares only
words that stand in thousands of clauses is found if it says the same word for word, or stands among the first."""


def _hits(words: list[Word], summary: SummaryText) -> dict[int, int]:
    """The weight of the statement's words that each clause holds."""
    hits: dict[int, int] = {}
    plain = [[key.lstrip("-") for key in word.keys] for word in words]
    postings = [[summary.by_key.get(key, ()) for key in keys] for keys in plain]
    left = POSTINGS_MAX
    for at in sorted(range(len(words)), key=lambda at: sum(map(len, postings[at]))):
        word, lists = words[at], postings[at]
        found: Iterable[int]
        if hits and sum(map(len, lists)) > left:
            found = set().union(*(summary.holders(key).intersection(hits) for key in plain[at]))
        else:
            found = first(lists, left)
            left -= len(found)
        if hits:
            for part in found:
                hits[part] = hits.get(part, 0) + word.weight
        else:
            hits = dict.fromkeys(found, word.weight)
        if not any(lists) and word.keys[0][0] == "!":
            named = summary.part_at(word.keys[0][1:])
            if named is not None:
                hits[named] = hits.get(named, 0) + word.weight
    return hits


def _judge(fact: Fact, words: list[Word], marks: list[str], summary: SummaryText, hits: dict[int, int]) -> Finding:
    """Tries the clauses that share most with the statement; a restatement outweighs an opposite that shares less."""
    least = max(hits.values()) * 3
    best = [part for part, weight in hits.items() if weight * 4 >= least]
    best = nsmallest(CANDIDATES, best, key=lambda part: (-hits[part], summary.parts[part].size, part))
    best = [part for part in best if not summary.parts[part].label] or best
    total = sum(word.weight for word in words)
    predicate = next((alternatives(mark[6:]) for mark in marks if mark.startswith("%verb=")), ())
    findings: list[tuple[int, Finding]] = []
    for part in best:
        window = [at for at in _around(fact, part, summary) if at in hits]
        ordered = _ordered(fact, marks, summary.parts[part])
        match = Match(summary, part, [part] if hits[part] >= total else window, words, predicate, ordered)
        findings.append((match.covered, outcome(fact, marks, match)))
        if findings[-1][1].outcome in SURVIVING and match.covered == total:
            return _allowed_too(fact, words, marks, summary, [at for at in best if at != part], predicate) or findings[-1][1]
    kept = [item for item in findings if item[1].outcome in SURVIVING]
    turned = [item for item in findings if item[1].outcome == "inverted"]
    if kept and (not turned or max(c for c, _ in kept) >= max(c for c, _ in turned)):
        return max(kept, key=lambda item: item[0])[1]
    worst = min(findings, key=lambda item: (_WORST[item[1].outcome], -item[0]))[1]
    told = spread(fact, words, marks, summary) if not turned else None
    return told or worst


def _ordered(fact: Fact, marks: list[str], part: Part) -> bool:
    """Do *before* and *after* tell one from the other? Not where `only after` is told as `not before`."""
    return "%exc" not in marks and not (fact.quantifier == part.quantifier == "only" and part.excepted)


def _allowed_too(
    fact: Fact, words: list[Word], marks: list[str], summary: SummaryText, others: list[int], predicate: tuple[str, ...]
) -> Finding | None:
    """`Do not email customers. Update: emailing customers is fine now.`: a ban that the same summary lifts."""
    if fact.cls != "prohibition":
        return None
    for part in others:
        match = Match(summary, part, [part], words, predicate, "%exc" not in marks)
        if match.own == match.size and permitted(fact, marks, match):
            return Finding("inverted", match.start, match.end, polarity="inverted")
    return None


def _around(fact: Fact, part: int, summary: SummaryText) -> list[int]:
    """The clauses of the same sentence, with those of the sentence before where a pronoun points back to it; for what merely
    tells, in a long summary, those of the sentences next to it too.
    """
    sentence = summary.parts[part].sentence
    if fact.cls != "narrative" or len(summary.parts) <= LONG_SUMMARY_PARTS:
        if summary.parts[part].points and sentence:
            return [*summary.sentence_parts[sentence - 1], *summary.sentence_parts[sentence]]
        return summary.sentence_parts[sentence]
    return [at for near in summary.sentence_parts[max(0, sentence - 1) : sentence + 2] for at in near]


CANDIDATES = 6
"""Clauses of a summary that are compared with one statement."""

_WORST = {"verbatim": 0, "equivalent": 0, "inverted": 1, "changed": 2, "weakened": 2, "missing": 4}
