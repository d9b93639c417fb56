"""What a word does only by what stands around it, in the languages that have such words (their tables say which)."""

from __future__ import annotations

from itertools import pairwise

from ledger.facts.language import lexicon as lx
from ledger.facts.language.lexicon import Language
from ledger.facts.language.tokens import Token


def settle_words(original: str, tokens: list[Token], language: Language) -> None:
    """Turns the tags of words whose neighbours, or whose accent, make them mean something else."""
    if language.accents and not original.isascii():
        _accents(original, tokens, language)
    if language.restricts:
        _restricted(tokens, language)
    if language.negative_unless_before:
        _nouns(tokens, language)
    if language.fronted:
        _fronted(tokens, language)


def _accents(original: str, tokens: list[Token], language: Language) -> None:
    """`é` is *is* where `e` is *and*, `bära` to carry where `bara` is *only*: the accent is gone from the folded word."""
    for token in tokens:
        if token.kind == "w" and token.word in language.accented:
            tags = language.accents.get(original[token.start : token.end])
            if tags is not None:
                token.tags, token.keys = tags, () if tags & lx.STOP else language.keys(token.word)


def _restricted(tokens: list[Token], language: Language) -> None:
    """`ne ... que`: a weak negation without its second word, and *than* later on, says *only*."""
    first = next((token for token in tokens if token.tags & lx.NEG), None)
    if first is None or (first.word not in {"ne", "n'"} and not first.word.startswith("n'")):
        return
    if sum(token.tags & lx.NEG != 0 for token in tokens) > 1:
        return
    if any(token.start > first.end and token.word.startswith(language.restricts) for token in tokens):
        first.tags = (first.tags & ~lx.NEG) | lx.ONLY


def _nouns(tokens: list[Token], language: Language) -> None:
    """`çalıştırmadan sonra` is *after running*, `onay almadan` *without approval*: the ending alone does not tell."""
    for token, following in pairwise(tokens):
        if token.tags & (lx.NEG | lx.EXC) and following.word in language.negative_unless_before:
            token.tags &= ~(lx.NEG | lx.EXC)


def _fronted(tokens: list[Token], language: Language) -> None:
    """`没有批准，不得重启`: a negation at the head of a negated sentence is its condition, *without*."""
    first = next((token for token in tokens if token.kind == "w"), None)
    if first is not None and first.word in language.fronted and sum(token.tags & lx.NEG != 0 for token in tokens) > 1:
        first.tags = (first.tags & ~lx.NEG) | lx.EXC
