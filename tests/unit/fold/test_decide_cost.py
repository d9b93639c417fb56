"""A request costs in proportion to what it names (design section 5: cost per record)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ledger.decide import decide
from ledger.state import R, Rows, Table
from schemas.records import AnyRecord
from tests.support.given import evict, expired, given, observed, opened, request, span, summary

pytestmark = pytest.mark.usefixtures("toy")
FEW, MANY = 20, 80


class Counted:
    """Rows that count how often they are asked."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.asked = 0

    def get(self, table: Table[R], key: bytes) -> R | None:
        self.asked += 1
        return self.rows.get(table, key)

    def walk(self, table: Table[R], group: bytes, start: bytes = b"") -> Iterator[tuple[bytes, R]]:
        for item in self.rows.walk(table, group, start):
            self.asked += 1
            yield item


def asked(ask: Callable[[int], AnyRecord], count: int, words: str) -> int:
    """Rows that a decision about `count` spans looks at. One word is said by all of them."""
    spans = [span(number, f"{words} t:{number}") for number in range(1, count + 1)]
    scenario = given(opened(store="ledger"), *spans, summary("m1", "x"))
    counted = Counted(scenario.fold.rows)
    assert decide(counted, ask(count)) is not None
    return counted.asked


@pytest.mark.parametrize("words", ["n:40", "t:story"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda count: request("q1", "m1", *range(1, count + 1)),
        lambda count: request("q1", "m1", *range(1, count + 1), mode="prefer", tokens=1, tokens_before=900, budget_tokens=1),
        lambda count: observed("r1", "m1", turn=count),
        lambda count: evict("e1", *range(1, count + 1)),
        lambda count: evict("e1", *range(1, count + 1), summary="m1"),
        lambda count: expired("e1", *range(1, count + 1)),
    ],
    ids=["all", "prefer", "observed", "evict", "evict with summary", "expired"],
)
def test_decision_looks_at_rows_in_proportion_to_its_spans(ask: Callable[[int], AnyRecord], words: str) -> None:
    """Four times the spans, little more than four times the rows, and few of them for each."""
    few, many = asked(ask, FEW, words), asked(ask, MANY, words)
    assert many <= few * MANY // FEW * 1.2
    assert many <= 40 * MANY
