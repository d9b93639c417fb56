"""Neutral items to records of the log, streaming and in log order.

The same transcript line gives the same ids whatever file, slice or path it is read from: ids are made of session and native
entry id. What does depend on the file are attributes: `source`, and `turns`. A turn is the ordinal of an entry among its
session's entries *in the file*: a slice that begins in mid-session does not say how many came before, so it counts from 1 like
a whole file, and a span that is on the log already keeps the turns that it was first recorded with.

Text is masked first and split afterwards, so that no secret is cut in two, and where it is split depends on the masked text
only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import msgspec

from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.model import Conflict, Item, Message, Opened, Round, Share, Summary, Unread
from schemas.codec import RECORD_BYTES_MAX, encode
from schemas.facts import Manifest
from schemas.ids import digest, event_id, span_id
from schemas.records import (
    AnyRecord,
    CompactionObserved,
    ManifestRecorded,
    PlainText,
    Record,
    SessionOpened,
    Source,
    SpanRange,
    SpanRecorded,
    SummaryRecorded,
    TranscriptRead,
    UnreadLine,
)

SPAN_TEXT_BYTES_MAX = 512 << 10
"""Longest text of one span, in bytes of UTF-8; a longer one is split."""

SPAN_JSON_BYTES_MAX = 640 << 10
"""The same as JSON: control characters take six bytes there, and manifest and envelope must still fit into a record."""

UNREAD_LINES_MAX = 2000
"""Unread lines named in one record; a file with more gives more records."""

Mask = Callable[[str], str]


class Extract(Protocol):
    """`ledger.facts.extraction.extract`: the facts of a text, with ids under the scope's key."""

    def __call__(self, text: str, role: str, *, scope_key: str) -> Manifest:
        """Measure `text`."""
        ...


Known = Callable[[str, str, str, str], bool]
"""Is a span on record: scope, span id, role, text."""


def _unknown(scope: str, span: str, role: str, text: str) -> bool:
    return False


