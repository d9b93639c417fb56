"""What the rule of open and settled losses looks at, from the text of a span: the statement with the words around it, and what
the span does in the course of its session (`ledger.rules.settled`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, cast

import msgspec
from msgspec.structs import replace

from ledger.facts.identifiers import NAMES_IN_FILES, classify
from ledger.facts.lexicon import ENGLISH, Language
from ledger.facts.shorter import NAME_CHARS_MIN, content, figures, last_part, names, squashed
from ledger.facts.standing import (
    asks,
    clause_at,
    denies,
    language_of,
    order_at,
    pasted,
    proposes,
    puts_a_choice,
    refused,
    says,
    section_at,
    sentence_at,
    tells_of_past,
    users_words,
)
from ledger.facts.toolout import CALL, faulty, written_file
from ledger.rows import FactRow, LostRow
from ledger.rules.settled import Step, Taking, Telling
from schemas.facts import FactClass

SAID_CHARS_MAX = 4000
"""Of a user's turn so much is looked at for what it takes back."""

OWN_WORDS_MIN = 2
"""A name alone on a line of a user's goes with what is asked about it."""
NEAR_CHARS = 20
"""What is denied follows at once."""

_PATCHED = re.compile(r'\*\*\* (?:Update|Add) File: ([^\s\\"]+)', re.ASCII)
_NEW_TEXT = re.compile(r'"(?:newText|new_text|new_str|file_text|insert_text|new_content)":', re.ASCII)
_PATH = re.compile(r'"(?:file_path|filePath|path|file)":"([^"\\\n]{1,300})"', re.ASCII)
_ORDERS = frozenset({"instruction", "prohibition", "commitment", "decision"})
_NAMED = re.compile(r"\S*[/\\]\S*", re.ASCII)
_COMMIT = re.compile(r"\b(?:git|hg|svn|jj)\b[^|;&\"\n]{0,200}?\b(?:commit|ci|push)\b", re.ASCII)
_FILE = re.compile(r"[\w@.+-]*\w\.[A-Za-z][A-Za-z0-9]{0,5}\b", re.ASCII)
_MARK = re.compile(r"%[a-z]+", re.ASCII)
_BOUND = re.compile(r"[<>]|.* per ", re.ASCII)
_COUNT = re.compile(r"\d+", re.ASCII)


_NONE: frozenset[str] = frozenset()
"""One for all spans: each empty set is an object of its own."""


class Around(NamedTuple):
    """A fact of the same span: its place, its context, and its value where that is a figure."""

    start: int
    end: int
    context: str
    figure: str


