"""Does a clause say the opposite of a statement, and is it sure enough to be called so? (rule F2)"""

from __future__ import annotations

from ledger.facts.comparing.alignment import Match
from ledger.facts.comparing.contraries import act_denied, unconditioned
from ledger.facts.comparing.summary import LONG_SUMMARY_PARTS, Part
from ledger.facts.language import lexicon as lx
from schemas.facts import Fact


def inverted(fact: Fact, marks: list[str], match: Match) -> bool:
    """Opposite signs; or a ban with an exception of which only the exception is left (`may start before the audit`)."""
    part = match.main
    if "%ask" in marks:
        return False
    if fact.polarity == "affirmed" and act_denied(marks, match):
        return True
    sign = -part.sign if match.turned else part.sign
    if sign != (-1 if fact.polarity == "negated" else 1):
        return True
    if fact.cls != "prohibition" or "%exc" not in marks or fact.quantifier != "only":
        return False
    required = part.quantifier == "all" and part.flags & lx.MUST
    excepted = any(p.flags & (lx.EXC | lx.UNTIL) for p in match.parts)
    limited = any(p.flags & lx.NEG or p.quantifier == "only" for p in match.parts)
    return excepted and not limited and not required


def surely_same(fact: Fact, marks: list[str], match: Match) -> bool:
    """An inversion pages somebody: it takes two thirds of the words, and more than one word unless that one settles it."""
    if match.main.question:
        return False  # what is asked is neither affirmed nor denied
    size = match.size
    if len(match.summary.parts) > LONG_SUMMARY_PARTS:
        return _surely_same_in_a_story(fact, marks, match, size)
    if "%ban" not in marks and (unconditioned(marks, match) or act_denied(marks, match)):
        return True
    if "%ban" not in marks and not match.turned and match.own * 3 < size * 2:
        return False
    if "%ban" not in marks and match.turned and match.covered * 4 < size * 3 and not 1 < match.own_words >= match.main.size - 1:
        return False
    if match.main.label or match.covered * 3 < size * 2 or (match.wrong and match.matched < 3):
        return False
    if "%ban" not in marks:
        return match.matched > (2 if fact.cls == "narrative" else 1) or (match.whole and match.named)
    if match.matched > 1:
        return True
    word = next((word for word in match.words if word.weight), None)
    polar = word is not None and any(key.lstrip("-") in lx.POLAR for key in word.keys)
    counted = match.main.quantifier and "%imp" not in marks  # `all 40 tests pass` counts things and does nothing
    return (polar or "%it" not in marks) and size == 1 and not counted


RARE_WORDS_MIN = 2
"""Rare words that a clause of a long summary has to share with a statement before it can be called its opposite."""


def _surely_same_in_a_story(fact: Fact, marks: list[str], match: Match, size: int) -> bool:
    """In a long summary the opposite has to stand in one clause with a predicate that holds nearly all words of the statement,
    several of them rare there. Only rules (bans, orders, decisions) can be turned by part of their words; a state of
    affairs may have changed since, so it takes all of its words and no mark of change.
    """
    main = match.main
    if main.label or match.wrong or main.question or not _predicates(main):
        return False
    if match.own_words < 2 or not match.rare or "%then" in marks or main.hedge:
        return False
    if "%rule" in marks and (match.covered if "%exc" in marks else match.own) == size:
        return True
    if match.own_words <= RARE_WORDS_MIN or match.rare < RARE_WORDS_MIN or match.own * 5 < size * 4:
        return False
    return "%rule" in marks or (not match.turned and match.own == size and main.size <= len(match.words) + 1)


def _predicates(part: Part) -> bool:
    return bool(part.flags & (lx.AUX | lx.PRED | lx.VERB | lx.MUST | lx.MAY | lx.NEG)) or not part.english
