"""Audits and what they are worth (rules T2 to T4, seed 1)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.trust import audit_due, gate_reason, is_trusted, may_leave_degraded, pinned


def test_t2_audit_is_due_by_the_smaller_of_window_and_interval() -> None:
    """T2: at least one per N compactions and one per 500."""
    assert not audit_due(since_audit=49, window=50, interval=500)
    assert audit_due(since_audit=50, window=50, interval=500)
    assert audit_due(since_audit=500, window=10_000, interval=500)


@given(st.sets(st.binary(min_size=12, max_size=12), min_size=1, max_size=30), st.binary(max_size=8))
def test_t2_pinned_fact_does_not_depend_on_the_order_of_candidates(facts: set[bytes], salt: bytes) -> None:
    """T2: chosen by a rule that nobody can steer and every replay repeats."""
    pairs = [(fact, b"span") for fact in sorted(facts)]
    assert pinned(pairs, salt) == pinned(reversed(pairs), salt)
    assert pinned(pairs, salt) in facts


def test_t2_nothing_to_pin_is_none_and_salt_moves_the_choice() -> None:
    """T2: another pass asks for another fact."""
    assert pinned([], b"") is None
    pairs = [(bytes([n]) * 12, b"span") for n in range(50)]
    assert len({pinned(pairs, bytes([salt])) for salt in range(20)}) > 5


def test_t3_leaving_degraded_takes_evidence_younger_than_the_fault() -> None:
    """T3: a jump that passes is not a repair."""
    assert may_leave_degraded(repaired_after=True, audit_passed_after=False)
    assert may_leave_degraded(repaired_after=False, audit_passed_after=True)
    assert not may_leave_degraded(repaired_after=False, audit_passed_after=False)


def test_t4_classes_with_floor_one_are_trusted_in_a_lossless_scope_only() -> None:
    """T4: unknown is not lossless."""
    assert is_trusted("lossless")
    assert not is_trusted("unknown")
    assert not is_trusted("degraded")


def test_t4_gate_names_the_trust_unless_everything_was_fetched_and_held() -> None:
    """T4: the raw span, compared in the same call, is better than any trust."""
    assert gate_reason("degraded", all_fetched_and_held=False) == "degraded"
    assert gate_reason("unknown", all_fetched_and_held=False) == "unknown"
    assert gate_reason("degraded", all_fetched_and_held=True) == ""
    assert gate_reason("lossless", all_fetched_and_held=False) == ""
