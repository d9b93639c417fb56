"""Facts of a text: what a context must keep carrying, at exact offsets, with all that survival needs in the fact itself.

What is extracted depends on who speaks. A user's imperatives and obligations are instructions; a tool's or an assistant's are not. Chatter of the
moment (`Let me check ...`) and code are no statements. Bulk is bounded: see `salience`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ledger.facts import lexicon as lx
from ledger.facts import salience
from ledger.facts.blocks import Block, blocks, sentences
from ledger.facts.clauses import Clause, Sentence, Token, analyse
from ledger.facts.fold import fold, normalise
from ledger.facts.identifiers import classify
from ledger.facts.lexicon import Language, detect
from ledger.facts.model import EXTRACTOR, clause_at, encode, near_tokens, words_of
from ledger.facts.numbers import Number, find_numbers
from ledger.facts.tables import table_rows
from schemas.facts import Fact, FactClass, FactKind, Manifest
from schemas.ids import fact_id
from schemas.records import Role

_EPHEMERAL = re.compile(
    r"^\W{0,3}(?:(?:ok|okay|now|good|great|perfect|excellent|first|next|so|then|alright|sure|done)\b[\s,.!:-]{0,3}){0,3}(?:let me|let's (?:see|look|check|run|try|first|start)|i'll\b|i will\b|i'm going to|"
    r"i need to|i should|i want to|now i|i can see|i see\b|looking at|checking|continuing|here's|here is|you're right|good question|great question)",
)
_SMALL_TALK = re.compile(
    r"^\W{0,3}(?:but |so |and )?(?:i|we|you)\s(?:don't|do not|didn't|can't|cannot|couldn't|haven't)\s(?:\w+\s)?(?:see|think|know|want|need|have|find|believe|understand|remember|mind|worry)\b|^\W{0,3}(?:no|yes|nope|never mind|no problem|not yet|of course)\W*$"
)
_CONSTANT = re.compile(
    r"^\s*(?:export |const |final |static |let |var |val )*([A-Za-z_][\w.-]{1,60})\s*(?::\s*[\w<>\[\], ]+)?\s*(?:=|:)\s*[\"']?([+-]?\d[\d_.,]*\s?[A-Za-z%]{0,4})[\"']?\s*[,;]?\s*(?:[#/].*)?$",
    re.ASCII,
)
_ASKING_YOU = re.compile(r"^\W{0,3}(?:can|could|would|will) you\b|^\W{0,3}(?:please|pls)\b")
_NOW = re.compile(r"^\W{0,3}(?:now|next|then|ready|done|got it|great|excellent|perfect)\b")
_PROGRESS = re.compile(r"^(?:running|compiling|downloading|building|installing|fetching|collecting)\b")


_WRAPPER = re.compile(
    r"<(system-reminder|bash-(?:stdout|stderr|input)|local-command-(?:stdout|stderr|caveat)|command-(?:name|message|contents)|task-notification|ide_[a-z_]+)>"
)


def _blank_wrappers(text: str) -> str:
    """The text with what a runtime put around or into it (reminders, output of shell escapes) blanked, offsets unchanged."""
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


class Builder:
    """Collects facts of one span; the first of two equal facts stays."""

    def __init__(self, text: str, folded: str, role: Role, scope_key: str, valid: tuple[str, str]) -> None:
        self.text, self.folded, self.role, self.scope_key, self.valid = text, folded, role, scope_key, valid
        self.found: dict[str, Fact] = {}
        self.seen: set[tuple[str, ...]] = set()

    def add(
        self, cls: FactClass, start: int, end: int, value: str, *, subject: str = "", negated: bool = False, quantifier: str = "",
        hedge: str = "", kind: FactKind = "", context: str = "",
    ) -> None:  # fmt: skip
        """One fact; nothing where the value is empty."""
        if not value:
            return
        identity_parts = (cls, value, subject, "negated" if negated else "affirmed", quantifier)
        if identity_parts not in self.seen:
            self.seen.add(identity_parts)
            identity = fact_id(self.scope_key, *identity_parts, *self.valid)
            self.found[identity] = Fact(
                id=identity, cls=cls, start=start, end=end, value=value, subject=subject, polarity="negated" if negated else "affirmed",
                quantifier=quantifier, hedge=hedge, kind=kind, context=context, valid_from=self.valid[0], valid_to=self.valid[1],
            )  # fmt: skip


def extract(text: str, role: Role, *, scope_key: str, valid: tuple[str, str] = ("", "")) -> Manifest:
    """The manifest of a text as spoken by `role`. Deterministic, linear in the text, never raises.

    `scope_key` keys the fact ids; `valid` bounds the validity of every fact. Facts stand in the order of their offsets;
    `passed_over` counts what the salience rule left out.
    """
    text = _blank_wrappers(text)
    folded = fold(text)
    language = detect(folded, original=text)
    builder = Builder(text, folded, role, scope_key, valid)
    passed_over = 0
    window, skipped = salience.readable(text, role)
    passed_over += skipped
    for start, end in window:
        piece_blocks = [
            Block(b.kind, b.start + start, b.end + start)
            for b in blocks(text[start:end] if (start, end) != (0, len(text)) else text)
        ]
        _read_blocks(builder, piece_blocks, language)
    facts, dropped = salience.keep(tuple(builder.found.values()), role, len(text))
    return Manifest(extractor=EXTRACTOR, facts=facts, passed_over=passed_over + dropped)


def _read_blocks(builder: Builder, found: list[Block], language: Language) -> None:
    at = 0
    while at < len(found):
        block = found[at]
        if block.kind == "table":
            stop = at
            while stop < len(found) and found[stop].kind == "table":
                stop += 1
            _table(builder, found[at].start, found[stop - 1].end, language)
            at = stop
            continue
        if block.kind == "code":
            _code(builder, block, language)
        else:
            _prose(builder, block, language)
        at += 1


def _prose(builder: Builder, block: Block, language: Language) -> None:
    local = language
    if block.end - block.start > 24 and (not builder.folded.isascii() or language.code != "en"):
        local = detect(builder.folded[block.start : block.end], language, builder.text[block.start : block.end])
    for start, end in sentences(builder.text, block.start, block.end):
        sentence = analyse(builder.text, builder.folded, start, end, local)
        add_values(builder, sentence)
        if block.kind != "heading":
            _statements(builder, sentence)


def _code(builder: Builder, block: Block, language: Language) -> None:
    """In code only named constants count; everything else can be read again from the file it stands in."""
    line = builder.text[block.start : block.end]
    if _JSON_PAIR.search(line[:2000]):
        _json(builder, block, language)
        return
    if len(line) > 200:
        return
    m = _CONSTANT.match(line.rstrip("\n"))
    if not m or not (m[1].isupper() or "_" in m[1]):
        return
    start = block.start + m.start(1)
    numbers = find_numbers(builder.text, builder.folded, block.start + m.start(2), block.start + m.end(2), language, [])
    for number in numbers[:1]:
        builder.add("numeric", start, number.end, number.canonical, subject=f"!{m[1]}", context=f"!{m[1]} |")


_JSON_PAIR = re.compile(
    r'"([\w .-]{1,60})"\s*:\s*(?:"((?:[^"\\\\\n]|\\\\.){0,300})"|(-?\d[\d.eE+-]{0,30}|true|false|null))', re.ASCII
)
_JSON_NAME = re.compile(
    r"(?:^|[_.-])(?:id|name|key|path|file|host|branch|version|sha|hash|url|ref|tag|token|slug|uuid|code)s?$", re.IGNORECASE
)
JSON_PAIRS_MAX = 60
"""Pairs of one line of JSON that are read; the rest is bulk."""


def _json(builder: Builder, block: Block, language: Language) -> None:
    """Pairs of a JSON object: names and measured values; a short word is a state of what was named just before it."""
    named = ""
    for count, m in enumerate(_JSON_PAIR.finditer(builder.text, block.start, block.end)):
        if count >= JSON_PAIRS_MAX:
            return
        key = fold(m[1])
        if m[2] is None:
            numbers = find_numbers(builder.text, builder.folded, m.start(3), m.end(3), language, [])
            for number in numbers[:1]:
                builder.add(
                    "numeric",
                    number.start,
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
        elif 2 < len(value) <= 40 and value.count(" ") <= 3 and value.isascii() and any(c.isalpha() for c in value):
            words = [
                token for token in analyse(builder.text, builder.folded, m.start(2), m.end(2), language).tokens if token.keys
            ]
            if words and named:
                builder.add("narrative", m.start(2), m.end(2), normalise(value), context=" ".join([named, *words_of(words)]))
        elif len(value) > 40 and " " in value:
            sentence = analyse(builder.text, builder.folded, m.start(2), m.end(2), language)
            add_values(builder, sentence)


def _table(builder: Builder, start: int, end: int, language: Language) -> None:
    for cell in table_rows(builder.text, start, end):
        sentence = analyse(builder.text, builder.folded, cell.start, cell.end, language)
        labels: list[Token] = []
        for label_start, label_end in cell.labels:
            labels += analyse(builder.text, builder.folded, label_start, label_end, language).tokens
        add_values(builder, sentence, labels)


def add_values(builder: Builder, sentence: Sentence, labels: list[Token] | None = None) -> None:
    """Identifier, numeric and date facts of a sentence; `labels` are the heads of a table cell's row and column."""
    index = {token.start: at for at, token in enumerate(sentence.tokens)}
    for a, b in sentence.identifiers:
        value = builder.text[a:b]
        if _telling(value, builder.role) and not ("<" in value and "</" in value):
            builder.add("identifier", a, b, value, context=_context(sentence, index.get(a, -1), a, labels))
    for date in sentence.dates:
        anchor = _anchor(builder, sentence) if date.value[0] in "+-" and date.value[1:2] != "-" else ""
        if date.value in {"+0d"} and builder.role != "user":
            continue
        builder.add(
            "commitment",
            date.start,
            date.end,
            date.value,
            subject=anchor,
            context=_context(sentence, index.get(date.start, -1), date.start, labels),
        )
    for number in sentence.numbers:
        _number(builder, sentence, number, index.get(number.start, -1), labels)


