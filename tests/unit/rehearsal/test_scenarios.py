"""Scenarios are records and nothing else; the shipped ones are policy tests of our own (P2, R1 to R6, T1 to T4, C1, F2, F3)."""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger.adapters.lmdb_log import LmdbLog
from ledger.errors import UsageError
from ledger.log import ALERTS, DECISIONS, EVENTS, NewEntry
from ops.rehearsal.rehearse import OPERATIONS as PLAYED
from ops.rehearsal.rehearse import records_of, rehearse
from ops.rehearsal.scenario import OPERATIONS, Scenario, read_scenarios, scenarios
from ops.store import open_store, scratch_store
from tests.support.cli import in_process

ROOT = Path(__file__).parents[3]
SHIPPED = ROOT / "ops" / "scenarios" / "seeds.jsonl"
FIELD_CASES = Path(__file__).parents[4] / "shared" / "cases" / "field-cases.jsonl"


def shipped() -> list[Scenario]:
    return read_scenarios(str(SHIPPED))


def field_cases() -> list[dict[str, Any]]:
    if not FIELD_CASES.exists():
        return []
    cases = [json.loads(line) for line in FIELD_CASES.read_text(encoding="utf-8").splitlines()]
    return [case for case in cases if case["kind"] == "c"]


@pytest.mark.parametrize("scenario", shipped(), ids=lambda scenario: scenario.id)
async def test_scenario_shipped_answers_as_expected(scenario: Scenario) -> None:
    """The seeds' incidents, each with the answer that would have prevented it."""
    answer = await rehearse(scenario)
    assert scenario.expected is not None
    assert answer.steps == scenario.expected["steps"]
    assert answer.trust == scenario.expected["trust"]


@pytest.mark.parametrize("scenario", shipped(), ids=lambda scenario: scenario.id)
async def test_scenario_records_give_the_same_outputs_on_an_embedded_log(scenario: Scenario, tmp_path: Path) -> None:
    """P2: no second interpreter. The records of a rehearsal, appended to a log on disk, decide the same bytes."""
    records = await records_of(scenario)
    entries = [NewEntry(scenario.id, value) for value in records]
    log = LmdbLog.create(tmp_path / "log")
    await log.append(EVENTS, entries)
    await log.close()
    async with open_store(f"lmdb:{tmp_path / 'log'}") as store:
        await store.fold()
        on_disk = [[e.value for e in await store.log.read(topic, 0, 0)] for topic in (DECISIONS, ALERTS)]
    async with scratch_store() as scratch:
        for entry in entries:
            await scratch.log.append(EVENTS, [entry])
            await scratch.fold()
        in_memory = [[e.value for e in await scratch.log.read(topic, 0, 0)] for topic in (DECISIONS, ALERTS)]
    assert on_disk == in_memory
    assert on_disk[0]


async def test_scenario_trust_leaves_lossless_before_the_first_wrong_answer() -> None:
    """T1, seed 1: the hit-rate jump degrades the scope, and only then does retrieval answer with a summary."""
    scenario = next(item for item in shipped() if item.id.startswith("seed-1-"))
    steps = {step["at"]: step for step in (await rehearse(scenario)).steps}
    degraded_at = min(at for at, step in steps.items() if step.get("trust") == "degraded")
    wrong_at = min(at for at, step in steps.items() if step["result"] == "summary_not_raw")
    assert degraded_at < wrong_at


@pytest.mark.skipif(not FIELD_CASES.exists(), reason="the field cases are not part of the repository")
@pytest.mark.parametrize("case", field_cases(), ids=lambda case: case["id"])
async def test_scenario_field_case_answers_as_labelled(case: dict[str, Any]) -> None:
    """Reports from the field, in the contract's names."""
    answer = await rehearse(Scenario(str(case["id"]), case["input"]["events"]))
    steps = {step["at"]: step for step in answer.steps}
    for wanted in case["expected"]["steps"]:
        assert {key: steps.get(wanted["at"], {}).get(key) for key in wanted} == wanted
    assert answer.trust.upper() == case["expected"]["trust"]


async def test_scenario_polarity_conflict_is_flagged() -> None:
    """R3: a span that says the opposite of an earlier one says so at once."""
    events = [
        {"op": "span", "id": "a", "text": "The ferry runs on Sundays."},
        {"op": "span", "id": "b", "text": "The ferry does not run on Sundays."},
        {"op": "action", "name": "print", "claims": [{"text": "The ferry runs on Sundays.", "key": "a"}]},
    ]
    steps = (await rehearse(Scenario("conflict", events))).steps
    assert steps[1]["flags"] == ["polarity_conflict:a"]
    assert steps[2] == {"at": 2, "result": "blocked", "reason": "contradicted_by:b"}