class Spoken(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A span: its id, its ordinal among the carriers of its scope, who speaks."""

    span: str
    ordinal: int
    role: str


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a lost fact stood: the span, the last ordinal that its round took along, and whether its summary keeps next to
    nothing. `reversed_by` is the later span that states the opposite, or the empty string.
    """

    span: Spoken
    until: int
    blank: bool
    reversed_by: str


def step(span: Spoken, text: str, *, proposals: bool) -> Step:
    """What a span does. Of what it writes the words are collected only where there are proposals that it may carry out."""
    call = span.role == "tool" and text.startswith(CALL)
    target = writes(text) if call else ""
    words = users_words(text) if span.role == "tool" and not call else None
    spoken = text if span.role == "user" else text[words:] if words is not None else ""
    written = bool(target) and proposals
    return Step(
        ordinal=span.ordinal,
        span=span.span,
        role="user" if words is not None else span.role,
        call=call,
        writes=_file_name(target),
        words=content(text, ENGLISH) if written else _NONE,
        names=_squashed_names(text) if written else _NONE,
        records=call and bool(_COMMIT.search(text)),
        refused=span.role in {"tool", "system"} and not call and refused(text),
        takings=_takings(spoken),
    )


def writes(text: str) -> str:
    """The file that a tool call writes, by any runtime's names for it, or the empty string."""
    target = written_file(text)
    if target is not None:
        return text[slice(*target)]
    patched = _PATCHED.search(text)
    if patched is not None:
        return patched[1]
    path = _PATH.search(text) if _NEW_TEXT.search(text) else None
    return path[1] if path is not None else ""


def telling(text: str, language: Language, row: LostRow, fact: FactRow, place: Place, facts: Sequence[Around]) -> Telling:
    """A lost fact with what the words around it say; `facts` are all those of its span."""
    tool = place.span.role == "tool"
    words = users_words(text) if tool else None
    role = "user" if words is not None and row.start >= words else place.span.role
    told = Telling(
        ordinal=place.span.ordinal,
        until=place.until,
        role=role,
        cls=cast(FactClass, fact.cls),
        kind=fact.kind,
        outcome=row.outcome,
        reversed_by=place.reversed_by,
        own=_tells_by_itself(fact, role),
        blank=place.blank,
        whole=tool and not (text[: row.start] + text[row.end :]).strip(),
        written=tool and fact.cls == "identifier" and written_file(text) is not None,
    )
    if role == "user":
        return _of_user(told, text, language, row, fact, facts)
    return told if tool else _of_agent(told, text, language, row)


def _of_user(told: Telling, text: str, language: Language, row: LostRow, fact: FactRow, facts: Sequence[Around]) -> Telling:
    first, last = sentence_at(text, row.start, row.end)
    sentence = text[first:last]
    around = [one for one in facts if one.start < last and one.end > first]
    own, orders = _MARK.findall(fact.context), fact.cls in _ORDERS
    clause = text[slice(*clause_at(text, row.start, row.end))]
    passage = text[slice(*order_at(text, row.start, row.end))] if orders else clause
    return replace(
        told,
        own=told.own
        and not text.endswith("\\ ", 0, row.start)
        and len(content(_NAMED.sub(" ", sentence), language)) >= OWN_WORDS_MIN,
        marks=frozenset(mark for one in around for mark in _MARK.findall(one.context)),
        ban=_bans(text, row, fact, around, language),
        plain=fact.cls == "instruction" and fact.polarity == "affirmed" and fact.quantifier in {"", "all"},
        ever=says("ever", passage, language),
        limit=any(_BOUND.match(one.figure) for one in around),
        every=fact.quantifier == "all" and "%rule" in own and says("each", text[row.start : row.end], language),
        lasting=_lasts(clause, language),
        now=says("now", clause, language),
        later=says("later", passage, language),
        asks=asks(sentence, language),
        pasted=pasted(text),
        words=content(sentence, language),
        figures=figures(sentence),
    )


def _of_agent(told: Telling, text: str, language: Language, row: LostRow) -> Telling:
    clause = text[slice(*clause_at(text, row.start, row.end))]
    first, last = section_at(text, row.start)
    section = text[first:last]
    told = replace(
        told,
        lasting=told.cls == "commitment" and _lasts(clause, language),
        done=says("done", clause, language),
        faulty=faulty(clause),
        chooses=puts_a_choice(text),
        proposed=proposes(section, row.start - first, language),
    )
    if not (told.proposed or told.kind or told.lasting):
        return told
    sentence = text[slice(*sentence_at(text, row.start, row.end))]
    return replace(
        told,
        files=frozenset(map(_file_name, _FILE.findall(section))),
        names=_squashed_names(section),
        words=content(sentence, language),
        figures=figures(sentence),
    )


def _takings(text: str) -> tuple[Taking, ...]:
    """The sentences of a user that take something back, or give a figure."""
    if not text or pasted(text):
        return ()
    text = text[:SAID_CHARS_MAX]
    language, found, at = language_of(text), [], 0
    while at < len(text):
        start, end = sentence_at(text, at, at + 1)
        sentence = text[start:end]
        off, numbers = says("off", sentence, language), figures(sentence)
        if (off or numbers) and not asks(sentence, language):
            found.append(Taking(content(sentence, language), numbers, off))
        at = max(end, at + 1)
    return tuple(found)


def _file_name(path: str) -> str:
    return squashed(path.rsplit("/", 1)[-1])


def _squashed_names(text: str) -> frozenset[str]:
    return frozenset(last_part(name) for name in names(text) if "/" not in name and not _FILE.search(name)) - {""}


def on_disk(value: str) -> bool:
    """Is it the name of a file?"""
    return classify(value) in {"file", "path"}


def only_here(value: str) -> bool:
    """Is it a name that only a session knows (an address, a hash, a ticket), and long enough to be found again?"""
    return len(value) >= NAME_CHARS_MIN and classify(value) not in NAMES_IN_FILES


def _tells_by_itself(fact: FactRow, role: str) -> bool:
    if fact.cls == "numeric":
        return not fact.subject and not _COUNT.fullmatch(fact.value)
    if fact.cls == "identifier":
        return classify(fact.value) not in ({"symbol", ""} if role == "user" else NAMES_IN_FILES)
    return fact.cls == "commitment" and fact.value != "+0d"


def _lasts(passage: str, language: Language) -> bool:
    if says("lasting", passage, language):
        return True
    return says("only", passage, language) and not tells_of_past(passage, language)


def _bans(text: str, row: LostRow, fact: FactRow, around: Sequence[Around], language: Language) -> bool:
    """An order not to; or both members of an order that denies one (`the scope, not the whole log`)."""
    own = _MARK.findall(fact.context)
    if "%ban" in own and "%rule" in own:
        return True
    denied = [one for one in around if "%ban" in one.context and denies(text[one.start : one.end], language)]
    if "%ban" in own:
        return any(one.start == row.start for one in denied) and any("%rule" in one.context for one in around)
    return "%rule" in own and any(0 <= one.start - row.end <= NEAR_CHARS for one in denied)
