"""Asking the group of workers: a coordinator that is on its way is waited for, one that stays away is told (a new
cluster makes its topic of groups first).
"""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.errors import GroupCoordinatorNotAvailableError

from consumers import membership
from ledger.errors import LogUnavailable


class _Answer:
    groups: tuple[Any, ...] = ()


class Admin:
    """A cluster whose coordinator is away for some questions."""

    away = 0

    def __init__(self, **_: object) -> None:
        self.asked = 0

    async def start(self) -> None:
        """Connected."""

    async def close(self) -> None:
        """Closed."""

    async def describe_consumer_groups(self, _: list[str]) -> list[_Answer]:
        """The group, once its coordinator is there."""
        self.asked += 1
        if self.asked <= Admin.away:
            raise GroupCoordinatorNotAvailableError
        return [_Answer()]


@pytest.fixture(autouse=True)
def admin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "AIOKafkaAdminClient", Admin)
    monkeypatch.setattr(membership, "COORDINATOR_S", 0.4)


async def test_coordinator_that_is_on_its_way_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Admin, "away", 3)
    assert await membership.members("127.0.0.1:9", "") == []


async def test_coordinator_that_stays_away_is_an_unavailable_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Admin, "away", 10**6)
    with pytest.raises(LogUnavailable, match="did not answer"):
        await membership.members("127.0.0.1:9", "")
