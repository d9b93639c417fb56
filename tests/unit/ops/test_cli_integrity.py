"""`replay --verify`, `verify` and damage: what was altered or is missing is named, a damaged index is rebuilt (P7, P8)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ledger.log import ALERTS, DECISIONS, EVENTS, Entry
from tests.support.cli import SAMPLE, SESSION, Cli, has_no_traceback
from tests.support.forging import forge


def _without(at: int) -> object:
    return lambda entries: [*entries[:at], *entries[at + 1 :]]


def _with_value(old: bytes, new: bytes) -> object:
    def edit(entries: list[Entry]) -> list[Entry]:
        at, entry = next((at, entry) for at, entry in enumerate(entries) if old in entry.value)
        changed = Entry(entry.position, entry.key, entry.value.replace(old, new), entry.headers)
        return [*entries[:at], changed, *entries[at + 1 :]]

    return edit


async def _forge(data: Path, topic: str, edit: object) -> None:
    await forge(data / "log", topic, edit)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("topic", "edit", "kind"),
    [
        (ALERTS, _without(3), "missing"),
        (DECISIONS, _without(0), "missing"),
        (DECISIONS, _with_value(b'"violated"', b'"held"'), "other_bytes"),
        (ALERTS, _with_value(b'"severity":"', b'"severity":"x'), "other_bytes"),
        (EVENTS, _with_value(b"double-charged", b"double-checked"), "other_bytes"),
    ],
    ids=["alert-missing", "decision-missing", "decision-altered", "alert-altered", "record-altered"],
)
def test_verify_names_what_an_editor_with_the_right_hashes_changed(
    ingested: Cli, data: Path, topic: str, edit: object, kind: str
) -> None:
    """P8: the storage's own hashes are right again, yet the outputs do not follow from the events, or the index remembers."""
    import asyncio

    asyncio.run(_forge(data, topic, edit))
    ran = ingested("replay", "--verify", "--json")
    assert ran.code == 5, ran.out
    assert kind in {one["kind"] for one in ran.object["differences"]}
    assert has_no_traceback(ran)
    checked = ingested("verify", "--json")
    assert checked.code == 5
    assert checked.object["problems"]
    again = ingested("replay", "--verify", "--json")
    assert again.code == 5, "an audit mends nothing"
    assert "difference" in ingested("replay", "--verify").out


def test_verify_notices_records_cut_off_the_end(ingested: Cli, data: Path) -> None:
    """P1: the log is shorter than what was folded."""
    import asyncio

    asyncio.run(_forge(data, EVENTS, lambda entries: entries[:-2]))
    ran = ingested("replay", "--verify", "--json")
    assert ran.code == 5
    assert [one["kind"] for one in ran.object["differences"]].count("missing") >= 2


def test_verify_finds_a_flipped_bit_in_the_log(ingested: Cli, data: Path) -> None:
    """P7, L10."""
    path = data / "log" / "log" / "data.mdb"
    raw = bytearray(path.read_bytes())
    at = raw.find(b"double-charged")
    raw[at] ^= 1
    path.write_bytes(raw)
    for command in ("verify", "replay"):
        ran = ingested(command, "--json")
        assert ran.code == 5
        assert has_no_traceback(ran)
    ran = ingested("replay", "--verify", "--json")
    assert ran.code == 5
    assert has_no_traceback(ran)


@pytest.mark.parametrize("harm", ["emptied", "cut", "scrambled", "foreign"])
def test_damaged_index_is_rebuilt_and_reported(ingested: Cli, data: Path, harm: str, tmp_path: Path) -> None:
    """P7: noticed at open, reported, rebuilt from the log; the answers are the same."""
    before = ingested("forgotten", SESSION, "--json", "--limit", 0).out
    index = data / "log" / "index" / "p000"
    path = index / "data.mdb"
    raw = path.read_bytes()
    if harm == "emptied":
        path.write_bytes(b"")
    elif harm == "cut":
        path.write_bytes(raw[: len(raw) // 3])
    elif harm == "scrambled":
        path.write_bytes(b"\x5a" * len(raw))
    else:
        ingested("ingest", SAMPLE, "--log", f"lmdb:{tmp_path / 'other'}")
        for file in (tmp_path / "other" / "index" / "p000").iterdir():
            (index / file.name).write_bytes(file.read_bytes())
    ran = ingested("forgotten", SESSION, "--json", "--limit", 0)
    assert (ran.code, ran.out) == (1, before)
    assert "rebuilding it from the log" in ran.err
    assert ingested("verify", "--json").object["index"] == "sound"


@pytest.mark.parametrize("command", [("verify",), ("replay", "--verify")])
def test_audit_of_a_damaged_index_rebuilds_it_and_ends_with_0(ingested: Cli, data: Path, command: tuple[str, ...]) -> None:
    path = data / "log" / "index" / "p000" / "data.mdb"
    path.write_bytes(path.read_bytes()[:8192])
    ran = ingested(*command, "--json")
    assert ran.code == 0, ran.err
    assert "rebuilding it from the log" in ran.err
    assert ingested(*command, "--json").err == ""


def test_verify_without_an_index_says_so_and_makes_none(ingested: Cli, data: Path) -> None:
    import shutil

    shutil.rmtree(data / "log" / "index")
    assert ingested("verify", "--json").object["index"] == "absent"
    assert not (data / "log" / "index" / "p000").exists()


def test_replay_leaves_no_trace_in_the_log(ingested: Cli, data: Path) -> None:
    before = ingested("replay", "--json").out
    for _ in range(2):
        assert ingested("replay", "--emit", "alerts").code == 0
    assert ingested("replay", "--json").out == before
    assert json.loads(before)["differences"] == []
