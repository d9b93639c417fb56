"""Rule T1 as functions."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ledger.rules.trust import (
    as_decimal,
    hit_rate_change,
    is_jump,
    rate_of,
    reading_fault,
    retrieval_fault,
    trust,
)


def state(
    degraded: tuple[str, ...] = (), unclear: tuple[str, ...] = (), store: str = "ledger", passed: int = 1, since: int = 0
) -> tuple[str, tuple[str, ...]]:
    return trust(degraded=degraded, unclear=unclear, store=store, audits_passed=passed, since_audit=since, window=50)


def test_t1_p6_lossless_needs_a_store_and_an_audit_in_the_window() -> None:
    assert state() == ("lossless", ())
    assert state(since=49) == ("lossless", ())
    assert state(since=50) == ("unknown", ("no_audit_in_window",))
    assert state(passed=0) == ("unknown", ("no_audit_passed",))
    assert state(store="none") == ("unknown", ("no_declared_store",))
    assert state(unclear=("opaque_summary",)) == ("unknown", ("opaque_summary",))


def test_t1_degraded_outranks_unknown_and_reasons_list_both() -> None:
    assert state(("a",), ("b",), "none", 0) == ("degraded", ("a", "b", "no_declared_store", "no_audit_passed"))


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("0.58", Fraction(58, 100)),
        ("0", Fraction(0)),
        ("1", Fraction(1)),
        ("1.0", Fraction(1)),
        ("1.1", None),
        ("-0.1", None),
        ("NaN", None),
        ("sNaN", None),
        ("Infinity", None),
        ("1e-3", None),
        ("0." + "1" * 4000, None),
        (" 0.5", None),
        ("0_1", None),
        ("", None),
    ],
)
def test_t1_rate_of_takes_decimals_between_zero_and_one(text: str, rate: Fraction | None) -> None:
    assert rate_of(text) == rate


@pytest.mark.parametrize(
    ("before", "after", "jump"),
    [
        ("0.58", "0.83", True),
        ("0.20", "0.23", False),  # exactly 15 %
        ("0.20", "0.230001", True),
        ("0.5", "0.4", False),
        ("0", "0.9", False),
        ("", "0.9", False),
        ("0.5", "x", False),
    ],
)
def test_t1_hit_rate_jump_is_relative_and_above_fifteen_per_cent(before: str, after: str, jump: bool) -> None:
    assert is_jump(hit_rate_change(before, after)) is jump


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [("0.58", "0.83", "0.4310"), ("0.5", "0.4", "-0.2000"), ("0.5", "0.5", "0.0000"), ("0.3", "1", "2.3333")],
)
def test_t1_change_is_shown_with_four_places(before: str, after: str, text: str) -> None:
    change = hit_rate_change(before, after)
    assert change is not None
    assert as_decimal(change) == text


@pytest.mark.parametrize(
    ("status", "provenance", "raw", "expected_raw", "fault"),
    [
        ("ok", True, True, True, ""),
        ("ok", True, False, False, ""),
        ("ok", True, False, True, "summary_where_raw_was_expected"),
        ("ok", False, None, False, "result_without_provenance"),
        ("empty", True, True, False, "empty_value_for_live_key"),
        ("absent", False, None, True, ""),
        ("tombstone", False, None, True, ""),
    ],
)
def test_t1_i5_retrieval_fault(status: str, provenance: bool, raw: bool | None, expected_raw: bool, fault: str) -> None:
    assert retrieval_fault(status=status, has_provenance=provenance, raw=raw, expected_raw=expected_raw) == fault


def test_t1_reading_fault_names_unread_and_conflicting_lines() -> None:
    assert reading_fault(0, 0) == ()
    assert reading_fault(2, 0) == ("unread_transcript_lines",)
    assert reading_fault(0, 1) == ("conflicting_transcript_lines",)
    assert len(reading_fault(1, 1)) == 2
