"""Identifiers, numbers and dates of a sentence as facts, each with the words that tell what it is the value of."""

from __future__ import annotations

import re

from ledger.facts.extraction.analysis import Sentence
from ledger.facts.extraction.builder import Builder
from ledger.facts.extraction.salience import RESULT_NOUNS
from ledger.facts.language import lexicon as lx
from ledger.facts.language.fold import DIGITS, LETTER, WORD
from ledger.facts.language.tokens import Token
from ledger.facts.model import clause_at, near_tokens, side_of, words_of
from ledger.facts.structure.toolout import SMALL_CHARS, faulty, momentary, reads
from ledger.facts.values.identifiers import NAMES_IN_FILES, classify
from ledger.facts.values.quantities import Number
from schemas.records import Role

_LETTERS = re.compile(f"(?:(?![0-9_])[{WORD}])+", re.ASCII)


def add_values(builder: Builder, sentence: Sentence, labels: list[Token] | None = None) -> None:
    """Identifier, numeric and date facts of a sentence; `labels` are the heads of a table cell's row and column."""
    if not sentence.valued:
        return
    fault = builder.bulk and faulty(builder.text[sentence.start : sentence.end])
    bare = (
        builder.role == "tool"
        and not builder.bulk
        and labels is None
        and not reads(builder.text[sentence.start : sentence.end])
    )
    told = faulty(builder.text[sentence.start : sentence.end]) if sentence.dates else False
    passing = builder.aloud or ((builder.explains or builder.long) and momentary(builder.folded[sentence.start : sentence.end]))
    for a, b in () if passing else sentence.identifiers:
        value = _without_spot(builder.text[a:b]) if builder.role == "tool" else builder.text[a:b]
        if ((builder.long or builder.explains) and not _worth_naming(builder, value, fault)) or (
            bare and classify(value) in _LISTED
        ):
            continue
        if _telling(value, builder.role) and not ("<" in value and "</" in value):
            builder.add("identifier", a, a + len(value), value, context=_context(sentence, sentence.spot(a), a, labels))
    for date in sentence.dates:
        at = sentence.spot(date.start)
        side = side_of(sentence, at) if at > 0 else ""
        anchor = _anchor(builder, sentence) if date.value[0] in "+-" and date.value[1:2] != "-" else ""
        if (date.value == "+0d" and builder.role != "user") or (
            _STAMP.search(date.value) and (builder.role == "tool" or len(builder.text) > SMALL_CHARS) and not told
        ):
            continue
        if (builder.bulk or passing) and not any(
            token.tags & (lx.PROMISE | lx.UNTIL) or token.word == "by" for token in sentence.tokens
        ):
            continue
        builder.add(
            "commitment",
            date.start,
            date.end,
            date.value,
            subject=anchor,
            context=(f"%{side} " if side else "") + _context(sentence, at, date.start, labels),
        )
    if (
        (labels is not None and builder.explains)
        or passing
        or (builder.bulk and not fault and labels is None)
        or any(label.word in _LINES for label in labels or ())
    ):
        return
    for number in sentence.numbers:
        _number(builder, sentence, number, sentence.spot(number.start), labels)


_STAMP = re.compile(r"T\d\d:\d\d:\d\d", re.ASCII)
"""A time with seconds is the stamp of a machine; nobody is to be anywhere at that second."""


_SPOT = re.compile(r"(?::\d+(?:-\d+)?){1,2}$", re.ASCII)


def _without_spot(value: str) -> str:
    """`pool.c:88:4` of a tool is about the file; the place moves with the next edit."""
    spot = _SPOT.search(value)
    return value[: spot.start()] if spot is not None and classify(value[: spot.start()]) in {"file", "path"} else value


_LISTED = frozenset({"path", "file", "symbol", "issue", "hex"})
"""Names that a tool lists without a word on them."""


