"""given / when / then over records, folded in memory, and then once more.

    given(opened(), span(1, "n:40 p:billing"), summary("m1", "n:40")).when(request("q1", "m1", 1)) \
        .then_decision(CompactionRefused, rule="F2").then_alerts()

Every batch is folded twice over: once as it is, and in a second fold that gets each batch delivered twice (promise P3). After
each record the rows are recounted from spans and summaries. Assertions see decisions and alerts, as a reader of the log would.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from ledger.facts import RULES_VERSION, extract
from ledger.fold import Step, step
from ledger.log import ALERTS, DECISIONS
from ledger.rows import ScopeRow
from ledger.state import ONLY, SCOPE, Draft
from schemas.alerts import AlertRaised, AnyAlert
from schemas.codec import decode_alert, decode_decision, decode_record, encode
from schemas.decisions import AnyDecision
from schemas.facts import Manifest
from schemas.objects import with_own_id
from schemas.records import (
    AnyRecord,
    AuditRecorded,
    Candidate,
    Claim,
    CompactionApplied,
    CompactionObserved,
    CompactionRequested,
    EvictionApplied,
    EvictionObserved,
    EvictionRequested,
    ExternalisationVerified,
    FactTombstoned,
    IndexDeclared,
    IndexEntryRecorded,
    IndexWriteRequested,
    ManifestRecorded,
    PlainText,
    PolicySet,
    Record,
    RequestWithdrawn,
    Role,
    SessionClosed,
    SessionOpened,
    Setting,
    SpanRange,
    SpanRecorded,
    SummaryRecorded,
)
from tests.support.recount import faults
from tests.support.rows import MemoryRows

MAIN = "s1"
R = TypeVar("R", bound=Record)


def sha256(text: str) -> str:
    """As publishers compute it."""
    return hashlib.sha256(text.encode()).hexdigest()


def record(cls: type[R], name: str, /, session: str = MAIN, scope: str = MAIN, **fields: Any) -> R:
    """A record under its own id; `name` is the occurrence of what can happen again, where the fields do not say it."""
    if "occurrence" in cls.__struct_fields__:
        fields.setdefault("occurrence", name)
    return with_own_id(cls(id="", scope=scope, session=session, **fields))


def span_name(number: int, session: str = MAIN) -> str:
    """`<session>:<number>`."""
    return f"{session}:{number}"


def opened(
    session: str = MAIN, *, scope: str = MAIN, store: str = "none", policy: dict[str, str] | None = None, **fields: Any
) -> SessionOpened:
    """A session; the first one of a scope pins its rules."""
    settings = tuple(Setting(key, value) for key, value in (policy or {}).items())
    return record(
        SessionOpened, session, session, scope, store=store, policy=settings, **{"rules_version": RULES_VERSION, **fields}
    )


def closed(session: str = MAIN, scope: str = MAIN) -> SessionClosed:
    """The session ends."""
    return record(SessionClosed, session, session, scope)


def span(
    number: int,
    text: str,
    role: Role = "user",
    *,
    session: str = MAIN,
    scope: str = MAIN,
    manifest: bool | Manifest = True,
    turn: int | None = None,
    **fields: Any,
) -> SpanRecorded:
    """Message `number` of a session, with its facts unless `manifest` is false."""
    name = span_name(number, session)
    turns = (number, number) if turn is None else (turn, turn)
    listed = extract(text, role, scope_key=scope) if manifest is True else manifest or None
    return record(
        SpanRecorded, name, session, scope, span=name, role=role, turns=turns, text=PlainText(text), manifest=listed, **fields
    )


def manifest(
    number: int, text: str, role: Role = "user", *, session: str = MAIN, scope: str = MAIN, extractor: str = "", by: str = ""
) -> ManifestRecorded:
    """The facts of a span, measured later; `by` is the session that the measurer writes under."""
    listed = extract(text, role, scope_key=scope)
    if extractor:
        listed = msgspec.structs.replace(listed, extractor=extractor)
    name = span_name(number, session)
    return record(ManifestRecorded, listed.extractor, by or session, scope, span=name, manifest=listed)


def summary(
    name: str, text: str | None, *, session: str = MAIN, scope: str = MAIN, manifest: bool = False, **fields: Any
) -> SummaryRecorded:
    """A summary on record."""
    listed = extract(text or "", "assistant", scope_key=scope) if manifest else None
    plain = PlainText(text) if text is not None else None
    return record(SummaryRecorded, name, session, scope, summary=name, text=plain, manifest=listed, **fields)


def request(
    name: str, summary_: str, *spans: int, session: str = MAIN, scope: str = MAIN, tokens: int = 0, **fields: Any
) -> CompactionRequested:
    """May these messages go for this summary? `tokens` is what each of them frees."""
    evictions = tuple(Candidate(span=span_name(number, session), tokens=tokens) for number in spans)
    return record(CompactionRequested, name, session, scope, request=name, summary=summary_, evictions=evictions, **fields)


def applied(name: str, text: str, *, session: str = MAIN, scope: str = MAIN) -> CompactionApplied:
    """The grant was carried out with this summary text."""
    return record(CompactionApplied, name, session, scope, request=name, summary_sha256=sha256(text))


def withdrawn(name: str, *, session: str = MAIN, scope: str = MAIN) -> RequestWithdrawn:
    """The publisher gave up."""
    return record(RequestWithdrawn, name, session, scope, request=name)


def ranges(numbers: Iterable[int], session: str = MAIN) -> tuple[SpanRange, ...]:
    """A range for each message."""
    return tuple(SpanRange(span_name(number, session), span_name(number, session)) for number in numbers)


def observed(
    name: str,
    summary_: str | None,
    *,
    turn: int,
    kept: Iterable[int] = (),
    unseen: Iterable[int] = (),
    session: str = MAIN,
    scope: str = MAIN,
    **fields: Any,
) -> CompactionObserved:
    """A compaction that already happened, up to the message with ordinal `turn`."""
    return record(
        CompactionObserved,
        name,
        session,
        scope,
        round=name,
        ordinal=fields.pop("ordinal", 1),
        turn=turn,
        summary=summary_,
        kept=ranges(kept, session),
        unseen=ranges(unseen, session),
        **fields,
    )


def declared(store: str, *, session: str = MAIN, scope: str = MAIN, **fields: Any) -> IndexDeclared:
    """What the retrieval store promises."""
    return record(IndexDeclared, fields.get("occurrence", store), session, scope, store=store, **fields)


def entry(
    name: int | str, *, session: str = MAIN, scope: str = MAIN, owner: str = "", occurrence: str = ""
) -> IndexEntryRecorded:
    """The store holds the span, or summary, now."""
    held = span_name(name, owner or session) if isinstance(name, int) else name
    return record(IndexEntryRecorded, f"{held}{occurrence}", session, scope, span=held, occurrence=occurrence)


def evict(
    name: str, *spans: int, summary: str | None = None, session: str = MAIN, scope: str = MAIN, owner: str = ""
) -> EvictionRequested:
    """May the store drop these?"""
    names = tuple(span_name(number, owner or session) for number in spans)
    return record(EvictionRequested, name, session, scope, request=name, spans=names, summary=summary, reason="ttl")


def evicted(name: str, *, session: str = MAIN, scope: str = MAIN) -> EvictionApplied:
    """The granted eviction was carried out."""
    return record(EvictionApplied, name, session, scope, request=name)


def expired(occurrence: str, *spans: int, session: str = MAIN, scope: str = MAIN, owner: str = "") -> EvictionObserved:
    """The store has dropped these by itself."""
    names = tuple(span_name(number, owner or session) for number in spans)
    return record(EvictionObserved, occurrence, session, scope, spans=names, policy="ttl", occurrence=occurrence)


def write(name: str, operation: str, *, session: str = MAIN, scope: str = MAIN, **fields: Any) -> IndexWriteRequested:
    """May the store write this?"""
    return record(IndexWriteRequested, name, session, scope, request=name, operation=operation, **fields)


def externalised(number: int, text: str, *, session: str = MAIN, scope: str = MAIN) -> ExternalisationVerified:
    """The span was fetched back from elsewhere with this text."""
    name = span_name(number, session)
    return record(ExternalisationVerified, name, session, scope, span=name, store="files", key=name, sha256=sha256(text))


def tombstone(fact: str, *, session: str = MAIN, scope: str = MAIN, occurrence: str = "") -> FactTombstoned:
    """The fact is dropped on purpose."""
    return record(
        FactTombstoned,
        f"{fact}{occurrence}",
        session,
        scope,
        fact=fact,
        reason="obsolete",
        authority="owner",
        occurrence=occurrence,
    )


def audit(
    number: int, text: str, *, session: str = MAIN, scope: str = MAIN, occurrence: str = "a1", **fields: Any
) -> AuditRecorded:
    """The span was fetched through the agent's own path and came back as this text."""
    name = span_name(number, session)
    return record(
        AuditRecorded, occurrence, session, scope, span=name, text_sha256=sha256(text), occurrence=occurrence, **fields
    )


