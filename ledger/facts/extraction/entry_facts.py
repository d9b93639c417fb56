"""Entries (see `ledger.facts.structure.entries`) as facts of a text, and whether a summary still has them (rule F2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from ledger.facts.extraction.analysis import Sentence, analyse
from ledger.facts.extraction.builder import Builder
from ledger.facts.extraction.marks import CONDITIONS
from ledger.facts.findings import MISSING, Finding
from ledger.facts.language import lexicon as lx
from ledger.facts.language.fold import normalise
from ledger.facts.language.lexicon import Language
from ledger.facts.language.tokens import Token
from ledger.facts.model import CONTEXT_WORDS_MAX, alternatives, encode
from ledger.facts.structure.blocks import blocks, sentences
from ledger.facts.structure.entries import DONE, MARK, NO, OPEN, YES, Entry, entries, tells_so
from schemas.facts import Fact, FactClass

EXTRA_WORDS_MAX = 3
"""So many further content words may stand beside label and value where a summary tells an entry in a sentence."""

PLACES_MAX = 64
"""Places of a summary that are looked at for one entry, those with its rarest word."""

BRIEF_WORDS = 3
"""A value of fewer words is an entry of its own too where label and value were taken for one statement."""

_YES, _NO = "%yes", "%no"


def add_entries(builder: Builder, language: Language) -> None:
    """Entries as facts, where neither a statement nor a number tells them already; a box is ticked or not beside all that."""
    if builder.role == "tool":
        return
    told = sorted((f.start, f.end) for f in builder.found.values() if f.cls != "identifier")
    whole = {(f.start, f.end) for f in builder.found.values() if f.cls in {"narrative", "instruction"}}
    cls: FactClass = "instruction" if builder.role == "user" else "narrative"
    for entry in entries(builder.text):
        brief = entry.boxed or entry.row or entry.ticked is not None or builder.text.count(" ", *entry.value) < BRIEF_WORDS
        beside = [span for span in told if not (brief and span in whole and span[0] <= entry.label[0])]
        if not (entry.boxed or entry.row) and _overlaps(entry.value, beside):
            continue
        label, head, words = (_words(builder, part, language) for part in (entry.label, entry.head, entry.value))
        if entry.ticked is not None and tells_so(builder.folded[slice(*entry.head)]):
            head = []  # a column of what is `enabled` or `done`
        if not label or not (words or entry.ticked is not None):
            continue
        ticks = [] if entry.ticked is None else [_YES if entry.ticked else _NO]
        said = " ".join([MARK, *ticks, *label, "%,", *head, "%,", *([] if ticks else words)])
        start, end = _range(entry)
        value, subject = _written(builder.text, entry)
        builder.add(cls, start, end, value, subject=subject, context=said)


def _overlaps(value: tuple[int, int], told: Iterable[tuple[int, int]]) -> bool:
    return any(start < value[1] and value[0] < end for start, end in told)


def _range(entry: Entry) -> tuple[int, int]:
    return min(entry.label[0], entry.value[0]), max(entry.label[1], entry.value[1])


def _written(text: str, entry: Entry) -> tuple[str, str]:
    """An entry as it is written, and the head of its column, spaces and marks aside: the value and the subject of its fact."""
    return normalise(text[slice(*_range(entry))]), f"| {normalise(text[slice(*entry.head)])}"


def _words(builder: Builder, part: tuple[int, int], language: Language) -> list[str]:
    return _told(analyse(builder.text, builder.folded, *part, language), builder.folded)


def _told(sentence: Sentence, folded: str) -> list[str]:
    """The words of a cell, each as it is written too; those that carry no content where it has no others."""
    found = [_as_written(token) for token in sentence.tokens if token.keys][:CONTEXT_WORDS_MAX]
    return found or ["/".join(token.word for token in sentence.tokens if token.kind == "w")] if sentence.tokens else []


def _as_written(token: Token) -> str:
    word = encode(token).lstrip("^")
    return word if token.kind != "w" or token.word in token.keys else f"{word}/{token.word}"


def is_entry(fact: Fact) -> bool:
    """Is the fact a value under its names, told without a sentence?"""
    return fact.context.startswith(MARK)


class Stretch(NamedTuple):
    """What stands between two commas, or between a comma and an `and`: its words and their number, and the sentence's."""

    start: int
    end: int
    keys: frozenset[str]
    size: int
    denied: bool
    whole: bool
    """Does it reach over an `and`?"""
    before: frozenset[str]
    """The keys of what stands before it in the sentence."""


