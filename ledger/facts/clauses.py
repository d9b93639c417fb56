"""Sentences cut into tokens and clauses, each clause with its sign, quantifiers, bounds and hedges.

A clause is the smallest part of a sentence that has a predicate of its own; negation, quantifier and hedge hold within it. The
sign is the parity of what negates: two negations cancel, and a negation with an exception (`none ... without`, `not ... until`)
is an *only*. English is cut by its verbs, other languages by their function words.
"""

from __future__ import annotations

import re

from ledger.facts import lexicon as lx
from ledger.facts.dates import Dated, find_dates
from ledger.facts.fold import DIGITS, WORD, fold
from ledger.facts.identifiers import classify, find_identifiers
from ledger.facts.idioms import settle_words
from ledger.facts.lexicon import Language
from ledger.facts.quantities import Number, find_numbers
from ledger.facts.splitting import split
from ledger.facts.tokens import ABSORBS, Token, order, read_words, tag
from ledger.facts.wording import settle_neighbours

LABEL_WORDS_MAX = 3
"""Content words that a label before a colon may have."""


def _is_label(clause: Clause) -> bool:
    if any(_pending(before, token) for before, token in zip(clause.tokens, clause.tokens[1:], strict=False)):
        return True
    if clause.flags & (lx.AUX | lx.PRON) or clause.tokens[0].tags & lx.VERB:
        return False
    return len(clause.content) <= (1 if clause.flags & lx.NEG else LABEL_WORDS_MAX)


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
        "topic",
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
        self.topic: list[Token] = []
        """The head before the colon that this clause is said of: `Base: do not modify`."""
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


_CAPITAL = re.compile("[A-Z\u00c0-\u00de\u0410-\u042f\u0391-\u03a9]", re.ASCII)


_LETTERS = re.compile(f"(?:(?![0-9_])[{WORD}])+", re.ASCII)


def analyse(original: str, folded: str, start: int, end: int, language: Language) -> Sentence:
    """Tokens, values and clauses of one sentence at `[start, end)`."""
    sentence = Sentence(start, end, language)
    sentence.identifiers = find_identifiers(original, start, end)
    sentence.dates = find_dates(folded, start, end, language)
    if sentence.dates and sentence.identifiers:
        sentence.dates = [
            d
            for d in sentence.dates
            if not any(a < d.end and d.start < b and (b - a) > (d.end - d.start) for a, b in sentence.identifiers)
        ]
        sentence.identifiers = [
            (a, b) for a, b in sentence.identifiers if not any(d.start < b and a < d.end for d in sentence.dates)
        ]
    taken = [*sentence.identifiers, *((d.start, d.end) for d in sentence.dates)]
    sentence.numbers = find_numbers(original, folded, start, end, language, taken)
    sentence.tokens = _tokens(original, folded, sentence)
    tag(sentence.tokens, language)
    settle_words(original, sentence.tokens, language)
    settle_neighbours(sentence.tokens, language)
    if sentence.numbers:
        _turn_bounds(folded, sentence)
    order(sentence.tokens, language)
    if sentence.dates and any(date.value[0] in DIGITS for date in sentence.dates):
        for token in sentence.tokens:
            if token.kind == "w" and token.word in language.weekdays:
                token.keys = ()  # the date says it already
    _name(original, sentence)
    sentence.question = original[start:end].rstrip("\"')]} \u201d*_").endswith(("?", "\uff1f", "\u061f"))
    sentence.clauses = [_settle(clause, language) for clause in _labelled(split(sentence.tokens, language), folded)]
    return sentence


