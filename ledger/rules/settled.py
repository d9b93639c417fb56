"""Open or settled: is a loss worth reading first? A stated rule over what lies between a statement and the summary.

It ranks and explains and changes nothing else: outcomes, totals, decisions and alerts do not depend on it. Evidence is the
session's own: who said it, what was done and said next, what was taken back, what the summary holds in a shorter form.

- Inverted: always open.
- `superseded`: a later decision says the opposite, or the user took it back, gave another figure for it in an order or a bound,
  or broke in before anything came of it and said it anew. What stands is taken back only by most of its own words with its
  verb, or by words about what was said (`ledger.rules.takings`).
- The user's words. A standing wish, ban, limit or deadline, a choice, and what was put off, stays open; so does what is to be
  asked first. A ban is one by its facts or by its words (`ledger.facts.settled.forbidding`). A request is settled as
  `acted` once calls followed it and the work went on or was reported; a call that the user stopped leaves it open. A question,
  and what was told along with it, is `answered` by the reply. What only the user can know (a figure with a unit or bound, an
  address, a name) is open where it is stated as such. Of a pasted text only bans for good stay.
- The agent's words are `passing`, but for choices and their reasons, deadlines, proposals in a closing report that nobody acted
  on, what a later round's call needed again, and, where the summary holds next to nothing of a round, the report of what was
  done. A choice put to the user is `answered` by the next turn.
- A tool's words are `passing`, but for an address that is the whole answer, and a file that was written and not recorded since.
- `held_shorter`: what would be open, but the summary or the kept text has every telling part of it. Of standing words only
  orders that ban, restrict and date nothing, and these by their names and figures.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

import msgspec

from ledger.rules.takings import TAKINGS_MAX, Taking, lifts_standing, takes_back
from schemas.facts import FactClass

Reason = Literal["acted", "answered", "held_shorter", "passing", "superseded"]
REASONS: tuple[Reason, ...] = ("acted", "answered", "held_shorter", "passing", "superseded")

BLANK_SHARE = 10
"""A summary that keeps less than one in ten of the facts that left tells nothing of the work as a whole."""


class Verdict(msgspec.Struct, frozen=True):
    """Why a loss is settled, and `by` which span of its session, as its ordinal; no reason: it is open. Without an ordinal it
    is the span by which a decision was reversed, or none. `role` is whose words they are, where that was asked: the result of a
    tool call that a user refused or answered holds the user's.
    """

    reason: Reason | None = None
    by: int = 0
    role: str = ""


OPEN = Verdict()
HELD = Verdict("held_shorter")


class Step(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one span of a session does, as far as this rule looks at it. Most spans do the same as others."""

    role: str
    call: bool = False
    writes: str = ""
    """Name of the file that the call writes, squashed."""
    words: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    """Content words and names of what it writes."""
    records: bool = False
    """The call records the work for good (a commit)."""
    refused: bool = False
    takings: tuple[Taking, ...] = ()

    @property
    def counts(self) -> bool:
        """Does it say anything of what became of a statement? Most of what tools answer does not."""
        return self.role in {"user", "assistant"} or self.call or self.refused or bool(self.takings)


class Telling(msgspec.Struct, frozen=True, kw_only=True, array_like=True, omit_defaults=True):
    """A lost fact with what the words around it say. `until` is the ordinal of the last span that its round took along.

    What does not matter for its speaker is not filled in.
    """

    ordinal: int
    until: int
    role: str
    cls: FactClass
    kind: str
    outcome: str
    reversed: bool
    """A later decision says the opposite."""
    own: bool
    """Its value tells by itself and stands in no file: a figure with a unit or bound, a date, an address, a ticket."""
    blank: bool
    """Its round's summary keeps next to nothing."""
    needed_again: bool = False
    """A later call of another round uses this name, which stands in no file."""
    used_by: int = 0
    """The ordinal of the call of the same round that uses this name of a file, or writes the name into one."""
    whole: bool = False
    """The fact is the whole text."""
    written: bool = False
    """It is the name of a file in the call that writes it."""

    marks: frozenset[str] = frozenset()
    """Marks (`ledger.facts.model`) of all facts of its sentence."""
    ban: bool = False
    """A negated order, or a member of an order that denies something."""
    plain: bool = False
    """An order that bans, restricts and dates nothing: that its names, figures and most words stayed says that it did."""
    ever: bool = False
    """The words say for how long: always, never, from now on."""
    limit: bool = False
    """The sentence has a figure with a bound, or a rate."""
    every: bool = False
    """An order for each of several."""
    lasting: bool = False
    now: bool = False
    """In force until something changes."""
    later: bool = False
    due: bool = False
    """It names a day by which something has to be."""
    asks: bool = False
    pasted: bool = False

    done: bool = False
    faulty: bool = False
    chooses: bool = False
    """The message as a whole puts a choice to the user."""
    proposed: bool = False
    files: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    """Files and other names in the section of a proposal, squashed."""

    words: frozenset[str] = frozenset()
    figures: frozenset[str] = frozenset()
    """Of its sentence."""
    verb: str = ""
    """The stem of its verb, where it is among the words."""


