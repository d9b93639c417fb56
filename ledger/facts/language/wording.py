"""Words whose sense their neighbours decide, settled before a sentence is cut into clauses."""

from __future__ import annotations

from ledger.facts.language import lexicon as lx
from ledger.facts.language.known import APPEARS, CEASES, CHOSEN, INTERJECTIONS, LEAVES
from ledger.facts.language.lexicon import Language
from ledger.facts.language.tokens import Token

_AS_IT_SEEMS = frozenset({"to", "that", "as", "like", "not"})
"""`appears to fail` and `appears broken` hedge; `appears when` tells that something occurs."""
_DECIDERS = frozenset({"i", "we", "you"})


def settle_neighbours(tokens: list[Token], language: Language) -> None:
    """`no, we should ...` answers and negates nothing; `stop copying` negates; `it appears when` does not hedge."""
    opening, english = True, language.code == "en"
    for at, token in enumerate(tokens):
        following = tokens[at + 1] if at + 1 < len(tokens) else None
        if opening and token.word in INTERJECTIONS and following and following.kind == "p" and following.word in ",\u2014-!":
            token.tags, token.keys = token.tags & ~(lx.NEG | lx.NONE), ()
        elif english and token.word in CEASES and following and _verbal_noun(following):
            token.tags, token.keys = token.tags | lx.NEG, ()
        elif english and token.word in APPEARS and not (following and (following.keys or following.word in _AS_IT_SEEMS)):
            token.tags &= ~lx.HEDGE
        elif english and token.word in CHOSEN and token.tags & (lx.DECIDED | lx.REJECTED) and not _decides(tokens, at):
            token.tags &= ~(lx.DECIDED | lx.REJECTED)
        elif english and token.word in LEAVES:
            _left_alone(tokens, at)
            _gone_out(tokens, at)
        opening = token.kind == "p" and token.word not in ",()-/"


def _decides(tokens: list[Token], at: int) -> bool:
    """A participle decides behind a subject or an auxiliary, not before a noun; the noun where it says what was decided."""
    following = tokens[at + 1] if at + 1 < len(tokens) else None
    if tokens[at].word == "decision":
        return following is not None and following.word in {":", "to", "that", "is", "was"}
    before = tokens[at - 1] if at else None
    if tokens[at].word in {"decide", "reject"}:
        return before is not None and before.word in _DECIDERS
    if before is not None and before.word in {"be", "being"}:
        return False
    if following is not None and following.word in {"up", "out"}:
        return False
    return before is None or bool(before.tags & (lx.AUX | lx.PRON | lx.CONJ)) or following is None or not following.keys


def _left_alone(tokens: list[Token], at: int) -> None:
    """`leave the trigger alone` says `do not touch the trigger`."""
    for later in tokens[at + 1 : at + 8]:
        if later.kind == "p" or later.tags & lx.CONJ:
            return
        if later.word == "alone":
            tokens[at].tags, tokens[at].keys = lx.NEG | lx.VERB, ("@change",)
            later.tags, later.keys = later.tags & ~lx.ONLY, ()
            return


def _gone_out(tokens: list[Token], at: int) -> None:
    """`may not leave the ward` speaks of going out, `do not leave the door open` of a state that is kept."""
    if not any(token.tags & lx.NEG for token in tokens[max(0, at - 2) : at]) or tokens[at].tags & lx.NEG:
        return
    object_words = 0
    for later in tokens[at + 1 : at + 6]:
        if later.kind == "p":
            break
        if not later.keys and later.word not in _DETERMINERS:
            return
        object_words += bool(later.keys)
    if 0 < object_words < 3:
        tokens[at].keys = (_REMOVED, "leav")


_REMOVED = "-@keep"
_DETERMINERS = frozenset("the a an this that these those its his her their our your my".split())


def _verbal_noun(token: Token) -> bool:
    return token.kind == "w" and len(token.word) > 5 and token.word.endswith("ing") and bool(token.keys)
