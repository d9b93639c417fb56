"""The auditor: asks the agent's own store for what it must still have, and looks again at what publishers measured (T2).

It appends records and decides nothing: what an answer is worth is for the fold to say. That an audit is due is said by the fold
too, as an alert that stays open until an audit passes; so nothing is lost when an auditor ends, and two of them say the same.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping
from typing import Protocol

import msgspec

from consumers.carrier_index import CarrierIndex
from consumers.remeasuring import append_manifests, extracted_again, manifest_record
from ledger.errors import LedgerError
from ledger.evolve.trust import AUDIT_DUE
from ledger.fold import is_on_record
from ledger.log import EVENTS, Entry, Log, NewEntry
from ledger.lookup import fact_row, scope_row, session_at, session_row, span_facts, span_row
from ledger.masking import mask
from ledger.recorder import made
from ledger.retrieval import Fetched
from ledger.rows import SessionRow, SpanRow
from ledger.rules.trust import pinned
from ledger.state import ALERT, PLACE, Rows, name_key, ordinal_key
from schemas.codec import NotARecord, UnknownType, decode_record, encode
from schemas.ids import digest, fingerprint
from schemas.records import AuditRecorded, ManifestRecorded, Source, SpanRecorded

AUDITOR = "auditor"
OWN_STORE = "ledger"

SAMPLE_ONE_IN = 100
"""One span in so many is extracted again. Of twenty manifests that lie it finds none in four cases of five, of five hundred
none in less than one case of a hundred: a publisher that lies by habit is found, one that lied once may not be.
"""


class Fetches(Protocol):
    """The part of the retrieval port that an audit needs (promises V1 to V4 of `ledger.retrieval`)."""

    async def fetch(self, key: str) -> Fetched:
        """What stands under this key. Never raises for what a store may answer."""
        ...


class DueAudit(msgspec.Struct, frozen=True, kw_only=True):
    """An audit that the fold calls for, and the span that it asks for. `raised_seq` tells this call from earlier ones; `offset`
    is where the span's record stands.
    """

    scope: str
    session: str
    store: str
    raised_seq: int
    span: SpanRow
    fact: str
    offset: int


class Audited(msgspec.Struct, frozen=True, kw_only=True):
    """One audit that was made. `added` is false where the same outcome is on record already."""

    scope: str
    session: str
    span: str
    status: str
    passed: bool
    added: bool
    event: str


class Unreached(msgspec.Struct, frozen=True, kw_only=True):
    """A due audit that could not be made: it stays due, and says nothing about the store's content."""

    scope: str
    session: str
    store: str
    reason: str


class AuditRound(msgspec.Struct, frozen=True, kw_only=True):
    """What one call did. `whole` is true when it came to the end of the partition's scopes."""

    audited: tuple[Audited, ...]
    unreached: tuple[Unreached, ...]
    whole: bool


def pinned_span(rows: Rows, session: SessionRow) -> SpanRow | None:
    """T2: the evicted span to ask for now, another one after the next compaction; None if nothing has left the window.

    Where the store is on record to hold some of them, it is one of those: an entry that a grant removed is rightly gone.
    """
    evicted: dict[bytes, SpanRow] = {}
    for _, place in rows.walk(PLACE, ordinal_key(session.ordinal)):
        span = span_row(rows, place.span)
        if span is not None and not span.in_window and not span.tombstoned:
            evicted[name_key(span.id)] = span
    held = {key: span for key, span in evicted.items() if span.in_store}
    choice = pinned(((key, b"") for key in held or evicted), f"{session.id}/{session.rounds}".encode())
    return evicted[choice] if choice is not None else None


def pinned_fact(rows: Rows, span: SpanRow) -> str:
    """T2: the fact of the span that stands for it in the audit's record; empty for a span without facts."""
    refs = span_facts(rows, span.id).refs
    choice = pinned(((ref.fact, name_key(span.id)) for ref in refs), b"fact")
    row = fact_row(rows, choice) if choice is not None else None
    return row.id if row is not None else ""


