"""Rules I1 to I4 as functions."""

from __future__ import annotations

import pytest

from ledger.rules.identity import (
    IMMUTABLE,
    REWRITES_RAW,
    SPAN_ID_REUSED,
    SUMMARY_IS_NOT_RAW,
    put_refusal,
    rechunk_refusal,
    span_conflict,
    store_regime,
    unrecorded,
)


@pytest.mark.parametrize(
    ("known", "tombstoned", "reason"),
    [(None, False, ""), (b"a", False, ""), (b"a", True, ""), (b"b", False, IMMUTABLE), (b"b", True, SPAN_ID_REUSED)],
)
def test_i1_span_conflict_other_text_is_refused(known: bytes | None, tombstoned: bool, reason: str) -> None:
    assert span_conflict(known, b"a", tombstoned=tombstoned) == reason


@pytest.mark.parametrize(
    ("scheme", "mutable", "ttl_s", "horizon_s", "reasons"),
    [
        ("span_id", False, None, None, ()),
        ("span_id", False, 3600, 3600, ()),
        ("span_id", False, 3599, 3600, ("ttl_below_horizon",)),
        ("span_id", False, 10**9, None, ("ttl_below_horizon",)),
        ("span_id", False, 0, 0, ()),
        ("content_hash", False, None, None, ("content_hash_keys",)),
        ("other", True, 1, 2, ("keys_not_span_ids", "mutable_raw_entries", "ttl_below_horizon")),
    ],
)
def test_i2_store_regime_names_every_reason_for_best_effort(
    scheme: str, mutable: bool, ttl_s: int | None, horizon_s: int | None, reasons: tuple[str, ...]
) -> None:
    assert store_regime(scheme, mutable=mutable, ttl_s=ttl_s, horizon_s=horizon_s) == reasons


@pytest.mark.parametrize(
    ("names_summary", "text_is_summary", "claims_raw", "raw_conflict", "reason"),
    [
        (False, False, True, False, ""),
        (True, False, True, False, SUMMARY_IS_NOT_RAW),
        (False, True, True, True, SUMMARY_IS_NOT_RAW),
        (True, True, False, False, ""),
        (False, False, True, True, REWRITES_RAW),
        (False, False, False, True, REWRITES_RAW),
    ],
)
def test_i3_put_refusal_for_counterfeit_and_overwriting(
    names_summary: bool, text_is_summary: bool, claims_raw: bool, raw_conflict: bool, reason: str
) -> None:
    assert (
        put_refusal(
            names_summary=names_summary, text_is_summary=text_is_summary, claims_raw=claims_raw, raw_conflict=raw_conflict
        )
        == reason
    )


def test_i3_rechunk_of_any_raw_entry_is_refused() -> None:
    assert rechunk_refusal(("m1", "s1:1"), lambda name: name.startswith("s1:")) == REWRITES_RAW
    assert rechunk_refusal(("m1",), lambda name: name.startswith("s1:")) == ""
    assert rechunk_refusal((), lambda name: True) == ""


def test_i4_unrecorded_is_by_identity_and_in_the_order_given() -> None:
    known = {"a", "b"}
    assert unrecorded(("c", "a", "A", "b"), known.__contains__) == ("c", "A")
    assert unrecorded((), known.__contains__) == ()
