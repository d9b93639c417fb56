"""Sentences that share nearly all their words and say something else (rule F2).

A statement is aligned with its restatement by its content words (`ledger.facts.comparing.alignment`), and much of what turns a
sentence is not among them: `under` and `over`, `on` and `off`, which of two names stands first. So two sentences that are
nearly the same are compared word by word here. What they differ in must not be contrary words in one place, two words that
changed places, or the word that says what a ban or a limit is about. The vocabulary is `data/contrasts.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ledger.facts.comparing.differences import Change, changes
from ledger.facts.comparing.listing import members
from ledger.facts.comparing.reading import items
from ledger.facts.language import lexicon as lx
from ledger.facts.language.fold import DIGITS, WORD, fold
from ledger.facts.language.lexicon import Language
from ledger.facts.language.tables import ByLanguage
from ledger.facts.values.units import may_be_unit

WORDS_MAX = 48
"""Words of a sentence that are compared; a longer one is told by its clauses alone."""

SHARED_MIN = (1, 2)
"""Share of the statement's words that stand in both sentences in the same order, for them to be nearly the same."""


class Contrasts:
    """The vocabulary of one language. Phrases are tuples of stems."""

    def __init__(self, language: Language, data: dict[str, str]) -> None:
        self.contrary = _phrases(language, data.get("opposites", ""))
        self.before_number = _phrases(language, data.get("amount", ""))
        self.before_day = _phrases(language, data.get("day", ""))
        self.sequence = frozenset(fold(data.get("sequence", "")).split())
        self.narrows = frozenset(fold(data.get("narrows", "")).split())
        self.articles = frozenset(fold(data.get("articles", "")).split())
        self.waived = _pattern(data, "waived")
        self.withdrawn = _pattern(data, "withdrawn")
        self.afterwards = _pattern(data, "afterwards")
        self.superseded = _pattern(data, "superseded")
        self.replaced = _pattern(data, "replaced")
        self.replaces = _pattern(data, "replaces")


Phrase = tuple[str, ...]


def _phrases(language: Language, text: str) -> dict[Phrase, frozenset[Phrase]]:
    """Each phrase with those that are contrary to it."""
    found: dict[Phrase, frozenset[Phrase]] = {}
    for group in text.split():
        members = [tuple(language.stem(word) for word in fold(member).split("_")) for member in group.split("|")]
        for member in members:
            found[member] = found.get(member, frozenset()) | frozenset(other for other in members if other != member)
    return found


def _pattern(data: dict[str, str], name: str) -> re.Pattern[str] | None:
    return re.compile(data[name], re.ASCII) if name in data else None


_NONE = Contrasts(lx.UNREAD, {})
CONTRASTS = ByLanguage("contrasts", lambda code, data: Contrasts(lx.LANGUAGES[code], data))


def contrasts_of(language: Language) -> Contrasts:
    """The vocabulary of a language; an empty one where it has none."""
    return CONTRASTS.get(language.code, _NONE)


class Said(NamedTuple):
    """A sentence as words and their stems."""

    words: list[str]
    stems: list[str]


_WORD = re.compile(
    "[0-9]+(?:[.,:][0-9]+)*|[\u3041-\u309f]+|[\u30a0-\u30ff]+|[\u4e00-\u9fff]+"
    f"|(?![0-9_\u3041-\u30ff\u4e00-\u9fff])(?:(?![_\u3041-\u30ff\u4e00-\u9fff])[{WORD}])+(?:[-'](?:(?!_)[{WORD}])+)*",
    re.ASCII,
)


def said(text: str, language: Language) -> Said:
    """The words of a sentence, folded; runs of one script where words are not separated."""
    words = _WORD.findall(fold(text))[: WORDS_MAX + 1]
    return Said(words, [language.stem(word) for word in words])


def contrast(source: str, summary: str, language: Language, *, qualified: bool = True, dropped: bool = False) -> str:
    """`inverted` where a contrary stands in the place of a word, `changed` where words changed places or the one that says
    what is meant is another (looked for only if `qualified`) or, if `dropped`, is gone; empty where the two sentences differ in
    nothing of this kind, or in too much to be compared.
    """
    one, other = said(source, language), said(summary, language)
    known = contrasts_of(language)
    if not 2 <= len(one.words) <= WORDS_MAX or len(other.words) > WORDS_MAX or _holds(other.stems, one.stems):
        return ""
    if _transposed(one, other, language, source) or _sequence(one, other, known, language):
        return "changed"
    differ = changes(one.stems, other.stems)
    shared = len(one.stems) - sum(change.end - change.start for change in differ)
    if shared * SHARED_MIN[1] < len(one.words) * SHARED_MIN[0]:
        return ""
    if any(
        _negates(other.words[c.start2 : c.end2], language) != _negates(one.words[c.start : c.end], language) for c in differ
    ):
        return ""
    for change in differ:
        if turned := _contrary(one, other, change[:2], change[2:], known, language):
            return turned
    if len(differ) == 1 and (
        (dropped and _dropped(one, differ[0], language)) or (qualified and _widened(one, differ[0], language))
    ):
        return "changed"
    if qualified and any(_qualified(one, other, c[:2], c[2:], language, alone=len(differ) == 1) for c in differ):
        return "changed"
    return ""


