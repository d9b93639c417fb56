"""`check`: verdicts as exit codes, files and stdin, batches in input order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import Cli, in_subprocess

SOURCE = "The payments gateway accepts 40 req/s at most. Do not contact the billing endpoint without approval."
GOOD = "Keep in mind: the payments gateway accepts 40 req/s at most. Do not contact the billing endpoint without approval."
BAD = "We talked about the payments gateway. Contact the billing endpoint without approval."
FIELDS = "id verdict polarity quantifier hedge facts unsupported rules_version".split()
FACT_FIELDS = "text class start end survival survives fidelity floor".split()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in {"source": SOURCE, "good": GOOD, "bad": BAD, "empty": "", "blank": " \n", "greeting": "Hello."}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00\x01")
    return tmp_path


def test_check_certifies_what_holds(cli: Cli, files: Path) -> None:
    ran = cli("check", files / "source", files / "good", "--json")
    assert ran.code == 0
    assert list(ran.object) == FIELDS
    assert ran.object["verdict"] == "evict_ok"
    for fact in ran.object["facts"]:
        assert list(fact) == FACT_FIELDS
        assert SOURCE[fact["start"] : fact["end"]] == fact["text"]


def test_check_refuses_what_loses_a_limit_and_a_ban(cli: Cli, files: Path) -> None:
    """F2."""
    ran = cli("check", files / "source", files / "bad", "--json")
    assert ran.code == 1
    assert ran.object["verdict"] == "below_floor"
    shown = cli("check", files / "source", files / "bad")
    assert shown.out.startswith("no: 3 of 3 facts would be lost, 1 of them turned into the opposite\n")
    assert "40 req/s" in shown.out


@pytest.mark.parametrize(
    ("source", "summary", "answer", "code"),
    [
        (SOURCE, GOOD, "yes: 3 facts kept, none lost", 0),
        (
            "The talk was long. The queue is full. The pool is empty.",
            "The queue is full, the pool empty.",
            "yes: 1 of 3 facts",
            0,
        ),
        ("Hello there", "Hello", "yes: no fact is recognised", 0),
        ("The pool is full of errors.", "", "no: 1 of 1 fact would be lost", 1),
        ("Ovo je rečenica koju nitko ovdje ne razumije.", "It was said.", "unknown: the text, or a part of it", 3),
    ],
    ids=["kept", "within the floors", "no facts", "lost", "not read"],
)
def test_check_answers_its_question_in_the_first_line_and_tells_what_was_compared(
    cli: Cli, files: Path, source: str, summary: str, answer: str, code: int
) -> None:
    (files / "said").write_text(source)
    (files / "short").write_text(summary)
    ran = cli("check", files / "said", files / "short")
    assert (ran.code, ran.err) == (code, "")
    assert ran.out.startswith(answer)
    assert "n/a" not in ran.out


@pytest.mark.parametrize(
    ("source", "summary", "code"),
    [
        ("empty", "good", 3),
        ("blank", "good", 3),
        ("binary", "good", 3),
        ("source", "binary", 3),
        ("greeting", "empty", 3),
        ("greeting", "blank", 3),
    ],
)
def test_check_of_files_that_say_nothing_is_inconclusive(cli: Cli, files: Path, source: str, summary: str, code: int) -> None:
    for options in ((), ("--json",)):
        ran = cli("check", files / source, files / summary, *options)
        assert (ran.code, ran.out) == (code, "")
        assert ran.err.count("error: ") == 1


@pytest.mark.parametrize("summary", ["empty", "blank"])
def test_check_of_an_empty_summary_of_facts_is_a_verdict_and_no_error(cli: Cli, files: Path, summary: str) -> None:
    ran = cli("check", files / "source", files / summary, "--json")
    assert (ran.code, ran.object["verdict"], ran.err) == (1, "below_floor", "")


def test_check_of_no_file_asks_for_a_text_and_no_transcript(cli: Cli, files: Path) -> None:
    for source, summary, wanted in ((files, files / "good", "the text"), (files / "source", "/dev/null", "its summary")):
        ran = cli("check", source, summary)
        assert ran.code == 2
        assert f"Give a file with {wanted}" in ran.err
        assert "transcript" not in ran.err


@pytest.mark.parametrize(("source", "summary"), [("gone", "good"), ("source", "gone"), (".", "good")])
def test_check_of_a_missing_path_is_a_usage_error(cli: Cli, files: Path, source: str, summary: str) -> None:
    assert cli("check", files / source, files / summary).code == 2


def test_check_reads_one_side_from_stdin(files: Path) -> None:
    ran = in_subprocess("check", "-", files / "good", "--json", data=files / "data", stdin=SOURCE.encode())
    assert (ran.code, ran.object["verdict"]) == (0, "evict_ok")
    ran = in_subprocess("check", files / "source", "-", "--json", data=files / "data", stdin=BAD.encode())
    assert (ran.code, ran.object["verdict"]) == (1, "below_floor")


def test_check_batch_answers_in_input_order_and_goes_on_behind_a_bad_line(cli: Cli, files: Path) -> None:
    lines = [
        json.dumps({"id": "b", "source": SOURCE, "summary": GOOD, "source_role": "user"}),
        "not json",
        json.dumps({"id": "a", "source": SOURCE, "summary": BAD}),
        json.dumps({"id": "x", "source": SOURCE, "summary": BAD, "source_role": "narrator"}),
        "",
        json.dumps({"id": "c", "source": SOURCE, "summary": GOOD}),
    ]
    (files / "batch").write_text("\n".join(lines))
    ran = cli("check", "--batch", files / "batch", "--json")
    assert [(one["id"], one["verdict"]) for one in ran.objects] == [("b", "evict_ok"), ("a", "below_floor"), ("c", "evict_ok")]
    assert ran.code == 2
    assert f"{files / 'batch'}:2: not a line to check" in ran.err
    assert f"{files / 'batch'}:4: source_role 'narrator'" in ran.err


def test_check_batch_without_a_line_is_inconclusive(cli: Cli, files: Path) -> None:
    assert cli("check", "--batch", files / "empty", "--json").code == 3
