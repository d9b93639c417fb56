"""Who does what to whom: the role of a word in its clause, as far as the order of words and prepositions tell it (English).

A letter names a role: `s` who acts, `o` what is acted on, `f` from, `t` to, `w` with, `p` whose; `v` is the verb. A passive is
read as its active.
A word without a role, or with two, has none here: roles only ever show that two words changed places.
"""

from __future__ import annotations

from ledger.facts.language import lexicon as lx
from ledger.facts.language.clauses import Clause
from ledger.facts.language.tokens import Token

_GOVERN = {"from": "f", "to": "t", "into": "t", "onto": "t", "with": "w", "by": "b"}
_OTHER = frozenset("in on at for of about over under after before during until through via as against between per".split())
_BE = frozenset("is are was were be been being gets got".split())
_SINGULAR = ("s", "es")


def roles(clause: Clause) -> list[tuple[Token, str]]:
    """The content words of a clause that have a role, in order; none where no verb is known."""
    found: list[tuple[Token, str]] = []
    tokens = clause.tokens
    verb = passive = acted = content = False
    role = "s"
    for at, token in enumerate(tokens):
        keys, tags, word = token.keys, token.tags, token.word
        if not verb and (tags & _PREDICATE or (_inflected(token) if content else tags & lx.VERB)):
            verb, role = True, "o"
            passive = word in _BE and _participle(tokens[at + 1 : at + 4])
            if keys and not tags & lx.AUX:
                acted = True
                found.append((token, "v"))
        elif passive and not acted and keys:
            acted = True
            found.append((token, "v"))
        elif word in _GOVERN:
            role = _GOVERN[word]
        elif word in _OTHER:
            role = ""
        elif role and keys and token.kind in "wi" and not tags & lx.VERB:
            found.append((token, "p" if word.endswith("'s") else role))
        content = content or bool(keys)
    if not verb:
        return []
    turn = _PASSIVE if passive else _ACTIVE
    return [(token, turn.get(role, role)) for token, role in found if turn.get(role, role)]


_PREDICATE = lx.AUX | lx.PRED
_PASSIVE = {"s": "o", "o": "", "b": "s"}
_ACTIVE = {"b": ""}


def _inflected(token: Token) -> bool:
    """`leaves`, `passes`: behind words with content a verb shows itself by its ending."""
    word = token.word
    if not word.endswith("s"):
        return False
    single = lx.ENGLISH.tags.single
    return any(word.endswith(end) and single.get(word[: -len(end)], 0) & lx.VERB for end in _SINGULAR)


def _participle(tokens: list[Token]) -> bool:
    return any(token.word.endswith(("ed", "en", "ught", "nt", "de", "ne")) for token in tokens if token.keys)


def by_key(clause: Clause) -> dict[str, str]:
    """The role of each key of the clause's words; keys with two roles have none."""
    found: dict[str, str] = {}
    for token, role in roles(clause):
        for key in token.keys:
            found[key] = role if found.get(key, role) == role else ""
    return found
