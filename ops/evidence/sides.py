"""The two sides of the long session: one in which compactions just happen, and one in which they are asked for."""

from __future__ import annotations

from ledger.facts import extract
from ledger.log import DECISIONS
from ledger.recorder import made
from ops.evidence.compactor import STORE_MINUTES, CarelessStore, Line, text_of
from ops.evidence.longrun import KEPT_TURNS, SCOPE, Run, Spoken, ranges
from ops.evidence.world import Planted
from ops.queries.recall import recall
from ops.store import Store
from schemas.codec import decode_decision
from schemas.decisions import ActionAllowed, ActionDenied, AnyDecision, CompactionGranted, EvictionGranted, EvictionRefused
from schemas.records import (
    ActionProposed,
    Candidate,
    Claim,
    CompactionApplied,
    CompactionObserved,
    CompactionRequested,
    EvictionApplied,
    EvictionRequested,
    FetchedClaim,
    PlainText,
)


class WithoutRules(Run):
    """Every pass takes effect; the ledger only watches."""

    def __init__(self, seed: int, store: Store) -> None:
        super().__init__(seed, store, keeps="none")
        self._careless = CarelessStore()

    async def compact(self, leaving: list[Spoken], lines: list[Line], minute: int) -> list[Spoken]:
        """Everything leaves; old raw entries expire."""
        number = self.tally.passes
        await self.put(
            self.summary_record(lines, leaving),
            made(
                CompactionObserved, SCOPE, SCOPE, round=f"r{number}",
                ordinal=number, turn=leaving[-1].turn.number, trigger="auto", summary=f"s{number}", summarised=ranges(leaving),
                kept=ranges(self.window[-KEPT_TURNS:]),
            ),
        )  # fmt: skip
        self._careless.add(minute, [one.turn for one in leaving])
        self._careless.upsert(lines)
        self._careless.expire(minute)
        self.lines = lines
        return leaving

    async def answer(self, planted: Planted) -> str:
        """The nearest text, whatever it is."""
        return self._careless.search(planted.question, [one.turn for one in self.window])

    async def act(self, one: Spoken, planted: Planted) -> None:
        """Nothing is fetched before the action."""
        answer = self._careless.search(planted.question, [turn.turn for turn in self.window])
        self.tally.acted_on_wrong += bool(answer) and planted.value not in answer

    def stored_bytes(self) -> int:
        """Raw entries that have not expired, and one summary."""
        return self._careless.bytes


