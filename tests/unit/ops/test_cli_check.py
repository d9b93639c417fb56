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
    for name, text in {"source": SOURCE, "good": GOOD, "bad": BAD, "empty": "", "blank": " \n"}.items():
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
    assert "below_floor" in shown.out
    assert "40 req/s" in shown.out


@pytest.mark.parametrize(
    ("source", "summary", "code"),
    [("empty", "good", 3), ("blank", "good", 3), ("binary", "good", 3), ("source", "binary", 3), ("source", "empty", 1)],
)
def test_check_of_files_that_say_nothing_is_inconclusive(cli: Cli, files: Path, source: str, summary: str, code: int) -> None:
    ran = cli("check", files / source, files / summary, "--json")
    assert ran.code == code
    assert "error: " in ran.err


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
