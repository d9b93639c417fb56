"""Where one clause of a sentence ends and the next begins: English is cut by its verbs, other languages by function words."""

from __future__ import annotations

from ledger.facts.language import lexicon as lx
from ledger.facts.language.known import ALLOWED
from ledger.facts.language.lexicon import Language
from ledger.facts.language.tokens import Token

_PREDICATE = lx.AUX | lx.PRED | lx.NEG | lx.MUST | lx.MAY | lx.PRON | lx.EXC


_OPENERS = lx.VERB | lx.PRON | lx.NEG | lx.MUST | lx.PLEASE | lx.REASON | lx.INSTEAD | lx.ONLY


_MAY_OPEN = lx.INSTEAD | lx.EXC | lx.CONJ | lx.SUB | lx.REASON
"""Without one of these a word begins no clause."""


def split(tokens: list[Token], language: Language) -> list[list[Token]]:
    """The tokens of each clause; punctuation marks are left out, and each token learns in which member of a list it stands."""
    parts: list[list[Token]] = []
    part: list[Token] = []
    negated = content = apart = False
    inside = -1
    segment = 0
    for at, token in enumerate(tokens):
        tags = token.tags
        mark = token.kind == "p"
        if tags & lx.CONJ or (mark and token.word in ",;"):
            segment += 1
        token.segment = segment
        if mark:
            if token.word == "(":
                inside = _values_only(tokens, at)
            if at <= inside:
                continue
            if token.word == ",":
                closes, apart = apart, _stressed(tokens, at)
                if closes:
                    continue
            if (
                part
                and (
                    token.word in ";\u2014\u2192()"
                    or (token.word == "-" and _spaced(tokens, at))
                    or (token.word == ":" and _spaced(tokens, at, after_only=True))
                )
            ) or (
                token.word == ","
                and content
                and not _excepts(tokens, at + 1)
                and not (not parts and part[0].tags & (lx.EXC | lx.EXCEPT) and _negative(tokens, at + 1))
                and not (_set_apart(part) or (language.postpositions and _ends_excepting(part)))
                and _new_clause(tokens, at + 1, language, negated)
            ):
                parts.append(part)
                part, negated, content = [], False, False
            continue
        opens = content and tags & _MAY_OPEN and _opens(tokens, at, token, negated, language)
        if opens and not _two_subjects(part, tokens, at):
            parts.append(part)
            part, negated, content = [], False, False
        part.append(token)
        if tags & lx.NEG:
            negated = True
        if token.keys:
            content = True
    if part:
        parts.append(part)
    return parts


def _values_only(tokens: list[Token], at: int) -> int:
    """Index of the bracket that closes the one at `at`, if only values stand between: such a bracket splits no clause."""
    for later in range(at + 1, min(len(tokens), at + 16)):
        if tokens[later].word == ")":
            return later
        if tokens[later].kind == "w" and tokens[later].keys:
            return -1
    return -1


def _spaced(tokens: list[Token], at: int, after_only: bool = False) -> bool:
    after = at + 1 >= len(tokens) or tokens[at + 1].start > tokens[at].end
    return after and (after_only or at == 0 or tokens[at - 1].end < tokens[at].start)


def _negative(tokens: list[Token], at: int) -> bool:
    """Is the clause from here on negated? After a fronted `without X,` it completes an *only*."""
    for token in tokens[at : at + 9]:
        if token.kind == "p" and token.word in ",;:.":
            return False
        if token.tags & lx.NEG:
            return True
    return False


def _stressed(tokens: list[Token], at: int) -> bool:
    """`Never, under any circumstances, share it`: what a negation stresses between two commas begins no clause, nor does what
    follows it.
    """
    group = tokens[at + 1 : at + 1 + STRESSED_TOKENS_MAX]
    if not at or not tokens[at - 1].tags & lx.NEG or not group or not group[0].tags & lx.STOP:
        return False
    end = next((spot for spot, token in enumerate(group) if token.kind == "p"), len(group))
    plain = not any(token.tags & (lx.VERB | lx.AUX | lx.PRON) for token in group[:end])
    return plain and end < len(group) and group[end].word == ","


STRESSED_TOKENS_MAX = 7


def _set_apart(part: list[Token]) -> bool:
    """`Nobody, except Hanna, may open it`: after the exception the clause goes on."""
    for token in part:
        if token.tags & lx.EXCEPT:
            return True
        if token.keys:
            return False
    return False


def _ends_excepting(part: list[Token]) -> bool:
    """`北口を除いて、...`: where the exception stands behind its noun, what follows the comma is what it is an exception to."""
    return any(token.tags & lx.EXCEPT for token in part[-EXCEPTION_TOKENS_MAX:])


EXCEPTION_TOKENS_MAX = 4
"""Tokens that the word of an exception and its particles may have, in pairs of signs."""


def _excepts(tokens: list[Token], at: int) -> bool:
    return at < len(tokens) and bool(tokens[at].tags & lx.EXCEPT)


def _two_subjects(part: list[Token], tokens: list[Token], at: int) -> bool:
    """`Only Priya and Tomas may approve it`: what stands before the conjunction has no predicate but the one behind it."""
    if not tokens[at].tags & lx.CONJ or len(part) > SUBJECT_TOKENS_MAX or _says(part):
        return False
    following = tokens[at + 1 : at + 2 + SUBJECT_TOKENS_MAX]
    verb = next((spot for spot, token in enumerate(following) if token.tags & (lx.AUX | lx.MUST | lx.MAY)), 0)
    return (
        verb > 0
        and not any(token.kind == "p" or token.tags & lx.SUB for token in following[:verb])
        and not _says(following[:verb])
    )


