"""Words of deciding decide where somebody chose, not where they name a thing or what a program does (class decision)."""

from __future__ import annotations

import pytest

from ledger.facts import extract


def kinds(text: str) -> set[str]:
    return {fact.kind for fact in extract(text, "assistant", scope_key="k").facts if fact.cls == "decision"}


@pytest.mark.parametrize(
    "text",
    [
        "We picked the blue valve for the north tank.",
        "The blue valve was chosen for the north tank.",
        "The decision is to keep the blue valve of the tank.",
        "I decide on the blue valve for the north tank.",
    ],
)
def test_extract_what_somebody_chose_is_decided_f1(text: str) -> None:
    assert kinds(text) == {"decided"}


@pytest.mark.parametrize(
    "text",
    [
        "The pump requests water for the selected tanks of the yard.",
        "The decision tree of the pump has four branches.",
        "The pump picked up the ignored valve of the tank again.",
        "The parser must reject a tank with two valves.",
        "Tanks with two valves should be rejected by the parser.",
        "The pump has to decide the order of the tanks.",
    ],
)
def test_extract_thing_or_program_that_chooses_decides_nothing_f1(text: str) -> None:
    assert not kinds(text)


def test_extract_option_that_somebody_rejected_stays_f1() -> None:
    assert kinds("We rejected the red valve for the north tank.") == {"rejected"}
