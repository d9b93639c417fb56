"""Which clauses are statements that a context must keep, and of which class; it depends on who speaks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from ledger.facts.extraction.analysis import Sentence
from ledger.facts.extraction.builder import Builder
from ledger.facts.extraction.classes import class_of
from ledger.facts.extraction.marks import marks_of
from ledger.facts.language import lexicon as lx
from ledger.facts.language.clauses import Clause
from ledger.facts.language.fold import normalise
from ledger.facts.model import segmented, words_of
from ledger.facts.structure.toolout import SMALL_CHARS, momentary
from ledger.facts.values.identifiers import may_name
from schemas.facts import FactClass, FactKind
from schemas.records import Role

_ASKING_YOU = re.compile(r"^\W{0,3}(?:can|could|would|will) you\b|^\W{0,3}(?:please|pls)\b", re.ASCII)


_PROPOSES = re.compile(
    r"\b(?:should|shall|whether|(?:can|could|may|might|would) (?:we|i|it)|what if|how about|or not|better to|prefer)\b",
    re.ASCII,
)
"""A question that could come back as something decided; a question for information is answered and done with."""


_PROGRESS = re.compile(r"^(?:running|compiling|downloading|building|installing|fetching|collecting)\b", re.ASCII)


Look = Literal["nothing", "values", "all"]
"""What a sentence may hold: no fact; values and names alone; or statements too."""


def look(builder: Builder, start: int, end: int) -> Look:
    """A quick look at an English sentence that is not a user's: what may it hold, as its words tell without analysis?

    Talk of the moment and questions state nothing; nor does, in a text that explains or thinks aloud, a sentence with none of
    the words by which one of the classes is told.
    """
    folded = builder.folded[start:end]
    passing = momentary(folded)
    if not (passing or folded.endswith("?") or builder.long or builder.explains or builder.aloud):
        return "all"
    words = frozenset(_WORD.findall(folded))
    valued = may_name(builder.text, start, end) or not words.isdisjoint(_TIMES)
    if passing or folded.endswith("?"):
        stated: Look = "values" if passing or builder.text[end - 1] == "?" else "all"
        return stated if valued else "nothing"
    if not words.isdisjoint(_CUES) or "n't" in folded or not folded.isascii():
        return "all"
    if builder.long and not valued and not _INNER_CAPITAL.search(builder.text, start, end):
        return "nothing"
    if "'" in folded and _QUOTED.search(folded):
        return "all"
    named = valued or _CAPITAL.search(builder.text, start + 1, end) is not None
    if named and not builder.aloud and not words.isdisjoint(_TELLING):
        return "all"
    return "values" if valued else "nothing"


_WORD = re.compile("[a-z']+", re.ASCII)
_QUOTED = re.compile("(?<![a-z])'|'(?![a-z])", re.ASCII)
"""Here an apostrophe is no part of the word beside it."""

_CAPITAL = re.compile("[A-Z]", re.ASCII)
_INNER_CAPITAL = re.compile(r"(?<=[\s(*\"'/])[A-Z]", re.ASCII)
_TIMES = frozenset((*lx.ENGLISH.clock, *lx.ENGLISH.relative_days, *lx.ENGLISH.months, *lx.ENGLISH.number_words))
_CLASS_TAGS = (
    lx.NEG
    | lx.EXC
    | lx.EXCEPT
    | lx.REASON
    | lx.INSTEAD
    | lx.DECIDED
    | lx.REJECTED
    | lx.PROMISE
    | lx.REPORT
    | lx.NONE
    | lx.UNTIL
)
_CUES = lx.ENGLISH.cues(_CLASS_TAGS)
_TELLING = lx.ENGLISH.cues(lx.AUX | lx.PRED | lx.MUST)
"""A name or value with one of these is told of in a full statement."""


def add_statements(builder: Builder, sentence: Sentence) -> None:
    """The statements of a sentence as facts: prohibitions, instructions, decisions, commitments, narrative."""
    folded, role = builder.folded, builder.role
    text = folded[sentence.start : sentence.end]
    asked = role == "user" and bool(_ASKING_YOU.match(text))
    if role != "user" and (momentary(text) or (role == "tool" and _PROGRESS.match(text))):
        return
    if sentence.question and not asked:
        if role == "user" and (len(builder.text) < SMALL_CHARS or _PROPOSES.search(text)):
            _question(builder, sentence)
        return
    clauses = list(merged(sentence))
    for number, clause in enumerate(clauses):
        if clause.label:
            continue
        cls, kind = class_of(clause, sentence, builder, asked and number == 0)
        if cls is None or (builder.aloud and not _lasting(clause, sentence, cls, kind, role)):
            continue
        start, end = clause_bounds(builder.text, clause)
        ruling = _rules(clause, sentence, cls, kind, role)
        told = segmented(clause)
        context = " ".join([*marks_of(number, clauses, sentence, cls, role, ruling, told), *told])
        builder.add(
            cls,
            start,
            end,
            normalise(builder.text[start:end]),
            negated=clause.sign < 0,
            quantifier=clause.quantifier,
            hedge=clause.hedge,
            kind=kind,
            context=context,
        )


def _lasting(clause: Clause, sentence: Sentence, cls: FactClass, kind: FactKind, role: Role) -> bool:
    """What outlives the moment even in a message that thinks aloud: decisions, rules, promises."""
    return cls == "commitment" or _rules(clause, sentence, cls, kind, role)


def _rules(clause: Clause, sentence: Sentence, cls: FactClass, kind: FactKind, role: Role) -> bool:
    """Does the clause lay down what is to be (a ban, an order, a decision), rather than tell what is?"""
    if cls == "instruction" or (kind in {"decided", "rejected"} and not clause.flags & lx.INSTEAD):
        return True
    if cls != "prohibition" or role == "tool":
        return False
    if clause.flags & (lx.MUST | lx.PLEASE):
        return True
    if sentence.language.code != "en":
        return role == "user"
    opening = [token for token in clause.tokens if not token.tags & (lx.CONJ | lx.ADVERB | lx.PLEASE)][:2]
    words = [token.word for token in opening]
    if words[:2] == ["do", "not"] or words[:1] in (["don't"], ["never"], ["avoid"], ["dont"]):
        return True
    return role == "user" and bool(opening) and bool(opening[0].tags & (lx.VERB | lx.EXC)) and not clause.flags & lx.PRON


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
    if clause.fronted:
        return clause.start, clause.end
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
