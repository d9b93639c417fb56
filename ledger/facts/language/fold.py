"""Folding: the one view of text under which words are compared.

Every code point maps to exactly one code point, so an offset in folded text is an offset in the text itself. The table is
pinned in `data/fold.json`: it never follows the interpreter's Unicode version (design section 5).
"""

from __future__ import annotations

import json
import re
from importlib.resources import files

WORD = (
    "0-9A-Za-z_\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u060b\u060d-\u061a\u0620-\u06d3\u06d5-\u0963\u0966-\u1fff"
    "\u2c00-\u2dff\u3005-\u3007\u3040-\u30fa\u30fc-\u9fff\ua000-\ud7ff\uf900-\ufdff\ufe70-\ufefe"
    "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc\U00010000-\U0001efff\U00020000-\U000323af"
)
"""Characters of words, as the inside of a character class. Explicit ranges: `\\w` would follow the interpreter's tables."""

DIGITS = frozenset("0123456789")
UPPER = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
"""ASCII classes: the methods of `str` would follow the interpreter's tables."""

SPACE = " \t\n\r\f\v"
"""What `strip` takes away here: without an argument it would follow the interpreter's tables."""

LETTER = re.compile(f"(?![0-9_])[{WORD}]", re.ASCII)

_data = json.loads((files("ledger.facts") / "data" / "fold.json").read_text("utf-8"))
_TABLE: dict[int, str] = {ord(a): b for a, b in zip(_data["from"], _data["to"], strict=True)}
_ASCII_UPPER = {code: chr(code + 32) for code in range(65, 91)}
_TABLE.update(_ASCII_UPPER)

_MARKUP = re.compile(r"[`*\"]+|(?<![0-9A-Za-z_])_+|_+(?![0-9A-Za-z_])", re.ASCII)
_SPACES = re.compile(r"[ \t\r\n\f\v]+", re.ASCII)
_MARKED = re.compile('[`*"_]', re.ASCII)
_SPACED = re.compile("[\t\r\n\f\v]|  ", re.ASCII)
_EDGES = " .,;:!?-\u2014'()[]{}<>|#"


def fold(text: str) -> str:
    """The folded text, of the same length: lower case, plain quotes and dashes, Latin and Greek letters without accents."""
    if text.isascii():
        return text.lower()
    if len(text) < PIECES_CHARS_MIN:
        return text.translate(_TABLE)
    return "".join([piece.lower() if piece.isascii() else piece.translate(_TABLE) for piece in _BEYOND.split(text)])


PIECES_CHARS_MIN = 64
"""Of a longer text the pieces that are plain, mostly nearly all of it, are folded by themselves, which is far quicker."""

_BEYOND = re.compile("([^\x00-\x7f]+)", re.ASCII)


def lower(text: str) -> str:
    """ASCII letters in lower case, all else as it is."""
    return text.lower() if text.isascii() else text.translate(_ASCII_UPPER)


def normalise(text: str) -> str:
    """The canonical form of a sentence: folded, Markdown emphasis and quotes gone, spaces single, edges bare."""
    text = fold(text)
    if _MARKED.search(text):
        text = _MARKUP.sub("", text)
    if _SPACED.search(text):
        text = _SPACES.sub(" ", text)
    return text.strip(_EDGES)