def _worth_naming(builder: Builder, value: str, fault: bool) -> bool:
    """Of the names in a long text those count that it comes back to; of bulky output addresses, and what stands in a fault."""
    kind = classify(value)
    if builder.role != "user" and (kind in {"", "file", "path"} and (" " in value or _SPOT.search(value))):
        return False
    if builder.bulk:
        return fault and kind in {"code", "version", "host", "address"}
    return kind not in NAMES_IN_FILES | {"code"} or builder.text.count(value) > 1


_DATE_ANCHOR = re.compile(r"\[?(?:sent|date|today is|as of|written|on)\W{1,3}(\d{4}-\d\d-\d\d)", re.ASCII)


def _anchor(builder: Builder, sentence: Sentence) -> str:
    """`@2024-02-12`: the day that `yesterday` counts from, where the text itself states it."""
    m = _DATE_ANCHOR.search(builder.folded[:400]) or _DATE_ANCHOR.search(builder.folded[sentence.start : sentence.end])
    return f"@{m[1]}" if m else ""


def _telling(value: str, role: Role) -> bool:
    if len(value) > 300 or "\n" in value:
        return False
    kind = classify(value)
    if kind == "issue" and len(value) < 4:
        return role == "user"  # `#3` numbers the items of a list
    if kind:
        return role == "user" or kind != "flag" or len(value) > 2
    return len(value) >= 3 and bool(LETTER.search(value)) and (role == "user" or not _LETTERS.fullmatch(value))


REST_TOKENS_MAX = 24
"""Words of a clause that are looked at for the context of one value; with more a long list costs the square of its length."""


def _context(sentence: Sentence, at: int, start: int, labels: list[Token] | None) -> str:
    if at < 0:
        return "|"
    near = [*(labels or ()), *near_tokens(sentence, at)]
    clause = clause_at(sentence, start)
    rest = [t for t in (clause.content[:REST_TOKENS_MAX] if clause else ()) if t.start != start]
    if len(rest) < 3:
        rest += [t for other in sentence.clauses[:6] if other is not clause for t in other.content[:6]][:6]
    near_words = words_of(near, 8)
    rest_words = [word for word in words_of(rest, 12) if word not in near_words]
    return " ".join([*near_words, "|", *rest_words])


def _number(builder: Builder, sentence: Sentence, number: Number, at: int, labels: list[Token] | None) -> None:
    subject = ""
    text = builder.folded
    noun = text[number.noun_start : number.noun_end] if number.noun_start >= 0 else ""
    end = max(number.end, number.noun_end)
    start = number.start
    if _figure(builder, sentence, number, at):
        return
    if number.size == 1:
        label = _label(sentence, at)
        if _counts_along(builder, sentence, number, label, noun, labels):
            return
        if noun and not sentence.language.tags.single.get(noun, 0) & lx.NOUN_STOP:
            subject = sentence.language.keys(noun)[0]
        elif label is not None and at >= 0:
            subject = label.keys[0]
            start, end = label.start if label.end + 3 >= number.start else number.start, number.end
        elif labels and len(number.value) > 1:  # a table of one-digit counts can be counted again
            subject = labels[-1].keys[0] if labels[-1].keys else ""
        if builder.role == "assistant" and text[number.start] not in DIGITS and not number.op:
            return  # `two ways`, `three options`: counts of what is said, not facts
        if not subject or (number.value in {"1", "0"} and not number.op and text[number.start] not in DIGITS):
            return
    value = number.canonical
    builder.add("numeric", start, end, value, subject=subject, context=_context(sentence, at, number.start, labels))


def _figure(builder: Builder, sentence: Sentence, number: Number, at: int) -> bool:
    """A place in a file (`lines 343-364`), or a part of a calculation."""
    before = sentence.tokens[at - 1].word if at > 0 else ""
    if before in _LINES and not number.unit and builder.role == "assistant" and not _names_a_file(builder, sentence):
        return True
    if builder.record and number.size == 1:
        return True
    if len(builder.text) <= SMALL_CHARS and builder.role != "tool" and not builder.explains:
        return False
    if before in _LINES and not number.unit and (number.size > 1 or builder.role == "assistant"):
        return True
    if builder.role == "tool" and _machine_figure(builder, sentence, number, at):
        return True
    if number.unit == "ratio" and builder.role != "user" and (number.value == "1:1" or builder.text[number.start - 1] == "["):
        return True
    near = builder.folded[max(0, number.start - 4) : number.end + 4]
    return builder.role != "user" and bool(_ARITHMETIC.search(near))


