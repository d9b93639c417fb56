"""What rests on a summary below its floor is not to be trusted, though the fact stands in it (F4, T4)."""

from __future__ import annotations

import pytest

from ledger.log import EVENTS, NewEntry
from ops.queries.recall import RecallAnswer, recall
from ops.store import scratch_store
from schemas.codec import encode
from tests.support.given import audit, entry, observed, opened, span, summary

TEXT = "The gateway accepts 40 req/s at most. The timeout is 30 s."


async def asked(said: str, *, stored: bool = False) -> RecallAnswer:
    """Recall of the first sentence after a round whose summary says `said`, in a scope that an audit vouched for."""
    records = [opened(store="vectors"), span(1, TEXT), summary("m1", said), observed("r1", "m1", turn=1), audit(1, TEXT)]
    async with scratch_store() as store:
        held = [entry(1)] if stored else []
        await store.log.append(EVENTS, [NewEntry(item.scope, encode(item)) for item in [*records, *held]])
        await store.fold()
        with store.reading() as reading:
            answers = await recall(reading, reading.session("s1"), "The gateway accepts 40 req/s at most.")
    return next(answer for answer in answers if answer.cls == "numeric")


@pytest.mark.parametrize(
    ("said", "stored", "trusted"),
    [(TEXT, False, True), ("The gateway accepts 40 req/s at most.", False, False), ("x", True, True)],
)
async def test_f4_fact_in_a_summary_below_its_floor_is_anchored_and_not_trusted(said: str, stored: bool, trusted: bool) -> None:
    answer = await asked(said, stored=stored)
    assert (answer.answer, answer.trusted) == ("anchored", trusted)
    assert ("summary_below_floor:numeric" in answer.reasons) is not trusted
    assert ("check it before acting" in answer.say) is not trusted
