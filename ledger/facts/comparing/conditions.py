"""Conditions told of each where the source speaks of any, or the other way round; and two ends told as a range (rule F2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ledger.facts.comparing.reading import Additions, Item, Vocabulary, additions_of
from ledger.facts.language import lexicon as lx
from ledger.facts.language.lexicon import Language

DETERMINED_WORDS = 4
"""So near behind `any` or `all` stands what they are said of."""


def other_number(source: Sequence[Item], summary: Sequence[Item], language: Language) -> bool:
    """`If any check fails` told as `if all checks fail`, or back, of the same thing in a condition of both."""
    known = additions_of(language)
    one, other = _determined(source, known, language), _determined(summary, known, language)
    for each, nouns in one:
        held = Vocabulary(nouns, language)
        same = [there for there, others in other if any(held.has(item) for item in others)]
        if same and each not in same:
            return True
    return False


def _opens(item: Item, known: Additions, language: Language) -> bool:
    """Does a condition begin with this word?"""
    if (
        item.word in known.conditions
        or item.word in known.occasions
        or item.word in language.after
        or item.word in language.before
    ):
        return True
    return bool(item.tags & (lx.UNTIL | lx.EXC))


def _determined(words: Sequence[Item], known: Additions, language: Language) -> list[tuple[bool, list[Item]]]:
    """What is said of each (true) or of any (false), within the condition."""
    found: list[tuple[bool, list[Item]]] = []
    within = False
    for at, item in enumerate(words):
        if _opens(item, known, language):
            within = True
        elif item.kind == "p" and item.word in ",;":
            within = False
        each = item.word in known.all_of
        if not within or not (each or item.word in known.any_of):
            continue
        nouns = [word for word in words[at + 1 : at + 1 + DETERMINED_WORDS] if word.content and word.kind == "w"]
        if nouns:
            found.append((each, nouns[:2]))
    return found


def range_told_as_two(source: Sequence[Item], summary: Sequence[Item], language: Language) -> bool:
    """`3.9 to 3.11` told as `3.9 and 3.11`, or back: what lies between is lost, or won."""
    spans, pairs = _joined(source, language)
    spans2, pairs2 = _joined(summary, language)
    return bool((spans & pairs2 - spans2) | (pairs & spans2 - pairs2))


def _joined(words: Sequence[Item], language: Language) -> tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]:
    """Two numbers that are the ends of a range, and two that stand for themselves."""
    known = additions_of(language)
    spans: set[tuple[str, str]] = set()
    pairs: set[tuple[str, str]] = set()
    for item in words:
        ends = tuple(item.word.split("-")) if item.kind == "n" else ()
        if len(ends) == 2 and all(ends):
            spans.add((ends[0], ends[1]))
    numbers = [at for at, item in enumerate(words) if item.kind == "n"]
    for at, following in pairwise(numbers):
        joint = [item for item in words[at + 1 : following] if item.word != "v"]
        if len(joint) > 2:
            continue
        told = (words[at].word, words[following].word)
        both = any(item.tags & (lx.CONJ | lx.OR) or item.word in {",", "&", "/"} for item in joint)
        between = any(item.word in known.between for item in words[max(0, at - 2) : at])
        if both and not between:
            pairs.add(told)
        elif (both and between) or any(item.word in language.to or item.word == "-" for item in joint):
            spans.add(told)
    return frozenset(spans), frozenset(pairs)
