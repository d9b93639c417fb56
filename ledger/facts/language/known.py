"""What is known of a word before its sentence is read: its tags and keys, or those of its parts, and whether to look again.

Most words mean the same wherever they stand, so what is read of them is kept, up to `KNOWN_MAX` words a language. Some mean
something else beside certain others; a sentence is asked for them only if it has one (`STARTS`, `SETTLES`, `ORDERS`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from ledger.facts.language import lexicon as lx
from ledger.facts.language.fold import WORD
from ledger.facts.language.lexicon import Language
from ledger.facts.language.pieces import Entry, Piece

STARTS = 1
"""The word begins a phrase."""

SETTLES = 2
"""Its neighbours may settle its sense (`ledger.facts.language.wording`)."""

ORDERS = 4
"""It says what comes before and what after."""

EVERY_LOOK = STARTS | SETTLES | ORDERS

ALLOWED = frozenset(
    """allowed permitted erlaubt gestattet zulassig autorise permis permitido permitida autorizado consentito permesso ammesso
    toegestaan tillatet tillaten dozwolone wolno izinli""".split()
)
"""Of what is denied to be so, the act is what is banned (`it is not allowed to scan`)."""

INTERJECTIONS = frozenset("no nope nah nein non nee nej nao nie net hayir".split())
CEASES = frozenset("stop stops stopped stopping quit cease ceases ceased".split())
"""With a verbal noun they negate (`stop copying them`); with a noun they end something (`stop the job`)."""

APPEARS = frozenset({"appear", "appears", "appeared"})
CHOSEN = frozenset({"decision", "selected", "picked", "chosen", "concluded", "decide", "reject", "rejected"})
"""`We picked the blue one` decides; `the selected refs`, `the decision tree`, `it picked up a file` speak of something else,
`must reject it` and `should be rejected` of what a program does."""

LEAVES = frozenset({"leave", "leaves", "leaving", "left"})
SETTLED = INTERJECTIONS | CEASES | APPEARS | CHOSEN | LEAVES

OPERATORS = (
    lx.NEG | lx.EXC | lx.EXCEPT | lx.UNTIL | lx.ONLY | lx.ALL | lx.SOME | lx.MOST | lx.HEDGE
    | lx.MUST | lx.MAY | lx.AUX | lx.PRON | lx.SUB | lx.CONJ | lx.OR
    | lx.STOP | lx.INSTEAD | lx.AFTERWARDS | lx.PLEASE | lx.SOFT | lx.BOUND
)  # fmt: skip

KNOWN_MAX = 5000
"""Words of one language whose analysis is kept; then the memory starts anew. It changes nothing but speed."""


_WORD_CHAR = re.compile(f"[{WORD}]", re.ASCII)


def learn(word: str, language: Language) -> Entry:
    """The entry of a word, which is kept from then on."""
    pieces: list[Piece] = []
    if len(word) > 1 or _WORD_CHAR.match(word):
        tags = language.tags.single.get(word, 0)
        if language.apostrophe_negation and word.endswith("n't"):
            tags |= lx.NEG | lx.AUX
        if not tags and _compound(word, language):
            at = 0
            for part in word.split("-"):
                if part:
                    own = language.tags.single.get(part, 0) & ~(lx.NEG | lx.EXC)
                    pieces.append(_piece(at, part, own, language))
                at += len(part) + 1
        else:
            pieces.append(_piece(0, word, tags, language))
    looks = 0
    for piece in pieces:
        looks |= _looks(piece.word, language)
    if len(language.known) >= KNOWN_MAX:
        language.known.clear()
    entry = language.known[word] = Entry(looks, tuple(pieces))
    return entry


def _compound(word: str, language: Language) -> bool:
    head, dash, rest = word.partition("-")
    return bool(dash and rest and word not in language.concepts and head not in {"non", "un", "de"} and not language.no_spaces)


def _piece(at: int, word: str, tags: int, language: Language) -> Piece:
    keys = language.keys(word)
    return Piece(at, word, *operated(word, tags, keys, language), tags, keys)


def _looks(word: str, language: Language) -> int:
    looks = STARTS if word in seconds(language.code) else 0
    if word in SETTLED:
        looks |= SETTLES
    if word in language.before or word in language.after:
        looks |= ORDERS
    return looks


def operated(word: str, tags: int, keys: tuple[str, ...], language: Language) -> tuple[int, tuple[str, ...]]:
    """Tags and keys of a word with what stands inside it and how it ends; what an operator says is no content."""
    for inside, tag in language.inside if not language.no_spaces else ():
        if inside in word:
            tags |= tag
    negative = language.negative_words
    if negative is not None and not tags & lx.EXC and negative.search(word):
        tags |= lx.NEG
    if tags & OPERATORS and not (keys and keys[0].lstrip("-")[:1] == "@" and not tags & (lx.NEG | lx.AUX)):
        if word in language.tags.single or not tags & lx.NEG or not (language.inside or language.negative_words):
            keys = ()
        elif language.inside:
            keys = _rest_keys(word, language)
    for pattern, tag in language.endings:
        if pattern.search(word):
            tags |= tag
    return tags, keys


def _rest_keys(word: str, language: Language) -> tuple[str, ...]:
    """What a word says beside its negation: `변경금지` speaks of a change, `금지` of nothing."""
    for inside, tag in language.inside:
        if tag & lx.NEG and inside in word:
            rest = word.partition(inside)[0]
            return language.keys(rest) if len(rest) >= 2 else ()
    return language.keys(word)


@lru_cache(maxsize=64)
def seconds(code: str) -> dict[str, frozenset[str]]:
    """The words that may follow the first word of a phrase: a look at the next word settles nearly every case."""
    language = lx.LANGUAGES[code]
    found: dict[str, set[str]] = {}
    for rows in (language.tags.longer, bound_rows(code), language.concept_phrases):
        for first, phrases in rows.items():
            found.setdefault(first, set()).update(rest[0] for rest, _ in phrases)
    return {first: frozenset(seconds) for first, seconds in found.items()}


@lru_cache(maxsize=64)
def bound_rows(code: str) -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """Bounds of several words by their first word, the longest first."""
    rows: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for entry, op in lx.LANGUAGES[code].bounds.items():
        if len(entry) > 1:
            rows.setdefault(entry[0], []).append((entry[1:], op))
    for found in rows.values():
        found.sort(key=lambda row: (-len(row[0]), row[0]))
    return rows