def own_answer(key: str, span: SpanRow, text: str) -> Fetched:
    """What the ledger, as an agent's store (kind `ledger`), answers for a raw span whose record has this text (V1)."""
    if not span.in_store:
        if span.tombstoned:
            return Fetched(status="tombstone", key=key, carrier=span.id, detail="dropped on purpose")
        return Fetched(status="absent", key=key, carrier=span.id, detail="this span is not in the store")
    if not text:
        return Fetched(status="empty", key=key, carrier=span.id, raw=True, generation=0, detail="the entry has no text")
    return Fetched(status="ok", key=key, carrier=span.id, raw=True, generation=0, turns=span.turns, text=text)


def audit_record(scope: str, session: str, span: SpanRow, fact: str, answer: Fetched, occurrence: str) -> AuditRecorded:
    """The answer as it goes on record. The text is masked first, since what was recorded is."""
    text = mask(answer.text)
    return made(
        AuditRecorded,
        scope,
        session,
        span=span.id,
        fact=fact,
        status=answer.status,
        text_sha256=_sha256(text) if text else "",
        occurrence=occurrence,
        source=Source(publisher=AUDITOR),
    )


def has_passed(record: AuditRecorded, span: SpanRow) -> bool:
    """T2: did the text come back as it was recorded? The fold asks the same."""
    return record.status == "ok" and record.text_sha256 == span.text_sha256


def omitted_facts(record: SpanRecorded, listed: frozenset[str]) -> ManifestRecorded | None:
    """Facts that stand in the span's text and that are not listed for it, as a manifest; None if nothing was left out."""
    manifest = extracted_again(record)
    missing = tuple(fact for fact in manifest.facts if fact.id not in listed)
    if not missing:
        return None
    return manifest_record(record, msgspec.structs.replace(manifest, facts=missing), AUDITOR)


def is_sampled(scope: str, span: str, one_in: int) -> bool:
    """Is this span in the sample? A matter of its scope and id alone, so every auditor looks at the same ones."""
    return int.from_bytes(digest("sample", scope, span, size=8), "big") % one_in == 0


