"""Where a text is prose, a table or code, and where its sentences end. All in one pass over the lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from ledger.facts.language.fold import LOWER, SPACE, UPPER

SENTENCE_CHARS_MAX = 1200
"""A longer run without a full stop is cut: no statement worth keeping is longer, and the work stays linear in the text."""

RUN_CHARS_MAX = 96 * 1024
RUN_TAIL_CHARS = 16 * 1024
"""Nobody writes a paragraph of that length: of a longer one (a file on one line) the head and this much of its tail count."""

BlockKind = Literal["prose", "item", "heading", "table", "code"]


class Block(NamedTuple):
    """A stretch `[start, end)` of one kind."""

    kind: BlockKind
    start: int
    end: int


_LINE = re.compile(r"[^\n]*\n?", re.ASCII)
_FENCE = re.compile(r"\s{0,8}(?:[-*+>]\s+)?(`{3,}|~{3,})", re.ASCII)
_ITEM = re.compile(r"\s*(?:[-*+\u2022\u2013\u25cf\u25aa]|\d{1,3}[.)]|\([a-z0-9]\)|\[[ xX]\])\s+(?:\[[ xX]\]\s+)?", re.ASCII)
_HEADING = re.compile(r"\s{0,3}#{1,6}\s", re.ASCII)
_QUOTE = re.compile(r"\s{0,3}(?:>\s?)+", re.ASCII)
_NUMBERED = re.compile(r"\s*\d+(?:\u2192|\t|[:-](?=\s{2,}|\t|[^\s\d]))", re.ASCII)
_CODE_LINE = re.compile(
    r"^(?:[+-](?![\s-])[^\n]*[{};()=]|diff --git |index [0-9a-f]{6,}|@@ -|\+\+\+ |--- [ab]/|\s*(?:import|from"
    r"|package|func|def|class|return|const|let|var|if|for|while|public|private|static|type|struct|interface"
    r"|export|#include|use|fn|impl|module|end)\b[^\n]*[{(;:=]\s*$|[^\n]*[({=][^\n]*[;{}]\s*$|\s*[}\])]+[;,)]*\s*$"
    r"|[^\n]*\)\s*=>)",
    re.ASCII,
)
_LISTING = re.compile(
    r"[bcdlps-][r-][w-][xsStT-][r-][w-][xsStT-][r-][w-][xsStT-][.+@]?\s|\s*[MADRCU?! ]{1,2}\s[^\s]+\.[a-z]+$"
    r"|\s*\S+\s+\|\s+\d+\s[+-]+\s*$",
    re.ASCII,
)
"""File listings, `git status` and `git diff --stat` lines: bulk that can be asked for again."""

_STOP = re.compile(
    r"[.!?\u2026]+[\"')\]\u201d\u2019\u00bb*_`]*(?=\s|$)|[\u3002\uff01\uff1f\u0964\u06d4\u061f]+[\u300d\u300f\"')]*",
    re.ASCII,
)
_TITLE = re.compile(
    r"(?:^|[\s(\[\"'])(?:[A-Z]|[A-Za-z]\.[A-Za-z]|e\.g|i\.e|vs|dr|mr|mrs|ms|prof|st|no|nr|fig|eq|ca|cf|vol|art|abs|"
    r"bzw|ggf|inkl|n\u00fam|ul|tel|z\.B|d\.h|u\.a|p\.ex|\u0442\.\u0435|\u0433|\u0441\u043c|np|tzn|tj|m\.in)$",
    re.IGNORECASE | re.ASCII,
)
"""Abbreviations that something follows, so that a full stop after them ends no sentence."""

_SHORT = re.compile(
    r"(?:^|[\s(\[\"'])(?:approx|max|min|al|jr|sr|inc|ltd|ed|pp?|usw|evtl|ex|ref|rev|sec|ch|op|etc|jan|feb|mar|apr|jun|jul|aug|"
    r"sept?|oct|nov|dec|itp|\u0442\.\u0434|\d{1,2})$",
    re.IGNORECASE | re.ASCII,
)
"""Abbreviations and ordinals that may end a sentence: one that begins with a capital follows then."""

_MEASURED = re.compile(r"\d\s?(?:ms|s|m|g|h|l|t|pp?|min|sec|kb|mb|gb)$", re.IGNORECASE | re.ASCII)
"""`40 ms. Then ...`: a unit, no title."""

_GERMAN_MONTH = re.compile(r"\s(?:Jan|Feb|M\u00e4rz|April|Mai|Jun|Jul|Aug|Sept|Okt|Nov|Dez)", re.ASCII)
_LOWER_NEXT = re.compile(r"\s*[a-z\u00df-\u00f6\u00f8-\u00ff\u0430-\u044f(]", re.ASCII)


def blocks(text: str) -> Iterator[Block]:
    """Lines grouped to blocks, in order. Fences and lines of code shape are code; hard-wrapped prose lines are joined."""
    fence = ""
    held: Block | None = None
    for m in _LINE.finditer(text):
        start, end = m.start(), m.end()
        if start == end:
            break
        line = m[0]
        if fence:
            closing = line.strip(SPACE)
            if closing and not closing.strip(fence[0]) and len(closing) >= len(fence):
                fence = ""
            else:
                yield Block("code", start, end)
            continue
        opening = _FENCE.match(line)
        if opening:
            if held:
                yield held
                held = None
            rest = line[opening.end() :]
            if opening[1] not in rest:
                fence = opening[1]
            continue
        if not line.strip(SPACE):
            if held:
                yield held
            held = None
            continue
        kind, body = _kind(line)
        if held and kind == "prose" and held.kind in {"prose", "item"} and _continues(text, held, start, line):
            held = Block(held.kind, held.start, end)
            continue
        if held:
            yield held
        held = Block(kind, start + body, end)
    if held:
        yield held


def _kind(line: str) -> tuple[BlockKind, int]:
    if _HEADING.match(line):
        return "heading", 0
    bare = line.lstrip(SPACE)
    if bare[:1] == "|" and line.count("|") >= 2:
        return "table", 0
    item = _ITEM.match(line)
    if item:
        return "item", item.end()
    if len(line) < 2000 and (
        (_may_be_code(line) and _CODE_LINE.match(line)) or (line[:1] in " 0123456789" and _NUMBERED.match(line))
    ):
        return "code", 0
    if bare[:2] in _JSON_HEADS and ('":' in line or bare.rstrip(SPACE) in {"[", "{"}):
        return "code", 0
    if _LISTING.match(line):
        return "code", 0
    quote = _QUOTE.match(line)
    return "prose", quote.end() if quote else 0


_JSON_HEADS = frozenset({'{"', "[{", '["', "[\n", "{\n"})


def _may_be_code(line: str) -> bool:
    """Does the line begin or end as lines of code do (`_CODE_LINE`)? A look at its ends settles it for most prose."""
    return line[:1] in "+-di@" or line.rstrip(SPACE)[-1:] in "{}()[];:,=" or "=>" in line


def _continues(text: str, held: Block, start: int, line: str) -> bool:
    """A hard-wrapped line: the one before is long and unfinished, this one begins in lower case."""
    last = text.rfind("\n", held.start, start - 1) + 1
    width = start - max(last, held.start)
    before = text[max(held.start, start - 3) : start].strip(SPACE)
    return (
        width >= 40
        and before[-1:] not in {".", "!", "?", ":", ";"}
        and bool(_LOWER_NEXT.match(line))
        and start - held.start < 4 * SENTENCE_CHARS_MAX
    )


def sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Sentence bounds within `[start, end)`, white space trimmed, none longer than `SENTENCE_CHARS_MAX`.

    A run of more than `RUN_CHARS_MAX` is read at its ends only.
    """
    if end - start > RUN_CHARS_MAX:
        yield from sentences(text, start, start + RUN_CHARS_MAX - RUN_TAIL_CHARS)
        start = end - RUN_TAIL_CHARS
    at = start
    for m in _STOP.finditer(text, start, end):
        if m[0] == "." and m.end() < end and _goes_on(text, max(at, m.start() - 8), m.start()):
            continue
        yield from _trim(text, at, m.end())
        at = m.end()
    yield from _trim(text, at, end)


def _goes_on(text: str, start: int, stop: int) -> bool:
    """Does the full stop at `stop` belong to an abbreviation, an initial or an ordinal within a sentence?"""
    if _MEASURED.search(text, start, stop) and text[stop + 1 : stop + 3].strip(SPACE)[:1] in UPPER:
        return False
    if _TITLE.search(text, start, stop):
        lone = stop - start >= 2 and text[stop - 1] in LOWER and text[stop - 2] == " "
        return not lone
    if not _SHORT.search(text, start, stop):
        return False
    following = text[stop + 1 : stop + 3].strip(SPACE)[:1]
    return following not in UPPER or bool(_GERMAN_MONTH.match(text, stop + 1))


def _trim(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start] in " \t\r\n\f\v":
        start += 1
    while end > start and text[end - 1] in " \t\r\n\f\v":
        end -= 1
    while end - start > SENTENCE_CHARS_MAX:
        cut = max(text.rfind(" ", start, start + SENTENCE_CHARS_MAX), text.rfind("\n", start, start + SENTENCE_CHARS_MAX))
        cut = cut if cut > start else start + SENTENCE_CHARS_MAX
        yield start, cut
        start = cut
    if start < end:
        yield start, end