def _holds(words: Sequence[str], part: Sequence[str]) -> bool:
    return any(tuple(words[at : at + len(part)]) == tuple(part) for at in range(len(words) - len(part) + 1))


def _negates(words: list[str], language: Language) -> bool:
    return any(language.tags.single.get(word, 0) & lx.NEG or word.endswith("n't") for word in words)


def _transposed(one: Said, other: Said, language: Language, source: str) -> bool:
    """Two words changed places and all others stand: `use A instead of B`, `from A to B`. Members of one list may change."""
    size = len(one.stems)
    for shift in range(len(other.stems) - size + 1):
        differ = []
        for at in range(size):
            if one.stems[at] != other.stems[shift + at]:
                differ.append(at)
                if len(differ) > 2:
                    break
        if len(differ) != 2:
            continue
        a, b = differ
        crossed = one.stems[a] == other.stems[shift + b] and one.stems[b] == other.stems[shift + a]
        if crossed and all(not language.tags.single.get(one.words[at], 0) & _FUNCTION for at in differ):
            between = any(not language.tags.single.get(word, 0) & (lx.CONJ | lx.OR) for word in one.words[a + 1 : b])
            return between and not _listed(source, (one.words[a], one.words[b]), language)
    return False


def _listed(source: str, words: tuple[str, str], language: Language) -> bool:
    """Are both words members of the list in the sentence?"""
    told = [{item.word for item in member} for member in members(items(fold(source), language), language)]
    return all(any(word in member for member in told) for word in words)


def _sequence(one: Said, other: Said, known: Contrasts, language: Language) -> bool:
    """`Ask her before you push` told as `push before you ask her`: each side of the word stands on its other side."""
    for word in known.sequence:
        if one.words.count(word) != 1 or other.words.count(word) != 1:
            continue
        a, b = one.words.index(word), other.words.index(word)
        sides = []
        for said_, at in ((one, a), (other, b)):
            held = [(stem, where < at) for where, stem in enumerate(said_.stems) if _content(said_.words[where], language)]
            sides.append(({stem for stem, left in held if left}, {stem for stem, left in held if not left}))
        (left, right), (left2, right2) = sides
        if left and right and left2 and not left & right and left <= right2 - left2 and right <= left2 - right2:
            return True
    return False


def narrowed(source: str, summary: str, whole: str, language: Language) -> bool:
    """`Do not email customers` told as `do not email customers in test environments`: the ban holds there only, which the
    source (`whole`) says nowhere.
    """
    one, other = said(source, language), said(summary, language)
    size = len(one.stems)
    at = next((at for at in range(len(other.stems) - size) if other.stems[at : at + size] == one.stems), -1)
    if at < 0 or not one.stems or other.words[at + size] not in contrasts_of(language).narrows:
        return False
    added = [word for word in other.words[at + size : at + size + 5] if _content(word, language)]
    return bool(added) and not any(word in whole for word in added)


def _occurrences(
    stems: list[str], table: dict[Phrase, frozenset[Phrase]], region: tuple[int, int]
) -> Iterator[tuple[Phrase, int]]:
    """Phrases of the table that overlap the region, and where they end."""
    start, end = region
    for at in range(max(0, start - 2), end):
        for length in (1, 2, 3):
            phrase = tuple(stems[at : at + length])
            if len(phrase) == length and at + length > start and phrase in table:
                yield phrase, at + length


def _contrary(
    one: Said, other: Said, source: tuple[int, int], summary: tuple[int, int], known: Contrasts, language: Language
) -> str:
    if source[0] == source[1] or summary[0] == summary[1]:
        source, summary = (max(0, source[0] - 1), source[1]), (max(0, summary[0] - 1), summary[1])
    tables = (
        (known.contrary, _plain, "inverted"),
        (known.before_number, _number, "inverted"),
        (known.before_day, _day, "changed"),
    )
    for table, fits, turned in tables:
        for phrase, end in _occurrences(one.stems, table, source):
            for found, stop in _occurrences(other.stems, table, summary):
                if (
                    found not in table[phrase]
                    or _beside(one, other, phrase, found)
                    or _measured(one, other, end, stop, language)
                ):
                    continue
                if fits(one.words[end:], language) and fits(other.words[stop:], language):
                    return turned
    return ""


def _plain(after: list[str], language: Language) -> bool:
    """Before a number `under` and `over` are bounds, which are compared as such."""
    return not _number(after, language)