def policy(key: str, value: str, *, session: str = MAIN, scope: str = MAIN, occurrence: str = "") -> PolicySet:
    """One policy key changes."""
    return record(PolicySet, f"{key}{value}{occurrence}", session, scope, key=key, value=value, occurrence=occurrence)


def claim(text: str, key: str | None = None) -> Claim:
    """A claim with its key."""
    return Claim(text=text, key=key)


class Fold:
    """One scope folded in memory. `outputs` holds (topic, bytes) as they would be published, `repeats` decisions said again."""

    def __init__(self, rows: MemoryRows | None = None, *, recount: bool = True) -> None:
        self.rows = rows or MemoryRows()
        self.outputs: list[tuple[str, bytes]] = []
        self.repeats: list[bytes] = []
        self.duplicates = 0
        self._recount = recount

    def take(self, records: Iterable[AnyRecord]) -> Fold:
        """Fold records in one batch: one draft over the rows, applied at its end, as the index commits it."""
        batch = Draft(self.rows)
        for item in records:
            result = step(batch, decode_record(encode(item)))
            result.changes.apply_to(batch)
            self._note(result)
        self.rows.apply(batch)
        found = faults(self.rows) if self._recount else []
        if found:
            raise AssertionError("; ".join(found))
        return self

    def _note(self, result: Step) -> None:
        self.duplicates += result.duplicate
        if result.decision is not None:
            self.outputs.append((DECISIONS, encode(result.decision)))
        self.outputs.extend((ALERTS, encode(alert)) for alert in result.alerts)
        if result.repeated:
            self.repeats.append(result.repeated)

    @property
    def scope(self) -> ScopeRow:
        """The scope's own row."""
        return self.rows.get(SCOPE, ONLY) or ScopeRow()

    @property
    def sequence(self) -> list[int]:
        """Output numbers in order of publication."""
        return [(decode_decision(raw) if topic == DECISIONS else decode_alert(raw)).output_seq for topic, raw in self.outputs]


