"""Who does what to whom: the role of a word in its clause, as far as the order of words and prepositions tell it (English).

A letter names a role: `s` who acts, `o` what is acted on, `f` from, `t` to, `w` with, `p` whose; `v` is the verb. A passive is
read as its active.
A word without a role, or with two, has none here: roles only ever show that two words changed places.
"""

from __future__ import annotations

from ledger.facts import lexicon as lx
from ledger.facts.clauses import Clause
from ledger.facts.tokens import Token

_GOVERN = {"from": "f", "to": "t", "into": "t", "onto": "t", "with": "w", "by": "b"}
_OTHER = frozenset("in on at for of about over under after before during until through via as against between per".split())
_BE = frozenset("is are was were be been being gets got".split())
_SINGULAR = ("s", "es")


def roles(clause: Clause) -> list[tuple[Token, str]]:
    """The content words of a clause that have a role, in order; none where no verb is known."""
    found: list[tuple[Token, str]] = []
    verb, passive, role = False, False, "s"
    for at, token in enumerate(clause.tokens):
        if not verb and _verb(token, clause.tokens, at):
            verb, role = True, "o"
            passive = token.word in _BE and _participle(clause.tokens[at + 1 : at + 4])
            if token.keys and not token.tags & lx.AUX:
                found.append((token, "v"))
        elif passive and not any(role == "v" for _, role in found) and token.keys:
            found.append((token, "v"))
        elif token.word in _GOVERN:
            role = _GOVERN[token.word]
        elif token.word in _OTHER:
            role = ""
        elif token.kind in "wi" and token.keys and role and not token.tags & lx.VERB:
            found.append((token, "p" if token.word.endswith("'s") else role))
    if not verb:
        return []
    turn = {"s": "o", "o": "", "b": "s"} if passive else {"b": ""}
    return [(token, turn.get(role, role)) for token, role in found if turn.get(role, role)]


def _verb(token: Token, tokens: list[Token], at: int) -> bool:
    if token.tags & (lx.AUX | lx.PRED):
        return True
    if at == 0 or not any(t.keys for t in tokens[:at]):
        return bool(token.tags & lx.VERB)
    single = lx.ENGLISH.tags.single
    return any(token.word.endswith(end) and single.get(token.word[: -len(end)], 0) & lx.VERB for end in _SINGULAR)


def _participle(tokens: list[Token]) -> bool:
    return any(token.word.endswith(("ed", "en", "ught", "nt", "de", "ne")) for token in tokens if token.keys)


def by_key(clause: Clause) -> dict[str, str]:
    """The role of each key of the clause's words; keys with two roles have none."""
    found: dict[str, str] = {}
    for token, role in roles(clause):
        for key in token.keys:
            found[key] = role if found.get(key, role) == role else ""
    return found
