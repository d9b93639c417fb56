"""Which clauses are statements that a context must keep, and of which class; it depends on who speaks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ledger.facts import lexicon as lx
from ledger.facts.builder import Builder
from ledger.facts.clauses import Clause, Sentence
from ledger.facts.fold import normalise
from ledger.facts.model import encode, segmented, words_of
from schemas.facts import FactClass, FactKind
from schemas.records import Role

_EPHEMERAL = re.compile(
    r"^\W{0,3}(?:(?:ok|okay|now|good|great|perfect|excellent|first|next|so|then|alright|sure"
    r"|done)\b[\s,.!:-]{0,3}){0,3}(?:let me|let's (?:see|look|check|run|try|first|start)|i'll\b|i will\b"
    r"|i'm going to|"
    r"i need to|i should|i want to|now i|i can see|i see\b|looking at|checking|continuing|here's|here is"
    r"|you're right|good question|great question)",
    re.ASCII,
)


_SMALL_TALK = re.compile(
    r"^\W{0,3}(?:but |so |and )?(?:i|we|you)\s(?:don't|do not|didn't|can't|cannot|couldn't"
    r"|haven't)\s(?:\w+\s)?(?:see|think|know|want|need|have|find|believe|understand|remember|mind|worry)\b"
    r"|^\W{0,3}(?:no|yes|nope|never mind|no problem|not yet|of course)\W*$",
    re.ASCII,
)


_ASKING_YOU = re.compile(r"^\W{0,3}(?:can|could|would|will) you\b|^\W{0,3}(?:please|pls)\b", re.ASCII)


_NOW = re.compile(r"^\W{0,3}(?:now|next|then|ready|got it|great|excellent|perfect)\b", re.ASCII)


_PROGRESS = re.compile(r"^(?:running|compiling|downloading|building|installing|fetching|collecting)\b", re.ASCII)


def add_statements(builder: Builder, sentence: Sentence) -> None:
    """The statements of a sentence as facts: prohibitions, instructions, decisions, commitments, narrative."""
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
        if cls == "prohibition":
            marks += _ban_marks(clause)
        context = " ".join([*marks, *segmented(clause)])
        quantifier = clause.quantifier
        builder.add(
            cls,
            start,
            end,
            normalise(builder.text[start:end]),
            negated=clause.sign < 0,
            quantifier=quantifier,
            hedge=clause.hedge,
            kind=kind,
            context=context,
        )


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
        verb = after[0] if after else before[-1] if before else None
        if verb is not None:
            marks.append("%verb=" + encode(verb).lstrip("^"))
    return marks


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
    words = sum(token.kind not in "nd" for token in clause.content)
    text = folded[clause.start : clause.end]
    if clause.flags & lx.REASON and role in {"user", "assistant"} and words >= 2:
        return "decision", "reason"
    if flags & lx.INSTEAD and not flags & lx.NEG:
        return ("decision", "rejected") if role in {"user", "assistant"} and words >= 2 else (None, "")
    if _negates(clause):
        small_talk = role != "user" and _SMALL_TALK.search(text)
        if words and _substantial(clause, role, words) and not small_talk and not _labels_only(clause):
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


def _negates(clause: Clause) -> bool:
    if clause.negated or (clause.excepted and clause.quantifier != "except"):
        return True
    return any(token.word.startswith("non-") for token in clause.content)


_SAYS = lx.AUX | lx.PRED | lx.ONLY | lx.MUST | lx.ALL | lx.MOST | lx.SOME


_AVOIDS = frozenset({"avoid", "avoids", "avoided"})
"""`to avoid duplication` gives a purpose; a ban it is only in the mouth of who may forbid."""


def _substantial(clause: Clause, role: Role, words: int) -> bool:
    """A tool's `No matches found` and an assistant's `not global` negate nothing that a context must keep."""
    if role == "user":
        return True
    if clause.tokens[0].tags & lx.SUB and not clause.excepted:
        return False
    if not clause.excepted and {token.word for token in clause.tokens if token.tags & lx.NEG} <= _AVOIDS:
        return False
    predicate = bool(clause.flags & (lx.AUX | lx.PRED | lx.MUST | lx.UNTIL | lx.EXC | lx.VERB))
    return words >= 2 and predicate if role == "tool" else words >= 4 or predicate


def _says_something(clause: Clause, sentence: Sentence, content: int) -> bool:
    """A fragment (`the current behavior`) is no statement: it needs a predicate, a name, a value or some length."""
    if clause.tokens[0].tags & lx.SUB and content < 4:
        return False
    if content >= 4 or clause.flags & _SAYS or (clause.tokens[0].tags & lx.VERB and content >= 3) or clause.lead:
        return True
    return sentence.language.code != "en" or any(token.name or token.kind != "w" for token in clause.content)


def _labels_only(clause: Clause) -> bool:
    return all(token.kind in "nd" for token in clause.content) and not clause.excepted


def _imperative(clause: Clause, sentence: Sentence) -> bool:
    if clause.flags & (lx.MUST | lx.PLEASE | lx.ONLY):
        return True
    language = sentence.language
    if language.code == "en":
        opening = [t for t in clause.tokens if not t.tags & (lx.CONJ | lx.ONLY | lx.ADVERB)][:1]
        return bool(opening and opening[0].tags & lx.VERB)
    return not clause.flags & (lx.AUX | lx.SUB)
