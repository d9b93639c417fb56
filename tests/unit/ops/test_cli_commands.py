"""Every command on the bundled session: answers, exit codes, JSON as the contract has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ops.cli import forgetting
from tests.support.cli import CODEX_SAMPLE, SAMPLE, SESSION, Cli

BUDGET = "The retry budget is 3 attempts per 15-minute window and booking."
DEADLINE = "The change has to be live by 2026-12-04."
STAGING = "staging-old.harbor.example:8443"
ENTRY_FIELDS = (
    "class kind round role text sequence line byte_start byte_end sha256 timestamp model followed_by acted outcome reversed_at"
).split()
INGEST_FIELDS = ["files", "skipped", "sessions", "records", "added", "duplicates", "rounds", "alerts"]


def test_ingest_reports_totals_and_a_second_run_adds_nothing(cli: Cli) -> None:
    """P3, contracts section 4."""
    first = cli("ingest", SAMPLE, CODEX_SAMPLE, "--json")
    assert first.code == 0
    assert list(first.object) == INGEST_FIELDS
    assert first.object["files"] == 2
    assert first.object["rounds"] == 3
    assert first.object["added"] == first.object["records"] > 0
    assert first.object["alerts"] > 0
    second = cli("ingest", SAMPLE.parent, "--json").object
    assert (second["added"], second["alerts"]) == (0, 0)
    assert second["duplicates"] == second["records"] == first.object["records"]


def test_ingest_tells_rounds_losses_alerts_and_what_next(cli: Cli) -> None:
    ran = cli("ingest", SAMPLE)
    assert ran.code == 0
    for piece in ("round 1 (auto, 148,320 -> 16,240 tokens)", "round 2 (manual", "worst first", "new tickets", "next"):
        assert piece in ran.out
    assert f"cledger forgotten {SESSION}" in ran.out
    assert ran.out.count("rule ") <= 5
    assert max(map(len, ran.out.splitlines())) <= 100


def test_ingest_commands_to_copy_name_the_log_that_was_used(cli: Cli, tmp_path: Path) -> None:
    out = cli("ingest", SAMPLE, "--log", f"lmdb:{tmp_path / 'my log'}").out
    assert f"cledger forgotten {SESSION} --log 'lmdb:{tmp_path / 'my log'}'" in out


def test_ingest_of_a_folder_counts_what_no_reader_knows(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / "in" / "deep" / "a.jsonl").write_bytes(SAMPLE.read_bytes())
    (tmp_path / "in" / "notes.md").write_text("# nothing\n")
    ran = cli("ingest", tmp_path / "in", "--json")
    assert ran.code == 0
    assert (ran.object["files"], ran.object["skipped"]) == (1, 1)


def test_ingest_goes_on_behind_a_file_that_cannot_be_read(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# nothing\n")
    ran = cli("ingest", tmp_path / "gone.jsonl", tmp_path / "notes.md", SAMPLE, "--json")
    assert ran.code == 2
    assert (ran.object["files"], ran.object["skipped"]) == (1, 1)
    assert "gone.jsonl: there is no such file" in ran.err
    assert "notes.md is in no format" in ran.err


def test_inspect_gives_one_object_a_file(cli: Cli) -> None:
    ran = cli("inspect", SAMPLE, CODEX_SAMPLE, "--json")
    assert ran.code == 0
    first, second = ran.objects
    assert list(first)[:9] == "path format version messages duplicates conflicts skipped rounds reading".split()
    assert list(first["rounds"][0]) == (
        "round trigger boundary_line summary_line summary summarised kept unseen tokens_before tokens_after".split()
    )
    assert [first["format"], second["format"]] == ["claude-code", "codex"]
    assert first["reading"] == "complete"
    assert "summarised" in cli("inspect", SAMPLE).out


@pytest.mark.parametrize("large", [False, True])
def test_forgotten_of_a_path_needs_no_log_and_says_the_same_as_the_log(
    cli: Cli, data: Path, large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G10: what is large is not held in memory meanwhile."""
    if large:
        monkeypatch.setattr(forgetting, "LARGE_BYTES", 0)
        monkeypatch.setattr("ops.store.scratch_log", None)
    from_path = cli("forgotten", SAMPLE, "--json", "--limit", 0)
    assert from_path.code == 1
    assert not data.exists()
    cli("ingest", SAMPLE)
    from_log = cli("forgotten", SESSION, "--json", "--limit", 0)
    assert from_log.code == 1
    assert from_log.object == from_path.object


