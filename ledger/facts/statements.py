"""Which clauses are statements that a context must keep, and of which class; it depends on who speaks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ledger.facts import lexicon as lx
from ledger.facts.builder import Builder
from ledger.facts.clauses import Clause, Sentence
from ledger.facts.fold import normalise
from ledger.facts.identifiers import VALUE
from ledger.facts.model import encode, segmented, words_of
from ledger.facts.toolout import LONG_CHARS, SMALL_CHARS, faulty, momentary
from schemas.facts import FactClass, FactKind
from schemas.records import Role

_SMALL_TALK = re.compile(
    r"^\W{0,3}(?:but |so |and )?(?:i|we|you)\s(?:don't|do not|didn't|can't|cannot|couldn't"
    r"|haven't)\s(?:\w+\s)?(?:see|think|know|want|need|have|find|believe|understand|remember|mind|worry)\b"
    r"|^\W{0,3}(?:no|yes|nope|never mind|no problem|not yet|of course)\W*$",
    re.ASCII,
)


_ASKING_YOU = re.compile(r"^\W{0,3}(?:can|could|would|will) you\b|^\W{0,3}(?:please|pls)\b", re.ASCII)


_PROPOSES = re.compile(
    r"\b(?:should|shall|whether|(?:can|could|may|might|would) (?:we|i|it)|what if|how about|or not|better to|prefer)\b",
    re.ASCII,
)
"""A question that could come back as something decided; a question for information is answered and done with."""


_PROGRESS = re.compile(r"^(?:running|compiling|downloading|building|installing|fetching|collecting)\b", re.ASCII)


def says_nothing(builder: Builder, start: int, end: int) -> bool:
    """A quick look at an English sentence that is not a user's: can it be told without analysis that it states no fact?

    It holds no value or name; and it is talk of the moment, a question, or, in a long text, has none of the words by which one
    of the classes is told.
    """
    if VALUE.search(builder.text, start, end):
        return False
    folded = builder.folded[start:end]
    words = frozenset(_WORD.findall(folded))
    if not words.isdisjoint(_TIMES):
        return False
    if momentary(folded) or folded.endswith("?"):
        return True
    return (
        builder.long
        and words.isdisjoint(_CUES)
        and "n't" not in folded
        and not _INNER_CAPITAL.search(builder.text, start, end)
        and folded.isascii()
    )


_WORD = re.compile("[a-z']+", re.ASCII)
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


def add_statements(builder: Builder, sentence: Sentence) -> None:
    """The statements of a sentence as facts: prohibitions, instructions, decisions, commitments, narrative."""
    folded, role = builder.folded, builder.role
    text = folded[sentence.start : sentence.end]
    asked = role == "user" and bool(_ASKING_YOU.search(text))
    if role != "user" and (momentary(text) or (role == "tool" and _PROGRESS.search(text))):
        return
    if sentence.question and not asked:
        if role == "user" and (len(builder.text) < SMALL_CHARS or _PROPOSES.search(text)):
            _question(builder, sentence)
        return
    for number, clause in enumerate(merged(sentence)):
        if clause.label:
            continue
        cls, kind = _class_of(clause, sentence, builder, asked and number == 0)
        if cls is None or (builder.aloud and not _lasting(clause, sentence, cls, kind, role)):
            continue
        start, end = clause_bounds(builder.text, clause)
        marks = []
        if (
            (cls == "instruction" and (clause.flags & lx.MUST or not clause.flags & lx.MAY))
            or clause.flags & lx.MUST
            or (clause.tokens[0].tags & lx.VERB)
        ):
            marks.append("%imp")
        words = {token.word for token in clause.tokens}
        if words & _ALWAYS:
            marks.append("%always")
        if "still" in words and clause.flags & lx.MUST:
            marks.append("%todo")
        if clause.excepted:
            marks.append("%exc")
            if clause.quantifier == "only" and not clause.flags & (lx.NONE | lx.ONLY):
                marks.append("%not")
        if cls == "prohibition":
            marks += _ban_marks(clause)
        if _rules(clause, sentence, cls, kind, role):
            marks.append("%rule")
        if role != "user" and _CHANGING & words:
            marks.append("%then")
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


_ALWAYS = frozenset("always immer stets toujours siempre sempre altijd alltid zawsze всегда".split())
"""With an order these press it, and `has to` presses as much; with a count of things (`every file`) nothing else does."""

_CHANGING = frozenset({"longer", "yet", "still", "now", "anymore", "currently", "already", "initially", "originally"})
"""Words by which a report says that a state changes: what it says holds for its moment only."""


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


def _class_of(clause: Clause, sentence: Sentence, builder: Builder, asked: bool) -> tuple[FactClass | None, FactKind]:
    flags, content, folded, role = clause.flags, len(clause.content), builder.folded, builder.role
    words = sum(token.kind not in "nd" for token in clause.content)
    text = folded[clause.start : clause.end]
    if clause.flags & lx.REASON and role in {"user", "assistant"} and words >= 2:
        given = (
            not (builder.long or builder.explains)
            or _chosen(sentence)
            or (words >= 3 and any(c.flags & lx.MUST for c in sentence.clauses))
        )
        return ("decision", "reason") if given else (None, "")
    if flags & lx.INSTEAD and not flags & lx.NEG:
        turned = role == "user" or (role == "assistant" and _chosen(sentence))
        return ("decision", "rejected") if turned and words >= 2 else (None, "")
    if _negates(clause):
        small_talk = role != "user" and _SMALL_TALK.search(text)
        if words and _substantial(clause, builder, words) and not small_talk and not _labels_only(clause):
            if _condition(clause):
                return None if builder.explains or builder.long else "narrative", ""
            return "prohibition", ""
        return None, ""
    if role in {"user", "assistant"} and words >= 2 and flags & (lx.DECIDED | lx.REJECTED) and not clause.hedge:
        return "decision", "rejected" if flags & lx.REJECTED else "decided"
    if flags & lx.PROMISE and words >= 2 and role != "tool" and not asked:
        return "commitment", ""
    if (
        role == "user"
        and (asked or _imperative(clause, sentence))
        and clause.tokens[0].word not in _SUBORDINATES
        and (
            words >= (3 if len(builder.text) > LONG_CHARS and content == words else 2)
            or (words == 1 and clause.tokens[0].tags & lx.VERB and clause.content[0].kind != "w")
        )
    ):
        return "instruction", ""
    if (
        content >= 2
        and words >= 1
        and not _fragment(clause, builder)
        and not (role == "assistant" and momentary(text))
        and not (role == "tool" and not _told(clause, text, folded))
        and _says_something(clause, sentence, content, role == "user" or len(builder.text) <= SMALL_CHARS)
        and not (
            (builder.long or builder.explains or (role == "user" and len(builder.text) > LONG_CHARS)) and not _full(clause)
        )
    ):
        return "narrative", ""
    return None, ""


def _negates(clause: Clause) -> bool:
    if clause.negated or (clause.excepted and clause.quantifier != "except"):
        return True
    return any(token.word.startswith("non-") for token in clause.content)


_SAYS = lx.AUX | lx.PRED | lx.ONLY | lx.MUST | lx.ALL | lx.MOST | lx.SOME


def _condition(clause: Clause) -> bool:
    """`If the list is not empty`, `which may not match`: part of what another clause says, no ban of its own."""
    return clause.tokens[0].word in _SUBORDINATES and not clause.excepted and not clause.flags & lx.MUST


_SUBORDINATES = frozenset(
    """if when whenever where which that who whose whom while so as although though whether
    wenn falls si quando cuando als jeśli""".split()
)


_AVOIDS = frozenset({"avoid", "avoids", "avoided"})
"""`to avoid duplication` gives a purpose; a ban it is only in the mouth of who may forbid."""


def _chosen(sentence: Sentence) -> bool:
    """Only where something is chosen does `instead of` reject something; elsewhere it compares."""
    return any(token.tags & (lx.DECIDED | lx.REJECTED) and not token.tags & lx.INSTEAD for token in sentence.tokens)


_PLAIN = frozenset(
    """not no never none nobody nothing cannot without forbid forbids forbidden prohibit prohibits prohibited ban bans banned
    disallow disallows disallowed off-limits refrain""".split()
)


def _plainly(clause: Clause) -> bool:
    """A negation by its own word; `missing`, `absent` and `omits` describe, in an explanation."""
    return any(t.tags & lx.NEG and (t.word in _PLAIN or t.word.endswith("n't") or not t.word.isascii()) for t in clause.tokens)


_POINTING = frozenset("it this that they these those it's that's they're this's here there which".split())


def _told(clause: Clause, text: str, folded: str) -> bool:
    """Of a tool's lines a fault or a whole sentence tells something; titles and names are the lists it was asked for."""
    ended = folded[clause.end : clause.end + 1] in {".", "!", ";", ","}
    return (
        faulty(text)
        or (ended and bool(clause.flags & (lx.AUX | lx.PRED | lx.MUST | lx.REPORT | lx.ONLY | lx.VERB)))
        or not text.isascii()
    )


