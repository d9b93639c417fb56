"""Plays one scenario: each operation appends the records a publisher would, folds them, and reads the answer back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from ledger.errors import UsageError
from ledger.facts import RULES_VERSION, extract
from ledger.log import ALERTS, DECISIONS, EVENTS, NewEntry
from ledger.lookup import scope_row, span_row, summary_row
from ledger.masking import mask
from ledger.retrieval import Fetched, beyond_threshold
from ledger.rules.rehydration import is_derivable
from ops.queries.facts import named_facts
from ops.queries.overview import trust_of
from ops.queries.recall import recall
from ops.rehearsal.scenario import Fields, Scenario
from ops.retrieval.own_store import OwnStore
from ops.store import Reading, Store, scratch_store
from schemas.alerts import AlertRaised, AnyAlert
from schemas.codec import decode_alert, decode_decision, encode
from schemas.decisions import AnyDecision, EvictionGranted, IndexGranted, RecordRejected
from schemas.ids import digest, event_id
from schemas.records import (
    ActionProposed,
    AnyRecord,
    AuditRecorded,
    Claim,
    CompactionObserved,
    EvictionApplied,
    EvictionRequested,
    FactTombstoned,
    FetchedClaim,
    IndexChecked,
    IndexRechunked,
    IndexWriteRequested,
    PlainText,
    Record,
    RetrievalMeasured,
    RetrievalObserved,
    SessionOpened,
    SpanRange,
    SpanRecorded,
    SummaryRecorded,
    Tick,
)

Step = dict[str, Any]
ANCHOR = "audit-before-the-first-event"
"""A span of a session of its own, whose audit passes just before the first event, as the contract says."""


class Rehearsed(msgspec.Struct):
    """The answer to one scenario."""

    id: str
    steps: list[Step]
    trust: str


async def rehearse(scenario: Scenario) -> Rehearsed:
    """Play a scenario from an empty log. Raises `UsageError` for an event whose fields do not fit its operation."""
    async with scratch_store() as store:
        stage = _Stage(store, scenario)
        steps = []
        for at in range(len(scenario.events)):
            step = await stage.play(at)
            if step is not None:
                steps.append({"at": at, **step})
        return Rehearsed(scenario.id, steps, await stage.trust())


async def records_of(scenario: Scenario) -> list[bytes]:
    """The records that a scenario appends, in order: the same ones can be appended to any log."""
    async with scratch_store() as store:
        stage = _Stage(store, scenario)
        for at in range(len(scenario.events)):
            await stage.play(at)
        entries = await store.log.read(EVENTS, 0, 0, max_entries=1 << 30, max_bytes=1 << 40)
        return [entry.value for entry in entries]


class _Stage:
    """A scenario on its log."""

    def __init__(self, store: Store, scenario: Scenario) -> None:
        self._store = store
        self._scenario = scenario
        self.scope = self.session = scenario.id
        self._horizon_s: int | None = None
        self._opened: set[str] = set()
        self._occurrences = 0
        self._turn = 0
        self._clock_ms = 0
        self._rounds = 0
        self._missing: set[str] = set()
        self._read: dict[str, int] = {DECISIONS: 0, ALERTS: 0}

    def make(self, shape: type[Record], object_id: str, *, session: str = "", **fields: Any) -> Any:
        """A record of the scenario's scope."""
        session = session or self.session
        return shape(
            id=event_id(str(shape.__struct_config__.tag), session, object_id), scope=self.scope, session=session, **fields
        )

    def occurrence(self) -> str:
        """A fresh occurrence id, the same in every play."""
        self._occurrences += 1
        return digest("occurrence", self.scope, str(self._occurrences)).hex()

    async def say(self, *records: AnyRecord) -> tuple[list[AnyDecision], list[AnyAlert]]:
        """Append, fold, and return what the fold answered."""
        await self._store.log.append(EVENTS, [NewEntry(record.scope, encode(record)) for record in records])
        await self._store.fold()
        decisions = [decode_decision(value) for value in await self._new(DECISIONS)]
        return decisions, [decode_alert(value) for value in await self._new(ALERTS)]

    async def _new(self, topic: str) -> list[bytes]:
        entries = await self._store.log.read(topic, 0, self._read[topic], max_entries=100_000, max_bytes=1 << 30)
        self._read[topic] += len(entries)
        return [entry.value for entry in entries]

    async def open(self, session: str) -> None:
        """Open a session, the scenario's own first, with the audit that the contract puts before the first event."""
        if session in self._opened:
            return
        if self.session not in self._opened and session != self.session:
            await self.open(self.session)
        self._opened.add(session)
        opened = self.make(
            SessionOpened,
            session,
            session=session,
            store="ledger",
            horizon_s=self._horizon_s,
            rules_version=RULES_VERSION,
            parent=None if session == self.session else self.session,
        )
        records: list[AnyRecord] = [opened]
        if session == self.session:
            text = "audit anchor"
            aside = f"{self.session}/{ANCHOR}"
            records.append(self.make(SessionOpened, aside, session=aside, store="ledger", rules_version=RULES_VERSION))
            records.append(
                self.make(
                    SpanRecorded,
                    ANCHOR,
                    session=aside,
                    span=ANCHOR,
                    role="system",
                    turns=(1, 1),
                    text=PlainText(text),
                    manifest=extract("", "system", scope_key=self.scope),
                    in_window=False,
                )
            )
            records.append(
                self.make(AuditRecorded, ANCHOR, session=aside, span=ANCHOR, text_sha256=_sha256(text), occurrence=ANCHOR)
            )
        await self.say(*records)

    async def trust(self) -> str:
        """The trust at the end."""
        await self.open(self.session)
        with self._store.reading() as reading:
            return trust_of(reading.session(self.session), 0)[0]

    async def play(self, at: int) -> Step | None:
        """Play one event."""
        fields = Fields(self._scenario, at)
        if fields.op != "session":
            await self.open(self.session)
        return await _OPERATIONS[fields.op](self, fields)

    # Spans and summaries.

    async def session_(self, fields: Fields) -> Step | None:
        """The session's horizon, before anything else."""
        if self._opened:
            raise UsageError(f"{self._scenario.id}: session must come before every other event")
        self._horizon_s = fields.number("horizon_s")
        return None

    def span_record(
        self, name: str, text: str, *, session: str = "", valid: tuple[str, str] = ("", ""), ttl_s: int | None = None
    ) -> AnyRecord:
        """A span outside the window, with its facts."""
        self._turn += 1
        masked = mask(text)
        record: AnyRecord = self.make(
            SpanRecorded,
            name,
            session=session,
            span=name,
            role="user",
            turns=(self._turn, self._turn),
            text=PlainText(masked),
            manifest=extract(masked, "user", scope_key=self.scope, valid=valid),
            in_window=False,
            valid=valid,
            ttl_s=ttl_s,
        )
        return record

    async def span(self, fields: Fields) -> Step:
        """Record a span: accepted, unchanged, or refused."""
        name = fields.text("id")
        with self._store.reading() as reading:
            known = span_row(reading.session(self.session).rows, name) is not None
        ttl_s = fields.number("ttl_s") if fields.has("ttl_s") else None
        decisions, alerts = await self.say(self.span_record(name, fields.text("text"), valid=fields.pair("valid"), ttl_s=ttl_s))
        refused = [decision for decision in decisions if isinstance(decision, RecordRejected)]
        if refused:
            return {"result": "refused", "reason": refused[0].reason}
        if known:
            lacks = name in self._missing
            return {"result": "unchanged", **({"stored": True, "indexed": False} if lacks else {})}
        flags = [alert.kind for alert in alerts if isinstance(alert, AlertRaised) and alert.kind == "ttl_below_horizon"]
        flags += [
            f"polarity_conflict:{alert.reason}"
            for alert in alerts
            if isinstance(alert, AlertRaised) and alert.kind == "polarity_conflict"
        ]
        return {"result": "accepted", **({"flags": flags} if flags else {})}

    async def batch_index(self, fields: Fields) -> Step:
        """Each id counts as a span with a text of its own."""
        await self.say(*(self.span_record(name, own_text(name)) for name in fields.names("spans")))
        return {"result": "accepted"}

    async def transcript_window(self, fields: Fields) -> Step:
        """Ids must carry their session, else two sessions would share them."""
        session, names = fields.text("session"), fields.names("ids")
        if not all(name.startswith(f"{session}:") for name in names):
            return {"result": "refused", "reason": "id_not_session_scoped"}
        await self.open(session)
        with self._store.reading() as reading:
            rows = reading.session(self.session).rows
            new = [name for name in names if span_row(rows, name) is None]
            first = not any(span_row(rows, name) for name in names)
        await self.say(*(self.span_record(name, own_text(name), session=session) for name in names))
        return {"result": "accepted", **({} if first else {"new": new})}

    async def summary(self, fields: Fields) -> Step | None:
        """An observed compaction, live from then on."""
        name, covers = fields.text("id"), fields.names("covers", [])
        text = mask(fields.text("text"))
        self._rounds += 1
        ranges = tuple(SpanRange(span, span) for span in covers)
        summary = self.make(
            SummaryRecorded,
            name,
            summary=name,
            round=name,
            covers=ranges,
            depends_on=fields.names("depends_on", []),
            keys=fields.names("keys", []),
            text=PlainText(text),
            manifest=extract(text, "assistant", scope_key=self.scope),
        )
        observed = self.make(
            CompactionObserved,
            name,
            round=name,
            ordinal=self._rounds,
            turn=-1,
            trigger="scenario",
            summary=name,
            summarised=ranges,
        )
        decisions, _ = await self.say(summary, observed)
        refused = [decision for decision in decisions if isinstance(decision, RecordRejected)]
        return {"result": "refused", "reason": refused[0].reason} if refused else None

    async def summary_failed(self, fields: Fields) -> Step | None:
        """A compaction whose summary is an error text: nothing took the place of what it covered."""
        self._rounds += 1
        name = f"failed-{self._rounds}"
        ranges = tuple(SpanRange(span, span) for span in fields.names("covers", []))
        await self.say(
            self.make(
                CompactionObserved,
                name,
                round=name,
                ordinal=self._rounds,
                turn=-1,
                trigger="scenario",
                summary_state="error_text",
                summarised=ranges,
            )
        )
        return None

    async def tombstone(self, fields: Fields) -> Step:
        """Drop exactly the named facts on purpose."""
        await self.open(self.session)
        with self._store.reading() as reading:
            named = named_facts(reading.session(self.session), fields.text("fact"))
            facts = list(named.rows)
        if not facts:
            return {"result": "refused", "reason": "fact_not_recorded"}
        reason = fields.text("reason", "")
        await self.say(
            *(
                self.make(FactTombstoned, f"{fact}/{reason}", fact=fact, reason=reason, authority="scenario", occurrence=fact)
                for fact in facts
            )
        )
        return {"result": "accepted", "tombstoned": [fields.text("span")] if fields.has("span") else facts}

    # The store.

    async def evict(self, fields: Fields) -> Step:
        """Ask to drop one entry; what is accepted is applied at once."""
        summary = fields.text("summary") if fields.has("summary") else None
        return await self._evict((fields.text("span"),), fields.text("reason", fields.op), summary)

    async def cleanup(self, fields: Fields) -> Step:
        """Ask to drop several entries as one request."""
        return await self._evict(fields.names("delete"), fields.text("reason", "cleanup"), None)

    async def _evict(self, spans: tuple[str, ...], reason: str, summary: str | None) -> Step:
        request = self.occurrence()
        decisions, _ = await self.say(
            self.make(EvictionRequested, request, request=request, spans=spans, reason=reason, summary=summary)
        )
        decision = decisions[0]
        if isinstance(decision, EvictionGranted):
            await self.say(self.make(EvictionApplied, request, request=request))
            return {"result": "accepted"}
        return {"result": "refused", "reason": decision.reason}

    async def rechunk(self, fields: Fields) -> Step:
        """Ask to replace entries by others."""
        request, replaces, into = self.occurrence(), fields.names("replaces"), fields.names("into", [])
        decisions, _ = await self.say(
            self.make(IndexWriteRequested, request, request=request, operation="rechunk", replaces=replaces, into=into)
        )
        if not isinstance(decisions[0], IndexGranted):
            return {"result": "refused", "reason": decisions[0].reason}
        await self.say(self.make(IndexRechunked, request, replaces=replaces, into=into, occurrence=request))
        return {"result": "accepted"}

    async def index_put(self, fields: Fields) -> Step:
        """Ask to add an entry."""
        request = self.occurrence()
        kind = "summary" if fields.text("claims_kind", "raw") == "summary" else "raw"
        decisions, _ = await self.say(
            self.make(
                IndexWriteRequested,
                request,
                request=request,
                operation="put",
                key=fields.text("key"),
                claims_kind=kind,
                text_sha256=_sha256(mask(fields.text("text", ""))),
            )
        )
        if isinstance(decisions[0], IndexGranted):
            return {"result": "accepted"}
        return {"result": "refused", "reason": decisions[0].reason}

    async def index_state(self, fields: Fields) -> Step | None:
        """What a check of the store found."""
        occurrence, missing, orphans = self.occurrence(), fields.names("missing", []), fields.names("orphans", [])
        self._missing = set(missing)
        await self.say(self.make(IndexChecked, occurrence, missing=missing, orphans=orphans, occurrence=occurrence))
        return None

    async def check_index(self, _: Fields) -> Step:
        """What stands against the store now."""
        checks = [record for record in await self._records() if isinstance(record, IndexChecked)]
        last = checks[-1] if checks else None
        if last is not None and last.missing:
            return {"result": "missing", "count": len(last.missing)}
        if last is not None and last.orphans:
            return {"result": "orphans", "count": len(last.orphans)}
        return {"result": "ok", "count": 0}

    async def _records(self) -> list[AnyRecord]:
        from schemas.codec import decode_record

        entries = await self._store.log.read(EVENTS, 0, 0, max_entries=100_000, max_bytes=1 << 30)
        return [decode_record(entry.value) for entry in entries]

    # Retrieval.

    async def retrieve(self, fields: Fields) -> Step:
        """A retrieval through the agent's own path, told to the ledger with its provenance."""
        by = fields.text("by")
        if by == "query":
            return await self._by_query(fields)
        if by == "fact":
            return await self._by_fact(fields)
        key = fields.text("value")
        fetched = await self._fetch(key, fields.text("backend", ""))
        await self._told(fetched, fields.text("expect", "") == "raw")
        return _step_of(fetched)

    async def _fetch(self, key: str, backend: str = "") -> Fetched:
        if backend == "empty_value":
            return Fetched(status="empty", key=key, carrier=key, raw=True)
        if backend == "no_such_key" or key in self._missing:
            return Fetched(status="absent", key=key)
        if backend:
            return Fetched(status="error", key=key, detail=backend)
        with self._store.reading() as reading:
            found = reading.session(self.session)
            return await OwnStore(reading, found).fetch(key)

    async def _told(self, fetched: Fetched, expect_raw: bool, query: str = "") -> None:
        occurrence = self.occurrence()
        await self.say(
            self.make(
                RetrievalObserved,
                occurrence,
                query=query,
                key=fetched.key,
                status=fetched.status,
                carrier=fetched.carrier,
                raw=fetched.raw,
                generation=fetched.generation,
                turns=fetched.turns,
                expected_raw=expect_raw,
                text_sha256=_sha256(fetched.text) if fetched.text else "",
                occurrence=occurrence,
            )
        )

    async def _by_fact(self, fields: Fields) -> Step:
        with self._store.reading() as reading:
            found = reading.session(self.session)
            answers = await recall(reading, found, fields.text("value"), fields.text("as_of", ""))
            raw = [carrier.id for answer in answers for carrier in answer.carriers if carrier.raw and carrier.where == "store"]
        if any(answer.answer == "tombstoned" for answer in answers):
            return {"result": "tombstone"}
        if all(answer.answer == "anchored" for answer in answers) and raw:
            return {"result": "found_raw", "id": raw[0]}
        summaries = [carrier.id for answer in answers for carrier in answer.carriers if not carrier.raw]
        return {"result": "summary_not_raw", "id": summaries[0]} if summaries else {"result": "absent"}

    async def _by_query(self, fields: Fields) -> Step:
        hits, query = fields.objects("candidates"), fields.text("value")
        expect_raw = fields.text("expect", "") == "raw"
        if not hits and fields.number("live_spans", 0) > 0:
            await self._told(Fetched(status="empty", key=""), expect_raw, query)
            return {"result": "error_empty_backend"}
        live, tombstoned = await self._without_tombstones([str(hit["id"]) for hit in hits])
        metric, least = fields.text("metric", "cosine_similarity"), fields.decimal("min_similarity", "0")
        far = [str(hit["id"]) for hit in hits if str(hit["id"]) in live and beyond_threshold(metric, str(hit["raw"]), least)]
        near = [name for name in live if name not in far][: fields.number("top_k", len(hits))]
        extra: Step = {**({"rejected": far} if far else {}), **({"tombstoned": tombstoned} if tombstoned else {})}
        if not near:
            return {"result": "below_threshold", "near_misses": len(far), **extra} if far else {"result": "absent", **extra}
        fetched = await self._provenance(near[0])
        await self._told(fetched, expect_raw, query)
        step = {**_step_of(fetched), **extra}
        if fields.text("want", "") == "all":
            step.pop("id", None)
            return {**step, "ids": near, "newest": await self._newest(near)}
        return step

    async def _without_tombstones(self, names: list[str]) -> tuple[list[str], list[str]]:
        with self._store.reading() as reading:
            rows = reading.session(self.session).rows
            gone = [name for name in names if (row := span_row(rows, name)) is not None and row.tombstoned and not row.in_store]
        return [name for name in names if name not in gone], gone

    async def _provenance(self, name: str) -> Fetched:
        with self._store.reading() as reading:
            rows = reading.session(self.session).rows
            summary = summary_row(rows, name)
        if summary is not None:
            return Fetched(status="ok", key=name, carrier=name, raw=False, generation=summary.generation)
        return await self._fetch(name)

    async def _newest(self, names: list[str]) -> str:
        with self._store.reading() as reading:
            rows = reading.session(self.session).rows
            ordinals = {name: row.ordinal for name in names if (row := span_row(rows, name)) is not None}
        return max(ordinals, key=lambda name: ordinals[name], default="")

    # Checks, audits, actions.

    async def check_keys(self, fields: Fields) -> Step:
        """Can somebody who has only the summary ask for what backs it?"""
        with self._store.reading() as reading:
            row = summary_row(reading.session(self.session).rows, fields.text("summary"))
        keys = list(row.underivable) if row is not None else [fields.text("summary")]
        return {"result": "not_derivable", "keys": keys} if keys else {"result": "derivable"}

    async def check_summary(self, fields: Fields) -> Step:
        """Did the store change under what the summary depends on?"""
        with self._store.reading() as reading:
            found = reading.session(self.session)
            row = summary_row(found.rows, fields.text("summary"))
        if row is None:
            return {"result": "dependencies_changed", "spans": []}
        names = list(row.depends_on) or [first for first, _ in row.covers]
        if row.changed:
            return {"result": "dependencies_changed", "spans": list(row.changed)}
        return {"result": "dependencies_intact", "spans": names}

    async def hit_rate(self, fields: Fields) -> Step | None:
        """The hit rate after a compaction pass."""
        value = fields.decimal("value")
        with self._store.reading() as reading:
            before = scope_row(reading.session(self.session).rows).hit_rate
        occurrence = self.occurrence()
        _, alerts = await self.say(
            self.make(RetrievalMeasured, occurrence, pass_=fields.number("compaction"), hit_rate=value, occurrence=occurrence)
        )
        if not before:
            return None
        with self._store.reading() as reading:
            change = scope_row(reading.session(self.session).rows).hit_rate_change
        if any(isinstance(alert, AlertRaised) and alert.kind == "hit_rate_jump" for alert in alerts):
            return {"result": "flagged", "flag": "hit_rate_jump", "rise_pct": _per_cent(change)}
        return {"result": "ok"}

    async def audit(self, fields: Fields) -> Step:
        """Ask for a pinned span through the agent's own path, and record what came back."""
        name = fields.text("span")
        fetched = await self._fetch(name, fields.text("backend", ""))
        said = fields.text("fact", "")
        occurrence = self.occurrence()
        status = fetched.status if fetched.status != "ok" or mask(said) in fetched.text else "absent"
        await self.say(
            self.make(
                AuditRecorded,
                occurrence,
                span=name,
                status=status,
                text_sha256=_sha256(fetched.text) if fetched.text else "",
                occurrence=occurrence,
            )
        )
        with self._store.reading() as reading:
            row = span_row(reading.session(self.session).rows, name)
        passed = status == "ok" and row is not None and row.text_sha256 == _sha256(fetched.text)
        return {"result": "audit_passed" if passed else "audit_failed", "span": name}

    async def action(self, fields: Fields) -> Step:
        """An action with the claims it rests on, each rehydrated first."""
        claims = [await self._claim(item) for item in fields.objects("claims")]
        request = self.occurrence()
        decisions, _ = await self.say(
            self.make(
                ActionProposed,
                request,
                request=request,
                name=fields.text("name", ""),
                side_effects=fields.flag("side_effects", True),
                claims=tuple(claims),
            )
        )
        decision = decisions[0]
        if decision.reason:
            return {"result": "blocked", "reason": decision.reason}
        spans: tuple[str, ...] = getattr(decision, "substantiated_by", ())
        return {
            "result": "allowed",
            **({"substantiated_by": spans[0]} if len(spans) == 1 else {"substantiated_by": list(spans)} if spans else {}),
        }

    async def _claim(self, item: dict[str, Any]) -> FetchedClaim:
        text = mask(str(item.get("text", "")))
        claim = Claim(text=text, key=item.get("key"), summary=item.get("summary"))
        manifest = extract(text, "assistant", scope_key=self.scope)
        if claim.summary is None:
            fetched = await self._fetch(claim.key or "")
        else:
            fetched = await self._backing(claim.summary, text)
        return FetchedClaim(
            claim=claim,
            manifest=manifest,
            status=fetched.status,
            span=fetched.carrier,
            text=fetched.text,
            raw=fetched.raw is True,
        )

    async def _backing(self, summary: str, text: str) -> Fetched:
        """A summary's keys stand for the spans it covers; one without keys is looked up by what it covers."""
        with self._store.reading() as reading:
            row = summary_row(reading.session(self.session).rows, summary)
        if row is None:
            return Fetched(status="absent", key=summary)
        if row.keys and not any(is_derivable(key, text) or key not in row.underivable for key in row.keys):
            return Fetched(status="absent", key=summary, detail="no key can be derived")
        fetched = Fetched(status="absent", key=summary)
        for first, _ in row.covers:
            fetched = await self._fetch(first)
            if fetched.status == "ok":
                return fetched
        return fetched

    # Clock and counts.

    async def clock(self, fields: Fields) -> Step | None:
        """Time passes."""
        self._clock_ms += 1000 * fields.number("advance_s")
        await self.say(self.make(Tick, f"clock/{self._clock_ms}", timer="clock", due_ms=self._clock_ms))
        return None

    async def count_spans(self, _: Fields) -> Step:
        """Raw spans on record, the audit's own left out."""
        with self._store.reading() as reading:
            return {"result": "count", "count": _spans(reading) - 1}

    async def status(self, fields: Fields) -> Step:
        """Trust, after as many empty rounds as its count needs."""
        with self._store.reading() as reading:
            row = scope_row(reading.session(self.session).rows)
        for _ in range(fields.number("compactions_since_audit", row.compactions_since_audit) - row.compactions_since_audit):
            self._rounds += 1
            name = f"empty-{self._rounds}"
            await self.say(
                self.make(
                    CompactionObserved,
                    name,
                    round=name,
                    ordinal=self._rounds,
                    turn=-1,
                    trigger="scenario",
                    summary_state="missing",
                )
            )
        return {"result": "status", "trust": await self.trust()}


