"""A statement that a restatement confines to a case, a time, a place or a group that its source does not speak of (rule F2).

`Never delete data` told as `in staging, never delete data`, as `if Marta agrees, ...` or as `never delete test data` holds all
words of the statement and says less. So the words that the restatement adds are looked at in its whole sentence: a group of
them behind a word for a case (`in`, `during`, `if`), before a colon, or right before what is forbidden or said of all narrows
the statement. What the source says anywhere, a reason, a clause of its own, and words that narrow nothing do not.
"""

from __future__ import annotations

from collections.abc import Sequence

from ledger.facts.comparing.qualifying import counted, inserted, of_others, qualified
from ledger.facts.comparing.reading import FUNCTION, Item, Piece
from ledger.facts.comparing.told import TO, VERBAL, Told
from ledger.facts.language import lexicon as lx
from ledger.facts.language.fold import DIGITS

LABEL_WORDS_MAX = 5
"""Words before a colon that are a label."""


def narrowed_to(told: Told, *, ban: bool, universal: bool, rule: bool) -> bool:
    """Is the statement confined in this sentence? `ban`: it forbids; `universal`: it is said of all; `rule`: it lays down."""
    if conditioned(told, rule=rule):
        return True
    if not (ban or universal or rule):
        return False
    heads = told.known.heads | (told.known.ban_heads | told.known.relative if ban or universal else frozenset())
    for at, piece in enumerate(told.pieces):
        if _labelled(told, at, piece) or _cased(told, at, piece, heads):
            return True
        if not told.anchored(at):
            continue
        if (ban or universal) and counted(told, piece.items):
            return True
        if ban and not universal and (inserted(told, piece.items) or of_others(told, piece.items)):
            return True
        if (
            not told.reworded
            and not (told.language.verb_last and told.several)
            and qualified(told, piece.items, strict=not (ban or universal))
        ):
            return True
    return False


def conditioned(told: Told, *, rule: bool) -> bool:
    """A condition was put before or behind the statement, or the statement itself is told as a condition of something else."""
    had = told.condition_at(told.source, rule=True) >= 0
    for at, piece in enumerate(told.pieces):
        start = told.condition_at(piece.items, rule=rule)
        if start < 0 or (start and not told.anchored(at)):
            continue
        rest = [item for item in piece.items[start + 1 :] if item.content]
        added = [told.added(item) for item in rest]
        beside = told.anchored(at - 1) or told.anchored(at + 1) or told.anchors(piece.items[:start])
        if added and beside and (all(added) if had else any(added)):
            return True
        if had or not rest or not told.anchored(at):
            continue
        main = [piece.items[:start], *(p.items for p in told.pieces[:at]), *(p.items for p in told.pieces[at + 1 :])]
        if not any(map(told.anchors, main)):
            return True
    return not had and _turned_round(told)


def _turned_round(told: Told) -> bool:
    """`Should Marta agree, deploy it`, `had we time: deploy it`: a condition without a word for it."""
    if told.language.code != "en" or len(told.pieces) < 2:
        return False
    first = told.pieces[0]
    head = first.items[0].word in _INVERTED and first.after in {",", ":"}
    return head and told.anchored(1) and not any(item.word == first.items[0].word for item in told.source)


_INVERTED = frozenset({"should", "had", "were"})


def _labelled(told: Told, at: int, piece: Piece) -> bool:
    """`Interns: do not restart it`: whom or what the statement is for. A word with a digit (`block-12:`) is its number."""
    if piece.after != ":" or len(piece.items) > LABEL_WORDS_MAX or not told.anchored(at + 1):
        return False
    if any(item.word in told.known.labels or item.word in told.known.neutral for item in piece.items):
        return False
    label = _things(piece.items)
    return bool(label) and all(told.added(item) and item.kind == "w" and DIGITS.isdisjoint(item.word) for item in label)


def _cased(told: Told, at: int, piece: Piece, heads: frozenset[str]) -> bool:
    """A group of added words behind a word for a case, in a piece of the statement or in one that belongs to it."""
    words = piece.items
    first = next((spot for spot, item in enumerate(words) if not item.tags & lx.CONJ), len(words))
    if first == len(words) or words[first].tags & lx.REASON:
        return False
    mine = told.anchored(at)
    if not mine:
        begins = (
            words[first].word in heads or any(_day(told, item) for item in words[first : first + 2]) or _tailed(told, words)
        )
        beside = (told.anchored(at + 1) and told.pieces[at + 1].part == piece.part) or piece.after == ":"
        behind = told.anchored(at - 1) and told.pieces[at - 1].part == piece.part and not first
        if not begins or not ((beside and told.anchored(at + 1)) or behind):
            return False
    return any(
        (item.word in heads and _leads(told, words, spot, mine=mine)) or _day(told, item) or _tail_at(told, words, spot)
        for spot, item in enumerate(words)
    )


def _leads(told: Told, words: Sequence[Item], spot: int, *, mine: bool) -> bool:
    """Does the word at `spot` lead to a group of added words, and to no verb?"""
    behind = words[spot + 1 :]
    if not _group_added(told, behind):
        return False
    if words[spot].word in told.known.relative:
        return bool(spot) and mine and not any(map(told.whole.has, _things(behind)))
    return words[spot].word not in TO or not behind[0].tags & (lx.VERB | lx.PRED)


def _things(words: Sequence[Item]) -> list[Item]:
    return [item for item in words if item.content]


def _day(told: Told, item: Item) -> bool:
    """A weekday, where the source has no day at all, or a time of the day or week that it does not have."""
    if item.word in told.known.moments:
        return not told.whole.has(item)
    return item.kind == "w" and item.word in told.language.weekdays and not told.whole.valued


def _group_added(told: Told, words: Sequence[Item]) -> bool:
    """Is the group of words behind a head, up to the next word without content, an added one? Its first word tells it, since a
    verb may follow, but all do where the source was put in other words. A word that narrows nothing excuses it.
    """
    group: list[Item] = []
    for item in words:
        if item.content:
            group.append(item)
        elif not item.tags & FUNCTION and (item.word in told.known.neutral or (item.word in told.known.speakers and not group)):
            return False
        elif group or item.tags & (VERBAL & ~lx.PRON) or item.word in told.known.heads:
            break
    if told.reworded:
        return bool(group) and all(map(told.added, group))
    return bool(group) and told.added(group[0])


def _tailed(told: Told, words: Sequence[Item]) -> bool:
    return any(_tail_at(told, words, spot) for spot in range(len(words)))


def _tail_at(told: Told, words: Sequence[Item], spot: int) -> bool:
    """`Test ortaminda`, `demo sirasinda`: the word for the case is an ending, or stands behind."""
    item, known = words[spot], told.known
    if not told.added(item) or any(word.word in known.neutral for word in words[max(0, spot - 1) : spot + 2]):
        return False
    if known.endings is not None and known.endings.search(item.word):
        return True
    return spot + 1 < len(words) and any(word.word in known.tails for word in words[spot + 1 : spot + 3])
