"""Asking the group of workers: a coordinator that is on its way is waited for, one that stays away is told (a new
cluster makes its topic of groups first), and so is the end of a rebalance.
"""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from aiokafka.errors import GroupCoordinatorNotAvailableError

from consumers import membership
from consumers.membership import SHARING_OUT, Member
from ledger.errors import LogUnavailable
from ledger.log import EVENTS


class _Answer:
    def __init__(self, *groups: tuple[Any, ...]) -> None:
        self.groups = groups


class Admin:
    """A cluster whose coordinator is away for some questions, and whose group shares out its partitions for some."""

    away = 0
    sharing_out = 0
    strangers: tuple[tuple[str, str, str, bytes, bytes], ...] = ()

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
        if not Admin.sharing_out:
            return [_Answer()]
        shares = self.asked <= Admin.sharing_out
        owned = b"" if shares else ConsumerProtocolMemberAssignment(0, [(EVENTS, [0, 1])], b"").encode()
        listed = [("m-1", f"{membership.CLIENT} http://127.0.0.1:8931", "/127.0.0.1", b"", owned), *Admin.strangers]
        return [_Answer((0, membership.GROUP, SHARING_OUT[0] if shares else "Stable", "consumer", "sticky", listed))]


@pytest.fixture(autouse=True)
def admin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "AIOKafkaAdminClient", Admin)
    monkeypatch.setattr(membership, "COORDINATOR_S", 0.4)
    monkeypatch.setattr(membership, "REBALANCE_S", 0.4)


async def test_coordinator_that_is_on_its_way_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Admin, "away", 3)
    assert await membership.members("127.0.0.1:9", "") == []


async def test_coordinator_that_stays_away_is_an_unavailable_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Admin, "away", 10**6)
    with pytest.raises(LogUnavailable, match="did not answer"):
        await membership.members("127.0.0.1:9", "")


async def test_owners_are_told_once_partitions_are_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that falls into a rebalance is not told that nobody answers."""
    monkeypatch.setattr(Admin, "sharing_out", 3)
    assert await membership.members("127.0.0.1:9", "") == [Member(answers_at="http://127.0.0.1:8931", partitions=(0, 1))]


async def test_group_that_never_ends_sharing_out_is_told_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Admin, "sharing_out", 10**6)
    assert await membership.members("127.0.0.1:9", "") == [Member(answers_at="http://127.0.0.1:8931", partitions=())]


async def test_members_of_another_kind_are_asked_nothing_and_own_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No token goes to an address that no worker gave (P12)."""
    monkeypatch.setattr(Admin, "sharing_out", 1)
    strangers = (("m-2", "http://10.9.9.9:1", "/10.9.9.9", b"", b"\x00"), ("m-3", "cledger-workerX http://a:1", "/a", b"", b""))
    monkeypatch.setattr(Admin, "strangers", strangers)
    found = await membership.members("127.0.0.1:9", "")
    assert {each.answers_at for each in found} == {"", "http://127.0.0.1:8931"}
    assert [each.partitions for each in found if not each.answers_at] == [(), ()]
