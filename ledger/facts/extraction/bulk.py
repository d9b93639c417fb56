"""Code and JSON: only named constants, names and states count; the rest can be read again from where it stands."""

from __future__ import annotations

import re

from ledger.facts.extraction.analysis import analyse
from ledger.facts.extraction.builder import Builder
from ledger.facts.extraction.passages import add_values
from ledger.facts.language.fold import LETTER, LOWER, fold, normalise
from ledger.facts.language.lexicon import Language
from ledger.facts.model import words_of
from ledger.facts.structure.blocks import Block
from ledger.facts.structure.toolout import BOOKKEEPING, SMALL_CHARS
from ledger.facts.values.identifiers import classify
from ledger.facts.values.quantities import find_numbers

_CONSTANT = re.compile(
    r"^\s*(?:export |const |final |static |let |var "
    r"|val )*([A-Za-z_][\w.-]{1,60})\s*(?::\s*[\w<>\[\], ]+)?\s*(?:="
    r"|:)\s*[\"']?([+-]?\d[\d_.,]*\s?[A-Za-z%]{0,4})[\"']?\s*[,;]?\s*(?:[#/].*)?$",
    re.ASCII,
)


def add_code(builder: Builder, block: Block, language: Language) -> None:
    """In code only named constants count; everything else can be read again from the file it stands in."""
    line = builder.text[block.start : block.end]
    if _JSON_PAIR.search(line[:2000]):
        _json(builder, block, language)
        return
    if len(line) > 200:
        return
    m = _CONSTANT.match(line.rstrip("\n"))
    if not m or not (not LOWER & set(m[1]) or "_" in m[1]):
        return
    start = block.start + m.start(1)
    numbers = find_numbers(builder.text, builder.folded, block.start + m.start(2), block.start + m.end(2), language, [])
    for number in numbers[:1]:
        builder.add("numeric", start, number.end, number.canonical, subject=f"!{m[1]}", context=f"!{m[1]} |")


_JSON_PAIR = re.compile(
    r'"([\w .-]{1,60})"\s*:\s*(?:"((?:[^"\\\\\n]|\\\\.){0,300})"|(-?\d[\d.eE+-]{0,30}|true|false|null))', re.ASCII
)


_JSON_NAME = re.compile(
    r"(?:^|[_.-])(?:id|name|key|path|file|host|branch|version|sha|hash|url|ref|tag|token|slug|uuid|code)s?$",
    re.IGNORECASE | re.ASCII,
)


SMALL_JSON_CHARS = 2000
"""Bare small numbers of a larger JSON line are bulk; of a small one they may be settings."""

SETTINGS_MAX = 4
"""A tool's JSON line with more pairs is a record of something that happened; with fewer it may state a setting."""

JSON_PAIRS_MAX = 60
"""Pairs of one line of JSON that are read; the rest is bulk."""


def _json(builder: Builder, block: Block, language: Language) -> None:
    """Pairs of a JSON object: names and measured values; a short word is a state of what was named just before it."""
    named = ""
    large = builder.role == "tool" and len(builder.text) > SMALL_CHARS
    record = large and builder.text.count('":', block.start, block.end) > SETTINGS_MAX
    for count, m in enumerate(_JSON_PAIR.finditer(builder.text, block.start, block.end)):
        if count >= JSON_PAIRS_MAX:
            return
        key = fold(m[1])
        if m[2] is None:
            numbers = find_numbers(builder.text, builder.folded, m.start(3), m.end(3), language, [])
            for number in numbers[:1]:
                if number.size == 1 and (
                    record
                    or builder.record
                    or (large and number.value == "0")
                    or block.end - block.start > SMALL_JSON_CHARS
                    or (large and BOOKKEEPING.search(key))
                ):
                    continue
                builder.add(
                    "numeric",
                    m.start(1),
                    number.end,
                    number.canonical,
                    subject=language.keys(key)[0],
                    context=f"{'/'.join(language.keys(key))} {named} |",
                )
            continue
        value = m[2]
        if (
            value
            and " " not in value
            and (classify(value) or (_JSON_NAME.search(key) and len(value) > 2 and any(c in value for c in "-_./0123456789")))
        ):
            builder.add("identifier", m.start(2), m.end(2), value, context="|")
            named = "!" + value
        elif 2 < len(value) <= 40 and value.count(" ") <= 3 and value.isascii() and LETTER.search(value):
            words = [
                token for token in analyse(builder.text, builder.folded, m.start(2), m.end(2), language).tokens if token.keys
            ]
            if words and named:
                builder.add("narrative", m.start(2), m.end(2), normalise(value), context=" ".join([named, *words_of(words)]))
        elif len(value) > 40 and " " in value:
            sentence = analyse(builder.text, builder.folded, m.start(2), m.end(2), language)
            add_values(builder, sentence)