def test_forgotten_has_the_fields_of_the_contract_and_totals_that_add_up(cli: Cli) -> None:
    """D1: dropped = survived + forgotten."""
    answer = cli("forgotten", SAMPLE, "--json", "--limit", 3).object
    fields = {"session_id", "rounds", "dropped_total", "survived_in_summary", "forgotten_total", "note", "forgotten", "receipt"}
    assert fields <= answer.keys()
    assert answer["dropped_total"] == answer["survived_in_summary"] + answer["forgotten_total"]
    assert answer["note"] is None
    assert answer["rounds"] == 2
    assert len(answer["forgotten"]) == 3
    assert set(ENTRY_FIELDS) <= answer["forgotten"][0].keys()
    assert answer["receipt"]["method"] == "ours"
    assert answer["receipt"]["no_model"] is True


def test_forgotten_filters_change_the_list_and_not_the_totals(cli: Cli) -> None:
    whole = cli("forgotten", SAMPLE, "--json", "--limit", 0).object
    ran = cli("forgotten", SAMPLE, "--json", "--round", 2, "--class", "numeric", "--class", "rejected", "--limit", 0)
    assert ran.code == 1
    assert ran.object["forgotten_total"] == whole["forgotten_total"]
    assert 0 < len(ran.object["forgotten"]) < len(whole["forgotten"])
    assert all(one["round"] == 2 for one in ran.object["forgotten"])
    assert all(one["class"] == "numeric" or one["kind"] == "rejected" for one in ran.object["forgotten"])


def test_forgotten_quotes_can_be_checked_in_the_file(cli: Cli) -> None:
    """D3: a byte range with a hash for every quote."""
    import hashlib

    raw = SAMPLE.read_bytes()
    for entry in cli("forgotten", SAMPLE, "--json", "--limit", 0).object["forgotten"]:
        piece = raw[entry["byte_start"] : entry["byte_end"]]
        assert hashlib.sha256(piece).hexdigest() == entry["sha256"]
        assert raw[: entry["byte_start"]].count(b"\n") + 1 == entry["line"]


def test_forgotten_loses_the_number_that_the_summary_dropped(cli: Cli) -> None:
    lost = cli("forgotten", SAMPLE, "--json", "--limit", 0, "--class", "numeric").object["forgotten"]
    assert any("3 attempts per 15-minute" in one["text"] and one["role"] == "user" for one in lost)


