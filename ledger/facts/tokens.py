"""Words of a sentence and what they do there: operators (negation, quantifier, bound), and keys for content words."""

from __future__ import annotations

import re
from functools import lru_cache

from ledger.facts import lexicon as lx
from ledger.facts.fold import WORD
from ledger.facts.lexicon import Language

BOUND = lx.BOUND


ABSORBS = 1 << 30
"""Set on a number whose bound has taken up a negation: `not more than`, `no ... more than twice`."""


_OPERATORS = (
    lx.NEG | lx.EXC | lx.EXCEPT | lx.UNTIL | lx.ONLY | lx.ALL | lx.SOME | lx.MOST | lx.HEDGE
    | lx.MUST | lx.MAY | lx.AUX | lx.PRON | lx.SUB | lx.CONJ | lx.OR
    | lx.STOP | lx.INSTEAD | lx.AFTERWARDS | lx.PLEASE | lx.SOFT | BOUND
)  # fmt: skip


class Token:
    """A word (`w`), identifier (`i`), number (`n`), date (`d`) or punctuation mark (`p`) at `[start, end)`."""

    __slots__ = ("end", "keys", "kind", "name", "segment", "start", "tags", "word")

    def __init__(
        self, start: int, end: int, kind: str, word: str, tags: int = 0, keys: tuple[str, ...] = (), name: bool = False
    ) -> None:
        self.start = start
        self.end = end
        self.kind = kind
        self.word = word
        self.tags = tags
        self.keys = keys
        self.name = name
        self.segment = 0


_PIECE = re.compile(rf"[{WORD}](?:[{WORD}'\u2019-]*[{WORD}])?|[^{WORD}\s]", re.ASCII)


_WORD_CHAR = re.compile(f"[{WORD}]", re.ASCII)


def read_words(folded: str, start: int, end: int, language: Language, tokens: list[Token]) -> None:
    """Appends the words and punctuation marks of `[start, end)`."""
    no_spaces, known, append = language.no_spaces, language.known, tokens.append
    for m in _PIECE.finditer(folded, start, end):
        word = m[0]
        at = m.start()
        entry = known.get(word)
        if entry is None:
            entry = _learn(word, language)
        if entry is _MARK:
            if word not in "\"'`*#_\\":
                append(Token(at, at + 1, "p", word))
        elif no_spaces and not word.isascii():
            _bigrams(at, word, language, tokens)
        elif len(entry) == 1:
            _, piece, tags, keys = entry[0]
            append(Token(at, m.end(), "w", piece, tags, keys))
        else:
            for offset, piece, tags, keys in entry:
                append(Token(at + offset, at + offset + len(piece), "w", piece, tags, keys))


_Entry = tuple[tuple[int, str, int, tuple[str, ...]], ...]


_MARK: _Entry = ()


KNOWN_MAX = 50_000
"""Words of one language whose analysis is kept; then the memory starts anew. It changes nothing but speed."""


def _learn(word: str, language: Language) -> _Entry:
    """Tags and keys of a word, or of the parts of a compound; punctuation has none."""
    entry: _Entry
    if len(word) == 1 and not _WORD_CHAR.match(word):
        entry = _MARK
    else:
        tags = language.tags.single.get(word, 0)
        if language.apostrophe_negation and word.endswith("n't"):
            tags |= lx.NEG | lx.AUX
        head, dash, rest = word.partition("-")
        if (
            not tags
            and dash
            and rest
            and word not in language.concepts
            and head not in {"non", "un", "de"}
            and not language.no_spaces
        ):
            at, pieces = 0, []
            for part in word.split("-"):
                if part:
                    pieces.append((at, part, language.tags.single.get(part, 0) & ~(lx.NEG | lx.EXC), language.keys(part)))
                at += len(part) + 1
            entry = tuple(pieces)
        else:
            entry = ((0, word, tags, language.keys(word)),)
    if len(language.known) >= KNOWN_MAX:
        language.known.clear()
    language.known[word] = entry
    return entry


def _bigrams(start: int, run: str, language: Language, tokens: list[Token]) -> None:
    """Scripts without spaces: overlapping pairs of characters stand for words; operators are found inside the run."""
    tagged: dict[int, int] = {}
    days: dict[int, int] = {}
    covered = bytearray(len(run))
    for phrase, tag in language.inside:
        at = run.find(phrase)
        while at >= 0:
            if not any(covered[at : at + len(phrase)]):
                tagged[at] = tagged.get(at, 0) | tag
                covered[at : at + len(phrase)] = b"\x01" * len(phrase)
            at = run.find(phrase, at + len(phrase))
    for name, day in language.weekdays.items():
        at = run.find(name)
        if at >= 0 and not any(covered[at : at + len(name)]):
            days[at] = day
            covered[at : at + len(name)] = b"\x01" * len(name)
    for at in range(max(1, len(run) - 1)):
        pair = run[at : at + 2]
        tag = tagged.get(at, 0)
        keys = (
            (f"#day{days[at]}",)
            if at in days
            else ()
            if covered[at] or (len(pair) > 1 and covered[at + 1])
            else language.keys(pair)
        )
        tokens.append(Token(start + at, start + at + len(pair), "w", pair, tag, keys))


