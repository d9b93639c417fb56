"""Sentences cut into tokens and clauses, each clause with its sign, quantifiers, bounds and hedges.

A clause is the smallest part of a sentence that has a predicate of its own; negation, quantifier and hedge hold within it. The sign
is the parity of what negates: two negations cancel, and a negation with an exception (`none ... without`, `not ... until`) is an
*only*. English is cut by its verbs, other languages by their function words.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ledger.facts import lexicon as lx
from ledger.facts.dates import Dated, find_dates
from ledger.facts.fold import WORD, fold
from ledger.facts.identifiers import COMMANDS, classify
from ledger.facts.lexicon import Language
from ledger.facts.numbers import Number, find_numbers

BOUND = 1 << 28
_OPERATORS = (
    lx.NEG | lx.EXC | lx.UNTIL | lx.ONLY | lx.ALL | lx.SOME | lx.MOST | lx.HEDGE | lx.MUST | lx.MAY | lx.AUX | lx.PRON | lx.SUB | lx.CONJ | lx.OR
    | lx.STOP | lx.INSTEAD | lx.AFTERWARDS | lx.PLEASE | BOUND
)  # fmt: skip
_PREDICATE = lx.AUX | lx.NEG | lx.MUST | lx.MAY | lx.PRON | lx.EXC
_OPENERS = lx.VERB | lx.PRON | lx.NEG | lx.MUST | lx.PLEASE | lx.REASON | lx.INSTEAD | lx.ONLY


class Token:
    """A word (`w`), identifier (`i`), number (`n`), date (`d`) or punctuation mark (`p`) at `[start, end)`."""

    __slots__ = ("end", "keys", "kind", "name", "start", "tags", "word")

    def __init__(self, start: int, end: int, kind: str, word: str, tags: int = 0, keys: tuple[str, ...] = (), name: bool = False) -> None:
        self.start, self.end, self.kind, self.word, self.tags, self.keys, self.name = start, end, kind, word, tags, keys, name


class Clause:
    """A part of a sentence with one predicate. `sign` is -1 where it is negated; `flags` is the union of its tokens' tags."""

    __slots__ = ("content", "end", "excepted", "flags", "hedge", "negated", "quantifier", "sign", "start", "tokens")

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.start = tokens[0].start
        self.end = tokens[-1].end
        self.flags = 0
        for token in tokens:
            self.flags |= token.tags
        self.content = [t for t in tokens if t.keys]
        self.negated = False
        self.excepted = False
        self.sign = 1
        self.quantifier = ""
        self.hedge = ""


class Sentence:
    """A sentence at `[start, end)` with its clauses and the values that stand in it."""

    __slots__ = ("clauses", "dates", "end", "identifiers", "language", "numbers", "question", "start", "tokens")

    def __init__(self, start: int, end: int, language: Language) -> None:
        self.start, self.end, self.language = start, end, language
        self.tokens: list[Token] = []
        self.clauses: list[Clause] = []
        self.numbers: list[Number] = []
        self.dates: list[Dated] = []
        self.identifiers: list[tuple[int, int]] = []
        self.question = False


_CHUNK = re.compile(r"[^\s\u00a0\u202f\u3000]+")
_PIECE = re.compile(rf"[{WORD}](?:[{WORD}'\u2019-]*[{WORD}])?|[^{WORD}\s]")
_LEAD = re.compile(r"^[(\[{<\"'`*\u201c\u2018\u00ab,;:!?|=>]*(?:\((?=\S))?")
_TAIL = re.compile(r"[\"'`*\u201d\u2019\u00bb,;:!?.|\u2026]*$")
_TICKS = re.compile(r"`([^`\n]{1,200})`")
_CAPITAL = re.compile("[A-Z\u00c0-\u00de\u0410-\u042f\u0391-\u03a9]")
_BALANCE = {")": "(", "]": "[", "}": "{", ">": "<"}
_FLAG_WORD = re.compile(r"--?[A-Za-z]")


@lru_cache(maxsize=32768)
def _core(chunk: str) -> tuple[int, int, str]:
    """Where the identifier in a run of non-space characters begins and ends, and its kind; kind is empty if there is none."""
    if len(chunk) > 600:
        return 0, 0, ""
    start = _LEAD.match(chunk).end()  # type: ignore[union-attr]
    end = len(chunk)
    while end > start:
        last = chunk[end - 1]
        if last in "\"'`*\u201d\u2019\u00bb,;:!?.|\u2026":
            end -= 1
        elif last in _BALANCE and chunk.count(_BALANCE[last], start, end) < chunk.count(last, start, end):
            end -= 1
        else:
            break
    kind = classify(chunk[start:end])
    if not kind:
        for mark in ("=", ",", "(", "\u2014", "|", ":", "~"):
            head, found, _ = chunk[start:end].partition(mark)
            if found and len(head) > 2 and classify(head):
                return start, start + len(head), classify(head)
    return start, end, kind


