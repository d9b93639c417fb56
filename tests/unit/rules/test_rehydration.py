"""Rehydration (rules R1 to R6, seed 5), each rule by itself."""

from __future__ import annotations

import pytest

from ledger.rules.rehydration import (
    authority,
    claim_fault,
    crosses_boundary,
    fetch_fault,
    is_derivable,
    may_act,
    underivable,
)


@pytest.mark.parametrize(
    ("key", "text", "derivable"),
    [
        ("dock-slot-17", "Dock slot 17: carrier Amsel, 06:00 to 06:45.", True),
        ("dock-slot-17", "The arrival was settled with the depot.", False),
        ("dock-slot-17", "Slot 17 of the dock", False),
        ("dock-slot-17", "Dock slot 171", False),
        ("migration-window-confirmation", "User confirmed that the migration window is Thursday.", False),
        ("s:4237", "See s:4237 for the limit.", True),
        ("SCHLÜSSEL_9", "der schlüssel 9 liegt bereit", True),
        ("dockSlot17", "Dock slot 17: carrier Amsel.", True),
        ("dock-slot-17", "dockSlot17 is taken.", True),
        ("dockslot17", "In dock slot 17.", True),
        ("slot-1-7", "Slot 17 is free.", False),
        ("slot-17", "Slot 1 7 is free.", False),
        ("ock-slot-17", "Dock slot 17.", False),
        ("dock-slot", "Dock slots.", False),
        ("dock\u2013slot", "Dock slot 17", True),
        ("slot-17-amsel", "Slot 17 \u2013 \u201eAmsel\u201c", True),
        ("", "anything", True),
    ],
)
def test_r1_key_is_derivable_from_the_text_alone(key: str, text: str, derivable: bool) -> None:
    """R1: its words, adjacent and in order, or the key as it is."""
    assert is_derivable(key, text) is derivable


def test_r1_keys_that_nobody_could_ask_for_are_listed_in_order() -> None:
    """R1: a finding when the summary is written."""
    assert underivable(("b-2", "a-1", "c-3"), "A 1 only.") == ("b-2", "c-3")


@pytest.mark.parametrize("status", ["absent", "empty", "tombstone", "error"])
def test_r2_everything_but_ok_is_an_error(status: str) -> None:
    """R2: and a status nobody knows is one too."""
    assert fetch_fault(status) == status
    assert fetch_fault("ok") == ""
    assert fetch_fault("maybe") == "unexpected_status:maybe"


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, ""),
        ({"contradicted": True, "key_derivable": False}, "contradicted"),
        ({"key_derivable": False, "status": "absent"}, "key_not_derivable"),
        ({"status": "empty"}, "not_found"),
        ({"raw": False}, "not_raw"),
        ({"recorded_text": False}, "not_recorded"),
        ({"holds": False}, "does_not_hold"),
    ],
)
def test_r3_first_fault_of_a_claim_is_named(changes: dict[str, object], fault: str) -> None:
    """R3: polarity, quantifier and condition are compared when the claim is used, after everything that could make it moot."""
    sound = {
        "contradicted": False,
        "key_derivable": True,
        "status": "ok",
        "raw": True,
        "recorded_text": True,
        "holds": True,
    }
    assert claim_fault(**{**sound, **changes}) == fault  # type: ignore[arg-type]


def test_r4_authority_is_capped_by_the_last_verified_rehydration() -> None:
    """R4: and decays with the store."""
    assert authority(verified=True, dependencies_changed=False, backed=True) == "verified"
    assert authority(verified=False, dependencies_changed=False, backed=True) == "write_time"
    assert authority(verified=True, dependencies_changed=True, backed=True) == "decayed"
    assert authority(verified=True, dependencies_changed=False, backed=False) == "unbacked"


def test_r5_action_needs_every_claim_and_at_least_one() -> None:
    """R5: an action that rests on nothing is not substantiated; one without side effects needs nothing."""
    assert may_act(["", ""], side_effects=True)
    assert not may_act(["", "not_found"], side_effects=True)
    assert not may_act([], side_effects=True)
    assert may_act(["not_found"], side_effects=False)


def test_r6_marker_needs_all_three_signals() -> None:
    """R6: confident and live, key not derivable, span gone; any two of them are benign."""
    assert crosses_boundary(key_derivable=False, resolves=False, live=True)
    assert not crosses_boundary(key_derivable=True, resolves=False, live=True)
    assert not crosses_boundary(key_derivable=False, resolves=True, live=True)
    assert not crosses_boundary(key_derivable=False, resolves=False, live=False)


def test_r1_white_space_separates_words_of_a_key_whatever_the_interpreter_says() -> None:
    """R1: pinned, as all that the fold reads; a zero-width space is none."""
    for space in "\t\n\x0b\x1c\x1f \x85\xa0\u1680\u2003\u2028\u202f\u205f\u3000":
        assert is_derivable("dock-slot-17", f"Dock{space}slot{space}17: carrier Amsel")
    assert not is_derivable("dock-slot-17", "Dock\u200bslot\u200b17")
