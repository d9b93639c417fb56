"""The `%` marks of a statement: what it is beside its words, for the comparison with its restatement (`ledger.facts.model`)."""

from __future__ import annotations

from ledger.facts.extraction.analysis import Sentence
from ledger.facts.language import lexicon as lx
from ledger.facts.language.clauses import Clause
from ledger.facts.language.known import ALLOWED
from ledger.facts.language.roles import roles
from ledger.facts.language.tokens import Token
from ledger.facts.model import encode
from schemas.facts import FactClass
from schemas.records import Role


def marks_of(
    number: int, clauses: list[Clause], sentence: Sentence, cls: FactClass, role: Role, ruling: bool, told: list[str]
) -> list[str]:
    """The marks of clause `number` of a sentence's clauses; `ruling`: it lays down what is to be; `told`: its words as they are
    written (`segmented`).
    """
    clause = clauses[number]
    words = {token.word for token in clause.tokens}
    marks = _order_marks(clause, words, cls, sentence)
    marks += _freedom_marks(clause, cls)
    if cls in _CONDITIONED:
        marks += _condition_of(number, clauses)
    if clause.excepted:
        marks.append("%exc")
        if clause.quantifier == "only" and not clause.flags & (lx.NONE | lx.ONLY):
            marks.append("%not")
    if cls == "prohibition":
        marks += _ban_marks(clause)
    if ruling:
        marks.append("%rule")
    if role != "user" and _CHANGING & words:
        marks.append("%then")
    if sentence.language.code == "en":
        marks += _role_marks(clause, told)
    return marks


def _order_marks(clause: Clause, words: set[str], cls: FactClass, sentence: Sentence) -> list[str]:
    """`%imp`, `%act=`, `%always`, `%todo`: how it is ordered, and whether it is still to be done."""
    marks = []
    if (
        (cls == "instruction" and (clause.flags & lx.MUST or not clause.flags & lx.MAY))
        or clause.flags & lx.MUST
        or (clause.tokens[0].tags & lx.VERB)
    ):
        marks.append("%imp")
    if cls == "instruction" and sentence.language.code == "en":
        marks += _act(clause)
    if words & _ALWAYS:
        marks.append("%always")
    if ("still" in words and clause.flags & lx.MUST) or any(_PENDING in token.keys for token in clause.lead):
        marks.append("%todo")
    return marks


def _freedom_marks(clause: Clause, cls: FactClass) -> list[str]:
    """`%soft`, `%may`, `%maybe`: what leaves room by its own words."""
    marks = []
    if clause.flags & (lx.SOFT | lx.MOST):
        marks.append("%soft")
    if clause.flags & lx.PERMIT:
        marks.append("%may")
    if clause.flags & lx.MAY and cls == "narrative":
        marks.append("%maybe")
    return marks


def _act(clause: Clause) -> list[str]:
    """`%act=`: what is to be done, where an order opens with its verb and the verb says more than `do` or `make`."""
    opening = next((t for t in clause.tokens if not t.tags & (lx.CONJ | lx.ONLY | lx.ADVERB | lx.PLEASE | lx.ALL)), None)
    if opening is None or not opening.tags & lx.VERB or not opening.keys or opening.word in _LIGHT:
        return []
    return ["%act=" + encode(opening).lstrip("^")]


def _role_marks(clause: Clause, told: list[str]) -> list[str]:
    """`%r=`: the words that have a role, by their number, where there are two roles that could be exchanged."""
    having = roles(clause)
    if len({role for _, role in having}) < 2:
        return []
    numbers = {word: at for at, word in enumerate([word for word in told if word[0] != "%"])}
    found: dict[int, str] = {}
    for token, role in having:
        at = numbers.get(encode(token))
        if at is not None:
            found[at] = role if found.get(at, role) == role else ""
    marked = [f"{at}{role}" for at, role in sorted(found.items()) if role]
    return ["%r=" + ",".join(marked)] if len({mark[-1] for mark in marked}) > 1 else []


_CONDITIONED = frozenset({"instruction", "prohibition", "decision"})
CONDITIONS = frozenset("if when whenever once provided wenn falls sobald si quando se als jesli gdy".split())
CONDITION_WORDS_MAX = 6


def _condition_of(number: int, clauses: list[Clause]) -> list[str]:
    """`%if=`: the words on which what the clause says depends (`if the courier is late, call`), from the clause beside it."""
    for beside in (number - 1, number + 1):
        if (
            not 0 <= beside < len(clauses)
            or clauses[beside].tokens[0].word not in CONDITIONS
            or len(clauses[beside].tokens) < 2
        ):
            continue
        if beside > number or number == 1 or not clauses[number].tokens[0].tags & lx.CONJ:
            return ["%if=" + encode(token).lstrip("^") for token in clauses[beside].content[:CONDITION_WORDS_MAX]]
    return []


_LIGHT = frozenset(
    """do make give take have get use keep put set go let bring come run add start begin leave hold handle treat pick place
    perform carry conduct provide offer ensure work proceed try want follow stick""".split()
)
"""Verbs that a restatement may leave out: what they do is said by their object."""

_PENDING = "-@done"
"""What a head such as `To do:` says of what follows it."""

_ALWAYS = frozenset("always immer stets toujours siempre sempre altijd alltid zawsze всегда".split())
"""With an order these press it, and `has to` presses as much; with a count of things (`every file`) nothing else does."""

_CHANGING = frozenset({"longer", "yet", "still", "now", "anymore", "currently", "already", "initially", "originally"})
"""Words by which a report says that a state changes: what it says holds for its moment only."""


def _lets(token: Token) -> bool:
    return bool(token.tags & lx.PERMIT) or token.word in ALLOWED


def _ban_marks(clause: Clause) -> list[str]:
    """`%ban`; `%it` where only a pronoun says what is negated; `%verb=` the word that the negation speaks of."""
    marks = ["%ban"]
    if clause.flags & lx.PRON:
        marks.append("%it")
    at = max((index for index, token in enumerate(clause.tokens) if token.tags & lx.NEG), default=-1)
    if at >= 0:
        after = [
            token for token in clause.tokens[at + 1 :] if token.kind == "w" and token.keys and "<" not in token.keys[0][:2]
        ]
        before = [token for token in clause.tokens[:at] if token.kind == "w" and token.keys]
        lets = bool(after) and _lets(after[0])  # `not allowed to scan it`, `scanning it is not allowed`
        after = [token for token in after if not _lets(token)] if lets else after
        verb = after[0] if after else before[0 if lets else -1] if before else None
        if verb is not None:
            marks.append("%verb=" + encode(verb).lstrip("^"))
    return marks
