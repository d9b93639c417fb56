"""A summary prepared for many questions: its clauses, values and names, each found through an index (design section 4, F2)."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

from ledger.facts import lexicon as lx
from ledger.facts.blocks import blocks, sentences
from ledger.facts.clauses import Clause, Sentence, analyse
from ledger.facts.fold import DIGITS, WORD, fold, normalise
from ledger.facts.lexicon import FOREIGN, detect
from ledger.facts.model import clause_at, near_tokens, side_of
from ledger.facts.tables import table_rows
from ledger.facts.tokens import Token


class Place(NamedTuple):
    """Where a value stands in the summary, with the words near it and all words of its clause."""

    start: int
    end: int
    op: str
    value: str
    unit: str
    near: frozenset[str]
    around: frozenset[str]
    clause: int


class Part(NamedTuple):
    """A clause of the summary: its range, sign, words, and the sentence it belongs to."""

    start: int
    end: int
    sign: int
    quantifier: str
    hedge: str
    flags: int
    excepted: bool
    keys: frozenset[str]
    sentence: int
    negated: bool
    size: int
    label: bool
    segments: dict[str, tuple[int, ...]]
    question: bool
    english: bool


RARE_SHARE = 60


class SummaryText:
    """Built once per summary, asked once per fact. Code blocks of a summary are read too: they carry facts as well."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = fold(text)
        self.parts: list[Part] = []
        self.by_key: dict[str, list[int]] = {}
        self.numbers: dict[str, list[Place]] = {}
        self.dates: list[Place] = []
        self.date_values: dict[str, list[Place]] = {}
        self.identifiers: dict[str, list[tuple[int, int]]] = {}
        self.identifier_heads: dict[str, list[str]] = {}
        self.identifier_folds: dict[str, tuple[int, int]] = {}
        self.sentence_parts: list[list[int]] = []
        self.normal = normalise(text)
        self._named: dict[str, int | None] = {}
        self._part_starts: list[int] = []
        self._read()

    def _read(self) -> None:
        text, language = self.text, detect(self.folded, original=self.text)
        table: list[tuple[int, int]] = []
        for block in blocks(text):
            if block.kind == "table":
                table.append((block.start, block.end))
                continue
            if table:
                self._table(table[0][0], table[-1][1], language)
                table = []
            local = language
            if block.end - block.start > 24 and (language.code != "en" or FOREIGN.search(text, block.start, block.end)):
                local = detect(self.folded[block.start : block.end], language, text[block.start : block.end])
            for start, end in sentences(text, block.start, block.end):
                self._sentence(analyse(text, self.folded, start, end, local), [], heading=block.kind == "heading")
        if table:
            self._table(table[0][0], table[-1][1], language)

    def _table(self, start: int, end: int, language: lx.Language) -> None:
        for cell in table_rows(self.text, start, end):
            labels: list[Token] = []
            for a, b in cell.labels:
                labels += analyse(self.text, self.folded, a, b, language).tokens
            self._sentence(analyse(self.text, self.folded, cell.start, cell.end, language), labels)

    def _sentence(self, sentence: Sentence, labels: list[Token], heading: bool = False) -> None:
        number = len(self.sentence_parts)
        self.sentence_parts.append([])
        spans: list[tuple[int, int, int]] = []
        previous: int | None = None
        for clause in sentence.clauses:
            if not clause.content and previous is not None and clause.flags & lx.ONLY:
                self.parts[previous] = self.parts[previous]._replace(quantifier="only")
                continue
            clause.label = clause.label or heading
            previous = self._part(clause, number, labels, sentence)
            spans.append((clause.start, clause.end, previous))
        label_keys = _flat(labels)
        every = _flat(sentence.tokens) | label_keys
        index = {token.start: at for at, token in enumerate(sentence.tokens)}
        for a, b in sentence.identifiers:
            self._identifier(a, b)
        for item in sentence.numbers:
            op = item.op
            part = next((p for s, e, p in spans if s <= item.start < e), -1)
            home = clause_at(sentence, item.start)
            near = _flat(near_tokens(sentence, index[item.start])) if item.start in index else frozenset()
            around = (_flat(home.tokens) | label_keys) if home is not None and len(home.content) > 2 else every
            self.numbers.setdefault(item.unit, []).append(
                Place(item.start, max(item.end, item.noun_end), op, item.value, item.unit, near | label_keys, around, part)
            )
        for date in sentence.dates:
            part = next((p for s, e, p in spans if s <= date.start < e), -1)
            near = _flat(near_tokens(sentence, index[date.start])) if date.start in index else frozenset()
            side = side_of(sentence, index[date.start]) if index.get(date.start) else ""
            place = Place(date.start, date.end, side, date.value, "date", near | label_keys, every, part)
            self.dates.append(place)
            self.date_values.setdefault(date.value, []).append(place)

    def _part(self, clause: Clause, number: int, labels: list[Token], sentence: Sentence) -> int:
        keys = _flat(clause.content) | _flat(labels) | _flat(clause.topic)
        at = len(self.parts)
        self.parts.append(
            Part(
                clause.start,
                clause.end,
                clause.sign,
                clause.quantifier,
                clause.hedge,
                clause.flags,
                clause.excepted,
                keys,
                number,
                clause.negated,
                len(clause.content),
                clause.label,
                _segments(clause),
                sentence.question,
                sentence.language.code == "en",
            )
        )
        self.sentence_parts[number].append(at)
        for key in sorted(keys):
            self.by_key.setdefault(key.lstrip("-^"), []).append(at)
        return at

    def _identifier(self, start: int, end: int) -> None:
        value = self.text[start:end]
        if value not in self.identifiers:
            self.identifier_heads.setdefault(value[:4], []).append(value)
        self.identifiers.setdefault(value, []).append((start, end))
        self.identifier_folds.setdefault(fold(value), (start, end))
        tail = value.replace("\\", "/").rstrip("/").rpartition("/")[2]
        if tail:
            self.identifier_folds.setdefault("/" + fold(tail), (start, end))

    def rare(self, keys: tuple[str, ...]) -> bool:
        """Does a word stand in so few clauses that it tells them apart? One in `RARE_SHARE` is few, and two always are."""
        most = max(2, len(self.parts) // RARE_SHARE)
        return all(len(self.by_key.get(key.lstrip("-^"), ())) <= most for key in keys)

    def part_at(self, value: str) -> int | None:
        """The clause in which these exact characters stand as a whole, though nothing in the summary marks them as a name."""
        if value not in self._named:
            found = self.find(value)
            at = bisect_right(self._starts(), found[0]) - 1 if found else -1
            self._named[value] = at if at >= 0 and found and found[0] < self.parts[at].end else None
        return self._named[value]

    def _starts(self) -> list[int]:
        if len(self._part_starts) != len(self.parts):
            self._part_starts = [part.start for part in self.parts]
        return self._part_starts

    def find(self, value: str) -> tuple[int, int] | None:
        """Where exactly these characters stand as a whole: not inside a longer name. A longer path that ends in them counts."""
        if not value:
            return None
        at = self.text.find(value)
        tries = 0
        while at >= 0 and tries < 64:
            end = at + len(value)
            if _edge_before(self.text, at, value) and _edge_after(self.text, end, value):
                return at, end
            at = self.text.find(value, at + 1)
            tries += 1
        return None


def _segments(clause: Clause) -> dict[str, tuple[int, ...]]:
    """In which members of a list each word of the clause stands; members are numbered through the sentence."""
    found: dict[str, tuple[int, ...]] = {}
    for token in clause.content:
        for key in token.keys:
            held = found.get(key, ())
            if token.segment not in held:
                found[key] = (*held, token.segment)
    return found


def _flat(tokens: list[Token]) -> frozenset[str]:
    return frozenset(key for token in tokens for key in token.keys)


_NAME_CHAR = re.compile(f"[{WORD}]", re.ASCII)


@lru_cache(maxsize=4096)
def _is_name_char(char: str) -> bool:
    return bool(_NAME_CHAR.match(char))


def _edge_before(text: str, at: int, value: str) -> bool:
    if at == 0:
        return True
    before = text[at - 1]
    if before == "/":
        return value[0] not in "/~." and text[at - 2 : at - 1] != "." and text[max(0, at - 3) : at] != "../"
    if before in "-.@#$\\":
        return (before == "." and text[at - 2 : at - 1] in {".", " ", ""}) or (
            before == "-" and text[at - 2 : at - 1] in {" ", "\n", "\u2014"}
        )
    return not _is_name_char(before) or not _is_name_char(value[0]) or (ord(before) > 0x2FF and value[0].isascii())


def _edge_after(text: str, end: int, value: str) -> bool:
    if end >= len(text):
        return True
    after = text[end]
    if value[-1] == "/":
        return True
    if after in "/\\":
        return False
    if after in ".-@:":
        following = text[end + 1 : end + 2]
        if after == ":" and following in DIGITS:
            return "." in value
        return not (following and _is_name_char(following))
    return not _is_name_char(after) or (ord(after) > 0x2FF and value[-1].isascii())
