"""One long session twice, with the rules and without.

Without the rules a compaction just happens and retrieval takes the nearest text. With them it is asked for first, the store is
keyed by message and drops nothing that is the last to say something, and an answer needs a carrier.

Both runs see the same turns, the same summariser, the same times at which something is asked, and the same questions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import msgspec

from ledger.facts import RULES_VERSION, extract
from ledger.log import EVENTS, NewEntry
from ledger.masking import mask
from ledger.recorder import made
from ops.evidence.chance import seeded
from ops.evidence.compactor import Line, compacted, text_of
from ops.evidence.generator import Turn
from ops.evidence.world import Planted
from ops.queries.overview import lost_now, trust_of
from ops.store import Store
from schemas.codec import encode
from schemas.facts import Manifest
from schemas.records import (
    AnyRecord,
    ManifestRecorded,
    PlainText,
    RetrievalMeasured,
    SessionOpened,
    SpanRange,
    SpanRecorded,
    SummaryRecorded,
)

SCOPE = "long-session"
WINDOW_TOKENS = 12_000
WATERMARK = Fraction(7, 10)
"""The window is compacted when it is filled to this share, as in the second source."""

KEPT_TURNS = 20
"""Turns at the end of the window that no pass touches."""

ASKED = 40
"""Questions after each pass, drawn from all that was stated so far."""

UNMEASURED = 0.03
"""Share of tool messages whose facts are not known when they are recorded; a measurer adds them `MEASURED_AFTER` turns later.
They are what the rules keep raw in the window.
"""

MEASURED_AFTER = 300


class Tally(msgspec.Struct):
    """What one run came to. `drifted` are statements that were answered with success and wrongly at least once."""

    turns: int = 0
    passes: int = 0
    hit_rates: list[Fraction] = []
    window_tokens: int = 0
    store_bytes: int = 0
    questions: int = 0
    right: int = 0
    wrong: int = 0
    honest: int = 0
    drifted: set[Planted] = set()
    stated: set[Planted] = set()
    actions: int = 0
    rehydrated: int = 0
    denied: int = 0
    denials: dict[str, int] = {}
    acted_on_wrong: int = 0
    evictions_asked: int = 0
    evictions_refused: int = 0
    passes_refused: int = 0
    lost: int = 0
    stored_for_ever: int = 0
    """What the store would hold without any expiry: every raw message that left the window, and the last summary."""
    trust: str = ""

    @property
    def spread(self) -> Fraction:
        """The largest change of the hit rate from one pass to the next."""
        changes = [abs(after - before) for before, after in zip(self.hit_rates, self.hit_rates[1:], strict=False)]
        return max(changes, default=Fraction(0))

    @property
    def rise(self) -> Fraction:
        """The largest relative rise of the hit rate over one pass."""
        pairs = zip(self.hit_rates, self.hit_rates[1:], strict=False)
        return max([(after - before) / before for before, after in pairs if before], default=Fraction(0))


class Spoken(msgspec.Struct, frozen=True):
    """A turn with the record that it makes and, for each statement in it, the fact that stands for it."""

    turn: Turn
    record: SpanRecorded
    late: Manifest | None
    facts: tuple[tuple[Planted, str], ...]


def spoken(seed: int, turns: Iterable[Turn]) -> list[Spoken]:
    """The turns with their facts measured once, for both runs."""
    chance = seeded("unmeasured", seed)
    return [_spoken(turn, late=turn.role == "tool" and chance.random() < UNMEASURED) for turn in turns]


def _spoken(turn: Turn, *, late: bool) -> Spoken:
    text = mask(turn.text)
    manifest = extract(text, turn.role, scope_key=SCOPE)
    name = f"{SCOPE}:t{turn.number}"
    record = made(
        SpanRecorded, SCOPE, SCOPE, span=name, role=turn.role,
        turns=(turn.number, turn.number), text=PlainText(text), manifest=None if late else manifest, tokens=turn.tokens,
        actions=(turn.writes,) if turn.writes else (),
    )  # fmt: skip
    facts = tuple((planted, _fact_of(planted, text, manifest)) for planted in turn.planted)
    return Spoken(turn, record, manifest if late else None, facts)


def _fact_of(planted: Planted, text: str, manifest: Manifest) -> str:
    """The fact that stands for the planted value: the shortest that holds all of it, else the longest that holds a part."""
    at = text.find(planted.value)
    end = at + len(planted.value)
    over = [fact for fact in manifest.facts if at >= 0 and fact.start < end and at < fact.end]
    whole = [fact for fact in over if fact.start <= at and fact.end >= end]
    if whole:
        return min(whole, key=lambda fact: (fact.end - fact.start, fact.start)).id
    return max(over, key=lambda fact: (fact.end - fact.start, -fact.start)).id if over else ""


class Run:
    """The loop that both runs share: turns come, the window fills, a pass empties it, questions are asked."""

    def __init__(self, seed: int, store: Store, *, keeps: str) -> None:
        self.seed = seed
        self.store = store
        self.tally = Tally()
        self.window: list[Spoken] = []
        self.lines: list[Line] = []
        self.waiting: list[AnyRecord] = [_opening(keeps)]
        self._stated: list[Planted] = []
        self._chance = seeded("questions", seed)
        self._left_bytes = 0

    async def play(self, session: Sequence[Spoken]) -> Tally:
        """The whole session."""
        late: dict[int, Spoken] = {}
        for one in session:
            self.tally.turns += 1
            self.window.append(one)
            self.waiting.append(one.record)
            self._state(one)
            if one.late is not None:
                late[one.turn.number + MEASURED_AFTER] = one
            if (due := late.pop(one.turn.number, None)) is not None:
                self.waiting.append(_measured(due))
            if one.turn.writes and self._stated:
                self.tally.actions += 1
                await self.act(one, self._chance.choice(self._stated))
            self.tally.window_tokens += self.tokens
            if self.tokens > WATERMARK * WINDOW_TOKENS and len(self.window) > KEPT_TURNS:
                await self._pass(one.turn.minute)
        await self.fold()
        await self.finish()
        return self.tally

    def _state(self, one: Spoken) -> None:
        for planted, _ in one.facts:
            if planted not in self.tally.stated:
                self.tally.stated.add(planted)
                self._stated.append(planted)

    @property
    def tokens(self) -> int:
        """What the window holds now, summary included."""
        return sum(one.turn.tokens for one in self.window) + len(text_of(self.lines)) // 4

    async def _pass(self, minute: int) -> None:
        self.tally.passes += 1
        leaving = self.window[:-KEPT_TURNS]
        lines = compacted(self.seed, self.tally.passes, self.lines, [one.turn for one in leaving])
        gone = await self.compact(leaving, lines, minute)
        names = {one.record.span for one in gone}
        self._left_bytes += sum(len(one.record.text.text.encode()) for one in gone)
        self.window = [one for one in self.window if one.record.span not in names]
        asked = [self._chance.choice(self._stated) for _ in range(ASKED)] if self._stated else []
        answers = [(planted, await self.answer(planted)) for planted in asked]
        for planted, answer in answers:
            self._judge(planted, answer)
        if answers:
            rate = Fraction(sum(1 for _, answer in answers if answer), len(answers))
            self.tally.hit_rates.append(rate)
            self.waiting.append(self._measured_rate(rate))

    def _judge(self, planted: Planted, answer: str) -> None:
        self.tally.questions += 1
        if not answer:
            self.tally.honest += 1
        elif planted.value in answer:
            self.tally.right += 1
        else:
            self.tally.wrong += 1
            self.tally.drifted.add(planted)

    def _measured_rate(self, rate: Fraction) -> RetrievalMeasured:
        number = self.tally.passes
        text = f"{rate.numerator * 1000 // rate.denominator / 1000:.3f}"
        return made(RetrievalMeasured, SCOPE, SCOPE, pass_=number, hit_rate=text, occurrence=str(number))

    async def put(self, *records: AnyRecord) -> None:
        """Add records behind those that wait, and fold all of them."""
        self.waiting += records
        await self.fold()

    async def fold(self) -> None:
        """Fold what waits."""
        waiting, self.waiting = self.waiting, []
        await self.store.log.append(EVENTS, [NewEntry(SCOPE, encode(record)) for record in waiting])
        await self.store.fold()

    async def finish(self) -> None:
        """What is left to count at the end."""
        with self.store.reading() as reading:
            found = reading.session(SCOPE)
            self.tally.lost = lost_now(found)
            self.tally.trust = trust_of(found, 0)[0]
        self.tally.store_bytes = self.stored_bytes()
        self.tally.stored_for_ever = self._left_bytes + len(text_of(self.lines).encode())

    def summary_record(self, lines: Sequence[Line], leaving: Sequence[Spoken]) -> SummaryRecorded:
        """The record of a pass's summary."""
        number = self.tally.passes
        text = mask(text_of(lines))
        return made(
            SummaryRecorded, SCOPE, SCOPE, summary=f"s{number}",
            round=f"r{number}", generation=number, covers=ranges(leaving),
            covers_summaries=(f"s{number - 1}",) if number > 1 else (), text=PlainText(text),
            manifest=extract(text, "assistant", scope_key=SCOPE), tokens=len(text) // 4,
        )  # fmt: skip

    async def compact(self, leaving: list[Spoken], lines: list[Line], minute: int) -> list[Spoken]:
        """Compact and return what left the window."""
        raise NotImplementedError

    async def answer(self, planted: Planted) -> str:
        """What the agent finds for a statement; the empty string where it says that it does not have it."""
        raise NotImplementedError

    async def act(self, one: Spoken, planted: Planted) -> None:
        """A side effect that rests on a statement made earlier."""
        raise NotImplementedError

    def stored_bytes(self) -> int:
        """What the retrieval store holds at the end."""
        raise NotImplementedError


def _opening(keeps: str) -> SessionOpened:
    return made(
        SessionOpened, SCOPE, SCOPE, runtime="generated", store=keeps,
        rules_version=RULES_VERSION, window_budget=WINDOW_TOKENS,
    )  # fmt: skip


def _measured(one: Spoken) -> ManifestRecorded:
    assert one.late is not None
    return made(ManifestRecorded, SCOPE, SCOPE, span=one.record.span, manifest=one.late)


def ranges(spans: Sequence[Spoken]) -> tuple[SpanRange, ...]:
    """Each message by itself: what a pass takes need not stand in a row."""
    return tuple(SpanRange(one.record.span, one.record.span) for one in spans)
