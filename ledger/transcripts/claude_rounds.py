"""Rounds of one Claude Code session: what was live, what a boundary does to it, which summary belongs to which boundary."""

from __future__ import annotations

import msgspec

from ledger.transcripts.claude_shapes import CompactMetadata, Line, Usage
from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.model import Item, Round, Share, Summary, time_ms, tokens_of
from ledger.transcripts.window import Live, LiveWindow
from schemas.records import SummaryState

HELD_ITEMS_MAX = 512
"""Items held back behind a boundary whose summary has not come; real files have up to a dozen attachments there."""


Links = dict[str, tuple[str | None, int]]
"""A uuid's parent, and its line."""


class Told(msgspec.Struct):
    """A summary line, as it was read. `uuid` is its own, None where it has none or one that is another entry's."""

    value: Line
    uuid: str | None
    at: PhysicalLine
    state: SummaryState
    text: str


class Pending(msgspec.Struct):
    """A boundary whose summary has not come yet. Whatever follows waits in `held`."""

    round: Round
    anchors: frozenset[str]
    held: list[Item]


class Chain:
    """One session: the main chain of a session id, or one of its sub-agents."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.window = LiveWindow()
        self.live = self.window.entries
        self.links: list[tuple[str, str | None, int]] = []
        self.turn = 0
        self.rounds = 0
        self.unnamed = 0
        self.usage: Usage | None = None
        self.pending: Pending | None = None
        self.asks_tokens: str | None = None
        self._last_round: Round | None = None
        self._last_anchors: frozenset[str] = frozenset()
        self._last_summary: str | None = None
        self._generation = 0

    def boundary(self, value: Line, at: PhysicalLine) -> None:
        """Partition what is live, and wait for the summary. A round that still waits must have been closed before."""
        meta = value.compactMetadata or CompactMetadata()
        links = self._first_links()
        kept = _preserved(meta, links)
        unseen_from = self._unseen_from(value.logicalParentUuid, links)

        def is_kept(entry: Live) -> bool:
            return entry.native in kept

        def is_unseen(entry: Live) -> bool:
            return unseen_from is not None and entry.spoken and entry.place > unseen_from

        shares = self.window.cut(is_kept, is_unseen)
        anchors = [value.uuid, *(one.anchorUuid for one in (meta.preservedSegment, meta.preservedMessages) if one is not None)]
        self.pending = Pending(self._round(value, at, shares, meta), frozenset(anchor for anchor in anchors if anchor), [])
        self.links = [(uuid, *link) for uuid, link in links.items() if uuid in kept or link[1] >= at.number]

    def without_boundary(self, value: Line, at: PhysicalLine) -> None:
        """A summary whose boundary is not in the file: everything before it counts as summarised."""
        nothing = lambda _: False  # noqa: E731 - said twice in one call
        self.pending = Pending(self._round(value, at, self.window.cut(nothing, nothing), None), frozenset(), [])

    def _round(self, value: Line, at: PhysicalLine, shares: tuple[Share, Share, Share], meta: CompactMetadata | None) -> Round:
        """A round as far as its boundary tells it; without a boundary (`meta` is None) as far as its summary does."""
        self.rounds += 1
        before = meta.preTokens if meta else None
        if before is None and self.usage is not None:
            before = self.usage.window()
        return Round(
            session=self.session,
            id=value.uuid or f"round-{self.rounds}",
            ordinal=self.rounds,
            turn=self.turn,
            trigger=meta.trigger if meta else None,
            boundary_line=at.number if meta else None,
            summary=None,
            summary_line=None,
            state="missing",
            summarised=shares[0],
            kept=shares[1],
            unseen=shares[2],
            tokens_before=tokens_of(before),
            tokens_after=tokens_of(meta.postTokens) if meta else None,
            time_ms=time_ms(value.timestamp),
            where=at,
        )

    def close(self, out: list[Item], told: Told | None = None) -> None:
        """Report the waiting round, with its summary or without one, and then whatever was held behind it."""
        pending, self.pending = self.pending, None
        if pending is None:
            return
        done = pending.round
        if told:
            summary = self._summary(done, told, late=False)
            out.append(summary)
            done = msgspec.structs.replace(done, state=summary.state, summary=summary.key, summary_line=told.at.number)
        self._last_summary = done.summary if done.state == "text" else None
        self._generation = self._generation + 1 if done.state == "text" else 0
        self._last_round, self._last_anchors = done, pending.anchors
        self.asks_tokens = done.id if done.tokens_after is None else None
        out.append(done)
        out.extend(pending.held)

    def behind_boundary(self, said: Item, spoken: bool, out: list[Item]) -> None:
        """An item behind a boundary that waits: held where the runtime alone wrote it, else the end of the waiting."""
        if self.pending is not None and not spoken and len(self.pending.held) < HELD_ITEMS_MAX:
            self.pending.held.append(said)
        else:
            self.close(out)
            out.append(said)

    def sink(self, out: list[Item]) -> list[Item]:
        """Where items go that stand behind a boundary that waits, or else `out`."""
        return out if self.pending is None else self.pending.held

    def end(self, out: list[Item]) -> None:
        """The file has ended. A round that still waits is told as one whose summary may yet be written."""
        if self.pending is not None:
            self.pending.round = msgspec.structs.replace(self.pending.round, waiting=True)
            self.close(out)

    def late(self, told: Told, out: list[Item]) -> bool:
        """A summary whose round was already reported without one. The round's effect stands; the text is told."""
        last = self._last_round
        if last is None or last.state != "missing" or not {told.value.parentUuid, told.value.uuid} & self._last_anchors:
            return False
        out.append(self._summary(last, told, late=True))
        self._last_round = msgspec.structs.replace(last, state=told.state)
        return True

    def _summary(self, of: Round, told: Told, *, late: bool) -> Summary:
        return Summary(
            session=self.session,
            key=told.uuid or f"summary-{of.ordinal}",
            round=of.id,
            state=told.state,
            text=told.text,
            generation=self._generation + 1,
            covers=() if late else of.summarised.keys,
            replaces=self._last_summary,
            where=told.at,
            time_ms=time_ms(told.value.timestamp),
            late=late,
        )

    def _first_links(self) -> Links:
        """Parent and line of each uuid since the last boundary, as it stood there first."""
        links: Links = {}
        for uuid, parent, line in self.links:
            links.setdefault(uuid, (parent, line))
        return links

    def _unseen_from(self, logical_parent: str | None, links: Links) -> int | None:
        """The line behind which the summariser saw nothing. A parent older than the last round says nothing about this one."""
        if logical_parent is None or logical_parent not in links:
            return None
        line = links[logical_parent][1]
        if self._last_round is not None and line <= (self._last_round.boundary_line or 0):
            return None
        return line


def _preserved(meta: CompactMetadata, links: Links) -> frozenset[str]:
    """Entries that stay verbatim: the list if there is one, else the walk from the segment's tail to its head."""
    if meta.preservedMessages is not None:
        return frozenset((meta.preservedMessages.uuids or []) + (meta.preservedMessages.allUuids or []))
    segment = meta.preservedSegment
    if segment is None or not segment.headUuid or not segment.tailUuid:
        return frozenset()
    walked: set[str] = set()
    at: str | None = segment.tailUuid
    while at is not None and at not in walked:
        walked.add(at)
        if at == segment.headUuid:
            return frozenset(walked)
        at = links.get(at, (None, 0))[0]
    head, tail = links.get(segment.headUuid), links.get(segment.tailUuid)
    if head is None or tail is None:
        return frozenset(uuid for uuid in (segment.headUuid, segment.tailUuid) if uuid in links)
    # The chain is broken in between: take the file's own order, from head to tail.
    return frozenset(uuid for uuid, (_, line) in links.items() if head[1] <= line <= tail[1])
