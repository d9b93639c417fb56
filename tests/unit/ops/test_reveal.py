"""`--reveal`: masked words are shown from the file on this machine, only while its bytes are what was read (P11)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.masking import mask
from ops.queries.reveal import unmasked
from tests.support.cli import SESSION, Cli, with_rules

TOKEN = "ghp_" + "a1B2" * 9
SECOND = "ghp_" + "z9Y8" * 9
RULE = f"Never push with the token {TOKEN} from the build host, and never with {SECOND} from a laptop."


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return with_rules(tmp_path / "secret.jsonl", RULE)


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


PIECES = st.lists(st.sampled_from([TOKEN, SECOND, " ", "ab", "é日\n", "[masked:github-token]", "\ud800"]), max_size=8)


@given(PIECES.map(" ".join), st.data())
def test_unmasked_gives_the_piece_whose_mask_is_the_quote(raw: str, data: st.DataObject) -> None:
    masked = mask(raw)
    start = data.draw(st.integers(0, len(masked)))
    end = data.draw(st.integers(start, len(masked)))
    found = unmasked(raw, masked[start:end], start, end)
    assert found in raw
    assert mask(raw[: len(raw)]) == masked
    if masked[start:end].count("[masked:") == masked[start:end].count("]"):
        assert found.count(TOKEN) + found.count(SECOND) + found.count("[masked:") >= masked[start:end].count("[masked:")
    if start == 0 and end == len(masked):
        assert found == raw


def test_unmasked_keeps_words_around_a_secret() -> None:
    raw = f"é {TOKEN} b {SECOND} c"
    masked = mask(raw)
    start = masked.index(" b ")
    assert unmasked(raw, " b ", start, start + 3) == " b "
    assert unmasked(raw, masked[2:], 2, len(masked)) == raw[2:]
    assert unmasked(raw, masked[: start + 2], 0, start + 2) == f"é {TOKEN} b"


def test_unmasked_gives_nothing_where_the_quote_does_not_stand() -> None:
    assert unmasked("nothing here", "[masked:github-token]", 0, 21) == ""
    assert unmasked(f"a {TOKEN}", "b [masked:github-token]", 0, 23) == ""
