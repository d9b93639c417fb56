"""The README as tests read it: its shell lines, its Python, and the output of the demo."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.support.cli import ROOT

README = ROOT / "README.md"
_DEMO = re.compile(r"(<!-- demo -->\n```text\n)(.*?)(```\n<!-- /demo -->)", re.DOTALL)

_EXCERPT = re.compile(r"(<!-- excerpt -->\n```text\n)(.*?)(```\n<!-- /excerpt -->)", re.DOTALL)

_LOSS = re.compile(r"(<!-- loss -->\n```json\n)(.*?)(```\n<!-- /loss -->)", re.DOTALL)


def blocks(language: str, text: str) -> list[str]:
    """Contents of the fenced blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def shell_lines(text: str) -> list[str]:
    """Every command shown."""
    return [line for block in blocks("sh", text) for line in block.splitlines() if line.strip()]


def fleet_lines(text: str) -> list[str]:
    """Every command shown for a fleet, which needs a broker."""
    return [line for block in blocks("sh fleet", text) for line in block.splitlines() if line.strip()]


def demo_output(text: str) -> str:
    """What the page says that the demo prints."""
    found = _DEMO.search(text)
    assert found is not None, "README.md has no place for the demo's output"
    return found[2]


def with_demo_output(text: str, output: str) -> str:
    """The page with this output of the demo, and the worst two losses of it on the first screen."""
    shown = _DEMO.sub(lambda found: found[1] + output + found[3], text)
    return _EXCERPT.sub(lambda found: found[1] + worst_losses(output) + found[3], shown)


def worst_losses(output: str) -> str:
    """The part of a demo's output that lists its two worst losses."""
    _, head, listed = output.partition("  worst first\n")
    kept, cut, _ = listed.partition("   3. ")
    if not head or not cut:
        raise ValueError("the demo lists fewer than three losses")
    return head + kept


def excerpt(text: str) -> str:
    """What the first screen of the page shows of the demo."""
    found = _EXCERPT.search(text)
    assert found is not None, "README.md has no place for the excerpt"
    return found[2]


def loss(text: str) -> str:
    """The object of one loss that the page shows."""
    found = _LOSS.search(text)
    assert found is not None, "README.md has no place for the object of a loss"
    return found[2]


def with_loss(text: str, answer: dict[str, Any]) -> str:
    """The page with the first loss of this answer."""
    shown = json.dumps(first_loss(answer), ensure_ascii=False, indent=2)
    return _LOSS.sub(lambda found: f"{found[1]}{shown}\n{found[3]}", text)


def first_loss(answer: dict[str, Any]) -> dict[str, Any]:
    """The first loss of an answer of `forgotten`, with the path as seen from the project."""
    entry: dict[str, Any] = answer["forgotten"][0]
    return {**entry, "path": str(Path(entry["path"]).relative_to(ROOT))}
