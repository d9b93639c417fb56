"""A list of which some members were left out, or to which some were added where only those were meant (rule F2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ledger.facts.comparing.reading import Item, Vocabulary, additions_of
from ledger.facts.language import lexicon as lx
from ledger.facts.language.lexicon import Language
from ledger.facts.values.units import may_be_unit

MEMBER_WORDS_MAX = 4
"""A longer stretch between two commas is a clause, and no member of a list."""


def members(words: Sequence[Item], language: Language) -> list[list[Item]]:
    """The members of the list in a sentence, each with its words of content; fewer than two where there is none."""
    words = _parted(words, language)
    joints = [at for at, item in enumerate(words) if _joins(words, at) and not _counts(words[at + 1 : at + 2], language)]
    found: list[list[Item]] = []
    for run in _runs(words, joints):
        told = [_last(words, run[0])]
        told += [[item for item in words[a + 1 : b] if item.thing] for a, b in pairwise(run)]
        told.append(_first(words, run[-1])[: 1 if language.verb_last else 2])
        kept = [member for member in told if member]
        if len(kept) == len([member for at, member in enumerate(told) if member or at in {0, len(told) - 1}]) > len(found):
            found = kept
    return found


def _parted(words: Sequence[Item], language: Language) -> Sequence[Item]:
    """The words with a joint that is the end of one as a word of its own (Korean)."""
    ending = additions_of(language).joined
    if ending is None:
        return words
    told: list[Item] = []
    for item in words:
        m = ending.search(item.word) if item.kind == "w" else None
        if m is None or not m.start():
            told.append(item)
            continue
        told.append(item._replace(word=item.word[: m.start()]))
        told.append(Item(m[0], "w", item.start + m.start(), lx.CONJ, False, False))
    return told


def _joins(words: Sequence[Item], at: int) -> bool:
    if not words[at].tags & (lx.CONJ | lx.OR) and words[at].word not in {",", "&", "\u060c"}:
        return False
    return not (at + 2 < len(words) and words[at + 1].tags & lx.VERB and not _ends(words[at + 2]))


def _ends(item: Item) -> bool:
    """Does a member of one word end before this? `caches and logs`, but not `check the caches`."""
    return item.kind == "p" or bool(item.tags & (lx.CONJ | lx.OR))


def _counts(words: Sequence[Item], language: Language) -> bool:
    """`Twenty and one`: the joint is within a number."""
    return any(item.kind == "n" or item.word in language.number_words for item in words)


def _runs(words: Sequence[Item], joints: list[int]) -> list[list[int]]:
    """Joints that follow one another with a member between them; `, and` is one joint."""
    runs: list[list[int]] = []
    for at in joints:
        if runs and at - runs[-1][-1] == 1:
            runs[-1][-1] = at
        elif runs and at - runs[-1][-1] <= MEMBER_WORDS_MAX + 1:
            runs[-1].append(at)
        else:
            runs.append([at])
    return [run for run in runs if any(words[at].word not in {",", "\u060c"} for at in run) or len(run) > 1]


def _last(words: Sequence[Item], end: int) -> list[Item]:
    for item in reversed(words[:end]):
        if item.thing:
            return [] if may_be_unit(item.word) else [item]
        if item.kind == "p" or item.tags & lx.CONJ:
            break
    return []


def _first(words: Sequence[Item], start: int) -> list[Item]:
    found: list[Item] = []
    for item in words[start + 1 :]:
        if item.kind == "p" or (found and not item.thing):
            break
        if item.thing:
            found.append(item)
    return found


def shortened(
    source: Sequence[Item], summary: Sequence[Item], everything: Vocabulary, own: Vocabulary, language: Language
) -> bool:
    """Some members of the source's list stand in this sentence, others nowhere in the summary, and nothing stands for them."""
    listed = members(source, language)
    if len(listed) < 2:
        return False
    said = Vocabulary(summary, language)
    told = [any(said.has(item) or said.part_of(item) for item in member) for member in listed]
    if not any(told) or all(told):
        return False
    gone = [member for member, here in zip(listed, told, strict=True) if not here]
    if not all(not any(everything.has(item) or everything.part_of(item) for item in member) for member in gone):
        return False
    vague = additions_of(language).vague
    return not any(item.content and item.word not in vague and not own.has(item) and not own.part_of(item) for item in summary)


def lengthened(summary: Sequence[Item], whole: Vocabulary, own: Vocabulary, language: Language) -> bool:
    """The list of this sentence has a member of the source's sentence and one that the source has nowhere."""
    listed = members(summary, language)
    known = [any(own.has(item) for item in member) for member in listed]
    return any(known) and any(
        item.kind == "w" and not any(whole.has(one) or whole.part_of(one) for one in member)
        for member, here in zip(listed, known, strict=True)
        for item in member
        if not here
    )
