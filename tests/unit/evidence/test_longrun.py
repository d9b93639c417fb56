"""The long session in short: what the rules are for shows in a few hundred turns already."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

import pytest

from ops.evidence import longrun
from ops.evidence.compactor import CarelessStore, Line, compacted, text_of
from ops.evidence.generator import turns
from ops.evidence.longrun import Spoken, Tally, spoken
from ops.evidence.report import long_session, percent
from ops.evidence.sides import WithoutRules, WithRules
from ops.evidence.world import topic
from ops.store import scratch_store


@cache
def session(count: int) -> list[Spoken]:
    return spoken(7, turns(7, count=count, hours=40))


async def play(kind: type[WithoutRules | WithRules], count: int) -> Tally:
    async with scratch_store() as store:
        return await kind(7, store).play(session(count))


@pytest.fixture
def small_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(longrun, "WINDOW_TOKENS", 3000)


async def test_session_with_rules_answers_nothing_wrongly(small_window: None) -> None:
    """C1, C4: an answer needs a carrier, and the last carrier of a fact stays."""
    ours = await play(WithRules, 250)
    assert ours.passes
    assert ours.questions
    assert (ours.wrong, len(ours.drifted), ours.lost, ours.acted_on_wrong) == (0, 0, 0, 0)
    assert ours.rehydrated + ours.denied == ours.actions > 0


async def test_session_without_rules_drifts(small_window: None) -> None:
    """Seeds 1 and 2: every part does its job, no error is raised, and answers are wrong."""
    theirs = await play(WithoutRules, 250)
    assert theirs.passes
    assert theirs.wrong
    assert theirs.drifted
    assert theirs.lost
    assert theirs.rehydrated == theirs.denied == 0


async def test_session_played_twice_gives_the_same_report(small_window: None) -> None:
    reports = [long_session(await play(WithoutRules, 90), await play(WithRules, 90)) for _ in range(2)]
    assert reports[0] == reports[1]


def test_summary_of_summaries_only_loses() -> None:
    lines = [Line(planted, planted.sentence) for number in range(6) for planted in topic(7, number).planted]
    held = [{line.planted for line in lines if line.planted.value in line.text}]
    for pass_ in range(1, 5):
        lines = compacted(7, pass_, lines, [])
        held.append({line.planted for line in lines if line.planted.value in line.text})
    assert all(later <= earlier for earlier, later in itertools.pairwise(held))
    assert len(held[-1]) < len(held[0])
    assert text_of(lines).count("\n") == len(lines)


def test_careless_store_returns_a_neighbour_once_the_entry_expired() -> None:
    """Seed 2: retrieval returns something, and nothing says that it is not what was asked for."""
    said = [turn for turn in turns(7, count=200) if turn.planted]
    asked = said[0].planted[0]
    store = CarelessStore()
    store.add(0, said)
    assert asked.value in store.search(asked.question, [])
    assert store.expire(10 * 24 * 60) == len(said)
    assert store.bytes == 0
    assert store.search(asked.question, []) == ""


@pytest.mark.parametrize(
    ("part", "whole", "signed", "said"),
    [(1, 3, False, "33.3 %"), (0, 0, False, "–"), (-1, 8, True, "-12.5 %"), (1, 8, True, "+12.5 %"), (0, 5, True, "+0.0 %")],
)
def test_percent_is_exact(part: int, whole: int, signed: bool, said: str) -> None:
    assert percent(Fraction(part), whole, signed=signed) == said
