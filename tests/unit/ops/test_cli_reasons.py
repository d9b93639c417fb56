"""What is told of a session that declares no store, or that was never compacted (T1, R2, C4)."""

from __future__ import annotations

import json
from pathlib import Path

from schemas.codec import encode
from tests.support.cli import SAMPLE, SESSION, Cli
from tests.support.given import opened, span
from tests.support.talk import agent, transcript, user

DATE = "The change has to be live by 2026-12-04."


def claims(path: Path, *lines: dict[str, str]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def span_with(cli: Cli, words: str) -> str:
    """The span that first stated these words."""
    return str(cli("recall", words, "--session", SESSION, "--json").objects[0]["evidence"]["span"])


def test_r2_gate_of_a_session_without_a_store_asks_for_the_agents_own(ingested: Cli, tmp_path: Path) -> None:
    lines = (
        {"text": DATE, "key": "nowhere"},
        {"text": DATE, "key": span_with(ingested, DATE)},
        {"text": DATE, "summary": "none"},
    )
    ran = ingested("gate", "--session", SESSION, "--claims", claims(tmp_path / "claims", *lines), "--json")
    reasons = [claim["reason"] for claim in ran.object["claims"]]
    undeclared = f"session {SESSION} declares no retrieval store: name the agent's own with --retrieval COMMAND"
    assert reasons == [undeclared, undeclared, "no such summary on record"]
    assert ran.code == 1


def test_r2_gate_of_a_session_whose_store_is_the_ledger_says_that_the_key_is_unknown(cli: Cli, tmp_path: Path) -> None:
    told = [opened(store="ledger"), span(1, DATE)]
    (tmp_path / "records").write_bytes(b"".join(encode(one) + b"\n" for one in told))
    assert cli("record", "--file", tmp_path / "records").code == 0
    ran = cli("gate", "--session", "s1", "--claims", claims(tmp_path / "claims", {"text": DATE, "key": "nowhere"}), "--json")
    assert [claim["reason"] for claim in ran.object["claims"]] == ["no entry under this key"]


def test_t4_recall_says_what_the_agent_should_say(ingested: Cli) -> None:
    shown = ingested("recall", "Is it live by 2026-12-09?", "--session", SESSION).out
    assert "what the agent should say: As far as the ledger knows this was never said here" in " ".join(shown.split())


def test_t1_status_of_a_session_that_was_never_compacted_says_so_among_its_reasons(cli: Cli, tmp_path: Path) -> None:
    assert cli("ingest", transcript(tmp_path / "talk.jsonl", [user("Read it."), agent("I read it.")])).code == 0
    assert "- nothing was compacted yet" in cli("status", "talk").out
    assert cli("ingest", SAMPLE).code == 0
    assert "nothing was compacted" not in cli("status", SESSION).out
