"""What lies between a lost statement and its summary, read from the log once, and whether that settles the loss."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

import msgspec

from ledger.facts.language.lexicon import LANGUAGES, Language
from ledger.facts.settled.shorter import Shorter
from ledger.facts.settled.standing import language_of
from ledger.lookup import fact_row, span_facts, span_row
from ledger.rows import RoundRow, SpanRow
from ledger.rules.look import Around, Look
from ledger.rules.settled import BLANK_SHARE, Course, Step, Telling, Verdict, settle
from ledger.rules.telling import Place, Spoken, on_disk, only_here, step, telling
from ledger.state import PLACE, ROUND, ordinal_key
from ops.queries.losses import Loss, look_up
from ops.store import Found, Reading
from schemas.facts import FactClass

SPANS_AT_ONCE = 500
"""Spans that are read from the log together; all of a long session are more than should be in memory."""

_RUN = re.compile(r"[\w.#@~+-]+(?:[/:=][\w.#@~+-]+)*", re.ASCII)
_SPLIT = re.compile(r"[/:=]", re.ASCII)


class _Plain(msgspec.Struct):
    text: str


class _Said(msgspec.Struct):
    """A record as far as it is looked at here; what else it holds is passed over when it is decoded."""

    text: _Plain | None


class _Round(msgspec.Struct):
    row: RoundRow
    last: int = 0
    stayed: _Stayed | None = None


class _Stayed:
    """What a round left in the window, put in order only when it is asked."""

    def __init__(self, texts: list[str]) -> None:
        self._texts = texts
        self._shorter: Shorter | None = None

    def holds(self, passage: str, cls: FactClass, language: Language, *, named: bool = False) -> bool:
        """See `ledger.facts.settled.shorter.Shorter`."""
        if self._shorter is None:
            self._shorter = Shorter(self._texts)
        return self._shorter.holds(passage, cls, language, named=named)


class _Use(msgspec.Struct, frozen=True):
    ordinal: int
    writes: bool


class _Told(msgspec.Struct, frozen=True, array_like=True):
    """What is told of a loss, its words, and the code of their language."""

    told: Telling
    words: str
    language: str


_decode = msgspec.json.Decoder(_Said).decode
_encode_told = msgspec.msgpack.Encoder().encode
_decode_told = msgspec.msgpack.Decoder(_Told).decode


def _ordinal_of(seen: tuple[int, Step]) -> int:
    return seen[0]


async def verdicts(reading: Reading, found: Found, losses: Sequence[Loss]) -> list[Verdict]:
    """For each loss whether it is open or settled. Reads every span of the session once, from the first loss on."""
    if not losses:
        return []
    survey = _Survey(found, losses)
    spans = survey.spans()
    while piece := {span.span: span for span in islice(spans, SPANS_AT_ONCE)}:
        async for carrier, value in reading.values(found.scope, piece):
            said = _decode(value)
            survey.look(piece[carrier], said.text.text if said.text is not None else "")
        survey.put_in_order()
    return await survey.settle(reading)


class _Survey:
    """Collects what the rule looks at while the session goes by, so that no text has to be kept."""

    def __init__(self, found: Found, losses: Sequence[Loss]) -> None:
        self._found, self._losses = found, losses
        self._rounds = {row.ordinal: _Round(row) for _, row in found.rows.walk(ROUND, ordinal_key(found.session.ordinal))}
        self._by_span = array("Q", sorted(range(len(losses)), key=self._stated))
        """Losses by the ordinal of the span that states them."""
        self._wanted: dict[str, list[str]] = {}
        """Names to look for in calls: the lost ones, and the last part of the path of a file."""
        for value in sorted({loss.name for loss in losses if loss.name}):
            self._wanted.setdefault(_SPLIT.split(value.rstrip("/"))[-1] if on_disk(value) else value, []).append(value)
        self._used: dict[str, list[_Use]] = {}
        self._proposals = False
        self._seen: list[tuple[int, Step]] = []
        self._doing, self._steps = array("Q"), list[Step]()
        """Ordinals of the spans that count, and what each does: one object for all that do the same."""
        self._same: dict[Step, Step] = {}
        self._ordinals, self._turns, self._left = array("Q"), array("q"), array("Q")
        """Of every span of the session, in order: its ordinal, its first turn, and the round in which it left."""
        self._told = [b""] * len(losses)
        """What is told of each loss, encoded: a long session has tens of thousands, and as objects each is a kilobyte."""
        for span in self._rows():
            self._ordinals.append(span.ordinal)
            self._turns.append(span.turns[0])
            self._left.append(span.left_round)
            if span.left_round in self._rounds:
                self._rounds[span.left_round].last = max(self._rounds[span.left_round].last, span.ordinal)

    def _stated(self, at: int) -> int:
        return self._losses[at].ordinal

    def _rows(self, first: int = 0) -> Iterator[SpanRow]:
        rows, session = self._found.rows, self._found.session.ordinal
        for _, place in rows.walk(PLACE, ordinal_key(session), ordinal_key(session, first)):
            span = span_row(rows, place.span)
            if span is not None:
                yield span

    def spans(self) -> Iterator[Spoken]:
        """The spans to be read, in order: from the first loss on."""
        for span in self._rows(min(loss.ordinal for loss in self._losses)):
            yield Spoken(span.id, span.ordinal, span.role)

    def look(self, span: Spoken, text: str) -> None:
        """Take in one span."""
        seen = step(span, text, proposals=self._proposals)
        if seen.counts:
            self._seen.append((span.ordinal, self._same.setdefault(seen, seen)))
        if self._wanted and seen.call:
            self._use(text, span, bool(seen.writes))
        first = bisect_left(self._by_span, span.ordinal, key=self._stated)
        lost = self._by_span[first : bisect_right(self._by_span, span.ordinal, first, key=self._stated)]
        if lost:
            self._lost(span, text, lost)

    def put_in_order(self) -> None:
        """The spans that were looked at are behind all that were put in order before; the log may hold them in another one."""
        for ordinal, seen in sorted(self._seen, key=_ordinal_of):
            self._doing.append(ordinal)
            self._steps.append(seen)
        self._seen.clear()

    def _use(self, text: str, span: Spoken, writes: bool) -> None:
        for run in _RUN.findall(text):
            for name in (run, *_SPLIT.split(run)):
                for wanted in self._wanted.get(name, ()):
                    self._used.setdefault(wanted, []).append(_Use(span.ordinal, writes))

    def _lost(self, span: Spoken, text: str, lost: Sequence[int]) -> None:
        language = language_of(text)
        rows = [(ref, fact_row(self._found.rows, ref.fact)) for ref in span_facts(self._found.rows, span.span).refs]
        facts = [
            Around(ref.start, ref.end, row.context, row.value if row.cls == "numeric" else "")
            for ref, row in rows
            if row is not None
        ]
        look = Look(text, language, facts, tool=span.role == "tool")
        for at in lost:
            loss = self._losses[at]
            of = look_up(self._found, loss)
            round_ = self._rounds[loss.round]
            blank = round_.row.survived * BLANK_SHARE < round_.row.dropped
            place = Place(span=span, until=round_.last, blank=blank, reversed=bool(loss.reversed_at))
            told = telling(look, of.row, of.fact, place)
            self._proposals = self._proposals or told.proposed
            self._told[at] = _encode_told(_Told(told, text[of.row.start : of.row.end], language.code))

    async def settle(self, reading: Reading) -> list[Verdict]:
        """The verdicts, once every span went by."""
        course = Course(self._doing, self._steps)
        found: list[Verdict] = []
        same: dict[Verdict, Verdict] = {}
        for at, loss in enumerate(self._losses):
            of = _decode_told(self._told[at])
            told, words, language = of.told, of.words, LANGUAGES[of.language]
            if loss.name and loss.name in self._used:
                told = self._with_uses(told, loss.name)
            stayed = await self._stayed(reading, loss.round)
            verdict = settle(told, course, partial(stayed.holds, words, told.cls, language))
            verdict = msgspec.structs.replace(verdict, role=told.role)
            found.append(same.setdefault(verdict, verdict))
        return found

    def _with_uses(self, told: Telling, name: str) -> Telling:
        uses, named_file = self._used[name], on_disk(name)
        same = (use.ordinal for use in uses if told.ordinal < use.ordinal <= told.until and (named_file or use.writes))
        needed = only_here(name) and any(use.ordinal > told.until and not use.writes for use in uses)
        return msgspec.structs.replace(told, used_by=next(same, 0), needed_again=needed)

    def _kept(self, round_: int, turn: int) -> Iterator[str]:
        """What stood before the boundary and did not leave with it."""
        for ordinal, first, left in zip(self._ordinals, self._turns, self._left, strict=True):
            if first <= turn and (not left or left > round_):
                place = self._found.rows.get(PLACE, ordinal_key(self._found.session.ordinal, ordinal))
                if place is not None:
                    yield place.span

    async def _stayed(self, reading: Reading, round_: int) -> _Stayed:
        """The summary of a round and what it kept."""
        known = self._rounds[round_]
        if known.stayed is None:
            for other in self._rounds.values():
                other.stayed = None  # losses come round by round, and what stayed of one is long
            names = [known.row.summary] if known.row.summary else []
            names += self._kept(round_, known.row.turn)
            values = [value async for _, value in reading.values(self._found.scope, names)]
            known.stayed = _Stayed([said.text.text for said in map(_decode, values) if said.text is not None])
        return known.stayed
