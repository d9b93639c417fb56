"""Makes visible what would steer a terminal or reorder what a person reads: transcript text is data (P10)."""

from __future__ import annotations

import re

_STEERING = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and line feed, DEL, C1: escape sequences begin with one of them
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, or reorders what is read
    "\ud800-\udfff"  # lone surrogates: no encoding can write them
    "\U000e0000-\U000e007f"  # tags: invisible letters
)
_HIDDEN = re.compile(f"[{_STEERING}]")


def visible(text: str) -> str:
    """`text` with control, bidirectional and invisible characters written out as escapes. Tab and line feed stay."""
    return _HIDDEN.sub(_written_out, text.replace("\r\n", "\n"))


def unbroken(text: str) -> str:
    """`visible`, on one line: what may hold a path, whose name may hold a line break."""
    return visible(text).replace("\n", r"\x0a")


def _written_out(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