class EntryText:
    """A summary as entries are looked for in it."""

    def __init__(self, text: str, folded: str, language: Language) -> None:
        self.listed = [(entry, *self._keys(text, folded, entry, language)) for entry in entries(text)]
        self.written = {_written(text, entry): _range(entry) for entry, *_ in self.listed}
        self.stretches: list[Stretch] = []
        for block in blocks(text):
            if block.kind == "table":
                continue
            for start, end in sentences(text, block.start, block.end):
                sentence = analyse(text, folded, start, end, language)
                if not (sentence.question or any(token.word in CONDITIONS for token in sentence.tokens)):
                    self.stretches += _stretches(sentence.tokens)
        self._listed_by = _by_key(frozenset().union(*label) for _, label, _, _ in self.listed)
        self._stretches_by = _by_key(found.keys for found in self.stretches)

    def listed_with(self, words: _Sets) -> list[tuple[Entry, _Sets, _Sets, _Sets]]:
        """The entries whose label has the rarest of these words, in order."""
        return [self.listed[at] for at in _rarest(words, self._listed_by)]

    def stretches_with(self, words: _Sets) -> list[Stretch]:
        """The stretches that have the rarest of these words, in order."""
        return [self.stretches[at] for at in _rarest(words, self._stretches_by)]

    @staticmethod
    def _keys(text: str, folded: str, entry: Entry, language: Language) -> tuple[_Sets, _Sets, _Sets]:
        parts = (entry.label, entry.head, entry.value)
        value = analyse(text, folded, *entry.value, language).tokens
        if entry.ticked is None and len(value) > 1 and any(token.tags & lx.NEG for token in value):
            return [], [], []  # `types: not ok` is told, not listed
        return tuple(_sets(_told(analyse(text, folded, *part, language), folded)) for part in parts)  # type: ignore[return-value]


_Sets = list[frozenset[str]]