def _fragment(clause: Clause, builder: Builder) -> bool:
    """In an assistant's text of some length: words without a predicate, or about something that another sentence names."""
    if builder.role != "assistant" or len(builder.text) <= SMALL_CHARS or not builder.folded.isascii():
        return False
    if clause.tokens[0].word in _POINTING or clause.tokens[0].word in _SUBORDINATES:
        return True
    if sum(token.kind == "w" for token in clause.content) < 2:
        return True
    told = clause.flags & (lx.AUX | lx.PRED | lx.MUST | lx.MAY | lx.VERB | lx.REPORT | lx.ONLY)
    return not told and not any(token.kind == "w" and token.word.endswith(("ed", "s")) for token in clause.tokens[1:4])


def _full(clause: Clause) -> bool:
    """A whole statement, not a fragment: enough content, and a verb that the language data knows or an ending that shows
    one.
    """
    if len(clause.content) < 4 or clause.tokens[0].tags & lx.SUB or clause.hedge or clause.flags & lx.MAY:
        return False
    named = any(token.name or token.kind != "w" for token in clause.content)
    return bool(clause.flags & lx.REPORT) or (named and bool(clause.flags & (lx.AUX | lx.PRED | lx.MUST)))


def _substantial(clause: Clause, builder: Builder, words: int) -> bool:
    """A tool's `No matches found` and an assistant's `not global` negate nothing that a context must keep."""
    role = builder.role
    if role == "user":
        return True
    if builder.bulk:
        return words >= 3 and bool(clause.flags & lx.MUST) and not clause.tokens[0].tags & (lx.SUB | lx.EXC)
    if (builder.long or builder.explains) and (words < 3 or clause.tokens[0].tags & (lx.SUB | lx.EXC) or not _plainly(clause)):
        return False
    if clause.tokens[0].tags & lx.SUB and not clause.tokens[0].tags & lx.CONJ and not clause.excepted:
        return False
    if not clause.excepted and {token.word for token in clause.tokens if token.tags & lx.NEG} <= _AVOIDS:
        return False
    predicate = bool(clause.flags & (lx.AUX | lx.PRED | lx.MUST | lx.UNTIL | lx.EXC | lx.VERB))
    if role == "tool":
        return words >= 2 and predicate
    return predicate or (words >= 4 and (not builder.long or bool(clause.flags & lx.NONE)))


def _says_something(clause: Clause, sentence: Sentence, content: int, reported: bool) -> bool:
    """A fragment (`the current behavior`) is no statement: it needs a predicate, a name, a value or some length."""
    if clause.tokens[0].tags & lx.SUB and content < 4:
        return False
    if content >= 4 or clause.flags & _SAYS or (clause.tokens[0].tags & lx.VERB and content >= 3) or clause.lead:
        return True
    return sentence.language.code != "en" or (reported and any(token.name or token.kind != "w" for token in clause.content))


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
