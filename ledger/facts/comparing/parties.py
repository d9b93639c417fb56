"""Who does what, exchanged (rule F2): *what Bob deploys, Ann approves* told as *what Ann deploys is approved by Bob*.

No role is looked up: a word and the one right behind it make a couple, and so do a participle and who stands behind its `by`.
Two couples of the source that the summary tells crosswise were exchanged, in whatever order it tells them.
"""

from __future__ import annotations

import re

from ledger.facts.language import lexicon as lx
from ledger.facts.language.fold import WORD
from ledger.facts.language.lexicon import Language

COUPLES_MAX = 40
"""Couples of a sentence; one with more is no plain sentence, and is not looked at."""

_TOKEN = re.compile(f"[{WORD}]+(?:[-'.][{WORD}]+)*|[^\\s{WORD}]", re.ASCII)
_AGENT = {"en": "by", "fr": "par", "es": "por", "pt": "por", "it": "da", "de": "von", "nl": "door", "sv": "av"}
_PASSED = lx.AUX | lx.MAY | lx.MUST
"""Words between who acts and what that one does."""

_BREAKS = lx.STOP | lx.PRON | lx.CONJ | lx.OR | lx.NEG | lx.SUB | lx.REASON | lx.ONLY | lx.ALL | lx.SOME | lx.UNTIL | lx.EXC

Couple = tuple[str, str]


def couples(folded: str, language: Language) -> set[Couple]:
    """Who or what with the word said of it, as stems."""
    found: set[Couple] = set()
    by, held, agent = _AGENT.get(language.code), "", False
    for match in _TOKEN.finditer(folded):
        word = match[0]
        tags = language.tags.single.get(word, 0)
        if word == by and held:
            agent = True
        elif tags & _PASSED or (agent and tags & lx.STOP):
            continue
        elif tags & _BREAKS or len(word) < 2:
            held, agent = "", False
        else:
            stem = language.stem(word)
            if held:
                found.add((stem, held) if agent else (held, stem))
            held, agent = stem, False
    return found


def exchanged(source: str, summary: str, language: Language) -> bool:
    """Does the summary couple two pairs of words of the source crosswise, and neither as the source does? Both are folded."""
    if language.no_spaces or source in summary:
        return False
    told = couples(source, language)
    if not 2 <= len(told) <= COUPLES_MAX:
        return False
    restated = couples(summary, language)
    ordered = sorted(told - restated)
    return any(
        (other, act) in restated and (actor, deed) in restated
        for at, (actor, act) in enumerate(ordered)
        for other, deed in ordered[at + 1 :]
        if actor != other and act != deed and (other, act) not in told and (actor, deed) not in told
    )