def _says(tokens: list[Token]) -> bool:
    """Has one of the words a tag that no bare subject has? Behind its article a noun may look like a verb (`the cache`)."""
    return any(
        token.tags & (_SAYS if not at or tokens[at - 1].word not in _BEGINS_SUBJECT else _SAYS & ~lx.VERB)
        for at, token in enumerate(tokens)
    )


SUBJECT_TOKENS_MAX = 3
_SAYS = lx.VERB | lx.PRED | lx.AUX | lx.MUST | lx.MAY | lx.PRON | lx.NEG | lx.EXC | lx.PLEASE | lx.REASON | lx.QUESTION
"""Tags of words that no bare subject has."""


def _opens(tokens: list[Token], at: int, token: Token, negated: bool, language: Language) -> bool:
    """Does a new clause begin with this word?"""
    tags = token.tags
    if tags & lx.INSTEAD:
        return True
    if tags & lx.EXC:
        return not (negated or language.postpositions)
    if tags & lx.UNTIL:
        return False
    if tags & lx.CONJ and not tags & lx.SUB:
        return _new_clause(tokens, at + 1, language) or (negated and _told_besides(tokens, at, language))
    if token.word in {"as", "after"} and tags & lx.SUB and language.code == "en":
        return _new_clause(tokens, at + 1, language)  # `after dark` and `as a copy` are no clauses, `as we agreed` is one
    if token.word == "that" and tags & lx.SUB and language.code == "en":
        return at == 0 or tokens[at - 1].kind == "p" or _denies(tokens, at + 1)
    if negated and tokens[at - 1].word in ALLOWED:
        return False  # `det är inte tillåtet att ...`
    return bool(tags & (lx.SUB | lx.REASON)) and not tags & lx.ONLY


def _denies(tokens: list[Token], at: int) -> bool:
    """Is there a sign of its own in what `that` begins? Without one it belongs to what it is said of."""
    for token in tokens[at : at + 16]:
        if (token.kind == "p" and token.word in ";:\u2014.") or (token.tags & lx.CONJ):
            return False
        if token.tags & (lx.NEG | lx.EXC | lx.EXCEPT | lx.ONLY):
            return True
    return False


def _new_clause(tokens: list[Token], at: int, language: Language, negated: bool = False) -> bool:
    """Is what follows a clause of its own: does it open with a verb or hold an auxiliary, pronoun or negation of its own?"""
    seen = words = 0
    before = ""
    for token in tokens[at : at + 9]:
        if token.kind == "p":
            if token.word in ",;:.\u2014" and words:
                break
            continue
        if token.tags & lx.CONJ:
            if words:
                break
            continue
        if token.tags & lx.ADVERB and not words:
            continue
        words += 1
        if words == 1 and (token.tags & _OPENERS or _third_person(token, language)):
            return True
        if token.tags & _PREDICATE or (words == 2 and token.tags & lx.VERB and before.endswith("s") and seen):
            return True
        before = token.word
        seen += bool(token.keys)
    return (language.code != "en" or negated) and seen >= (2 if language.no_spaces else 3)


def _told_besides(tokens: list[Token], at: int, language: Language) -> bool:
    """`found no errors and took 45 minutes`: behind a verb with a negation of its own what is told next has its own sign.

    A verb without subject is a past tense (English) or a word right before an amount with its unit. With an auxiliary, or a
    negation before the verb (`nobody called and asked`), what follows shares the negation.
    """
    following = [token for token in tokens[at + 1 : at + 2 + SUBJECT_TOKENS_MAX] if token.kind != "p"]
    begun = next((spot for spot in range(at, 0, -1) if tokens[spot - 1].kind == "p"), 0)
    if not following or any(token.tags & (lx.NEG | lx.MUST | lx.MAY | lx.CONJ | lx.OR) for token in following):
        return False
    if any(token.tags & (lx.MUST | lx.MAY | lx.PLEASE) for token in tokens[begun:at]):
        return False
    denied = next((spot for spot in range(begun, at) if tokens[spot].tags & lx.NEG), begun)
    if language.code != "en":
        before = any(token.keys or token.tags & lx.PRON for token in tokens[begun:denied])
        return before and _amount_behind(following)
    verbs = [spot for spot, token in enumerate(following) if _past(token, language)]
    if following[0].word in _BEGINS_SUBJECT:
        return bool(verbs) and verbs[0] > 1
    if any(token.tags & lx.AUX for token in tokens[begun:at]) or not verbs or verbs[0]:
        return False
    return any(_past(token, language) for token in tokens[begun:denied])


_BEGINS_SUBJECT = frozenset("the our my your his her its their this each every".split())


def _past(token: Token, language: Language) -> bool:
    """A listed English verb in another form than its bare one, but no `-ing` and no third person."""
    if token.kind != "w" or token.word.endswith(("ing", "s")):
        return False
    single = language.tags.single
    stem = language.stem(token.word)
    listed = (single.get(stem, 0) | single.get(stem + "e", 0)) & lx.VERB
    return stem != token.word and bool(listed)


def _amount_behind(following: list[Token]) -> bool:
    """Does a number with its unit follow a word, of which no more than one has content?"""
    spot = next((spot for spot, token in enumerate(following) if token.kind == "n"), 0)
    words = following[:spot]
    return 0 < spot < SUBJECT_TOKENS_MAX and " " in following[spot].word and sum(bool(t.keys) for t in words) <= 1


def _third_person(token: Token, language: Language) -> bool:
    """`leaves`, `passes`: a listed verb with its ending, at the head of what follows a conjunction."""
    single = language.tags.single
    return token.word.endswith("s") and bool((single.get(token.word[:-1], 0) | single.get(token.word[:-2], 0)) & lx.VERB)