_DATE_ANCHOR = re.compile(r"\[?(?:sent|date|today is|as of|written|on)\W{1,3}(\d{4}-\d\d-\d\d)")


def _anchor(builder: Builder, sentence: Sentence) -> str:
    """`@2024-02-12`: the day that `yesterday` counts from, where the text itself states it."""
    m = _DATE_ANCHOR.search(builder.folded[:400]) or _DATE_ANCHOR.search(builder.folded[sentence.start : sentence.end])
    return f"@{m[1]}" if m else ""


def _telling(value: str, role: Role) -> bool:
    if len(value) > 300 or "\n" in value:
        return False
    if classify(value):
        return True
    return len(value) >= 3 and any(c.isalpha() for c in value) and (role == "user" or not value.isalpha())


REST_TOKENS_MAX = 24
"""Words of a clause that are looked at for the context of one value; more would make a long list cost the square of its length."""


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
        if noun and not tags & lx.NOUN_STOP:
            subject = sentence.language.keys(noun)[0]
        elif label is not None and at >= 0:
            subject = label.keys[0]
            start, end = label.start if label.end + 3 >= number.start else number.start, number.end
        elif labels:
            subject = labels[-1].keys[0] if labels[-1].keys else ""
        if not subject or (number.value in {"1", "0"} and not number.op and not text[start].isdecimal() and label is None):
            return
    value = number.canonical
    builder.add("numeric", start, end, value, subject=subject, context=_context(sentence, at, number.start, labels))


