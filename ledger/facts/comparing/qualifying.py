"""Words put right beside what a statement forbids or says of all, so that it holds of fewer (rule F2)."""

from __future__ import annotations

from collections.abc import Sequence

from ledger.facts.comparing.reading import FUNCTION, Item
from ledger.facts.comparing.told import TO, VERBAL, Told, excused
from ledger.facts.language import lexicon as lx


def counted(told: Told, words: Sequence[Item]) -> bool:
    """`All parcels above 10 kg`, where the source has no number."""
    return not told.numbered and any(item.kind == "n" for item in words[1:])


def inserted(told: Told, words: Sequence[Item]) -> bool:
    """A word put to those of the source, of which none is gone: `never share it publicly`; any where nouns need no head."""
    if told.reworded or told.several:
        return False
    for spot, item in enumerate(words):
        if not told.added(item) or item.kind != "w" or item.tags & (lx.PRED | lx.REPORT):
            continue
        if told.known.inserted and not excused(told, words, spot):
            return True
        if told.language.code == "en" and item.word.endswith("ly") and spot:
            behind = words[spot + 1 : spot + 2]
            if told.anchors(behind) if behind else told.anchors(words[spot - 1 : spot]):
                return True
    return False


def of_others(told: Told, words: Sequence[Item]) -> bool:
    """`Junior clerks must never open it`, where the source names nobody: what it asks of all is asked of some."""
    if told.reworded or told.several:
        return False
    subject: list[Item] = []
    for item in words:
        if item.tags & (lx.MUST | lx.MAY | lx.AUX):
            return bool(subject) and all(map(told.added, subject))
        if not item.tags & FUNCTION:
            subject.append(item)
    return False


def qualified(told: Told, words: Sequence[Item], *, strict: bool) -> bool:
    """A word put right before (in some languages behind) one of the statement: `all admin passwords`."""
    for spot, item in enumerate(words):
        if item.kind != "w" or item.tags & (lx.PRED | lx.REPORT | lx.MUST) or (item.tags & lx.VERB and not spot):
            continue
        if told.known.compounds and item.content and _compound(told, item):
            return True
        if not item.thing or told.whole.has(item) or (spot and words[spot - 1].kind == "n"):
            continue  # behind a number stands its unit
        if _before_noun(told, words, spot, strict=strict) or (told.known.after_noun and _behind_noun(told, words, spot)):
            return True
        if spot and words[spot - 1].word in told.language.weekdays:
            return True
        if not strict and spot and _participle(told, item) and words[spot - 1].content and told.own.has(words[spot - 1]):
            return True
    return False


def _compound(told: Told, item: Item) -> bool:
    """`Adminpasswort` where the source speaks of a password, and the summary of no other."""
    if told.whole.has(item) or not told.own.ends(item):
        return False
    return not any(other is not item and other.word in item.word and told.own.has(other) for other in told.summary)


def _before_noun(told: Told, words: Sequence[Item], spot: int, *, strict: bool) -> bool:
    if spot + 1 >= len(words):
        return False
    following = words[spot + 1]
    if following.kind != "w" or not following.content or not told.own.has(following):
        return False
    if _participle(told, following):
        return False  # its verb
    before = words[spot - 1] if spot else None
    if before is None:
        return told.language.verb_last and not strict
    if strict:
        return bool(before.tags & lx.ALL)
    if before.tags & (lx.ALL | lx.SOME | lx.NONE) or (before.content and told.own.has(before)):
        return True
    return bool(before.tags & lx.STOP) and not before.tags & VERBAL and before.word not in TO


_PARTICIPLE = ("ed", "ing", "tten", "wn")
"""Ends of a word that behind a noun says which one is meant, and before its object is a verb."""


def _participle(told: Told, item: Item) -> bool:
    return told.language.code == "en" and item.word.endswith(_PARTICIPLE)


def _behind_noun(told: Told, words: Sequence[Item], spot: int) -> bool:
    if spot < 2 or (spot + 1 < len(words) and words[spot + 1].content):
        return False
    before = words[spot - 1]
    return before.content and before.kind == "w" and not before.tags & lx.VERB and told.own.has(before)
