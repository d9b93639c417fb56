"""Random histories of a scope in the toy language: mostly what publishers do, in part what none should.

A seed gives one history on every machine. `shrunk` takes away records as long as a check still fails, so that a failure is
shown by the few records that make it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import msgspec
from hypothesis import strategies as st

from schemas.records import (
    AnyRecord,
    DegradationAcknowledged,
    IndexChecked,
    IndexRechunked,
    PlainText,
    RetrievalMeasured,
    RetrievalObserved,
    ScopeLinked,
    Tick,
    TranscriptRead,
)
from tests.support import given as g
from tests.support.toy_facts import toy_id

WORDS = ("n:40", "n:7", "n:443", "i:host", "p:billing", "d:lmdb", "t:story", "t:tale", "t:end", "r:fast")
SIGNS = ("", "", "", "", "", "=", "=", "~", "-", "*", "%", "<")

seeds = st.integers(0, 2**40)
"""A history each: `history(seed)`."""


class Publisher:
    """Writes the next record of a scope. It remembers what it wrote, not what came of it: some records will be refused."""

    def __init__(self, seed: object, scope: str = "s1") -> None:
        self.chance = random.Random(repr(seed))
        self.scope = scope
        self.sessions = [scope]
        self.spans: dict[str, dict[int, str]] = {scope: {}}
        self.summaries: dict[str, dict[str, str]] = {scope: {}}
        self.requests: dict[str, dict[str, str]] = {scope: {}}
        self.named: dict[str, list[int]] = {}
        self.window: dict[str, list[int]] = {scope: []}
        self.used: set[str] = set()
        self.count = 0

    def begin(self) -> list[AnyRecord]:
        """How a scope begins: one session or two, with the ledger's store or none."""
        store = self.chance.choice(("ledger", "ledger", "vectors", "none"))
        first = [g.opened(self.scope, scope=self.scope, store=store)]
        return first + ([self.open_another()] if self.chance.random() < 0.6 else [])

    def next(self) -> list[AnyRecord]:
        """One more record, or a few that belong together."""
        made = self.chance.choices(self._makers, self._weights)[0](self)
        return made if isinstance(made, list) else [made]

    def whole_round(self) -> list[AnyRecord]:
        """A compaction as a well-behaved publisher does it, though not always to its end."""
        session = self.scope
        name, text = f"{session}#m{self._number()}", self._summary_text()
        live = [known for known in self.summaries[session] if known in self.used][-2:]
        self.summaries[session][name] = text
        request = f"q{self._number()}"
        self.requests[session][request] = text
        self.named[request] = spans = self.chance.sample(self.window[session], len(self.window[session]) * 2 // 3)
        first = g.summary(name, text, session=session, scope=self.scope, covers_summaries=tuple(live))
        mode, budget = self.chance.choice(("all", "prefer", "prefer")), self.chance.choice((None, 90))
        asked = g.request(
            request,
            name,
            *spans,
            scope=self.scope,
            session=session,
            mode=mode,
            tokens=10,
            tokens_before=100,
            budget_tokens=budget,
        )
        if self.chance.random() < 0.3:
            return [first, asked]
        self.used.add(name)
        self.window[session] = [number for number in self.window[session] if number not in spans]
        end = self.chance.choice(("applied", "applied", "observed", "withdrawn"))
        if end == "applied":
            return [first, asked, g.applied(request, text, session=session, scope=self.scope)]
        if end == "withdrawn":
            return [first, asked, g.withdrawn(request, session=session, scope=self.scope)]
        seen = g.observed(
            f"r{self._number()}", name, turn=self.count, kept=self.window[session], session=session, scope=self.scope
        )
        return [first, asked, seen]

    def _number(self) -> int:
        self.count += 1
        return self.count

    def _session(self) -> str:
        return self.scope if self.chance.random() < 0.6 else self.chance.choice(self.sessions)

    def _wild(self) -> bool:
        return self.chance.random() < 0.1

    def _spans(self, session: str, most: int = 4) -> list[int]:
        recent = (self.window[session] or list(self.spans[session]))[-6:]
        if not recent or self._wild():
            recent = [*list(self.spans[session])[-6:], 999]
        return (
            [self.chance.choice(recent) for _ in range(self.chance.randint(0, most))]
            if self._wild()
            else self.chance.sample(recent, min(len(recent), self.chance.randint(1, most)))
        )

    def _words(self, most: int = 4) -> str:
        return " ".join(self.chance.sample(WORDS, self.chance.randint(0, most)))

    def open_another(self) -> AnyRecord:
        name = f"{self.scope}/{len(self.sessions)}" if len(self.sessions) < 3 else self._session()
        if name not in self.sessions:
            self.sessions.append(name)
            self.spans[name], self.summaries[name], self.requests[name], self.window[name] = {}, {}, {}, []
        return g.opened(name, scope=self.scope)

    def span(self) -> AnyRecord:
        session = self._session()
        again = self.chance.random() < 0.1 and self.spans[session]
        number = self.chance.choice(list(self.spans[session])) if again else self._number()
        text = self.spans[session].get(number, "") if again and self._wild() else self._words()
        self.spans[session].setdefault(number, text)
        if number not in self.window[session]:
            self.window[session].append(number)
        record = g.span(
            number,
            text,
            self.chance.choice(("user", "user", "assistant", "tool")),
            session=session,
            scope=self.scope,
            manifest=self.chance.random() < 0.9,
            in_window=self.chance.random() < 0.9,
            turn=self.chance.choice((number, number, 3)),
        )
        if record.manifest is None or self.chance.random() < 0.7:
            return record
        found = record.manifest.facts  # an older extractor, that does not see all
        listed = tuple(self.chance.sample(found, self.chance.randint(0, len(found))))
        return msgspec.structs.replace(record, manifest=msgspec.structs.replace(record.manifest, facts=listed))

    def manifest(self) -> AnyRecord:
        session = self._session()
        number = (self._spans(session, 1) or [1])[0]
        text = self.spans[session].get(number, "n:40") if not self._wild() else self._words()
        by = self._session() if self._wild() else session
        record = g.manifest(number, text, session=session, scope=self.scope, extractor=self.chance.choice(("x1", "x2")), by=by)
        listed = self.chance.sample(record.manifest.facts, self.chance.randint(0, len(record.manifest.facts)))
        return msgspec.structs.replace(record, manifest=msgspec.structs.replace(record.manifest, facts=tuple(listed)))

    def _summary_text(self) -> str:
        words = self.chance.sample(WORDS, self.chance.randint(3, len(WORDS)))
        return " ".join(self.chance.choice(SIGNS) + word for word in words)

    def summary(self) -> AnyRecord:
        session = self._session()
        known = list(self.summaries[session])
        name = self.chance.choice(known) if known and self._wild() else f"{session}#m{self._number()}"
        text = self._summary_text() if not self._wild() else ""
        self.summaries[session].setdefault(name, text)
        covered = [self.chance.choice(known) for _ in range(self.chance.randint(0, 2))] if known else []
        return g.summary(
            name,
            text,
            session=session,
            scope=self.scope,
            manifest=self.chance.random() < 0.5,
            covers_summaries=tuple(covered + known[-1:]),
            tokens=self.chance.choice((None, 5)),
        )

    def _a_summary(self, session: str) -> str:
        owner = self._session() if self._wild() else session
        known = list(self.summaries[owner])
        fresh = [name for name in known if name not in self.used]
        return self.chance.choice(known[-3:] or ["none"]) if self._wild() or not fresh else fresh[-1]

    def request(self) -> AnyRecord:
        session = self._session()
        known = list(self.requests[session])
        name = self.chance.choice(known) if known and self._wild() else f"q{self._number()}"
        summary = self._a_summary(session)
        self.requests[session].setdefault(name, self.summaries[session].get(summary, ""))
        budget = self.chance.choice((None, None, 95, 85, 60))
        spans = self.named.setdefault(name, self._spans(session, 5))
        return g.request(
            name,
            summary,
            *spans,
            session=session,
            scope=self.scope,
            mode=self.chance.choice(("all", "prefer")),
            tokens=10,
            tokens_before=100 if budget else None,
            budget_tokens=budget,
            tombstones=tuple(toy_id(word, self.scope) for word in WORDS if self.chance.random() < 0.1),
        )

    def _a_request(self, session: str) -> str:
        known = [name for name in self.requests[session] if not name.startswith("e")] or ["none"]
        return self.chance.choice(known[-3:]) if self._wild() else known[-1]

    def applied(self) -> AnyRecord:
        session = self._session()
        name = self._a_request(session)
        text = self.requests[session].get(name, "") if not self._wild() else "other"
        self.used.update(known for known, said in self.summaries[session].items() if said == text)
        self.window[session] = [number for number in self.window[session] if number not in self.named.get(name, ())]
        return g.applied(name, text, session=session, scope=self.scope)

    def withdrawn(self) -> AnyRecord:
        session = self._session()
        return g.withdrawn(self._a_request(session), session=session, scope=self.scope)

    def observed(self) -> AnyRecord:
        session = self._session()
        state = "text" if self.chance.random() < 0.85 else self.chance.choice(("opaque", "empty", "missing", "error_text"))
        summary = self._a_summary(session) if self.chance.random() < 0.95 else None
        self.used.add(summary or "")
        self.window[session] = kept = self._spans(session, 3)
        return g.observed(
            f"r{self._number()}",
            summary,
            turn=self.count if not self._wild() else 2,
            kept=kept,
            unseen=self._spans(session, 1) if self._wild() else (),
            session=session,
            scope=self.scope,
            summary_state=state,
        )

    def entry(self) -> AnyRecord:
        owner, session = self._session(), self._session()
        again = str(self.chance.randint(1, 3))
        if self._wild():
            return g.entry(self._a_summary(owner), session=session, scope=self.scope, occurrence=again)
        number = (self._spans(owner, 1) or [1])[0]
        return g.entry(number, session=session, owner=owner, scope=self.scope, occurrence=again)

    def evict(self) -> AnyRecord:
        session = self._session()
        owner = self._session()
        name = f"e{self._number()}"
        self.requests[session][name] = ""
        summary = self._a_summary(session) if self.chance.random() < 0.3 else None
        return g.evict(name, *self._spans(owner, 2), summary=summary, session=session, owner=owner, scope=self.scope)

    def evicted(self) -> AnyRecord:
        session = self._session()
        names = [name for name in self.requests[session] if name.startswith("e")][-3:]
        return g.evicted(self.chance.choice(names or ["none"]), session=session, scope=self.scope)

    def expired(self) -> AnyRecord:
        owner = self._session()
        return g.expired(str(self._number()), *self._spans(owner, 2), session=self._session(), owner=owner, scope=self.scope)

    def externalised(self) -> AnyRecord:
        session = self._session()
        number = (self._spans(session, 1) or [1])[0]
        text = self.spans[session].get(number, "") if not self._wild() else "other"
        return g.externalised(number, text, session=session, scope=self.scope)

    def tombstone(self) -> AnyRecord:
        word, again = self.chance.choice(WORDS), str(self.chance.randint(1, 3))
        return g.tombstone(toy_id(word, self.scope), session=self._session(), scope=self.scope, occurrence=again)

    def rechunked(self) -> AnyRecord:
        session, again = self._session(), str(self._number())
        names = tuple(g.span_name(number, session) for number in self._spans(session, 2))
        return g.record(IndexRechunked, again, session, self.scope, replaces=names, occurrence=again)

    def write(self) -> AnyRecord:
        session = self._session()
        name, key = f"w{self._number()}", g.span_name(self.chance.randint(1, 9), session)
        operation = self.chance.choice(("put", "rechunk"))
        return g.write(name, operation, key=key, replaces=(key,), session=session, scope=self.scope, text_sha256=g.sha256("x"))

    def closed(self) -> AnyRecord:
        return g.closed(self._session(), self.scope)

    def policy(self) -> AnyRecord:
        key = self.chance.choice(("floor.narrative", "floor.numeric", "audit.window", "floor.none", "rules_version"))
        value = self.chance.choice(("2/5", "0.5", "1", "3", "-1", "1/0", "x", "1e9", "9" * 5000, "r1"))
        return g.policy(key, value, session=self.scope, scope=self.scope, occurrence=str(self._number()))

    def other(self) -> AnyRecord:
        """What touches no carrier."""
        scope, again = self.scope, str(self._number())
        session = self._session()
        rate = self.chance.choice(("0.5", "0.9", "NaN", "1e99999", "-1", "x", "0", ""))
        return self.chance.choice(
            (
                g.audit(self.chance.randint(1, 9), "n:40", session=session, scope=scope, occurrence=again),
                g.declared(self.chance.choice(("ledger", "vectors")), session=session, scope=scope, occurrence=again),
                g.record(Tick, again, session, scope, timer="t", due_ms=self.chance.randint(-9, 9)),
                g.record(TranscriptRead, again, session, scope, conflicts=("x",), occurrence=again),
                g.record(IndexChecked, again, session, scope, missing=("x",), occurrence=again),
                g.record(DegradationAcknowledged, again, session, scope, evidence=again, occurrence=again),
                g.record(ScopeLinked, again, session, scope, parent_scope="elsewhere"),
                g.record(RetrievalMeasured, again, session, scope, pass_=1, hit_rate=rate, occurrence=again),
                g.record(RetrievalObserved, again, session, scope, status="empty", key="k", occurrence=again),
            )
        )

    _makers: Sequence[Callable[[Publisher], AnyRecord | list[AnyRecord]]] = (
        whole_round, span, manifest, summary, request, applied, withdrawn, observed, entry, evict, evicted, expired,
        externalised, tombstone, rechunked, write, closed, policy, other, open_another,
    )  # fmt: skip
    _weights = (10, 30, 6, 12, 12, 10, 2, 6, 5, 8, 6, 3, 2, 4, 0.5, 1, 0.2, 1, 2, 1)


def history(seed: object, size: int = 60, scope: str = "s1") -> list[AnyRecord]:
    """A history of about this many records, with a few records delivered again."""
    publisher = Publisher(seed, scope)
    found = publisher.begin() if publisher.chance.random() < 0.95 else []
    while len(found) < size:
        again = found and publisher.chance.random() < 0.05
        found.extend([publisher.chance.choice(found)] if again else publisher.next())
    return found


def shrunk(history_: list[AnyRecord], fails: Callable[[list[AnyRecord]], object]) -> list[AnyRecord]:
    """The history without every record that the failure does not need."""
    before = len(history_) + 1
    while len(history_) < before:
        before = len(history_)
        for at in reversed(range(before)):
            shorter = history_[:at] + history_[at + 1 :]
            if fails(shorter):
                history_ = shorter
    return history_


def shown(history_: Sequence[AnyRecord]) -> str:
    """A history as a person wants to read it."""
    lines = []
    for record in history_:
        fields = {
            name: value.text if isinstance(value, PlainText) else value
            for name, value in msgspec.structs.asdict(record).items()
            if name not in ("id", "scope", "agent", "source", "sequence", "time_ms", "manifest") and value not in (None, "", ())
        }
        lines.append(f"{type(record).__name__} {fields}"[:600])
    return "\n".join(lines)