def _label(sentence: Sentence, at: int) -> Token | None:
    """The word just before a number that names it: `line 212`, `retries: 3`, `MAX = 3`, `retry budget is 3`."""
    seen = 0
    for token in reversed(sentence.tokens[max(0, at - 4) : max(0, at)]):
        if token.kind == "p":
            if token.word in "=:":
                continue
            return None
        if token.keys:
            return token if token.kind in "wi" else None
        seen += 1
        if seen > 2 or not token.tags & (lx.AUX | lx.STOP):
            return None
    return None


def _statements(builder: Builder, sentence: Sentence) -> None:
    folded, role = builder.folded, builder.role
    text = folded[sentence.start : sentence.end]
    asked = bool(_ASKING_YOU.search(text))
    if role != "user" and (_EPHEMERAL.search(text) or _NOW.search(text) or (role == "tool" and _PROGRESS.search(text))):
        return
    if sentence.question and not asked:
        if role == "user":
            _question(builder, sentence)
        return
    for clause in merged(sentence):
        if clause.label:
            continue
        cls, kind = _class_of(clause, sentence, role, asked, folded)
        if cls is None:
            continue
        start, end = clause_bounds(builder.text, clause)
        marks = []
        if cls == "instruction" or clause.flags & lx.MUST or (clause.tokens[0].tags & lx.VERB):
            marks.append("%imp")
        if clause.excepted:
            marks.append("%exc")
            if clause.quantifier == "only" and not clause.flags & (lx.NONE | lx.ONLY):
                marks.append("%not")
        context = " ".join([*marks, *words_of(clause.content)])
        quantifier = clause.quantifier
        builder.add(
            cls, start, end, normalise(builder.text[start:end]), negated=clause.sign < 0, quantifier=quantifier, hedge=clause.hedge, kind=kind, context=context,
        )  # fmt: skip