class WithRules(Run):
    """Every pass and every expiry is asked for; answers come from carriers; actions pass the gate."""

    def __init__(self, seed: int, store: Store) -> None:
        super().__init__(seed, store, keeps="ledger")
        self._fact: dict[Planted, str] = {}
        self._span: dict[Planted, Spoken] = {}
        self._summary_bytes = 0
        self._raw: dict[str, int] = {}
        self._aging: list[tuple[int, list[str]]] = []
        self._decisions = 0
        self._acts: list[str] = []

    def _state(self, one: Spoken) -> None:
        for planted, fact in one.facts:
            self._fact.setdefault(planted, fact)
            self._span.setdefault(planted, one)
        self._raw[one.record.span] = len(one.record.text.text.encode())
        super()._state(one)

    async def decided(self) -> dict[str, AnyDecision]:
        """Decisions since the last call, by request."""
        found: dict[str, AnyDecision] = {}
        while entries := await self.store.log.read(DECISIONS, 0, self._decisions):
            self._decisions += len(entries)
            for entry in entries:
                decision = decode_decision(entry.value)
                found[decision.request_id] = decision
        self._count_actions(found)
        return found

    def _count_actions(self, found: dict[str, AnyDecision]) -> None:
        for request in self._acts:
            decision = found.get(request)
            self.tally.rehydrated += isinstance(decision, ActionAllowed)
            if isinstance(decision, ActionDenied):
                self.tally.denied += 1
                reason = decision.reason.partition(":")[0]
                self.tally.denials[reason] = self.tally.denials.get(reason, 0) + 1
        self._acts = [request for request in self._acts if request not in found]

    async def compact(self, leaving: list[Spoken], lines: list[Line], minute: int) -> list[Spoken]:
        """What is granted leaves; the rest stays in the window, and so does the old summary if nothing is granted."""
        request = f"c{self.tally.passes}"
        summary = self.summary_record(lines, leaving)
        candidates = tuple(Candidate(span=one.record.span, tokens=one.turn.tokens) for one in leaving)
        await self.put(
            summary,
            made(
                CompactionRequested, SCOPE, SCOPE, request=request, summary=summary.summary, evictions=candidates,
                mode="prefer",
            ),
        )  # fmt: skip
        grant = (await self.decided()).get(request)
        if not isinstance(grant, CompactionGranted):
            self.tally.passes_refused += 1
            return []
        await self.put(made(CompactionApplied, SCOPE, SCOPE, request=request, summary_sha256=grant.summary_sha256))
        self.lines = lines
        self._summary_bytes += len(text_of(lines).encode())
        evicted = frozenset(grant.evict)
        gone = [one for one in leaving if one.record.span in evicted]
        self._aging.append((minute, [one.record.span for one in gone]))
        await self._expire(minute)
        return gone

    async def _expire(self, minute: int) -> None:
        """The same policy as without the rules, asked for: first all that is due, then what nothing stands against."""
        while self._aging and self._aging[0][0] <= minute - STORE_MINUTES:
            due = tuple(self._aging.pop(0)[1])
            self.tally.evictions_asked += len(due)
            answer = await self._evict(due, f"e{self.tally.passes}-{len(self._aging)}")
            if isinstance(answer, EvictionRefused):
                held = frozenset(answer.would_pass.skip_spans)
                rest = tuple(span for span in due if span not in held) if held else ()
                answer = await self._evict(rest, f"e{self.tally.passes}-{len(self._aging)}-rest") if rest else None
            gone = answer.spans if isinstance(answer, EvictionGranted) else ()
            self.tally.evictions_refused += len(due) - len(gone)
            for span in gone:
                self._raw.pop(span)

    async def _evict(self, spans: tuple[str, ...], request: str) -> AnyDecision | None:
        if not spans:
            return None
        await self.put(made(EvictionRequested, SCOPE, SCOPE, request=request, spans=spans, reason="ttl"))
        decision = (await self.decided()).get(request)
        if isinstance(decision, EvictionGranted):
            await self.put(made(EvictionApplied, SCOPE, SCOPE, request=request))
        return decision

    async def answer(self, planted: Planted) -> str:
        """The text of a carrier of the fact, fetched by its id; nothing where the ledger knows of none."""
        fact = self._fact.get(planted, "")
        if not fact:
            return ""
        with self.store.reading() as reading:
            found = (await recall(reading, reading.session(SCOPE), fact))[0]
            if found.answer != "anchored" or not found.carriers:
                return ""
            record = await reading.record(SCOPE, found.carriers[0].id)
        text = getattr(record, "text", None)
        return text.text if isinstance(text, PlainText) else ""

    async def act(self, one: Spoken, planted: Planted) -> None:
        """The claim's raw span is fetched by its id and handed to the gate together with it."""
        source = self._span[planted]
        request = f"a{one.turn.number}"
        fetched = FetchedClaim(
            claim=Claim(text=planted.sentence, key=source.record.span), status="ok", span=source.record.span,
            manifest=extract(planted.sentence, "assistant", scope_key=SCOPE), text=source.record.text.text, raw=True,
        )  # fmt: skip
        self._acts.append(request)
        self.waiting.append(
            made(
                ActionProposed, SCOPE, SCOPE, request=request, name=one.turn.writes, claims=(fetched,),
            )
        )  # fmt: skip

    def stored_bytes(self) -> int:
        """Raw entries of messages that left the window and that the store still has, and every summary."""
        here = {one.record.span for one in self.window}
        return sum(size for span, size in self._raw.items() if span not in here) + self._summary_bytes

    async def finish(self) -> None:
        """The last decisions come in with the last fold."""
        await self.decided()
        await super().finish()
