"""What a fact is about, and whether a later fact about the same thing says otherwise (rule R3).

Two facts share a topic when the content words of their clauses are the same, numbers, dates and the sign aside. It is a narrow
notion on purpose: a contradiction that is claimed blocks an action, so it must not rest on likeness.
"""

from __future__ import annotations

import re

from ledger.facts.model import alternatives
from schemas.facts import Fact

TOPIC_WORDS_MIN = 2
"""A topic of fewer content words is no topic: `room 12` and `room 31` need not be about one thing. With a value that both
state, one word is enough to say the opposite: `never deploy on Friday`, `deploy on Friday`.
"""


class Topic:
    """The content words of a fact's clause, the parity of its signs, and the values it states."""

    __slots__ = ("negated", "values", "words")

    def __init__(self, words: tuple[str, ...], negated: bool, values: tuple[str, ...]) -> None:
        self.words, self.negated, self.values = words, negated, values


def topic(fact: Fact) -> Topic:
    """The topic of a fact, from its own fields; the notation of `context` is described in `ledger.facts.model`."""
    words: dict[str, None] = {}
    values: list[str] = []
    negated = fact.polarity == "negated"
    parts = fact.context.replace(" | ", " ").split(" ")
    said = [alternatives(word) for word in parts if word and word[0] not in "%|"]
    verbs = _verbs(parts)
    labels = [at for at in range(1, len(said)) if _is_label(said, at, verbs, dated=fact.cls == "commitment")]
    for at, keys in enumerate(said):
        if at in labels:
            words[f"{_base(said[at - 1])[0]}{keys[0]}"] = None
        elif _is_value(keys):
            values.append(keys[0].lstrip("!#"))
        else:
            name, opposite = _base(keys)
            negated ^= opposite
            words[name] = None
    if fact.cls == "commitment" and labels:
        values.append(fact.value)
    if fact.cls in ("numeric", "commitment") and not values:
        values.append(fact.value)
    return Topic(tuple(sorted(words)), negated, tuple(sorted(values)))


def _is_value(keys: tuple[str, ...]) -> bool:
    return keys[0].lstrip("!")[:1] == "#"


_BARE = re.compile(r"#[0-9]+")
_VERB = re.compile(r"([0-9]+)v")


def _verbs(parts: list[str]) -> set[int]:
    """Places of the verbs among the words, where the roles are known."""
    return {int(place) for part in parts if part.startswith("%r=") for place in _VERB.findall(part)}


def _is_label(said: list[tuple[str, ...]], at: int, verbs: set[int], *, dated: bool) -> bool:
    """Is this number the name of a thing (`pump 4`, `room 12`), of which the statement gives another value? It is bare, stands
    behind the word that it belongs to, and before the verb or the value.
    """
    if not _BARE.fullmatch(said[at][0]) or _is_value(said[at - 1]):
        return False
    if dated:
        return True
    others = any(_is_value(keys) for place, keys in enumerate(said) if place != at)
    return others and at + 1 < len(said) and (at + 1 in verbs or _is_value(said[at + 1]))


def _base(keys: tuple[str, ...]) -> tuple[str, bool]:
    """One name for a word with its alternatives, and whether it is there as its opposite (`dislik/-lik`)."""
    for key in keys:
        if key.startswith("-"):
            return key[1:], True
    for key in keys:
        if key.startswith("@"):
            return key, False
    return keys[0], False


def topic_key(fact: Fact) -> str:
    """Facts that could contradict each other have the same key; empty for a fact that is about too little.

    A value or a name by itself says nothing of what it belongs to: the statement that holds it does.
    """
    if fact.cls in ("numeric", "identifier"):
        return ""
    found = topic(fact)
    if len(found.words) >= TOPIC_WORDS_MIN:
        return " ".join(found.words)
    return " = ".join((*found.words, *found.values)) if found.words and found.values else ""


def contradicts(later: Fact, earlier: Fact) -> bool:
    """R3: does `later` say the opposite of `earlier`, or give another value for the same thing? Both have one topic key."""
    new, old = topic(later), topic(earlier)
    if new.words != old.words or not new.words:
        return False
    if len(new.words) < TOPIC_WORDS_MIN:
        return _opposite(new, old)
    if new.negated != old.negated:
        return not new.values or not old.values or new.values == old.values
    return bool(new.values) and bool(old.values) and new.values != old.values and len(new.values) == len(old.values)


def opposes(later: Fact, earlier: Fact) -> bool:
    """R3: do both speak of one thing, with opposite signs and the same values?"""
    new, old = topic(later), topic(earlier)
    return new.words == old.words and bool(new.words) and _opposite(new, old)


def _opposite(new: Topic, old: Topic) -> bool:
    """Of one topic: other signs, the same values."""
    told = len(new.words) >= TOPIC_WORDS_MIN or bool(new.values)
    return told and new.negated != old.negated and new.values == old.values


def surer(claim: Fact, said: Fact) -> bool:
    """C6, R3: does the claim drop a hedge or condition that the span's own statement on the topic has?"""
    if claim.hedge or not said.hedge:
        return False
    new, old = _plain(topic(claim).words), _plain(topic(said).words)
    return len(new) >= 1 and new <= old


def _plain(words: tuple[str, ...]) -> set[str]:
    """Words without the numbers that name things: a hedge on all of them is one on each."""
    return {word.split("#")[0] for word in words}
