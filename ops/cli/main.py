"""The command line, assembled. Each command imports what it needs when it runs, so that `--version` and `--help` are quick."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from ops.cli import allocator, exit, plain  # noqa: A004

EPILOG = (
    "Exit codes: 0 fine, 1 a violation was found, 2 usage, 3 unknown or inconclusive, 4 log not there or disk full, "
    "5 integrity error, 130 interrupted."
)

COMMANDS = {
    "demo": "demo",
    "inspect": "inspecting",
    "ingest": "ingesting",
    "check": "checking",
    "sessions": "asking",
    "forgotten": "forgetting",
    "status": "asking",
    "recall": "asking",
    "carriers": "asking",
    "explain": "asking",
    "alerts": "alerting",
    "tombstone": "writing",
    "replay": "auditing",
    "verify": "auditing",
    "gate": "desk",
    "audit": "desk",
    "acknowledge": "desk",
    "record": "desk",
    "rehearse": "rehearsing",
    "doctor": "doctoring",
    "worker": "working",
}
"""Commands, as the help lists them, and the modules whose functions of the same name they are."""

GROUPS = {"policy": "desk", "topics": "topics", "log": "copying"}
"""Commands of several words: `policy_app` of the module and so on."""


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"cledger {version('compaction-ledger')}")
        raise typer.Exit


def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    del version


def _asked(arguments: Sequence[str]) -> tuple[str, ...]:
    """The command that stands first; all of them where none does, for the help lists them and a misspelt one is told which
    come near.
    """
    known = (*COMMANDS, *GROUPS)
    return (arguments[0],) if arguments and arguments[0] in known else known


@cache
def _app(names: tuple[str, ...]) -> typer.Typer:
    """The command line with these commands. The modules of the others are not imported: a process is small then, and quick."""
    app = typer.Typer(
        name="cledger",
        help="The compaction ledger: what an agent's context compactions keep, lose and turn around.",
        epilog=EPILOG,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    for name in names:
        if name in COMMANDS:
            app.command()(getattr(import_module(f"ops.cli.{COMMANDS[name]}"), name))
        else:
            app.add_typer(getattr(import_module(f"ops.cli.{GROUPS[name]}"), f"{name}_app"), name=name)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (contracts section 4). Never prints a traceback, unless `CLEDGER_DEBUG=1`."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if _asked(arguments) != ("worker",):  # who serves for long asks for the same memory again and again
        allocator.keep_little()
        if plain.needs_none(arguments, os.environ):
            plain.load_plain()
    exit.begin()
    _prepare_streams()
    _quieten_diagnostics()
    try:
        with exit.faults_handled():
            _run(list(arguments))
    except KeyboardInterrupt:
        return exit.INTERRUPTED
    return exit.settled()


def _prepare_streams() -> None:
    """A terminal that cannot show a character gets it written out, and a stream that the caller closed is one nobody reads; no
    reason to stop.
    """
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  stays open as long as the process
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _quieten_diagnostics() -> None:
    """Diagnostics of the packages below are for whoever debugs them; what concerns users comes as an answer or an error."""
    import logging

    if exit.is_debugging():
        logging.basicConfig(stream=sys.stderr, level=logging.DEBUG)
    else:
        logging.getLogger().addHandler(logging.NullHandler())


def _run(arguments: list[str]) -> None:
    try:
        code = _app(_asked(arguments))(args=arguments, prog_name="cledger", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except Exception as error:
        # Usage errors of the option parser; their class lives in a package that typer has moved between versions.
        format_message = getattr(error, "format_message", None)
        if format_message is None:
            raise
        exit.settle(exit.USAGE)
        message = format_message()
        if type(error).__name__ == "NoArgsIsHelpError":
            print(message, file=sys.stderr)
            return
        context = getattr(error, "ctx", None)
        exit.complain(message, f"See: {context.command_path} --help" if context is not None else "See: cledger --help")
    else:
        if code == exit.INTERRUPTED:
            raise KeyboardInterrupt
        if isinstance(code, int):
            exit.settle(code)


if __name__ == "__main__":
    sys.exit(main())
