"""What is told of records that changed nothing, of alerts and policies in number, and of what nobody can know yet."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ledger.log import EVENTS, NewEntry
from ops.wiring import open_log
from schemas.codec import encode
from tests.support.cli import SAMPLE, SESSION, Cli, has_no_traceback
from tests.support.given import opened, span
from tests.unit.transcripts.builders import as_bytes, assistant, boundary, summary, user

NOTHING = {"hint": "", "exit_code": 0}


def append(url: str, *entries: tuple[str, bytes]) -> None:
    async def work() -> None:
        log = await open_log(url, create=True)
        await log.append(EVENTS, [NewEntry(*entry) for entry in entries])
        await log.close()

    asyncio.run(work())


def records_check(cli: Cli, url: str) -> tuple[int, dict[str, str]]:
    ran = cli("doctor", "--log", url, "--json")
    (check,) = [each for each in ran.objects if each["name"] == "records"]
    return ran.code, check


def test_doctor_counts_rejected_records_and_says_where_unreadable_ones_stand(cli: Cli, tmp_path: Path) -> None:
    """P1, contracts section 4: a refused record is a warning; one that nobody can read makes the answer unknown (3)."""
    url = f"lmdb:{tmp_path}/log"
    append(url, ("s1", encode(opened())), ("s1", encode(span(1, "a"))))
    assert records_check(cli, url) == (0, {"name": "records", "verdict": "ok", "found": "none was rejected"} | NOTHING)
    append(url, ("s1", encode(span(1, "b"))), ("s1", encode(span(1, "c"))))
    code, check = records_check(cli, url)
    assert (code, check["verdict"]) == (0, "warning")
    assert check["found"] == "2 rejected: 2 immutable (first: scope s1)"
    garbage = b"\xff\x1b[31mgarbage"
    append(url, ("s1", garbage), ("s2", encode(span(1, "b"))), ("s1", garbage))
    code, check = records_check(cli, url)
    assert (code, check["verdict"]) == (3, "fault")
    assert "2 unreadable (first: compaction.events/0@4)" in check["found"]
    assert "cledger replay --emit decisions" in check["hint"]
    assert "\x1b" not in cli("doctor", "--log", url).out


def test_alerts_limit_prints_the_last_ones_and_says_how_many_came_before(ingested: Cli) -> None:
    whole = ingested("alerts", "--json").objects
    last = ingested("alerts", "--limit", 3, "--json")
    assert last.objects == whole[-3:]
    assert f"{len(whole) - 3} earlier left out" in last.err
    assert ingested("alerts", "--limit", 0, "--json").objects == whole
    huge = ingested("alerts", "--limit", 10**30, "--json")
    assert (huge.objects, huge.err) == (whole, "")
    assert ingested("alerts", "--limit", -1).code == 2
    mine = ingested("alerts", "--session", SESSION, "--limit", 2)
    assert mine.out.count("(rule ") == 2


def test_policy_show_tells_scopes_of_one_policy_together(cli: Cli, tmp_path: Path) -> None:
    """One block for each policy, whatever the number of scopes; for programs one object for each scope."""
    url = f"lmdb:{tmp_path}/log"
    append(url, *((f"s{at}", encode(opened(f"s{at}", scope=f"s{at}"))) for at in range(5)))
    assert cli("policy", "set", "floor.narrative", "1/2", "--session", "s3", "--log", url).code == 0
    shown = cli("policy", "show", "--log", url).out
    assert shown.count("floors:") == 2
    assert "4 scopes: s0, s1, s2, …" in shown
    assert shown.startswith("A policy belongs to a scope")
    assert len(cli("policy", "show", "--log", url, "--json").objects) == 5


def test_policy_show_of_a_log_without_sessions_tells_what_one_begins_with(cli: Cli, tmp_path: Path) -> None:
    url = f"lmdb:{tmp_path}/log"
    append(url)
    told = cli("policy", "show", "--log", url, "--json").object
    assert (told["scope"], told["floors"]["prohibition"]) == ("", "1/1")
    assert "a new one begins with" in cli("policy", "show", "--log", url).out


def test_f4_carrier_that_is_below_its_floor_is_told_apart_from_the_fact_it_states(ingested: Cli) -> None:
    """F4: anchored, for the summary states this fact; and not trusted, for it dropped others of the class."""
    words = "The change has to be live by 2026-12-04."
    for command in ("recall", "carriers"):
        shown = " ".join(ingested(command, words, "--session", SESSION).out.split())
        assert "instructions in the spans that it replaced it kept 0, floor 1/1; it states this one" in shown
        assert "not to be trusted for the class (F4)" in shown


UNREADABLE = [user("u1", "Ship only after QA has signed."), assistant("a1", "Yes."), boundary("b1", "a1")]


@pytest.mark.parametrize(
    ("lines", "why", "shown"),
    [
        (
            [*UNREADABLE, summary("s1", "", "b1"), user("u2", "Go on.")],
            "a summary cannot be read",
            "cannot be judged: the summary of round 1 is left out",
        ),
        (
            [*UNREADABLE, summary("s1", [{"type": "x", "encrypted_content": "g"}], "b1"), user("u2", "Go on.")],
            "a summary cannot be read",
            "cannot be judged: the summary of round 1 is encrypted",
        ),
        (
            [*UNREADABLE, user("u2", "Go on.")],
            "a summary cannot be read",
            "cannot be judged: the summary of round 1 is missing",
        ),
        (
            [user("u1", "Hm."), b"{broken}", user("u2", "Go on.")],
            "lines of the transcript could not be read",
            "unknown: lines of the transcript could not be read",
        ),
    ],
    ids=["empty", "opaque", "missing", "unread"],
)
def test_d2_unknown_always_says_why(cli: Cli, tmp_path: Path, lines: list[object], why: str, shown: str) -> None:
    """D2: the reason stands in the answer and, first of all, on the screen, from a file as from the log."""
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"".join(line + b"\n" if isinstance(line, bytes) else as_bytes([line]) for line in lines))
    assert cli("ingest", path).code == 0
    for target in (path, "S"):
        ran = cli("forgotten", target, "--json")
        assert (ran.code, ran.object["note"]) == (3, "unknown")
        assert why in ran.object["reason"]
        assert shown in " ".join(cli("forgotten", target).out.split())
    if "cannot be judged" in shown:
        assert shown in " ".join(cli("inspect", path).out.split())


@pytest.mark.parametrize("held", [3, 4, 5])
def test_round_with_which_a_file_ends_is_the_same_from_file_and_log(cli: Cli, tmp_path: Path, held: int) -> None:
    """README: one object for the same transcript. A round that waits for its summary is counted by neither, and that is said;
    of what is not counted nobody has an assurance (3).
    """
    lines = [*UNREADABLE, summary("s1", "Ship after QA has signed.", "b1"), user("u2", "Go on.")]
    path = tmp_path / "t.jsonl"
    path.write_bytes(as_bytes(lines[:held]))
    told = cli("ingest", path, "--json")
    of_file, of_log = cli("forgotten", path, "--json"), cli("forgotten", "S", "--json")
    assert of_file.object == of_log.object
    waits = held == 3
    assert of_file.object["rounds"] == told.object["rounds"] == (0 if waits else 1)
    assert ("with which the file ends" in of_file.err, "with which the file ends" in told.err) == (waits, waits)
    assert (of_file.code == 3) == waits


def test_files_of_lines_are_described_where_they_are_asked_for(cli: Cli) -> None:
    for command, fields in (("check", ('"source"', '"summary"', '"source_role"')), ("gate", ('"text"', '"key"', '"summary"'))):
        shown = cli(command, "--help").out
        assert all(field in shown for field in fields)
    assert has_no_traceback(cli("check", "--batch", SAMPLE))


def test_lost_facts_of_a_round_add_up_on_the_screen(cli: Cli, tmp_path: Path) -> None:
    """D1: what was lost in a round and stated again since is not among what is still lost, and is counted beside it."""
    lines = [
        user("u1", "The gateway accepts 40 req/s at most. The port of the mirror is 6379."),
        assistant("a1", "Noted.", "u1"),
        boundary("b1", "a1"),
        summary("s1", "Work on the gateway goes on.", "b1"),
        user("u2", "The gateway accepts 40 req/s at most."),
    ]
    path = tmp_path / "t.jsonl"
    path.write_bytes(as_bytes(lines))
    shown = " ".join(cli("ingest", path).out.split())
    assert "4 facts left the window: 0 survived, 4 lost" in shown
    assert "stated again since, or dropped on purpose: 2 still lost: 1 number, 1 narrative sentence" in shown
