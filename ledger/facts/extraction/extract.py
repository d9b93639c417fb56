"""Facts of a text: what a context must keep carrying, at exact offsets, with all that survival needs in the fact itself.

What is extracted depends on who speaks. A user's imperatives and obligations are instructions; a tool's or an assistant's are
not. Chatter of the moment (`Let me check ...`) and code are no statements. Bulk is bounded: see `salience`.
"""

from __future__ import annotations

import re

from ledger.facts.extraction import salience
from ledger.facts.extraction.analysis import analyse
from ledger.facts.extraction.builder import Builder
from ledger.facts.extraction.bulk import add_code
from ledger.facts.extraction.entry_facts import add_entries
from ledger.facts.extraction.passages import add_values
from ledger.facts.extraction.statements import add_statements, look
from ledger.facts.extraction.unread import add_unread
from ledger.facts.language import lexicon as lx
from ledger.facts.language.detection import FOREIGN, detect
from ledger.facts.language.fold import fold
from ledger.facts.language.lexicon import ENGLISH, UNREAD, Language
from ledger.facts.language.tokens import Token
from ledger.facts.model import EXTRACTOR
from ledger.facts.structure.blocks import RUN_CHARS_MAX, Block, blocks, sentences
from ledger.facts.structure.tables import table_rows
from ledger.facts.structure.toolout import CALL, LONG_CHARS, SMALL_CHARS, faulty, tells, worth_reading, written_file
from schemas.facts import Manifest
from schemas.records import Role

_WRAPPER = re.compile(
    r"<(system-reminder|bash-(?:stdout|stderr|input)|local-command-(?:stdout|stderr|caveat)|command-(?:name|message|contents)|task-notification|ide_[a-z_]+)>",
    re.ASCII,
)


_INTERRUPTED = re.compile(r"\[Request interrupted[^\]\n]{0,60}\]", re.ASCII)


_USER_SAID = re.compile(r"\A[^\n]{0,400}tool use was rejected[^\n]{0,300}the user said:\s", re.ASCII)
"""A runtime hands a user's words to the model as a tool's result when they came with a refusal."""


def _blank_wrappers(text: str) -> str:
    """The text with what a runtime put into it (reminders, output of shell escapes) blanked, offsets unchanged."""
    if "[Request interrupted" in text:
        text = _INTERRUPTED.sub(lambda m: " " * len(m[0]), text)
    if "<" not in text:
        return text
    parts: list[str] = []
    at = 0
    unclosed: set[str] = set()
    for m in _WRAPPER.finditer(text):
        if m.start() < at:
            continue
        close = -1 if m[1] in unclosed else text.find(f"</{m[1]}>", m.end())
        if close < 0:
            unclosed.add(m[1])
        stop = close + len(m[1]) + 3 if close >= 0 else m.end()
        parts.append(text[at : m.start()] + " " * (stop - m.start()))
        at = stop
    return "".join(parts) + text[at:] if parts else text


def extract(
    text: str,
    role: Role,
    *,
    scope_key: str,
    valid: tuple[str, str] = ("", ""),
    by_hand: bool = False,
    language: Language | None = None,
) -> Manifest:
    """The manifest of a text as spoken by `role`. Deterministic, linear in the text, never raises.

    `scope_key` keys the fact ids; `valid` bounds the validity of every fact. Facts stand in the order of their offsets;
    `passed_over` counts what the salience rule left out. What a runtime injects (role `system`: hooks, reminders, skills) is
    put there again when it is needed, and was said by nobody, so it holds no facts. Entries (`ledger.facts.structure.entries`)
    are read in a short text, where they are what it says; in one given `by_hand` whatever its length. `language` is that of the
    text, where it is known.
    """
    if role == "system":
        return Manifest(extractor=EXTRACTOR)
    if role == "tool" and text.startswith(CALL):
        return _call(text, scope_key, valid)
    said = _USER_SAID.search(text) if role == "tool" else None
    if said is not None:
        return extract(" " * said.end() + text[said.end() :], "user", scope_key=scope_key, valid=valid)
    text = _blank_wrappers(text)
    text, passed_over = worth_reading(text, role)
    folded = fold(text)
    language = language or detect(folded, original=text)
    builder = Builder(text, folded, role, scope_key, valid)
    window, skipped = salience.readable(text, role)
    passed_over += skipped
    for start, end in window:
        piece_blocks = list(blocks(text[start:end] if (start, end) != (0, len(text)) else text))
        if start:
            piece_blocks = [Block(b.kind, b.start + start, b.end + start) for b in piece_blocks]
        passed_over += sum(b.end - b.start > RUN_CHARS_MAX for b in piece_blocks)
        _read_blocks(builder, piece_blocks, language)
    if by_hand or len(text) <= (LONG_CHARS if role == "user" else SMALL_CHARS):
        add_entries(builder, language)
    facts, dropped = salience.keep(tuple(builder.found.values()), builder)
    return Manifest(extractor=EXTRACTOR, facts=facts, passed_over=passed_over + dropped)


