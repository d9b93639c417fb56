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
from ledger.facts.identifiers import classify
from ledger.facts.lexicon import Language
from ledger.facts.numbers import Number, find_numbers

BOUND = 1 << 28
ABSORBS = 1 << 30
"""Set on a number whose bound has taken up a negation: `not more than`, `no ... more than twice`."""

_OPERATORS = (
    lx.NEG | lx.EXC | lx.EXCEPT | lx.UNTIL | lx.ONLY | lx.ALL | lx.SOME | lx.MOST | lx.HEDGE | lx.MUST | lx.MAY | lx.AUX | lx.PRON | lx.SUB | lx.CONJ | lx.OR
    | lx.STOP | lx.INSTEAD | lx.AFTERWARDS | lx.PLEASE | BOUND
)  # fmt: skip
_PREDICATE = lx.AUX | lx.PRED | lx.NEG | lx.MUST | lx.MAY | lx.PRON | lx.EXC
_OPENERS = lx.VERB | lx.PRON | lx.NEG | lx.MUST | lx.PLEASE | lx.REASON | lx.INSTEAD | lx.ONLY


LABEL_WORDS_MAX = 3
"""Content words that a label before a colon may have."""


def _is_label(clause: Clause) -> bool:
    if clause.flags & (lx.AUX | lx.PRON) or clause.tokens[0].tags & lx.VERB:
        return False
    return len(clause.content) <= (1 if clause.flags & lx.NEG else LABEL_WORDS_MAX)


class Token:
    """A word (`w`), identifier (`i`), number (`n`), date (`d`) or punctuation mark (`p`) at `[start, end)`."""

    __slots__ = ("end", "keys", "kind", "name", "start", "tags", "word")

    def __init__(
        self, start: int, end: int, kind: str, word: str, tags: int = 0, keys: tuple[str, ...] = (), name: bool = False
    ) -> None:
        self.start, self.end, self.kind, self.word, self.tags, self.keys, self.name = start, end, kind, word, tags, keys, name


class Clause:
    """A part of a sentence with one predicate. `sign` is -1 where it is negated; `flags` is the union of its tokens' tags."""

    __slots__ = (
        "content",
        "end",
        "excepted",
        "flags",
        "hedge",
        "label",
        "lead",
        "negated",
        "quantifier",
        "sign",
        "start",
        "tokens",
    )

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.start = tokens[0].start
        self.end = tokens[-1].end
        self.flags = 0
        for token in tokens:
            self.flags |= token.tags
        self.content = [t for t in tokens if t.keys]
        self.lead: list[Token] = []
        self.label = False
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
        if last in "\"'`*\u201d\u2019\u00bb,;:!?.|\u2026" or (last in _BALANCE and chunk.count(_BALANCE[last], start, end) < chunk.count(last, start, end)):
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
            if (kind == "flag" and open_command >= 0 and found) or (
                open_command >= 0
                and found
                and kind in {"path", "file", "digits", "version", "code", "symbol"}
                and text[found[-1][1] - 1] not in ",;"
            ):
                found[-1] = (found[-1][0], to)
            else:
                found.append((at, to))
                open_command = len(found) if kind == "path" and chunk[a : a + 2] == "./" else -1
        elif open_command >= 0 and _command_word(text, m, chunk):
            continue
        if chunk[-1] in ",;.:)" or not kind:
            open_command = -1
    return sorted(found)


def _command_word(text: str, m: re.Match[str], chunk: str) -> bool:
    """A plain word inside a command line: one that a flag or another argument still follows."""
    return bool(
        chunk.isascii() and chunk.isalnum() and chunk.islower() and re.match(r"\s+--?[A-Za-z]", text[m.end() : m.end() + 4])
    )


