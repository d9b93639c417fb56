"""The ledger as an agent's store (kind `ledger`): entries are the raw spans on record, read from the log."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from consumers.auditor import own_answer
from ledger.facts.language.fold import fold
from ledger.lookup import span_row, summary_row
from ledger.retrieval import Fetched, Hit
from ledger.rows import SpanRow, SummaryRow
from ledger.state import PLACE, ordinal_key
from ops.queries.quotes import Quotes
from ops.store import Found, Reading

WORD_CHARACTERS_MIN = 2


class OwnStore:
    """Promises V1 to V5 over one scope. Search ranks by shared words and reads every entry, so it is for questions by people
    and audits, not for an agent's hot path.
    """

    def __init__(self, reading: Reading, found: Found) -> None:
        self._found = found
        self._quotes = Quotes(reading, found.scope)

    async def fetch(self, key: str) -> Fetched:
        """A span or summary by id, if it is in the store now (V1)."""
        span = span_row(self._found.rows, key)
        if span is not None:
            return await self._span(key, span)
        summary = summary_row(self._found.rows, key)
        if summary is not None and summary.in_store:
            return await self._summary(key, summary)
        return Fetched(status="absent", key=key, detail="no entry under this key")

    async def _span(self, key: str, span: SpanRow) -> Fetched:
        return own_answer(key, span, await self._quotes.text(span.id) if span.in_store else "")

    async def _summary(self, key: str, summary: SummaryRow) -> Fetched:
        text = await self._quotes.text(summary.id)
        status = "ok" if text else "empty"
        return Fetched(
            status="ok" if status == "ok" else "empty",
            key=key,
            carrier=summary.id,
            raw=False,
            generation=summary.generation,
            text=text,
        )

    async def search(self, text: str, k: int) -> Sequence[Hit]:
        """Entries that share words with the text, most shared first, then oldest first; the score is shared ÷ asked (V5)."""
        asked = _words(text)
        scored: list[tuple[int, SpanRow, str]] = []
        for _, place in self._found.rows.walk(PLACE, ordinal_key(self._found.session.ordinal)):
            span = span_row(self._found.rows, place.span)
            if span is None or not span.in_store:
                continue
            words = await self._quotes.text(span.id)
            shared = len(asked & _words(words))
            if shared:
                scored.append((shared, span, words))
        scored.sort(key=lambda item: (-item[0], item[1].ordinal))
        return [
            Hit(
                carrier=span.id,
                raw=True,
                generation=0,
                turns=span.turns,
                score=f"{shared / len(asked):.4f}",
                text=words,
            )
            for shared, span, words in scored[:k]
        ]


class Undeclared:
    """The ledger asked in place of a store that its session never declared, as one read from a transcript: what is absent here
    may well stand in the agent's own.
    """

    def __init__(self, store: OwnStore, session: str) -> None:
        self._store = store
        self._why = f"session {session} declares no retrieval store: name the agent's own with --retrieval COMMAND"

    async def fetch(self, key: str) -> Fetched:
        """As the ledger's own store; an absent key says what is missing."""
        answer = await self._store.fetch(key)
        return replace(answer, detail=self._why) if answer.status == "absent" else answer

    async def search(self, text: str, k: int) -> Sequence[Hit]:
        """As the ledger's own store."""
        return await self._store.search(text, k)


def _words(text: str) -> set[str]:
    separated = "".join(char if char.isalnum() else " " for char in fold(text))
    return {word for word in separated.split() if len(word) >= WORD_CHARACTERS_MIN}
