"""The words of a span are those that are on record, whatever came under its id and was rejected (I1, P1)."""

from __future__ import annotations

import msgspec

from ledger.log import EVENTS, NewEntry
from ops.queries.quotes import Quotes
from ops.store import scratch_store
from schemas.codec import encode
from tests.support.given import opened, span, summary


async def test_i1_quotes_come_from_the_record_that_was_taken() -> None:
    """I1: a rewrite, a record under a wrong id, and a second summary of one id are read by nobody."""
    first, said = span(1, "Use port 8443."), summary("m1", "port 8443")
    wrong = msgspec.structs.replace(span(1, "Use port 22."), id="0" * 32)
    early = span(2, "Use port 80.")
    records = [early, opened(), first, said, span(1, "Use port 21."), wrong, summary("m1", "port 23"), early, span(2, "x")]
    async with scratch_store() as store:
        await store.log.append(EVENTS, [NewEntry(item.scope, encode(item)) for item in records])
        await store.fold()
        with store.reading() as reading:
            quotes = Quotes(reading, "s1")
            assert [await quotes.text(name) for name in ("s1:1", "s1:2", "m1")] == [
                "Use port 8443.",
                "Use port 80.",
                "port 8443",
            ]
