"""The README as tests read it: its shell lines, its Python, and the output of the demo."""

from __future__ import annotations

import re

from tests.support.cli import ROOT

README = ROOT / "README.md"
_DEMO = re.compile(r"(<!-- demo -->\n```text\n)(.*?)(```\n<!-- /demo -->)", re.DOTALL)


def blocks(language: str, text: str) -> list[str]:
    """Contents of the fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def shell_lines(text: str) -> list[str]:
    """Every command shown."""
    return [line for block in blocks("sh", text) for line in block.splitlines() if line.strip()]


def demo_output(text: str) -> str:
    """What the page says that the demo prints."""
    found = _DEMO.search(text)
    assert found is not None, "README.md has no place for the demo's output"
    return found[2]


def with_demo_output(text: str, output: str) -> str:
    """The page with this output of the demo."""
    return _DEMO.sub(lambda found: found[1] + output + found[3], text)
