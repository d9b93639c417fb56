"""What leaves the command: JSON lines and text on stdout, talk on stderr.

Transcript text is data (P10): whatever could steer a terminal or reorder what a person reads is made visible first.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from ops.cli.exit import ReaderGone
from ops.cli.visible import visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

WIDTH_OFF_TERMINAL = 80
WIDTH_MAX = 120
"""Longer lines of prose are hard to read, however wide the window is."""

_WORD = re.compile(r"\S+\s*")
_HIDDEN_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def one_line(text: str, limit: int = 0) -> str:
    """`visible` on one line, cut at `limit` characters if one is given."""
    line = visible(" ".join(text.split()))
    return line if not limit or len(line) <= limit else line[: limit - 1] + "…"


def json_line(value: object) -> str:
    """One object on one line. Characters that steer terminals are escaped, which changes no value.

    A lone surrogate, as in the name of a file whose bytes are no text, is no JSON either and comes out as `visible` writes it.
    """
    try:
        text = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        text = msgspec.json.encode(_storable(msgspec.to_builtins(value))).decode()
    return _HIDDEN_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _storable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, list | tuple) else value


def print_json(value: object) -> None:
    """Write one JSON line to stdout and flush, so that a stream can be followed."""
    write_line(json_line(value).encode())


def write_line(line: bytes) -> None:
    """Write bytes and a line break to stdout as they are."""
    buffer = getattr(sys.stdout, "buffer", None)
    try:
        if buffer is None:
            sys.stdout.write(line.decode("utf-8", "replace") + "\n")
        else:
            sys.stdout.flush()
            buffer.write(line + b"\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGone from None


A = TypeVar("A")


def put(answer: A, as_json: bool, show: Callable[[A], None]) -> None:
    """One answer, for a program or for a person."""
    if as_json:
        print_json(answer)
    else:
        show(answer)


_consoles: dict[bool, tuple[object, Console]] = {}


def console(*, stderr: bool = False) -> Console:
    """The console for data, or for talk. Plain off a terminal; `NO_COLOR` and `COLUMNS` are honoured."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    known = _consoles.get(stderr)
    if known is not None and known[0] is stream:
        return known[1]

    class PlainConsole(Console):
        """Leaves a pipe that the reader has closed to the caller, who keeps the verdict; rich itself would end with 1."""

        def on_broken_pipe(self) -> None:
            raise ReaderGone

    made = PlainConsole(file=stream, markup=False, highlight=False, emoji=False)
    if made.width < 1 or "COLUMNS" not in os.environ:
        made.width = min(made.width, WIDTH_MAX) if stream.isatty() else WIDTH_OFF_TERMINAL
    _consoles[stderr] = stream, made
    return made


Part = str | tuple[str, str]
"""A piece of text, plain or with a style."""


def styled(*parts: Part) -> Text:
    """Text from pieces; every piece is made visible and none is read as markup."""
    from rich.text import Text

    text = Text()
    for part in parts:
        words, style = (part, "") if isinstance(part, str) else part
        text.append(visible(words), style=style)
    return text


def say(*parts: Part, indent: int = 0, hang: int = 0) -> None:
    """A paragraph of data on stdout, its later lines `hang` columns further in. It wraps between words, so that a path or an id
    can be copied whole.
    """
    out = console()
    for number, line in enumerate(_wrapped(styled(*parts), out.width - indent - hang)):
        _print_line(out, indent + (hang if number else 0), line)


def say_command(line: str, indent: int = 0) -> None:
    """A command to be copied: on a line of its own, never broken."""
    _print_line(console(), indent, styled((line, "bold")))


def _wrapped(text: Text, width: int) -> list[Text]:
    """Lines of at most `width` columns, unless a single word is longer: words are never broken."""
    from rich.cells import cell_len

    plain, start, breaks = text.plain, 0, []
    for word in _WORD.finditer(plain):
        if word.start() > start and cell_len(plain[start : word.end()].rstrip()) > max(width, 20):
            breaks.append(word.start())
            start = word.start()
    return list(text.divide(breaks))


def _print_line(out: Console, indent: int, line: Text) -> None:
    from rich.text import Text

    line.rstrip()
    out.print(Text(" " * indent).append_text(line), no_wrap=True, overflow="ignore", crop=False)


def talk(message: str) -> None:
    """A line for people on stderr: progress, warnings, what to do next."""
    print(visible(message), file=sys.stderr, flush=True)


def rule_off(title: str) -> None:
    """A heading on stdout, with an empty line before it."""
    say("")
    say((title, "bold"))


def listing(
    rows: Iterable[Sequence[str]], *, header: Sequence[str] = (), right: frozenset[int] = frozenset(), indent: int = 0
) -> None:
    """Columns without frames; the last one wraps, the columns numbered in `right` hold figures."""
    from rich.cells import cell_len
    from rich.text import Text

    lines = [[one_line(cell) for cell in row] for row in rows]
    if not lines:
        return
    shown = [list(header), *lines] if header else lines
    widths = [max(cell_len(line[at]) for line in shown) for at in range(len(lines[0]) - 1)]
    out = console()
    for number, line in enumerate(shown):
        style = "bold" if header and number == 0 else ""
        head = Text(style=style)
        for at, width in enumerate(widths):
            gap = " " * (width - cell_len(line[at]))
            head.append((gap + line[at] if at in right else line[at] + gap) + "  ")
        column = indent + cell_len(head.plain)
        tail = _wrapped(Text(line[-1], style=style), out.width - column) or [Text()]
        _print_line(out, indent, head.append_text(tail[0]))
        for more in tail[1:]:
            _print_line(out, column, more)
