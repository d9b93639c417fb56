"""What an audit, a gate, a stream of alerts and a sum say to people: sentences, the worst first, and what to do next."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ledger.log import EVENTS, NewEntry
from ops.cli.alerting import worst_first
from ops.cli.verdicts import show_audit, show_gate
from ops.desk import AuditAnswer, ClaimAnswer, GateAnswer
from ops.queries.alerts import AlertAnswer
from ops.wiring import open_log
from tests.support.cli import CODEX_SAMPLE, SAMPLE, SESSION, Cli, has_no_traceback

STORE = '#!/bin/sh\nread line\necho \'{"status": "STATUS", "carrier": "x", "raw": true, "text": "TEXT"}\'\n'
CODES = ("not_found", "absent,", "T4 ", "audit_failed,")


def store(path: Path, status: str, text: str = "") -> Path:
    path.write_text(STORE.replace("STATUS", status).replace("TEXT", text))
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("status", "text", "told"),
    [
        ("absent", "", "the store has nothing under this id"),
        ("empty", "", "the store has this id, and nothing under it"),
        ("tombstone", "", "the store says that it was dropped on purpose"),
        ("ok", "another text", "something else came back than was recorded"),
        ("no status", "", "the store could not be asked"),
    ],
)
def test_audit_that_failed_says_what_came_back_and_what_to_do(
    ingested: Cli, tmp_path: Path, status: str, text: str, told: str
) -> None:
    """T2: in words, once, with the command that audits again."""
    command = store(tmp_path / "store", status, text)
    ran = ingested("audit", SESSION, "--retrieval", command)
    said = " ".join(ran.out.split())
    assert ran.code == 1
    assert "the store was asked for span" in said
    assert told in said
    assert ("something else came back" in said) == (status == "ok")
    assert "- audit_failed: an evicted span did not come back" in said
    assert f"cledger audit {SESSION} --retrieval {command}" in ran.out
    assert not any(code in said for code in CODES)


def audited(**fields: object) -> AuditAnswer:
    given: dict[str, object] = {"passed": True, "status": "ok", "detail": "", "omitted_facts": 0, "trust": "lossless"}
    given |= {"session": "s", "span": "s:1", "fact": "f", "reasons": [], "event": "e1", **fields}
    return AuditAnswer(**given)  # type: ignore[arg-type]


def test_audit_that_passed_says_how_trust_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    """T3: a degraded session is acknowledged with the event that shows the repair."""
    show_audit(audited(trust="degraded", reasons=["audit_failed"]), None)
    said = capsys.readouterr().out
    assert "it came back word for word" in said
    assert "cledger acknowledge s --evidence e1" in said
    show_audit(audited(), None)
    assert "acknowledge" not in capsys.readouterr().out


def gated(decision: str, reason: str, status: str, why: str = "") -> GateAnswer:
    claim = ClaimAnswer(text="The limit is 40.", status=status, authority="", reason=why, substantiated_by=None)
    return GateAnswer(decision=decision, claims=[claim], trust="unknown", reason=reason, rule="T4", request="r")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (gated("denied", "unknown", "not_found"), "denied: trust in this session is unknown (rule T4)"),
        (gated("denied", "degraded", "not_raw"), "denied: trust in this session is degraded (rule T4)"),
        (gated("denied", "not_substantiated", "not_found"), "denied: not every claim was shown to hold (rule T4)"),
        (gated("denied", "contradicted_by:s:9", "contradicted", "contradicted_by:s:9"), "a later span says otherwise: s:9"),
        (gated("allowed", "", "not_found"), "allowed: it changes nothing anywhere, so it may go on"),
        (gated("allowed", "", "holds"), "allowed: every claim was fetched and holds"),
    ],
)
def test_gate_tells_its_decision_in_a_sentence_with_the_next_step(
    answer: GateAnswer, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """R5, T4: no bare codes; a missing trust points to where it is explained."""
    show_gate(answer, "s")
    out, err = capsys.readouterr()
    said = " ".join(out.split())
    assert told in said
    assert "“The limit is 40.”" in said
    assert ("cledger status s" in said) == (answer.reason in ("unknown", "degraded"))
    assert ("read the original" in err) == (answer.decision == "denied")
    assert "not_" not in said
    assert "_by" not in said


def alert(group: str, severity: str, state: str = "raised", number: int = 0) -> AlertAnswer:
    fields = dict.fromkeys(("kind", "rule", "scope", "session", "subject", "fingerprint", "reason", "runbook", "position"), "")
    more = {"quotes": [], "evidence_spans": [], "time": None, "output_seq": number}
    return AlertAnswer(state=state, severity=severity, group=group, **fields, **more)  # type: ignore[arg-type]


def test_alerts_since_a_time_begin_with_the_pages(ingested: Cli) -> None:
    """For people; the stream itself keeps its order."""
    shown = ingested("alerts", "--since", "2026-11-01").out.splitlines()
    kinds = [line.split()[0] for line in shown if line.startswith("  ") and not line.startswith("   ")]
    groups = "".join({"page": "p", "ticket": "t", "info": "i", "resolved": "r"}[kind] for kind in kinds)
    assert groups.startswith("p")
    assert ingested("alerts", "--since", "2026-11-01", "--json").objects == ingested("alerts", "--json").objects
    stream = [
        alert("a", "ticket"),
        alert("a", "ticket"),
        alert("b", "page", "resolved"),
        alert("c", "info"),
        alert("c", "page"),
    ]
    stream += [alert("b", "ticket"), alert("d", "page")]
    ordered = [(each.group, each.severity, each.state) for each in worst_first(stream)]
    assert ordered == [
        ("c", "page", "raised"),
        ("c", "info", "raised"),
        ("d", "page", "raised"),
        ("a", "ticket", "raised"),
        ("a", "ticket", "raised"),
        ("b", "ticket", "raised"),
        ("b", "page", "resolved"),
    ]


def total(answer: dict[str, int]) -> int:
    """What stands in the log, by its kinds."""
    return answer["records"] + answer["decisions"] + answer["alerts"] + answer["duplicates"] - answer["due"]


async def said_again(url: str, records: int) -> None:
    """Append the first records once more."""
    log = await open_log(url, create=False)
    first = await log.read(EVENTS, 0, 0, max_entries=records)
    await log.append(EVENTS, [NewEntry(entry.key, entry.value) for entry in first])
    await log.close()


def test_verify_says_all_entries(ingested: Cli, data: Path) -> None:
    """P3: records that came again are entries as well; with them the sum is right."""
    before = ingested("verify", "--json").object
    assert (before["duplicates"], total(before)) == (0, before["entries"])
    asyncio.run(said_again(f"lmdb:{data / 'log'}", 3))
    again = ingested("verify", "--json").object
    assert (again["duplicates"], total(again)) == (3, again["entries"])
    assert "3 duplicates" in ingested("verify").out


@pytest.mark.parametrize("command", ["inspect", "ingest", "forgotten", "rehearse", "check", "record", "gate"])
def test_path_that_goes_round_in_a_circle_or_breaks_a_line_is_told_on_one_line(
    command: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P10: the way out stands below the error, not in the middle of a name."""
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    for path in ("./loop", "./loop/below", "./no\nsuch\nfile"):
        arguments = {"check": [path, path], "record": ["--file", path], "gate": ["--session", "s", "--claims", path]}
        ran = cli(command, *arguments.get(command, [path]))
        assert ran.code in (2, 4), (path, ran.err)
        assert has_no_traceback(ran)
        first = ran.err.splitlines()[0]
        assert first.startswith("error: ")
        if command != "gate":
            assert path.removeprefix("./").replace("\n", r"\x0a") in first


def test_log_and_files_under_a_name_with_a_line_break_are_used_like_any_other(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "a\nb"
    place.mkdir()
    for sample in (SAMPLE, CODEX_SAMPLE):
        (place / f"x\n{sample.name}").write_bytes(sample.read_bytes())
    monkeypatch.chdir(place)
    url = f"lmdb:{place / 'log'}"
    ran = cli("ingest", place, "--log", url)
    assert ran.code == 0
    assert r"x\x0acodex" in ran.out
    assert cli("verify", "--log", url, "--json").object["problems"] == []
    Path("loop").symlink_to("loop")
    for address in ("lmdb:loop", "lmdb:loop/below"):
        for command in ("sessions", "verify", "doctor"):
            ran = cli(command, "--log", address)
            assert ran.code == 4, (command, ran.err)
            assert has_no_traceback(ran)
    assert json.loads(cli("sessions", "--log", url, "--json").out.splitlines()[0])["path"].startswith(str(place))
