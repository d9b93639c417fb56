"""What *only* stands before: `only Kim may read it` confines who, `Kim may only read it` confines what (rule F2)."""

from __future__ import annotations

from collections.abc import Sequence

from ledger.facts.comparing.reading import Item, Vocabulary
from ledger.facts.language.lexicon import AUX, MAY, MUST, ONLY, Language


def only_moved(source: Sequence[Item], summary: Sequence[Item], language: Language) -> bool:
    """Was *only* said of who acts, and is it told of what that one does?"""
    if not (source and source[0].tags & ONLY):
        return False
    bound = next((at for at, item in enumerate(source) if item.tags & (MAY | MUST | AUX)), 0)
    who = [item for item in source[1:bound] if item.content]
    rest = [item for item in source[bound + 1 :] if item.content]
    if not who or not rest:
        return False
    actor, acts = Vocabulary(who, language), Vocabulary(rest, language)
    for at, item in enumerate(summary):
        if item.tags & ONLY and not any(actor.has(other) for other in summary[at:] if other.content):
            behind = next((other for other in summary[at + 1 :] if other.content), None)
            named = [where for where, other in enumerate(summary[:at]) if other.content and actor.has(other)]
            if behind is not None and acts.has(behind) and named and not _of_whom(summary, at, named[-1], language):
                return True
    return False


def _of_whom(summary: Sequence[Item], at: int, named: int, language: Language) -> bool:
    """`Kim only may read it`: English says it of Kim."""
    verbal = summary[at + 1].tags & (MAY | MUST | AUX) if at + 1 < len(summary) else 0
    return language.code == "en" and at - named == 1 and bool(verbal)
