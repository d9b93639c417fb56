"""The outbox goes out in few appends, in order, and stops at the first that fails (P9, design section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from consumers.carrier_index import CarrierIndex, Output
from consumers.partition import Partition
from ledger.adapters.memory_log import MemoryLog
from ledger.errors import LogUnavailable
from ledger.log import ALERTS, DECISIONS, NewEntry
from schemas.ids import Position, digest

ROUNDS = 25


class CountingLog(MemoryLog):
    """Counts appends to the output topics, and refuses one topic as long as it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.appends: list[str] = []
        self.refused = ""

    async def append(self, topic: str, entries: Sequence[NewEntry]) -> list[Position]:
        if topic == self.refused:
            raise LogUnavailable(f"{topic} is not to be had")
        self.appends.append(topic)
        return await super().append(topic, entries)


def outputs() -> list[Output]:
    """Two scopes in turn, each time a decision and the alerts that it causes."""
    made = []
    for number in range(ROUNDS):
        scope = f"s{number % 2}"
        for topic in (DECISIONS, ALERTS, ALERTS):
            seq = len(made) + 1
            id_ = digest(scope, str(seq)).hex()
            value = b'{"id":"%s","output_seq":%d}' % (id_.encode(), seq)
            made.append(Output(topic, scope, id_, "", seq, number, value))
    return made


@pytest.fixture
def filled(tmp_path: Path) -> tuple[CountingLog, CarrierIndex]:
    log = CountingLog()
    index = CarrierIndex.create(tmp_path / "index", log.identity, 0)
    with index.batch() as batch:
        for output in outputs():
            batch.emit(output)
    return log, index


async def sent(log: MemoryLog, topic: str) -> list[bytes]:
    return [entry.value for entry in await log.read(topic, 0, 0)]


def of_topic(topic: str) -> list[bytes]:
    return [output.value for output in outputs() if output.topic == topic]


async def test_alternating_outputs_take_one_append_a_topic(filled: tuple[CountingLog, CarrierIndex]) -> None:
    """Order is kept within each scope and topic, whatever topics come in turn."""
    log, index = filled
    partition = Partition(log, index, 0)
    await partition.publish()
    assert log.appends == [DECISIONS, ALERTS]
    assert [await sent(log, topic) for topic in (DECISIONS, ALERTS)] == [of_topic(topic) for topic in (DECISIONS, ALERTS)]
    with index.snapshot() as snapshot:
        assert snapshot.outbox(1) == []
    partition.close()


@pytest.mark.parametrize("refused", [DECISIONS, ALERTS])
async def test_after_a_failed_append_nothing_later_is_sent(filled: tuple[CountingLog, CarrierIndex], refused: str) -> None:
    """What went out before the failure is noted, the rest waits, and a second attempt sends each output once."""
    log, index = filled
    partition = Partition(log, index, 0)
    log.refused = refused
    with pytest.raises(LogUnavailable):
        await partition.publish()
    assert log.appends == ([] if refused == DECISIONS else [DECISIONS])
    log.refused = ""
    await partition.publish()
    assert [await sent(log, topic) for topic in (DECISIONS, ALERTS)] == [of_topic(topic) for topic in (DECISIONS, ALERTS)]
    partition.close()


async def test_outbox_is_taken_in_pieces_of_few_bytes(filled: tuple[CountingLog, CarrierIndex]) -> None:
    """A piece ends with the output that reaches the limit, and there is always one."""
    _, index = filled
    with index.snapshot() as snapshot:
        assert len(snapshot.outbox(10)) == 10
        assert len(snapshot.outbox(10, max_bytes=1)) == 1
        size = len(outputs()[0].value)
        assert len(snapshot.outbox(10, max_bytes=2 * size)) == 2