class Scenario:
    """What was folded so far, and what the last `when` brought about."""

    def __init__(self, scope: str = MAIN) -> None:
        self.scope = scope
        self.fold = Fold()
        self._again = Fold(recount=False)
        self.decisions: list[AnyDecision] = []
        self.alerts: list[AnyAlert] = []
        self._before = 0

    def given(self, *records: AnyRecord) -> Scenario:
        """Fold what happened before."""
        self._take(records)
        return self

    def when(self, *records: AnyRecord) -> Scenario:
        """Fold what is looked at."""
        self._before = len(self.fold.outputs)
        self._take(records)
        fresh = self.fold.outputs[self._before :]
        self.decisions = [decode_decision(raw) for topic, raw in fresh if topic == DECISIONS]
        self.alerts = [decode_alert(raw) for topic, raw in fresh if topic == ALERTS]
        return self

    def _take(self, records: Sequence[AnyRecord]) -> None:
        for item in records:
            self.fold.take([item])
        self._again.take(records).take(records)
        assert self._again.rows.digest(self.scope) == self.fold.rows.digest(self.scope), (
            "a second delivery changed something (P3)"
        )
        assert self._again.outputs == self.fold.outputs, "a second delivery said something else (P3)"
        assert self.fold.sequence == list(range(1, len(self.fold.outputs) + 1)), "output numbers are not dense (P9)"

    @property
    def decision(self) -> Any:
        """The only decision of the last `when`."""
        assert len(self.decisions) == 1, self.decisions
        return self.decisions[0]

    def then_decision(self, cls: type[AnyDecision] | Any, **fields: Any) -> Scenario:
        """The last `when` left exactly one decision, of this shape and with these fields."""
        assert isinstance(self.decision, cls), self.decision
        for name, value in fields.items():
            assert getattr(self.decision, name) == value, (name, getattr(self.decision, name), self.decision)
        return self

    def then_no_decision(self) -> Scenario:
        """The last `when` left no decision."""
        assert self.decisions == []
        return self

    def then_alerts(self, *kinds: str) -> Scenario:
        """The last `when` left these alerts and no others, trust aside, in any order; `+kind` was raised, `-kind` resolved."""
        assert sorted(self._kinds()) == sorted(kinds), self.alerts
        return self

    def _kinds(self) -> list[str]:
        return [
            ("+" if isinstance(alert, AlertRaised) else "-") + alert.kind
            for alert in self.alerts
            if alert.kind != "trust_changed"
        ]

    def then_alert(self, kind: str, **fields: Any) -> Scenario:
        """The last `when` left an alert of this kind (`+` or `-`) with these fields."""
        found = [a for a in self.alerts if a.kind == kind[1:] and isinstance(a, AlertRaised) == (kind[0] == "+")]
        assert found, self.alerts
        assert any(all(getattr(a, name) == value for name, value in fields.items()) for a in found), found
        return self

    def then_trust(self, state: str, *reasons: str) -> Scenario:
        """The scope's trust, and reasons that are on record for it."""
        row = self.fold.scope
        assert row.trust == state, row
        assert set(reasons) <= {*row.degraded, *row.unclear}, row
        return self


def given(*records: AnyRecord, scope: str = MAIN) -> Scenario:
    """A scenario that begins with these records."""
    return Scenario(scope).given(*records)
