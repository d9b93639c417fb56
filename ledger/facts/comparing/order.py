"""Steps of a text that another one tells in the opposite order (rule F2): *first drain, then restart* and the other way round.

Each step survives by itself, so the order is looked at apart. It is told by words (`data/order.toml`), by numbers before the
steps, and in a summary that uses neither by the order of its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from ledger.facts.comparing.reading import Item, Vocabulary, items
from ledger.facts.language.fold import WORD, fold
from ledger.facts.language.lexicon import LANGUAGES, NEG, NONE, Language
from ledger.facts.language.tables import ByLanguage

STEPS_MAX = 24
"""A text that tells more steps than this is not looked at: it is a story, and no procedure."""


class _Order:
    """The words of one language, as one pattern each."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.first, self.then, self.before, self.after = (_any(data[name]) for name in ("first", "then", "before", "after"))
        self.told = _any(" ".join(text for name, text in data.items() if name != "and"))
        self.cut = re.compile(rf"[,;.!?\n]+(?=\s|$)|\s(?:{'|'.join(data['and'].split())})\s", re.ASCII)


def _any(words: str) -> re.Pattern[str]:
    names = sorted((re.escape(word.replace("_", " ")) for word in fold(words).split()), key=lambda name: (-len(name), name))
    return re.compile(f"(?<![{WORD}'-])(?:{'|'.join(names)})(?![{WORD}-])", re.ASCII)


ORDERS = ByLanguage("order", lambda _, data: _Order(data))

_NUMBER = re.compile(r"(?:^|(?<=[\s(:;]))(?:step\s+|schritt\s+|etape\s+|paso\s+)?\(?(\d{1,2})[.):](?=\s)", re.ASCII)

_SENTENCE = re.compile(r"(?<=[^0-9][.!?;])\s|\n", re.ASCII)
"""A number before a step ends none."""


class Step(NamedTuple):
    """The words of one step, those with content, and whether a word says that it is the first or a later one."""

    words: Vocabulary
    things: tuple[Item, ...]
    first: bool
    then: bool


Pair = tuple[int, int]


class Steps(NamedTuple):
    """The steps of a text, and pairs of them by index of which it says that one comes before the other."""

    steps: tuple[Step, ...]
    pairs: tuple[Pair, ...]


_NOTHING = Steps((), ())


@lru_cache(maxsize=8)
def steps_of(folded: str, code: str) -> Steps:
    """What a folded text says of an order; nothing where it says none."""
    known = ORDERS.get(code)
    if known is None or not (known.told.search(folded) or _NUMBER.search(folded)):
        return _NOTHING
    return _read(folded, code)


@lru_cache(maxsize=8)
def _read(folded: str, code: str) -> Steps:
    """The steps of a text whether or not it tells an order, and the pairs that it tells; nothing of a long one."""
    known, language = ORDERS[code], LANGUAGES[code]
    steps: list[Step] = []
    pairs: list[Pair] = []
    numbers: list[Pair] = []
    for part in _SENTENCE.split(folded):
        _sentence(part, known, language, steps, pairs, numbers)
        if len(steps) > STEPS_MAX:
            return _NOTHING
    numbered = sorted(numbers)
    pairs += [(one, other) for (_, one), (_, other) in pairwise(numbered)]
    pairs += [
        (at, at + 1)
        for at, (one, other) in enumerate(pairwise(steps))
        if other.then or (one.first and not other.first and not any(at + 1 in pair for pair in pairs))
    ]
    return Steps(tuple(steps), tuple(dict.fromkeys(pairs)))


