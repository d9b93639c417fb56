"""A statement and the clause it is aligned with, compared in polarity, quantifier, order and obligation (rule F2)."""

from __future__ import annotations

import re
from typing import Literal

from ledger.facts.comparing.alignment import LONG_WORDS, Match
from ledger.facts.comparing.contraries import (
    asked_first,
    confined,
    consent_waived,
    decided_otherwise,
    demanded,
    due_then,
    exception_dropped,
    opened,
    permitted,
    revoked,
    unbounded,
    widened,
)
from ledger.facts.comparing.inversion import inverted, surely_same
from ledger.facts.comparing.loosening import (
    condition_dropped,
    left_out,
    loosened,
    none_of_all,
    optional,
    other_act,
    questioned,
    unhedged,
)
from ledger.facts.comparing.summary import LONG_SUMMARY_PARTS
from ledger.facts.findings import MISSING, Finding
from ledger.facts.language import lexicon as lx
from schemas.facts import Fact

Kept = Literal["kept", "stripped", "n/a"]


def outcome(fact: Fact, marks: list[str], match: Match) -> Finding:
    """How the statement fared in the clause. First what takes a statement back as a whole, whatever its words; then whether the
    clause speaks of the same thing; then its sign, its quantifier, and what was left out or loosened.
    """
    story = len(match.summary.parts) > LONG_SUMMARY_PARTS
    found = _taken_back(fact, marks, match, story)
    if found is not None:
        return found
    if not match.enough():
        half = match.covered * 2 >= match.size and match.covered >= 2
        return Finding("changed", match.start, match.end) if half and fact.cls != "narrative" else MISSING
    hedge: Kept = "n/a"
    if fact.hedge:
        hedge = "kept" if any(p.hedge or p.flags & (lx.HEDGE | lx.MAY) for p in match.parts) else "stripped"
    if inverted(fact, marks, match):
        return _inversion(fact, marks, match, hedge)
    return _restatement(fact, marks, match, hedge, story)


def _taken_back(fact: Fact, marks: list[str], match: Match, story: bool) -> Finding | None:
    start, end = match.start, match.end
    order = asked_first(fact, marks, match)
    if order == "waived":
        return Finding("inverted", start, end, polarity="inverted")
    if order:
        kept = order == "before"
        return Finding("equivalent" if kept else "changed", match.main.start, end, "kept" if kept else "n/a", "kept")
    if exception_dropped(fact, marks, match) or permitted(fact, marks, match) or revoked(marks, match):
        return Finding("inverted", start, end, polarity="inverted")
    if not story and (opened(fact, marks, match) or unbounded(match) or consent_waived(marks, match)):
        return Finding("inverted", start, end, polarity="inverted")
    if not story and decided_otherwise(fact, match):
        return Finding("inverted", start, end, polarity="inverted")
    if not story and widened(fact, marks, match):
        return Finding("changed", start, end, quantifier="changed")
    if due_then(fact, marks, match):
        return Finding("equivalent", match.start, end)
    if confined(fact, match):
        return Finding("equivalent", match.main.start, end, "kept" if fact.cls == "prohibition" else "n/a", "kept")
    return None


def _inversion(fact: Fact, marks: list[str], match: Match, hedge: Kept) -> Finding:
    if match.acts and surely_same(fact, marks, match):
        return Finding("inverted", match.start, match.end, polarity="inverted", hedge=hedge)
    near = fact.cls != "narrative" and match.own * 3 >= match.size * 2 and match.own_words > 1
    return Finding("changed", match.start, match.end, hedge=hedge) if near and not match.main.label else MISSING


def _restatement(fact: Fact, marks: list[str], match: Match, hedge: Kept, story: bool) -> Finding:
    start, end, parts = match.start, match.end, match.parts
    polarity: Literal["kept", "n/a"] = "kept" if fact.cls == "prohibition" else "n/a"
    quantifier = _quantifier(fact, match, marks)
    if quantifier == "changed":
        return Finding("changed", start, end, "n/a" if "%exc" in marks else polarity, quantifier, hedge)
    if quantifier == "kept" and "%not" in marks:
        quantifier = "n/a"
    word_for_word = match.whole and len(match.words) >= LONG_WORDS and match.summary.holds(fact.value, start, end)
    surer = hedge == "stripped" and (fact.cls != "narrative" or not (story or "%ask" in marks))
    if (match.wrong and not word_for_word) or not match.acts or surer:
        return Finding("changed", start, end, polarity, quantifier, hedge)
    if "%todo" in marks and not any(p.negated or p.flags & lx.MUST or _TO_DO & p.keys for p in parts):
        if story:
            return Finding("changed", start, end, polarity, quantifier, hedge)
        return Finding("inverted", start, end, polarity="inverted", hedge=hedge)
    if "%ask" in marks and not any(p.question or p.flags & (lx.ASK | lx.HEDGE | lx.QUESTION) for p in parts):
        return Finding("changed", start, end, hedge="stripped")
    if not story and (unhedged(marks, match) or condition_dropped(marks, match)):
        return Finding("changed", start, end, polarity, quantifier, "stripped")
    if not story and (questioned(fact, marks, match) or other_act(marks, parts) or left_out(match)):
        return Finding("changed", start, end, polarity, quantifier, hedge)
    if optional(marks, match) or loosened(fact, marks, match, story):
        return Finding("weakened", start, end, polarity, quantifier, hedge)
    verbatim = word_for_word or (match.whole and match.summary.holds(fact.value, start, end))
    return Finding("verbatim" if verbatim else "equivalent", match.main.start, end, polarity, quantifier, hedge)


_TO_DO = frozenset({"-@done", "@ongoing"})


_JUST = re.compile(r"\b(?:just|merely)\b", re.ASCII)
"""`Just Ann may pay` limits as `only Ann may pay` does; by itself `just` says too much else to be read as a limit."""


def _quantifier(fact: Fact, match: Match, marks: list[str]) -> Literal["kept", "changed", "n/a"]:
    wanted, parts = fact.quantifier, match.parts
    if not wanted or (wanted == "all" and fact.polarity == "negated"):
        return "n/a"
    have = {part.quantifier for part in parts}
    if wanted in have:
        return "kept"
    if wanted == "except" and any(part.excepted or "-@include" in part.keys for part in parts):
        return "kept"
    if wanted == "all" and "%always" in marks and any(part.flags & lx.MUST for part in parts):
        return "kept"
    if wanted == "only" and "%exc" in marks and "all" in have and any(part.flags & lx.MUST for part in parts):
        return "kept"
    if wanted == "only" and "%exc" in marks and demanded(parts):
        return "kept"
    if wanted == "only" and match.main.english and _JUST.search(match.summary.folded, match.main.start, match.main.end):
        return "kept"
    if wanted == "all" and any(part.flags & lx.ALL for part in parts):
        return "kept"
    if wanted in {"some", "most"} and not have & {"all", "only"}:
        return "changed" if none_of_all(match) else "n/a"
    return "changed"
