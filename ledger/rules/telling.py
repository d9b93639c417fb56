"""What the rule of open and settled losses looks at, from the text of a span: the statement with the words around it, and what
the span does in the course of its session (`ledger.rules.settled`).
"""

from __future__ import annotations

import re
from typing import cast

import msgspec
from msgspec.structs import replace

from ledger.facts.language.lexicon import ENGLISH, Language
from ledger.facts.settled.forbidding import begins_denied, dated, denies_all, forbids, lifts, orders, permits, untagged
from ledger.facts.settled.shorter import NAME_CHARS_MIN, content, figures
from ledger.facts.settled.standing import (
    asks,
    denies,
    language_of,
    pasted,
    refused,
    says,
    sentence_at,
    tells_of_past,
    users_words,
    without,
)
from ledger.facts.structure.toolout import CALL, faulty, written_file
from ledger.facts.values.identifiers import NAMES_IN_FILES, classify
from ledger.rows import FactRow, LostRow
from ledger.rules.look import SENTENCE_CHARS_MAX, Look, Sentence, file_name, squashed_names
from ledger.rules.settled import Step, Telling
from ledger.rules.takings import Taking
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
_MARK = re.compile(r"%[a-z]+", re.ASCII)
_BOUND = re.compile(r"[<>]|.* per ", re.ASCII)
_COUNT = re.compile(r"\d+", re.ASCII)
_VERB = re.compile(r"%verb=(?:\S*[/=])?([^\s/=]+)", re.ASCII)
_QUESTION = re.compile(r"[?\uff1f\u061f]\W*$", re.ASCII)


_NONE: frozenset[str] = frozenset()
"""One for all spans: each empty set is an object of its own."""