class _Spans:
    """What was recorded of one session: for each live key its first and last span and their place in recording order."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.recorded = 0
        self.places: dict[str, tuple[int, int, str, str]] = {}


class RecordMaker:
    """Turns the items of one file into records. `publisher` and `path` go into `source`, and into no id.

    `may_grow` says that the file is read again when more is in it. Then a round with which it ends is left for that time, and
    with it whatever stands behind its boundary: its summary may be a moment away, and a record cannot be taken back.

    `known` says whether a scope has a span with this role and text on record already. The facts of such a span are not measured
    again: its record would change nothing, so a publisher drops it.
    """

    def __init__(
        self,
        *,
        mask: Mask,
        extract: Extract,
        rules_version: str,
        publisher: str,
        path: str,
        may_grow: bool = False,
        known: Known = _unknown,
    ) -> None:
        self._known = known
        self._mask = mask
        self._extract = extract
        self._rules_version = rules_version
        self._publisher = publisher
        self._path = path
        self._sessions: dict[str, _Spans] = {}
        self._main: Opened | None = None
        self._unread: list[UnreadLine] = []
        self._conflicts: dict[str, None] = {}
        self._spoilt: set[str] = set()
        self._may_grow = may_grow
        self._waiting: set[str] = set()

    @property
    def waiting(self) -> list[str]:
        """Sessions with a round that is left for the next reading, in order."""
        return sorted(self._waiting)

    def feed(self, item: Item) -> list[AnyRecord]:
        """The records that this item makes, in log order."""
        if isinstance(item, Message):
            return [] if item.session in self._waiting else self._message(item)
        if isinstance(item, (Summary, Round)):
            if item.waiting and self._may_grow:
                self._waiting.add(item.session)
                return []
            return [self._summary(item) if isinstance(item, Summary) else self._round(item)]
        if isinstance(item, Opened):
            return [self._opened(item)]
        if isinstance(item, Unread):
            self._unread.append(UnreadLine(line=item.line, reason=item.reason, sha256=item.sha256))
        elif isinstance(item, Conflict):
            self._conflicts.setdefault(span_id(item.session, item.key))
        return []

    def reading(self) -> list[AnyRecord]:
        """What could not be read since the last call. For a whole file call it at its end; for one that grows, per batch.

        A file in which no session was recognised has nowhere to say it: its lines are in `inspect` only.
        """
        if self._main is None or not (self._unread or self._conflicts):
            return []
        main, unread, conflicts = self._main, self._unread, tuple(self._conflicts)
        self._unread, self._conflicts = [], {}
        records: list[AnyRecord] = []
        for at in range(0, max(len(unread), 1), UNREAD_LINES_MAX):
            lines = tuple(unread[at : at + UNREAD_LINES_MAX])
            ids = conflicts if at == 0 else ()
            what = [f"{line.line}:{line.reason}:{line.sha256}" for line in lines]
            occurrence = digest(*what, "conflicts", *ids).hex()
            records.append(
                TranscriptRead(
                    id=event_id("transcript.read", main.session, occurrence),
                    scope=main.scope,
                    session=main.session,
                    agent=main.agent,
                    source=Source(publisher=self._publisher, path=self._path),
                    unread=lines,
                    conflicts=ids,
                    occurrence=occurrence,
                )
            )
        return records

    # --- one item each -------------------------------------------------------------------------------------------------------

    def _source(self, where: PhysicalLine | None) -> Source:
        if where is None:
            return Source(publisher=self._publisher, path=self._path)
        return Source(
            publisher=self._publisher,
            path=self._path,
            line=where.number,
            byte_start=where.start,
            byte_end=where.end,
            sha256=where.sha256,
        )

    def _opened(self, item: Opened) -> SessionOpened:
        self._sessions[item.session] = _Spans(item)
        self._main = self._main or item
        return SessionOpened(
            id=event_id("session.opened", item.session, item.session),
            scope=item.scope,
            session=item.session,
            agent=item.agent,
            source=self._source(item.where),
            time_ms=item.time_ms,
            parent=item.parent,
            runtime=item.runtime,
            store="none",
            rules_version=self._rules_version,
        )

    def _message(self, item: Message) -> list[AnyRecord]:
        of = self._sessions[item.session]
        source = self._source(item.where)
        time_ms = item.time_ms
        records: list[AnyRecord] = []
        first = last = ""
        start = of.recorded
        for number, text in enumerate(split_text(self._mask(item.text))):
            last = span_id(item.session, item.key, number or None)
            first = first or last
            of.recorded += 1
            span = SpanRecorded(
                id=event_id("span.recorded", item.session, last),
                scope=of.opened.scope,
                session=item.session,
                agent=of.opened.agent,
                source=source,
                time_ms=time_ms,
                span=last,
                role=item.role,
                turns=(item.turn, item.turn),
                text=PlainText(text),
                manifest=self._manifest(of.opened.scope, last, item.role, text),
                model=item.model,
                actions=tuple(self._mask(action) for action in item.actions),
            )
            records.extend(_fit_span(span))
        of.places[item.key] = (start, of.recorded - 1, first, last)
        return records

    def _manifest(self, scope: str, span: str, role: str, text: str) -> Manifest | None:
        return None if self._known(scope, span, role, text) else self._extract(text, role, scope_key=scope)

    def _summary(self, item: Summary) -> SummaryRecorded:
        of = self._sessions[item.session]
        state, text = item.state, self._mask(item.text) if item.state == "text" else None
        if text is not None and not _fits(text):
            # Half a summary would be judged as if the rest had been lost; one that cannot be recorded is unknown instead.
            state, text = "opaque", None
            line = item.where.number if item.where else 0
            self._unread.append(
                UnreadLine(line=line, reason="summary_too_large", sha256=item.where.sha256 if item.where else "")
            )
            self._spoilt.add(item.key)
        record = SummaryRecorded(
            id=event_id("summary.recorded", item.session, span_id(item.session, item.key)),
            scope=of.opened.scope,
            session=item.session,
            agent=of.opened.agent,
            source=self._source(item.where),
            time_ms=item.time_ms,
            summary=span_id(item.session, item.key),
            round=item.round,
            generation=item.generation,
            covers=self._ranges(of, item.covers),
            covers_summaries=(span_id(item.session, item.replaces),) if item.replaces else (),
            state=state,
            text=PlainText(text) if text is not None else None,
            manifest=self._extract(text, "assistant", scope_key=of.opened.scope) if text is not None else None,
            tokens=item.tokens,
        )
        if _size(record) > RECORD_BYTES_MAX:
            # The round names the same spans; a manifest can be measured again from the text.
            record = msgspec.structs.replace(record, covers=(), manifest=None)
        return record

    def _round(self, item: Round) -> CompactionObserved:
        of = self._sessions[item.session]
        summary = span_id(item.session, item.summary) if item.summary else None
        record = CompactionObserved(
            id=event_id("compaction.observed", item.session, item.id),
            scope=of.opened.scope,
            session=item.session,
            agent=of.opened.agent,
            source=self._source(item.where),
            time_ms=item.time_ms,
            round=item.id,
            ordinal=item.ordinal,
            turn=item.turn,
            trigger=item.trigger or "",
            summary=summary,
            summary_state="opaque" if item.summary in self._spoilt else item.state,
            summarised=self._ranges(of, item.summarised.keys),
            kept=self._ranges(of, item.kept.keys),
            unseen=self._ranges(of, item.unseen.keys),
            tokens_before=item.tokens_before,
            tokens_after=item.tokens_after,
        )
        self._forget(of, item.summarised, item.unseen)
        if _size(record) > RECORD_BYTES_MAX:
            # What is not listed counts as summarised: only that list can be left out without changing the meaning.
            record = msgspec.structs.replace(record, summarised=())
        return record

    @staticmethod
    def _ranges(of: _Spans, keys: Iterable[str]) -> tuple[SpanRange, ...]:
        """Ids as ranges of spans that were recorded one after the other.

        An entry that left the window in an earlier round, and came back with another branch, is left out: on the log it has
        left for good, and there is no record for coming back.
        """
        ranges: list[SpanRange] = []
        begin = end = ""
        expected = -1
        for key in keys:
            place = of.places.get(key)
            if place is None:
                continue
            start, stop, first, last = place
            if begin and start != expected:
                ranges.append(SpanRange(begin, end))
                begin = ""
            begin, end, expected = begin or first, last, stop + 1
        if begin:
            ranges.append(SpanRange(begin, end))
        return tuple(ranges)

    @staticmethod
    def _forget(of: _Spans, *shares: Share) -> None:
        """Spans that left the window are named by no later round; `late` summaries name none either."""
        for gone in shares:
            for key in gone.keys:
                of.places.pop(key, None)


def records_of(items: Iterable[Item], maker: RecordMaker) -> Iterator[AnyRecord]:
    """All records of a whole file, `transcript.read` last."""
    for item in items:
        yield from maker.feed(item)
    yield from maker.reading()


# --- sizes -------------------------------------------------------------------------------------------------------------------


def _size(record: Record) -> int:
    return len(encode(record))


def _fits(text: str) -> bool:
    if len(text) * 6 <= SPAN_TEXT_BYTES_MAX:
        return True
    raw = text.encode("utf-8", "replace")
    return len(raw) <= SPAN_TEXT_BYTES_MAX and len(msgspec.json.encode(text)) <= SPAN_JSON_BYTES_MAX


def split_text(text: str) -> list[str]:
    """Pieces that fit into one span each; joined they are the text. Cut behind a line break where there is one near."""
    if _fits(text):
        return [text]
    pieces: list[str] = []
    at = 0
    while at < len(text):
        size = _fitting(text[at : at + SPAN_TEXT_BYTES_MAX])
        if at + size < len(text):
            line_break = text.rfind("\n", at + size // 2, at + size)
            size = line_break + 1 - at if line_break >= 0 else size
        pieces.append(text[at : at + size])
        at += size
    return pieces


def _fitting(text: str) -> int:
    """How many code points of `text`, at least one, fit into one span."""
    size = len(text.encode("utf-8", "replace")[:SPAN_TEXT_BYTES_MAX].decode("utf-8", "ignore"))
    while (taken := len(msgspec.json.encode(text[:size]))) > SPAN_JSON_BYTES_MAX:
        size = max(size * SPAN_JSON_BYTES_MAX // (taken + 64), 1)
    return size


def _fit_span(span: SpanRecorded) -> list[AnyRecord]:
    """The span, and further manifests behind it where its facts do not fit into one record."""
    if _size(span) <= RECORD_BYTES_MAX or span.manifest is None:
        return [span]
    manifest = span.manifest
    room = RECORD_BYTES_MAX - _size(msgspec.structs.replace(span, manifest=msgspec.structs.replace(manifest, facts=())))
    head, rest = _take(manifest, room)
    records: list[AnyRecord] = [msgspec.structs.replace(span, manifest=head)]
    number = 0
    while rest.facts:
        number += 1
        empty = ManifestRecorded(
            id=event_id("manifest.recorded", span.session, span.span, str(number)),
            scope=span.scope,
            session=span.session,
            agent=span.agent,
            source=span.source,
            time_ms=span.time_ms,
            span=span.span,
            manifest=msgspec.structs.replace(rest, facts=()),
            occurrence=str(number),
        )
        part, rest = _take(rest, RECORD_BYTES_MAX - _size(empty))
        records.append(msgspec.structs.replace(empty, manifest=part))
    return records


def _take(manifest: Manifest, room: int) -> tuple[Manifest, Manifest]:
    """As many facts as fit into `room` bytes, at least one, and the rest."""
    used, count = 64, 0
    for fact in manifest.facts:
        used += len(encode(fact)) + 1
        if used > room and count:
            break
        count += 1
    return (
        msgspec.structs.replace(manifest, facts=manifest.facts[:count]),
        msgspec.structs.replace(manifest, facts=manifest.facts[count:], passed_over=0),
    )