def _question(builder: Builder, sentence: Sentence) -> None:
    """An open question of the user: it must not come back as something that was decided."""
    content = [token for clause in sentence.clauses for token in clause.content]
    if len(content) >= 2:
        start, end = sentence.clauses[0].start, sentence.clauses[-1].end
        negated = sum(clause.sign < 0 for clause in sentence.clauses) % 2 == 1
        value = normalise(builder.text[start:end])
        builder.add("narrative", start, end, value, hedge="?", negated=negated, context=" ".join(["%ask", *words_of(content)]))


def clause_bounds(text: str, clause: Clause) -> tuple[int, int]:
    """The clause's range without a leading conjunction."""
    first = next((t for t in clause.tokens if not t.tags & lx.CONJ or t.tags & (lx.NEG | lx.VERB)), clause.tokens[0])
    return first.start, clause.end


def merged(sentence: Sentence) -> Iterator[Clause]:
    """Clauses that say something by themselves; what says nothing alone (`nobody else does`) goes to the clause before."""
    held: Clause | None = None
    for clause in sentence.clauses:
        if held is not None and not clause.content:
            if clause.flags & lx.ONLY:
                held.quantifier = "only"
            continue
        if held is not None:
            yield held
        held = clause if clause.content else None
    if held is not None:
        yield held


def _class_of(clause: Clause, sentence: Sentence, role: Role, asked: bool, folded: str) -> tuple[FactClass | None, FactKind]:
    flags, content = clause.flags, len(clause.content)
    words = sum(token.kind != "d" for token in clause.content)
    text = folded[clause.start : clause.end]
    if clause.flags & lx.REASON and role in {"user", "assistant"} and words >= 2:
        return "decision", "reason"
    if (
        clause.negated
        or (clause.excepted and clause.quantifier != "except")
        or any(t.word.startswith(("non-", "non\u2010")) for t in clause.content)
    ):
        if (
            words
            and _substantial(clause, role, words)
            and not (role != "user" and _SMALL_TALK.search(text))
            and not _labels_only(clause)
        ):
            return "prohibition", ""
        return None, ""
    if role in {"user", "assistant"} and words >= 2 and flags & (lx.DECIDED | lx.REJECTED) and not clause.hedge:
        return "decision", "rejected" if flags & lx.REJECTED else "decided"
    if flags & lx.PROMISE and words >= 2 and role != "tool":
        return "commitment", ""
    if (
        role == "user"
        and (asked or _imperative(clause, sentence))
        and (words >= 2 or (words == 1 and clause.tokens[0].tags & lx.VERB and clause.content[0].kind != "w"))
    ):
        return "instruction", ""
    if content >= 2 and words >= 1 and _says_something(clause, sentence, content):
        return "narrative", ""
    return None, ""


_SAYS = lx.AUX | lx.PRED | lx.ONLY | lx.MUST | lx.ALL | lx.MOST | lx.SOME


def _substantial(clause: Clause, role: Role, words: int) -> bool:
    """A tool's `No matches found` and an assistant's `not global` negate nothing that a context must keep."""
    if role == "user":
        return True
    predicate = bool(clause.flags & (lx.AUX | lx.PRED | lx.MUST | lx.UNTIL | lx.EXC | lx.VERB))
    return words >= 2 and predicate if role == "tool" else words >= 2 or predicate


def _says_something(clause: Clause, sentence: Sentence, content: int) -> bool:
    """A fragment (`the current behavior`) is no statement: it needs a predicate, a name, a value or some length."""
    if clause.tokens[0].tags & lx.SUB and content < 4:
        return False
    if content >= 4 or clause.flags & _SAYS or clause.tokens[0].tags & lx.VERB or clause.lead:
        return True
    return sentence.language.code != "en" or any(token.name or token.kind != "w" for token in clause.content)


def _labels_only(clause: Clause) -> bool:
    return all(token.kind in "nd" for token in clause.content) and not clause.excepted


def _imperative(clause: Clause, sentence: Sentence) -> bool:
    if clause.flags & (lx.MUST | lx.PLEASE | lx.ONLY):
        return True
    language = sentence.language
    if language.code == "en":
        opening = [
            t
            for t in clause.tokens
            if not t.tags & (lx.CONJ | lx.ONLY)
            and t.word not in {"then", "also", "always", "just", "first", "next", "finally", "instead", "now"}
        ][:1]
        return bool(opening and opening[0].tags & lx.VERB)
    return not clause.flags & (lx.AUX | lx.SUB)


def encode_tokens(tokens: list[Token]) -> list[str]:
    """Context words of tokens that carry content."""
    return [encode(token) for token in tokens if token.keys]