def _call(text: str, scope_key: str, valid: tuple[str, str]) -> Manifest:
    """A tool call states nothing but the file that it writes."""
    builder = Builder(text, "", "tool", scope_key, valid)
    target = written_file(text)
    if target is not None:
        builder.add("identifier", *target, text[target[0] : target[1]], context="|")
    return Manifest(extractor=EXTRACTOR, facts=tuple(builder.found.values()))


def _read_blocks(builder: Builder, found: list[Block], language: Language) -> None:
    at = 0
    diff = builder.bulk and ("\n@@ -" in builder.text or builder.text.startswith("diff --git "))
    choosy, small = builder.role == "tool", len(builder.text) <= SMALL_CHARS
    while at < len(found):
        block = found[at]
        if choosy and block.kind in {"prose", "item", "heading"} and not _tells(builder, block, language, small):
            at += 1
            continue
        if block.kind == "table":
            stop = at
            while stop < len(found) and found[stop].kind == "table":
                stop += 1
            _table(builder, found[at].start, found[stop - 1].end, language)
            at = stop
            continue
        if block.kind == "code":
            if not (diff or builder.long or builder.explains):
                add_code(builder, block, language)
        elif not diff:
            _prose(builder, block, language)
        at += 1


def _tells(builder: Builder, block: Block, language: Language, small: bool) -> bool:
    """May this block of a tool hold a fact? Of bulk without a fault only duties and terms count, and those have their words."""
    line = builder.text[block.start : block.end]
    if not tells(line, small):
        return False
    if not builder.bulk or language is not ENGLISH or not line.isascii() or faulty(line):
        return True
    return not _DUTIES.isdisjoint(_WORD.findall(builder.folded, block.start, block.end))


_WORD = re.compile("[a-z']+", re.ASCII)
_DUTIES = ENGLISH.cues(lx.MUST | lx.PROMISE | lx.UNTIL) | {"by"}


def _prose(builder: Builder, block: Block, language: Language) -> None:
    local = language
    if block.end - block.start > 24 and (language.code != "en" or FOREIGN.search(builder.text, block.start, block.end)):
        local = detect(builder.folded[block.start : block.end], language, builder.text[block.start : block.end])
    for start, end in sentences(builder.text, block.start, block.end):
        held = look(builder, start, end) if builder.role != "user" and local.code == "en" else "all"
        if held == "nothing":
            continue
        sentence = analyse(builder.text, builder.folded, start, end, local)
        add_values(builder, sentence)
        if local is UNREAD:
            add_unread(builder, start, end)
        elif held == "all" and block.kind != "heading":
            add_statements(builder, sentence)


def _table(builder: Builder, start: int, end: int, language: Language) -> None:
    heads: dict[tuple[int, int], list[Token]] = {}
    for cell in table_rows(builder.text, start, end):
        sentence = analyse(builder.text, builder.folded, cell.start, cell.end, language)
        if not sentence.valued:
            continue
        labels: list[Token] = []
        for label in cell.labels:
            if label not in heads:
                heads[label] = analyse(builder.text, builder.folded, *label, language).tokens
            labels += heads[label]
        add_values(builder, sentence, labels)