def _labelled(parts: list[list[Token]], folded: str) -> list[Clause]:
    """Clauses of a sentence; a short head before a colon (`Done:`, `Not allowed:`) speaks for what follows it."""
    clauses: list[Clause] = []
    label: list[Token] = []
    topic: list[Token] = []
    for at, part in enumerate(parts):
        clause = Clause(part)
        if at + 1 < len(parts) and ":" in folded[part[-1].end : parts[at + 1][0].start] and _is_label(clause):
            label = [
                t for t in part if t.tags & (lx.NEG | lx.ONLY | lx.HEDGE) or any(key.lstrip("-") in lx.POLAR for key in t.keys)
            ]
            clause.label = True
            for before, token in zip([part[0], *part], part, strict=False):
                if _pending(before, token) or token.word == "next":
                    token.keys = ("-@done",)
                    label.append(token)
            topic = clause.content
            clauses.append(clause)
            continue
        clause.topic = topic
        if label:
            clause.lead = label
            clause.content = [*(t for t in label if t.keys), *clause.content]
        clauses.append(clause)
    return clauses


def _pending(before: Token, token: Token) -> bool:
    """`Still to do:` says of what follows that it is not done."""
    return before.word == "to" and token.word == "do"


_COMPARATIVE = frozenset(
    (
        "more less fewer exceed exceeds exceeding depasse depassent depasser exceder superar superare ultrapassar "
        "uberschreiten mas menos mais piu meno plus moins mehr weniger meer minder mer mindre "
        "wiecej mniej более больше менее меньше"
    ).split()
)


_MOVES = frozenset("fall falls drop drops go goes rise rises sink climb get grow dip run fallen steigen sinken".split())
"""`may not fall below 80`: the verb says no more than the bound, so the negation is the bound's."""

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
        if (
            before is None
            or before.word in _RESTRICTIVE
            or not (first in _COMPARATIVE or before.tags & (lx.AUX | lx.NEG) or before.word in _MOVES)
        ):
            continue
        for earlier in reversed(tokens[max(0, index - 9) : index]):
            if earlier.tags & (lx.EXC | lx.SUB | lx.CONJ) or (earlier.kind == "p" and earlier.word in ";:"):
                break
            if earlier.tags & lx.NEG:
                op = {">": "<=", "<": ">="}[number.op]
                sentence.numbers[at] = number._replace(op=op)
                tokens[index].tags |= ABSORBS
                tokens[index].keys = ("#" + op + number.value,)
                if before.word in _MOVES:
                    before.keys = ()
                break


def _number_end(number: Number) -> int:
    """Where the number itself ends, without the noun that a rate may enclose (`5 starts per minute`)."""
    return number.noun_start if number.start < number.noun_start < number.end else number.end


def _pronoun(number: Number, folded: str) -> bool:
    """`the green one` counts nothing."""
    return number.value == "1" and not number.op and folded[number.start] not in DIGITS


def _tokens(original: str, folded: str, sentence: Sentence) -> list[Token]:
    tokens: list[Token] = []
    at = sentence.start
    language = sentence.language
    if not (sentence.identifiers or sentence.dates or sentence.numbers):
        read_words(folded, at, sentence.end, language, tokens)
        return tokens
    values: list[tuple[int, int, str, str]] = [(a, b, "i", original[a:b]) for a, b in sentence.identifiers]
    values += [(d.start, d.end, "d", d.value) for d in sentence.dates]
    values += [(n.start, _number_end(n), "n", n.canonical) for n in sentence.numbers if not _pronoun(n, folded)]
    values.sort()
    for a, b, kind, value in values:
        if a < at:
            continue
        read_words(folded, at, a, language, tokens)
        keys: tuple[str, ...] = ("!" + value,) if kind == "i" else ("#" + value,)
        if kind == "i" and not classify(value) and _LETTERS.fullmatch(value):
            keys = (*language.keys(fold(value)), *keys)
        tokens.append(Token(a, b, kind, value, 0, keys))
        at = b
    read_words(folded, at, sentence.end, language, tokens)
    return tokens