def _beside(one: Said, other: Said, phrase: Phrase, found: Phrase) -> bool:
    """Either stands in the other sentence too, so that nothing was exchanged."""
    if not _holds(phrase, found) and _holds(one.stems, found):
        return True
    return not _holds(found, phrase) and _holds(other.stems, phrase)


def _measured(one: Said, other: Said, end: int, stop: int, language: Language) -> bool:
    """`24 hours` and `one day`: units behind a number are compared as numbers."""
    return _number(one.words[max(0, end - 2) :], language) or _number(other.words[max(0, stop - 2) :], language)


def _number(after: list[str], language: Language) -> bool:
    return bool(after) and (after[0][0] in DIGITS or after[0] in language.number_words)


def _day(after: list[str], language: Language) -> bool:
    head = after[:3]
    return any(w in language.weekdays or w in language.months or w in language.relative_days for w in head) or _number(
        after, language
    )


NAME_CHARS_MIN = 4
"""Words that share so many characters from the front are forms of one word."""


def _qualified(
    one: Said, other: Said, source: tuple[int, int], summary: tuple[int, int], language: Language, *, alone: bool
) -> bool:
    """`Never delete customer data` told of `test data`: another word stands before the same one, or is all that differs."""
    if _negates(one.words[source[0] : source[1]], language):
        return False
    source, summary = _told(one, source, language), _told(other, summary, language)
    if source[1] - source[0] != 1 or not 0 < summary[1] - summary[0] <= 2 or source[0] == 0:
        return False
    mine, theirs = one.words[source[0]], other.words[summary[0] : summary[1]]
    if not _content(mine, language) or not any(_content(word, language) for word in theirs) or mine[0] in DIGITS:
        return False
    if _counts(one, source, language) or _counts(other, summary, language):
        return False
    if any(_alike(mine, word, language) for word in other.words) or any(
        _alike(word, have, language) for word in theirs if _content(word, language) for have in one.words
    ):
        return False
    if any(language.tags.single.get(word, 0) & (lx.PRED | lx.REPORT) for word in (mine, *theirs)):
        return False
    if language.verb_last and source[1] == len(one.words):
        return False  # its verb
    before = one.words[: source[0]]
    if not any(_content(word, language) for word in before) and before[-1] not in contrasts_of(language).articles:
        return False
    followed = source[1] < len(one.words) and _content(one.words[source[1]], language)
    return (followed and len(theirs) == 1) or alone


def _counts(sentence: Said, region: tuple[int, int], language: Language) -> bool:
    """A number, or a unit behind one: what they say is compared as a number."""
    start, end = region
    words = sentence.words[max(0, start - 1) : end]
    numbers = [word[0] in DIGITS or word in language.number_words for word in words]
    return any(numbers[-(end - start) :]) or (numbers[0] and may_be_unit(sentence.words[start]))


_FUNCTION = (
    lx.STOP
    | lx.AUX
    | lx.PRON
    | lx.CONJ
    | lx.NEG
    | lx.SUB
    | lx.MUST
    | lx.MAY
    | lx.ONLY
    | lx.ALL
    | lx.HEDGE
    | lx.ADVERB
    | lx.UNTIL
)


def _dropped(one: Said, change: Change, language: Language) -> bool:
    """`Never delete customer data` told as `never delete data`."""
    start, end = change.start, change.end
    gone = change.start2 == change.end2 and end - start == 1 and end < len(one.words)
    if not gone or not all(_content(one.words[at], language) for at in (start, end)):
        return False
    return any(_content(word, language) for word in one.words[:start]) and not one.words[start].endswith("ly")


def _widened(one: Said, change: Change, language: Language) -> bool:
    """`Customer data must stay here` told as `data must stay here`: what has to do it is told of more than was meant."""
    if (change.start, change.end) != (0, 1) or change.start2 != change.end2 or len(one.words) < 3:
        return False
    bound = any(language.tags.single.get(word, 0) & lx.MUST for word in one.words[2:4])
    return bound and all(_content(word, language) for word in one.words[:2])


def _told(sentence: Said, region: tuple[int, int], language: Language) -> tuple[int, int]:
    """The region without words at its ends that have no content (`del cliente`)."""
    start, end = region
    while start < end and not _content(sentence.words[start], language):
        start += 1
    while end > start and not _content(sentence.words[end - 1], language):
        end -= 1
    return start, end


def _content(word: str, language: Language) -> bool:
    return not language.tags.single.get(word, 0) & _FUNCTION and len(word) > 1


def _alike(word: str, other: str, language: Language) -> bool:
    if word[:NAME_CHARS_MIN] == other[:NAME_CHARS_MIN] or word in other or (other in word and len(other) > 1):
        return True
    return not {key.lstrip("-^") for key in language.keys(word)}.isdisjoint(key.lstrip("-^") for key in language.keys(other))