def _sentence(
    part: str,
    known: _Order,
    language: Language,
    steps: list[Step],
    pairs: list[Pair],
    numbers: list[Pair],
) -> None:
    """Take the steps of one sentence, and what it says of them with `before` and `after`."""
    begin, fronted, denied = len(steps), "", False
    for text, link, number in _clauses(part, known):
        words = items(text, language)
        things = tuple(item for item in words if item.content and item.kind == "w" and language.keys(item.word)[0][:1] != "#")
        if not things:
            continue
        at = len(steps)
        steps.append(Step(Vocabulary(words, language), things, bool(known.first.search(text)), bool(known.then.search(text))))
        if number:
            numbers.append((number, at))
        if link and at > begin and not fronted:
            pairs += _linked(at - 1, at, link, denied=denied)
        elif fronted:
            pairs += _linked(at, at - 1, fronted, denied=_denies(words, language))
        fronted = link if at == begin else ""
        denied = _denies(words, language)


def _denies(words: Sequence[Item], language: Language) -> bool:
    """Does a clause deny something? Two denials (`do not forget to`) make none, where the language counts them so."""
    count = sum(bool(item.tags & (NEG | NONE)) for item in words)
    return count > 0 if language.double_negation else count % 2 == 1


def _linked(one: int, other: int, link: str, *, denied: bool) -> list[Pair]:
    """`one before other`, or `one after other`. What is not done before something may be done behind it."""
    if denied:
        return [(other, one)] if link == "before" else []
    return [(one, other)] if link == "before" else [(other, one)]


def _clauses(part: str, known: _Order) -> list[tuple[str, str, int]]:
    """The clauses of a sentence, each with the link before it (`before`, `after` or none) and its number, 0 without one."""
    cuts = {(m.start(), m.end(), "", 0) for m in known.cut.finditer(part)}
    cuts |= {(m.start(), m.end(), "", int(m[1])) for m in _NUMBER.finditer(part)}
    cuts |= {(m.start(), m.end(), "before", 0) for m in known.before.finditer(part)}
    cuts |= {(m.start(), m.end(), "after", 0) for m in known.after.finditer(part)}
    found: list[tuple[str, str, int]] = []
    end, link, number = 0, "", 0
    for start, stop, next_link, next_number in sorted(cuts):
        if start < end:
            continue
        if part[end:start].strip():
            found.append((part[end:start], link, number))
            link, number = "", 0
        end, link, number = stop, next_link or link, next_number or number
    if part[end:].strip():
        found.append((part[end:], link, number))
    return found


def order_turned(source: str, summary: str, fact: str, language: Language) -> bool:
    """Does the summary tell the step of a fact, or one beside it, in the opposite order? All folded."""
    told = steps_of(source, language.code)
    if not told.pairs:
        return False
    mine = Vocabulary(items(fact, language), language)
    again = _read(summary, language.code)
    for one, other in told.pairs:
        first, second = told.steps[one], told.steps[other]
        if not (_is(first, mine) or _is(second, mine)):
            continue
        here, there = _find(first, second, again.steps), _find(second, first, again.steps)
        if here is None or there is None or here == there:
            continue
        if (here, there) in again.pairs:
            continue
        if (there, here) in again.pairs or _told_before(there, here, again):
            return True
    return False


def _told_before(one: int, other: int, again: Steps) -> bool:
    """Does the one step simply stand before the other, and no word says that it comes later?"""
    if any(one in pair or other in pair for pair in again.pairs) and not _chained(one, other, again.pairs):
        return False
    return one < other and not again.steps[other].first and not again.steps[one].then


def _chained(one: int, other: int, pairs: Sequence[Pair]) -> bool:
    """Is the one before the other by way of steps between them?"""
    reached, more = {one}, True
    while more:
        further = {last for first, last in pairs if first in reached} - reached
        reached |= further
        more = bool(further)
    return other in reached


def _is(step: Step, words: Vocabulary) -> bool:
    return any(words.has(item) for item in step.things)


def _find(step: Step, other: Step, among: Sequence[Step]) -> int | None:
    """The step of another text that has most words of this one, at least half of them, and more of them than of the other."""
    best, most = None, 0
    for at, found in enumerate(among):
        shared = sum(found.words.has(item) for item in step.things)
        if shared * 2 >= len(step.things) and shared > most and shared > sum(found.words.has(item) for item in other.things):
            best, most = at, shared
    return best