class _Turn(msgspec.Struct, frozen=True):
    """What followed a statement up to the user's next words or to the end of its round, as ordinals, 0 where there is none.
    Words in a row are one turn.
    """

    call: int = 0
    reply: int = 0
    next: int = 0
    """The user's next span."""
    over: bool = False
    """The user went on, or the agent's last word stands behind its last call."""
    stopped: bool = False
    """The user stopped the first thing that the agent set out to do."""


class Course:
    """What the spans of one session do, in order. Spans are named by their ordinals; 0 says that there is none."""

    def __init__(self, ordinals: Sequence[int], steps: Sequence[Step]) -> None:
        """`ordinals` of the spans rise, and `steps` say what each does."""
        self._ordinals, self._steps = ordinals, steps
        self._users, self._records = array("Q"), array("Q")
        self._takings: list[tuple[int, Taking]] = []
        for ordinal, step in zip(ordinals, steps, strict=True):
            if step.role == "user":
                self._users.append(ordinal)
            if step.records:
                self._records.append(ordinal)
            self._takings += [(ordinal, taking) for taking in step.takings]

    def turn(self, ordinal: int, until: int) -> _Turn:
        """What followed the span up to the user's next words, and up to `until`."""
        call, reply, calls, stopped, closed = 0, 0, 0, False, False
        for at, step in self._after(ordinal, until):
            stopped = stopped or (step.refused and calls <= 1)
            if step.role == "user" and (call or reply or stopped):
                return _Turn(call, reply, at, True, stopped)
            if step.call:
                call, calls, closed = call or at, calls + 1, False
            elif step.role == "assistant":
                reply, closed = at, True
        return _Turn(call, reply, 0, closed, stopped)

    def closing(self, ordinal: int, until: int) -> bool:
        """Does the agent do nothing more after this span before the user speaks or the round ends?"""
        for _, step in self._after(ordinal, until):
            if step.role == "user":
                return True
            if step.call or step.role == "assistant":
                return False
        return True

    def next_user(self, ordinal: int, until: int) -> int:
        """The user's next span of the round."""
        return self._first(self._users, ordinal, until)

    def carried_out(self, told: Telling) -> int:
        """The first later span of the round that writes a file of the proposal's section, and into it half of the names of
        the section or most of the words of the statement.
        """
        for at, step in self._after(told.ordinal, told.until):
            if not step.writes or (told.files and step.writes not in told.files):
                continue
            named = len(told.names & step.names) * 2 >= max(1, len(told.names))
            if named or len(told.words & step.words) * 3 >= max(1, len(told.words)) * 2:
                return at
        return 0

    def recorded(self, ordinal: int, until: int) -> int:
        """The first later span of the round that records the work for good."""
        return self._first(self._records, ordinal, until)

    @staticmethod
    def _first(ordinals: Sequence[int], ordinal: int, until: int) -> int:
        at = bisect_right(ordinals, ordinal)
        return ordinals[at] if at < len(ordinals) and ordinals[at] <= until else 0

    def taken_back(self, told: Telling) -> int:
        """The user's later span that takes the statement back or gives another figure for it."""
        at, strict = bisect_right(self._takings, told.ordinal, key=_first_of), told.role == "user" and _until_lifted(told)
        for ordinal, taking in self._takings[at : at + TAKINGS_MAX]:
            if strict and lifts_standing(taking, told.words, told.figures, told.verb):
                return ordinal
            if not strict and takes_back(taking, told.words, told.figures):
                return ordinal
        return 0

    def _after(self, ordinal: int, until: int) -> Iterable[tuple[int, Step]]:
        for at in range(bisect_right(self._ordinals, ordinal), len(self._steps)):
            if self._ordinals[at] > until:
                return
            yield self._ordinals[at], self._steps[at]