def _by_key(held: Iterable[frozenset[str]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for at, keys in enumerate(held):
        for key in sorted(keys):
            found.setdefault(key, []).append(at)
    return found


def _rarest(words: _Sets, index: dict[str, list[int]]) -> list[int]:
    places = [sorted({at for key in sorted(word) for at in index.get(key, ())}) for word in words]
    return min(places, key=len, default=[])[:PLACES_MAX]


def _sets(words: Iterable[str]) -> _Sets:
    return [frozenset(alternatives(word)) for word in words]


def _stretches(tokens: list[Token]) -> Iterator[Stretch]:
    coarse: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == "p" and token.word in ",;|.\u3001\uff0c\uff1b":
            coarse.append([])
        else:
            coarse[-1].append(token)
    before: frozenset[str] = frozenset()
    for piece in coarse:
        if any(token.kind == "p" and token.word == ":" for token in piece):
            before = frozenset()  # another label: what stands behind it is not said of the one before
        if _in_doubt(piece):
            continue
        fine: list[list[Token]] = [[]]
        for token in piece:
            if token.tags & lx.CONJ and token.kind == "w":
                fine.append([])
            else:
                fine[-1].append(token)
        for part in fine if len(fine) == 1 else [*fine, piece]:
            if part:
                yield _stretch(part, before, whole=part is piece)
        before |= frozenset(key for token in piece for key in _keys_of(token))


def _in_doubt(tokens: list[Token]) -> bool:
    """`Perhaps Ada`, `Ada or Omar`, `it used to be Ada`: that tells no value."""
    if any(token.tags & (lx.HEDGE | lx.OR | lx.REVOKE) or token.word in _FORMER for token in tokens):
        return True
    return any(one.word == "used" and other.word == "to" for one, other in pairwise(tokens))


_FORMER = frozenset(
    "formerly previously fruher ehemals vormals auparavant anteriormente precedentemente voorheen tidigare".split()
)


def _keys_of(token: Token) -> tuple[str, ...]:
    return (*token.keys, token.word) if token.kind in "wp" else token.keys


def _stretch(tokens: list[Token], before: frozenset[str], *, whole: bool) -> Stretch:
    keys = frozenset(key for token in tokens for key in _keys_of(token))
    denied = sum(bool(token.tags & (lx.NEG | lx.EXC)) for token in tokens) % 2 == 1
    return Stretch(tokens[0].start, tokens[-1].end, keys, sum(bool(token.keys) for token in tokens), denied, whole, before)


def entry_outcome(fact: Fact, summary: EntryText) -> Finding:
    """The outcome of an entry: the summary has it under the same names, with the same value or with another; or tells it."""
    parts: list[list[str]] = [[]]
    for word in fact.context.split(" "):
        if word == "%,":
            parts.append([])
        elif word and word[0] != "%":
            parts[-1].append(word)
    label, head, value = (_sets(part) for part in (*parts, [], [])[:3])
    written = summary.written.get((fact.value, fact.subject))
    if written is not None:
        return Finding("verbatim", *written)
    marks = set(fact.context.split(" "))
    tick = True if _YES in marks else False if _NO in marks else None
    other: Finding | None = None
    for entry, its_label, its_head, its_value in summary.listed_with(label):
        if not _alike(label, its_label) or (head and its_head and not _alike(head, its_head)):
            continue
        start, end = _range(entry)
        same = _tick(entry, its_value) is tick if tick is not None else _alike(value, its_value)
        if same:
            return Finding("equivalent", start, end)
        turned = tick is not None and _tick(entry, its_value) is not None
        other = other or (Finding("inverted", start, end, polarity="inverted") if turned else Finding("changed", start, end))
    if other is not None:
        return other
    places = summary.stretches_with(label if tick is not None else value)
    told = next((found for found in places if _tells(found, label, head, value, tick)), None)
    if told is not None:
        return Finding("equivalent", told.start, told.end)
    near = next((found for found in summary.stretches_with(label) if _within(label, found.keys)), None)
    return Finding("changed", near.start, near.end) if near is not None else MISSING


def _alike(one: _Sets, other: _Sets) -> bool:
    return bool(one) and len(one) == len(other) and all(any(word & told for told in other) for word in one)


def _within(words: _Sets, keys: frozenset[str]) -> bool:
    return all(word & keys for word in words)


def _tick(entry: Entry, value: _Sets) -> bool | None:
    if entry.ticked is not None:
        return entry.ticked
    said = {word for words in value for word in words}
    return True if said & DONE else False if said & OPEN else None


def _tells(found: Stretch, label: _Sets, head: _Sets, value: _Sets, tick: bool | None) -> bool:
    if not _within(label, found.keys) and not (head and _within(label, found.before)):
        return False
    if tick is not None:
        return _ticks(found, label, head) is tick
    if found.denied or not _within(value, found.keys):
        return False
    extra = found.size - len(value)
    if not _within(label, found.keys):
        return _within(head, found.keys) and extra <= len(head)
    named = _within(head, found.keys)
    return extra - len(label) - (len(head) if named else 0) <= (
        EXTRA_WORDS_MAX if named and not found.whole else 0 if found.whole else 1
    )


def _ticks(found: Stretch, label: _Sets, head: _Sets) -> bool | None:
    """Is it told to be so, or not to be? None where the stretch names it and says neither."""
    if not _within(label, found.keys) or not _within(head, found.keys):
        return None
    extra = found.size - len(label) - len(head)
    if found.keys & (NO | OPEN):
        return found.denied and not found.keys & NO
    if not extra and found.denied and found.before & (YES | DONE):
        return False  # `search is enabled, export is not`
    if found.keys & (YES | DONE) or ((extra or head) and extra <= EXTRA_WORDS_MAX):
        return not found.denied
    return None
