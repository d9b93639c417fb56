"""Restatements that say less than the statement did: freer, surer, or with a part of it left out (rule F2)."""

from __future__ import annotations

import re

from ledger.facts.comparing.alignment import Match, act_of, opposite_of, within_bound
from ledger.facts.comparing.summary import LONG_SUMMARY_PARTS, Part
from ledger.facts.language import lexicon as lx
from ledger.facts.model import alternatives
from schemas.facts import Fact

_ASKING_YOU = re.compile(r"\W{0,3}(?:(?:can|could|would|will) you|please|pls)\b", re.ASCII)


def questioned(fact: Fact, marks: list[str], match: Match) -> bool:
    """`Cancel it` told as `should we cancel it?`: what was laid down is open again; `can you cancel it?` asks for it."""
    if "%ask" in marks or fact.cls == "narrative":
        return False
    return match.main.question and not _ASKING_YOU.match(match.summary.folded, match.main.start)


def unhedged(marks: list[str], match: Match) -> bool:
    """`She may join` told as `she joins`; `at most 12 may enter` sets a bound, which is kept by itself."""
    main = match.main
    return (
        "%maybe" in marks
        and not within_bound(match)
        and not (main.flags & (lx.MAY | lx.HEDGE | lx.PERMIT | lx.SOFT) or main.hedge)
    )


def condition_dropped(marks: list[str], match: Match) -> bool:
    """`If the courier is late, call the depot` told as `call the depot`: none of the condition's words stand near."""
    condition = [alternatives(mark[4:]) for mark in marks if mark.startswith("%if=")]
    if not condition:
        return False
    beside = match.summary.sentence_parts[max(0, match.main.sentence - 1) : match.main.sentence + 2]
    near = [match.summary.parts[at] for parts in beside for at in parts]
    return not any(key in part.keys or opposite_of(key) in part.keys for part in near for word in condition for key in word)


def left_out(match: Match) -> bool:
    """A member of a list of which no word stands anywhere in the summary, though all other members do."""
    members: dict[int, list[bool]] = {}
    for word in match.words:
        if word.weight:
            told = any(key.lstrip("-") in match.summary.by_key for key in word.keys)
            members.setdefault(word.segment, []).append(told)
    missing = [told for told in members.values() if not any(told)]
    return len(members) >= LIST_MEMBERS_MIN and len(missing) == 1


LIST_MEMBERS_MIN = 3
"""From so many members on it is a list, and not two words for one thing."""


def other_act(marks: list[str], parts: list[Part]) -> bool:
    """`Scrub the logs before sharing them` told as `the logs can be shared`: an order gave way to leave for something else."""
    act = act_of(marks)
    if not act or "%may" in marks or any(key in part.keys or opposite_of(key) in part.keys for part in parts for key in act):
        return False
    bound = any(part.flags & lx.MUST or part.negated or part.quantifier == "only" for part in parts)
    return not bound and any(part.flags & (lx.PERMIT | lx.MAY) for part in parts)


def none_of_all(match: Match) -> bool:
    """`Some sensors send no data` told as `no sensor sends data`: the clause begins with none, and names no part."""
    main = match.main
    if not main.flags & lx.NONE or any(part.flags & (lx.SOME | lx.MOST) for part in match.parts):
        return False
    if len(match.summary.parts) > LONG_SUMMARY_PARTS:
        return False
    singles = match.summary.language.tags.single
    first = match.summary.folded[main.start : main.end].replace("'", " ").split()[:NONE_AMONG_FIRST]
    return any(singles.get(word, 0) & lx.NONE for word in first)


NONE_AMONG_FIRST = 2
"""Words within which a clause that denies something of all says so."""


def optional(marks: list[str], match: Match) -> bool:
    """An order or demand told as what may be done; `may only go to` still limits."""
    main, parts = match.main, match.parts
    if (
        "%imp" not in marks
        or ("%ban" in marks and within_bound(match))
        or _capped(match)
        or {"%exc", "%may"} & set(marks)
        or any(p.negated or p.quantifier == "only" for p in parts)
    ):
        return False
    if any(p.flags & lx.MUST for p in parts):
        return False
    return all(p.flags & lx.MAY for p in parts) or bool(main.flags & lx.PERMIT)


def _capped(match: Match) -> bool:
    """`Use at most 3 workers` told as `at most 3 workers may be used`: what is ordered is the bound, and it is kept."""
    return any(word.text[1:2] == "<" and word.text in match.main.keys for word in match.words)


def loosened(fact: Fact, marks: list[str], match: Match, story: bool) -> bool:
    """Told with an exception that the source does not make: `usually`, `if possible`, `try to`."""
    if fact.hedge or "%soft" in marks or match.main.label:
        return False
    if match.main.flags & (lx.SOFT | lx.MOST):
        return not story or "%rule" in marks
    return "%rule" in marks and not story and bool(match.main.flags & lx.HEDGE)
