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
from ledger.facts.comparing.demanding import forbidden_without
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
from ledger.facts.comparing.summary import LONG_SUMMARY_PARTS, Part
from ledger.facts.findings import MISSING, Finding
from ledger.facts.language import lexicon as lx
from ledger.facts.language.fold import WORD
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
    if not story and forbidden_without(fact, match):
        return Finding("equivalent", match.main.start, end, "n/a", "kept" if fact.quantifier else "n/a")
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
    if (match.wrong and not word_for_word) or not match.acts or surer or _done_to_another(marks, match):
        return Finding("changed", start, end, polarity, quantifier, hedge)
    if "%todo" in marks and not any(p.negated or p.flags & lx.MUST or _TO_DO & p.keys for p in parts):
        if story:
            return Finding("changed", start, end, polarity, quantifier, hedge)
        return Finding("inverted", start, end, polarity="inverted", hedge=hedge)
    if "%ask" in marks and not any(_is_asked(part, match) for part in parts):
        return Finding("changed", start, end, hedge="stripped")
    if not story and (unhedged(marks, match) or condition_dropped(marks, match)):
        return Finding("changed", start, end, polarity, quantifier, "stripped")
    if not story and (questioned(fact, marks, match) or other_act(marks, parts) or left_out(match)):
        return Finding("changed", start, end, polarity, quantifier, hedge)
    if optional(marks, match) or loosened(fact, marks, match, story):
        return Finding("weakened", start, end, polarity, quantifier, hedge)
    verbatim = word_for_word or (match.whole and match.summary.holds(fact.value, start, end))
    return Finding("verbatim" if verbatim else "equivalent", match.main.start, end, polarity, quantifier, hedge)


def _done_to_another(marks: list[str], match: Match) -> bool:
    """`Cancel HX-1 and keep HX-2` told as `cancel HX-2; HX-1 stays`: the verb of an order, its first word, stands with another
    name than its own.
    """
    names = {key for word in match.words for key in word.keys if key[:1] == "!"}
    verb = match.words[0] if match.words else None
    if "%imp" not in marks or not names or verb is None or verb.hard:
        return False
    acting = [part for part in match.parts if not part.keys.isdisjoint(verb.keys)]
    named = [{key for key in part.keys if key[:1] == "!"} for part in acting]
    return bool(acting) and all(found and found.isdisjoint(names) for found in named)


def _is_asked(part: Part, match: Match) -> bool:
    """Is a clause told as a question, or as open? `Is it` begins a question, and within a clause `is` does not."""
    if part.question or part.flags & (lx.ASK | lx.HEDGE):
        return True
    folded, tags = match.summary.folded, match.summary.language.tags.single
    before = re.split(r"[.!?\n]", folded[max(0, part.start - ASKED_CHARS) : part.start])[-1]
    if any(tags.get(word, 0) & lx.ASK for word in _ANY_WORD.findall(before)):
        return True
    first = _ANY_WORD.search(folded, part.start, part.end)
    return first is not None and bool(tags.get(first[0], 0) & lx.QUESTION)


_ANY_WORD = re.compile(f"[{WORD}]+", re.ASCII)
ASKED_CHARS = 80
"""How far before a clause its sentence may say that it is asked: `the user asked if`."""

_TO_DO = frozenset({"-@done", "@ongoing"})


_JUST = re.compile(r"\b(?:just|merely)\b", re.ASCII)
"""`Just Ann may pay` limits as `only Ann may pay` does; by itself `just` says too much else to be read as a limit."""


def _of_a_kind(match: Match) -> bool:
    """`Every pull request must name a ticket` told as `pull requests must name a ticket`: a bare plural is of all."""
    main, folded = match.main, match.summary.folded
    if not main.english or not main.flags & lx.MUST or main.flags & (lx.MAY | lx.PRON):
        return False
    words = _WORDS.findall(folded, main.start, main.end)
    subject = next((words[:at] for at, word in enumerate(words) if lx.ENGLISH.tags.single.get(word, 0) & lx.MUST), [])
    return 0 < len(subject) <= SUBJECT_WORDS_MAX and subject[0] not in _SINGLED and _PLURAL.search(subject[-1]) is not None


SUBJECT_WORDS_MAX = 3
_WORDS = re.compile(r"[a-z'-]+", re.ASCII)
_PLURAL = re.compile(r"[a-z]{2}(?<![su])s$", re.ASCII)
_SINGLED = frozenset("the a an this that these those one my our your his her its their no".split())
"""What begins with one of these is about those that are pointed at."""


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
    if wanted == "all" and fact.cls == "instruction" and not have & {"some", "most", "only"} and _of_a_kind(match):
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
