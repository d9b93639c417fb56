"""`--reveal`: masked words are shown from the file on this machine, only while its bytes are what was read (P11)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.masking import mask
from ops.queries.reveal import unmasked
from tests.support.cli import SAMPLE, SESSION, Cli

TOKEN = "ghp_" + "a1B2" * 9
SECOND = "ghp_" + "z9Y8" * 9
RULE = f"Never push with the token {TOKEN} from the build host, and never with {SECOND} from a laptop."


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    lines = SAMPLE.read_text().splitlines()
    for at, line in enumerate(lines):
        entry = json.loads(line)
        content = entry.get("message", {}).get("content") if entry.get("type") == "user" else None
        if isinstance(content, str) and "Ground rules" in content:
            entry["message"]["content"] = RULE
            lines[at] = json.dumps(entry)
    path = tmp_path / "secret.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def _texts(cli: Cli, *arguments: object) -> str:
    return "\n".join(one["text"] for one in cli("forgotten", *arguments, "--json", "--limit", 0).object["forgotten"])


def test_reveal_shows_what_was_masked_and_nothing_does_unasked(cli: Cli, transcript: Path, data: Path) -> None:
    masked = _texts(cli, transcript)
    assert TOKEN not in masked
    assert "[masked:" in masked
    cli("ingest", transcript)
    assert not any(TOKEN.encode() in path.read_bytes() for path in data.rglob("*.mdb"))
    for target in (transcript, SESSION):
        shown = _texts(cli, target, "--reveal")
        assert TOKEN in shown
        assert "[masked:" not in shown


def test_reveal_refuses_a_file_that_has_changed_or_is_gone(cli: Cli, transcript: Path) -> None:
    cli("ingest", transcript)
    transcript.write_text(transcript.read_text().replace(TOKEN, SECOND))
    ran = cli("forgotten", SESSION, "--json", "--limit", 0, "--reveal")
    assert ran.code == 1
    assert SECOND not in ran.out
    assert "has changed since it was read" in ran.err
    transcript.unlink()
    ran = cli("forgotten", SESSION, "--json", "--limit", 0, "--reveal")
    assert "cannot be read any more" in ran.err
    assert TOKEN not in ran.out


@given(st.text("ab \n", max_size=20), st.text("ab \n", max_size=20), st.text("ab ", max_size=20))
def test_unmasked_gives_the_piece_whose_mask_is_the_quote(before: str, between: str, after: str) -> None:
    raw = f"{before} {TOKEN} {between} {SECOND} {after}"
    quote = mask(raw).strip()
    found = unmasked(raw, quote)
    assert mask(found).strip() == quote
    assert TOKEN in found
    assert SECOND in found


def test_unmasked_gives_nothing_where_the_quote_does_not_stand() -> None:
    assert unmasked("nothing here", "[masked:github-token]") == ""
    assert unmasked(f"a {TOKEN}", "b [masked:github-token]") == ""
