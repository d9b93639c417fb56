"""Damage for fuzzing, drawn from a seed: the same seed damages the same bytes in the same way on every machine.

`CLEDGER_FUZZ` sets how many cases all fuzz tests run. A failure names its case; `CLEDGER_FUZZ_SEED` runs that one only.
"""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Callable, Iterable
from random import Random
from typing import Any

SHARES = 33
"""Fuzz tests there are; each gets an equal share."""

CASES = -(-int(os.environ.get("CLEDGER_FUZZ", "12000")) // SHARES)
ONE = os.environ.get("CLEDGER_FUZZ_SEED")

NASTY: tuple[Callable[[Random], Any], ...] = (
    lambda _: None,
    lambda _: True,
    lambda _: False,
    lambda _: 0,
    lambda _: -1,
    lambda _: 2**53,
    lambda _: 2**64,
    lambda _: -(2**63) - 1,
    lambda _: 10**400,
    lambda _: 1.5,
    lambda _: 1e308,
    lambda _: "",
    lambda _: " ",
    lambda _: "\0\x1b[31m\u202e",
    lambda _: "\ud83d half",
    lambda chance: "x" * chance.choice((1, 300, 70_000)),
    lambda _: [],
    lambda _: {},
    lambda _: [None, 1, "a", {"text": 5}, [[]]],
    lambda _: {"type": {"type": []}, "content": {"content": 1}, "text": None},
    lambda chance: nested(chance.choice((5, 60, 2000, 100_000))),
    lambda chance: chance.choice(("user", "assistant", "tool_result", "text", "summary", "message", "2026-13-45T99:00:00Z")),
)
"""Values that a field's reader might not expect."""


def nested(depth: int) -> str:
    """Lists in lists: a mark, since no encoder goes so deep; `bombs` puts them in its place."""
    return f"@nested:{depth}"


def bombs(data: bytes) -> bytes:
    """Lists in lists, where a mark stands for them."""
    return _MARK.sub(lambda match: b"[" * int(match[1]) + b"]" * int(match[1]), data)


_MARK = re.compile(rb'"@nested:(\d+)"')


def seeds(count: int = CASES) -> Iterable[int]:
    """The seeds of a test's cases."""
    return [int(ONE)] if ONE is not None else range(count)


def encoded(value: Any) -> bytes:
    """Compact JSON; half surrogates stay escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return bombs(text.encode())
    except UnicodeEncodeError:
        return bombs(json.dumps(value, separators=(",", ":")).encode())


# --- values ------------------------------------------------------------------------------------------------------------------


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container below `value`, the outermost included, with each of its keys."""
    found: list[tuple[Any, Any]] = []
    todo = [value]
    while todo:
        one = todo.pop()
        keys: Iterable[Any] = one.keys() if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        for key in keys:
            found.append((one, key))
            todo.append(one[key])
    return found


def altered(value: Any, chance: Random, *, spare: frozenset[str] = frozenset(), moves: bool = True) -> Any:
    """A copy in which one to three fields are gone, doubled, moved or hold something else. Fields in `spare` are left alone."""
    value = copy.deepcopy(value)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        open_ = [(one, key) for one, key in places(value) if key not in spare]
        if not open_:
            break
        one, key = chance.choice(open_)
        kind = chance.random()
        if kind < 0.7:
            one[key] = chance.choice(NASTY)(chance)
        elif kind < 0.8:
            del one[key]
        elif kind < 0.9 and moves:
            other, where = chance.choice(open_)
            one[key] = copy.deepcopy(other[where])
        elif isinstance(one, dict):
            one["extra"] = one[key]
        else:
            one.append(one[key])
    return value


# --- bytes -------------------------------------------------------------------------------------------------------------------


def damaged(data: bytes, chance: Random) -> bytes:
    """One to four steps of damage as disks, editors, pagers and crashes do it."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        data = chance.choice(STEPS)(data, chance)
    return data


def _flip(data: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + bytes(chance.randrange(256) for _ in range(chance.choice((1, 1, 4)))) + data[at + 1 :]


def _bit(data: bytes, chance: Random) -> bytes:
    if not data:
        return data
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]


def _truncate(data: bytes, chance: Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _behead(data: bytes, chance: Random) -> bytes:
    return data[chance.randrange(len(data) + 1) :]


def _cut_out(data: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[at + chance.choice((1, 2, 10, 200)) :]


def _insert(data: bytes, chance: Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    what = chance.choice(
        (b"\n", b"\r\n", b"\0", b'"', b"\\", b"{", b"}", b"]", b"[" * 3000, b'{"a":' * 3000, b"\xff\xfe", b"\xed\xa0\x80",
         b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\\ud800", b"\x1b", b"1" * 5000, b"\n\n\n", b"null\n", b"[]\n", b"{}\n", b'"x"\n')
    )  # fmt: skip
    return data[:at] + what + data[at:]


def _lines(change: Callable[[list[bytes], Random], None]) -> Callable[[bytes, Random], bytes]:
    def apply(data: bytes, chance: Random) -> bytes:
        lines = data.split(b"\n")
        change(lines, chance)
        return b"\n".join(lines)

    return apply


def _swap(lines: list[bytes], chance: Random) -> None:
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]


def _repeat(lines: list[bytes], chance: Random) -> None:
    lines.insert(chance.randrange(len(lines) + 1), chance.choice(lines))


def _replay(lines: list[bytes], chance: Random) -> None:
    start = chance.randrange(len(lines))
    lines[start:start] = lines[:start]


def _lose(lines: list[bytes], chance: Random) -> None:
    del lines[chance.randrange(len(lines))]


def _merge(lines: list[bytes], chance: Random) -> None:
    at = chance.randrange(len(lines))
    lines[at : at + 2] = [b"".join(lines[at : at + 2])]


def _halve(lines: list[bytes], chance: Random) -> None:
    at = chance.randrange(len(lines))
    where = chance.randrange(len(lines[at]) + 1)
    lines[at : at + 1] = [lines[at][:where], lines[at][where:]]


STEPS: tuple[Callable[[bytes, Random], bytes], ...] = (
    _flip, _bit, _truncate, _behead, _cut_out, _insert, _insert,
    *map(_lines, (_swap, _repeat, _replay, _lose, _merge, _halve)),
)  # fmt: skip