def analyse(original: str, folded: str, start: int, end: int, language: Language) -> Sentence:
    """Tokens, values and clauses of one sentence at `[start, end)`."""
    sentence = Sentence(start, end, language)
    sentence.identifiers = find_identifiers(original, start, end)
    sentence.dates = [
        d
        for d in find_dates(folded, start, end, language)
        if not any(a < d.end and d.start < b and (b - a) > (d.end - d.start) for a, b in sentence.identifiers)
    ]
    sentence.identifiers = [
        (a, b) for a, b in sentence.identifiers if not any(d.start < b and a < d.end for d in sentence.dates)
    ]
    taken = [*sentence.identifiers, *((d.start, d.end) for d in sentence.dates)]
    sentence.numbers = find_numbers(original, folded, start, end, language, taken)
    sentence.tokens = _tokens(original, folded, sentence)
    _tag(sentence.tokens, language)
    _turn_bounds(folded, sentence)
    _order(sentence.tokens, language)
    _name(original, sentence)
    sentence.question = original[start:end].rstrip("\"')]} \u201d*_").endswith(("?", "\uff1f", "\u061f"))
    sentence.clauses = [_settle(clause, language) for clause in _labelled(_split(sentence.tokens, language), folded)]
    return sentence


def _labelled(parts: list[list[Token]], folded: str) -> list[Clause]:
    """Clauses of a sentence; a short head before a colon (`Done:`, `Not allowed:`) speaks for what follows it."""
    clauses: list[Clause] = []
    label: list[Token] = []
    for at, part in enumerate(parts):
        clause = Clause(part)
        if at + 1 < len(parts) and ":" in folded[part[-1].end : parts[at + 1][0].start] and _is_label(clause):
            label = [
                t for t in part if t.tags & (lx.NEG | lx.ONLY | lx.HEDGE) or any(key.lstrip("-") in lx.POLAR for key in t.keys)
            ]
            clause.label = True
            clauses.append(clause)
            continue
        if label:
            clause.lead = label
            clause.content = [*(t for t in label if t.keys), *clause.content]
        clauses.append(clause)
    return clauses


_COMPARATIVE = frozenset(
    "more less fewer exceed exceeds exceeding mas menos mais piu meno plus moins mehr weniger meer minder mer mindre wiecej mniej более больше менее меньше".split()
)
_RESTRICTIVE = frozenset("with of having containing than con de com di avec mit met med z с".split())


def _turn_bounds(folded: str, sentence: Sentence) -> None:
    """`no sample may be thawed more than twice` bounds from above: the negation goes into the bound, `> 2` becomes `<= 2`.

    A bound that narrows a noun (`never load sheets above 2,000 rows`) keeps its sense and leaves the negation to the verb.
    """
    tokens = sentence.tokens
    for at, number in enumerate(sentence.numbers):
        if number.op not in {">", "<"}:
            continue
        index = next((i for i, t in enumerate(tokens) if t.kind == "n" and t.start == number.start), -1)
        before = tokens[index - 1] if index > 0 else None
        first = folded[number.start : number.end].split(" ", maxsplit=1)[0]
        if before is None or before.word in _RESTRICTIVE or not (first in _COMPARATIVE or before.tags & (lx.AUX | lx.NEG)):
            continue
        for earlier in reversed(tokens[max(0, index - 9) : index]):
            if earlier.tags & (lx.EXC | lx.SUB | lx.CONJ) or (earlier.kind == "p" and earlier.word in ";:"):
                break
            if earlier.tags & lx.NEG:
                op = {">": "<=", "<": ">="}[number.op]
                sentence.numbers[at] = number._replace(op=op)
                tokens[index].tags |= ABSORBS
                tokens[index].keys = ("#" + op + number.value,)
                break


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
    no_spaces, known, append = language.no_spaces, language.known, tokens.append
    for m in _PIECE.finditer(folded, start, end):
        word = m[0]
        at = m.start()
        entry = known.get(word)
        if entry is None:
            entry = _learn(word, language)
        if entry is _MARK:
            if word not in "\"'`*#_\\":
                append(Token(at, at + 1, "p", word))
        elif no_spaces and not word.isascii():
            _bigrams(at, word, language, tokens)
        else:
            for offset, piece, tags, keys in entry:
                append(Token(at + offset, at + offset + len(piece), "w", piece, tags, keys))


_Entry = tuple[tuple[int, str, int, tuple[str, ...]], ...]
_MARK: _Entry = ()
KNOWN_MAX = 50_000
"""Words of one language whose analysis is kept; then the memory starts anew. It changes nothing but speed."""