@pytest.mark.parametrize(
    "arguments",
    [
        ("forgotten", SAMPLE, SAMPLE),
        ("forgotten", SAMPLE.parent),
        ("forgotten", SAMPLE, "--class", "nonsense"),
        ("forgotten", SAMPLE, "--method", "theirs"),
        ("forgotten", SAMPLE, "--round", 9),
        ("forgotten", SAMPLE, "--round", 0),
        ("forgotten", "/nowhere.jsonl"),
        ("forgotten",),
        ("check", SAMPLE),
        ("check", "-", "-"),
        ("check", SAMPLE, SAMPLE, "--role", "narrator"),
        ("check", SAMPLE, "--batch", SAMPLE),
        ("alerts", "--since", "yesterday"),
        ("recall", "x", "--session", SESSION, "--as-of", "soon"),
        ("replay", "--verify", "--until", "3"),
        ("replay", "--emit", "everything"),
        ("sessions", "--log", "sqlite:x"),
        ("sessions", "--log", "lmdb:"),
        ("sessions", "--log", "kafka://nohost"),
        ("inspect",),
        ("nonsense",),
        ("sessions", "--nonsense"),
    ],
    ids=lambda arguments: " ".join(str(word).rpartition("/")[2] for word in arguments),
)
def test_cli_usage_errors_end_with_2_and_a_message(cli: Cli, arguments: tuple[object, ...]) -> None:
    ran = cli(*arguments)
    assert ran.code == 2, ran.err
    assert ran.out == ""
    assert ran.err.startswith("error: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("sessions",),
        ("status",),
        ("status", SESSION),
        ("forgotten", SESSION),
        ("recall", "x", "--session", SESSION),
        ("carriers", "x", "--session", SESSION),
        ("explain", "x", "--session", SESSION),
        ("alerts",),
        ("tombstone", "x", "--session", SESSION, "--reason", "r", "--authority", "me"),
        ("replay",),
        ("replay", "--verify"),
        ("verify",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_cli_reading_commands_never_create_a_log(cli: Cli, data: Path, arguments: tuple[str, ...]) -> None:
    ran = cli(*arguments)
    assert ran.code == 4
    assert "there is no log at" in ran.err
    assert not data.exists()


def test_sessions_lists_them_with_and_without_compactions(ingested: Cli) -> None:
    ran = ingested("sessions", "--json")
    assert ran.code == 0
    assert [one["session"] for one in ran.objects] == [SESSION, f"{SESSION}/a7c41f2"]
    assert [one["session"] for one in ingested("sessions", "--compacted", "--json").objects] == [SESSION]
    assert "c813f6a4/a7c41f2" in ingested("sessions").out
    for name in ("c813f6a4", "c813f6a4/a7c", SESSION):
        assert ingested("status", name).code == 3


def test_status_gives_reasons_and_is_inconclusive_without_a_store(ingested: Cli) -> None:
    """T1, P6: a transcript declares no store, so nothing may be called lossless."""
    ran = ingested("status", SESSION[:9], "--json")
    assert ran.code == 3
    answer = ran.object
    fields = (
        "session trust reasons compactions compactions_since_audit hit_rate hit_rate_change floor_violation_rate "
        "context_retained_raw window_tokens window_budget gap"
    ).split()
    assert set(fields) <= answer.keys()
    assert answer["trust"] == "unknown"
    assert "no_declared_store" in answer["reasons"]
    assert "no retrieval store was declared" in ingested("status", SESSION).out


@pytest.mark.parametrize(
    ("text", "answer", "code"),
    [
        (DEADLINE, "anchored", 0),
        (BUDGET, "unanchored", 1),
        ("The gateway gives up after 250 ms.", "absent", 3),
        ("How are things?", "unknown", 3),
    ],
)
def test_recall_answers_by_name_and_by_exit_code(ingested: Cli, text: str, answer: str, code: int) -> None:
    """P4."""
    ran = ingested("recall", text, "--session", SESSION, "--json")
    assert ran.code == code
    answers = {one["answer"] for one in ran.objects}
    assert answer in answers
    for one in ran.objects:
        assert set("fact answer trusted reasons source carriers evidence reason".split()) <= one.keys()
        assert one["trusted"] is False
        assert bool(one["carriers"]) == (one["answer"] == "anchored")
    assert ingested("recall", text, "--session", SESSION).out


def test_recall_of_a_piece_of_a_statement_is_not_called_never_seen(ingested: Cli) -> None:
    """P4: no exact fact, yet not unheard of either."""
    ran = ingested("recall", "do not contact the billing endpoint", "--session", SESSION, "--json")
    assert {one["answer"] for one in ran.objects} <= {"unknown", "unanchored", "anchored"}


def test_recall_of_a_value_alone_is_about_that_value(ingested: Cli) -> None:
    """P4: a value is no sentence besides, so nothing is unknown of it."""
    ran = ingested("recall", "3 attempts per 15 minutes", "--session", SESSION, "--json")
    assert [(line["class"], line["answer"]) for line in ran.objects] == [("numeric", "unanchored")]
    assert ran.code == 1


def test_recall_by_fact_id_gives_the_same_answer(ingested: Cli) -> None:
    by_text = ingested("recall", STAGING, "--session", SESSION, "--json").object
    assert ingested("recall", by_text["fact"], "--session", SESSION, "--json").object == by_text


def test_carriers_and_explain_follow_a_fact(ingested: Cli) -> None:
    """C5."""
    carriers = ingested("carriers", DEADLINE, "--session", SESSION, "--json")
    assert carriers.code == 0
    assert any(one["carriers"] for one in carriers.objects)
    life = ingested("explain", BUDGET, "--session", SESSION, "--json")
    assert life.code == 0
    steps = {step["step"] for one in life.objects for step in one["steps"]}
    assert "first_seen" in steps
    assert steps & {"lost", "turned", "lost_from_summary"}
    assert "round 1" in ingested("explain", BUDGET, "--session", SESSION).out


def test_tombstone_covers_the_named_fact_resolves_its_alert_and_is_said_once(ingested: Cli) -> None:
    """P3, P9: exactly the named fact; the same tombstone twice is one event."""
    command = ("tombstone", STAGING, "--session", SESSION, "--reason", "switched off", "--authority", "me")
    first = ingested(*command, "--json")
    assert first.code == 0
    assert [(one["class"], one["value"], one["added"], one["in_force"]) for one in first.objects] == [
        ("identifier", STAGING, True, True)
    ]
    assert [one["added"] for one in ingested(*command, "--json").objects] == [False]
    recall = ingested("recall", STAGING, "--session", SESSION, "--json")
    assert (recall.code, recall.object["answer"]) == (0, "tombstoned")
    resolved = [one for one in ingested("alerts", "--json").objects if one["state"] == "resolved"]
    assert any("dropped on purpose" in one["reason"] for one in resolved)
    assert ingested("replay", "--verify", "--json").object["differences"] == []


def test_tombstone_of_a_text_that_names_nothing_writes_nothing(ingested: Cli) -> None:
    before = ingested("replay", "--json").object["records"]
    ran = ingested("tombstone", "How are things?", "--session", SESSION, "--reason", "r", "--authority", "me")
    assert ran.code == 3
    assert ingested("tombstone", STAGING, "--session", SESSION, "--reason", " ", "--authority", "me").code == 2
    assert ingested("replay", "--json").object["records"] == before


def test_alerts_are_a_stream_in_order_with_a_stable_fingerprint(ingested: Cli) -> None:
    """P9."""
    ran = ingested("alerts", "--json")
    assert ran.code == 0
    numbers = [one["output_seq"] for one in ran.objects]
    assert numbers == sorted(numbers)
    assert ingested("alerts", "--json").out == ran.out
    late = ingested("alerts", "--json", "--since", "2026-11-03T08:12:00Z").objects
    assert 0 < len(late) < len(ran.objects)
    assert all(one["time"] >= "2026-11-03T08:12" for one in late)
    assert "(rule " in ingested("alerts").out


def test_replay_counts_stops_early_and_emits_what_is_on_record(ingested: Cli) -> None:
    """P2."""
    whole = ingested("replay", "--json").object
    assert list(whole)[:5] == ["records", "decisions", "alerts", "digest", "differences"]
    part = ingested("replay", "--until", 10, "--json").object
    assert part["records"] == 10
    assert part["digest"] != whole["digest"]
    early = ingested("replay", "--until", "2026-11-03T08:05:00Z", "--json").object
    assert 0 < early["records"] < whole["records"]
    decisions = ingested("replay", "--emit", "decisions").out.splitlines()
    assert len(decisions) == whole["decisions"]
    assert all(json.loads(line)["type"].endswith(".v1") for line in decisions)
    assert len(ingested("replay", "--emit", "alerts").out.splitlines()) == whole["alerts"]


def test_verify_and_replay_verify_hold_whatever_was_lost(ingested: Cli) -> None:
    ran = ingested("verify", "--json")
    assert ran.code == 0
    assert (ran.object["problems"], ran.object["index"]) == ([], "sound")
    ran = ingested("replay", "--verify", "--json")
    assert (ran.code, ran.object["differences"], ran.object["due"]) == (0, [], 0)


def test_version_and_help(cli: Cli) -> None:
    assert cli("--version").out.startswith("cledger 0.")
    shown = cli("--help")
    assert shown.code == 0
    for (
        name
    ) in "demo inspect ingest check sessions forgotten status recall carriers explain alerts tombstone replay verify".split():
        assert f"\n  {name} " in shown.out
        assert cli(name, "--help").code == 0
    assert cli().code == 2