async def test_scenario_audit_window_runs_out() -> None:
    """T1, T2: fifty compactions later nothing vouches for the scope any more, and a passed audit vouches again."""
    events = [
        {"op": "span", "id": "a", "text": "The pump is rated at 12 bar."},
        {"op": "status", "compactions_since_audit": 49},
        {"op": "status", "compactions_since_audit": 50},
        {"op": "alerts"},
        {"op": "audit", "span": "a", "fact": "The pump is rated at 12 bar."},
        {"op": "status"},
        {"op": "alerts"},
    ]
    steps = (await rehearse(Scenario("window", events))).steps
    assert [step.get("trust") for step in steps if step["result"] == "status"] == ["lossless", "unknown", "lossless"]
    assert "ticket audit_due" in steps[3]["open"]
    assert "ticket audit_due" not in steps[6]["open"]


async def test_scenario_dependencies_that_changed_are_named() -> None:
    """R4: a summary decays with the store under it."""
    events = [
        {"op": "span", "id": "a", "text": "Valve 7 opens at 3 bar."},
        {"op": "span", "id": "b", "text": "Valve 8 opens at 4 bar."},
        {"op": "summary", "id": "m", "covers": ["a", "b"], "depends_on": ["a", "b"], "text": "Valve 7: 3 bar, valve 8: 4 bar."},
        {"op": "check_summary", "summary": "m"},
        {"op": "index_state", "missing": ["b"]},
        {"op": "check_summary", "summary": "m"},
        {"op": "check_index"},
    ]
    steps = (await rehearse(Scenario("decay", events))).steps
    assert steps[2] == {"at": 3, "result": "dependencies_intact", "spans": ["a", "b"]}
    assert steps[3] == {"at": 5, "result": "dependencies_changed", "spans": ["b"]}
    assert steps[4] == {"at": 6, "result": "missing", "count": 1}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"not json", "not a scenario"),
        (b'{"id": "x"}', "not a scenario"),
        (b'{"id": "x", "events": [{"op": "explode"}]}', "explode"),
        (b"\xff\xfe", "not a scenario"),
    ],
)
def test_scenario_file_that_is_none_names_its_line(line: bytes, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        list(scenarios("policy.jsonl", b'{"id": "ok", "events": []}\n\n' + line))
    assert "policy.jsonl:3" in str(refused.value)
    assert says in str(refused.value)


async def test_scenario_event_without_its_field_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="event 0: span needs text"):
        await rehearse(Scenario("x", [{"op": "span", "id": "a"}]))


TAKES = ("text", "number", "decimal", "names", "objects", "flag", "pair", "has")


def taken(operation: Callable[..., Any]) -> set[str]:
    """The names of the fields that an operation takes, in its own body and in what it hands its fields to."""
    found = set()
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(operation)))):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr in TAKES and getattr(node.func.value, "id", "") == "fields":
            found |= {argument.value for argument in node.args[:1] if isinstance(argument, ast.Constant)}
        elif isinstance(node.func, ast.Name) and any(getattr(argument, "id", "") == "fields" for argument in node.args):
            found |= taken(operation.__globals__[node.func.id])
    return found


def explained(text: str) -> dict[str, str]:
    """What the example says of each operation."""
    found: dict[str, str] = {}
    names: list[str] = []
    for line in text.splitlines():
        if head := re.fullmatch(r"#   (\S.*?)  +(\S.*)", line):
            names = head[1].split(", ")
            found |= dict.fromkeys(names, head[2])
        elif line.startswith("#    "):
            found |= {name: f"{found[name]} {line[1:].strip()}" for name in names}
        else:
            names = []
    return found


def test_example_shows_and_explains_every_operation_and_every_field(capsys: pytest.CaptureFixture[str]) -> None:
    ran = in_process(capsys, "rehearse", "--example")
    assert ran.code == 0
    told = explained(ran.out)
    used = {event["op"]: set() for scenario in scenarios("-", ran.out.encode()) for event in scenario.events}
    for scenario in scenarios("-", ran.out.encode()):
        for event in scenario.events:
            used[event["op"]] |= event.keys() - {"op"}
    assert told.keys() == OPERATIONS == PLAYED.keys()
    for name, operation in PLAYED.items():
        fields = taken(operation)
        assert all(re.search(rf"\b{field}\b", told[name]) for field in fields), (name, fields, told[name])
        shown = set().union(*(used.get(other, set()) for other in told if told[other] == told[name]))
        assert fields <= shown, (name, fields - shown)


def test_example_passes_as_the_policy_test_that_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And one that expects something else fails, so that it is one."""
    printed = in_process(capsys, "rehearse", "--example").out
    file = tmp_path / "mine.jsonl"
    file.write_text(printed)
    assert in_process(capsys, "rehearse", file).code == 0
    file.write_text(printed.replace('"allowed"', '"blocked"'))
    assert in_process(capsys, "rehearse", file).code == 1
