"""Does a later sentence of the user take a statement back, or give another figure for it?"""

from __future__ import annotations

import msgspec

SHARED_WORDS_MIN = 2

TAKINGS_MAX = 500
"""So many later sentences that take back or give figures are compared with a statement."""


class Taking(msgspec.Struct, frozen=True):
    """A sentence of a user that takes something back, or gives a figure: its content words and its numbers."""

    words: frozenset[str]
    figures: frozenset[str]
    off: bool
    lifts: bool = False
    """It speaks of what was said before and takes that back."""
    permits: bool = False
    bans: bool = False
    """It forbids something itself, so that it takes no other ban back."""
    bounds: bool = False
    """An order or a bound: its figures are meant to hold, and not only what was seen."""


def takes_back(taking: Taking, words: frozenset[str], figures: frozenset[str]) -> bool:
    """For words that were said once: enough of the later sentence is about them."""
    shared = len(words & taking.words)
    if shared < SHARED_WORDS_MIN:
        return False
    return (taking.off and shared * 5 >= len(taking.words) * 2) or _other_figure(taking, words, figures)


def lifts_standing(taking: Taking, words: frozenset[str], figures: frozenset[str], verb: str) -> bool:
    """For what holds until it is lifted: three quarters of its words with its verb come again, or half of them where the later
    sentence says that it takes back what was said.
    """
    shared = len(words & taking.words)
    if shared < min(SHARED_WORDS_MIN, len(words)) or not shared:
        return False
    if taking.lifts and shared * 2 >= len(words):
        return True
    again = shared * 4 >= len(words) * 3 and (not verb or verb in taking.words)
    return (again and (taking.off or taking.permits) and not taking.bans) or _other_figure(taking, words, figures)


def _other_figure(taking: Taking, words: frozenset[str], figures: frozenset[str]) -> bool:
    other = bool(figures) and bool(taking.figures) and figures.isdisjoint(taking.figures)
    shared = len(words & taking.words)
    return other and taking.bounds and shared >= SHARED_WORDS_MIN and shared * 4 >= max(len(taking.words), len(words)) * 3
