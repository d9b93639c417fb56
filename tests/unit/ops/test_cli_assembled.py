"""The command line holds what the command needs that was asked for (goal G10: memory of a command)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ops.cli.main import COMMANDS, GROUPS, _app, _asked


@pytest.mark.parametrize("name", [*COMMANDS, *GROUPS])
def test_command_that_stands_first_is_the_only_one_assembled(name: str) -> None:
    assert _asked([name, "--help"]) == (name,)
    app = _app((name,))
    assert len(app.registered_commands) + len(app.registered_groups) == 1


@pytest.mark.parametrize("arguments", [[], ["--help"], ["forgoten"], ["--version", "ingest"]])
def test_without_a_command_all_are_assembled_for_the_help_and_for_near_names(arguments: list[str]) -> None:
    assert _asked(arguments) == (*COMMANDS, *GROUPS)


def test_modules_of_other_commands_are_not_imported() -> None:
    program = "import sys; from ops.cli.main import main; main(['ingest', '--help']); print(*sorted(sys.modules))"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    loaded = set(told.split())
    assert "ops.cli.ingesting" in loaded
    assert loaded.isdisjoint({"ops.cli.demo", "ops.cli.working", "ops.cli.rehearsing", "aiokafka", "faust"})
