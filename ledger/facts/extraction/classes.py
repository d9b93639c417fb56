"""Of which class a clause is as a statement, if it is one at all; it depends on who speaks and at what length."""

from __future__ import annotations

import re

from ledger.facts.extraction.analysis import Sentence
from ledger.facts.extraction.builder import Builder
from ledger.facts.language import lexicon as lx
from ledger.facts.language.clauses import Clause
from ledger.facts.language.known import INTERJECTIONS
from ledger.facts.language.tokens import Token
from ledger.facts.structure.toolout import LONG_CHARS, SMALL_CHARS, faulty, momentary
from schemas.facts import FactClass, FactKind

_SMALL_TALK = re.compile(
    r"^\W{0,3}(?:but |so |and )?(?:i|we|you)\s(?:don't|do not|didn't|can't|cannot|couldn't"
    r"|haven't)\s(?:\w+\s)?(?:see|think|know|want|need|have|find|believe|understand|remember|mind|worry)\b"
    r"|^\W{0,3}(?:no|yes|nope|never mind|no problem|not yet|of course)\W*$",
    re.ASCII,
)


def class_of(clause: Clause, sentence: Sentence, builder: Builder, asked: bool) -> tuple[FactClass | None, FactKind]:
    """The class of what a clause says and, of a decision, its kind; None where it says nothing that a context must keep.

    `asked`: the user asks for it (`can you ...`).
    """
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
        small_talk = role != "user" and _SMALL_TALK.match(text)
        if words and _substantial(clause, builder, words) and not small_talk and not _labels_only(clause):
            if _condition(clause):
                return None if builder.explains or builder.long else "narrative", ""
            return "prohibition", ""
        return None, ""
    told = words >= 2 or (words == 1 and role == "user" and not _decides(clause))  # `we ruled out SQLite`
    if role == "user" and told and _decided_before(clause, sentence):
        return "decision", "decided"
    if role in {"user", "assistant"} and told and flags & (lx.DECIDED | lx.REJECTED) and not clause.hedge:
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
            or (words == 1 and _bare_act(clause, sentence))
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
    opening = clause.tokens[0]
    if (
        reported
        and opening.tags & lx.PRON
        and clause.flags & lx.VERB
        and not opening.tags & lx.SUB
        and clause.content[0].tags & lx.VERB
    ):
        return True  # `I prefer tea to coffee`
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
        opening = [t for t in clause.tokens if not t.tags & (lx.CONJ | lx.ONLY | lx.ADVERB)][:4]
        opening = opening[_answered(opening) :][:2]
        return bool(opening and (opening[0].tags & lx.VERB or _bare_verb(opening)))
    return not clause.flags & (lx.AUX | lx.SUB)


def _answered(opening: list[Token]) -> int:
    """How many tokens of `Nope, ...` stand before what is ordered."""
    if not opening or opening[0].word not in INTERJECTIONS or opening[0].tags:
        return 0
    return 2 if len(opening) > 1 and opening[1].kind == "p" else 1


def _decides(clause: Clause) -> bool:
    """`We decided`: the word for it is all there is."""
    return any(token.tags & (lx.DECIDED | lx.REJECTED) for token in clause.content)


def _decided_before(clause: Clause, sentence: Sentence) -> bool:
    """`Vi beslutade att ...`: the clause before says that it was decided, and this one what."""
    if not clause.tokens[0].tags & lx.SUB or clause.tokens[0].word in _SUBORDINATES or clause.tokens[0].tags & lx.REASON:
        return False
    at = sentence.clauses.index(clause)
    said = sentence.clauses[at - 1] if at else None
    return (
        said is not None
        and not said.hedge
        and said.sign > 0
        and bool(said.flags & lx.DECIDED)
        and all(token.tags & lx.DECIDED for token in said.content)
    )


def _bare_act(clause: Clause, sentence: Sentence) -> bool:
    """`Wait for my OK`, `only merge when ...`: one verb with what it depends on; `try it again` is of the moment."""
    opening = next((t for t in clause.tokens if not t.tags & (lx.CONJ | lx.ONLY | lx.ADVERB)), None)
    if opening is None or not opening.tags & lx.VERB or not opening.keys or clause.flags & (lx.AUX | lx.SUB | lx.PRON):
        return False
    if any(other is not clause and other.tokens[0].word in _CONDITIONS for other in sentence.clauses):
        return True
    held = not any(token.word in _MOMENT for token in clause.tokens)
    return bool(clause.flags & lx.ONLY) or (held and any(token.word in _DEPENDS for token in clause.tokens[1:]))


_CONDITIONS = frozenset("if when whenever once unless until".split())
_DEPENDS = frozenset("for until before after with without on in from to by".split())
_MOMENT = frozenset("it this that them me now again so".split())


def _bare_verb(opening: list[Token]) -> bool:
    """A word that no table knows, uninflected and before an article, orders something: `Reheat the soup`."""
    if len(opening) < 2 or opening[0].kind != "w" or opening[0].tags or opening[0].name or not opening[0].keys:
        return False
    return opening[1].word in _ARTICLES and not opening[0].word.endswith(_INFLECTED)


_ARTICLES = frozenset("the a an all every each any my our your this these those".split())
_INFLECTED = ("s", "ed", "ing", "ly", "er", "ion", "ment", "ness", "ity")
