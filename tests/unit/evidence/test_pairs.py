"""The table of verdict quality counts what it says: lossy pairs that were certified first, each with its name (F2)."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from ops.evidence.pairs import Judged, Row, by_class, by_language, judged_pairs, pair_tables


def _row(id_: str, **fields: str) -> dict[str, str]:
    return {"id": id_, "source_role": "user", "source": "Never call `pay`.", "summary": "Never call `pay`.", **fields}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [
        _row("a", verdict="evict_ok", language="en", split="held_out", **{"class": "prohibition"}),
        _row("b", verdict="below_floor", summary="Call `pay`.", language="en", **{"class": "prohibition"}),
        _row("c", expected="below_floor", language="en"),
    ]
    (tmp_path / "x.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, rows)) + b"\n")
    return tmp_path


def test_f2_pairs_are_judged_by_the_check_that_users_call(folder: Path) -> None:
    assert [(one.row.id, one.verdict, one.lossy, one.certified) for one in judged_pairs(folder)] == [
        ("a", "evict_ok", False, True),
        ("b", "below_floor", True, False),
        ("c", "evict_ok", True, True),
    ]


def test_f2_each_table_counts_false_certification_before_false_refusal(folder: Path) -> None:
    found = judged_pairs(folder)
    assert by_language(found).rows[0] == ("all", "3", "2", "1", "1", "0", "66.7 %", "100.0 %")
    assert by_class(found).rows == [("prohibition", "2", "1", "0", "1", "0", "100.0 %", "100.0 %")]


def test_f2_lossy_pair_that_was_certified_is_named_on_one_line() -> None:
    row = Row(id="c", source="one\ntwo | three", summary="x", verdict="below_floor")
    text = pair_tables([Judged(row, "evict_ok")])
    assert "Certified though lossy: 1" in text
    assert "one / two \\| three" in text


def test_without_pairs_the_tables_say_so(tmp_path: Path) -> None:
    assert judged_pairs(tmp_path) == []
    assert "not measured" in pair_tables([])
