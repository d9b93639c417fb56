"""Scenarios of the kinds of fault that the field reports, each with the answer that a reader of the contract would expect.

Every line of `kinds.jsonl` names in its title the rule or promise that it is about; boundary values stand at both sides.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ledger.errors import UsageError
from ops.rehearsal.compare import compared
from ops.rehearsal.rehearse import rehearse
from ops.rehearsal.scenario import Scenario, read_scenarios
from tests.support.cli import in_process

KINDS = read_scenarios(str(Path(__file__).parent / "kinds.jsonl"))


@pytest.mark.parametrize("scenario", KINDS, ids=lambda scenario: f"{scenario.title.split(':')[0]}-{scenario.id}")
async def test_scenario_of_a_kind_is_answered_as_a_reader_would(scenario: Scenario) -> None:
    assert compared(scenario, await rehearse(scenario)) == []


def test_kinds_hold_both_outcomes() -> None:
    """Without what is granted a ledger that refuses everything would pass, and the other way round."""
    counted = Counter(step["result"] for scenario in KINDS for step in (scenario.expected or {})["steps"])
    for one, other in (("accepted", "refused"), ("found_raw", "absent"), ("allowed", "blocked"), ("ok", "flagged")):
        assert counted[one] >= 4
        assert counted[other] >= 4


FAULTY: list[tuple[dict[str, Any], str]] = [
    ({"op": "span", "id": "a", "text": "b", "txet": "c"}, "unknown field: txet"),
    ({"op": "span", "id": "a", "text": "b", "ttl_s": -1}, "span needs ttl_s from 0"),
    ({"op": "span", "id": "a", "text": "b", "valid": ["2026-01-01"]}, "span needs valid"),
    ({"op": "span", "id": "a", "text": "b", "valid": [1, 2]}, "span needs valid"),
    ({"op": "clock", "advance_s": 10**30}, "clock needs advance_s from 0"),
    ({"op": "hit_rate", "compaction": 1, "value": "58 %"}, "hit_rate needs value"),
    ({"op": "hit_rate", "compaction": 1, "value": 1.5}, "from 0 to 1"),
    ({"op": "tombstone", "fact": " "}, "tombstone needs fact"),
    ({"op": "transcript_window", "session": "", "ids": []}, "transcript_window needs session"),
    ({"op": "retrieve", "by": "colour", "value": "a"}, "retrieve needs by"),
    ({"op": "retrieve", "by": "fact", "value": ""}, "retrieve needs value"),
    ({"op": "retrieve", "by": "fact", "value": "a", "as_of": "soon"}, "retrieve needs as_of"),
    ({"op": "retrieve", "by": "query", "value": "a", "candidates": [{"raw": 1}]}, r"candidates\[0\] needs id"),
    ({"op": "retrieve", "by": "query", "value": "a", "candidates": [{"id": "a", "raw": "b"}]}, r"candidates\[0\] needs raw"),
    (
        {"op": "retrieve", "by": "query", "value": "a", "candidates": [{"id": "a", "raw": -1}], "metric": "l2"},
        "distance is never below 0",
    ),
    ({"op": "retrieve", "by": "query", "value": "a", "candidates": [], "top_k": 0}, "retrieve needs top_k from 1"),
    ({"op": "action", "claims": [{"text": "a", "key": 5}]}, r"claims\[0\] needs key"),
    ({"op": "action", "claims": [{"key": "a"}]}, r"claims\[0\] needs text"),
    ({"op": "compact", "summary": "m", "evict": [{"tokens": 1}]}, r"evict\[0\] needs span"),
]


@pytest.mark.parametrize(("event", "says"), FAULTY, ids=lambda value: value if isinstance(value, str) else "")
async def test_event_that_does_not_fit_is_refused_with_its_place(event: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=f"mine.jsonl:3: event 0: .*{says}"):
        await rehearse(Scenario("x", [event], where="mine.jsonl:3"))


def test_scenario_that_does_not_fit_takes_no_other_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It costs the exit code and its own answer."""
    file = tmp_path / "mine.jsonl"
    good = '{"id": "%s", "events": [{"op": "count_spans", "note": "for people"}]}\n'
    file.write_text(good % "a" + '{"id": "b", "events": [{"op": "clock", "advance": 5}]}\n' + good % "c")
    ran = in_process(capsys, "rehearse", file, "--json")
    assert ran.code == 2
    assert [line[:9] for line in ran.out.splitlines()] == ['{"id":"a"', '{"id":"c"']
    assert "mine.jsonl:2: event 0: clock has an unknown field: advance" in ran.err
