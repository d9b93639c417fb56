"""Words of a sentence and what they do there: operators (negation, quantifier, bound), and keys for content words."""

from __future__ import annotations

import re

import msgspec

from ledger.facts.language import lexicon as lx
from ledger.facts.language.fold import WORD
from ledger.facts.language.known import EVERY_LOOK, OPERATORS, bound_rows, learn, operated, seconds
from ledger.facts.language.lexicon import Language
from ledger.facts.language.pieces import Piece

BOUND = lx.BOUND


ABSORBS = 1 << 30
"""Set on a number whose bound has taken up a negation: `not more than`, `no ... more than twice`."""


class Token(msgspec.Struct, eq=False, gc=False):
    """A word (`w`), identifier (`i`), number (`n`), date (`d`) or punctuation mark (`p`) at `[start, end)`.

    `piece` is what is known of a word wherever it stands; `segment` numbers the member of a list that the token is in.
    """

    start: int
    end: int
    kind: str
    word: str
    tags: int = 0
    keys: tuple[str, ...] = ()
    piece: Piece | None = None
    name: bool = False
    segment: int = 0


_PIECE = re.compile(rf"[{WORD}](?:[{WORD}'\u2019-]*[{WORD}])?|[^{WORD}\s]", re.ASCII)

_UNSAID = frozenset("\"'`*#_\\")
"""Marks that only dress words up."""


def read_words(folded: str, start: int, end: int, language: Language, tokens: list[Token]) -> int:
    """Appends the words and punctuation marks of `[start, end)`; answers in which respects they are to be looked at again."""
    if language.no_spaces:
        _read_runs(folded, start, end, language, tokens)
        return EVERY_LOOK
    get, append = language.known.get, tokens.append
    looks = 0
    for m in _PIECE.finditer(folded, start, end):
        word = m[0]
        entry = get(word)
        if entry is None:
            entry = learn(word, language)
        look, pieces = entry
        looks |= look
        if len(pieces) == 1:
            piece = pieces[0]
            at, to = m.span()
            append(Token(at, to, "w", piece[1], piece[2], piece[3], piece))
        elif pieces:
            at = m.start()
            for piece in pieces:
                first = at + piece[0]
                append(Token(first, first + len(piece[1]), "w", piece[1], piece[2], piece[3], piece))
        elif word not in _UNSAID:
            at = m.start()
            append(Token(at, at + 1, "p", word))
    return looks


def _read_runs(folded: str, start: int, end: int, language: Language, tokens: list[Token]) -> None:
    """The same in a script without spaces, where nothing is taken into account yet of what operators say."""
    known = language.known
    for m in _PIECE.finditer(folded, start, end):
        word = m[0]
        entry = known.get(word)
        if entry is None:
            entry = learn(word, language)
        if not entry.pieces:
            if word not in _UNSAID:
                tokens.append(Token(m.start(), m.start() + 1, "p", word))
        elif not word.isascii():
            _bigrams(m.start(), word, language, tokens)
        else:
            for piece in entry.pieces:
                at = m.start() + piece.offset
                tokens.append(Token(at, at + len(piece.word), "w", piece.word, piece.first_tags, piece.first_keys, piece))


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
    if language.no_spaces:
        _tag_phrases(tokens, 0, language)
        return
    starters, last = seconds(language.code), len(tokens) - 1
    for at, token in enumerate(tokens):
        following = starters.get(token.word)
        if following is not None and token.kind == "w" and at < last and tokens[at + 1].word in following:
            for later in tokens[at:]:
                if later.piece is not None:
                    later.tags, later.keys = later.piece.first_tags, later.piece.first_keys
            _tag_phrases(tokens, at, language)
            return


def _tag_phrases(tokens: list[Token], start: int, language: Language) -> None:
    """Phrases and operators from the token at index `start` on."""
    starters = seconds(language.code)
    skip = 0
    for at in range(start, len(tokens)):
        token = tokens[at]
        if skip:
            skip -= 1
            token.tags, token.keys = token.tags & lx.PRON, ()
            continue
        if token.kind != "w":
            continue
        following = starters.get(token.word)
        if following is not None and at + 1 < len(tokens) and tokens[at + 1].word in following:
            skip = _phrase(tokens, at, language)
        piece = token.piece
        if piece is not None and token.tags == piece.first_tags and token.keys == piece.first_keys:
            token.tags, token.keys = piece.tags, piece.keys
        else:
            token.tags, token.keys = operated(token.word, token.tags, token.keys, language)


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
        for rest, _ in bound_rows(language.code).get(word, ()):
            if _follows(tokens, at, rest):
                token.tags, token.keys, skip = BOUND, (), len(rest)
                break
    for rest, key in language.concept_phrases.get(word, ()):
        if _follows(tokens, at, rest):
            token.keys = (key,)
            token.tags &= ~(OPERATORS | lx.REASON)
            for later in tokens[at + 1 : at + 1 + len(rest)]:
                later.keys, later.tags = (), later.tags & ~lx.NEG
    return skip


def order(tokens: list[Token], language: Language) -> None:
    """`before the audit` and `after the audit` are opposites where they speak of the same thing."""
    for at, token in enumerate(tokens):
        sign = "" if token.word in language.before else "-" if token.word in language.after else None
        if sign is None or token.kind != "w":
            continue
        following = next((t for t in tokens[at + 1 : at + 5] if t.keys and t.kind == "w"), None)
        if following is not None:
            token.keys = tuple(dict.fromkeys(f"{sign}<{key.lstrip('-^')}" for key in following.keys))


def _follows(tokens: list[Token], at: int, rest: tuple[str, ...]) -> bool:
    if at + len(rest) >= len(tokens):
        return False
    for word in rest:
        at += 1
        if tokens[at].word != word:
            return False
    return True
