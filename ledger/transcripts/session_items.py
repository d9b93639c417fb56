"""One session as most formats have it: entries that come into the window, copies told from conflicts, rounds that cut it.

The two formats with files of many megabytes, Claude Code and Codex, have loops of their own for the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.model import (
    INSPECTED_ROLES,
    Conflict,
    Duplicate,
    Item,
    Message,
    Opened,
    Round,
    Share,
    Summary,
    TokensAfter,
    time_ms,
    tokens_of,
)
from ledger.transcripts.texts import Piece, fingerprint, summary_state
from ledger.transcripts.window import Live, LiveWindow
from schemas.records import SummaryState


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

    def has(self, native: str) -> bool:
        """Was there an entry with this id?"""
        return native in self._seen

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
        entry = Live(native, tuple(keys), place, counts, True, digest)
        self.window.add(entry)
        return entry

    def compact(
        self,
        at: PhysicalLine,
        out: list[Item],
        *,
        native: str | None,
        text: str | None,
        kept: Callable[[Live], bool] = lambda _: False,
        unseen: Callable[[Live], bool] = lambda _: False,
        state: SummaryState | None = None,
        summary_at: PhysicalLine | None = None,
        trigger: str | None = None,
        tokens_before: float | None = None,
        tokens_after: float | None = None,
        stamp: str | None = None,
    ) -> None:
        """A round with its summary, which stands at `summary_at` if not at the boundary; `text` None means that there is none."""
        shares = self.window.cut(kept, unseen)
        self.rounds += 1
        name = native or f"round-{self.rounds}"
        state = "missing" if text is None else state or summary_state(text)
        told = None
        if text is not None:
            told = Summary(
                session=self.session,
                key=f"summary-{name}",
                round=name,
                state=state,
                text=text,
                generation=self._generation + 1,
                covers=shares[0].keys,
                replaces=self._last_summary,
                where=summary_at or at,
                time_ms=time_ms(stamp),
            )
            out.append(told)
        self._last_summary = told.key if told and state == "text" else None
        self._generation = self._generation + 1 if state == "text" else 0
        self._asks_tokens = name if tokens_of(tokens_after) is None else None
        tokens = tokens_of(tokens_before), tokens_of(tokens_after)
        out.append(self._round(at, name, shares, state, told, trigger, tokens, stamp))

    def _round(
        self,
        at: PhysicalLine,
        name: str,
        shares: tuple[Share, Share, Share],
        state: SummaryState,
        told: Summary | None,
        trigger: str | None,
        tokens: tuple[int | None, int | None],
        stamp: str | None,
    ) -> Round:
        return Round(
            session=self.session,
            id=name,
            ordinal=self.rounds,
            turn=self.turn,
            trigger=trigger,
            boundary_line=at.number,
            summary=told.key if told else None,
            summary_line=told.where.number if told and told.where else None,
            state=state,
            summarised=shares[0],
            kept=shares[1],
            unseen=shares[2],
            tokens_before=tokens[0],
            tokens_after=tokens[1],
            time_ms=time_ms(stamp),
            where=at,
        )

    def used(self, tokens: int, out: list[Item]) -> None:
        """A response was asked for with so many tokens in the window: the first one behind a round tells what that left."""
        if self._asks_tokens is not None and tokens_of(tokens):
            out.append(TokensAfter(session=self.session, round=self._asks_tokens, tokens=tokens))
            self._asks_tokens = None
