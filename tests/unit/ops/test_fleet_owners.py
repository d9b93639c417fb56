"""Owners are found again although they were asked for a moment ago; a fleet without workers is not asked all the time."""

from __future__ import annotations

from typing import Any

import pytest

from consumers import membership
from consumers.membership import Member
from ledger.log import LogIdentity
from ops import fleet
from ops.fleet import Fleet, NobodyAnswers, Reply
from ops.settings import KafkaSettings
from ops.worker_answers import Question

GONE, THERE = "http://gone", "http://there"


class Workers(Fleet):
    """A fleet of which the group says one owner after the other, and of whose addresses one answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *owners: str) -> None:
        super().__init__("127.0.0.1:9", KafkaSettings(), LogIdentity("l", 1))
        self.asked, self._said = 0, list(owners)
        monkeypatch.setattr(membership, "members", self._members)

    async def _members(self, *_: Any) -> list[Member]:
        self.asked += 1
        owner = self._said.pop(0) if len(self._said) > 1 else self._said[0]
        return [Member(answers_at=owner, partitions=(0,))]

    async def _post(self, address: str, what: str, question: Question) -> Reply:
        if address == GONE:
            raise NobodyAnswers(f"{address} cannot be reached")
        return Reply([what.encode()], 0)


@pytest.mark.parametrize("ask", ["ask", "ask_all"])
async def test_owner_that_went_just_after_it_was_learnt_is_replaced(ask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers(monkeypatch, GONE, THERE)
    await workers.owners()
    answer = await getattr(workers, ask)("status", Question(scope="s"))
    assert (answer if ask == "ask" else answer[0]).lines == [b"status"]
    assert workers.asked == 2


async def test_owner_that_stays_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers(monkeypatch, GONE)
    with pytest.raises(NobodyAnswers, match="gone cannot be reached"):
        await workers.ask("status", Question(scope="s"))
    assert workers.asked == 2


async def test_fleet_without_workers_is_asked_once_for_many_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "ANEW_S", 60.0)
    workers = Workers(monkeypatch, "")
    for _ in range(20):
        with pytest.raises(NobodyAnswers):
            await workers.ask("status", Question(scope="s"))
    assert workers.asked == 1
