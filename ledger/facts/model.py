"""How a statement is written into a `Fact`, so that its survival can be decided without its source text.

`Fact.context` holds the content words in order, separated by spaces:

- `key/key` alternatives of one word: concepts (`@start`, `-@start` for its opposite) and the stem
- `^` before a name that has to stand in any restatement, `!` an identifier, `#` a number or date in canonical form
- `%` a mark of the statement itself: `%imp` imperative or obligation, `%exc` a negation with an exception (`%not`: a plain
  *not*), `%always` an order without exception, `%todo` what is still to be done, `%rule` what lays down, `%then` what may have
  changed since, `%soft` what allows exceptions by its own words (`usually`, `if possible`), `%may` what gives leave, `%maybe`
  what only may be, `%ask` a question, `%,` the next member of a list, `%ban` a negated statement, `%it` one about a pronoun,
  `%verb=key` the word that is negated, `%act=key` the verb of an order, `%if=key` a word of the condition, `%r=` the roles of
  words by their number (see `ledger.facts.language.roles`), `%entry` a value under its names, `%yes` or `%no` one that is
  ticked or not (see `ledger.facts.structure.entries`)
- `%<` and `%>` say that a date bounds from above (`by`, `until`) or from below (`after`, `from`)
- `<key` and `-<key` stand for *before key* and *after key*
- a space within a key is written U+00A0, a slash U+2215

For values (numbers, dates, identifiers) the words nearest to the value come first, then `|`, then the rest of the clause.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from ledger.facts.extraction.analysis import Sentence
from ledger.facts.language.clauses import Clause
from ledger.facts.language.tokens import Token

RULES_VERSION = "r4"
"""Version of the facts' survival and of every rule over them; part of each decision."""

EXTRACTOR = "x3"
"""Version of the extractor, written into each manifest."""

CONTEXT_WORDS_MAX = 40
NEAR_WORDS_MAX = 8
_SPACE = "\u00a0"
_SLASH = "\u2215"


def encode(token: Token) -> str:
    """One word of a context."""
    return _encode(token.keys, token.name)


@lru_cache(maxsize=1024)
def _encode(keys: tuple[str, ...], name: bool) -> str:
    text = "/".join(key.replace("/", _SLASH) for key in keys).replace(" ", _SPACE)
    return "^" + text if name else text


def alternatives(word: str) -> tuple[str, ...]:
    """The keys of one word of a context, the inverse of `encode`; none where the word is malformed."""
    parts = [part for part in word.lstrip("^").split("/") if part]
    if not word.isascii():
        parts = [part.replace(_SPACE, " ").replace(_SLASH, "/") for part in parts]
    return tuple(parts)


def words_of(tokens: Iterable[Token], most: int = CONTEXT_WORDS_MAX) -> list[str]:
    """Distinct context words of the tokens, in order, at most `most`."""
    found: dict[str, None] = {}
    for token in tokens:
        if token.keys:
            found[encode(token)] = None
            if len(found) >= most:
                break
    return list(found)


def segmented(clause: Clause) -> list[str]:
    """Context words of a clause with `%,` between the members of a list: what belongs together must stay together."""
    found: list[str] = []
    seen: set[str] = set()
    segment = -1
    for token in clause.content:
        word = encode(token)
        if word in seen:
            continue
        if found and token.segment != segment:
            found.append("%,")
        segment = token.segment
        seen.add(word)
        found.append(word)
        if len(seen) >= CONTEXT_WORDS_MAX:
            break
    return found


def near_tokens(sentence: Sentence, at: int) -> list[Token]:
    """Content tokens of the same list item as the token at index `at`: to the next comma, conjunction or value each way."""
    tokens = sentence.tokens
    left: list[Token] = []
    for token in reversed(tokens[max(0, at - 12) : at]):
        if _edge(token):
            break
        if token.keys:
            left.append(token)
    right: list[Token] = []
    for token in tokens[at + 1 : at + 9]:
        if _edge(token):
            break
        if token.keys:
            right.append(token)
    return (right[:4] + left[:4])[:NEAR_WORDS_MAX]


def side_of(sentence: Sentence, at: int) -> str:
    """On which side of the date at token `at` something lies: `<` by or before it, `>` after or from it, else nothing."""
    language = sentence.language
    for index in range(at - 1, max(-1, at - 4), -1):
        token = sentence.tokens[index]
        if token.kind != "w":
            break
        early = token.word in language.before or token.word in language.by
        if early or token.word in language.after or token.word in language.since:
            negated = token.word not in language.by and (
                _negated_before(sentence, index) or _negated_behind(sentence, index, at)
            )
            return "<" if early != negated else ">"
        if token.keys and not token.tags & (1 << 21):
            break
    return _side_behind(sentence, at) if language.postpositions else ""


def _side_behind(sentence: Sentence, at: int) -> str:
    """The same in languages that put it behind the date: `9日까지`, `9日まで`, `tarihine kadar`."""
    language = sentence.language
    for token in sentence.tokens[at + 1 : at + 4]:
        if token.kind != "w":
            break
        if token.word.startswith((*language.by, *language.before)):
            return "<"
        if token.word.startswith((*language.after, *language.since)):
            return ">"
        if token.keys and not language.numeral_signs:
            break
    return ""


def _negated_before(sentence: Sentence, at: int) -> bool:
    """`not before 3 May`: a negation in the same stretch between punctuation marks."""
    for token in reversed(sentence.tokens[max(0, at - 8) : at]):
        if token.kind == "p":
            return False
        if (token.tags | sentence.language.tags.single.get(token.word, 0)) & (1 << 0):
            return True
    return False


def _negated_behind(sentence: Sentence, first: int, at: int) -> bool:
    """`Before 9 am, do not send`: a negation in what follows a date that stands at the head of its sentence."""
    if first or at + 1 >= len(sentence.tokens) or sentence.tokens[at + 1].word != ",":
        return False
    for token in sentence.tokens[at + 2 : at + 8]:
        if token.kind == "p":
            return False
        if token.tags & (1 << 0):
            return True
    return False


def _edge(token: Token) -> bool:
    return token.kind in "nd" or (token.kind == "p" and token.word in ",;()|{}[]") or bool(token.tags & (1 << 14))


def clause_at(sentence: Sentence, start: int) -> Clause | None:
    """The clause that holds code point `start`."""
    for clause in sentence.clauses:
        if clause.start <= start < clause.end:
            return clause
    return None