class Spoken(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A span: its id, its ordinal among the carriers of its scope, who speaks."""

    span: str
    ordinal: int
    role: str


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a lost fact stood: the span, the last ordinal that its round took along, and whether its summary keeps next to
    nothing. `reversed` says that a later span states the opposite.
    """

    span: Spoken
    until: int
    blank: bool
    reversed: bool


def step(span: Spoken, text: str, *, proposals: bool) -> Step:
    """What a span does. Of what it writes the words are collected only where there are proposals that it may carry out."""
    call = span.role == "tool" and text.startswith(CALL)
    target = writes(text) if call else ""
    words = users_words(text) if span.role == "tool" and not call else None
    spoken = text if span.role == "user" else text[words:] if words is not None else ""
    written = bool(target) and proposals
    return Step(
        role="user" if words is not None else span.role,
        call=call,
        writes=file_name(target),
        words=content(text, ENGLISH) if written else _NONE,
        names=squashed_names(text) if written else _NONE,
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


def telling(look: Look, row: LostRow, fact: FactRow, place: Place) -> Telling:
    """A lost fact with what the words around it say."""
    tool = place.span.role == "tool"
    role = "user" if look.users_from is not None and row.start >= look.users_from else place.span.role
    told = Telling(
        ordinal=place.span.ordinal,
        until=place.until,
        role=role,
        cls=cast(FactClass, fact.cls),
        kind=fact.kind,
        outcome=row.outcome,
        reversed=place.reversed,
        own=_tells_by_itself(fact, role),
        blank=place.blank,
        whole=tool and look.whole(row.start, row.end),
        written=tool and fact.cls == "identifier" and look.written,
    )
    if role == "user":
        return _of_user(told, look, row, fact)
    return told if tool else _of_agent(told, look, row)


def _of_user(told: Telling, look: Look, row: LostRow, fact: FactRow) -> Telling:
    text, language, sentence = look.text, look.language, look.sentence(row.start, row.end)
    own, an_order = _MARK.findall(fact.context), fact.cls in _ORDERS
    clause = look.clause(row.start, row.end)
    passage = look.order(row.start, row.end) if an_order else clause
    said = untagged(sentence.text, language)
    asked = asks(said, language) if len(said) < len(sentence.text) else sentence.asks
    due = an_order and not asked and dated(passage, language)
    ban = _bans(look, sentence, row, fact) or (not look.pasted and _forbidden(said, passage, sentence, fact, language))
    return replace(
        told,
        own=told.own
        and not text.endswith("\\ ", 0, row.start)
        and len(content(_NAMED.sub(" ", sentence.text), language)) >= OWN_WORDS_MIN,
        marks=sentence.marks,
        ban=ban,
        plain=not (ban or due) and fact.cls == "instruction" and fact.polarity == "affirmed" and fact.quantifier in {"", "all"},
        ever=says("ever", passage, language),
        limit=any(_BOUND.match(one.figure) for one in sentence.around),
        every=fact.quantifier == "all" and "%rule" in own and says("each", text[row.start : row.end], language),
        lasting=_lasts(clause, language),
        now=says("now", clause, language),
        later=says("later", passage, language),
        due=due,
        asks=asked,
        pasted=look.pasted,
        words=sentence.words,
        figures=sentence.figures,
        verb=_verb(own_context=fact.context, words=sentence.words),
    )


def _of_agent(told: Telling, look: Look, row: LostRow) -> Telling:
    language, clause, section = look.language, look.clause(row.start, row.end), look.section(row.start)
    told = replace(
        told,
        lasting=told.cls == "commitment" and _lasts(clause, language),
        done=says("done", clause, language),
        faulty=faulty(clause),
        chooses=look.chooses,
        proposed=section.proposes(row.start),
    )
    if not (told.proposed or told.kind or told.lasting):
        return told
    sentence = look.sentence(row.start, row.end)
    return replace(told, files=section.files, names=section.names, words=sentence.words, figures=sentence.figures)


def _takings(text: str) -> tuple[Taking, ...]:
    """The sentences of a user that take something back, or give a figure."""
    if not text or pasted(text):
        return ()
    text = text[:SAID_CHARS_MAX]
    language, found, at = language_of(text), [], 0
    while at < len(text):
        start, end = sentence_at(text, at, at + 1)
        sentence = text[start:end]
        taking = _taking(sentence[:SENTENCE_CHARS_MAX], language)
        if taking is not None:
            found.append(taking)
        at = max(end, at + 1)
    return tuple(found)


def _taking(sentence: str, language: Language) -> Taking | None:
    off, numbers = says("off", sentence, language), figures(sentence)
    lifted, permitted = lifts(sentence, language), permits(sentence, language)
    if not (off or numbers or lifted or permitted) or asks(sentence, language):
        return None
    return Taking(
        words=content(sentence, language),
        figures=numbers,
        off=off,
        lifts=lifted,
        permits=permitted,
        bans=_still_bans(sentence, language),
        bounds=orders(sentence, language),
    )


def _still_bans(sentence: str, language: Language) -> bool:
    """Does it forbid by the words that are left beside those that take something back?"""
    rest = without("off", sentence, language)
    return begins_denied(rest, language) or forbids(rest, language) or denies(rest, language)


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


def _bans(look: Look, sentence: Sentence, row: LostRow, fact: FactRow) -> bool:
    """An order not to; or both members of an order that denies one (`the scope, not the whole log`)."""
    own = _MARK.findall(fact.context)
    if "%ban" in own and "%rule" in own:
        return True
    if "%ban" in own:
        return any(one.start == row.start for one in sentence.denied) and any("%rule" in one.context for one in sentence.around)
    return "%rule" in own and any(0 <= one.start - row.end <= NEAR_CHARS for one in sentence.denied)


def _forbidden(said: str, passage: str, sentence: Sentence, fact: FactRow, language: Language) -> bool:
    """By its words: a ban that the facts of the sentence alone do not show to be one."""
    if _QUESTION.search(said):
        return False
    assent = len(said) < len(sentence.text)
    if forbids(said if assent else passage, language):
        return True
    denied = assent or fact.cls == "prohibition" or "%ban" in fact.context
    return denied and denies_all(said, language, order="%imp" in sentence.marks)


def _verb(*, own_context: str, words: frozenset[str]) -> str:
    found = _VERB.search(own_context)
    return found[1] if found is not None and found[1] in words else ""