def _machine_figure(builder: Builder, sentence: Sentence, number: Number, at: int) -> bool:
    """Of a tool: how long a step of a table took, what a usage message asks for, pages of a result, a line of no file."""
    noun = builder.folded[number.noun_start : number.noun_end] if number.noun_start >= 0 else ""
    if noun in _WENT_WELL and not _WENT_WRONG.search(builder.folded, sentence.start, sentence.end):
        return True
    if _FEW.match(noun) or (number.unit == "s" and "\t" in builder.text[max(0, number.start - 2) : number.end + 1]):
        return True
    label = _label(sentence, at) if number.size == 1 else None
    if label is None or noun:
        return False
    if label.word in _LINES:
        return not _names_a_file(builder, sentence)
    return bool(_PAGES.fullmatch(label.word) or _FEW.match(label.word)) or (
        label is sentence.tokens[at - 1] and label.word.endswith("ed")
    )


def _names_a_file(builder: Builder, sentence: Sentence) -> bool:
    return any(classify(builder.text[a:b]) in {"file", "path"} for a, b in sentence.identifiers)


def _counts_along(
    builder: Builder, sentence: Sentence, number: Number, label: Token | None, noun: str, labels: list[Token] | None
) -> bool:
    """A bare number that only numbers or counts what is being said: `step 3`, `checkpoint 1`, `5 lines` in an explanation."""
    if label is not None and not noun and label.tags & lx.LABEL_STOP:
        return True
    if builder.role == "user" or labels is not None or (number.op and builder.role != "tool"):
        return False
    if builder.role != "tool" and not builder.explains:
        return False
    if (
        builder.role == "tool"
        and not builder.bulk
        and (label is not None or reads(builder.text[sentence.start : sentence.end]))
    ):
        return False
    counted = sentence.language.keys(noun)[0] if noun else label.keys[0] if label is not None and label.keys else ""
    return counted not in RESULT_NOUNS


_WENT_WELL = frozenset({"passed", "skipped", "warning", "warnings", "ok"})
_WENT_WRONG = re.compile(r"fail|error", re.ASCII)
"""How many tests passed counts where some did not; a run in which all went well is settled."""

_PAGES = re.compile("offset|limit|page", re.ASCII)
_FEW = re.compile("arg|column", re.ASCII)
"""What a fault message counts of the call that was wrong."""

_ARITHMETIC = re.compile(r"\d\)? [-+*/=\u00d7\u2212] \(?\d|\d-[a-z]", re.ASCII)
"""`582 - 76 = 506`, `4-parameter`: figures within a calculation or a description."""

_LINES = frozenset({"line", "lines"})
"""A place in a file moves with the next edit; only a report of a fault is about the place."""


def _place(sentence: Sentence, name: Token, at: int) -> bool:
    """`pool.c:88` is a place in a file."""
    return sentence.tokens[at].start - name.end == 1


def _label(sentence: Sentence, at: int) -> Token | None:
    """The word just before a number that names it: `line 212`, `retries: 3`, `MAX = 3`, `retry budget is 3`."""
    seen = 0
    seen_mark = False
    for token in reversed(sentence.tokens[max(0, at - 4) : max(0, at)]):
        if token.kind == "p":
            if token.word in "=:":
                seen_mark = True
                continue
            return None
        if token.keys:
            if token.kind == "w":
                verb = not seen_mark and not seen and token.tags & lx.REPORT
                return None if verb else token
            return token if token.kind == "i" and seen_mark and not _place(sentence, token, at) else None
        seen += 1
        if seen > 2 or not token.tags & (lx.AUX | lx.STOP):
            return None
    return None