def tag(tokens: list[Token], language: Language) -> None:
    """Phrases of several words, operators inside words, and which words carry content."""
    single, starters = language.tags.single, _seconds(language.code)
    inner = language.inside if not language.no_spaces else ()
    negative, endings = language.negative_words, language.endings
    skip = 0
    for at, token in enumerate(tokens):
        if skip:
            skip -= 1
            token.tags, token.keys = token.tags & lx.PRON, ()
            continue
        if token.kind != "w":
            continue
        word = token.word
        seconds = starters.get(word)
        if seconds is not None and at + 1 < len(tokens) and tokens[at + 1].word in seconds:
            skip = _phrase(tokens, at, language)
        for inside, tag in inner:
            if inside in word:
                token.tags |= tag
        if negative is not None and not token.tags & lx.EXC and negative.search(word):
            token.tags |= lx.NEG
        if token.tags & _OPERATORS and not (
            token.keys and token.keys[0].lstrip("-")[:1] == "@" and not token.tags & (lx.NEG | lx.AUX)
        ):
            if word in single or not token.tags & lx.NEG or not (language.inside or language.negative_words):
                token.keys = ()
            elif language.inside:
                token.keys = _rest_keys(word, language)
        for pattern, tag in endings:
            if pattern.search(word):
                token.tags |= tag


@lru_cache(maxsize=64)
def _seconds(code: str) -> dict[str, frozenset[str]]:
    """The words that may follow the first word of a phrase: a look at the next word settles nearly every case."""
    language = lx.LANGUAGES[code]
    found: dict[str, set[str]] = {}
    for rows in (language.tags.longer, _bound_rows(code), language.concept_phrases):
        for first, phrases in rows.items():
            found.setdefault(first, set()).update(rest[0] for rest, _ in phrases)
    return {first: frozenset(seconds) for first, seconds in found.items()}


def _phrase(tokens: list[Token], at: int, language: Language) -> int:
    """Reads a phrase that begins at this token; answers how many further tokens belong to it as operators."""
    token, word = tokens[at], tokens[at].word
    skip = 0
    for rest, tag in language.tags.longer.get(word, ()):
        if _follows(tokens, at, rest):
            denied = tag & lx.REJECTED and any(language.tags.single.get(part, 0) & lx.NEG for part in (word, *rest))
            token.tags, token.keys, skip = tag & ~lx.NEUTRAL | (lx.NEG if denied else 0), (), len(rest)
            break
    else:
        for rest, _ in _bound_phrases(language).get(word, ()):
            if _follows(tokens, at, rest):
                token.tags, token.keys, skip = BOUND, (), len(rest)
                break
    for rest, key in language.concept_phrases.get(word, ()):
        if _follows(tokens, at, rest):
            token.keys = (key,)
            token.tags &= ~(_OPERATORS | lx.REASON)
            for later in tokens[at + 1 : at + 1 + len(rest)]:
                later.keys, later.tags = (), later.tags & ~lx.NEG
    return skip


def _rest_keys(word: str, language: Language) -> tuple[str, ...]:
    """What a word says beside its negation: `변경금지` speaks of a change, `금지` of nothing."""
    for inside, tag in language.inside:
        if tag & lx.NEG and inside in word:
            rest = word.partition(inside)[0]
            return language.keys(rest) if len(rest) >= 2 else ()
    return language.keys(word)


@lru_cache(maxsize=64)
def _bound_rows(code: str) -> dict[str, list[tuple[tuple[str, ...], str]]]:
    rows: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for entry, op in lx.LANGUAGES[code].bounds.items():
        if len(entry) > 1:
            rows.setdefault(entry[0], []).append((entry[1:], op))
    for found in rows.values():
        found.sort(key=lambda row: (-len(row[0]), row[0]))
    return rows


def order(tokens: list[Token], language: Language) -> None:
    """`before the audit` and `after the audit` are opposites where they speak of the same thing."""
    for at, token in enumerate(tokens):
        sign = "" if token.word in language.before else "-" if token.word in language.after else None
        if sign is None or token.kind != "w":
            continue
        following = next((t for t in tokens[at + 1 : at + 5] if t.keys and t.kind == "w"), None)
        if following is not None:
            token.keys = (f"{sign}<{following.keys[-1].lstrip('-')}",)


def _bound_phrases(language: Language) -> dict[str, list[tuple[tuple[str, ...], str]]]:
    return _bound_rows(language.code)


def _follows(tokens: list[Token], at: int, rest: tuple[str, ...]) -> bool:
    if at + len(rest) >= len(tokens):
        return False
    return all(tokens[at + 1 + offset].word == word for offset, word in enumerate(rest))
