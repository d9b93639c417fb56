"""What one commit writes is written in the order in which it lies, and the store's pages are given back meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from consumers.carrier_index import CarrierIndex, Output
from consumers.stored_rows import ROWS
from consumers.stored_values import StoredValues
from ledger.log import ALERTS, LogIdentity
from ledger.rows import FactInSessionRow, LifeRow, PlaceRow
from ledger.state import FACT_IN_SESSION, LIFE, PLACE, ordinal_key

SCOPE = "s"


@pytest.fixture
def index(tmp_path: Path) -> Iterator[CarrierIndex]:
    made = CarrierIndex.create(tmp_path / "index", LogIdentity("one", 1), 0)
    yield made
    made.close()


def test_rows_that_lie_among_each_other_are_written_in_one_rising_row(
    index: CarrierIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written in any other order, pages of one region would be changed again and again. Tables on one shelf are one region."""
    written: list[bytes] = []
    put = StoredValues.put

    def noted(self: StoredValues, txn: Any, key: bytes, value: bytes, *, last: bool = False) -> None:
        if self.part is index.file.database(ROWS) and key[4:5] != b"\xfe":
            written.append(key)
        put(self, txn, key, value, last=last)

    monkeypatch.setattr(StoredValues, "put", noted)
    with index.batch() as batch:
        draft = batch.scope(SCOPE)
        for number in (7, 3, 9):
            fact = number.to_bytes(12, "big")
            draft.put(LIFE, fact + ordinal_key(1), LifeRow(step="lost", session="s", round=1, carrier=""))
            draft.put(PLACE, ordinal_key(1, number), PlaceRow(span=str(number)))
            draft.put(FACT_IN_SESSION, fact + ordinal_key(1), FactInSessionRow(window=number))
    assert len(written) == 9
    places = [key for key in written if key[4:5] == PLACE.prefix]
    facts = [key for key in written if key[4:5] != PLACE.prefix]
    assert written in (places + facts, facts + places)
    assert (places, facts) == (sorted(places), sorted(facts))
    with index.snapshot() as snapshot:
        rows = snapshot.scope(SCOPE)
        assert rows is not None
        assert [row.span for _, row in rows.walk(PLACE, ordinal_key(1))] == ["3", "7", "9"]
        found = rows.get(FACT_IN_SESSION, (9).to_bytes(12, "big") + ordinal_key(1))
        assert found is not None
        assert found.window == 9


def test_pages_are_given_back_while_outputs_are_read_and_taken_out(
    index: CarrierIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compaction puts thousands of outputs into the outbox, and each is a value that somebody touches twice more."""
    with index.batch() as batch:
        for number in range(40):
            batch.emit(Output(ALERTS, SCOPE, f"{number:032x}", "", number, 0, b"x" * 900))
    touches: list[bool] = []
    monkeypatch.setattr(index.file, "touched", lambda: touches.append(True))
    with index.snapshot() as snapshot:
        numbers = [number for number, _ in snapshot.outbox(100)]
    assert len(numbers) == len(touches) == 40
    index.note_published([], numbers)
    assert len(touches) == 80
    with index.snapshot() as snapshot:
        assert not snapshot.outbox(1)