def _spans(reading: Reading) -> int:
    return sum(found.session.spans for found in reading.sessions())


def _step_of(fetched: Fetched) -> Step:
    if fetched.status == "ok":
        return {"result": "found_raw" if fetched.raw else "summary_not_raw", "id": fetched.carrier}
    if fetched.status == "empty":
        return {"result": "error_empty_value", "id": fetched.carrier or fetched.key}
    return {"result": fetched.status}


def own_text(name: str) -> str:
    """A text that says something no other span says."""
    return f"Entry {name} holds value {int.from_bytes(digest('own-text', name, size=4), 'big')}."


def _per_cent(change: str) -> int:
    from decimal import ROUND_HALF_UP, Decimal

    return int((Decimal(change) * 100).quantize(Decimal(1), rounding=ROUND_HALF_UP))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_OPERATIONS: dict[str, Callable[[_Stage, Fields], Coroutine[Any, Any, Step | None]]] = {
    "session": _Stage.session_,
    "span": _Stage.span,
    "batch_index": _Stage.batch_index,
    "transcript_window": _Stage.transcript_window,
    "summary": _Stage.summary,
    "summary_failed": _Stage.summary_failed,
    "tombstone": _Stage.tombstone,
    "evict": _Stage.evict,
    "expire": _Stage.evict,
    "cleanup": _Stage.cleanup,
    "rechunk": _Stage.rechunk,
    "index_put": _Stage.index_put,
    "index_state": _Stage.index_state,
    "check_index": _Stage.check_index,
    "retrieve": _Stage.retrieve,
    "check_keys": _Stage.check_keys,
    "check_summary": _Stage.check_summary,
    "hit_rate": _Stage.hit_rate,
    "audit": _Stage.audit,
    "action": _Stage.action,
    "clock": _Stage.clock,
    "count_spans": _Stage.count_spans,
    "status": _Stage.status,
}
