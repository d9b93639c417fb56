"""Fixtures of the surfaces: a place for logs of their own, and the command in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import SAMPLE, Cli, Ran, in_process


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """`CLEDGER_DATA` of this test; nothing of the user's is touched."""
    folder = tmp_path / "data"
    monkeypatch.setenv("CLEDGER_DATA", str(folder))
    monkeypatch.delenv("CLEDGER_LOG", raising=False)
    monkeypatch.delenv("CLEDGER_DEBUG", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    return folder


@pytest.fixture
def cli(data: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """`cledger`, run in this process."""

    def run(*arguments: Any) -> Ran:
        return in_process(capsys, *arguments)

    return run


@pytest.fixture
def ingested(cli: Cli) -> Cli:
    """`cledger` over a log that holds the bundled Claude Code session."""
    assert cli("ingest", SAMPLE, "--json").code == 0
    return cli
