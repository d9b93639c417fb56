"""Facts hold for any text: grounded, bounded, the same twice; and a text carries its own facts."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.facts import SummaryText, extract, grounded, survival
from ledger.facts.fold import fold
from ledger.facts.numerals import decimal, show
from schemas.facts import SURVIVING

WORDS = st.sampled_from(
    "never do not delete the staging table before 4 May 2027 at most 250 rows keep `api_key` unless Marta says so only 3.5 GB "
    "per day , . ; : ( ) — nunca sin nicht ohne не без 30 s".split(" ")
)
ROLES = st.sampled_from(["user", "assistant", "tool", "system"])


@given(st.text(max_size=300), ROLES)
@settings(max_examples=150, deadline=None)
def test_facts_any_text_is_grounded_and_repeatable_p2(text: str, role: str) -> None:
    found = extract(text, role, scope_key="s")  # type: ignore[arg-type]
    assert found == extract(text, role, scope_key="s")  # type: ignore[arg-type]
    assert all(grounded(fact, text, scope_key="s") for fact in found.facts)
    summary = SummaryText(text[::-1])
    for fact in found.facts:
        survival(fact, summary)


@given(st.lists(WORDS, max_size=40).map(" ".join), ROLES)
@settings(max_examples=150, deadline=None)
def test_facts_values_survive_in_their_own_text_f2(text: str, role: str) -> None:
    summary = SummaryText(text)
    for fact in extract(text, role, scope_key="s").facts:  # type: ignore[arg-type]
        assert grounded(fact, text, scope_key="s")
        if fact.cls == "identifier":
            assert survival(fact, summary).outcome in SURVIVING


@given(st.text(max_size=200))
def test_fold_keeps_offsets_and_is_idempotent(text: str) -> None:
    assert len(fold(text)) == len(text)
    assert fold(fold(text)) == fold(text)


@given(st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=1000))
def test_number_shown_is_exact(value: Fraction) -> None:
    shown = show(value)
    assert Fraction(shown) == value


@given(st.integers(min_value=0, max_value=10**12))
def test_number_with_thousands_reads_back(value: int) -> None:
    assert decimal(f"{value:,}", False) == value
    assert decimal(f"{value:,}".replace(",", "."), True) == value
