"""One session as most formats have it: entries that come into the window, copies told from conflicts, rounds that cut it.

The two formats with files of many megabytes, Claude Code and Codex, have loops of their own for the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.model import (
    INSPECTED_ROLES,
    Conflict,
    Duplicate,
    Item,
    Message,
    Opened,
    Round,
    Summary,
    TokensAfter,
    time_ms,
    tokens_of,
)
from ledger.transcripts.texts import Piece, fingerprint, summary_state
from ledger.transcripts.window import Live, LiveWindow
from schemas.records import SummaryState


class Boundary(msgspec.Struct, frozen=True, kw_only=True):
    """What a format says of one compaction.

    `native` is its own id, if it has one. `text` is the summary's, None where there is none; `state` says what that is where
    the text alone does not. The summary stands at `summary_at`, or else at the boundary.
    """

    at: PhysicalLine
    native: str | None
    text: str | None
    state: SummaryState | None = None
    summary_at: PhysicalLine | None = None
    trigger: str | None = None
    tokens_before: float | None = None
    tokens_after: float | None = None
    stamp: str | None = None


class SessionItems:
    """Adds what one session says to a list of items, beginning with its opening."""

    def __init__(self, opened: Opened, out: list[Item]) -> None:
        out.append(opened)
        self.session = opened.session
        self.window = LiveWindow()
        self.rounds = 0
        self.turn = 0
        self._seen: dict[str, int] = {}
        self._asks_tokens: str | None = None
        self._last_summary: str | None = None
        self._generation = 0
        self._boundaries: set[str] = set()

    def add(
        self,
        native: str,
        pieces: Sequence[Piece],
        at: PhysicalLine,
        out: list[Item],
        *,
        place: int,
        stamp: str | None = None,
        model: str = "",
        counted: bool = True,
    ) -> Live | None:
        """An entry. None where it has no words, or repeats an id: then it is reported as a copy or as a conflict.

        `counted` is false for one whose speaker's text is no message of its own.
        """
        if not pieces:
            return None
        digest = fingerprint(pieces)
        counts = counted and pieces[0][0] in INSPECTED_ROLES
        known = self._seen.get(native)
        if known is not None:
            if known == digest:
                out.append(Duplicate(session=self.session, key=native, line=at.number, counted=counts))
            else:
                out.append(Conflict(session=self.session, key=native, line=at.number, sha256=at.sha256))
            return None
        self._seen[native] = digest
        self.turn += 1
        keys: list[str] = []
        for role, body, calls in pieces:
            key = f"{native}.{len(keys)}" if keys else native
            out.append(Message(self.session, key, role, body, at, self.turn, counts and not keys, stamp, model, calls))
            keys.append(key)
        entry = Live(native, place, counts, True, digest, 0, tuple(keys[1:]))
        self.window.add(entry)
        return entry

    def compact(
        self,
        boundary: Boundary,
        out: list[Item],
        *,
        kept: Callable[[Live], bool] = lambda _: False,
        unseen: Callable[[Live], bool] = lambda _: False,
        resummarised: bool = True,
        waiting: bool = False,
    ) -> None:
        """A round with its summary. A repeated boundary changes nothing.

        `resummarised` says whether the summary before it was part of what this one replaces.
        """
        at, native, text = boundary.at, boundary.native, boundary.text
        if native is not None:
            if native in self._boundaries:
                return
            self._boundaries.add(native)
        shares = self.window.cut(kept, unseen)
        self.rounds += 1
        name = native or f"round-{self.rounds}"
        state: SummaryState = "missing" if text is None else boundary.state or summary_state(text)
        moment = time_ms(boundary.stamp)
        generation = self._generation + 1 if resummarised else 1
        told = None
        if text is not None:
            told = Summary(
                session=self.session,
                key=f"summary-{name}",
                round=name,
                state=state,
                text=text,
                generation=generation,
                covers=shares[0].keys,
                replaces=self._last_summary if resummarised else None,
                where=boundary.summary_at or at,
                time_ms=moment,
            )
            out.append(told)
        self._last_summary = told.key if told and state == "text" else None
        self._generation = generation if state == "text" else 0
        done = Round(
            session=self.session,
            id=name,
            ordinal=self.rounds,
            turn=self.turn,
            trigger=boundary.trigger,
            boundary_line=at.number,
            summary=told.key if told else None,
            summary_line=(boundary.summary_at or at).number if told else None,
            state=state,
            summarised=shares[0],
            kept=shares[1],
            unseen=shares[2],
            tokens_before=tokens_of(boundary.tokens_before),
            tokens_after=tokens_of(boundary.tokens_after),
            time_ms=moment,
            where=at,
            waiting=waiting,
        )
        self._asks_tokens = name if done.tokens_after is None else None
        out.append(done)

    def used(self, tokens: int, out: list[Item]) -> None:
        """A response was asked for with so many tokens in the window: the first one behind a round tells what that left."""
        if self._asks_tokens is not None and tokens_of(tokens):
            out.append(TokensAfter(session=self.session, round=self._asks_tokens, tokens=tokens))
            self._asks_tokens = None