def _learn(word: str, language: Language) -> _Entry:
    """Tags and keys of a word, or of the parts of a compound; punctuation has none."""
    entry: _Entry
    if len(word) == 1 and not (word.isalnum() or word == "_"):
        entry = _MARK
    else:
        tags = language.tags.single.get(word, 0)
        if language.apostrophe_negation and word.endswith("n't"):
            tags |= lx.NEG | lx.AUX
        head, dash, rest = word.partition("-")
        if (
            not tags
            and dash
            and rest
            and word not in language.concepts
            and head not in {"non", "un", "de"}
            and not language.no_spaces
        ):
            parts = ((0, head), (len(head) + 1, rest))
            entry = tuple(
                (at, part, language.tags.single.get(part, 0) & ~(lx.NEG | lx.EXC), language.keys(part))
                for at, part in parts
                if part
            )
        else:
            entry = ((0, word, tags, language.keys(word)),)
    if len(language.known) >= KNOWN_MAX:
        language.known.clear()
    language.known[word] = entry
    return entry


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
    single, starters = language.tags.single, _starters(language.code)
    inner = language.inside if not language.no_spaces else ()
    negative = language.negative_words
    skip = 0
    for at, token in enumerate(tokens):
        if skip:
            skip -= 1
            token.tags, token.keys = token.tags & lx.PRON, ()
            continue
        if token.kind != "w":
            continue
        word = token.word
        if word in starters:
            skip = _phrase(tokens, at, language)
        for inside, tag in inner:
            if inside in word:
                token.tags |= tag
        if negative is not None and negative.search(word):
            token.tags |= lx.NEG
        if token.tags & _OPERATORS and not (
            token.keys and token.keys[0].lstrip("-")[:1] == "@" and not token.tags & (lx.NEG | lx.AUX)
        ):
            if word in single or not token.tags & lx.NEG or not (language.inside or language.negative_words):
                token.keys = ()
            elif language.inside:
                token.keys = _rest_keys(word, language)


@lru_cache(maxsize=64)
def _starters(code: str) -> frozenset[str]:
    language = lx.LANGUAGES[code]
    return frozenset((*language.tags.longer, *_bound_rows(code), *language.concept_phrases))


def _phrase(tokens: list[Token], at: int, language: Language) -> int:
    """Reads a phrase that begins at this token; answers how many further tokens belong to it as operators."""
    token, word = tokens[at], tokens[at].word
    skip = 0
    for rest, tag in language.tags.longer.get(word, ()):
        if _follows(tokens, at, rest):
            token.tags, token.keys, skip = tag & ~lx.NEUTRAL, (), len(rest)
            break
    else:
        for rest, _ in _bound_phrases(language).get(word, ()):
            if _follows(tokens, at, rest):
                token.tags, token.keys, skip = BOUND, (), len(rest)
                break
    for rest, key in language.concept_phrases.get(word, ()):
        if _follows(tokens, at, rest):
            token.keys = (key,)
            token.tags &= ~_OPERATORS
            for later in tokens[at + 1 : at + 1 + len(rest)]:
                later.keys, later.tags = (), later.tags & ~lx.NEG
    return skip


def _rest_keys(word: str, language: Language) -> tuple[str, ...]:
    """What a word says beside its negation: `변경금지` speaks of a change, `금지` of nothing."""
    for inside, tag in language.inside:
        if tag & lx.NEG and inside in word:
            rest = word.partition(inside)[0]
            return language.keys(rest) if len(rest) >= 2 else ()
    return language.keys(word)


@lru_cache(maxsize=64)
def _bound_rows(code: str) -> dict[str, list[tuple[tuple[str, ...], str]]]:
    rows: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for entry, op in lx.LANGUAGES[code].bounds.items():
        if len(entry) > 1:
            rows.setdefault(entry[0], []).append((entry[1:], op))
    for found in rows.values():
        found.sort(key=lambda row: (-len(row[0]), row[0]))
    return rows


def _order(tokens: list[Token], language: Language) -> None:
    """`before the audit` and `after the audit` are opposites where they speak of the same thing."""
    for at, token in enumerate(tokens):
        sign = "" if token.word in language.before else "-" if token.word in language.after else None
        if sign is None or token.kind != "w":
            continue
        following = next((t for t in tokens[at + 1 : at + 5] if t.keys and t.kind == "w"), None)
        if following is not None:
            token.keys = (f"{sign}<{following.keys[-1].lstrip('-')}",)


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
        if (
            not opening
            and token.kind == "w"
            and token.keys
            and _CAPITAL.match(original[token.start])
            and not token.word.isupper()
        ):
            token.name = True
        opening = False


