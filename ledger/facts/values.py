"""Identifiers, numbers and dates of a sentence as facts, each with the words that tell what it is the value of."""

from __future__ import annotations

import re

from ledger.facts import lexicon as lx
from ledger.facts.builder import Builder
from ledger.facts.clauses import Sentence
from ledger.facts.fold import DIGITS, LETTER, WORD
from ledger.facts.identifiers import classify
from ledger.facts.model import clause_at, near_tokens, words_of
from ledger.facts.quantities import Number
from ledger.facts.salience import RESULT_NOUNS
from ledger.facts.tokens import Token
from ledger.facts.toolout import faulty
from schemas.records import Role

_LETTERS = re.compile(f"(?:(?![0-9_])[{WORD}])+", re.ASCII)


def add_values(builder: Builder, sentence: Sentence, labels: list[Token] | None = None) -> None:
    """Identifier, numeric and date facts of a sentence; `labels` are the heads of a table cell's row and column."""
    if not (sentence.identifiers or sentence.dates or sentence.numbers):
        return
    index = {token.start: at for at, token in enumerate(sentence.tokens) if token.kind in "ndi"}
    fault = builder.bulk and faulty(builder.text[sentence.start : sentence.end])
    for a, b in sentence.identifiers:
        value = builder.text[a:b]
        if builder.long and not _worth_naming(builder, value, fault):
            continue
        if _telling(value, builder.role) and not ("<" in value and "</" in value):
            builder.add("identifier", a, b, value, context=_context(sentence, index.get(a, -1), a, labels))
    for date in sentence.dates:
        anchor = _anchor(builder, sentence) if date.value[0] in "+-" and date.value[1:2] != "-" else ""
        if (date.value == "+0d" and builder.role != "user") or (builder.role != "user" and _STAMP.search(date.value)):
            continue
        if builder.bulk and not any(token.tags & (lx.PROMISE | lx.UNTIL) or token.word == "by" for token in sentence.tokens):
            continue
        builder.add(
            "commitment",
            date.start,
            date.end,
            date.value,
            subject=anchor,
            context=_context(sentence, index.get(date.start, -1), date.start, labels),
        )
    if builder.bulk and not fault and labels is None:
        return
    for number in sentence.numbers:
        _number(builder, sentence, number, index.get(number.start, -1), labels)


_STAMP = re.compile(r"T\d\d:\d\d:\d\d", re.ASCII)
"""A time with seconds is the stamp of a machine; nobody is to be anywhere at that second."""


def _worth_naming(builder: Builder, value: str, fault: bool) -> bool:
    """Of the names in a long text those count that it comes back to; of bulky output addresses, and what stands in a fault."""
    kind = classify(value)
    if builder.bulk:
        return kind == "url" or (fault and kind in {"code", "issue", "version", "host", "address"})
    return kind not in {"symbol", "", "code"} or builder.text.count(value) > 1


_DATE_ANCHOR = re.compile(r"\[?(?:sent|date|today is|as of|written|on)\W{1,3}(\d{4}-\d\d-\d\d)", re.ASCII)


def _anchor(builder: Builder, sentence: Sentence) -> str:
    """`@2024-02-12`: the day that `yesterday` counts from, where the text itself states it."""
    m = _DATE_ANCHOR.search(builder.folded[:400]) or _DATE_ANCHOR.search(builder.folded[sentence.start : sentence.end])
    return f"@{m[1]}" if m else ""


def _telling(value: str, role: Role) -> bool:
    if len(value) > 300 or "\n" in value:
        return False
    if classify(value):
        return True
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
    if number.size == 1:
        label = _label(sentence, at)
        tags = sentence.language.tags.single.get(noun, 0)
        if (
            label is not None
            and (label.tags & lx.LABEL_STOP or (builder.role == "assistant" and label.word in _LINES))
            and not noun
        ):
            return
        if (
            builder.long
            and not builder.bulk
            and noun
            and not number.op
            and label is None
            and sentence.language.keys(noun)[0] not in RESULT_NOUNS
        ):
            return  # `5 lines`, `two calls`: counts within an explanation
        if builder.bulk and labels is None:
            counted = sentence.language.keys(noun)[0] if noun else label.keys[0] if label is not None and label.keys else ""
            if counted not in RESULT_NOUNS:
                return
        if noun and not tags & lx.NOUN_STOP:
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


_LINES = frozenset({"line", "lines"})
"""A place in a file moves with the next edit; only a report of a fault is about the place."""


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
            return token if token.kind == "w" or (token.kind == "i" and seen_mark) else None
        seen += 1
        if seen > 2 or not token.tags & (lx.AUX | lx.STOP):
            return None
    return None
