"""Ids are functions of what a record speaks of (contracts section 1); these values stand in logs and never change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import ids

PARTS = st.lists(st.text(max_size=8), max_size=4)


def test_ids_have_their_golden_values() -> None:
    """P2: the same on every machine, in every release. A changed value here makes duplicates of everything on record."""
    event = ids.event_id("span.recorded.v1", "session-1", "session-1:a")
    assert event == "c876fb28157fc4b138066213e914022f"
    assert ids.decision_id(event) == "2fd239120a1b406d0babbcab42816ee5"
    assert ids.rejection_id(event, "00ff") == "4f242a71bbfd8890184fc28995ea3777"
    assert ids.fingerprint("scope-1", "C1", "f00") == "59989325e13e7b53895821c0eddf2569"
    assert ids.fact_id("scope-1", "numeric", "40 1/s", "retry budget", "affirmed", "", "", "") == "f0d01969f68a877a83361c247"
    assert ids.span_id("session-1", "a") == "session-1:a"
    assert ids.span_id("session-1", "a", 2) == "session-1:a.2"


@pytest.mark.parametrize(
    ("record_type", "base"),
    [
        ("span.recorded.v1", "span.recorded"),
        ("span.recorded.v12", "span.recorded"),
        ("tick.v1", "tick"),
        ("span.recorded", "span.recorded"),
        ("span.v", "span.v"),
        ("span.vx", "span.vx"),
    ],
)
def test_base_type_version_is_cut_and_nothing_else(record_type: str, base: str) -> None:
    assert ids.base_type(record_type) == base


def test_event_id_later_version_of_a_shape_names_the_same_object() -> None:
    """P3: an upcast record is still a duplicate of itself."""
    assert ids.event_id("tick.v1", "s", "o") == ids.event_id("tick.v2", "s", "o")


@given(PARTS, PARTS)
def test_digest_differs_where_the_parts_differ(one: list[str], other: list[str]) -> None:
    """Parts are length-prefixed: ("ab", "c") is not ("a", "bc")."""
    assert (ids.digest(*one) == ids.digest(*other)) == (one == other)


@given(PARTS)
def test_digest_text_and_its_bytes_are_the_same_part(parts: list[str]) -> None:
    assert ids.digest(*parts) == ids.digest(*(part.encode() for part in parts))


def test_digest_sizes_and_keys_separate() -> None:
    assert len(ids.digest("x")) == ids.EVENT_ID_BYTES
    assert len(ids.digest("x", size=12)) == 12
    assert len({ids.digest("x"), ids.digest("x", key=b"a"), ids.digest("x", key=b"b"), ids.digest("x", size=12)}) == 4


def test_digest_lone_surrogate_has_a_digest() -> None:
    assert ids.digest("\ud800") != ids.digest("\udfff")


def test_fact_id_scopes_do_not_share_ids() -> None:
    """One scope's ids tell nothing about another's facts."""
    one, other = (ids.fact_id(scope, "numeric", "40") for scope in ("a", "b"))
    assert one != other
    assert len(one) == 1 + 2 * ids.FACT_ID_BYTES


def test_position_orders_by_offset_within_a_partition() -> None:
    assert ids.Position("t", 0, 9) < ids.Position("t", 0, 10)
    assert str(ids.Position("compaction.events", 3, 7)) == "compaction.events/3@7"
