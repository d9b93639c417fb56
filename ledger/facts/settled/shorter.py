"""Does a text hold what a statement tells in a shorter form: the last part of a name, a number with its noun, most words?

Weaker than survival and no part of any verdict: it only says that a loss is not worth reading first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from ledger.facts.language.fold import WORD, fold, lower
from ledger.facts.language.lexicon import Language
from ledger.facts.settled.standing import language_of
from ledger.facts.values.identifiers import classify
from schemas.facts import FactClass

WORDS_SHARE = (3, 4)
"""So much of a statement's content has to stand in one line or two of the text."""

NAMED_SHARE = (1, 2)
"""The same where its names and figures stand there too."""

NAME_CHARS_MIN = 6
"""A shorter last part of a name (`Add` of `worktree.Add`) tells nothing by itself."""

HASH_CHARS = 7
"""A hash is told by so many of its first characters."""

_WORD = re.compile(f"[{WORD}](?:[{WORD}']*[{WORD}])?", re.ASCII)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*", re.ASCII)
_NAME = re.compile(r"[\w@#~./:+-]*\w(?:\(\))?", re.ASCII)
_SHAPED = re.compile(r"[a-z][A-Z]|[A-Za-z]\d|[A-Za-z_]_[A-Za-z]|\w\.\w|\w/\w|\d{4}|#\d", re.ASCII)
_PARTS = re.compile(r"[/\\]|::|->|\.(?=[A-Za-z_]\w*(?:\(\))?$)", re.ASCII)
_OTHER = re.compile(r"[^a-z0-9]+", re.ASCII)
_TICKET = re.compile(r"#(\d+)\b", re.ASCII)
_TICKET_PAGE = re.compile(r"/(?:issues|pull|pulls|merge_requests)/(\d+)(?:[#?]\S*)?$", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{7,64}", re.ASCII)


_NOTHING: frozenset[str] = frozenset()
"""One for all passages: each empty set is an object of its own."""


def content(passage: str, language: Language) -> frozenset[str]:
    """The stems of the words of a passage that carry content; pairs of signs where words are not separated."""
    folded = fold(passage)
    if language.no_spaces and not folded.isascii():
        return frozenset(folded[at : at + 2] for at in range(len(folded) - 1) if not folded[at : at + 2].isascii())
    words = (word for word in _WORD.findall(folded) if len(word) > 1 and word not in language.function_words)
    return frozenset(language.stem(word) for word in words if not word.isdigit()) or _NOTHING


def figures(passage: str) -> frozenset[str]:
    """The numbers in a passage, as they are written."""
    return frozenset(_NUMBER.findall(passage)) or _NOTHING


def names(passage: str) -> tuple[str, ...]:
    """Runs of a passage that have the shape of a name: inner capitals, digits, underscores, dots, slashes."""
    return tuple(run for run in _NAME.findall(passage) if _SHAPED.search(run))


def squashed(name: str) -> str:
    """A name without case and marks: `FilesTouched`, `files_touched` and `filesTouched()` are one."""
    return _OTHER.sub("", lower(name))


def last_part(name: str) -> str:
    """The last part of a name, squashed, where it tells by itself; else the whole."""
    last = name.rstrip("/").rsplit("/", 1)[-1]
    if classify(last) != "file":
        parts = [part for part in _PARTS.split(last) if part]
        last = parts[-1] if parts else ""
    telling = len(last) >= NAME_CHARS_MIN and bool(_SHAPED.search(last) or "/" in name)
    return squashed(last) if telling else squashed(name)


class Shorter:
    """Texts that stayed, to be asked whether they hold a statement in a shorter form."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._stems: dict[str, list[int]] = {}
        self._figures: dict[str, set[int]] = {}
        self._names: set[str] = set()
        self._hashes: set[str] = set()
        self._tickets: set[str] = set()
        at = 0
        for text in texts:
            language = language_of(text)
            self._tickets.update(_TICKET.findall(text))
            for line in text.splitlines():
                for stem in content(line, language):
                    self._stems.setdefault(stem, []).append(at)
                for figure in figures(line):
                    self._figures.setdefault(figure, set()).add(at)
                for run in _NAME.findall(line):
                    self._add_name(run)
                at += 1

    def _add_name(self, run: str) -> None:
        forms = {squashed(run), squashed(run.rsplit("/", 1)[-1]), last_part(run)}
        self._names |= forms
        self._hashes |= {form[:HASH_CHARS] for form in forms if _HASH.fullmatch(form) and not form.isdigit()}

    def holds(self, passage: str, cls: FactClass, language: Language, *, named: bool = False) -> bool:
        """Is every telling part of the passage here: of a name its last part, of a statement its names, its figures and three
        quarters of its words, near one another? With `named` there has to be a name or figure, and then half of the words do.
        """
        if cls == "identifier":
            return self._name(passage)
        inner = names(passage)
        if (named and not inner and not figures(passage)) or not all(map(self._name, inner)):
            return False
        return self._words(passage, language, NAMED_SHARE if named else WORDS_SHARE)

    def _name(self, name: str) -> bool:
        page = _TICKET_PAGE.search(name)
        if page is not None and page[1] in self._tickets:
            return True
        last = last_part(name)
        if _HASH.fullmatch(last) and not last.isdigit():
            return last[:HASH_CHARS] in self._hashes
        return bool(last) and last in self._names

    def _words(self, passage: str, language: Language, share: tuple[int, int]) -> bool:
        told, wanted = content(passage, language), figures(passage)
        near: Counter[int] = Counter()
        for stem in told:
            near.update({by for line in self._stems.get(stem, ()) for by in (line, line + 1)})
        if not told:
            return bool(wanted) and all(figure in self._figures for figure in wanted)
        if len(told) == 1 and not wanted:
            return False
        part, whole = share
        lines = [line for line, count in near.items() if count * whole >= len(told) * part]
        return any(all({line, line - 1} & self._figures.get(figure, set()) for figure in wanted) for line in lines)
