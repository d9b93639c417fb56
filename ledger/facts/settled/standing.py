"""What the words around a statement say of its standing: in force, put off, taken back, done, proposed, asked.

Nothing here decides what became of a fact (see `ledger.rules.settled`), and no outcome, decision or alert depends on it. The
words are package data, `data/standing/*.toml`, one file a language; an underscore joins the words of a phrase and a star stands
for any ending. Of a text in a language without a file the English words are looked for.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from importlib.resources import files

from ledger.facts.language.detection import detect
from ledger.facts.language.fold import SPACE, WORD, fold
from ledger.facts.language.lexicon import ASK, LANGUAGES, MAY, MUST, NEG, PLEASE, VERB, Language
from ledger.facts.structure.toolout import SMALL_CHARS, marked_up

KINDS = ("ever", "each", "only", "lasting", "now", "later", "left", "off", "done", "fix")
"""Without end; for each of several; a limit, unless it tells of the past; in force after the moment; until something
changes; put off; still to be done;
taken back; done; the heads of proposals and of what is wrong.
"""

RUNNING = frozenset({"ja", "ko", "zh"})
"""Languages in which a word is looked for inside a run of signs: it has no edges, or endings grow on it."""


def _load() -> dict[str, dict[str, str]]:
    folder = files("ledger.facts") / "data" / "standing"
    entries = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda entry: entry.name)
    return {entry.name.removesuffix(".toml"): tomllib.loads(entry.read_text("utf-8")) for entry in entries}


WORDS = _load()


def _alternatives(code: str, kind: str) -> str:
    phrases = sorted(set(fold(WORDS[code].get(kind, "")).split()), key=lambda phrase: (-len(phrase), phrase))
    gap = r"\s*" if code in RUNNING else r"\s+"
    whole = "|".join(re.escape(phrase).replace("_", gap) for phrase in phrases if not phrase.endswith("*"))
    begun = "".join("|" + re.escape(phrase[:-1]).replace("_", gap) for phrase in phrases if phrase.endswith("*"))
    return whole if code in RUNNING else f"(?<![{WORD}])(?:(?:{whole})(?![{WORD}]){begun})"


@lru_cache(maxsize=256)
def _pattern(code: str, kind: str) -> re.Pattern[str]:
    return re.compile(_alternatives(code, kind), re.ASCII)


@lru_cache(maxsize=64)
def _head(code: str) -> re.Pattern[str]:
    """`**Fix:** ...`, `## Recommendations`, `Next steps:`: words of proposals and of what is left, as a head."""
    words = f"(?:{_alternatives(code, 'fix')}|{_alternatives(code, 'left')})"
    return re.compile(
        rf"^[ \t]*(?:#{{1,6}} [^\n]{{0,40}}?{words}|[-*\d.) \t]{{0,6}}{words}[^\n:\uff1a]{{0,30}}[:\uff1a])",
        re.ASCII | re.MULTILINE,
    )


@lru_cache(maxsize=16)
def _aside(code: str) -> re.Pattern[str] | None:
    """Phrases with a word of standing that say nothing of the kind (`keep in mind`)."""
    return _pattern(code, "aside") if "aside" in WORDS[code] else None


def language_of(text: str) -> Language:
    """The language that a text is written in, English where it has no file of words."""
    language = detect(fold(text), original=text)
    return language if language.code in WORDS else LANGUAGES["en"]


def says(kind: str, passage: str, language: Language) -> bool:
    """Is one of the words of this kind in a passage? Technical words are English in any language, so where words have no edges
    these count too.
    """
    if kind not in WORDS[language.code]:
        return False
    folded = fold(passage)
    aside = _aside(language.code)
    if aside is not None:
        folded = aside.sub(" ", folded)
    if _pattern(language.code, kind).search(folded):
        return True
    return language.code in RUNNING and bool(_pattern("en", kind).search(folded))


def without(kind: str, passage: str, language: Language) -> str:
    """The folded passage without the words of this kind."""
    folded = fold(passage)
    return _pattern(language.code, kind).sub(" ", folded) if kind in WORDS[language.code] else folded


def proposal_ranges(section: str, language: Language) -> tuple[tuple[int, int], ...]:
    """The offsets of a section of a report over which a head such as `Fix:`, `Recommendations` or `Next steps:` stands: in a
    section with a heading of its own all; else its line, or what follows where it is the head of a list.
    """
    folded, whole = fold(section), _HEAD.match(section) is not None
    found = []
    for code in dict.fromkeys((language.code, "en")):
        for head in _head(code).finditer(folded):
            line = folded.find("\n", head.end())
            rest = folded[head.end() : line if line >= 0 else len(folded)].strip(" \t*_")
            if whole:
                return ((0, len(section)),)
            found.append((head.start(), len(section) if line < 0 or not rest else line))
    return tuple(found)


END = re.compile(r"[.!?]{1,9}[\"')\]*_`]{0,9}(?=\s|$)|[\u3002\uff01\uff1f\u061f\u0964]|\n", re.ASCII)


def sentence_at(text: str, start: int, end: int) -> tuple[int, int]:
    """The bounds of the sentence or line that holds code points `[start, end)`."""
    first = text.rfind("\n", 0, start) + 1
    for mark in END.finditer(text, first, start):
        first = mark.end()
    last = END.search(text, max(start, end - 1))
    return first, last.end() if last is not None else len(text)


def tells_of_past(passage: str, language: Language) -> bool:
    """Is the first verb of an English passage a past form, with nothing beside it that says what must or may be (`only the
    firewall saved us`)?
    """
    if language.code != "en":
        return False
    words, tags = _WORD.findall(fold(passage)), language.tags.single
    if any(tags.get(word, 0) & (MUST | MAY | PLEASE) for word in words):
        return False
    for word in words:
        if tags.get(word, 0) & VERB:
            return False
        if word.endswith("ed") and any(tags.get(base, 0) & VERB for base in (word[:-1], word[:-2])):
            return True
    return False


EDGE = re.compile(r"[,;:()\u2014\uff0c\u3001\uff1b\u060c]", re.ASCII)


_HEAD = re.compile(r"^(?:#{1,6} |-{3,}[ \t]*$|={3,}[ \t]*$|\*\*\d{1,3}[.)] )", re.ASCII | re.MULTILINE)


_BLANK = re.compile(r"\n[ \t]*\n", re.ASCII)


def section_edges(text: str) -> list[int]:
    """Where sections begin: at headings, or at the empty lines of a text without headings."""
    return [edge.start() for edge in (_HEAD if _HEAD.search(text) else _BLANK).finditer(text)]


_QUESTION = re.compile(r"[?\uff1f\u061f](?=[\"')\]*_`\s,;]*$|,\s)", re.ASCII)
_BRACKETS = re.compile(r"(?<=\s)\([^()]{0,200}(?:\)[^\w()]{0,8})?$", re.ASCII)
_WORD = re.compile(f"[{WORD}]+", re.ASCII)


def puts_a_choice(text: str) -> bool:
    """Does the last paragraph of a message ask something?"""
    return bool(_ASKED.search(text, text.rstrip(SPACE).rfind("\n\n") + 1))


_ASKED = re.compile(r"[?\uff1f\u061f](?=[\"')\]*_`]*(?:\s|$))", re.ASCII)


def denies(passage: str, language: Language) -> bool:
    """Does a passage begin with a word of negation (`not the whole log`)?"""
    first = _WORD.search(fold(passage))
    return first is not None and bool(language.tags.single.get(first[0], 0) & NEG)


def asks(sentence: str, language: Language) -> bool:
    """Does a sentence end as a question, or weigh something (`consider whether ...`)? A question in brackets is beside it."""
    sentence = _BRACKETS.sub("", sentence)
    if _QUESTION.search(sentence):
        return True
    tags = language.tags.single
    return any(tags.get(word, 0) & ASK for word in _WORD.findall(fold(sentence)))


def pasted(text: str) -> bool:
    """A long text with code, lists or headings in a user's turn: a review, a plan or a log that was put there for the work at
    hand, rather than words of the user.
    """
    return len(text) > SMALL_CHARS and (marked_up(text) or "```" in text or text.count("\n") >= PASTED_LINES_MIN)


PASTED_LINES_MIN = 12

_USER_SAID = re.compile(
    r"\A(?:[^\n]{0,400}tool use was rejected[^\n]{0,300}\bthe user said:|[^\n]{0,80}\buser has answered your questions?:)\s*",
    re.ASCII | re.IGNORECASE,
)
"""How a runtime begins the result of such a call; the same words further down are quoted from somewhere."""


def users_words(text: str) -> int | None:
    """Where in a tool's answer the words begin with which the user refused or answered the call; None where there are none."""
    found = _USER_SAID.search(text)
    return found.end() if found is not None else None


_REFUSED = re.compile(
    r"doesn't want to proceed with this tool use|tool use was rejected|request interrupted by user", re.ASCII | re.IGNORECASE
)


def refused(text: str) -> bool:
    """Does a tool's answer, or a note of the runtime, say that the user stopped the call?"""
    return len(text) <= SMALL_CHARS * 4 and bool(_REFUSED.search(text))
