"""Names looked up by the runs of a text give what a search for each gives (F2)."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.facts import SummaryText, survival
from ledger.facts.values.names import SPOTS_MAX, LiveNames, NamedText
from ledger.facts.values.names import _search as search
from schemas.facts import SURVIVING, Fact
from schemas.ids import fact_id

PIECES = ["src", "a", "pool", "é", "日", ".", "/", "-", "_", "@", ":", "#", "()", "./", "../", " ", "\n", "1", "42", "~"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
NAMES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)


def fact(name: str) -> Fact:
    identity = fact_id("k", "identifier", name, "", "affirmed", "", "", "")
    return Fact(id=identity, cls="identifier", start=0, end=len(name), value=name)


def surviving(names: list[str], text: str) -> set[str]:
    summary = SummaryText(text)
    return {name for name in names if survival(fact(name), summary).outcome in SURVIVING}


@given(TEXTS, NAMES)
@settings(max_examples=400, deadline=None)
def test_find_by_runs_equals_a_search_of_the_text_f2(text: str, name: str) -> None:
    assert NamedText(text).find(name) == search(text, name)


def test_find_a_run_that_stands_everywhere_is_searched_for_f2() -> None:
    text = "pool " * (SPOTS_MAX + 1) + "at /pool/a"
    assert NamedText(text).find("pool") == (0, 4)
    assert NamedText(text).find("pool/b") is None
    assert NamedText(text).find("/pool/a") == (len(text) - 7, len(text))


@given(TEXTS, st.lists(NAMES, max_size=12, unique=True), st.lists(NAMES, max_size=4))
@settings(max_examples=300, deadline=None)
def test_live_names_are_those_that_survival_finds_one_by_one_f2(text: str, names: list[str], gone: list[str]) -> None:
    live = LiveNames(names)
    for name in gone:
        live.add(name)
    for name in gone:
        live.discard(name)
    left = [name for name in names if name not in gone]
    assert len(live) == len(left)
    found = live.held_by(text)
    assert len(found) == len(set(found))
    assert set(found) == surviving(left, text)


def test_live_names_that_share_their_longest_run_are_told_apart_f2() -> None:
    names = [f"/srv/production/part/{number}" for number in range(300)]
    random.Random(5).shuffle(names)
    live = LiveNames(names)
    assert live.held_by("It is in /srv/production/part/17 and /srv/production/part/170x.") == ["/srv/production/part/17"]
