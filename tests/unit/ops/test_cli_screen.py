"""What is printed: transcript text cannot steer a terminal (P10), JSON keeps every value, lines fit the window."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops.cli import screen
from ops.cli.screen import json_line, listing, one_line, say, styled
from ops.cli.visible import visible

ANY_TEXT = st.text(st.characters(codec=None))


@given(ANY_TEXT)
def test_visible_leaves_nothing_that_steers_or_hides(text: str) -> None:
    """P10: no control but tab and line feed, no bidirectional control, no lone surrogate."""
    shown = visible(text)
    for character in shown:
        assert character in "\t\n" or unicodedata.category(character) not in {"Cc", "Cs", "Zl", "Zp"}
        assert unicodedata.bidirectional(character) not in {"LRO", "RLO", "LRE", "RLE", "PDF", "LRI", "RLI", "FSI", "PDI"}


def test_visible_leaves_ordinary_text_alone() -> None:
    for text in ("plain", "tab\tand\nline", "naïve — “quoted” 日本語 العربية 👩‍👩‍👧 क्ष", "[bold]not markup[/bold]"):
        assert visible(text) == text


def test_visible_writes_escapes_out() -> None:
    assert visible("\x1b[2J\x9b5m\u202e\ud800\U000e0041") == "\\x1b[2J\\x9b5m\\u202e\\ud800\\U000e0041"


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_json_line_keeps_every_value_on_one_line_of_safe_characters(text: str) -> None:
    line = json_line({"text": text})
    assert json.loads(line) == {"text": text}
    assert not any(unicodedata.category(character) in {"Cc", "Zl", "Zp"} for character in line)


def test_json_line_writes_lone_surrogates_out() -> None:
    assert json.loads(json_line({"path": "a\udcffb", "more": ["\ud800"]})) == {"path": "a\\udcffb", "more": ["\\ud800"]}


def test_say_reads_no_markup_and_no_emoji_code(capsys: pytest.CaptureFixture[str]) -> None:
    say("[red]x[/red] :warning: [link=file:///etc/passwd]y[/link]")
    assert capsys.readouterr().out == "[red]x[/red] :warning: [link=file:///etc/passwd]y[/link]\n"


def test_say_wraps_between_words_within_80_columns_and_never_breaks_one(capsys: pytest.CaptureFixture[str]) -> None:
    say("word " * 60, indent=6, hang=2)
    long = "/a/very/long/path/" + "x" * 120
    say("see ", long, indent=4)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 or long in line for line in lines)
    assert any(line.strip() == long for line in lines)
    assert lines[0].startswith("      word")
    assert lines[1].startswith("        word")
    assert not any(line.endswith(" ") for line in lines)


def test_listing_wraps_its_last_column_only(capsys: pytest.CaptureFixture[str]) -> None:
    listing([("1", "short", "tail " * 30), ("22", "longer", "x")], header=("n", "name", "what"), right=frozenset({0}))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == " n  name    what"
    assert lines[1].startswith(" 1  short   tail")
    assert lines[2].startswith("            tail")
    assert lines[-1] == "22  longer  x"
    assert max(map(len, lines)) <= 80


def test_listing_makes_cells_visible(capsys: pytest.CaptureFixture[str]) -> None:
    listing([("a\x1b[31m", "b\nc")])
    assert capsys.readouterr().out == "a\\x1b[31m  b c\n"


def test_one_line_cuts_and_joins() -> None:
    assert one_line("a\n\n b\tc") == "a b c"
    assert one_line("abcdef", 4) == "abc…"


def test_styled_keeps_styles_apart_from_words() -> None:
    text = styled("a", ("b", "bold"))
    assert text.plain == "ab"
    assert [str(span.style) for span in text.spans if str(span.style)] == ["bold"]


def test_console_follows_a_replaced_stream(capsys: pytest.CaptureFixture[str]) -> None:
    first = screen.console()
    assert screen.console() is first
    assert first.width == screen.WIDTH_OFF_TERMINAL
