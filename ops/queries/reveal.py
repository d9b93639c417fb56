"""The words behind a mask, read from the transcript itself (P11): on this machine, and only while its bytes are the same."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from ledger.errors import UsageError
from ledger.masking import mask, masked_places
from ledger.transcripts.files import open_regular
from ledger.transcripts.formats import SAMPLE_BYTES
from ledger.transcripts.lines import LineSplitter
from ledger.transcripts.model import Message
from ledger.transcripts.reading import format_of
from ledger.transcripts.to_records import split_text
from ops.queries.forgotten import Forgotten

_MASKED = re.compile(r"\[masked:[a-z0-9-]{1,40}\]")


def reveal(entry: Forgotten) -> str:
    """Put the words as they stand in the file into `entry.text`. Returns why that was not possible, or the empty string."""
    if not _MASKED.search(entry.text):
        return ""
    if entry.byte_start is None or entry.byte_end is None or not entry.path:
        return "the record does not say where the words stood"
    try:
        with open_regular(Path(entry.path)) as file:
            head = file.read(SAMPLE_BYTES)
            file.seek(entry.byte_start)
            data = file.read(entry.byte_end - entry.byte_start)
    except (UsageError, OSError):
        return f"{entry.path} cannot be read any more"
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        return f"{entry.path} has changed since it was read"
    for text in _texts(head, data):
        found = unmasked(text, entry.text, entry.start, entry.end)
        if found:
            entry.text = found
            return ""
    return f"the words were not found in {entry.path}"


def _texts(head: bytes, data: bytes) -> list[str]:
    known = format_of(head)
    if known is None:
        return []
    reader, splitter = known.reader(), LineSplitter()
    lines = splitter.feed(data)
    last = splitter.finish()
    items = [*reader.read([*lines, *([last] if last is not None else [])]), *reader.finish()]
    return [item.text for item in items if isinstance(item, Message)]


def unmasked(raw: str, quote: str, start: int, end: int) -> str:
    """The piece of `raw` that reads `quote` once it is masked, at code points `[start, end)` of its span; else empty.

    A long text makes several spans, split after it was masked.
    """
    before = 0
    for part in split_text(mask(raw)):
        if part[start:end] == quote:
            places = masked_places(raw)
            return raw[_raw_offset(places, before + start, 0) : _raw_offset(places, before + end, 1)]
        before += len(part)
    return ""


def _raw_offset(places: list[tuple[int, int, str]], offset: int, side: int) -> int:
    """An offset into the masked text as one into the raw text; inside a mask, the secret's beginning or (`side` 1) its end."""
    shift = 0
    for begin, secret_end, shown in places:
        if offset <= begin + shift:
            break
        if offset < begin + shift + len(shown):
            return secret_end if side else begin
        shift += len(shown) - (secret_end - begin)
    return offset - shift
