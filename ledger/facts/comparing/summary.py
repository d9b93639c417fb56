"""A summary prepared for many questions: its clauses, values and names, each found through an index (design section 4, F2)."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from ledger.facts.comparing.places import Place, Places
from ledger.facts.extraction.analysis import Sentence, analyse
from ledger.facts.extraction.entry_facts import EntryText
from ledger.facts.language import lexicon as lx
from ledger.facts.language.clauses import Clause
from ledger.facts.language.detection import FOREIGN, detect
from ledger.facts.language.fold import fold, normalise
from ledger.facts.language.roles import by_key as roles_by_key
from ledger.facts.language.tokens import Token
from ledger.facts.model import clause_at, near_tokens, side_of
from ledger.facts.structure.blocks import blocks, sentences
from ledger.facts.structure.tables import table_rows
from ledger.facts.values.names import NamedText
from ledger.facts.values.quantities import Number
from ledger.facts.values.rates import told_either_way


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
    points: bool
    roles: dict[str, str]
    plain: frozenset[str]


LONG_SUMMARY_PARTS = 40
"""Clauses from which on a summary tells the story of a session rather than restate a passage. In a story the same words stand
in many clauses, and a state that was true early is told with its later opposite, so that an inversion takes more evidence."""

SEARCHED_CHARS_MAX = 65_536
"""Up to this length a summary is searched through for the very words of a statement."""

RARE_SHARE = 60


_POINTERS = frozenset({"it", "its", "them", "they", "their"})
"""Pronouns that speak of what the sentence before named."""


class SummaryText:
    """Built once per summary, asked once per fact. Code blocks of a summary are read too: they carry facts as well."""

    def __init__(self, text: str, language: lx.Language | None = None) -> None:
        """`language` is that of the text, where it is known."""
        self.text = text
        self.folded = fold(text)
        self.parts: list[Part] = []
        self.by_key: dict[str, list[int]] = {}
        self.numbers: dict[str, Places] = {}
        self.dates = Places()
        self.identifiers: dict[str, list[tuple[int, int]]] = {}
        self.identifier_heads: dict[str, list[str]] = {}
        self.identifier_folds: dict[str, tuple[int, int]] = {}
        self.sentence_parts: list[list[int]] = []
        self.sentence_spans: list[tuple[int, int]] = []
        self.language = language or detect(self.folded, original=text)
        self.normal = normalise(text)
        self.may_strike = "~~" in text or "<" in text
        """May words of it be struck out, or stand in a comment? Most texts have no sign of it."""
        self._named: dict[str, int | None] = {}
        self._holders: dict[str, frozenset[int]] = {}
        self._part_starts: list[int] = []
        self._said: dict[str, int] = {}
        self._names = NamedText(text)
        self._entries: EntryText | None = None
        self._read()

    def _read(self) -> None:
        text, language = self.text, self.language
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
        heads: dict[tuple[int, int], list[Token]] = {}
        for cell in table_rows(self.text, start, end):
            labels: list[Token] = []
            for label in cell.labels:
                if label not in heads:
                    heads[label] = analyse(self.text, self.folded, *label, language).tokens
                labels += heads[label]
            self._sentence(analyse(self.text, self.folded, cell.start, cell.end, language), labels)

    def _sentence(self, sentence: Sentence, labels: list[Token], heading: bool = False) -> None:
        number = len(self.sentence_parts)
        self.sentence_parts.append([])
        self.sentence_spans.append((sentence.start, sentence.end))
        spans: list[tuple[int, int, int]] = []
        previous: int | None = None
        for clause in sentence.clauses:
            if not clause.content and previous is not None and clause.flags & lx.ONLY:
                self.parts[previous] = self.parts[previous]._replace(quantifier="only")
                continue
            clause.label = clause.label or heading
            previous = self._part(clause, number, labels, sentence)
            spans.append((clause.start, clause.end, previous))
        for a, b in sentence.identifiers:
            self._identifier(a, b)
        if not (sentence.numbers or sentence.dates):
            return
        label_keys = _flat(labels)
        every = _flat(sentence.tokens) | label_keys
        index = {token.start: at for at, token in enumerate(sentence.tokens)}
        for item in sentence.numbers:
            part = next((p for s, e, p in spans if s <= item.start < e), -1)
            home = clause_at(sentence, item.start)
            near = _flat(near_tokens(sentence, index[item.start])) if item.start in index else frozenset()
            around = (
                (_flat(home.tokens) | _flat(home.topic) | label_keys) if home is not None and len(home.content) > 2 else every
            )
            self.numbers.setdefault(item.unit, Places()).add(
                Place(
                    item.start,
                    max(item.end, item.noun_end),
                    item.op,
                    item.value,
                    item.unit,
                    near | label_keys,
                    around,
                    part,
                    _counted(sentence, item),
                )
            )
        for date in sentence.dates:
            part = next((p for s, e, p in spans if s <= date.start < e), -1)
            near = _flat(near_tokens(sentence, index[date.start])) if date.start in index else frozenset()
            side = side_of(sentence, index[date.start]) if index.get(date.start) else ""
            self.dates.add(Place(date.start, date.end, side, date.value, "date", near | label_keys, every, part))

    def _part(self, clause: Clause, number: int, labels: list[Token], sentence: Sentence) -> int:
        keys = told_either_way(_flat(clause.content) | _flat(labels) | _flat(clause.topic))
        plain = frozenset(key.lstrip("-^") for key in keys)
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
                any(token.word in _POINTERS for token in clause.tokens),
                roles_by_key(clause) if sentence.language.code == "en" else {},
                plain,
            )
        )
        self.sentence_parts[number].append(at)
        for key in sorted(plain):
            self.by_key.setdefault(key, []).append(at)
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

    @property
    def entries(self) -> EntryText:
        """The text as entries are looked for in it."""
        if self._entries is None:
            self._entries = EntryText(self.text, self.folded, self.language)
        return self._entries

    def rare(self, keys: tuple[str, ...]) -> bool:
        """Does a word stand in so few clauses that it tells them apart? One in `RARE_SHARE` is few, and two always are."""
        most = max(2, len(self.parts) // RARE_SHARE)
        return all(len(self.by_key.get(key.lstrip("-^"), ())) <= most for key in keys)

    def holders(self, key: str) -> frozenset[int]:
        """The clauses with this word (without `-` or `^`)."""
        found = self._holders.get(key)
        if found is None:
            found = self._holders[key] = frozenset(self.by_key.get(key, ()))
        return found

    def said(self, value: str) -> int | None:
        """The clause that says exactly this, in canonical form (see `normalise`), in a summary of many clauses."""
        if len(self.parts) <= LONG_SUMMARY_PARTS:
            return None
        if not self._said:
            for at, part in enumerate(self.parts):
                self._said.setdefault(normalise(self.text[part.start : part.end]), at)
        return self._said.get(value)

    def holds(self, value: str, start: int, end: int) -> bool:
        """Do these words stand one after the other, in canonical form? In a text too long to be searched through for every
        statement, they have to stand between `start` and `end` or be a clause by themselves.
        """
        if len(self.normal) <= SEARCHED_CHARS_MAX:
            return value in self.normal
        return value in normalise(self.text[start:end]) or self.said(value) is not None

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
        return self._names.find(value)


def _segments(clause: Clause) -> dict[str, tuple[int, ...]]:
    """In which members of a list each word of the clause stands; members are numbered through the sentence."""
    found: dict[str, tuple[int, ...]] = {}
    for token in clause.content:
        for key in token.keys:
            held = found.get(key, ())
            if token.segment not in held:
                found[key] = (*held, token.segment)
    return found


def _counted(sentence: Sentence, number: Number) -> frozenset[str]:
    """The words for what a number counts; empty where the word behind it is a verb or an adverb (`5 holds`, `40 overnight`)."""
    if number.noun_start < 0 or number.unit:
        return frozenset()
    noun = next((token for token in sentence.tokens if token.start == number.noun_start), None)
    if noun is None or noun.kind != "w" or noun.tags & (lx.VERB | lx.ADVERB | lx.REPORT):
        return frozenset()
    return frozenset(noun.keys)


def _flat(tokens: list[Token]) -> frozenset[str]:
    return frozenset(key for token in tokens for key in token.keys)
