"""Identifiers: names that mean something byte for byte (paths, addresses, flags, hashes, codes, symbols, versions).

`classify` takes one run of characters without spaces and says what kind of identifier it is, or that it is none. What counts is
shape alone; ordinary words, brand names and measured values are none.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.resources import files
from tomllib import loads

from ledger.facts.units import SYMBOLS, WORDS

_data = loads((files(__package__) / "data" / "identifiers.toml").read_text("utf-8"))
_EXTENSIONS = frozenset(_data["extensions"].split())
_DOMAINS = frozenset(_data["domains"].split())
_BRANDS = frozenset(_data["brands"].lower().split())
_COMPOUND_TAILS = frozenset(_data["compound_tails"].split())
COMMANDS = frozenset(_data["commands"].split())

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s<>\"'`]+")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_HEX = re.compile(r"(?:0x)?[0-9a-f]{7,64}|sha\d{1,3}:[0-9a-f]{6,}|0x[0-9a-fA-F]+")
_FLAG = re.compile(r"--?[A-Za-z][A-Za-z0-9_-]*(?:=[^\s,;]+)?")
_VERSION = re.compile(
    r"v?\d+\.\d+\.\d+(?:[.+-][0-9A-Za-z.+-]+)?|v\d+(?:\.\d+)*(?:-[0-9A-Za-z.]+)?|\d+\.\d+(?:\.\d+)*-?(?:rc|alpha|beta|b|a|dev)\.?\d*"
)
_ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}(?::\d+|/\d+)?")
_PATH = re.compile(
    r"(?:~|\.{1,2}|@?[\w.@+*{}$<>\[\]-]+)?(?:/[\w.@+*{}$<>\[\]=%-]+)+/?(?::\d+(?:-\d+)?(?::\d+)?)?|[\w.@+-]+/|[A-Za-z]:\\[\w\\ .-]+",
    re.ASCII,
)
_FILE = re.compile(r"\.?[\w@+-]+(?:\.[\w@+*-]+)*\.([A-Za-z][A-Za-z0-9]{0,9})(?::\d+(?:-\d+)?(?::\d+)?)?", re.ASCII)
_DOTFILE = re.compile(r"\.[a-z][\w-]+(?:\.[\w-]+)*", re.ASCII)
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+([a-z]{2,})(?::\d+)?|localhost:\d+|[a-z][a-z0-9-]*:\d{2,5}")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+(?:\(\))?", re.ASCII)
_CALL = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)\w+)*\([\w, ]*\)", re.ASCII)
_SNAKE = re.compile(r"_*[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+_*|_+[A-Za-z]\w+|\$\{?[A-Z_][A-Z0-9_]*\}?", re.ASCII)
_CAMEL = re.compile(r"[a-z]+[a-z0-9]*[A-Z]\w*|[A-Z][a-z0-9]+(?:[A-Z]\w*)+|[A-Z]{2,}[a-z]+[A-Z]\w*", re.ASCII)
_CODE = re.compile(
    r"[A-Za-z][A-Za-z0-9]{0,14}(?:-[A-Za-z0-9]{1,12}){0,2}-v?\d+(?:\.\d+)+(?:-[A-Za-z0-9.]{1,16}){0,3}|[A-Za-z]{1,10}(?:[-/][A-Za-z0-9]{1,12}){0,3}[-/]?\d[A-Za-z0-9]*(?:[-/][A-Za-z0-9]{1,12}){0,4}|\d{1,6}-[A-Z]{1,3}\d*|[A-Z]{1,4}-[A-Z]{1,4}(?:-\w{1,6})?|[A-Z]\d{1,5}[A-Z]?\d*",
    re.ASCII,
)
_MEASURE = re.compile(r"[+-]?\d[\d.,]*(?:[a-zA-Z%µμ°/]+)?(?:-[A-Za-z]+)*|\d+x\d*|[vx]?\d+x")
_ISSUE = re.compile(r"[\w.-]*(?:/[\w.-]+)?#\d+", re.ASCII)
_HANDLE = re.compile(r"@[A-Za-z][\w-]+(?:/[\w.-]+)?", re.ASCII)
_ZEROS = re.compile(r"0\d{2,}|\d{9,20}(?<!000)")
_PACKAGE = re.compile(r"[a-z][\w.-]*(?:==|@)\d[\w.]*", re.ASCII)
_WORDY = re.compile(r"[A-Za-z]+(?:/[A-Za-z]+){1,3}")
_LABEL = re.compile(r"[a-z]\d{1,3}")
_HAS_SHAPE = re.compile(r"[0-9_/.:@#\\$(=-]|[a-z][A-Z]|[A-Z]{2}[a-z]")


@lru_cache(maxsize=32768)
def classify(core: str) -> str:
    """The kind of identifier that a run of characters is, or the empty string. Never raises."""
    if len(core) < 2 or len(core) > 400 or not _HAS_SHAPE.search(core):
        return ""
    for kind, pattern in _STRONG:
        if pattern.fullmatch(core):
            return "" if kind == "hex" and not _hex_like(core) else kind
    if _MEASURE.fullmatch(core) and not _ZEROS.fullmatch(core) and not re.fullmatch(r"\d{1,6}-[A-Z]{1,3}", core):
        return ""
    if "/" in core or "\\" in core:
        return _path_kind(core)
    return _name_kind(core)


_STRONG = (
    ("url", _URL), ("mail", _MAIL), ("uuid", _UUID), ("version", _VERSION), ("address", _ADDRESS), ("hex", _HEX), ("flag", _FLAG),
    ("issue", _ISSUE), ("digits", _ZEROS), ("package", _PACKAGE),
)  # fmt: skip


def _hex_like(core: str) -> bool:
    return core.startswith(("0x", "sha")) or (any(c.isdecimal() for c in core) and any(c in "abcdef" for c in core))


def _path_kind(core: str) -> str:
    if not _PATH.fullmatch(core):
        return "code" if _CODE.fullmatch(core) and any(c.isdecimal() for c in core) else ""
    if core in SYMBOLS:
        return ""
    if _WORDY.fullmatch(core):
        parts = core.split("/")
        return "path" if len(parts) > 3 else ""
    if re.fullmatch(r"\d+/\d+(?:/\d+)?", core) or any(part in WORDS for part in core.lower().split("/") if len(part) > 2):
        return ""
    return "path"


def _name_kind(core: str) -> str:
    file = _FILE.fullmatch(core)
    if file and file.group(1).lower() in _EXTENSIONS:
        return "" if core.lower() in _BRANDS else "file"
    if core.startswith(".") and _DOTFILE.fullmatch(core):
        return "file"
    host = _HOST.fullmatch(core)
    if host and (host.group(1) is None or host.group(1) in _DOMAINS) and not core[0].isdecimal():
        return "host"
    if _SNAKE.fullmatch(core) and any(c.isalpha() for c in core):
        return "symbol"
    if _CALL.fullmatch(core) and (core.endswith("()") or "." in core or "_" in core):
        return "symbol"
    if _DOTTED.fullmatch(core) and _symbolic(core):
        return "symbol"
    if _CAMEL.fullmatch(core):
        return "" if core.lower() in _BRANDS else "symbol"
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
    digits = any(c.isdecimal() for c in core)
    if not digits:
        return "code" if core.isupper() else ""
    if core.lower() in _BRANDS:
        return ""
    head, dash, tail = core.partition("-")
    if not dash:
        return "code" if core[0].isupper() and (len(core) <= 3 or core.upper() == core) else ""
    if tail in _COMPOUND_TAILS:
        return ""
    return "code" if head else ""
