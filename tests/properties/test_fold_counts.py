"""Whatever the history, sense or nonsense: the fold does not raise, and its counters are what a recount gives."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import Phase, given, settings

from schemas.records import AnyRecord
from tests.support.given import Fold
from tests.support.histories import history, seeds, shown, shrunk
from tests.support.toy_facts import toy_facts


@pytest.fixture(scope="module", autouse=True)
def _toy() -> Iterator[None]:
    with toy_facts():
        yield


def faults_of(records: list[AnyRecord]) -> str:
    """What is wrong after one of the records, or the empty string."""
    fold = Fold()
    for record in records:
        try:
            fold.take([record])
        except Exception as error:  # noqa: BLE001  whatever it is, it is the finding
            return f"{type(error).__name__}: {error}"
    if fold.sequence != list(range(1, len(fold.outputs) + 1)):
        return "output numbers are not dense"
    return "".join(raw.decode() for _, raw in fold.outputs if b"internal_error" in raw)


@settings(max_examples=120, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(seeds)
def test_fold_any_history_counts_agree_with_a_recount(seed: int) -> None:
    """P2, P3, P9: counters of FACT and FACT_IN_SESSION, windows, marks of leaving and losses follow from spans and summaries;
    nothing raises in the core, and output numbers are dense.
    """
    records = history(seed)
    if faults_of(records):
        short = shrunk(records, faults_of)
        pytest.fail(f"{faults_of(short)}\n{shown(short)}")