def _split(tokens: list[Token], language: Language) -> list[list[Token]]:
    parts: list[list[Token]] = []
    part: list[Token] = []
    negated = content = False
    inside = -1
    for at, token in enumerate(tokens):
        if token.kind == "p":
            if token.word == "(":
                inside = _values_only(tokens, at)
            if at <= inside:
                continue
            if (part and (
                token.word in ";\u2014()"
                or (token.word == "-" and _spaced(tokens, at))
                or (token.word == ":" and _spaced(tokens, at, after_only=True))
            )) or (token.word == "," and content and not _excepts(tokens, at + 1) and _new_clause(tokens, at + 1, language)):
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


def _values_only(tokens: list[Token], at: int) -> int:
    """Index of the bracket that closes the one at `at`, if nothing but values stands between: such a bracket splits no clause."""
    for later in range(at + 1, min(len(tokens), at + 6)):
        if tokens[later].word == ")":
            return later
        if tokens[later].kind == "w" and tokens[later].keys:
            return -1
    return -1


def _spaced(tokens: list[Token], at: int, after_only: bool = False) -> bool:
    after = at + 1 >= len(tokens) or tokens[at + 1].start > tokens[at].end
    return after and (after_only or at == 0 or tokens[at - 1].end < tokens[at].start)


def _excepts(tokens: list[Token], at: int) -> bool:
    return at < len(tokens) and bool(tokens[at].tags & lx.EXCEPT)


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
    before = ""
    for token in tokens[at : at + 9]:
        if token.kind == "p":
            if token.word in ",;:.\u2014" and words:
                break
            continue
        if token.tags & lx.CONJ:
            if words:
                break
            continue
        words += 1
        if words == 1 and token.tags & _OPENERS:
            return True
        if token.tags & _PREDICATE or (words == 2 and token.tags & lx.VERB and before.endswith("s") and seen):
            return True
        before = token.word
        seen += bool(token.keys)
    return language.code != "en" and seen >= 3


def _settle(clause: Clause, language: Language) -> Clause:
    """Sign, quantifier and hedge of a clause."""
    count = 0
    neither = False
    for token, following in zip(clause.tokens, clause.tokens[1:], strict=False):
        if (
            token.tags & lx.ALL
            and (following.kind == "n" or following.word[0] in "0123456789" or following.word in language.number_words)
            and token.word not in {"all", "both"}
        ):
            token.tags &= ~lx.ALL  # `every 8 hours` is an interval
            clause.flags = 0
    if not clause.flags:
        for token in clause.tokens:
            clause.flags |= token.tags
    for token in (*clause.lead, *clause.tokens):
        tags = token.tags
        if tags & lx.HEDGE and not clause.hedge:
            clause.hedge = token.word
        if tags & lx.NEG:
            if neither and token.word in {"nor", "ni", "ani", "ни", "weder", "noch"}:
                continue
            neither = neither or token.word in {"neither", "nor", "ni", "ani", "ни", "weder", "né", "ne"}
            count += 1
        elif tags & lx.EXCEPT:
            clause.excepted = True
            clause.quantifier = "only" if count else "except"
            count += count % 2
        elif tags & lx.EXC or tags & lx.INSTEAD:
            clause.excepted = True
            if count:
                clause.quantifier = "only"
            count += 1
        elif tags & lx.UNTIL and count % 2:
            clause.quantifier = "only"
            clause.excepted = True
            count += 1
    count -= sum(token.tags & ABSORBS != 0 for token in clause.tokens)
    if language.code in _DOUBLE and count == 2 and not clause.excepted:
        count = 1
    clause.negated = count > 0 or any(token.tags & (lx.NEG | ABSORBS) for token in clause.tokens)
    clause.sign = -1 if count % 2 else 1
    flags = clause.flags
    if not clause.quantifier:
        clause.quantifier = (
            "only"
            if flags & (lx.ONLY | lx.AFTERWARDS)
            else "all"
            if flags & lx.ALL
            else "some"
            if flags & lx.SOME
            else "most"
            if flags & lx.MOST
            else ""
        )
    return clause


_DOUBLE = frozenset({"ru", "uk", "pl", "es", "pt", "it", "fr", "cs", "sr", "ro", "el", "tr"})
"""Languages where two negative words make one negation (`no ... nunca`, `nie ... nigdy`, `ne ... pas`)."""
