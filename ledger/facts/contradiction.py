"""What a fact is about, and whether a later fact about the same thing says otherwise (rule R3).

Two facts share a topic when the content words of their clauses are the same, numbers, dates and the sign aside. It is a narrow
notion on purpose: a contradiction that is claimed blocks an action, so it must not rest on likeness.
"""

from __future__ import annotations

from ledger.facts.model import alternatives
from schemas.facts import Fact

TOPIC_WORDS_MIN = 2
"""A topic of fewer content words is no topic: `room 12` and `room 31` need not be about one thing."""


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
    for word in fact.context.replace(" | ", " ").split(" "):
        if not word or word[0] in "%|":
            continue
        keys = alternatives(word)
        if keys[0].lstrip("!")[:1] == "#":
            values.append(keys[0].lstrip("!#"))
            continue
        name, opposite = _base(keys)
        negated ^= opposite
        words[name] = None
    if fact.cls in ("numeric", "commitment") and not values:
        values.append(fact.value)
    return Topic(tuple(sorted(words)), negated, tuple(sorted(values)))


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
    return " ".join(found.words) if len(found.words) >= TOPIC_WORDS_MIN else ""


def contradicts(later: Fact, earlier: Fact) -> bool:
    """R3: does `later` say the opposite of `earlier`, or give another value for the same thing? Both have one topic key."""
    new, old = topic(later), topic(earlier)
    if new.words != old.words or len(new.words) < TOPIC_WORDS_MIN:
        return False
    if new.negated != old.negated:
        return not new.values or not old.values or new.values == old.values
    return bool(new.values) and bool(old.values) and new.values != old.values and len(new.values) == len(old.values)


def opposes(later: Fact, earlier: Fact) -> bool:
    """R3: do both speak of one thing, with opposite signs and the same values?"""
    new, old = topic(later), topic(earlier)
    return (
        new.words == old.words and len(new.words) >= TOPIC_WORDS_MIN and new.negated != old.negated and new.values == old.values
    )


def surer(claim: Fact, said: Fact) -> bool:
    """C6, R3: does the claim drop a hedge or condition that the span's own statement on the topic has?"""
    if claim.hedge or not said.hedge:
        return False
    new, old = set(topic(claim).words), set(topic(said).words)
    return len(new) >= 1 and new <= old
