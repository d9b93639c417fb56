"""Sentences of a text in which no fact is recognised: nothing can be said of them, unless a summary holds their very words."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files

from ledger.facts.comparing.summary import SummaryText
from ledger.facts.language import lexicon as lx
from ledger.facts.language.fold import WORD, fold
from ledger.facts.structure.blocks import blocks, sentences
from ledger.facts.structure.entries import REMARKS, entries
from ledger.facts.structure.toolout import LONG_CHARS
from schemas.facts import Fact
from schemas.records import Role

SMALL_TALK = frozenset(
    fold(tomllib.loads((files("ledger.facts") / "data" / "small_talk.toml").read_text("utf-8"))["words"]).split()
)

OTHER_WORDS_MAX = 6
"""So many further words may stand in a sentence of the summary that holds the words of one in which no fact is recognised."""

_WORDS = re.compile(f"[{WORD}]+(?:'[{WORD}]+)?", re.ASCII)
_UNSAID = lx.NEG | lx.EXC | lx.EXCEPT | lx.INSTEAD | lx.HEDGE | lx.REVOKE


def unrecognised(source: str, facts: Sequence[Fact], role: Role) -> list[tuple[int, int]]:
    """Ranges of sentences that hold words and no fact, greetings and thanks aside.

    Of a user's text up to `LONG_CHARS`. What else is longer, or said by an agent or a tool, is chatter or bulk in part by its
    nature: there such sentences count only where no fact is recognised at all. What a runtime injects (role `system`) states
    nothing.
    """
    if role == "system" or (facts and (role != "user" or len(source) > LONG_CHARS)):
        return []
    held = [(fact.start, fact.end) for fact in facts]
    if facts:
        held += [part for entry in entries(source) for part in (entry.label, entry.head, entry.value)]
    return [
        (start, end)
        for start, end in _sentences(source)
        if _told(source, start, end) and not any(a < end and start < b for a, b in held)
    ]


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    for block in blocks(text):
        yield from sentences(text, block.start, block.end)


def _told(text: str, start: int, end: int) -> bool:
    words = _WORDS.findall(fold(text[start:end]))
    return bool(words) and not SMALL_TALK.issuperset(words)


def holds_words(summary: SummaryText, passage: str) -> bool:
    """Does one sentence of the summary hold the words of the passage, and neither deny nor ask them? Order may change between
    commas only.
    """
    announced, colon, rest = fold(passage).partition(":")
    wanted = rest if colon and REMARKS.issuperset(_WORDS.findall(announced)) else fold(passage)
    return any(_holds(summary, at, wanted) for at in range(len(summary.sentence_spans)))


def _holds(summary: SummaryText, at: int, wanted: str) -> bool:
    start, end = summary.sentence_spans[at]
    said = " ".join(_WORDS.findall(summary.folded[start:end]))
    pieces = [" ".join(_WORDS.findall(piece)) for piece in _PARTED.split(wanted)]
    if not all(f" {piece} " in f" {said} " for piece in pieces if piece):
        return False
    parts = [summary.parts[part] for part in summary.sentence_parts[at]]
    if any(part.question for part in parts) and not wanted.rstrip().endswith(("?", "\uff1f", "\u061f")):
        return False
    denied = any(part.flags & _UNSAID or part.hedge for part in parts)
    more = len(said.split()) - len(_WORDS.findall(wanted))
    return more <= 0 or (not denied and more <= OTHER_WORDS_MAX)


_PARTED = re.compile("[,;\n\u3001\uff0c]|\\band\\b", re.ASCII)