class Auditor:
    """Audits one partition for its owner. `stores` are the agents' stores that can be asked, by the name that sessions declare;
    the ledger itself can always be.
    """

    def __init__(
        self,
        log: Log,
        index: CarrierIndex,
        partition: int,
        stores: Mapping[str, Fetches] | None = None,
        *,
        sample_one_in: int = SAMPLE_ONE_IN,
    ) -> None:
        self._log = log
        self.index = index
        self._partition = partition
        self._stores = dict(stores or {})
        self._sample_one_in = sample_one_in
        self._ordinal = 0

    async def audit(self, *, scopes: int = 10_000, limit: int = 100) -> AuditRound:
        """Look at the next `scopes` scopes of the partition and make up to `limit` of the audits that are due there. The next
        call goes on from there, and from the beginning once all were seen.

        A store that cannot be reached, or is not known here, leaves its audit due. Raises what the log raises on reading and
        appending, and `IndexDamaged`.
        """
        due, unreached, self._ordinal = await asyncio.to_thread(self._due, self._ordinal, scopes, limit)
        whole = self._ordinal == 0
        audited: list[Audited] = []
        down: dict[str, str] = {}
        for each in due:
            answer = down.get(each.store) or await self._ask(each)
            if isinstance(answer, str):
                down[each.store] = answer  # its other audits would each wait for the deadline too
                unreached.append(_unreached(each.scope, each.session, each.store, answer))
            else:
                audited.append(await self._record(each, answer))
        return AuditRound(audited=tuple(audited), unreached=tuple(unreached), whole=whole)

    async def sample(self, *, limit: int) -> int:
        """Extract up to `limit` of the sampled spans that were folded since the last call, and append the facts that their
        manifests left out. Returns how many manifests were appended; the fold pages for each (`fact_omitted`).

        Raises as `consumers.remeasuring.append_manifests` does.
        """
        return await append_manifests(
            self._log, self.index, self._partition, AUDITOR, wanted=self._is_sampled, make=omitted_facts, limit=limit
        )

    def _is_sampled(self, record: SpanRecorded, row: SpanRow) -> bool:
        return row.manifested and is_sampled(record.scope, record.span, self._sample_one_in)

    def _due(self, ordinal: int, scopes: int, limit: int) -> tuple[list[DueAudit], list[Unreached], int]:
        """Due audits behind an ordinal, those that cannot be made, and the ordinal to go on from, 0 at the end."""
        due: list[DueAudit] = []
        unreached: list[Unreached] = []
        with self.index.snapshot() as view:
            names = view.scopes_after(ordinal, scopes)
            for at, scope in names:
                rows = view.scope(scope)
                call = _call_of(rows, scope) if rows is not None else None
                if rows is None or call is None:
                    continue
                store = scope_row(rows).store
                if store != OWN_STORE and store not in self._stores:
                    unreached.append(_unreached(scope, call[0], store, "no way to ask this store is configured"))
                    continue
                session, span = _choice(rows, call[0])
                offset = view.locate(scope, name_key(span.id)) if span is not None else None
                if span is None or offset is None or (store == OWN_STORE and not span.in_store):
                    unreached.append(_unreached(scope, call[0], store, "nothing that left the window is in the store"))
                    continue
                due.append(
                    DueAudit(
                        scope=scope,
                        session=session,
                        store=store,
                        raised_seq=call[1],
                        span=span,
                        fact=pinned_fact(rows, span),
                        offset=offset,
                    )
                )
                if len(due) >= limit:
                    return due, unreached, at
        return due, unreached, names[-1][0] if len(names) == scopes else 0

    async def _ask(self, due: DueAudit) -> Fetched | str:
        """The store's answer, or why there is none."""
        if due.store == OWN_STORE:
            entries = await self._log.read(EVENTS, self._partition, due.offset, max_entries=1)
            return own_answer(due.span.id, due.span, _text_of(entries, due.span.id))
        try:
            answer = await self._stores[due.store].fetch(due.span.id)
        except (LedgerError, OSError) as error:
            return f"{type(error).__name__}: {error}"
        return answer.detail or "the store did not answer" if answer.status == "error" else answer

    async def _record(self, due: DueAudit, answer: Fetched) -> Audited:
        """Append the outcome unless it is on record: a store that stays broken is said to be so once."""
        sha256 = _sha256(mask(answer.text))
        occurrence = digest(AUDITOR, due.scope, str(due.raised_seq), due.span.id, answer.status, sha256).hex()
        record = audit_record(due.scope, due.session, due.span, due.fact, answer, occurrence)
        with self.index.snapshot() as view:
            rows = view.scope(due.scope)
            known = rows is not None and is_on_record(rows, record)
        if not known:
            await self._log.append(EVENTS, [NewEntry(record.scope, encode(record))])
        return Audited(
            scope=due.scope,
            session=due.session,
            span=due.span.id,
            status=answer.status,
            passed=has_passed(record, due.span),
            added=not known,
            event=record.id,
        )


def _call_of(rows: Rows, scope: str) -> tuple[str, int] | None:
    """The fold's open call for an audit: the session whose compaction raised it, and the number of the alert."""
    row = scope_row(rows)
    alert = rows.get(ALERT, bytes.fromhex(fingerprint(scope, "T2", AUDIT_DUE)))
    if alert is None or not alert.open or row.closed:
        return None
    return alert.session, alert.raised_seq


def _choice(rows: Rows, session: str) -> tuple[str, SpanRow | None]:
    """The span to ask for, of the session named, or else of the first that has one."""
    for row in _sessions(rows, session):
        span = pinned_span(rows, row)
        if span is not None:
            return row.id, span
    return session, None


def _sessions(rows: Rows, first: str) -> Iterator[SessionRow]:
    named = session_row(rows, first)
    if named is not None:
        yield named
    for ordinal in range(1, scope_row(rows).sessions + 1):
        row = session_at(rows, ordinal)
        if row is not None and row.id != first:
            yield row


def _text_of(entries: list[Entry], span: str) -> str:
    """The text of a span in its record as the log gives it now; empty if that is not there any more."""
    try:
        record = decode_record(entries[0].value) if entries else None
    except (NotARecord, UnknownType):
        return ""
    return record.text.text if isinstance(record, SpanRecorded) and record.span == span else ""


def _unreached(scope: str, session: str, store: str, reason: str) -> Unreached:
    return Unreached(scope=scope, session=session, store=store, reason=reason)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