def _first_of(row: tuple[int, Taking]) -> int:
    return row[0]


class Held(Protocol):
    """Says whether what stayed has the statement in a shorter form; asked only where it matters."""

    def __call__(self, *, named: bool = False) -> bool:
        """With `named` only where names or figures tell it."""
        ...


def settle(told: Telling, course: Course, held: Held) -> Verdict:
    """The verdict on one loss."""
    if told.outcome == "inverted":
        return OPEN
    if told.reversed:
        return Verdict("superseded")
    if told.role == "tool":
        return _tools(told, course, held)
    if told.role == "user":
        later = course.taken_back(told)
        return Verdict("superseded", later) if later else _users(told, course, held)
    verdict = _agents(told, course, held)
    later = course.taken_back(told) if verdict == OPEN else 0
    return Verdict("superseded", later) if later else verdict


def _unless_held(held: Held) -> Verdict:
    return HELD if held() else OPEN


def _users(told: Telling, course: Course, held: Held) -> Verdict:
    if _stands(told):
        stayed = held() if told.cls == "identifier" else told.plain and held(named=True)
        return HELD if stayed else OPEN
    turn = course.turn(told.ordinal, told.until)
    request = "%imp" in told.marks
    if turn.stopped and turn.next and not turn.call:
        return Verdict("superseded", turn.next)
    if turn.stopped and request:
        return _unless_held(held)
    if told.used_by:
        return Verdict("acted", told.used_by)
    if told.own and not (told.asks or request or told.pasted):
        return _unless_held(held)
    if turn.call and turn.over and (request or not told.asks):
        return Verdict("acted", turn.call)
    if turn.reply:
        return Verdict("answered", turn.reply)
    return _unless_held(held)


def _stands(told: Telling) -> bool:
    """Is it a user's standing wish, ban, limit or deadline, or something put off? A symbol says nothing without its order."""
    if told.cls == "identifier" and not told.own:
        return False
    if told.pasted:
        return told.ban and "%rule" in told.marks and told.ever
    if told.asks:
        return told.ban or (told.ever and "%imp" in told.marks)
    orders = not told.marks.isdisjoint({"%imp", "%rule", "%todo"})
    says = (
        told.every
        or told.ever
        or told.due
        or told.lasting
        or (told.now and told.cls != "prohibition")
        or (told.later and orders)
    )
    chosen = told.kind in _CHOICES and "%imp" not in told.marks
    return told.ban or told.limit or says or chosen


def _until_lifted(told: Telling) -> bool:
    """Does it stand until somebody lifts it? What was said to be for now announces that another word follows."""
    return _stands(told) and (not told.now or told.ban or told.ever or told.limit)


_CHOICES = frozenset({"decided", "rejected"})
_DETAILS = frozenset({"identifier", "numeric"})
"""Of a report only its statements are read; the names and figures in them say nothing alone."""


def _agents(told: Telling, course: Course, held: Held) -> Verdict:
    if told.needed_again:
        return _unless_held(held)
    if told.kind and not told.faulty and not told.done:
        return _unless_held(held)
    if told.cls == "commitment" and told.lasting:
        return _unless_held(held)
    answer = course.next_user(told.ordinal, told.until) if told.chooses else 0
    if answer:
        return Verdict("answered", answer)
    if told.proposed and told.cls not in _DETAILS and course.closing(told.ordinal, told.until):
        done = course.carried_out(told)
        return Verdict("acted", done) if done else _unless_held(held)
    if told.blank and told.done and told.cls not in _DETAILS and course.closing(told.ordinal, told.until):
        return _unless_held(held)
    return Verdict("passing")


def _tools(told: Telling, course: Course, held: Held) -> Verdict:
    if told.needed_again or (told.whole and told.own):
        return _unless_held(held)
    if told.written:
        recorded = 0 if told.blank else course.recorded(told.ordinal, told.until)
        return Verdict("acted", recorded) if recorded else _unless_held(held)
    return Verdict("passing")
