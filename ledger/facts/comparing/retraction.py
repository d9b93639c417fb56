"""A statement that the same text takes back, or tells as a claim that nobody stands for (rule F2).

`Do not contact it. Forget that.`, `it is false that the limit is 3`, `never push (no longer needed)`: all words of the
statement stand there, and it does not hold. The vocabulary is `data/retractions.toml`; what the source says itself takes
nothing back.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files

from ledger.facts.language import lexicon as lx
from ledger.facts.language.fold import WORD, fold
from ledger.facts.language.lexicon import Language

REMARK_CHARS_MAX = 100
"""A longer sentence says more than that the one before it does not hold."""

NEAR_CHARS_MAX = 80
"""So near to what points back stands what takes it back."""

REST_CHARS_MAX = 30
"""What may follow `no longer` where nothing points back."""


class Retractions:
    """The patterns of one language."""

    def __init__(self, language: Language, data: dict[str, str]) -> None:
        kinds = ("leads", "pointers", "void", "gone", "ignore", "undone", "allowed", "again")
        self._leads, self._pointers, self._void, self._gone, self._ignore, self._undone, self._allowed, self._again = (
            re.compile(_words(language, data, kind), re.ASCII) for kind in kinds
        )
        self._behind = "ignore_behind" in data
        self.reported = re.compile(fold(data["reported"]), re.ASCII)

    def remark(self, text: str, banned: str) -> bool:
        """Does the text begin with words that take back what stands before it? `banned`: a ban, which leave takes back, too."""
        return any(self._remark(rest) or (bool(banned) and self._leave(rest, banned)) for rest in self._starts(text))

    def _starts(self, text: str) -> list[str]:
        """The text from its first word on, and without one, two and three words that may lead to a remark."""
        rests = [_HEAD.sub("", text)]
        while len(rests) <= LEADS_MAX and (lead := self._leads.match(rests[-1])):
            rests.append(_HEAD.sub("", rests[-1][lead.end() :]))
        return rests

    def _remark(self, text: str) -> bool:
        if pointer := self._pointers.match(text):
            near = _near(text, _first_end(pointer))
            if self._void.search(near) or self._gone.search(near) or (self._behind and self._ignore.search(near)):
                return True
        if (gone := self._gone.match(text)) and (text[gone.end() : gone.end() + 1] in {":", ","} or _short(text[gone.end() :])):
            return True
        if ignore := self._ignore.match(text):
            rest = text[ignore.end() :]
            if _ended(rest) or self._pointers.search(_near(rest, 0)):
                return True
        if (void := self._void.match(text)) and _ended(text[void.end() :]):
            return True
        if _IS_NOT.match(text):
            return True
        undone = self._undone.search(_near(text, 0))
        return undone is not None and any(_ended(text[m.end() :]) for m in self._pointers.finditer(text, undone.end()))

    def _leave(self, text: str, banned: str) -> bool:
        """`It is allowed`, `opening it is fine now`, `sharing is fine now` behind `never share`."""
        pointer = self._pointers.search(_near(text, 0))
        if pointer is None:
            said = _near(text, 0)
            allowed = self._allowed.search(said)
            return allowed is not None and self._again.search(said) is not None and _of_one_thing(said, banned)
        near = _near(text, _first_end(pointer))
        allowed = self._allowed.search(near)
        return allowed is not None and (not pointer.start() or self._again.search(near, allowed.end()) is not None)


def _of_one_thing(said: str, banned: str) -> bool:
    """Does a word begin as one of the ban's does?"""
    heads = {word[:SAME_CHARS] for word in _LONG.findall(banned)}
    return any(word[:SAME_CHARS] in heads for word in _LONG.findall(said))


SAME_CHARS = 4
_LONG = re.compile(f"[{WORD}]{{{SAME_CHARS},}}", re.ASCII)
LEADS_MAX = 3
_HEAD = re.compile(f"^[^{WORD}]+", re.ASCII)
_IS_NOT = re.compile(f"(?:it|that|this)(?: is not| was not|'s not| isn't| wasn't)[^{WORD}]*$", re.ASCII)


def _first_end(pointer: re.Match[str]) -> int:
    """Where the first word of a pointer ends: what a star stands for may itself say that it is void."""
    return pointer.start() + len(pointer[0].split(" ", 1)[0])


def _near(text: str, start: int) -> str:
    """What stands behind, in the same sentence."""
    return re.split("[.;]", text[start : start + NEAR_CHARS_MAX], maxsplit=1)[0]


def _ended(text: str) -> bool:
    return not _HEAD.sub("", text)


def _short(text: str) -> bool:
    """Does the sentence end soon?"""
    return len(text) <= REST_CHARS_MAX and _ended(text[len(_near(text, 0)) :])


def _words(language: Language, data: dict[str, str], name: str) -> str:
    """A pattern for the phrases of one kind, the longest first."""
    written = sorted(set(fold(data.get(name, "")).split()), key=lambda phrase: (-len(phrase), phrase))
    gap = r"\s*" if language.no_spaces else r"\s+"
    phrases = "|".join(re.escape(phrase).replace("_", gap).replace(r"\*", f"[{WORD}]*") for phrase in written) or "(?!)"
    return f"(?:{phrases})" if language.no_spaces else f"(?<![{WORD}'])(?:{phrases})(?![{WORD}])"


TABLES: dict[str, dict[str, str]] = tomllib.loads((files("ledger.facts") / "data" / "retractions.toml").read_text("utf-8"))


@cache
def retractions_of(code: str) -> Retractions | None:
    """The patterns of a language, made when they are first asked for; none where it has no table."""
    return Retractions(lx.LANGUAGES[code], TABLES[code]) if code in TABLES else None


_BOUNDARY = re.compile(r"[,;:(\u2014\u3001]|\s-\s|\.\s|[\"'\u300d\u201d]\s?", re.ASCII)


def taken_back(sentence: str, behind: str, source: str, language: Language, *, ban: bool) -> bool:
    """Does the folded sentence that holds a statement, or the one `behind` it, take it back? `ban`: leave takes it back too."""
    known = retractions_of(language.code)
    if known is None:
        return False
    claimed = known.reported.search(sentence)
    if claimed is not None and claimed[0] not in source:
        return True
    remarks = [sentence[m.end() :] for m in _BOUNDARY.finditer(sentence)]
    if len(behind) <= REMARK_CHARS_MAX:
        remarks.append(behind)
    return any(known.remark(remark, sentence if ban else "") and _EDGES.sub("", remark) not in source for remark in remarks)


_EDGES = re.compile(f"^[^{WORD}]+|[^{WORD}]+$", re.ASCII)
