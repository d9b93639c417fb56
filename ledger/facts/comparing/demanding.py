"""What is demanded, told as what may not be without it (rule F2): *every merge requires a review* as *no merge without
a review*, *ask Olga before you delete* as *delete nothing without asking Olga*.
"""

from __future__ import annotations

import re

from ledger.facts.comparing.alignment import Match, Word
from ledger.facts.language import lexicon as lx
from ledger.facts.language.fold import WORD
from schemas.facts import Fact

_WORDS = re.compile(f"[{WORD}'-]+", re.ASCII)
_DEMANDS = frozenset({"@require", "@mandatory", "@needed"})


def forbidden_without(fact: Fact, match: Match) -> bool:
    """Does the clause forbid what the statement makes depend on something, without just that thing?"""
    main = match.main
    if fact.polarity == "negated" or fact.cls != "instruction" or main.question or main.label or main.hedge:
        return False
    if main.sign < 0 or not main.excepted or main.quantifier != "only" or not (main.flags & lx.EXC and main.flags & lx.NEG):
        return False
    behind = _behind(match)
    told = [word for word in match.words if not word.text]
    later = [key.lstrip("-")[1:] for word in told if not word.weight for key in word.keys if key[:1] == "<"]
    if later:
        depends = [word for word in told if word.weight and not set(later).isdisjoint(word.keys)]
        needed = [word for word in told if word.weight and word not in depends]
    else:
        at = next((at for at, word in enumerate(told) if not _DEMANDS.isdisjoint(word.keys)), 0)
        depends, needed = told[:at], told[at + 1 :]
    return _stand(depends, main.keys - behind) and _stand(needed, behind)


def _behind(match: Match) -> frozenset[str]:
    """The keys of the words behind the first `without` of the clause."""
    language = match.summary.language
    words = _WORDS.findall(match.summary.folded[match.main.start : match.main.end])
    at = next((at for at, word in enumerate(words) if language.tags.single.get(word, 0) & lx.EXC), len(words))
    return frozenset(key for word in words[at + 1 :] for key in language.keys(word))


def _stand(words: list[Word], keys: frozenset[str]) -> bool:
    """Do all the names among the words stand there, and half of the words at least?"""
    held = [word for word in words if not keys.isdisjoint(key.lstrip("^") for key in word.keys)]
    return 0 < len(words) <= len(held) * 2 and all(word in held for word in words if word.hard)
