"""What people read of losses: one message at a time, what the summary says told apart from what only comes near (D3, P10)."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from ops.cli.findings import tokens_told, unreadable_told
from ops.cli.losses import settled_told, show_losses
from ops.cli.pairing import NEAREST, SAYS, beside, shown_outcome
from ops.queries.forgotten import Forgotten
from tests.support.cli import SAMPLE, SESSION, Cli
from tests.support.talk import agent, ran, summary, transcript, user
from tests.unit.transcripts.builders import as_bytes
from tests.unit.transcripts.builders import user as user_line

HOME = "/t/talk.jsonl"


def loss(text: str, **fields: object) -> Forgotten:
    """A loss in a file that the reader was told of."""
    plain: dict[str, object] = {
        "fact": "f1",
        "class": "identifier",
        "kind": "",
        "round": 1,
        "role": "user",
        "text": text,
        "span": "s:1",
        "start": 0,
        "end": len(text),
        "sequence": 1,
        "path": HOME,
        "line": 14,
        "byte_start": None,
        "byte_end": None,
        "sha256": "",
        "timestamp": None,
        "model": "",
        "followed_by": [],
        "acted": False,
        "outcome": "missing",
        "rule": "C3",
        "summary_says": "",
        "reversed_at": None,
    }
    return msgspec.convert({**plain, **fields}, Forgotten)


def shown(capsys: pytest.CaptureFixture[str], *entries: Forgotten, whole: bool = False) -> str:
    """What is printed of these losses."""
    show_losses(entries, HOME, whole=whole)
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "cls", "says"),
    [
        ("The queue holds 40 jobs at most", "narrative", "The queue holds up to 90 jobs"),
        ("Never restart the worker by hand", "prohibition", "restart the worker"),
        ("5 attempts per hour", "numeric", "7 attempts a day"),
        ("250 ms", "numeric", "300ms"),
        ("40 %", "numeric", "30%"),
        ("2026-12-04", "commitment", "2026-12-08"),
        ("ledgerReader", "identifier", "LedgerReader"),
        ("超时为30秒", "numeric", "超时60秒"),
        ("3 Versuche pro Stunde", "numeric", "5 Versuche"),
    ],
)
def test_passage_that_speaks_of_the_same_is_what_the_summary_says(text: str, cls: str, says: str) -> None:
    assert beside(text, cls, "changed", says) == SAYS


@pytest.mark.parametrize(
    ("text", "cls", "says"),
    [
        ("Every refund must be logged by the clerk", "instruction", "The downstream job is told about failures"),
        ("Every refund must be logged by the clerk", "instruction", "The clerk told the downstream job about failures"),
        ("up to 10", "numeric", "eleven guests"),
        ("> 1", "numeric", "1"),
        ("headRef", "identifier", "headTree"),
        ("2734662589", "identifier", "2734651353"),
        ("포인트 5", "numeric", "5"),
        ("1.4.2", "identifier", "1.6.0"),
    ],
)
def test_passage_about_something_else_is_only_the_nearest(text: str, cls: str, says: str) -> None:
    assert beside(text, cls, "changed", says) == NEAREST


def test_inversion_is_always_what_the_summary_says() -> None:
    """F2 was found by what stands around both passages."""
    assert beside("not even once", "prohibition", "inverted", "calls to billing are fine") == SAYS


@pytest.mark.parametrize(
    ("text", "says"), [("2734662589", "2734651353"), ("9f8e7d6c5b", "0a1b2c3d4e"), ("#1204", "#1210"), ("0x7f3a", "0x7f3b")]
)
def test_another_number_or_hash_is_no_change_of_the_one(text: str, says: str) -> None:
    assert shown_outcome(text, "identifier", "changed", says) == "missing"
    assert shown_outcome(text, "numeric", "changed", says) == "changed"
    assert shown_outcome("pool_size", "identifier", "changed", "pool_count") == "changed"


def test_losses_of_one_message_stand_under_one_heading_with_what_followed_once(capsys: pytest.CaptureFixture[str]) -> None:
    actions = ["Bash make test"]
    out = shown(
        capsys,
        loss("not even once", **{"class": "prohibition"}, outcome="inverted", rule="F2", summary_says="x", followed_by=actions),
        loss("3 attempts", **{"class": "numeric"}, round=2, followed_by=actions),
        loss("Use the pool", **{"class": "instruction"}, span="s:2", line=20),
    )
    assert out.count("line 14") == out.count("followed by") == 1
    assert "1. 2 facts of one message, user, line 14" in out
    assert "- INVERTED prohibition, rule F2, round 1: “not even once”" in out
    assert "- MISSING numeric, rule C3, round 2: “3 attempts”" in out
    assert "2. MISSING instruction, rule C3, round 1, user, line 20" in out


def test_names_of_one_table_are_one_item_and_limit_0_leaves_none_out(capsys: pytest.CaptureFixture[str]) -> None:
    names = [loss(f"27346{at:05}", outcome="changed", summary_says="2734699999") for at in range(12)]
    out = shown(capsys, *names)
    assert "MISSING 12 identifiers, rule C3, round 1, user, line 14" in out
    assert "“2734600000”, “2734600001”, “2734600002” and 9 more" in out
    assert "the summary says" not in out
    assert all(entry.text in shown(capsys, entry) for entry in names[:2])
    every = shown(capsys, *names, whole=True)
    assert all(entry.text in every for entry in names)


def test_single_opaque_id_is_missing_and_shows_what_comes_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, loss("2734662589", outcome="changed", summary_says="2734651353"))
    assert "MISSING identifier" in out
    assert f"{NEAREST}: “2734651353”" in out


def test_what_followed_is_one_line_with_files_by_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    actions = [f"Edit /home/dev/pool/src/strategy/part_{at}.py" for at in range(9)]
    out = shown(capsys, loss("pool.c", followed_by=[actions[0], *actions]))
    (line,) = [line for line in out.splitlines() if "Edit" in line]
    assert line.startswith("      followed by: Edit …/part_0.py, Edit …/part_1.py")
    assert line.endswith(" more")
    assert len(line) <= 80
    assert "followed by" not in shown(capsys, loss("pool.c"))


def test_actions_and_quotes_cannot_steer_the_terminal_p10(capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(capsys, loss("a\x1b[2J", followed_by=["Bash \x1b]0;x\x07"], summary_says="\u202eb", outcome="changed"))
    assert not {"\x1b", "\x07", "\u202e"} & set(out)


def test_window_is_told_as_far_as_it_is_known() -> None:
    assert tokens_told(156_699, 66_549) == "156,699 -> 66,549 tokens"
    assert tokens_told(156_699, None) == "156,699 tokens before"
    assert tokens_told(None, 66_549) == "66,549 tokens after"
    assert tokens_told(None, None) == ""


def test_unreadable_summaries_are_named_by_round_and_cause() -> None:
    assert unreadable_told([(1, "text"), (2, "text")]) == ""
    assert unreadable_told([(1, "opaque"), (2, "text")]) == "the summary of round 1 is encrypted in the transcript"
    assert unreadable_told([(1, "empty"), (2, "empty"), (3, "missing")]) == (
        "the summaries of rounds 1 and 2 are left out of the transcript; the summary of round 3 is missing"
    )
    assert unreadable_told((number, "opaque") for number in range(1, 9)).startswith("8 summaries, from round 1 to round 8,")


def test_conflicting_lines_are_named_whatever_their_ids_hold_p10(cli: Cli, tmp_path: Path) -> None:
    odd = "a\x1b[2J\nb"
    path = tmp_path / "t.jsonl"
    path.write_bytes(as_bytes([user_line("u1", "Hm."), user_line(odd, "One thing."), user_line(odd, "Another thing.")]))
    told = cli("inspect", path)
    assert "line 3: conflict: says something else under the id of an earlier line" in " ".join(told.out.split())
    assert "\x1b" not in told.out
    assert [one["line"] for one in cli("inspect", path, "--json").object["conflicting"]] == [3]


def test_reasons_of_settled_losses_are_words() -> None:
    told = settled_told({"acted": 4, "answered": 1, "passing": 72}, more=False)
    assert told == (
        "77 dropped facts were settled in the session: 4 acted on, 1 answered, 72 passing remarks and one-off figures"
    )
    assert settled_told({"passing": 1}, more=True) == (
        "1 more dropped fact was settled in the session: 1 passing remark or one-off figure"
    )


DONE = [user("Rename loadPool to openPool."), *ran("sed -i s/loadPool/openPool/ pool.c"), agent("Renamed."), user("Thanks.")]
BARE = summary("Summary: the work on the pool goes on in the repository.")


def test_forgotten_and_ingest_say_where_nothing_is_open_d3(cli: Cli, tmp_path: Path) -> None:
    """Settled losses are never shown as the worst ones."""
    file = transcript(tmp_path / "done.jsonl", [*DONE, agent("You are welcome."), BARE, user("Go on."), agent("I go on.")])
    told = " ".join(cli("forgotten", file).out.split())
    assert "Nothing open: " in told
    assert "settled in the session" in told
    told = " ".join(cli("ingest", file).out.split())
    assert "none open: " in told
    assert "worst first" not in told


def test_ingest_tells_sessions_with_most_open_losses_first_and_counts_them(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    ban = [user("Never touch the billing module."), agent("I will not.")]
    rest = [BARE, user("Go on."), agent("I go on.")]
    transcript(tmp_path / "in" / "a.jsonl", [*DONE * 4, agent("Well."), *rest], session="done")
    transcript(tmp_path / "in" / "b.jsonl", [*ban, *rest], session="banned")
    out = cli("ingest", tmp_path / "in").out
    assert 0 < out.index("session banned") < out.index("session done")
    assert re.search(r"\b[1-9] open of [1-9] lost, worst first:", out)


def test_sessions_are_listed_newest_first_with_their_place_and_programs_get_whole_ids(cli: Cli, tmp_path: Path) -> None:
    talk = transcript(tmp_path / "later.jsonl", [*DONE, BARE, user("Go on."), agent("I go on.")])
    assert cli("ingest", SAMPLE, talk).code == 0
    answers = cli("sessions", "--json").objects
    assert {one["session"] for one in answers} > {SESSION}
    newest = [one["session"][:8] for one in sorted(answers, key=lambda one: one["last"] or "", reverse=True)]
    head, *lines = cli("sessions").out.splitlines()
    assert head.split() == ["last", "rounds", "lost", "session", "runtime", "where"]
    assert [next(name for name in newest if name in line) for line in lines] == newest
    assert any(line.endswith("later.jsonl") for line in lines)


def test_alerts_are_headed_by_round_time_and_place_and_ids_are_short(ingested: Cli) -> None:
    out = ingested("alerts").out
    assert "round 1, 2026-11-03 08:09, " in out
    assert SESSION not in out
    assert {one["round"] for one in ingested("alerts", "--json").objects} >= {1, 2}


def test_alerts_since_takes_how_long_ago(ingested: Cli) -> None:
    everything = ingested("alerts", "--json").objects
    assert ingested("alerts", "--json", "--since", "900000d").objects == everything
    assert ingested("alerts", "--json", "--since", "0m").objects == []
    for wrong in ("7", "d", "7 fortnights", "-3d"):
        assert ingested("alerts", f"--since={wrong}").code == 2
    assert "7d, 24h" in ingested("alerts", "--help").out


def test_answers_about_a_fact_show_short_ids(ingested: Cli) -> None:
    for command in ("recall", "carriers", "explain"):
        assert SESSION not in ingested(command, "The change has to be live by 2026-12-04.", "--session", SESSION).out
    words = ("staging-old.harbor.example:8443", "--session", SESSION, "--reason", "switched off", "--authority", "me")
    told = ingested("tombstone", *words).out
    assert "because: switched off, says me" in told
    assert "alerts that this raised or resolved:" in told


def test_help_cuts_no_description_short(cli: Cli) -> None:
    for command in ((), ("policy",), ("log",)):
        assert [
            line for line in cli(*command, "--help").out.splitlines() if line.startswith("  ") and line.endswith("...")
        ] == []
    told = cli("forgotten", "--help").out
    assert all(word in told for word in ("open", "acted on", "answered", "shorter form", "passing", "replaced later"))
