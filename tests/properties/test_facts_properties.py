"""Facts hold for any text: grounded, bounded, the same twice; and a text carries its own facts."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.facts import SummaryText, extract, grounded, survival
from ledger.facts.language.fold import fold
from ledger.facts.values.numerals import decimal, show
from schemas.facts import FACT_CLASSES, SURVIVING, Fact

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


CONTEXTS = st.lists(
    st.sampled_from(["^", "!", "#", "%", "/", "-", "<", "|", "%,", "%verb=", "^a/b", "!x", "#<=3", "\u00a0", "delete", "@keep"])
).map(" ".join)
FACTS = st.builds(
    Fact,
    id=st.just("f0"),
    cls=st.sampled_from(FACT_CLASSES),
    start=st.just(0),
    end=st.just(1),
    value=st.one_of(st.text(max_size=20), st.sampled_from(["+d", "-3d", "2027-02-30", "<=", "0", "T", "1 of 2", ">3 s"])),
    subject=st.sampled_from(["", "@", "@2024-99-99", "@9999-12-31", "a/b", "!x"]),
    polarity=st.sampled_from(["affirmed", "negated"]),
    quantifier=st.sampled_from(["", "only", "all", "odd"]),
    hedge=st.sampled_from(["", "maybe"]),
    context=CONTEXTS,
)


@given(FACTS, st.lists(WORDS, max_size=20).map(" ".join))
@settings(max_examples=200, deadline=None)
def test_facts_malformed_by_a_publisher_never_raise_p2(fact: Fact, text: str) -> None:
    """A fact's context is no part of its id: whatever stands there, the fold gets an answer."""
    grounded(fact, text, scope_key="s")
    survival(fact, SummaryText(text + " @keep delete !x x 3 s"))


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