def find_identifiers(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Ranges of identifiers in `[start, end)`: quoted code, then whatever has an identifier's shape. In order, none nested."""
    found: list[tuple[int, int]] = []
    ticks = [(m.start(1), m.end(1)) for m in _TICKS.finditer(text, start, end)] if "`" in text[start:end] else []
    for a, b in ticks:
        if text[a:b].strip() and not text[a:b].isspace() and b - a <= 120:
            found.append((a, b))
    open_command = -1
    for m in _CHUNK.finditer(text, start, end):
        chunk = m[0]
        a, b, kind = _core(chunk)
        at, to = m.start() + a, m.start() + b
        if ticks and any(x < to and at < y for x, y in ticks):
            open_command = -1
            continue
        if kind:
            if kind == "flag" and open_command >= 0 and found:
                found[-1] = (found[-1][0], to)
            elif open_command >= 0 and found and kind in {"path", "file", "digits", "version", "code", "symbol"} and text[found[-1][1] - 1] not in ",;":
                found[-1] = (found[-1][0], to)
            else:
                found.append((at, to))
                open_command = len(found) if kind == "path" and chunk[a : a + 2] == "./" else -1
        elif open_command >= 0 and _command_word(text, m, chunk):
            continue
        if chunk[-1] in ",;.:)" or (not kind and open_command < 0):
            open_command = -1
    return sorted(found)


def _command_word(text: str, m: re.Match[str], chunk: str) -> bool:
    """A plain word inside a command line: one that a flag or another argument still follows."""
    return bool(chunk.isascii() and chunk.isalnum() and chunk.islower() and re.match(r"\s+--?[A-Za-z]", text[m.end() : m.end() + 4]))


def analyse(original: str, folded: str, start: int, end: int, language: Language) -> Sentence:
    """Tokens, values and clauses of one sentence at `[start, end)`."""
    sentence = Sentence(start, end, language)
    sentence.identifiers = find_identifiers(original, start, end)
    sentence.dates = [d for d in find_dates(folded, start, end, language) if not any(a < d.end and d.start < b and (b - a) > (d.end - d.start) for a, b in sentence.identifiers)]
    sentence.identifiers = [(a, b) for a, b in sentence.identifiers if not any(d.start < b and a < d.end for d in sentence.dates)]
    taken = [*sentence.identifiers, *((d.start, d.end) for d in sentence.dates)]
    if sentence.language.number_words or any(c in folded[start:end] for c in "0123456789"):
        sentence.numbers = find_numbers(original, folded, start, end, language, taken)
    sentence.tokens = _tokens(original, folded, sentence)
    _tag(sentence.tokens, language)
    _name(original, sentence)
    sentence.question = original[start:end].rstrip("\"')]} \u201d*_").endswith(("?", "\uff1f", "\u061f"))
    sentence.clauses = [_settle(Clause(part), language) for part in _split(sentence.tokens, language)]
    return sentence


def _tokens(original: str, folded: str, sentence: Sentence) -> list[Token]:
    values: list[tuple[int, int, str, str]] = [(a, b, "i", original[a:b]) for a, b in sentence.identifiers]
    values += [(d.start, d.end, "d", d.value) for d in sentence.dates]
    values += [(n.start, n.noun_start if n.start < n.noun_start < n.end else n.end, "n", n.canonical) for n in sentence.numbers]
    values.sort()
    tokens: list[Token] = []
    at = sentence.start
    language = sentence.language
    for a, b, kind, value in values:
        if a < at:
            continue
        _words(folded, at, a, language, tokens)
        keys = ("!" + value,) if kind == "i" else ("#" + value,)
        if kind == "i" and not classify(value) and value.isalpha():
            keys = (*language.keys(fold(value)), *keys)
        tokens.append(Token(a, b, kind, value, 0, keys))
        at = b
    _words(folded, at, sentence.end, language, tokens)
    return tokens


def _words(folded: str, start: int, end: int, language: Language, tokens: list[Token]) -> None:
    single = language.tags.single
    for m in _PIECE.finditer(folded, start, end):
        word = m[0]
        if not (word[0].isalnum() or word[0] == "_" or len(word) > 1):
            if word not in "\"'`*#_\\":
                tokens.append(Token(m.start(), m.end(), "p", word))
            continue
        if language.no_spaces and not word.isascii():
            _bigrams(m.start(), word, language, tokens)
            continue
        tags = single.get(word, 0)
        if not tags and language.apostrophe_negation and word.endswith("n't"):
            tags = lx.NEG | lx.AUX
        if not tags and "-" in word and word not in language.concepts:
            head, _, rest = word.partition("-")
            if head not in {"non", "un", "de"} and rest:
                for piece_start, piece in ((m.start(), head), (m.start() + len(head) + 1, rest)):
                    if piece:
                        tokens.append(Token(piece_start, piece_start + len(piece), "w", piece, single.get(piece, 0) & ~(lx.NEG | lx.EXC), language.keys(piece)))
                continue
        tokens.append(Token(m.start(), m.end(), "w", word, tags, language.keys(word)))


def _bigrams(start: int, run: str, language: Language, tokens: list[Token]) -> None:
    """Scripts without spaces: overlapping pairs of characters stand for words; operators are found inside the run."""
    tagged: dict[int, int] = {}
    covered = bytearray(len(run))
    for phrase, tag in language.inside:
        at = run.find(phrase)
        while at >= 0:
            if not covered[at]:
                tagged[at] = tagged.get(at, 0) | tag
                covered[at : at + len(phrase)] = b"\x01" * len(phrase)
            at = run.find(phrase, at + len(phrase))
    for at in range(max(1, len(run) - 1)):
        pair = run[at : at + 2]
        tag = tagged.get(at, 0)
        keys = () if covered[at] or (len(pair) > 1 and covered[at + 1]) else language.keys(pair)
        tokens.append(Token(start + at, start + at + len(pair), "w", pair, tag, keys))


def _tag(tokens: list[Token], language: Language) -> None:
    """Phrases of several words, operators inside words, and which words carry content."""
    longer, concepts, single = language.tags.longer, language.concept_phrases, language.tags.single
    skip = 0
    for at, token in enumerate(tokens):
        if skip:
            skip -= 1
            token.tags, token.keys = token.tags & lx.PRON, ()
            continue
        if token.kind != "w":
            continue
        word = token.word
        for rest, tag in longer.get(word, ()):
            if _follows(tokens, at, rest):
                token.tags, skip = tag & ~lx.NEUTRAL, len(rest)
                token.keys = ()
                break
        else:
            for rest, bound in _bound_phrases(language).get(word, ()):
                if _follows(tokens, at, rest):
                    token.tags, skip = BOUND, len(rest)
                    token.keys = ()
                    break
        for rest, key in concepts.get(word, ()):
            if _follows(tokens, at, rest):
                token.keys = (key,)
                token.tags &= ~_OPERATORS
                for later in tokens[at + 1 : at + 1 + len(rest)]:
                    later.keys, later.tags = (), later.tags & ~lx.NEG
        if not language.no_spaces:
            for inside, tag in language.inside:
                if inside in word:
                    token.tags |= tag
        if language.negative_words is not None and language.negative_words.search(word):
            token.tags |= lx.NEG
        if token.tags & _OPERATORS and not (token.keys and token.keys[0].lstrip("-")[:1] == "@" and not token.tags & (lx.NEG | lx.AUX)):
            if not (token.tags & lx.NEG and (language.inside or language.negative_words) and word not in single):
                token.keys = ()


@lru_cache(maxsize=64)
def _bound_rows(code: str) -> dict[str, list[tuple[tuple[str, ...], str]]]:
    rows: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for entry, op in lx.LANGUAGES[code].bounds.items():
        if len(entry) > 1:
            rows.setdefault(entry[0], []).append((entry[1:], op))
    for found in rows.values():
        found.sort(key=lambda row: (-len(row[0]), row[0]))
    return rows


def _bound_phrases(language: Language) -> dict[str, list[tuple[tuple[str, ...], str]]]:
    return _bound_rows(language.code)


def _follows(tokens: list[Token], at: int, rest: tuple[str, ...]) -> bool:
    if at + len(rest) >= len(tokens):
        return False
    return all(tokens[at + 1 + offset].word == word for offset, word in enumerate(rest))


def _name(original: str, sentence: Sentence) -> None:
    """Capital letters within a sentence make a name, unless the language or the sentence capitalises anyway."""
    words = [t for t in sentence.tokens if t.kind == "w" and t.keys]
    capitals = [t for t in words if _CAPITAL.match(original[t.start])]
    if sentence.language.code == "de" or len(capitals) * 2 > len(words) + 2:
        return
    opening = True
    for token in sentence.tokens:
        if token.kind == "p":
            opening = token.word in ".:!?(*-"
            continue
        if not opening and token.kind == "w" and token.keys and _CAPITAL.match(original[token.start]) and not token.word.isupper():
            token.name = True
        opening = False


def _split(tokens: list[Token], language: Language) -> list[list[Token]]:
    parts: list[list[Token]] = []
    part: list[Token] = []
    negated = content = False
    for at, token in enumerate(tokens):
        if token.kind == "p":
            if part and (token.word in ";\u2014()" or (token.word == "-" and _spaced(tokens, at)) or (token.word == ":" and _spaced(tokens, at, after_only=True))):
                parts.append(part)
                part, negated, content = [], False, False
            elif token.word == "," and content and _new_clause(tokens, at + 1, language):
                parts.append(part)
                part, negated, content = [], False, False
            continue
        if content and _opens(tokens, at, token, negated, language):
            parts.append(part)
            part, negated, content = [], False, False
        part.append(token)
        negated = negated or bool(token.tags & lx.NEG)
        content = content or bool(token.keys)
    if part:
        parts.append(part)
    return parts


def _spaced(tokens: list[Token], at: int, after_only: bool = False) -> bool:
    after = at + 1 >= len(tokens) or tokens[at + 1].start > tokens[at].end
    return after and (after_only or at == 0 or tokens[at - 1].end < tokens[at].start)


def _opens(tokens: list[Token], at: int, token: Token, negated: bool, language: Language) -> bool:
    """Does a new clause begin with this word?"""
    tags = token.tags
    if tags & lx.INSTEAD:
        return True
    if tags & lx.EXC:
        return not negated
    if tags & lx.UNTIL:
        return False
    if tags & lx.CONJ:
        return _new_clause(tokens, at + 1, language)
    return bool(tags & (lx.SUB | lx.REASON)) and not tags & lx.ONLY


def _new_clause(tokens: list[Token], at: int, language: Language) -> bool:
    """Is what follows a clause of its own: does it open with a verb or hold an auxiliary, pronoun or negation of its own?"""
    seen = words = 0
    for token in tokens[at : at + 9]:
        if token.kind == "p":
            if token.word in ",;:.()\u2014" and words:
                break
            continue
        if token.tags & lx.CONJ:
            if words:
                break
            continue
        words += 1
        if words == 1 and token.tags & _OPENERS:
            return True
        if token.tags & _PREDICATE:
            return True
        seen += bool(token.keys)
    return language.code != "en" and seen >= 3


def _settle(clause: Clause, language: Language) -> Clause:
    """Sign, quantifier and hedge of a clause."""
    count = 0
    neither = False
    for token in clause.tokens:
        tags = token.tags
        if tags & lx.HEDGE and not clause.hedge:
            clause.hedge = token.word
        if tags & lx.NEG:
            if neither and token.word in {"nor", "ni", "ani", "ни", "weder", "noch"}:
                continue
            neither = neither or token.word in {"neither", "nor", "ni", "ani", "ни", "weder", "né", "ne"}
            count += 1
        elif tags & lx.EXC or tags & lx.INSTEAD:
            clause.excepted = True
            if count:
                clause.quantifier = "only"
            count += 1
        elif tags & lx.UNTIL and count % 2:
            clause.quantifier = "only"
            clause.excepted = True
            count += 1
    if language.code in _DOUBLE and count == 2 and not clause.excepted:
        count = 1
    clause.negated = count > 0
    clause.sign = -1 if count % 2 else 1
    flags = clause.flags
    if not clause.quantifier:
        clause.quantifier = (
            "only" if flags & (lx.ONLY | lx.AFTERWARDS) else "all" if flags & lx.ALL else "some" if flags & lx.SOME else "most" if flags & lx.MOST else ""
        )
    return clause


_DOUBLE = frozenset({"ru", "uk", "pl", "es", "pt", "it", "fr", "cs", "sr", "ro", "el", "tr"})
"""Languages where two negative words make one negation (`no ... nunca`, `nie ... nigdy`, `ne ... pas`)."""
