"""Clauses of a sentence, each with its sign, quantifiers and hedges.

A clause is the smallest part of a sentence that has a predicate of its own; negation, quantifier and hedge hold within it. The
sign is the parity of what negates: two negations cancel, and a negation with an exception (`none ... without`, `not ... until`)
is an *only*. English is cut by its verbs, other languages by their function words.
"""

from __future__ import annotations

from ledger.facts.language import lexicon as lx
from ledger.facts.language.fold import DIGITS
from ledger.facts.language.lexicon import Language
from ledger.facts.language.splitting import split
from ledger.facts.language.tokens import ABSORBS, Token

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
        "fronted",
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

    def __init__(self, tokens: list[Token], fronted: list[Token] | None = None) -> None:
        """`fronted`: what stands before it and belongs to it (`On Fridays, do not push`); it is read at its end."""
        self.start = fronted[0].start if fronted else tokens[0].start
        self.end = tokens[-1].end
        self.fronted = bool(fronted)
        if fronted:
            for token in fronted:
                token.segment = tokens[-1].segment
            tokens = [*tokens, *fronted]
        self.tokens = tokens
        flags = 0
        content = []
        for token in tokens:
            flags |= token.tags
            if token.keys:
                content.append(token)
        self.flags = flags
        self.content = content
        self.lead: list[Token] = []
        self.topic: list[Token] = []
        """The head before the colon that this clause is said of: `Base: do not modify`."""
        self.label = False
        self.negated = False
        self.excepted = False
        self.sign = 1
        self.quantifier = ""
        self.hedge = ""


def clauses_of(tokens: list[Token], folded: str, language: Language) -> list[Clause]:
    """The clauses of a sentence with these tokens; `folded` is the text that it stands in."""
    return [_settle(clause, language) for clause in _labelled(split(tokens, language), folded)]


def _labelled(parts: list[list[Token]], folded: str) -> list[Clause]:
    """Clauses of a sentence; a short head before a colon (`Done:`, `Not allowed:`) speaks for what follows it."""
    clauses: list[Clause] = []
    label: list[Token] = []
    topic: list[Token] = []
    fronted: list[Token] | None = None
    for at, part in enumerate(parts):
        if fronted is None and not at and len(parts) > 1 and _circumstance(part, parts[1], folded):
            fronted = part
            continue
        clause, fronted = Clause(part, fronted), None
        if at + 1 < len(parts) and folded.find(":", part[-1].end, parts[at + 1][0].start) >= 0 and _is_label(clause):
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


FRONTED_WORDS_MAX = 4
"""Content words that a circumstance at the head of a sentence may have."""

_PREDICATE = (
    lx.NEG | lx.EXC | lx.EXCEPT | lx.UNTIL | lx.ONLY | lx.ALL | lx.SOME | lx.MOST | lx.HEDGE | lx.MUST | lx.MAY | lx.AUX
    | lx.PRON | lx.SUB | lx.REASON | lx.OR | lx.QUESTION | lx.DECIDED | lx.REJECTED | lx.PROMISE | lx.PLEASE | lx.SOFT
    | lx.INSTEAD
)  # fmt: skip


def _circumstance(part: list[Token], following: list[Token], folded: str) -> bool:
    """`On Fridays, ...`, `In staging, ...`: a day or a place, begun by a preposition and ended by a comma, of what follows."""
    first, days = part[0], any(token.keys[:1] in _DAYS or token.word in _MOMENTS for token in part)
    if first.kind != "w" or not (first.tags & (lx.STOP | _TIMES) or days) or (first.word in _ARTICLES and not days):
        return False
    if first.tags & lx.VERB or following[0].tags & lx.CONJ:
        return False
    if any(token.tags & ~_TIMES & _PREDICATE for token in part) or folded[part[-1].end : following[0].start].strip() != ",":
        return False
    if any(token.tags & _TIMES for token in part) and not (days or any(token.kind in "dn" for token in part)):
        return False
    return 0 < sum(bool(token.keys) for token in part) <= FRONTED_WORDS_MAX


_ARTICLES = frozenset(
    """the a an le la les un une der die das ein eine el los las una il lo gli uno um uma de het een den det en ett
    my our your their its his her""".split()
)
"""These begin what something is said of, unless it is a day (`le vendredi`)."""

_TIMES = lx.UNTIL | lx.SUB
"""`before` and `until` begin a circumstance where a time stands behind them."""

_DAYS = {(f"#day{number}",) for number in range(8)}
_MOMENTS = frozenset(
    """weekend week weeks nuit soir matin apres-midi notte sera mattina pomeriggio noche noches noite noites manha
    nacht abend""".split()
)


def _pending(before: Token, token: Token) -> bool:
    """`Still to do:` says of what follows that it is not done."""
    return before.word == "to" and token.word == "do"


def _settle(clause: Clause, language: Language) -> Clause:
    """Sign, quantifier and hedge of a clause."""
    if clause.flags & lx.ALL:
        _intervals(clause, language)
    count = _negations(clause, language.double_negation) if clause.lead or clause.flags & _SETTLES else 0
    if clause.flags & ABSORBS:
        count -= sum(token.tags & ABSORBS != 0 for token in clause.tokens)
    clause.negated = count > 0 or bool(clause.flags & (lx.NEG | ABSORBS))
    clause.sign = -1 if count % 2 else 1
    if clause.flags & _QUANTIFYING and not clause.quantifier:
        clause.quantifier = next((name for tags, name in _QUANTIFIERS if clause.flags & tags), "")
    return clause


_QUANTIFIERS = ((lx.ONLY | lx.AFTERWARDS, "only"), (lx.ALL, "all"), (lx.SOME, "some"), (lx.MOST, "most"))
"""The strictest that stands in a clause counts."""

_QUANTIFYING = lx.ONLY | lx.AFTERWARDS | lx.ALL | lx.SOME | lx.MOST


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
    neither = fronted = said = until = False
    for token in (*clause.lead, *clause.tokens):
        tags = token.tags
        if tags & lx.HEDGE and not clause.hedge:
            clause.hedge = token.word
        if tags & lx.NEG and tags & lx.EXCEPT:
            clause.excepted, clause.quantifier, said = True, "only", said or doubled  # `nobody but Hanna`
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
            if until and not said:
                clause.excepted, clause.quantifier = True, "only"  # `vor dem Audit darf nichts ...`
                count += 1
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
        elif tags & lx.UNTIL and token is clause.tokens[0] and not clause.fronted:
            until = True
    return count


_NOR = frozenset({"nor", "ni", "ani", "ни", "weder", "noch"})
_NEITHER = frozenset({"neither", "nor", "ni", "ani", "ни", "weder", "né", "ne"})
_SETTLES = lx.HEDGE | lx.NEG | lx.EXCEPT | lx.EXC | lx.INSTEAD | lx.UNTIL
"""What decides the sign, the exception or the hedge of a clause; most clauses have none of it."""
