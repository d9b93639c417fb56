"""Rules C1 to C5 as functions."""

from __future__ import annotations

import pytest

from ledger.rules.carriers import CarrierCount, is_covered, is_released_from_store, life_step, must_stay_raw, reconstitute

NONE = CarrierCount()


@pytest.mark.parametrize(
    ("left", "released"),
    [
        (NONE, False),
        (CarrierCount(raw_window=1), True),
        (CarrierCount(raw_stored=1), True),
        (CarrierCount(external=1), True),
        (CarrierCount(verbatim=1), True),
        (CarrierCount(equivalent=5), False),
    ],
)
def test_c1_store_entry_is_released_by_raw_or_verbatim_and_not_by_equivalent(left: CarrierCount, released: bool) -> None:
    assert is_released_from_store(left, tombstoned=False, referred=True) is released


def test_c1_tombstone_or_an_end_of_reference_releases() -> None:
    assert is_released_from_store(NONE, tombstoned=True, referred=True)
    assert is_released_from_store(NONE, tombstoned=False, referred=False)


@pytest.mark.parametrize(
    ("manifested", "external", "stays"), [(True, False, False), (True, True, False), (False, True, False), (False, False, True)]
)
def test_c2_span_without_manifest_stays_raw_until_externalised(manifested: bool, external: bool, stays: bool) -> None:
    assert must_stay_raw(manifested=manifested, external=external) is stays


@pytest.mark.parametrize("outcome", ["verbatim", "equivalent"])
def test_c3_what_survives_is_covered(outcome: str) -> None:
    assert is_covered(outcome, NONE, tombstoned=False)


@pytest.mark.parametrize("outcome", ["changed", "weakened", "missing", "unknown"])
def test_c3_what_is_dropped_needs_another_carrier_or_a_tombstone(outcome: str) -> None:
    assert not is_covered(outcome, NONE, tombstoned=False)
    assert is_covered(outcome, NONE, tombstoned=True)
    for carrier in ("raw_window", "raw_stored", "external", "verbatim", "equivalent"):
        assert is_covered(outcome, CarrierCount(**{carrier: 1}), tombstoned=False)


def test_c3_no_carrier_mends_what_the_summary_inverts() -> None:
    everywhere = CarrierCount(1, 1, 1, 1, 1)
    assert not is_covered("inverted", everywhere, tombstoned=False)
    assert is_covered("inverted", everywhere, tombstoned=True)


@pytest.mark.parametrize(
    ("seen", "tombstoned", "carriers", "unreadable", "linked", "answer"),
    [
        (False, False, NONE, 0, False, "absent"),
        (False, False, NONE, 0, True, "unknown"),
        (True, False, CarrierCount(equivalent=1), 3, False, "anchored"),
        (True, True, CarrierCount(raw_stored=1), 0, False, "tombstoned"),
        (True, False, NONE, 2, False, "unknown"),
        (True, False, NONE, 0, True, "unanchored"),
    ],
)
def test_c4_p4_answers_fail_closed(
    seen: bool, tombstoned: bool, carriers: CarrierCount, unreadable: int, linked: bool, answer: str
) -> None:
    found, reason = reconstitute(
        seen=seen, tombstoned=tombstoned, carriers=carriers, unreadable_round=unreadable, linked_missing=linked
    )
    assert found == answer
    assert bool(reason) == (answer != "anchored")


@pytest.mark.parametrize(
    ("outcome", "by_summary", "left", "step"),
    [
        ("verbatim", False, 1, "carried"),
        ("equivalent", True, 1, "carried"),
        ("unknown", False, 0, "unknown"),
        ("inverted", False, 1, "turned"),
        ("changed", False, 0, "turned"),
        ("weakened", False, 0, "turned"),
        ("missing", False, 1, "kept"),
        ("missing", True, 0, "lost_from_summary"),
        ("missing", False, 0, "lost"),
    ],
)
def test_c5_life_step_tells_when_a_fact_was_lost_or_turned(outcome: str, by_summary: bool, left: int, step: str) -> None:
    assert life_step(outcome, was_carried_by_summary=by_summary, carriers_left=left) == step


def test_c1_a_closed_session_leaves_what_the_store_holds() -> None:
    assert CarrierCount(1, 2, 3, 4, 5).without_window == CarrierCount(raw_stored=2, external=3)
    assert CarrierCount(1, 2, 3, 4, 5).total == 15
