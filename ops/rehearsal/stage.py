"""A scenario on its log: what every operation needs."""

from __future__ import annotations

import hashlib
from typing import Any

from ledger.facts import RULES_VERSION, extract
from ledger.log import ALERTS, DECISIONS, EVENTS, NewEntry
from ledger.masking import mask
from ledger.recorder import made
from ops.queries.overview import trust_of
from ops.rehearsal.scenario import Scenario
from ops.store import Store
from schemas.alerts import AnyAlert
from schemas.codec import decode_alert, decode_decision, encode
from schemas.decisions import AnyDecision
from schemas.ids import digest
from schemas.records import (
    AnyRecord,
    AuditRecorded,
    PlainText,
    Record,
    SessionOpened,
    SpanRecorded,
)

Step = dict[str, Any]
ANCHOR = "audit-before-the-first-event"
"""A span of a session of its own, whose audit passes just before the first event, as the contract says."""


class Stage:
    """A scenario on its log."""

    def __init__(self, store: Store, scenario: Scenario) -> None:
        self.store = store
        self.scenario = scenario
        self.scope = self.session = scenario.id
        self.horizon_s: int | None = None
        self.declared = "ledger"
        self.opened: set[str] = set()
        self._occurrences = 0
        self.turn = 0
        self.clock_ms = 0
        self.rounds = 0
        self.missing: set[str] = set()
        self._read: dict[str, int] = {DECISIONS: 0, ALERTS: 0}

    def make(self, shape: type[Record], *, session: str = "", **fields: Any) -> Any:
        """A record of the scenario's scope."""
        return made(shape, self.scope, session or self.session, **fields)

    def occurrence(self) -> str:
        """A fresh occurrence id, the same in every play."""
        self._occurrences += 1
        return digest("occurrence", self.scope, str(self._occurrences)).hex()

    async def say(self, *records: AnyRecord) -> tuple[list[AnyDecision], list[AnyAlert]]:
        """Append, fold, and return what the fold answered."""
        await self.store.log.append(EVENTS, [NewEntry(record.scope, encode(record)) for record in records])
        await self.store.fold()
        decisions = [decode_decision(value) for value in await self._new(DECISIONS)]
        return decisions, [decode_alert(value) for value in await self._new(ALERTS)]

    async def _new(self, topic: str) -> list[bytes]:
        entries = await self.store.log.read(topic, 0, self._read[topic], max_entries=100_000, max_bytes=1 << 30)
        self._read[topic] += len(entries)
        return [entry.value for entry in entries]

    async def open(self, session: str) -> None:
        """Open a session, the scenario's own first, with the audit that the contract puts before the first event."""
        if session in self.opened:
            return
        if self.session not in self.opened and session != self.session:
            await self.open(self.session)
        self.opened.add(session)
        opened = self.make(
            SessionOpened,
            session=session,
            store=self.declared,
            horizon_s=self.horizon_s,
            rules_version=RULES_VERSION,
            parent=None if session == self.session else self.session,
        )
        records: list[AnyRecord] = [opened]
        if session == self.session:
            text = "audit anchor"
            aside = f"{self.session}/{ANCHOR}"
            records.append(self.make(SessionOpened, session=aside, store="ledger", rules_version=RULES_VERSION))
            records.append(
                self.make(
                    SpanRecorded,
                    session=aside,
                    span=ANCHOR,
                    role="system",
                    turns=(1, 1),
                    text=PlainText(text),
                    manifest=extract("", "system", scope_key=self.scope),
                    in_window=False,
                )
            )
            records.append(self.make(AuditRecorded, session=aside, span=ANCHOR, text_sha256=sha256_of(text), occurrence=ANCHOR))
        await self.say(*records)

    async def trust(self) -> str:
        """The trust at the end."""
        await self.open(self.session)
        with self.store.reading() as reading:
            return trust_of(reading.session(self.session), 0)[0]

    def span_record(
        self,
        name: str,
        text: str,
        *,
        session: str = "",
        valid: tuple[str, str] = ("", ""),
        ttl_s: int | None = None,
        in_window: bool = False,
    ) -> AnyRecord:
        """A span with its facts, outside the window unless asked for."""
        self.turn += 1
        masked = mask(text)
        record: AnyRecord = self.make(
            SpanRecorded,
            session=session,
            span=name,
            role="user",
            turns=(self.turn, self.turn),
            text=PlainText(masked),
            manifest=extract(masked, "user", scope_key=self.scope, valid=valid),
            in_window=in_window,
            valid_from=valid[0],
            valid_to=valid[1],
            ttl_s=ttl_s,
        )
        return record


def own_text(name: str) -> str:
    """A text that says something no other span says."""
    return f"Entry {name} holds value {int.from_bytes(digest('own-text', name, size=4), 'big')}."


def sha256_of(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