def _name(original: str, sentence: Sentence) -> None:
    """Capital letters within a sentence make a name, unless the language or the sentence capitalises anyway."""
    if not _CAPITAL.search(original, sentence.start + 1, sentence.end):
        return
    words = [t for t in sentence.tokens if t.kind == "w" and t.keys]
    capitals = [t for t in words if _CAPITAL.match(original[t.start])]
    if sentence.language.code == "de" or len(capitals) * 2 > len(words) + 2:
        return
    opening = True
    for token in sentence.tokens:
        if token.kind == "p":
            opening = token.word in ".:!?(*-"
            continue
        if not opening and token.kind == "w" and token.keys and _CAPITAL.match(original[token.start]):
            token.name = True
        opening = False


def _settle(clause: Clause, language: Language) -> Clause:
    """Sign, quantifier and hedge of a clause."""
    if clause.flags & lx.ALL:
        _intervals(clause, language)
    count = _negations(clause, language.double_negation) if clause.lead or clause.flags & _SETTLES else 0
    if clause.flags & ABSORBS:
        count -= sum(token.tags & ABSORBS != 0 for token in clause.tokens)
    clause.negated = count > 0 or bool(clause.flags & (lx.NEG | ABSORBS))
    clause.sign = -1 if count % 2 else 1
    if not clause.quantifier:
        clause.quantifier = next((name for tags, name in _QUANTIFIERS if clause.flags & tags), "")
    return clause


_QUANTIFIERS = ((lx.ONLY | lx.AFTERWARDS, "only"), (lx.ALL, "all"), (lx.SOME, "some"), (lx.MOST, "most"))
"""The strictest that stands in a clause counts."""


def _intervals(clause: Clause, language: Language) -> None:
    """`every 8 hours` is an interval and says nothing of all."""
    for token, following in zip(clause.tokens, clause.tokens[1:], strict=False):
        if (
            token.tags & lx.ALL
            and (following.kind == "n" or following.word[0] in DIGITS or following.word in language.number_words)
            and token.word not in {"all", "both"}
        ):
            token.tags &= ~lx.ALL
    clause.flags = 0
    for token in clause.tokens:
        clause.flags |= token.tags


def _negations(clause: Clause, doubled: bool) -> int:
    """How often the clause is negated, exceptions counted; sets its hedge, and quantifier and exception where they decide.

    `doubled` says that in this language the negative words of a clause make one negation.
    """
    count = 0
    neither = fronted = said = False
    for token in (*clause.lead, *clause.tokens):
        tags = token.tags
        if tags & lx.HEDGE and not clause.hedge:
            clause.hedge = token.word
        if tags & lx.NEG and tags & lx.EXCEPT:
            clause.excepted, clause.quantifier = True, "only"  # `nobody but Hanna`
        elif tags & lx.NEG:
            if neither and token.word in _NOR:
                continue
            if fronted:
                clause.quantifier = "only"  # `without a ticket, no commit is accepted`
            if clause.excepted and clause.quantifier == "except":
                clause.quantifier, said = "only", True  # `except for Hanna, nobody may open it`
                continue
            neither = neither or token.word in _NEITHER
            count += not (doubled and said)
            said = True
        elif tags & lx.EXCEPT:
            clause.excepted = True
            clause.quantifier = "only" if count else "except"
            count += count % 2
        elif tags & (lx.EXC | lx.INSTEAD) or (tags & lx.UNTIL and count % 2):
            clause.excepted = True
            if count:
                clause.quantifier = "only"
            count += 1
            fronted = fronted or (count == 1 and bool(tags & lx.EXC))
    return count


_NOR = frozenset({"nor", "ni", "ani", "ни", "weder", "noch"})
_NEITHER = frozenset({"neither", "nor", "ni", "ani", "ни", "weder", "né", "ne"})
_SETTLES = lx.HEDGE | lx.NEG | lx.EXCEPT | lx.EXC | lx.INSTEAD | lx.UNTIL
"""What decides the sign, the exception or the hedge of a clause; most clauses have none of it."""
