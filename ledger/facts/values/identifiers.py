"""Identifiers: names that mean something byte for byte (paths, addresses, flags, hashes, codes, symbols, versions).

`classify` takes one run of characters without spaces and says what kind of identifier it is, or that it is none. What counts is
shape alone; ordinary words, brand names and measured values are none.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from tomllib import loads

from ledger.facts.language.fold import DIGITS, LETTER, LOWER, SPACE, UPPER, fold
from ledger.facts.values.units import SYMBOLS, WORDS

_data = loads((files("ledger.facts") / "data" / "identifiers.toml").read_text("utf-8"))
_EXTENSIONS = frozenset(_data["extensions"].split())
_DOMAINS = frozenset(_data["domains"].split())
_BRANDS = frozenset(_data["brands"].lower().split())
_COMPOUND_TAILS = frozenset(_data["compound_tails"].split())
NUMBERED = frozenset(_data["numbered"].split())
"""Folded words before a number, with a hyphen or without, that is a degree and no part of a name: `severity-3`."""

NAMES_IN_FILES = frozenset({"symbol", "", "file", "path"})
"""Kinds of names that whoever carries on finds again in the files; addresses, hashes and tickets only a session knows."""

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s<>\"'`]+", re.ASCII)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", re.ASCII)
_HEX = re.compile(r"(?:0x)?[0-9a-f]{7,64}|sha\d{1,3}:[0-9a-f]{6,}|0x[0-9a-fA-F]+", re.ASCII)
_FLAG = re.compile(r"--?[A-Za-z][A-Za-z0-9_-]*(?:=[^\s,;]+)?", re.ASCII)
_VERSION = re.compile(
    r"v?\d+\.\d+\.\d+(?:[.+-][0-9A-Za-z.+-]+)?|v\d+(?:\.\d+)*(?:-[0-9A-Za-z.]+)?|\d+\.\d+(?:\.\d+)*-?(?:rc|alpha|beta|b|a|dev)\.?\d*",
    re.ASCII,
)
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?::\d+|/\d+)?", re.ASCII)
_PATH = re.compile(
    r"(?:~|\.{1,2}|@?[\w.@+*{}$<>\[\]-]+)?(?:/[\w.@+*{}$<>\[\]=%-]+)+/?(?::\d+(?:-\d+)?(?::\d+)?)?|[\w.@+-]+/"
    r"|[A-Za-z]:\\[\w\\ .-]+",
    re.ASCII,
)
_FILE = re.compile(r"\.?[\w@+-]+(?:\.[\w@+*-]+)*\.([A-Za-z][A-Za-z0-9]{0,9})(?::\d+(?:-\d+)?(?::\d+)?)?", re.ASCII)
_DOTFILE = re.compile(r"\.[a-z][\w-]+(?:\.[\w-]+)*", re.ASCII)
_HOST = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+([a-z]{2,})(?::\d+)?|localhost:\d+|[a-z][a-z0-9-]*:\d{2,5}", re.ASCII
)
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+(?:\(\))?", re.ASCII)
_CALL = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)\w+)*\([\w, ]*\)", re.ASCII)
_SNAKE = re.compile(r"_*[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+_*|_+[A-Za-z]\w*[A-Za-z0-9]|\$\{?[A-Z_][A-Z0-9_]*\}?", re.ASCII)
_CAMEL = re.compile(r"[a-z]+[a-z0-9]*[A-Z]\w*|[A-Z][a-z0-9]+(?:[A-Z]\w*)+|[A-Z]{2,}[a-z]+[A-Z]\w*", re.ASCII)
_CODE = re.compile(
    r"[A-Za-z][A-Za-z0-9]{0,14}(?:-[A-Za-z0-9]{1,12}){0,2}-v?\d+(?:\.\d+)+(?:-[A-Za-z0-9.]{1,16}){0,3}|[A-Za-z]{1,10}(?:[-/][A-Za-z0-9]{1,12}){0,3}[-/]?\d[A-Za-z0-9]*(?:[-/][A-Za-z0-9]{1,12}){0,4}|\d{1,6}-[A-Z]{1,3}\d*|[A-Z]{1,4}-[A-Z]{1,4}(?:-\w{1,6})?|[A-Z]\d{1,5}[A-Z]?\d*",
    re.ASCII,
)
_MEASURE = re.compile(r"[+-]?\d[\d.,]*(?:[a-zA-Z%µμ°/]+)?(?:-[A-Za-z]+)*|\d+x\d*|[vx]?\d+x", re.ASCII)
_ISSUE = re.compile(r"[\w.-]*(?:/[\w.-]+)?#\d+", re.ASCII)
_HANDLE = re.compile(r"@[A-Za-z][\w-]+(?:/[\w.-]+)?", re.ASCII)
_ZEROS = re.compile(r"0\d{2,}|\d{9,20}(?<!000)", re.ASCII)
_PACKAGE = re.compile(
    r"[a-z][\w.-]*(?:==|@)\d[\w.]*|[a-z0-9][\w./-]*(?::[\w.-]+)?@sha(?:256|512):[0-9a-f]{6,128}"
    r"|[a-z][\w./-]*:(?:v\d+(?:\.\d+)+|\d+(?:\.\d+){2,})(?:-[\w.]+)?",
    re.ASCII,
)
"""A package with its version, or an image with its tag or digest."""
_WORDY = re.compile(r"[A-Za-z]+(?:/[A-Za-z]+){1,3}", re.ASCII)
_LABEL = re.compile(r"[a-z]\d{1,3}", re.ASCII)
_BAY = re.compile(r"\d{1,6}-[A-Z]{1,3}", re.ASCII)
_FRACTION = re.compile(r"\d+/\d+(?:/\d+)?", re.ASCII)
_HAS_SHAPE = re.compile(r"[0-9_/.:@#\\$(=-]|[a-z][A-Z]|[A-Z]{2}[a-z]", re.ASCII)


KEPT_MAX = 2048
"""Runs of characters whose kind is remembered; a session comes back to its names. It changes nothing but speed."""


@lru_cache(maxsize=KEPT_MAX)
def classify(core: str) -> str:
    """The kind of identifier that a run of characters is, or the empty string. Never raises."""
    if len(core) < 2 or len(core) > 400 or not _HAS_SHAPE.search(core):
        return ""
    if fold(core) in _BRANDS:
        return ""
    for kind, pattern in _STRONG:
        if pattern.fullmatch(core) and (kind != "hex" or _hex_like(core)):
            return kind
    if _MEASURE.fullmatch(core) and not _ZEROS.fullmatch(core) and not _BAY.fullmatch(core):
        return ""
    if "/" in core or "\\" in core:
        return _path_kind(core)
    return _name_kind(core)


_STRONG = (
    ("url", _URL), ("mail", _MAIL), ("uuid", _UUID), ("version", _VERSION), ("address", _ADDRESS), ("hex", _HEX),
    ("flag", _FLAG),    ("issue", _ISSUE), ("digits", _ZEROS), ("package", _PACKAGE),
)  # fmt: skip


def _hex_like(core: str) -> bool:
    return core.startswith(("0x", "sha")) or (bool(DIGITS & set(core)) and any(c in "abcdef" for c in core))


def _path_kind(core: str) -> str:
    if not _PATH.fullmatch(core):
        return "code" if _CODE.fullmatch(core) and bool(DIGITS & set(core)) else ""
    if core in SYMBOLS:
        return ""
    if _WORDY.fullmatch(core):
        parts = core.split("/")
        return "path" if len(parts) > 3 else ""
    if _FRACTION.fullmatch(core) or any(part in WORDS for part in fold(core).split("/") if len(part) > 2):
        return ""
    return "path"


def _name_kind(core: str) -> str:
    file = _FILE.fullmatch(core)
    if file and file.group(1).lower() in _EXTENSIONS:
        return "" if fold(core) in _BRANDS else "file"
    if core.startswith(".") and _DOTFILE.fullmatch(core):
        return "file"
    host = _HOST.fullmatch(core)
    if host and (host.group(1) is None or host.group(1) in _DOMAINS) and core[0] not in DIGITS:
        return "host"
    if _SNAKE.fullmatch(core) and LETTER.search(core):
        return "symbol"
    if _CALL.fullmatch(core) and (core.endswith("()") or "." in core or "_" in core):
        return "symbol"
    if _DOTTED.fullmatch(core) and _symbolic(core):
        return "symbol"
    if _CAMEL.fullmatch(core):
        return "" if fold(core) in _BRANDS else "symbol"
    if _HANDLE.fullmatch(core):
        return "handle"
    if _CODE.fullmatch(core) and not _LABEL.fullmatch(core):
        return _code_kind(core)
    return ""


def _symbolic(core: str) -> bool:
    return (
        "_" in core
        or "::" in core
        or "->" in core
        or core.endswith("()")
        or core.count(".") >= 2
        or bool(re.search("[a-z][A-Z]", core))
    )


def _code_kind(core: str) -> str:
    digits = bool(DIGITS & set(core))
    if not digits:
        return "code" if not LOWER & set(core) else ""
    if fold(core) in _BRANDS:
        return ""
    head, dash, tail = core.partition("-")
    if not dash:
        return "code" if core[0] in UPPER and (len(core) <= 3 or core.upper() == core) else ""
    if tail in _COMPOUND_TAILS or head in _VARIABLES or (fold(head) in NUMBERED and tail in DIGITS):
        return ""
    return "code" if head else ""


_VARIABLES = frozenset({"N", "n", "i", "j", "k", "x"})
"""`N-1` is arithmetic."""


_GAPS = SPACE + "\u00a0\u202f\u3000"
_SOLID = f"[^{_GAPS}]"
_CHUNK = re.compile(f"{_SOLID}+", re.ASCII)
_SHAPED = re.compile(
    rf"(?<!{_SOLID})(?={_SOLID}*?(?:[0-9_/@#\\$]|[.:(=-]{_SOLID}|[a-z][A-Z]|[A-Z]{{2}}[a-z])){_SOLID}+", re.ASCII
)
"""A chunk that may hold an identifier: nothing else has its shape."""


_LEAD = re.compile(r"^[(\[{<\"'`*\u201c\u2018\u00ab,;:!?|=>]*(?:\((?=\S))?", re.ASCII)


_TICKS = re.compile(r"`([^`\n]{1,200})`", re.ASCII)


_BALANCE = {")": "(", "]": "[", "}": "{", ">": "<"}


_PLAIN = re.compile("[a-z0-9]+", re.ASCII)


@lru_cache(maxsize=KEPT_MAX)
def _core(chunk: str) -> tuple[int, int, str]:
    """Where the identifier in a run of non-space characters begins and ends, and its kind; kind is empty if there is none."""
    if len(chunk) > 600:
        return 0, 0, ""
    start = _LEAD.match(chunk).end()  # type: ignore[union-attr]
    end = len(chunk)
    while end > start:
        last = chunk[end - 1]
        if last in "\"'`*\u201d\u2019\u00bb,;:!?.|\u2026" or (
            last in _BALANCE and chunk.count(_BALANCE[last], start, end) < chunk.count(last, start, end)
        ):
            end -= 1
        else:
            break
    kind = classify(chunk[start:end])
    if not kind:
        for mark in ("=", ",", "(", "\u2014", "|", ":", "~"):
            head, found, _ = chunk[start:end].partition(mark)
            if found and len(head) > 2 and classify(head):
                return start, start + len(head), classify(head)
    return start, end, kind


_SIGN = re.compile(r"[0-9`_/@#\\$=-]", re.ASCII)
_INNER = re.compile(r"[.:(>A-Z](?:(?<=[^\s][.:(>])[^\s]|(?<=[a-z][A-Z])|(?<=[A-Z]{2})[a-z])", re.ASCII)
_DOT = re.compile(r"\.[a-z]", re.ASCII)
_DOTTED_WORD = re.compile(r"(?<!\S)\W*\.[a-z]", re.ASCII)


def may_name(text: str, start: int, end: int) -> bool:
    """Does `[start, end)` hold one of the signs of which every identifier has one? Most sentences hold none.

    A sign that words have none of, a point or bracket between two characters, a capital behind a small letter or between a
    capital and a small letter, or a point before a word. Each search begins with a set of characters, which makes it fast.
    """
    return bool(
        _SIGN.search(text, start, end)
        or _INNER.search(text, start + 1, end)
        or (_DOT.search(text, start, end) and _DOTTED_WORD.search(text, start, end))
    )


_GROUPED = re.compile(rf"(?<![\w.,/#:-])[1-9]\d{{0,2}}(?:[{_GAPS}]\d{{3}}){{0,3}}[ \u00a0\u202f]$", re.ASCII)
"""`84 000 €`: three digits behind such a group are thousands of a number, no name of their own."""


def find_identifiers(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Ranges of identifiers in `[start, end)`: quoted code, then whatever has an identifier's shape. In order, none nested."""
    if not may_name(text, start, end):
        return []
    found: list[tuple[int, int]] = []
    ticks = [(m.start(1), m.end(1)) for m in _TICKS.finditer(text, start, end)] if "`" in text[start:end] else []
    for a, b in ticks:
        if text[a:b].strip(SPACE) and b - a <= 120:
            found.append((a, b))
    open_command = -1
    whole = start == 0 or text[start - 1] in _GAPS
    chunks = _SHAPED if whole and text.find("./", start, end) < 0 else _CHUNK  # behind `./` any word may be an argument
    for m in chunks.finditer(text, start, end):
        chunk = m[0]
        a, b, kind = _core(chunk)
        if not kind and open_command < 0:
            continue
        at, to = m.start() + a, m.start() + b
        if kind == "digits" and to - at == 3 and _GROUPED.search(text[max(start, at - 16) : at]):
            continue
        if ticks and any(x < to and at < y for x, y in ticks):
            open_command = -1
            continue
        if kind:
            if (kind == "flag" and open_command >= 0 and found) or (
                open_command >= 0
                and found
                and kind in {"path", "file", "digits", "version", "code", "symbol"}
                and text[found[-1][1] - 1] not in ",;"
            ):
                found[-1] = (found[-1][0], to)
            else:
                found.append((at, to))
                open_command = len(found) if kind == "path" and chunk[a : a + 2] == "./" else -1
        elif open_command >= 0 and _command_word(text, m, chunk):
            continue
        if chunk[-1] in ",;.:)" or not kind:
            open_command = -1
    return sorted(found)


def _command_word(text: str, m: re.Match[str], chunk: str) -> bool:
    """A plain word inside a command line: one that a flag or another argument still follows."""
    return bool(_PLAIN.fullmatch(chunk) and re.match(r"\s+--?[A-Za-z]", text[m.end() : m.end() + 4]))
